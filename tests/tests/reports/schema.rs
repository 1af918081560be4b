//! The schemas that reports are checked by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jsonschema::Validator;
use serde_json::Value;

/// The schema of SARIF 2.1.0 as the crate `serde-sarif` ships it. A build has fetched that crate, so that no network is
/// needed.
pub(crate) fn sarif() -> Validator {
    let path = crate_dir("serde-sarif").join("src/schema.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // The published pattern of languages has a bracket too many, which no strict reader of patterns takes.
    let text = text.replace("^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$", "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$");
    validator(&serde_json::from_str(&text).unwrap())
}

/// Our own schema of the contract `audit-tools/audit-findings/v1`.
pub(crate) fn findings_file() -> Validator {
    validator(&serde_json::from_str(include_str!("../../data/audit-findings-v1.schema.json")).unwrap())
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).unwrap()
}

/// Asserts that a document fits a schema; every place that does not is told.
#[track_caller]
pub(crate) fn fits(validator: &Validator, document: &Value, what: &str) {
    let errors: Vec<String> =
        validator.iter_errors(document).take(20).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{what}:\n{}", errors.join("\n"));
}

/// Where the sources of a dependency lie.
fn crate_dir(name: &str) -> PathBuf {
    let host = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let host = String::from_utf8(host).unwrap().lines().find_map(|line| line.strip_prefix("host: ").map(str::to_owned));
    // Only what this platform needs has been fetched.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &host.unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}
