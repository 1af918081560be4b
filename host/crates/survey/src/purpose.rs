//! What a file is for, from its path and language.

use assize_core::inventory::FileKind;

use crate::language_table::{Language, Role};

/// What a file is for.
pub(crate) fn derive_kind(path: &str, language: Option<&Language>) -> FileKind {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = name.to_ascii_lowercase();
    let role = language.map(|language| language.role);
    if role == Some(Role::Prose) {
        return FileKind::Doc;
    }
    if is_ci(path, &lower) {
        return FileKind::Ci;
    }
    if role == Some(Role::Infra) || is_infra(folder, &lower, role) {
        return FileKind::Infra;
    }
    if is_test(folder, name, role) {
        return FileKind::Test;
    }
    if is_schema(folder, &lower, role) {
        return FileKind::Schema;
    }
    match role {
        Some(Role::Code) => FileKind::Source,
        Some(Role::Script) => FileKind::Script,
        Some(Role::Config) => FileKind::Config,
        Some(Role::Schema) => FileKind::Schema,
        Some(Role::Infra) => FileKind::Infra,
        Some(Role::Prose) => FileKind::Doc,
        Some(Role::Data) | None => FileKind::Other,
    }
}

fn is_ci(path: &str, lower: &str) -> bool {
    const FOLDERS: &[&str] = &[
        ".github/workflows/",
        ".github/actions/",
        ".gitlab/ci/",
        ".circleci/",
        ".buildkite/",
        ".azure-pipelines/",
        ".tekton/",
        ".semaphore/",
        ".teamcity/",
        ".woodpecker/",
        ".forgejo/workflows/",
        ".gitea/workflows/",
        ".ci/",
    ];
    const NAMES: &[&str] = &[
        ".gitlab-ci.yml",
        ".travis.yml",
        "appveyor.yml",
        ".appveyor.yml",
        ".drone.yml",
        ".cirrus.yml",
        ".woodpecker.yml",
        "bitbucket-pipelines.yml",
        "cloudbuild.yaml",
        "cloudbuild.yml",
        "buildspec.yml",
        "codemagic.yaml",
        ".pre-commit-config.yaml",
        "action.yml",
        "action.yaml",
        "renovate.json",
        "dependabot.yml",
        "wercker.yml",
        "screwdriver.yaml",
        ".goreleaser.yml",
        ".goreleaser.yaml",
    ];
    let yaml = lower.ends_with(".yml") || lower.ends_with(".yaml");
    NAMES.contains(&lower)
        || lower.starts_with("jenkinsfile")
        || (yaml && (lower.starts_with("azure-pipelines") || lower.ends_with(".gitlab-ci.yml")))
        || FOLDERS.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")[..]))
}

fn is_infra(folder: &str, lower: &str, role: Option<Role>) -> bool {
    const NAMES: &[&str] = &[
        "chart.yaml",
        "values.yaml",
        "kustomization.yaml",
        "kustomization.yml",
        "skaffold.yaml",
        "pulumi.yaml",
        "serverless.yml",
        "serverless.yaml",
        "fly.toml",
        "render.yaml",
        "vercel.json",
        "netlify.toml",
        "app.yaml",
        "vagrantfile",
        "ansible.cfg",
        "haproxy.cfg",
        "prometheus.yml",
        "wrangler.toml",
        "samconfig.toml",
        "helmfile.yaml",
        "cdk.json",
        ".dockerignore",
        ".helmignore",
    ];
    const FOLDERS: &[&str] = &[
        "k8s",
        "kubernetes",
        "helm",
        "charts",
        "manifests",
        "terraform",
        "ansible",
        "kustomize",
        "deploy",
        "deployment",
        "deployments",
        "infra",
        "infrastructure",
        "playbooks",
    ];
    let yaml = lower.ends_with(".yml") || lower.ends_with(".yaml");
    let compose = yaml && (lower.starts_with("docker-compose") || lower.starts_with("compose."));
    let placed = role == Some(Role::Config) && folder.split('/').any(|part| FOLDERS.contains(&part));
    compose || placed || NAMES.contains(&lower)
}

