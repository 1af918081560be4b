//! Starts the loopback model API, prints its address and serves until its standard input ends, so that it never outlives
//! whoever started it.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use assize_loopback::LoopbackApi;

const USAGE: &str = "usage: loopback-api [--port N] [--scenario NAME]\n\
    Serves on 127.0.0.1 until standard input ends. Port 0, the default, takes a free one; the address is printed.\n\
    Plays the scenario, `ok` unless said, wherever an address names none.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((port, scenario)) = read_arguments(&arguments) else {
        let _ = writeln!(io::stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    match serve(port, scenario) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "loopback-api cannot serve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read_arguments(arguments: &[String]) -> Option<(u16, &str)> {
    let (mut port, mut scenario) = (0, "ok");
    for pair in arguments.chunks(2) {
        match pair {
            [flag, value] if flag == "--port" => port = value.parse().ok()?,
            [flag, value] if flag == "--scenario" => scenario = value,
            _ => return None,
        }
    }
    Some((port, scenario))
}

fn serve(port: u16, scenario: &str) -> io::Result<()> {
    let api = LoopbackApi::playing(scenario, port)?;
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", api.url())?;
    stdout.flush()?;
    let mut ignored = [0; 1024];
    while io::stdin().read(&mut ignored)? > 0 {}
    Ok(())
}
