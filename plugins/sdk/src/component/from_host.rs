//! What the host says, as plain data.

use super::bindings::assize::plugin::{effects, facts};
use super::bindings::exports::assize::plugin::provider as wire;
use crate::{Event, Exited, Failure, Finding, LaunchRequest, Observation, Responded, Source, Span, Task, TaskFile};

impl From<wire::LaunchRequest> for LaunchRequest {
    fn from(from: wire::LaunchRequest) -> Self {
        Self {
            run_id: from.run_id,
            attempt: from.attempt,
            tasks: from.tasks.into_iter().map(Into::into).collect(),
            prompt: from.prompt,
            results_schema: from.results_schema,
            read_paths: from.read_paths,
            model: from.model,
            timeout_ms: from.timeout_ms,
            estimated_input_tokens: from.estimated_input_tokens,
            config: from.config,
            now_ms: from.now_ms,
            extra: from.extra,
        }
    }
}

impl From<wire::Task> for Task {
    fn from(from: wire::Task) -> Self {
        Self {
            task_id: from.task_id,
            unit_id: from.unit_id,
            pass_id: from.pass_id,
            lens: from.lens,
            files: from
                .files
                .into_iter()
                .map(|file| TaskFile { path: file.path, total_lines: file.total_lines, range: file.range })
                .collect(),
            tags: from.tags,
            extra: from.extra,
        }
    }
}

impl From<effects::Event> for Event {
    fn from(from: effects::Event) -> Self {
        match from {
            effects::Event::Exited(exited) => Event::Exited(exited.into()),
            effects::Event::Responded(responded) => Event::Responded(responded.into()),
            effects::Event::Analyzed(seen) => Event::Analyzed(seen.into_iter().map(Into::into).collect()),
            effects::Event::Sources(sources) => Event::Sources(
                sources
                    .into_iter()
                    .map(|source| Source { path: source.path, text: source.text, truncated: source.truncated })
                    .collect(),
            ),
            effects::Event::HandedOff => Event::HandedOff,
            effects::Event::Waited => Event::Waited,
            effects::Event::Failed(failure) => {
                Event::Failed(Failure { kind: failure.kind, message: failure.message, extra: failure.extra })
            }
        }
    }
}

impl From<effects::Exited> for Exited {
    fn from(from: effects::Exited) -> Self {
        Self {
            code: from.code,
            signal: from.signal,
            timed_out: from.timed_out,
            interrupted: from.interrupted,
            stdout: from.stdout,
            stderr: from.stderr,
            stdout_dropped: from.stdout_dropped,
            stderr_dropped: from.stderr_dropped,
            wall_ms: from.wall_ms,
            results_written: from.results_written,
            extra: from.extra,
        }
    }
}

impl From<effects::Responded> for Responded {
    fn from(from: effects::Responded) -> Self {
        Self {
            status: from.status,
            headers: from.headers,
            body: from.body,
            body_dropped: from.body_dropped,
            received_at_ms: from.received_at_ms,
            extra: from.extra,
        }
    }
}

impl From<facts::Observation> for Observation {
    fn from(from: facts::Observation) -> Self {
        let finding = from.finding;
        Self {
            analyzer: from.analyzer,
            path: from.path,
            finding: Finding {
                rule: finding.rule,
                title: finding.title,
                lens: finding.lens,
                category: finding.category,
                severity: finding.severity,
                confidence: finding.confidence,
                summary: finding.summary,
                span: Span {
                    start_line: finding.span.start_line,
                    start_column: finding.span.start_column,
                    end_line: finding.span.end_line,
                    end_column: finding.span.end_column,
                    start_byte: finding.span.start_byte,
                    end_byte: finding.span.end_byte,
                },
                quote: finding.quote,
                cwe: finding.cwe,
                fix: finding.fix,
                extra: finding.extra,
            },
            extra: from.extra,
        }
    }
}
