//! The findings of the Markdown report.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

use super::escape::{code, fence, inline, paragraphs};
use super::input::ReportInput;
use super::secrets::hide_secrets;
use super::words::count_of;
use crate::result::{AffectedFile, Reviewer, Severity};
use crate::review::{FindingSource, MergedFinding, VerificationState, lenses_of, severity_counts};

/// Places and sources of one finding that are listed.
const LISTED: usize = 20;

/// Findings by severity, then those that were refuted or are held back. Secrets in them are masked.
pub(super) fn write_findings(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    writeln!(out, "## Findings\n")?;
    let counts = severity_counts(input.standing());
    let parts: Vec<String> = counts.iter().map(|(severity, count)| format!("{count} {}", severity.as_str())).collect();
    if parts.is_empty() {
        writeln!(out, "None.\n")?;
    } else {
        writeln!(out, "{}. {}\n", parts.join(", "), second_looks(input))?;
    }
    if input.findings.iter().any(|merged| matches!(hide_secrets(merged), Cow::Owned(_))) {
        writeln!(out, "Secrets are masked here; the findings file holds the exact text.\n")?;
    }
    for severity in Severity::WORST_FIRST {
        let mut of_severity = input.standing().filter(|m| m.finding.severity == severity).peekable();
        if of_severity.peek().is_some() {
            writeln!(out, "### {}\n", heading(severity))?;
        }
        for merged in of_severity {
            write_finding(out, &hide_secrets(merged))?;
        }
    }
    write_refuted(out, input)?;
    write_held_back(out, input)
}

/// How many of the findings that count were looked at again.
fn second_looks(input: &ReportInput) -> String {
    match input.standing().filter(|merged| merged.verification.is_verified()).count() {
        0 if input.findings.iter().all(|merged| merged.verification.decision().is_none()) => {
            "No finding was looked at a second time.".to_owned()
        }
        0 => "No second reviewer let one of them stand.".to_owned(),
        1 => "A second reviewer looked at 1 of them and let it stand.".to_owned(),
        verified => format!("A second reviewer looked at {verified} of them and let them stand."),
    }
}

fn heading(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "Critical",
        Severity::High => "High",
        Severity::Medium => "Medium",
        Severity::Low => "Low",
        Severity::Info => "Info",
    }
}

fn write_finding(out: &mut String, merged: &MergedFinding) -> std::fmt::Result {
    let finding = &merged.finding;
    writeln!(out, "#### {}: {}\n", inline(merged.id.as_str()), inline(&finding.title))?;
    for place in finding.affected_files.iter().take(LISTED) {
        writeln!(out, "- {}", place_text(place))?;
    }
    if finding.affected_files.len() > LISTED {
        writeln!(out, "- … and {}", more(finding.affected_files.len(), "more place"))?;
    }
    let lenses: Vec<&str> = lenses_of(merged).into_iter().map(|lens| lens.as_str()).collect();
    let cwe = finding.cwe.as_ref().map_or_else(String::new, |cwe| format!(", {}", inline(cwe)));
    let systemic = if finding.systemic == Some(true) { ", systemic" } else { "" };
    let (category, confidence) = (inline(&finding.category), finding.confidence.as_str());
    writeln!(out, "- {}: {category}, confidence {confidence}{cwe}{systemic}", lenses.join(", "))?;
    writeln!(out, "- {}", state_text(&merged.verification))?;
    for source in merged.sources.iter().take(LISTED) {
        writeln!(out, "- {}", source_text(source))?;
    }
    if merged.sources.len() > LISTED {
        writeln!(out, "- … and {}", more(merged.sources.len(), "more source"))?;
    }
    writeln!(out, "\n{}\n", paragraphs(&finding.summary))?;
    if let Some(quote) = &finding.quote {
        let unverified = finding.tags.iter().any(|tag| tag == "unverified-quote");
        if unverified {
            writeln!(out, "The reviewer quotes this, but it is not in the file:\n")?;
        }
        writeln!(out, "{}\n", fence(quote))?;
    }
    for (label, text) in [("Impact", &finding.impact), ("Likelihood", &finding.likelihood), ("Mend", &finding.fix)] {
        if let Some(text) = text {
            writeln!(out, "{label}: {}\n", paragraphs(text))?;
        }
    }
    write_list(out, "Evidence", &finding.evidence)?;
    write_list(out, "Reproduction", &finding.reproduction)
}

