//! What the plugin says, as the interface wants it.

use super::bindings::assize::plugin::{effects, types};
use super::bindings::exports::assize::plugin::provider as wire;
use crate::{
    Conclusion, Description, Effect, Evidence, Gateway, Outcome, Piece, PluginError, RunProgram, SendRequest, Stdin,
    Step, Usage, Value,
};

impl From<Description> for types::Description {
    fn from(from: Description) -> Self {
        Self {
            name: from.name,
            version: from.version,
            summary: from.summary,
            license: from.license,
            kind: "provider".to_owned(),
            serves: from.serves.into_iter().map(|s| types::Service { kind: s.kind, value: s.value }).collect(),
            config_schema: from.config_schema,
            requests: from
                .requests
                .into_iter()
                .map(|r| types::Request { kind: r.kind, name: r.name, reason: r.reason })
                .collect(),
            extra: from.extra,
        }
    }
}

impl From<PluginError> for types::PluginError {
    fn from(from: PluginError) -> Self {
        match from {
            PluginError::InvalidConfiguration(text) => Self::InvalidConfiguration(text),
            PluginError::Unsupported(text) => Self::Unsupported(text),
            PluginError::MalformedInput(text) => Self::MalformedInput(text),
            PluginError::Internal(text) => Self::Internal(text),
        }
    }
}

impl From<Step> for wire::Step {
    fn from(from: Step) -> Self {
        match from {
            Step::Perform(effect) => Self::Perform(effect.into()),
            Step::Done(conclusion) => Self::Done(conclusion.into()),
        }
    }
}

impl From<Effect> for effects::Effect {
    fn from(from: Effect) -> Self {
        match from {
            Effect::RunProgram(run) => Self::RunProgram(run.into()),
            Effect::SendRequest(request) => Self::SendRequest(request.into()),
            Effect::Analyze(ask) => Self::Analyze(effects::Analyze {
                paths: ask.paths,
                lens: ask.lens,
                analyzers: ask.analyzers,
                extra: ask.extra,
            }),
            Effect::ReadSources(ask) => {
                Self::ReadSources(effects::ReadSources { paths: ask.paths, cap: ask.cap, extra: ask.extra })
            }
            Effect::HandOff(text) => Self::HandOff(text),
            Effect::Wait(ms) => Self::Wait(ms),
        }
    }
}

fn pieces(from: Vec<Piece>) -> Vec<effects::Piece> {
    from.into_iter()
        .map(|piece| match piece {
            Piece::Literal(text) => effects::Piece::Literal(text),
            Piece::Place(place) => effects::Piece::Place(place),
            Piece::GatewayAddress => effects::Piece::GatewayAddress,
            Piece::GatewayToken => effects::Piece::GatewayToken,
        })
        .collect()
}

fn values(from: Vec<(String, Value)>) -> Vec<(String, effects::Value)> {
    from.into_iter()
        .map(|(name, value)| {
            let value = match value {
                Value::Text(text) => effects::Value::Text(pieces(text)),
                Value::Secret(secret) => effects::Value::Secret(secret),
                Value::PrefixedSecret(prefix, secret) => effects::Value::PrefixedSecret((prefix, secret)),
                Value::Inherit => effects::Value::Inherit,
            };
            (name, value)
        })
        .collect()
}

impl From<Gateway> for effects::Gateway {
    fn from(from: Gateway) -> Self {
        Self { upstream: from.upstream, secret: from.secret, extra: from.extra }
    }
}

impl From<RunProgram> for effects::RunProgram {
    fn from(from: RunProgram) -> Self {
        Self {
            program: from.program,
            args: from.args.into_iter().map(pieces).collect(),
            env: values(from.env),
            files: from
                .files
                .into_iter()
                .map(|file| effects::PlacedFile { name: file.name, content: file.content })
                .collect(),
            stdin: match from.stdin {
                Stdin::None => effects::Stdin::None,
                Stdin::Prompt => effects::Stdin::Prompt,
                Stdin::Bytes(bytes) => effects::Stdin::Bytes(bytes),
            },
            cwd: from.cwd,
            home: from.home,
            output_cap: from.output_cap,
            timeout_ms: from.timeout_ms,
            gateway: from.gateway.map(Into::into),
            extra: from.extra,
        }
    }
}

impl From<SendRequest> for effects::SendRequest {
    fn from(from: SendRequest) -> Self {
        Self {
            method: from.method,
            url: from.url,
            headers: values(from.headers),
            body: from.body,
            timeout_ms: from.timeout_ms,
            event_stream: from.event_stream,
            extra: from.extra,
        }
    }
}

impl From<Outcome> for wire::Outcome {
    fn from(from: Outcome) -> Self {
        match from {
            Outcome::Completed => Self::Completed,
            Outcome::NoResults => Self::NoResults,
            Outcome::RateLimited => Self::RateLimited,
            Outcome::Overloaded => Self::Overloaded,
            Outcome::QuotaExhausted => Self::QuotaExhausted,
            Outcome::Unauthenticated => Self::Unauthenticated,
            Outcome::Refused => Self::Refused,
            Outcome::ContextExceeded => Self::ContextExceeded,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Crashed => Self::Crashed,
            Outcome::Misconfigured => Self::Misconfigured,
        }
    }
}

impl From<Usage> for wire::Usage {
    fn from(from: Usage) -> Self {
        Self {
            input_tokens: from.input_tokens,
            output_tokens: from.output_tokens,
            cached_input_tokens: from.cached_input_tokens,
            cost_micro_usd: from.cost_micro_usd,
            model: from.model,
            requests: from.requests,
            extra: from.extra,
        }
    }
}

impl From<Evidence> for types::Evidence {
    fn from(from: Evidence) -> Self {
        Self {
            provider: from.provider,
            model: from.model,
            status: from.status,
            headers: from.headers,
            text: from.text,
            received_at_ms: from.received_at_ms,
            extra: from.extra,
        }
    }
}

impl From<Conclusion> for wire::Conclusion {
    fn from(from: Conclusion) -> Self {
        Self {
            outcome: from.outcome.into(),
            results: from.results,
            usage: from.usage.map(Into::into),
            evidence: from.evidence.into_iter().map(Into::into).collect(),
            message: from.message,
            extra: from.extra,
        }
    }
}
