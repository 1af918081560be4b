//! Effects, which come out, and events, which go in.

use assize_core::plugin::{
    Analyze, Effect, EffectEvent, Exited, Gateway, Piece, PlacedFile, ReadSources, Responded, RunProgram, SendRequest,
    Stdin, Value,
};

use super::facts::observation_in;
use crate::bindings::effects as wit;

fn piece(piece: wit::Piece) -> Piece {
    match piece {
        wit::Piece::Literal(text) => Piece::Literal(text),
        wit::Piece::Place(name) => Piece::Place(name),
        wit::Piece::GatewayAddress => Piece::GatewayAddress,
        wit::Piece::GatewayToken => Piece::GatewayToken,
    }
}

fn pieces(pieces: Vec<wit::Piece>) -> Vec<Piece> {
    pieces.into_iter().map(piece).collect()
}

fn value(value: wit::Value) -> Value {
    match value {
        wit::Value::Text(text) => Value::Text(pieces(text)),
        wit::Value::Secret(name) => Value::Secret(name),
        wit::Value::PrefixedSecret((prefix, name)) => Value::PrefixedSecret(prefix, name),
        wit::Value::Inherit => Value::Inherit,
    }
}

fn values(values: Vec<(String, wit::Value)>) -> Vec<(String, Value)> {
    values.into_iter().map(|(name, of)| (name, value(of))).collect()
}

fn stdin(stdin: wit::Stdin) -> Stdin {
    match stdin {
        wit::Stdin::None => Stdin::None,
        wit::Stdin::Prompt => Stdin::Prompt,
        wit::Stdin::Bytes(bytes) => Stdin::Bytes(bytes),
    }
}

fn run_program(from: wit::RunProgram) -> RunProgram {
    let file = |file: wit::PlacedFile| PlacedFile { name: file.name, content: file.content };
    let gateway = |g: wit::Gateway| Gateway { upstream: g.upstream, secret: g.secret, extra: g.extra };
    RunProgram {
        program: from.program,
        args: from.args.into_iter().map(pieces).collect(),
        env: values(from.env),
        files: from.files.into_iter().map(file).collect(),
        stdin: stdin(from.stdin),
        cwd: from.cwd,
        home: from.home,
        output_cap: from.output_cap,
        timeout_ms: from.timeout_ms,
        gateway: from.gateway.map(gateway),
        extra: from.extra,
    }
}

fn send_request(from: wit::SendRequest) -> SendRequest {
    SendRequest {
        method: from.method,
        url: from.url,
        headers: values(from.headers),
        body: from.body,
        timeout_ms: from.timeout_ms,
        event_stream: from.event_stream,
        extra: from.extra,
    }
}

/// What a provider wants done.
pub(crate) fn effect(effect: wit::Effect) -> Effect {
    match effect {
        wit::Effect::RunProgram(e) => Effect::RunProgram(run_program(e)),
        wit::Effect::SendRequest(e) => Effect::SendRequest(send_request(e)),
        wit::Effect::Analyze(e) => {
            Effect::Analyze(Analyze { paths: e.paths, lens: e.lens, analyzers: e.analyzers, extra: e.extra })
        }
        wit::Effect::ReadSources(e) => Effect::ReadSources(ReadSources { paths: e.paths, cap: e.cap, extra: e.extra }),
        wit::Effect::HandOff(text) => Effect::HandOff(text),
        wit::Effect::Wait(ms) => Effect::Wait(ms),
    }
}

fn exited(from: Exited) -> wit::Exited {
    wit::Exited {
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

fn responded(from: Responded) -> wit::Responded {
    wit::Responded {
        status: from.status,
        headers: from.headers,
        body: from.body,
        body_dropped: from.body_dropped,
        received_at_ms: from.received_at_ms,
        extra: from.extra,
    }
}

/// What an effect brought.
pub(crate) fn event_in(event: EffectEvent) -> wit::Event {
    match event {
        EffectEvent::Exited(e) => wit::Event::Exited(exited(e)),
        EffectEvent::Responded(e) => wit::Event::Responded(responded(e)),
        EffectEvent::Analyzed(seen) => wit::Event::Analyzed(seen.into_iter().map(observation_in).collect()),
        EffectEvent::Sources(sources) => wit::Event::Sources(
            sources.into_iter().map(|s| wit::Source { path: s.path, text: s.text, truncated: s.truncated }).collect(),
        ),
        EffectEvent::HandedOff => wit::Event::HandedOff,
        EffectEvent::Waited => wit::Event::Waited,
        EffectEvent::Failed(f) => wit::Event::Failed(wit::Failure { kind: f.kind, message: f.message, extra: f.extra }),
    }
}
