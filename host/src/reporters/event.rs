//! The events of a run.

use std::collections::BTreeMap;

use assize_core::dispatch::LaneView;
use assize_core::result::Severity;

/// Something that people may want to know.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// A stage was finished.
    Stage {
        /// Name.
        name: &'static str,
        /// One line.
        detail: String,
    },
    /// Who reviews, and why.
    Provider {
        /// One line.
        why: String,
    },
    /// Reviewing begins, or more tasks were added.
    Work {
        /// Tasks of the plan.
        total: usize,
        /// Tasks that are done already.
        done: usize,
    },
    /// A launch has ended.
    Launched {
        /// Lane.
        lane: String,
        /// Outcome word.
        outcome: &'static str,
        /// One line, empty when all went well.
        message: String,
        /// Tasks done in the whole audit.
        done: usize,
        /// Tasks of the whole audit.
        total: usize,
        /// Findings so far by severity.
        findings: BTreeMap<Severity, usize>,
        /// The lanes.
        lanes: Vec<LaneView>,
        /// Milliseconds until the end at the pace so far, when there is one.
        eta_ms: Option<u64>,
    },
    /// Nothing can be started before an instant.
    Waiting {
        /// When, for people.
        until: String,
        /// Which lanes.
        lanes: Vec<LaneView>,
    },
    /// Something went wrong that the run gets over.
    Warning(String),
}

impl RunEvent {
    /// The event as one plain line; none where a line would be noise.
    pub fn line(&self) -> Option<String> {
        match self {
            RunEvent::Stage { name, detail } => Some(format!("{name}: {detail}")),
            RunEvent::Provider { why } => Some(format!("provider: {why}")),
            RunEvent::Work { total, done } => Some(format!("review: {} of {total} tasks to do", total - done)),
            RunEvent::Launched { lane, outcome, message, done, total, findings, eta_ms, .. } => {
                let said = if message.is_empty() { String::new() } else { format!(" ({message})") };
                let eta = eta_ms.map(|ms| format!(", about {} left", duration(ms))).unwrap_or_default();
                Some(format!("{done}/{total} tasks, {lane} {outcome}{said}, {}{eta}", counts(findings)))
            }
            RunEvent::Waiting { until, lanes } => {
                let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
                Some(format!("waiting until {until} for {}", names.join(", ")))
            }
            RunEvent::Warning(text) => Some(format!("warning: {text}")),
        }
    }
}

/// Findings by severity in words, worst first.
pub(crate) fn counts(findings: &BTreeMap<Severity, usize>) -> String {
    let total: usize = findings.values().sum();
    if total == 0 {
        return "no findings".to_owned();
    }
    let parts: Vec<String> = findings
        .iter()
        .rev()
        .filter(|(_, n)| **n > 0)
        .map(|(severity, n)| format!("{n} {}", severity.as_str()))
        .collect();
    format!("findings: {}", parts.join(", "))
}

/// A duration for people, in its two largest units.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_name_the_worst_first_and_leave_out_what_is_not_there() {
        let findings = BTreeMap::from([(Severity::Low, 2), (Severity::Critical, 1), (Severity::High, 0)]);
        assert_eq!(counts(&findings), "findings: 1 critical, 2 low");
        assert_eq!(counts(&BTreeMap::new()), "no findings");
    }

    #[test]
    fn durations_have_two_units() {
        assert_eq!([duration(900), duration(61_000), duration(7_260_000)], ["1s", "1m01s", "2h01m"]);
    }
}
