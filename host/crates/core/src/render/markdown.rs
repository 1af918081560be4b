//! The report for people: first what was and what was not reviewed, then the findings, the work and the run.

use std::fmt::Write;

use super::escape::{code, cut, inline};
use super::input::{LensRow, ReportInput};
use super::markdown_findings::write_findings;
use super::markdown_left_out::{ROWS, write_more, write_not_reviewed};
use super::markdown_run::write_run;
use super::words::{count_of, counts, is_or_are, length, open_work};
use crate::inventory::FileStatus;
use crate::result::ReviewerKind;
use crate::review::BlockRole;

/// Pieces of evidence of a lead that are listed.
const EVIDENCE: usize = 5;
/// Characters of one of them.
const EVIDENCE_LINE: usize = 200;

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
        let results = input.run.lanes.iter().fold(0, |sum: u64, lane| sum.saturating_add(lane.results));
        if results == 0 {
            writeln!(out, "**Nothing was reviewed.**\n")?;
        } else {
            let (done, verb) = (count_of(results, "task result"), is_or_are(results));
            writeln!(
                out,
                "**No required review is complete yet, but {done} {verb} accepted. A file that is split into parts counts only when all its parts are done.**\n"
            )?;
        }
    }
    if !input.is_complete() {
        let work = open_work(summary.missing + summary.stale, summary.required, length(&input.parked));
        writeln!(out, "**Incomplete: {work}.**\n")?;
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
        "{} of {} {} reviewed under every required lens; {} of {} of a file under a lens {} done, {} {} waived.\n",
        summary.files_reviewed,
        count_of(summary.files, "file"),
        if summary.files_reviewed == 1 { "was" } else { "were" },
        summary.reviewed,
        count_of(summary.required, "review"),
        is_or_are(summary.reviewed),
        summary.waived,
        is_or_are(summary.waived)
    )?;
    let auditable = input.entries(FileStatus::Auditable);
    if auditable > 0 {
        let reasons = input.inventory.get("auditable").map(counts).unwrap_or_default();
        let noun = if auditable == 1 { "entry" } else { "entries" };
        writeln!(out, "The repository has {auditable} auditable {noun}{reasons}.\n")?;
    }
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
        writeln!(out, "- **{}** ({})", inline(&lead.title), inline(&lead.kind))?;
        let evidence = evidence_lines(&lead.detail);
        for line in evidence.iter().take(EVIDENCE) {
            writeln!(out, "  - {}", inline(&cut(line, EVIDENCE_LINE)))?;
        }
        if evidence.len() > EVIDENCE {
            writeln!(out, "  - … and {} more", evidence.len() - EVIDENCE)?;
        }
        let files: Vec<String> = lead.files.iter().take(8).map(|file| code(file)).collect();
        let more = if lead.files.len() > 8 { format!(" and {} more", lead.files.len() - 8) } else { String::new() };
        if !files.is_empty() {
            writeln!(out, "  - files: {}{more}", files.join(", "))?;
        }
    }
    write_more(out, length(&input.leads), "lead")
}

/// The pieces of evidence of a lead, which stand behind each other with `; `. What starts with no place belongs to the
/// piece before: quoted source has semicolons of its own.
fn evidence_lines(detail: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in detail.split("; ") {
        match lines.last_mut() {
            Some(last) if !starts_with_place(piece) => {
                last.push_str("; ");
                last.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    lines
}

/// Whether text starts with `path:line `.
fn starts_with_place(text: &str) -> bool {
    text.match_indices(':').any(|(at, _)| {
        let after = text[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        at > 0 && after.len() < text.len() - at - 1 && (after.is_empty() || after.starts_with(' '))
    })
}
