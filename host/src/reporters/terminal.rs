//! Progress on a terminal: a bar with tasks, findings, lanes and the time that is left; stages as lines above it.

use std::time::Duration;

use assize_core::dispatch::{LaneState, LaneView};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::event::{counts, duration};
use super::{Reporter, RunEvent};

/// Draws on stderr.
pub struct TerminalReporter {
    bar: ProgressBar,
    colour: bool,
}

impl TerminalReporter {
    /// A reporter that has drawn nothing yet.
    pub fn new(colour: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { bar, colour }
    }

    fn start(&mut self, total: usize, done: usize) {
        if self.bar.is_hidden() {
            self.bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let bar = if self.colour { "{bar:24.cyan/blue}" } else { "{bar:24}" };
            let template = format!("{{spinner}} {bar} {{pos}}/{{len}} tasks  {{msg}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                self.bar.set_style(style);
            }
            self.bar.enable_steady_tick(Duration::from_millis(120));
        }
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
    }

    fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            return super::lines::say(line);
        }
        let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.bar.suspend(|| super::lines::say(&clean));
    }
}

impl Reporter for TerminalReporter {
    fn report(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Work { total, done } => self.start(*total, *done),
            RunEvent::Launched { message, done, total, findings, lanes, eta_ms, outcome, lane } => {
                self.bar.set_length(*total as u64);
                self.bar.set_position(*done as u64);
                let eta = eta_ms.map(|ms| format!("  {} left", duration(ms))).unwrap_or_default();
                self.bar.set_message(format!("{}  {}{eta}", counts(findings), lanes_line(lanes)));
                if !message.is_empty() {
                    self.say(&format!("{lane} {outcome}: {message}"));
                }
            }
            RunEvent::Waiting { until, lanes } => {
                self.bar.set_message(format!("waiting until {until}  {}", lanes_line(lanes)));
            }
            RunEvent::Stage { .. } | RunEvent::Provider { .. } | RunEvent::Warning(_) => {
                if let Some(line) = event.line() {
                    self.say(&line);
                }
            }
        }
    }
}

impl Drop for TerminalReporter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn lanes_line(lanes: &[LaneView]) -> String {
    let lane = |lane: &LaneView| match &lane.state {
        LaneState::Open => format!("{} {}/{}", lane.name, lane.in_flight, lane.width),
        LaneState::Cooling(_) => format!("{} cooling", lane.name),
        LaneState::Closed(_) => format!("{} closed", lane.name),
    };
    lanes.iter().map(lane).collect::<Vec<_>>().join(" ")
}
