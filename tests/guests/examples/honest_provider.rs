//! Asks for every effect in turn and concludes with what it was told, so that nothing can be lost on the way unseen.
#![cfg(target_family = "wasm")]

assize_guests::provider!("honest-provider", start, next);

use assize::plugin::effects::{
    Analyze, Effect, Gateway, Piece, PlacedFile, ReadSources, RunProgram, SendRequest, Stdin, Value,
};
use assize::plugin::types::Evidence;
use exports::assize::plugin::provider::{Conclusion, Outcome, Usage};

std::thread_local! {
    static SEEN: core::cell::RefCell<Vec<String>> = const { core::cell::RefCell::new(Vec::new()) };
}

fn start(request: &LaunchRequest) -> Result<(), PluginError> {
    if request.config.is_empty() {
        return Err(PluginError::InvalidConfiguration("empty".to_owned()));
    }
    Ok(())
}

fn next(request: &LaunchRequest, step: u32, event: Option<Event>) -> Result<Step, PluginError> {
    if let Some(event) = event {
        SEEN.with_borrow_mut(|seen| seen.push(format!("{event:?}")));
    }
    let text = |text: &str| text.to_owned();
    let literal = |part: &str| Piece::Literal(part.to_owned());
    let extra = vec![(text("k"), text("v"))];
    Ok(Step::Perform(match step {
        1 => Effect::RunProgram(RunProgram {
            program: text("agent"),
            args: vec![vec![literal("--at="), Piece::Place(text("repo"))], vec![Piece::GatewayToken]],
            env: vec![
                (text("A"), Value::Text(vec![Piece::GatewayAddress])),
                (text("B"), Value::Secret(text("KEY"))),
                (text("C"), Value::PrefixedSecret((text("Bearer "), text("KEY")))),
                (text("D"), Value::Inherit),
            ],
            files: vec![PlacedFile { name: text("f"), content: vec![0, 255] }],
            stdin: Stdin::Bytes(vec![1, 2]),
            cwd: text("repo"),
            home: text("user"),
            output_cap: 3,
            timeout_ms: request.timeout_ms,
            gateway: Some(Gateway { upstream: text("https://x"), secret: None, extra: extra.clone() }),
            extra,
        }),
        2 => Effect::SendRequest(SendRequest {
            method: text("POST"),
            url: text("https://x/y"),
            headers: vec![(text("h"), Value::Text(vec![literal("v")]))],
            body: vec![7],
            timeout_ms: 4,
            event_stream: true,
            extra,
        }),
        3 => Effect::Analyze(Analyze {
            paths: request.read_paths.clone(),
            lens: Some(text("security")),
            analyzers: vec![text("a")],
            extra,
        }),
        4 => Effect::ReadSources(ReadSources { paths: vec![text("p")], cap: 5, extra }),
        5 => Effect::HandOff(text("please")),
        6 => Effect::Wait(6),
        _ => {
            return Ok(Step::Done(Conclusion {
                outcome: Outcome::QuotaExhausted,
                results: Some(SEEN.with_borrow(|seen| seen.join("\n"))),
                usage: Some(Usage {
                    input_tokens: Some(1),
                    output_tokens: Some(2),
                    cached_input_tokens: None,
                    cost_micro_usd: Some(3),
                    model: request.model.clone(),
                    requests: Some(4),
                    extra: Vec::new(),
                }),
                evidence: vec![Evidence {
                    provider: text("p"),
                    model: None,
                    status: Some(429),
                    headers: vec![(text("a"), text("b"))],
                    text: text("t"),
                    received_at_ms: request.now_ms,
                    extra: Vec::new(),
                }],
                message: format!("{request:?}"),
                extra,
            }));
        }
    }))
}
