//! Exports an analyzer and says that it is a provider.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("lie-about-kind", "provider", nothing);

fn nothing(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    Ok(Vec::new())
}
