//! Where a command's outcome goes: text or JSON on stdout, talk on stderr.

use std::cell::Cell;
use std::io::{IsTerminal, Write};

use serde::Serialize;
use serde_json::json;

use super::main::Color;
use crate::audit::AuditError;
use crate::config::Environment;
use crate::reporters::{LineReporter, QuietReporter, Reporter, TerminalReporter};

/// How this call talks.
pub(super) struct Output {
    json: bool,
    quiet: bool,
    colour: bool,
    progress: bool,
    unwritten: Cell<Option<std::io::Error>>,
}

impl Output {
    pub(super) fn new(json: bool, quiet: bool, color: Color, environment: &Environment) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let colour = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && environment.get("NO_COLOR").is_none(),
        };
        Self { json, quiet, colour, progress: terminal && environment.get("CI").is_none(), unwritten: Cell::new(None) }
    }

    /// Whether the outcome is wanted as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// A reporter for a run.
    pub(super) fn reporter(&self) -> Box<dyn Reporter> {
        match (self.quiet, self.progress) {
            (true, _) => Box::new(QuietReporter),
            (false, true) => Box::new(TerminalReporter::new(self.colour)),
            (false, false) => Box::new(LineReporter::default()),
        }
    }

    /// Prints the outcome: the value as JSON, or the lines.
    pub(super) fn outcome(&self, value: &impl Serialize, lines: &[String]) {
        if self.json {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            self.print(&format!("{text}\n"));
        } else {
            let text: String = lines.iter().map(|line| format!("{}\n", printable(line))).collect();
            self.print(&text);
        }
    }

    /// Prints text as it is. A reader that went away is no error; anything else is told by [`Output::finish`].
    pub(super) fn print(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => self.unwritten.set(Some(error)),
            _ => {}
        }
    }

    /// What kept the outcome from being written, if anything did.
    pub(super) fn finish(&self) -> Result<(), AuditError> {
        match self.unwritten.take() {
            None => Ok(()),
            Some(source) => Err(AuditError::File { operation: "write", path: "standard output".into(), source }),
        }
    }

    /// Says what is wrong beside an outcome that was printed.
    pub(super) fn problem(&self, error: &AuditError) {
        let _ = writeln!(std::io::stderr(), "error: {}", printable_lines(&error.to_string()));
    }

    /// Says what went wrong and, where it is known, how to mend it.
    pub(super) fn error(&self, error: &AuditError) {
        let hint = error.hint();
        if self.json {
            let value = json!({"error": error.to_string(), "hint": hint, "exit_code": error.exit_code()});
            self.print(&format!("{value:#}\n"));
        }
        let (on, off) = if self.colour { ("\u{1b}[1;31m", "\u{1b}[0m") } else { ("", "") };
        let mut stderr = std::io::stderr().lock();
        let _ = writeln!(stderr, "{on}error:{off} {}", printable_lines(&error.to_string()));
        if let Some(hint) = hint {
            let _ = writeln!(stderr, "  hint: {}", printable(&hint));
        }
    }
}

/// Names and texts of the repository and of reviewers must not steer a terminal.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The same for a text whose own line breaks matter, such as a parser's with its marks.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
