//! The targets, and whether they are reached.

use std::fmt::Write as _;

use crate::args::Args;
use crate::call::max;
use crate::results::{Row, What, find};

/// One target.
pub struct Target {
    name: String,
    /// What was measured; none where it was not.
    got: Option<f64>,
    unit: &'static str,
    /// The bound.
    bound: f64,
    /// Whether more is better.
    at_least: bool,
}

impl Target {
    /// A figure that is to be the bound at most.
    pub fn at_most(name: impl Into<String>, got: Option<f64>, bound: f64, unit: &'static str) -> Self {
        Self { name: name.into(), got, unit, bound, at_least: false }
    }

    fn at_least(name: impl Into<String>, got: Option<f64>, bound: f64, unit: &'static str) -> Self {
        Self { name: name.into(), got, unit, bound, at_least: true }
    }

    /// One line: what is wanted, and whether it was reached.
    pub fn render(&self) -> String {
        let sign = if self.at_least { ">=" } else { "<=" };
        let wanted = format!("{sign} {}{}", self.bound, self.unit);
        match self.got {
            None => format!("  {:54} {wanted:>12}   not measured", self.name),
            Some(got) => {
                let reached = if self.at_least { got >= self.bound } else { got <= self.bound };
                let word = if reached { "reached" } else { "MISSED" };
                format!("  {:54} {wanted:>12}   {word:8} {got:.3}{}", self.name, self.unit)
            }
        }
    }
}

/// Renders the targets and what stands behind the ratios.
pub fn render_targets(rows: &[Row], args: &Args) -> String {
    let cpu = |what, files| find(rows, what, files).map(|row| row.cost.cpu).filter(|cpu| *cpu > 0.0);
    let wall_ms = |what, files| find(rows, what, files).map(|row| row.cost.wall() * 1_000.0);
    let widest = args.workers.iter().copied().max().unwrap_or(1);
    let plan_before = cpu(What::Predecessor, 1_000).unwrap_or(args.figures.plan_cpu);
    let plan = cpu(What::PlanFresh, 1_000);
    let launched = cpu(What::Launched(widest), 1_000);
    let peak =
        |files| rows.iter().filter(|row| row.files == files).fold(None, |peak, row| max(peak, row.cost.peak_mib));
    let rate = find(rows, What::Review(widest), 1_000).and_then(Row::tasks_per_second);
    let targets = [
        Target::at_least("plan of 1,000 files, times less CPU", plan.map(|cpu| plan_before / cpu), 200.0, ""),
        Target::at_most("plan of 10,000 files, nothing compiled, CPU", cpu(What::PlanCold, 10_000), 3.0, " s"),
        Target::at_least(
            "audit of 1,000 files by launches, times less CPU",
            launched.map(|cpu| args.figures.audit_cpu / cpu),
            50.0,
            "",
        ),
        Target::at_least("tasks a second by the rules, 1,000 files", rate, 1_000.0, ""),
        Target::at_most("largest process at 10,000 files", peak(10_000), 200.0, " MiB"),
        Target::at_most("version, wall", wall_ms(What::Version, 0), 15.0, " ms"),
        Target::at_most("nothing to do at 1,000 files, wall", wall_ms(What::Nothing, 1_000), 100.0, " ms"),
    ];
    let mut text = String::from("targets\n");
    for target in &targets {
        let _ = writeln!(text, "{}", target.render());
    }
    if let Some(row) = find(rows, What::Review(widest), 1_000) {
        let per_cpu = row.tasks.unwrap_or(0) as f64 / row.cost.cpu;
        let _ = writeln!(text, "tasks by the rules for each CPU second at 1,000 files: {per_cpu:.0}");
    }
    let launches = find(rows, What::Launched(widest), 1_000).and_then(|row| row.launches);
    if let (Some(launches), Some(peak)) = (launches, peak(1_000)) {
        let _ = writeln!(
            text,
            "at 1,000 files: {launches} launches; largest process {peak:.1} MiB, the predecessor's {} MiB ({:.1} times less)",
            args.figures.peak_mib,
            args.figures.peak_mib / peak
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_reached_missed_or_not_measured() {
        let render = |got| Target::at_most("x", got, 3.0, " s").render();
        assert!(render(Some(2.9)).contains("reached"));
        assert!(render(Some(3.1)).contains("MISSED"));
        assert!(render(None).contains("not measured"));
        assert!(Target::at_least("x", Some(3.0), 3.0, "").render().contains("reached"));
    }
}
