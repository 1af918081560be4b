//! What a path alone says about leaving a file out: vendored trees, generated names, lock files, licences, binary formats.

/// Whether a directory of this name holds other people's code.
pub(crate) fn is_vendor_directory(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"node_modules",
        b"bower_components",
        b"jspm_packages",
        b"vendor",
        b"third_party",
        b"third-party",
        b"thirdparty",
        b"3rdparty",
        b".venv",
        b"site-packages",
        b"Pods",
        b"Carthage",
        b"Godeps",
        b".tox",
        b".nox",
        b".eggs",
        b".bundle",
        b".yarn",
    ];
    NAMES.contains(&name)
}

/// Whether a file of this name comes with a tool and is other people's code.
pub(crate) fn is_vendored_name(name: &str) -> bool {
    matches!(name, "gradlew" | "gradlew.bat" | "mvnw" | "mvnw.cmd" | ".pnp.cjs" | ".pnp.js" | ".pnp.loader.mjs")
}

/// Whether a file of this name pins versions and is written by a tool.
pub(crate) fn is_lock_file(name: &str) -> bool {
    matches!(
        name,
        "Cargo.lock"
            | "package-lock.json"
            | "npm-shrinkwrap.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "bun.lock"
            | "bun.lockb"
            | "deno.lock"
            | "composer.lock"
            | "Gemfile.lock"
            | "Podfile.lock"
            | "Cartfile.resolved"
            | "Package.resolved"
            | "Pipfile.lock"
            | "poetry.lock"
            | "pdm.lock"
            | "uv.lock"
            | "pixi.lock"
            | "conda-lock.yml"
            | "go.sum"
            | "go.work.sum"
            | "mix.lock"
            | "rebar.lock"
            | "pubspec.lock"
            | "packages.lock.json"
            | "project.assets.json"
            | "paket.lock"
            | "gradle.lockfile"
            | "flake.lock"
            | "stack.yaml.lock"
            | "cabal.project.freeze"
            | "shard.lock"
            | "Manifest.toml"
            | "elm-stuff.json"
            | ".terraform.lock.hcl"
            | "Chart.lock"
            | "MODULE.bazel.lock"
            | "buf.lock"
    )
}

/// Whether a file of this name is the text of a licence.
pub(crate) fn is_license(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let (stem, extension) = lower.split_once('.').unwrap_or((&lower, ""));
    let stem = stem.split(['-', '_']).next().unwrap_or(stem);
    matches!(stem, "license" | "licence" | "copying" | "unlicense" | "notice" | "patents" | "copyright")
        && matches!(extension, "" | "md" | "txt" | "rst" | "adoc" | "html" | "lesser" | "lib")
}

/// Whether a tool gives such names to what it generates.
pub(crate) fn is_generated_name(name: &str) -> bool {
    const ENDS: &[&str] = &[
        ".pb.go",
        ".pb.gw.go",
        "_grpc.pb.go",
        ".pb.cc",
        ".pb.h",
        ".pb.swift",
        ".pb.dart",
        ".pbenum.dart",
        ".pbjson.dart",
        ".pbserver.dart",
        "_pb2.py",
        "_pb2.pyi",
        "_pb2_grpc.py",
        "_pb.js",
        "_pb.d.ts",
        "_pb.ts",
        "_grpc_pb.js",
        ".g.dart",
        ".freezed.dart",
        ".gr.dart",
        ".mocks.dart",
        ".g.cs",
        ".g.i.cs",
        ".designer.cs",
        ".Designer.cs",
        ".designer.vb",
        "_generated.go",
        ".gen.go",
        "_gen.go",
        ".generated.go",
        ".generated.ts",
        ".generated.tsx",
        ".generated.js",
        ".generated.cs",
        ".generated.swift",
        ".generated.rs",
        ".generated.h",
        ".generated.cpp",
        ".js.map",
        ".css.map",
        ".mjs.map",
        ".cjs.map",
        ".ts.map",
        ".tsbuildinfo",
        ".pbobjc.h",
        ".pbobjc.m",
        ".eslintcache",
    ];
    name.starts_with("zz_generated.") || ENDS.iter().any(|end| name.ends_with(end))
}

/// Whether the name says that white space was squeezed out.
pub(crate) fn is_minified_name(name: &str) -> bool {
    [".min.js", ".min.css", ".min.mjs", ".min.cjs", ".min.html", "-min.js", "-min.css", ".bundle.js"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Whether files of this extension are images, fonts, archives, programs and the like.
pub(crate) fn is_binary_name(name: &str) -> bool {
    const EXTENSIONS: &str = " png jpg jpeg gif webp ico bmp avif jxl heic tif tiff psd ai xcf icns cur woff woff2 ttf otf eot pdf zip gz tgz bz2 xz zst \
        lz4 7z rar tar jar war ear aar apk ipa dmg iso deb rpm msi exe dll so dylib a o obj lib pdb class pyc pyo pyd wasm bin dat db sqlite sqlite3 mdb \
        mp3 mp4 m4a m4v mov avi mkv webm wav flac ogg opus aac doc docx xls xlsx ppt pptx odt ods odp parquet avro orc npy npz pkl pickle h5 onnx \
        pt pth safetensors gguf model keystore jks p12 pfx der swf fla blend fbx glb stl node rlib nupkg whl egg snk ";
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    let wanted = format!(" {} ", extension.to_ascii_lowercase());
    EXTENSIONS.contains(&wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_not_mistaken_for_a_licence() {
        assert!(
            is_license("LICENSE")
                && is_license("LICENSE-MIT")
                && is_license("COPYING.LESSER")
                && is_license("licence.md")
        );
        assert!(
            !is_license("license.py")
                && !is_license("licenses.go")
                && !is_license("license_check.rs")
                && !is_license("notice.ts")
        );
    }

    #[test]
    fn generated_names_are_those_of_generators_only() {
        assert!(
            is_generated_name("a.pb.go")
                && is_generated_name("x_pb2.py")
                && is_generated_name("m.g.dart")
                && is_generated_name("zz_generated.deepcopy.go")
        );
        assert!(
            !is_generated_name("code-generated-by-humans.ts")
                && !is_generated_name("generator.go")
                && !is_generated_name("map.ts")
        );
    }

    #[test]
    fn binary_formats_are_known_by_whole_extensions() {
        assert!(is_binary_name("a.PNG") && is_binary_name("a.tar.gz"));
        assert!(!is_binary_name("png") && !is_binary_name("a.p") && !is_binary_name("a.rs"));
    }
}
