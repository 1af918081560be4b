//! The report as Markdown, JSON and SARIF: pure functions from one plain input to deterministic text.

mod escape;
mod findings_json;
mod input;
mod markdown;
mod markdown_findings;
mod markdown_left_out;
mod markdown_run;
mod masking;
mod sarif;
mod secrets;
mod words;

#[cfg(test)]
mod tests;

pub use findings_json::{CONTRACT_VERSION, render_findings_json};
pub use input::{
    AnalyzerRecord, DesignLead, LaneSummary, ParkedTask, ReportInput, RunSummary, Suppressed, UnauditedFile,
    WaitSummary,
};
pub use markdown::render_markdown;
pub use sarif::{SARIF_RESULTS, render_sarif};
