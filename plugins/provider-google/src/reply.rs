//! The model's answer, from a stream of chunks or from one document.

use assize_plugin_sdk::dialogue::{Call, Ending, Refusal, Reply};
use assize_plugin_sdk::{Responded, Tokens, read_events};
use serde_json::{Value, json};

use crate::refusal::{judge_error, read_refusal};

/// Most parts that the model is reminded of; a stream is cut into pieces of text, which are joined.
const PARTS: usize = 1_024;

/// What a response says.
pub fn read_chunks(responded: &Responded) -> Reply {
    if !(200..300).contains(&responded.status) {
        let refusal = read_refusal(responded.status, &responded.body);
        return Reply { ending: Ending::Refused(refusal), ..Reply::default() };
    }
    let mut answer = Answer::default();
    let body = responded.body.trim_ascii_start();
    // A proxy may give the chunks as one list, or the answer as one document, although events were asked for.
    if body.starts_with(b"{") || body.starts_with(b"[") {
        match serde_json::from_slice(body) {
            Ok(Value::Array(chunks)) => chunks.iter().for_each(|chunk| answer.take_chunk(chunk)),
            Ok(document) => answer.take_chunk(&document),
            Err(_) => answer.broken = true,
        }
    } else {
        for event in read_events(body) {
            match serde_json::from_str(&event.data) {
                Ok(chunk) => answer.take_chunk(&chunk),
                Err(_) => answer.broken = true,
            }
        }
    }
    answer.finish()
}

/// An answer as far as it came.
#[derive(Default)]
struct Answer {
    text: String,
    calls: Vec<Call>,
    parts: Vec<Value>,
    finish: Option<String>,
    blocked: Option<String>,
    usage: Value,
    model: Option<String>,
    refusal: Option<Refusal>,
    broken: bool,
}

impl Answer {
    fn take_chunk(&mut self, chunk: &Value) {
        if chunk["error"].is_object() {
            self.refusal = Some(judge_error(None, &chunk["error"]));
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            self.blocked = Some(reason.to_owned());
        }
        if let Some(model) = chunk["modelVersion"].as_str() {
            self.model = Some(model.to_owned());
        }
        // Each chunk's counts are those of the whole answer so far.
        if chunk["usageMetadata"].is_object() {
            self.usage = chunk["usageMetadata"].clone();
        }
        let candidate = &chunk["candidates"][0];
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        candidate["content"]["parts"].as_array().into_iter().flatten().for_each(|part| self.take_part(part));
    }

    fn take_part(&mut self, part: &Value) {
        if part["functionCall"].is_object() {
            let text = |name: &str| part["functionCall"][name].as_str().unwrap_or_default().to_owned();
            let input = part["functionCall"]["args"].to_string();
            self.calls.push(Call { id: text("id"), name: text("name"), input });
        }
        let thought = part["thought"] == true;
        if let Some(text) = part["text"].as_str().filter(|_| !thought) {
            self.text.push_str(text);
        }
        // A thought is the model's own and needs no reminder, but a signature must come back with the part that it stands on.
        if !thought || part["thoughtSignature"].is_string() {
            self.keep_part(part);
        }
    }

    fn keep_part(&mut self, part: &Value) {
        let is_text = |part: &Value| part.as_object().is_some_and(|part| part.len() == 1 && part.contains_key("text"));
        if is_text(part)
            && let Some(last) = self.parts.last_mut().filter(|last| is_text(last))
        {
            let begun = last["text"].as_str().unwrap_or_default();
            let joined = format!("{begun}{}", part["text"].as_str().unwrap_or_default());
            last["text"] = json!(joined);
        } else if self.parts.len() < PARTS {
            self.parts.push(part.clone());
        } else {
            self.broken = true;
        }
    }

    fn finish(self) -> Reply {
        let count = |name: &str| self.usage[name].as_u64().unwrap_or(0);
        let cached_input = count("cachedContentTokenCount");
        let prompt = count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount"));
        let tokens = Tokens {
            input: prompt.saturating_sub(cached_input),
            cached_input,
            output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        };
        Reply {
            ending: self.ending(),
            text: self.text,
            calls: self.calls,
            said: Value::Array(self.parts),
            tokens,
            cache_writes: 0,
            model: self.model,
        }
    }

    fn ending(&self) -> Ending {
        if let Some(refusal) = &self.refusal {
            return Ending::Refused(refusal.clone());
        }
        if let Some(reason) = &self.blocked {
            return Ending::Declined(format!("the prompt was blocked ({})", word(reason)));
        }
        if self.broken {
            return Ending::Broken("a part of the response is not readable".to_owned());
        }
        match self.finish.as_deref() {
            None => Ending::Broken("the response ended before the answer did".to_owned()),
            Some("STOP" | "FINISH_REASON_UNSPECIFIED") => Ending::Complete,
            Some("MAX_TOKENS") => Ending::Cut,
            Some(
                reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
                | "IMAGE_SAFETY"),
            ) => Ending::Declined(format!("the answer was blocked ({reason})")),
            Some(reason) => Ending::Broken(format!("the model broke off ({})", word(reason))),
        }
    }
}

/// A reason as far as it is a word, because it comes from outside and goes into a message.
fn word(reason: &str) -> String {
    reason.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect()
}
