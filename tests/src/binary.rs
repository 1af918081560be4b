//! Where the programs under test are.

use std::path::{Path, PathBuf};

/// The folder of the profile that this test was built with, such as `target/debug`.
fn profile_dir() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own file");
    let deps = own.parent().expect("it lies in a folder");
    // Tests lie in `deps`, programs one folder up.
    if deps.ends_with("deps") { deps.parent().expect("`deps` lies in a folder").to_owned() } else { deps.to_owned() }
}

/// The binary `assize`: `ASSIZE_BINARY`, or the newest of the test's own profile and of the release profile.
///
/// # Panics
/// When there is none; the message says how to build it.
pub fn assize() -> PathBuf {
    if let Some(named) = std::env::var_os("ASSIZE_BINARY") {
        let path = PathBuf::from(named);
        assert!(path.is_file(), "ASSIZE_BINARY names {}, which is no file", path.display());
        return path;
    }
    let profile = profile_dir();
    let release = profile.parent().map(|target| target.join("release/assize"));
    let built = |path: &PathBuf| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    [Some(profile.join("assize")), release]
        .into_iter()
        .flatten()
        .filter_map(|path| Some((built(&path)?, path)))
        .max()
        .map(|(_, path)| path)
        .unwrap_or_else(|| {
            panic!("there is no `assize` near {}; run: cargo build --release -p assize", profile.display())
        })
}

/// A program of this package, such as `fake-worker`; cargo builds it before it runs a test.
///
/// # Panics
/// When it is not there.
pub fn program(name: &str) -> PathBuf {
    let path = profile_dir().join(name);
    assert!(path.is_file(), "there is no {}; run: cargo build -p assize-tests --bins", path.display());
    path
}

/// Where components are kept compiled. All tests share it and it outlives them, because compiling takes seconds.
pub fn cache_dir() -> PathBuf {
    let profile = profile_dir();
    let dir = profile.parent().unwrap_or(Path::new("/tmp")).join("tmp/assize-tests/cache");
    std::fs::create_dir_all(&dir).expect("the cache directory can be made");
    dir
}
