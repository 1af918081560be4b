//! Launch requests, which go in, and steps, which come out.

use assize_core::plugin::{Conclusion, LaunchFile, LaunchRequest, LaunchTask, Outcome, Step, Usage};

use super::effects::effect;
use super::readings::evidence;
use crate::bindings::provider as wit;

fn file_in(from: LaunchFile) -> wit::TaskFile {
    wit::TaskFile { path: from.path, total_lines: from.total_lines, range: from.range }
}

fn task_in(from: LaunchTask) -> wit::Task {
    wit::Task {
        task_id: from.task_id,
        unit_id: from.unit_id,
        pass_id: from.pass_id,
        lens: from.lens,
        files: from.files.into_iter().map(file_in).collect(),
        tags: from.tags,
        extra: from.extra,
    }
}

/// What a launch is started with.
pub(crate) fn launch_request_in(from: LaunchRequest) -> wit::LaunchRequest {
    wit::LaunchRequest {
        run_id: from.run_id,
        attempt: from.attempt,
        tasks: from.tasks.into_iter().map(task_in).collect(),
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

/// What a launch wants next.
pub(crate) fn step(step: wit::Step) -> Step {
    match step {
        wit::Step::Perform(wanted) => Step::Perform(effect(wanted)),
        wit::Step::Done(end) => Step::Done(conclusion(end)),
    }
}

fn conclusion(from: wit::Conclusion) -> Conclusion {
    Conclusion {
        outcome: outcome(from.outcome),
        results: from.results,
        usage: from.usage.map(usage),
        evidence: from.evidence.into_iter().map(evidence).collect(),
        message: from.message,
        extra: from.extra,
    }
}

fn usage(from: wit::Usage) -> Usage {
    Usage {
        input_tokens: from.input_tokens,
        output_tokens: from.output_tokens,
        cached_input_tokens: from.cached_input_tokens,
        cost_micro_usd: from.cost_micro_usd,
        model: from.model,
        requests: from.requests,
        extra: from.extra,
    }
}

fn outcome(from: wit::Outcome) -> Outcome {
    match from {
        wit::Outcome::Completed => Outcome::Completed,
        wit::Outcome::NoResults => Outcome::NoResults,
        wit::Outcome::RateLimited => Outcome::RateLimited,
        wit::Outcome::Overloaded => Outcome::Overloaded,
        wit::Outcome::QuotaExhausted => Outcome::QuotaExhausted,
        wit::Outcome::Unauthenticated => Outcome::Unauthenticated,
        wit::Outcome::Refused => Outcome::Refused,
        wit::Outcome::ContextExceeded => Outcome::ContextExceeded,
        wit::Outcome::TimedOut => Outcome::TimedOut,
        wit::Outcome::Interrupted => Outcome::Interrupted,
        wit::Outcome::Crashed => Outcome::Crashed,
        wit::Outcome::Misconfigured => Outcome::Misconfigured,
    }
}
