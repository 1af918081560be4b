//! The rows of the table, and how they are found again and printed.

use std::fmt::Write as _;

use crate::call::Cost;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `assize version`.
    Version,
    /// A plan with nothing compiled and no state.
    PlanCold,
    /// A plan with compiled components and no state.
    PlanFresh,
    /// A plan of what is planned already.
    PlanAgain,
    /// A whole audit by the built-in rules.
    Rules(usize),
    /// A whole audit by launched workers.
    Launched(usize),
    /// A run on a state in which everything is planned and nothing reviewed.
    Review(usize),
    /// A run with nothing to do.
    Nothing,
    /// The predecessor's plan.
    Predecessor,
}

impl What {
    fn words(self) -> String {
        match self {
            What::Version => "version".to_owned(),
            What::PlanCold => "plan, nothing compiled".to_owned(),
            What::PlanFresh => "plan, no state".to_owned(),
            What::PlanAgain => "plan again".to_owned(),
            What::Rules(workers) => format!("audit, rules, {workers} at once"),
            What::Launched(workers) => format!("audit, launched worker, {workers} at once"),
            What::Review(workers) => format!("review of a plan, rules, {workers} at once"),
            What::Nothing => "run, nothing to do".to_owned(),
            What::Predecessor => "predecessor's plan".to_owned(),
        }
    }
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// What.
    pub what: What,
    /// Source files; none where there is no repository.
    pub files: usize,
    /// Its cost.
    pub cost: Cost,
    /// Launches, where there were any.
    pub launches: Option<u64>,
    /// Tasks that were planned or answered.
    pub tasks: Option<u64>,
}

impl Row {
    /// Tasks of a second of wall time.
    pub fn tasks_per_second(&self) -> Option<f64> {
        Some(self.tasks? as f64 / self.cost.wall())
    }
}

/// Finds a row.
pub fn find(rows: &[Row], what: What, files: usize) -> Option<&Row> {
    rows.iter().find(|row| row.what == what && row.files == files)
}

/// The heading of the table.
pub fn render_heading() -> String {
    format!(
        "{:>6}  {:38} {:>3} {:>9} {:>19} {:>9} {:>9} {:>7} {:>8} {:>8}",
        "files", "what", "n", "wall s", "(min-max)", "CPU s", "peak MiB", "tasks", "launches", "tasks/s"
    )
}

/// One line of the table.
pub fn render_row(row: &Row) -> String {
    let walls = &row.cost.walls;
    let least = walls.iter().copied().fold(f64::INFINITY, f64::min);
    let most = walls.iter().copied().fold(0.0, f64::max);
    let mut line = String::new();
    let files = if row.files == 0 { String::new() } else { row.files.to_string() };
    let count = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let spread = format!("({least:.4}-{most:.4})");
    let peak = row.cost.peak_mib.map_or_else(String::new, |mib| format!("{mib:.1}"));
    let rate = match row.what {
        What::Rules(_) | What::Launched(_) | What::Review(_) => row.tasks_per_second(),
        _ => None,
    };
    let rate = rate.map_or_else(String::new, |rate| format!("{rate:.0}"));
    let _ = write!(
        line,
        "{files:>6}  {:38} {:>3} {:>9.4} {spread:>19} {:>9.3} {peak:>9} {:>7} {:>8} {rate:>8}",
        row.what.words(),
        walls.len(),
        row.cost.wall(),
        row.cost.cpu,
        count(row.tasks),
        count(row.launches),
    );
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_by_what_and_size_and_stays_on_one_line() {
        let cost = Cost { walls: vec![2.0], cpu: 1.5, peak_mib: Some(10.0), stdout: String::new() };
        let row = |files| Row { what: What::Rules(4), files, cost: cost.clone(), launches: Some(3), tasks: Some(50) };
        let rows = [row(100), row(1_000)];
        assert_eq!(find(&rows, What::Rules(4), 1_000).map(|row| row.files), Some(1_000));
        assert!(find(&rows, What::Rules(1), 100).is_none());
        let line = render_row(&rows[0]);
        assert!(line.contains(" 25") && !line.contains('\n'), "{line}");
    }
}
