//! The lenses: what one look at a file is for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Version of the lens texts. It is part of a task's content, so that changed instructions ask again.
pub const LENS_TEXT_VERSION: u32 = 1;

/// One way to look at files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lens {
    /// Can it be abused?
    Security,
    /// Does it compute the right thing?
    Correctness,
    /// Does it survive failure?
    Reliability,
    /// Does data stay whole?
    DataIntegrity,
    /// Is it safe under parallel execution?
    Concurrency,
    /// Is it fast enough?
    Performance,
    /// Can it be run and repaired?
    Operability,
    /// Is it configured and shipped safely?
    ConfigDeployment,
    /// Can one see what it does?
    Observability,
    /// Can it be changed?
    Maintainability,
    /// Is it tested?
    Tests,
    /// Do the parts fit?
    Architecture,
}

/// What a lens asks of a reviewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LensText {
    /// What to look for.
    pub look_for: &'static str,
    /// What belongs to other lenses or to nobody.
    pub leave_out: &'static str,
    /// What makes a finding high or critical under this lens, and what makes it low.
    pub anchors: &'static str,
}

impl Lens {
    /// All lenses, in the order in which they are scheduled.
    pub const ALL: [Lens; 12] = [
        Lens::Security,
        Lens::Correctness,
        Lens::Reliability,
        Lens::DataIntegrity,
        Lens::Concurrency,
        Lens::Performance,
        Lens::Operability,
        Lens::ConfigDeployment,
        Lens::Observability,
        Lens::Maintainability,
        Lens::Tests,
        Lens::Architecture,
    ];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Lens::Security => "security",
            Lens::Correctness => "correctness",
            Lens::Reliability => "reliability",
            Lens::DataIntegrity => "data_integrity",
            Lens::Concurrency => "concurrency",
            Lens::Performance => "performance",
            Lens::Operability => "operability",
            Lens::ConfigDeployment => "config_deployment",
            Lens::Observability => "observability",
            Lens::Maintainability => "maintainability",
            Lens::Tests => "tests",
            Lens::Architecture => "architecture",
        }
    }

    /// The prefix of finding ids.
    pub fn prefix(self) -> &'static str {
        match self {
            Lens::Security => "SEC",
            Lens::Correctness => "COR",
            Lens::Reliability => "REL",
            Lens::DataIntegrity => "DAT",
            Lens::Concurrency => "CON",
            Lens::Performance => "PER",
            Lens::Operability => "OPE",
            Lens::ConfigDeployment => "CFG",
            Lens::Observability => "OBS",
            Lens::Maintainability => "MAI",
            Lens::Tests => "TST",
            Lens::Architecture => "ARC",
        }
    }

    /// The lens of a word; `-` and `_` are the same, case does not count.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim().replace('-', "_").to_ascii_lowercase();
        Self::ALL.into_iter().find(|lens| lens.as_str() == word)
    }

    /// What it asks.
    pub fn text(self) -> LensText {
        match self {
            Lens::Security => LensText {
                look_for: "ways in which input from outside, a weak check or a leaked secret lets somebody do or see what they must not: injection, missing or wrong authentication and authorisation, path traversal, unsafe deserialisation, weak cryptography, secrets in code, unsafe process or template use",
                leave_out: "bugs without an attacker, style, speed, advice that does not name a path to abuse",
                anchors: "critical: remote and unauthenticated harm; high: harm with a plausible precondition; medium: needs a second fault; low: hardening",
            },
            Lens::Correctness => LensText {
                look_for: "wrong results: logic errors, off-by-one, wrong types or units, states that cannot be left, missing cases, misuse of an interface",
                leave_out: "style, naming, missing tests, speed",
                anchors: "critical: wrong results in the main path without notice; high: wrong results for ordinary input; medium: for unusual input; low: harmless oddity",
            },
            Lens::Reliability => LensText {
                look_for: "failure without recovery: missing timeouts, unbounded retries or growth, leaked resources, swallowed errors, partial work after a failure, one fault that takes others with it",
                leave_out: "bugs that have no effect when something fails, style",
                anchors: "critical: one common failure stops the service or loses work; high: needs a likely failure; medium: a rare one; low: noise",
            },
            Lens::DataIntegrity => LensText {
                look_for: "loss, damage or doubt of data: missing validation at a boundary, schema and code that disagree, writes that are not atomic, lost updates, lossy conversions, migrations that cannot be undone",
                leave_out: "display, deployment, speed",
                anchors: "critical: silent loss or damage of stored data; high: damage under ordinary load or failure; medium: recoverable damage; low: untidy data",
            },
            Lens::Concurrency => LensText {
                look_for: "races, deadlocks, unguarded shared state, blocking calls in asynchronous code, tasks that outlive their owner, wrong memory ordering, cancellation that leaves things half done",
                leave_out: "single-threaded bugs, speed of code that is correct",
                anchors: "critical: corruption or deadlock in normal operation; high: under load; medium: in a narrow window; low: fragile but safe",
            },
            Lens::Performance => LensText {
                look_for: "cost that grows faster than it must: quadratic loops, repeated work, queries in loops, blocking in a hot path, needless copies of large data",
                leave_out: "micro-optimisation without a hot path, bugs",
                anchors: "critical: unusable at expected size; high: visible to users; medium: wasteful; low: small",
            },
            Lens::Operability => LensText {
                look_for: "what makes running and repairing hard: error texts without cause or mend, no progress or dry run, no way to stop or resume, unsafe defaults, undocumented switches",
                leave_out: "functional bugs, deployment files",
                anchors: "high: an operator will do harm or be helpless; medium: will lose time; low: inconvenience",
            },
            Lens::ConfigDeployment => LensText {
                look_for: "configuration, build and delivery: unpinned or untrusted inputs, missing gates before release, secrets in configuration, privileges that are too wide, no way back, settings that differ between environments",
                leave_out: "code that runs after deployment",
                anchors: "critical: a stranger can ship code or read secrets; high: a release can break without notice; medium: fragile; low: untidy",
            },
            Lens::Observability => LensText {
                look_for: "what cannot be seen when it matters: failures without a log or metric, logs without context, personal data or secrets in logs, missing traces across boundaries, alarms that cannot fire",
                leave_out: "functional bugs, style of log texts",
                anchors: "high: an outage or breach would go unseen; medium: would be slow to explain; low: noise",
            },
            Lens::Maintainability => LensText {
                look_for: "what makes change dear or dangerous: duplicated logic, long and nested functions, hidden coupling, misleading names, dead code, interfaces that invite misuse",
                leave_out: "bugs, missing tests, taste",
                anchors: "high: a likely change will break something; medium: slows every change; low: local untidiness",
            },
            Lens::Tests => LensText {
                look_for: "behaviour that no test would notice breaking, tests that cannot fail, tests that pin a bug, flaky waits, missing negative cases, fixtures that hide the real input",
                leave_out: "bugs in the program itself, style of tests",
                anchors: "high: critical behaviour is untested; medium: an important case is; low: a small gap",
            },
            Lens::Architecture => LensText {
                look_for: "parts that do not fit: layers that are skipped, cycles, responsibilities in the wrong place, abstractions that are missing or needless, home-made parts where a library is the better choice",
                leave_out: "local bugs and style",
                anchors: "high: blocks the direction in which the code must grow; medium: costs every team; low: a smell",
            },
        }
    }
}

impl fmt::Display for Lens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lens_is_found_by_its_word_and_has_its_own_prefix() {
        for lens in Lens::ALL {
            assert_eq!(Lens::parse(lens.as_str()), Some(lens));
            assert_eq!(serde_json::to_value(lens).expect("a word"), lens.as_str());
            assert_eq!(Lens::ALL.iter().filter(|other| other.prefix() == lens.prefix()).count(), 1);
        }
        assert_eq!(Lens::parse("Data-Integrity"), Some(Lens::DataIntegrity));
    }
}
