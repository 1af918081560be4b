//! Says what it can see of the world: arguments, variables, time, randomness, files, input.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("look-around", look);

#[allow(clippy::disallowed_methods)]
fn look(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    use std::collections::hash_map::RandomState;
    use std::hash::BuildHasher;
    use std::io::Read;
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    let args = std::env::args().count();
    let variables = std::env::vars().count();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_millis()).unwrap_or_default();
    let started = Instant::now();
    for number in 0..1_000_000 {
        core::hint::black_box(number);
    }
    let passed = started.elapsed().as_nanos();
    let random = RandomState::new().hash_one(1);
    let file = std::fs::read("/etc/passwd").is_ok() || std::fs::read_dir("/").is_ok();
    let input = std::io::stdin().read(&mut [0; 1]).unwrap_or_default();
    Err(PluginError::Internal(format!("{args} {variables} {now} {passed} {file} {input} {random:x}")))
}
