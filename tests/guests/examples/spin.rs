//! Never returns.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("spin", spin);

fn spin(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    let mut number = 0_u64;
    loop {
        number = core::hint::black_box(number.wrapping_add(1));
    }
}
