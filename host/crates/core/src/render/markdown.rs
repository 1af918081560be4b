//! The report for people: first what was and what was not reviewed, then the findings, the work and the run.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::escape::{code, code_cell, inline, paragraphs};
use super::input::{LensRow, ReportInput};
use super::markdown_findings::write_findings;
use crate::inventory::FileStatus;
use crate::result::ReviewerKind;
use crate::review::{BlockRole, CoveragePair, PairState};

/// Rows of one list; the rest is counted, and stands in the findings file.
const ROWS: usize = 200;

/// The report as Markdown. Text of the repository and of reviewers carries no markup into it.
pub fn render_markdown(input: &ReportInput) -> String {
    let mut out = String::from("<!-- audit-tools/audit-report/v1 -->\n\n");
    // Writing into a string cannot fail.
    let _ = write_all(&mut out, input);
    out
}

fn write_all(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    writeln!(out, "# Audit of {}\n", inline(&input.repository))?;
    write_verdict(out, input)?;
    write_reviewed(out, input)?;
    write_not_reviewed(out, input)?;
    write_findings(out, input)?;
    write_blocks(out, input)?;
    write_leads(out, input)?;
    write_run(out, input)
}

/// The sentences that nobody may miss.
fn write_verdict(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let summary = &input.coverage.summary;
    if input.is_rules_only() {
        writeln!(
            out,
            "**Reviewed by deterministic rules only. No agent, model or person has looked at this code.**\n"
        )?;
    } else if summary.reviewed == 0 {
        writeln!(out, "**Nothing was reviewed.**\n")?;
    }
    if !input.is_complete() {
        let open = summary.missing + summary.stale;
        writeln!(
            out,
            "**Incomplete: {open} of {} required reviews are open and {} tasks are parked.**\n",
            summary.required,
            input.parked.len()
        )?;
    }
    if let Some(scope) = &input.scope {
        writeln!(out, "Only a part of the repository was in scope: {}.\n", inline(scope))?;
    }
    let head = input.head.as_ref().map_or_else(|| "no commit".to_owned(), |head| format!("commit {}", code(head)));
    writeln!(out, "{head}, {}, assize {}\n", inline(&input.generated_at), code(&input.tool_version))
}

fn write_reviewed(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let summary = &input.coverage.summary;
    writeln!(out, "## What was reviewed\n")?;
    writeln!(
        out,
        "{} of {} files were reviewed under every lens that they require; {} of {} reviews of a file under a lens are done, {} are waived.\n",
        summary.files_reviewed, summary.files, summary.reviewed, summary.required, summary.waived
    )?;
    writeln!(out, "| lens | required | person | agent | model | imported | rules only | waived | stale | missing |")?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    let rows = input.lens_rows();
    let mut total = LensRow::default();
    for (lens, row) in &rows {
        write_row(out, lens.as_str(), row)?;
        total.required += row.required;
        total.waived += row.waived;
        total.stale += row.stale;
        total.missing += row.missing;
        for (kind, count) in &row.by_kind {
            *total.by_kind.entry(*kind).or_default() += count;
        }
    }
    write_row(out, "**all**", &total)?;
    writeln!(
        out,
        "\nA review counts under the strongest kind of reviewer that looked: person, agent, model, imported, rules.\n"
    )
}

fn write_row(out: &mut String, name: &str, row: &LensRow) -> std::fmt::Result {
    let of = |kind| row.by_kind.get(&kind).copied().unwrap_or(0);
    writeln!(
        out,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.required,
        of(ReviewerKind::Person),
        of(ReviewerKind::Agent),
        of(ReviewerKind::Model),
        of(ReviewerKind::Imported),
        of(ReviewerKind::Rules),
        row.waived,
        row.stale,
        row.missing
    )
}

fn write_not_reviewed(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    writeln!(out, "## What was not reviewed\n")?;
    let before = out.len();
    write_open_pairs(out, input)?;
    write_parked(out, input)?;
    if input.entries(FileStatus::Auditable) > 0 || !input.unaudited.is_empty() {
        write_left_out(out, input)?;
    }
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
    write_more(out, files.len(), "files")
}

fn open_word(pair: &CoveragePair) -> Option<String> {
    match &pair.state {
        PairState::Reviewed { .. } => None,
        PairState::Missing => Some(format!("{} missing", pair.lens)),
        PairState::Stale => Some(format!("{} stale", pair.lens)),
        PairState::Waived { reason } => Some(format!("{} waived ({})", pair.lens, inline(reason))),
    }
}

fn write_more(out: &mut String, count: usize, what: &str) -> std::fmt::Result {
    if count > ROWS {
        writeln!(out, "- … and {} more {what}; all of them are in the findings file", count - ROWS)?;
    }
    writeln!(out)
}

fn write_parked(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.parked.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Parked tasks\n")?;
    for task in input.parked.iter().take(ROWS) {
        let files = task.files.len();
        writeln!(out, "- {} ({}, {files} files): {}", code(&task.name), task.lens, inline(&task.reason))?;
    }
    write_more(out, input.parked.len(), "tasks")
}

