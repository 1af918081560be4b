//! The run, in the Markdown report.

use std::fmt::Write;

use super::escape::{code_cell, inline, paragraphs};
use super::input::ReportInput;
use super::words::{count_of, counts};

/// What it took: launches, tokens, cost, failures, waits, lanes and analyzers.
pub(super) fn write_run(out: &mut String, input: &ReportInput) -> std::fmt::Result {
    let run = &input.run;
    writeln!(out, "## Run\n")?;
    writeln!(out, "- launches: {}{}, {} of them repeated", run.launches, counts(&run.by_outcome), run.retried)?;
    if input.has_usage() {
        let known = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        writeln!(out, "- tokens: {} read, {} written", known(run.input_tokens), known(run.output_tokens))?;
        let cost = run.cost_micro_usd.map(|micro| format!("{}.{:04} USD", micro / 1_000_000, micro % 1_000_000 / 100));
        writeln!(out, "- cost: {}", cost.unwrap_or_else(|| "unknown".to_owned()))?;
    }
    if !run.failures.is_empty() {
        writeln!(out, "- failures: {}{}", run.failures.values().sum::<u64>(), counts(&run.failures))?;
    }
    for wait in &run.waits {
        let tenths = wait.total_ms / 100;
        let times = count_of(wait.count, "time");
        writeln!(out, "- waited {times} for {}: {}.{} s", inline(&wait.reason), tenths / 10, tenths % 10)?;
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
