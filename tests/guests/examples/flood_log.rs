//! Logs far more than is kept; a configuration that is a number makes each line that many bytes long.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("flood-log", flood);

fn flood(_: SourceFile, config: String) -> Result<Vec<Fact>, PluginError> {
    use assize::plugin::log::{Level, write};
    let line = "y".repeat(config.parse().unwrap_or(100));
    for number in 0..10_000 {
        write(Level::Info, &line, &[("number".to_owned(), number.to_string())]);
    }
    Ok(Vec::new())
}