fn write_left_out(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    writeln!(out, "### Entries of the repository\n")?;
    writeln!(out, "| status | reason | entries |\n|---|---|--:|")?;
    for (status, reasons) in &input.inventory {
        for (reason, count) in reasons {
            writeln!(out, "| {} | {} | {count} |", code_cell(status), code_cell(reason))?;
        }
    }
    writeln!(out)?;
    if input.unaudited.is_empty() {
        return Ok(());
    }
    writeln!(out, "### Files that were not reviewed at all\n")?;
    for file in input.unaudited.iter().take(ROWS) {
        writeln!(out, "- {}: {}", code(&file.path), inline(&file.reason))?;
    }
    write_more(out, input.unaudited.len(), "files")
}

fn write_blocks(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.blocks.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Work blocks\n")?;
    for block in &input.blocks {
        let role = if block.role == BlockRole::Coordination { ", coordination" } else { "" };
        writeln!(out, "### {} ({}{role})\n", inline(&block.id), block.max_severity.as_str())?;
        let ids: Vec<String> = block.finding_ids.iter().map(|id| inline(id.as_str())).collect();
        writeln!(out, "{}: {}\n", inline(&block.rationale), ids.join(", "))?;
        for file in &block.owned_files {
            writeln!(out, "- {}", code(file))?;
        }
        if !block.depends_on.is_empty() {
            let names: Vec<String> = block.depends_on.iter().map(|id| inline(id)).collect();
            writeln!(out, "- after {}", names.join(", "))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_leads(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.leads.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "## Leads about the design\n\nThese come from the structure alone. They are questions, not findings.\n"
    )?;
    for lead in input.leads.iter().take(ROWS) {
        let files: Vec<String> = lead.files.iter().take(8).map(|file| code(file)).collect();
        let more = if lead.files.len() > 8 { format!(" and {} more", lead.files.len() - 8) } else { String::new() };
        writeln!(out, "- **{}** ({}): {}", inline(&lead.title), inline(&lead.kind), inline(&lead.detail))?;
        writeln!(out, "  {}{more}", files.join(", "))?;
    }
    write_more(out, input.leads.len(), "leads")
}

fn write_run(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let run = &input.run;
    writeln!(out, "## Run\n")?;
    writeln!(out, "- launches: {}{}, {} of them repeated", run.launches, counts(&run.by_outcome), run.retried)?;
    let known = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    writeln!(out, "- tokens: {} read, {} written", known(run.input_tokens), known(run.output_tokens))?;
    let cost = run.cost_micro_usd.map(|micro| format!("{}.{:04} USD", micro / 1_000_000, micro % 1_000_000 / 100));
    writeln!(out, "- cost: {}", cost.unwrap_or_else(|| "unknown".to_owned()))?;
    if !run.failures.is_empty() {
        writeln!(out, "- failures: {}{}", run.failures.values().sum::<u64>(), counts(&run.failures))?;
    }
    for wait in &run.waits {
        let tenths = wait.total_ms / 100;
        writeln!(out, "- waited {} times for {}: {}.{} s", wait.count, inline(&wait.reason), tenths / 10, tenths % 10)?;
    }
    if !input.runtime_validation.is_empty() {
        let all = input.runtime_validation.values().sum::<u64>();
        writeln!(out, "- runtime validation: {all}{}", counts(&input.runtime_validation))?;
    }
    write_lanes(out, input)?;
    if !input.analyzers.is_empty() {
        writeln!(out, "\n| analyzer | version | digest |\n|---|---|---|")?;
        for analyzer in &input.analyzers {
            let (name, version) = (code_cell(&analyzer.name), code_cell(&analyzer.version));
            writeln!(out, "| {name} | {version} | `{}` |", analyzer.digest.short(16))?;
        }
    }
    Ok(())
}

fn write_lanes(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    if input.run.lanes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| lane | kind | models | launches | results | findings |\n|---|---|---|--:|--:|--:|")?;
    for lane in &input.run.lanes {
        let models: Vec<String> = lane.models.iter().map(|model| code_cell(model)).collect();
        let kind = lane.kind.as_str();
        let (launches, results, findings) = (lane.launches, lane.results, lane.findings);
        let name = code_cell(&lane.lane);
        writeln!(out, "| {name} | {kind} | {} | {launches} | {results} | {findings} |", models.join(", "))?;
    }
    for lane in input.run.lanes.iter().filter(|lane| lane.all_empty) {
        writeln!(
            out,
            "\n**{}**",
            paragraphs(&format!("All results of lane {} are empty; it may be broken.", lane.lane))
        )?;
    }
    Ok(())
}

fn counts(of: &BTreeMap<String, u64>) -> String {
    if of.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = of.iter().map(|(word, count)| format!("{count} {}", inline(word))).collect();
    format!(" ({})", parts.join(", "))
}
