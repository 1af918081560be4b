//! Recurses until its stack runs out.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("recurse", recurse);

fn recurse(file: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    Err(PluginError::Internal(deeper(file.content.len() as u64).to_string()))
}

#[allow(unconditional_recursion)]
fn deeper(depth: u64) -> u64 {
    let frame = core::hint::black_box([depth; 16]);
    deeper(depth + 1).wrapping_add(frame[(depth % 16) as usize])
}