/// How many of a list are not shown.
fn more(all: usize, noun: &str) -> String {
    count_of(u64::try_from(all.saturating_sub(LISTED)).unwrap_or(u64::MAX), noun)
}

fn write_list(out: &mut String, label: &str, texts: &[String]) -> std::fmt::Result {
    if texts.is_empty() {
        return Ok(());
    }
    writeln!(out, "{label}:\n")?;
    for text in texts.iter().take(LISTED) {
        writeln!(out, "- {}", inline(text))?;
    }
    if texts.len() > LISTED {
        writeln!(out, "- … and {} more", texts.len() - LISTED)?;
    }
    writeln!(out)
}

fn place_text(place: &AffectedFile) -> String {
    let lines = match (place.line_start, place.line_end) {
        (Some(start), Some(end)) if end > start => format!(":{start}-{end}"),
        (Some(start), _) => format!(":{start}"),
        _ => String::new(),
    };
    let symbol = place.symbol.as_ref().map_or_else(String::new, |symbol| format!(" in {}", code(symbol)));
    format!("{}{symbol}", code(&format!("{}{lines}", place.path)))
}

fn who(reviewer: &Reviewer) -> String {
    let model = reviewer.model.as_ref().map_or_else(String::new, |model| format!(" ({})", inline(model)));
    format!("{} {}{model}", reviewer.kind.as_str(), code(reviewer.lane.as_str()))
}

fn state_text(state: &VerificationState) -> String {
    let said = match state {
        VerificationState::Unverified => return "unverified: nobody looked a second time".to_owned(),
        VerificationState::Raised { from, .. } => format!("raised from {}", from.as_str()),
        VerificationState::Lowered { from, .. } => format!("lowered from {}", from.as_str()),
        other => other.as_str().to_owned(),
    };
    match state.decision() {
        Some((by, reason)) => {
            let reason =
                reason.filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(": {}", inline(text)));
            format!("{said} by {} in {}{reason}", who(&by.reviewer), code(&by.task_name))
        }
        None => said,
    }
}

fn source_text(source: &FindingSource) -> String {
    let model = source.model.as_ref().map_or_else(String::new, |model| format!(" ({})", inline(model)));
    let alias = source.alias.as_ref().map_or_else(String::new, |alias| format!(" as {}", code(alias)));
    let finding = &source.finding;
    let (kind, lane, task) = (source.reviewer.as_str(), code(&source.lane), code(&source.task_name));
    let said = format!("{}, {}", finding.severity.as_str(), finding.confidence.as_str());
    format!("reported by {kind} {lane}{model} in {task}{alias} ({said})")
}

fn write_refuted(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let mut refuted = input.refuted().peekable();
    if refuted.peek().is_some() {
        writeln!(out, "### Refuted\n\nThese were reported and then found wrong. They count nowhere.\n")?;
        for merged in refuted.map(hide_secrets) {
            write_short(out, &merged, &state_text(&merged.verification))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_held_back(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let mut held = input.held_back().peekable();
    if held.peek().is_some() {
        writeln!(out, "### Suppressed\n")?;
        for (merged, suppressed) in held {
            let by = if suppressed.in_source { "by the source" } else { "by configuration" };
            write_short(out, &hide_secrets(merged), &format!("{by}: {}", inline(&suppressed.reason)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_short(out: &mut String, merged: &MergedFinding, why: &str) -> std::fmt::Result {
    let places: BTreeSet<String> = merged.finding.affected_files.iter().take(1).map(place_text).collect();
    let place = places.into_iter().next().unwrap_or_default();
    let title = inline(&merged.finding.title);
    writeln!(out, "- {} ({}) {place}: {title}; {why}", inline(merged.id.as_str()), merged.finding.severity.as_str())
}
