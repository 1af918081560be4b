//! Allocates until it is stopped, and touches what it gets.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("eat-memory", eat);

fn eat(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(core::hint::black_box(vec![1; 1 << 20]));
    }
}
