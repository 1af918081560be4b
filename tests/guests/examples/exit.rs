//! Ends itself as a program would.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("exit", exit);

fn exit(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    std::process::exit(1);
}
