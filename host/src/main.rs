//! The binary.

fn main() -> std::process::ExitCode {
    assize::cli::main()
}