fn is_test(folder: &str, name: &str, role: Option<Role>) -> bool {
    const FOLDERS: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "testing",
        "e2e",
        "testdata",
        "test-data",
        "test_data",
        "fixtures",
        "__fixtures__",
        "__mocks__",
        "cypress",
        "__snapshots__",
        "androidTest",
        "integration-tests",
        "unittests",
    ];
    if folder.split('/').any(|part| FOLDERS.contains(&part)) {
        return true;
    }
    if !matches!(role, Some(Role::Code | Role::Script)) {
        return false;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let camel =
        matches!(extension, "java" | "kt" | "kts" | "cs" | "php" | "scala" | "swift" | "groovy" | "vb" | "m" | "mm");
    let ends = |end: &str| stem.len() > end.len() && stem.ends_with(end);
    stem.starts_with("test_")
        || matches!(stem, "conftest" | "tests" | "test")
        || ["_test", "_tests", "_spec", ".test", ".spec", ".e2e", ".cy", "-test", "-spec", ".tests"]
            .iter()
            .any(|end| ends(end))
        || camel
            && (["Test", "Tests", "TestCase", "Spec", "IT"].iter().any(|end| ends(end))
                || is_camel_prefix(stem, "Test"))
        || extension == "bats"
        || extension == "feature"
}

/// `TestFoo`, but not `Testament`.
fn is_camel_prefix(stem: &str, prefix: &str) -> bool {
    stem.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn is_schema(folder: &str, lower: &str, role: Option<Role>) -> bool {
    let config = role == Some(Role::Config);
    let migration = role == Some(Role::Code) && folder.split('/').any(|part| matches!(part, "migrations" | "migrate"));
    migration
        || config && (lower.starts_with("openapi") || lower.starts_with("swagger") || lower.starts_with("asyncapi"))
        || config
            && [".schema.json", ".avsc", ".openapi.json", ".openapi.yaml", ".openapi.yml"]
                .iter()
                .any(|end| lower.ends_with(end))
        || matches!(lower, "schema.rb" | "schema.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{derive_by_name, derive_language};

    fn kind(path: &str) -> FileKind {
        let name = path.rsplit('/').next().unwrap_or(path);
        derive_kind(path, derive_language(derive_by_name(name), ""))
    }

    #[test]
    fn paths_say_what_files_are_for() {
        for (path, wanted) in [
            ("src/main.rs", FileKind::Source),
            ("src/build/compiler.ts", FileKind::Source),
            ("src/docs/render.ts", FileKind::Source),
            ("tests/a.rs", FileKind::Test),
            ("pkg/a_test.go", FileKind::Test),
            ("test_a.py", FileKind::Test),
            ("a.spec.ts", FileKind::Test),
            ("src/FooTest.java", FileKind::Test),
            ("src/Testament.java", FileKind::Source),
            ("src/latest.go", FileKind::Source),
            (".github/workflows/ci.yml", FileKind::Ci),
            (".gitlab-ci.yml", FileKind::Ci),
            ("Jenkinsfile", FileKind::Ci),
            ("Dockerfile", FileKind::Infra),
            ("docker-compose.prod.yml", FileKind::Infra),
            ("main.tf", FileKind::Infra),
            ("k8s/a.yaml", FileKind::Infra),
            ("db/migrations/001.sql", FileKind::Schema),
            ("api/a.proto", FileKind::Schema),
            ("openapi.yaml", FileKind::Schema),
            ("app/migrations/0001_initial.py", FileKind::Schema),
            ("run.sh", FileKind::Script),
            ("Makefile", FileKind::Script),
            ("package.json", FileKind::Config),
            ("go.mod", FileKind::Config),
            (".env", FileKind::Config),
            ("README.md", FileKind::Doc),
            ("tests/README.md", FileKind::Doc),
            ("x.unheard", FileKind::Other),
            ("a.csv", FileKind::Other),
        ] {
            assert_eq!(kind(path), wanted, "{path}");
        }
    }
}
