//! A provider in a hundred lines: one question to a model server of your own that speaks Chat Completions, and its answer.
//! Configuration: `[providers.local]` with `base_url` (http://127.0.0.1:11434/v1 unless said) and `model`.

use std::cell::RefCell;

use serde_json::{Value, json};

wit_bindgen::generate!({ path: "../../wit/v0.1", world: "provider-plugin" });

use assize::plugin::effects::{Effect, Event, Piece, Responded, SendRequest, Value as Header};
use assize::plugin::types::{Description, PluginError, Request, Service};
use exports::assize::plugin::plugin::Guest as Plugin;
use exports::assize::plugin::provider::{Conclusion, Guest, GuestLaunch, Launch, LaunchRequest, Outcome, Step, Usage};

struct Local;

impl Plugin for Local {
    fn describe() -> Description {
        Description {
            name: "local".into(),
            version: "0.1.0".into(),
            summary: "Asks a model server of your own".into(),
            license: "Apache-2.0 OR MIT".into(),
            kind: "provider".into(),
            serves: vec![Service { kind: "provider".into(), value: "local".into() }],
            config_schema: r#"{"type":"object","additionalProperties":false,"required":["model"],"properties":{
                "base_url":{"type":"string"},"model":{"type":"string"}}}"#
                .into(),
            requests: vec![Request {
                kind: "host".into(),
                name: "127.0.0.1:11434".into(),
                reason: "The model server listens there unless base_url says otherwise.".into(),
            }],
            // The lines under review come in the prompt, because this reviewer reads no files.
            extra: vec![("reviewer".into(), "model".into()), ("contents".into(), "prompt".into())],
        }
    }
}

impl Guest for Local {
    type Launch = Asked;
}

/// One launch: what is to be sent, until it is.
struct Asked(RefCell<Option<SendRequest>>);

impl GuestLaunch for Asked {
    fn start(request: LaunchRequest) -> Result<Launch, PluginError> {
        let config: Value =
            serde_json::from_str(&request.config).map_err(|e| PluginError::InvalidConfiguration(e.to_string()))?;
        let base = config["base_url"].as_str().unwrap_or("http://127.0.0.1:11434/v1").trim_end_matches('/');
        let model = request.model.as_deref().or(config["model"].as_str()).unwrap_or_default();
        let body = json!({"model": model, "messages": [{"role": "user", "content": request.prompt}]});
        let wish = SendRequest {
            method: "POST".into(),
            url: format!("{base}/chat/completions"),
            headers: vec![("content-type".into(), Header::Text(vec![Piece::Literal("application/json".into())]))],
            body: body.to_string().into_bytes(),
            timeout_ms: request.timeout_ms,
            event_stream: false,
            extra: vec![],
        };
        Ok(Launch::new(Asked(RefCell::new(Some(wish)))))
    }

    fn next(&self, event: Option<Event>) -> Result<Step, PluginError> {
        Ok(match (self.0.take(), event) {
            (Some(wish), None) => Step::Perform(Effect::SendRequest(wish)),
            (None, Some(Event::Responded(response))) => Step::Done(conclude(&response)),
            (None, Some(Event::Failed(failure))) => Step::Done(match failure.kind.as_str() {
                "unreachable" | "timeout" => said(Outcome::Overloaded, failure.message),
                _ => said(Outcome::Misconfigured, failure.message),
            }),
            _ => return Err(PluginError::Internal("this event answers nothing".into())),
        })
    }
}

fn conclude(response: &Responded) -> Conclusion {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = body["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    match response.status {
        200 if text.trim().is_empty() => said(Outcome::NoResults, "the model said nothing".into()),
        200 => Conclusion {
            results: Some(text.to_owned()),
            usage: Some(Usage {
                input_tokens: body["usage"]["prompt_tokens"].as_u64(),
                output_tokens: body["usage"]["completion_tokens"].as_u64(),
                cached_input_tokens: None,
                cost_micro_usd: None,
                model: body["model"].as_str().map(str::to_owned),
                requests: Some(1),
                extra: vec![],
            }),
            ..said(Outcome::Completed, String::new())
        },
        429 => said(Outcome::RateLimited, "the server asks to wait".into()),
        401 | 403 => said(Outcome::Unauthenticated, "the server wants a key".into()),
        404 => said(Outcome::Misconfigured, "the server has no such model".into()),
        status => said(Outcome::Overloaded, format!("the server answered {status}")),
    }
}

fn said(outcome: Outcome, message: String) -> Conclusion {
    Conclusion { outcome, results: None, usage: None, evidence: vec![], message, extra: vec![] }
}

export!(Local);
