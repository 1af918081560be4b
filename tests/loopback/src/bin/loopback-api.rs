//! Starts the loopback model API, prints its address and serves until its standard input ends, so that it never outlives
//! whoever started it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use assize_loopback::LoopbackApi;

const USAGE: &str = "usage: loopback-api [--port N]\n\
    Serves on 127.0.0.1 until standard input ends. Port 0, the default, takes a free one; the address is printed.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let port = match words.as_slice() {
        [] => Some(0),
        ["--port", port] => port.parse().ok(),
        _ => None,
    };
    let Some(port) = port else {
        let _ = writeln!(io::stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    match serve(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "loopback-api cannot serve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(port: u16) -> io::Result<()> {
    let api = LoopbackApi::start(port)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", api.url())?;
    stdout.flush()?;
    let mut ignored = [0; 1024];
    while io::stdin().read(&mut ignored)? > 0 {}
    Ok(())
}
