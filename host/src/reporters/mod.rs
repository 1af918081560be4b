//! What a run tells while it goes: one stream of events, and consumers of it. stdout is data; all of this goes to stderr.

mod event;
mod lines;
mod terminal;

pub use event::RunEvent;
pub(crate) use event::counts;
pub use lines::LineReporter;
pub use terminal::TerminalReporter;

/// A consumer of a run's events.
pub trait Reporter {
    /// Takes one event.
    fn report(&mut self, event: &RunEvent);
}

/// Says nothing but what went wrong.
pub struct QuietReporter;

impl Reporter for QuietReporter {
    fn report(&mut self, event: &RunEvent) {
        if let RunEvent::Warning(text) = event {
            lines::say(&format!("warning: {text}"));
        }
    }
}
