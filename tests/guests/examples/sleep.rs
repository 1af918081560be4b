//! Sleeps on the monotonic clock for an hour.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("sleep", sleep);

#[allow(clippy::disallowed_methods)]
fn sleep(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    std::thread::sleep(std::time::Duration::from_secs(3600));
    Ok(Vec::new())
}
