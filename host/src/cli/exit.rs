//! Exit codes: the public table, and what every end of a run maps to.

use std::process::ExitCode;

use crate::driver::RunEnd;

/// Code and meaning, as the README prints them.
pub const EXIT_CODES: [(u8, &str); 7] = [
    (0, "complete, below the gate"),
    (1, "complete, the gate of --fail-on was reached"),
    (2, "usage or configuration; nothing was started"),
    (3, "incomplete: blocked or parked work is left"),
    (4, "paused on a budget or the deadline; run again to go on"),
    (5, "fault of the store or of the program"),
    (130, "interrupted; run again to go on"),
];

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// All is well.
    Complete,
    /// The gate was reached.
    Gate,
    /// The call was wrong.
    Usage,
    /// Work is left that cannot be done now.
    Incomplete,
    /// A budget is spent.
    Paused,
    /// Something of ours broke.
    Fault,
    /// A person stopped it.
    Interrupted,
}

impl ExitStatus {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::Complete => 0,
            ExitStatus::Gate => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Incomplete => 3,
            ExitStatus::Paused => 4,
            ExitStatus::Fault => 5,
            ExitStatus::Interrupted => 130,
        }
    }

    /// For the end of a run; the gate counts only when it is complete.
    pub fn of_run(end: &RunEnd, gate_reached: bool) -> Self {
        match end {
            RunEnd::Complete if gate_reached => ExitStatus::Gate,
            RunEnd::Complete => ExitStatus::Complete,
            RunEnd::Incomplete(_) => ExitStatus::Incomplete,
            RunEnd::Paused(_) => ExitStatus::Paused,
            RunEnd::Interrupted => ExitStatus::Interrupted,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_in_the_public_table_once() {
        use ExitStatus::{Complete, Fault, Gate, Incomplete, Interrupted, Paused, Usage};
        let all = [Complete, Gate, Usage, Incomplete, Paused, Fault, Interrupted].map(ExitStatus::code);
        assert_eq!(all.to_vec(), EXIT_CODES.iter().map(|(code, _)| *code).collect::<Vec<_>>());
    }

    #[test]
    fn an_incomplete_audit_is_never_a_success() {
        assert_eq!(ExitStatus::of_run(&RunEnd::Incomplete(Vec::new()), true), ExitStatus::Incomplete);
        assert_eq!(ExitStatus::of_run(&RunEnd::Complete, true), ExitStatus::Gate);
        assert_eq!(ExitStatus::of_run(&RunEnd::Paused(String::new()), false), ExitStatus::Paused);
    }
}
