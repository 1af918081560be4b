//! What was not reviewed, in the Markdown report.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::escape::{code, code_cell, inline};
use super::input::ReportInput;
use super::words::{count_of, length, plural};
use crate::review::{CoveragePair, PairState};

/// Rows of one list; the rest is counted, and stands in the findings file.
pub(super) const ROWS: usize = 200;

/// What is open, parked or left out, and what went wrong in looking.
pub(super) fn write_not_reviewed(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    writeln!(out, "## What was not reviewed\n")?;
    let before = out.len();
    write_open_pairs(out, input)?;
    write_parked(out, input)?;
    write_entries(out, input)?;
    write_unaudited(out, input)?;
    write_problems(out, input)?;
    if out.len() == before {
        writeln!(out, "Nothing was left out.\n")?;
    }
    Ok(())
}

fn write_open_pairs(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    // One line for a file, with its lenses by what became of them.
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in &input.coverage.pairs {
        if let Some(word) = open_word(pair) {
            files.entry(&pair.path).or_default().push(word);
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Required reviews that are open or waived\n")?;
    for (path, words) in files.iter().take(ROWS) {
        writeln!(out, "- {}: {}", code(path), words.join(", "))?;
    }
    write_more(out, u64::try_from(files.len()).unwrap_or(u64::MAX), "file")
}

fn open_word(pair: &CoveragePair) -> Option<String> {
    match &pair.state {
        PairState::Reviewed { .. } => None,
        PairState::Missing => Some(format!("{} missing", pair.lens)),
        PairState::Stale => Some(format!("{} stale", pair.lens)),
        PairState::Waived { reason } => Some(format!("{} waived ({})", pair.lens, inline(reason))),
    }
}

/// How many of a list are not shown, and the blank line after it.
pub(super) fn write_more(out: &mut String, count: u64, noun: &str) -> std::fmt::Result {
    let more = count.saturating_sub(u64::try_from(ROWS).unwrap_or(u64::MAX));
    if more > 0 {
        writeln!(out, "- … and {more} more {}; all of them are in the findings file", plural(more, noun))?;
    }
    writeln!(out)
}

fn write_parked(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.parked.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Parked tasks\n")?;
    for task in input.parked.iter().take(ROWS) {
        let files = count_of(length(&task.files), "file");
        writeln!(out, "- {} ({}, {files}): {}", code(&task.name), task.lens, inline(&task.reason))?;
    }
    write_more(out, length(&input.parked), "task")
}

/// Entries that are not auditable, by reason; the others are what was reviewed.
fn write_entries(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let mut left_out = input.inventory.iter().filter(|(status, _)| *status != "auditable").peekable();
    if left_out.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "### Entries of the repository\n")?;
    writeln!(out, "| status | reason | entries |\n|---|---|--:|")?;
    for (status, reasons) in left_out {
        for (reason, count) in reasons {
            writeln!(out, "| {} | {} | {count} |", code_cell(status), code_cell(reason))?;
        }
    }
    writeln!(out)
}

fn write_unaudited(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.unaudited.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Files that were not reviewed at all\n")?;
    for file in input.unaudited.iter().take(ROWS) {
        writeln!(out, "- {}: {}", code(&file.path), inline(&file.reason))?;
    }
    write_more(out, length(&input.unaudited), "file")
}

fn write_problems(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let count = input.problems().count();
    if count == 0 {
        return Ok(());
    }
    writeln!(out, "### Problems\n")?;
    for problem in input.problems().take(ROWS) {
        writeln!(out, "- {}", inline(problem))?;
    }
    write_more(out, u64::try_from(count).unwrap_or(u64::MAX), "problem")
}
