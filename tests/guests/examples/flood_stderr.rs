//! Writes far more to standard output and error than is kept, and goes on to answer.
#![cfg(target_family = "wasm")]

assize_guests::analyzer!("flood-stderr", flood);

#[allow(clippy::print_stdout, clippy::print_stderr)]
fn flood(_: SourceFile, _: String) -> Result<Vec<Fact>, PluginError> {
    println!("a line of standard output");
    for number in 0..2_000 {
        eprintln!("line {number} of standard error, which is meant to be long enough to fill what is kept");
    }
    Ok(Vec::new())
}
