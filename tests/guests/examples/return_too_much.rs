//! Answers with as many mebibytes as the configuration says.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("return-too-much", answer);

fn answer(_: SourceFile, config: String) -> Result<Vec<Fact>, PluginError> {
    let mebibytes: usize = config.parse().map_err(|_| PluginError::InvalidConfiguration(config))?;
    Err(PluginError::Internal("x".repeat(mebibytes << 20)))
}
