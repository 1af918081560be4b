//! Panics.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("trap", panic);

fn panic(file: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    panic!("cannot go on at {}", file.path);
}
