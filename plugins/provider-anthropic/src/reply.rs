//! The model's message, from a stream of events or from one document.

use std::collections::BTreeMap;

use assize_plugin_sdk::dialogue::{Call, Ending, Refusal, Reply};
use assize_plugin_sdk::{Responded, Tokens, read_events};
use serde_json::{Value, json};

use crate::refusal::{judge_error, read_refusal};

/// Most blocks of one message; a message of the service has a handful.
const BLOCKS: usize = 1_024;

/// What a response says.
pub fn read_message(responded: &Responded) -> Reply {
    if !(200..300).contains(&responded.status) {
        let refusal = read_refusal(responded.status, &responded.body);
        return Reply { ending: Ending::Refused(refusal), ..Reply::default() };
    }
    let mut message = Message::default();
    // A service that speaks the protocol may answer with one document although a stream was asked for.
    if responded.body.trim_ascii_start().starts_with(b"{") {
        match serde_json::from_slice(&responded.body) {
            Ok(document) => message.take_document(&document),
            Err(_) => message.broken = true,
        }
    } else {
        for event in read_events(&responded.body) {
            match serde_json::from_str(&event.data) {
                Ok(data) => message.take_event(&data),
                Err(_) => message.broken = true,
            }
        }
    }
    message.finish()
}

/// A message as far as it came.
#[derive(Default)]
struct Message {
    blocks: BTreeMap<u64, Block>,
    model: Option<String>,
    stop_reason: Option<String>,
    category: String,
    input: u64,
    cache_writes: u64,
    cache_reads: u64,
    output: u64,
    refusal: Option<Refusal>,
    broken: bool,
}

/// A block of a message: what it began as, and what was added to it.
#[derive(Default)]
struct Block {
    start: Value,
    text: String,
    input: String,
    thinking: String,
    signature: String,
}

impl Message {
    fn take_event(&mut self, data: &Value) {
        match data["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.model = data["message"]["model"].as_str().map(str::to_owned);
                self.take_usage(&data["message"]["usage"]);
            }
            "content_block_start" => {
                if let Some(block) = self.block(&data["index"]) {
                    block.start = data["content_block"].clone();
                }
            }
            "content_block_delta" => {
                if let Some(block) = self.block(&data["index"]) {
                    block.take_delta(&data["delta"]);
                }
            }
            "message_delta" => {
                self.take_stop(&data["delta"]);
                self.take_usage(&data["usage"]);
            }
            "error" => self.refusal = Some(judge_error(None, &data["error"])),
            _ => {}
        }
    }

    fn take_document(&mut self, document: &Value) {
        if document["type"] == "error" {
            self.refusal = Some(judge_error(None, &document["error"]));
            return;
        }
        self.model = document["model"].as_str().map(str::to_owned);
        let blocks = document["content"].as_array().into_iter().flatten().take(BLOCKS);
        self.blocks = (0..).zip(blocks.map(|block| Block { start: block.clone(), ..Block::default() })).collect();
        self.take_stop(document);
        self.take_usage(&document["usage"]);
    }

    /// The block of an index; none for one that no message has.
    fn block(&mut self, index: &Value) -> Option<&mut Block> {
        let index = index.as_u64()?;
        if self.blocks.len() >= BLOCKS && !self.blocks.contains_key(&index) {
            self.broken = true;
            return None;
        }
        Some(self.blocks.entry(index).or_default())
    }

    fn take_stop(&mut self, delta: &Value) {
        if let Some(reason) = delta["stop_reason"].as_str() {
            self.stop_reason = Some(reason.to_owned());
        }
        if let Some(category) = delta["stop_details"]["category"].as_str() {
            self.category =
                category.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).take(40).collect();
        }
    }

    /// Counts are told more than once, each time for the whole message.
    fn take_usage(&mut self, usage: &Value) {
        for (name, count) in [
            ("input_tokens", &mut self.input),
            ("cache_creation_input_tokens", &mut self.cache_writes),
            ("cache_read_input_tokens", &mut self.cache_reads),
            ("output_tokens", &mut self.output),
        ] {
            *count = usage[name].as_u64().unwrap_or(*count);
        }
    }

    fn finish(self) -> Reply {
        let tokens = Tokens {
            input: self.input.saturating_add(self.cache_writes),
            cached_input: self.cache_reads,
            output: self.output,
        };
        Reply {
            ending: self.ending(),
            text: self.blocks.values().map(Block::shown_text).collect(),
            calls: self.blocks.values().filter_map(Block::call).collect(),
            said: self.blocks.values().filter_map(Block::said).collect(),
            tokens,
            cache_writes: self.cache_writes,
            model: self.model,
        }
    }

    fn ending(&self) -> Ending {
        if let Some(refusal) = &self.refusal {
            return Ending::Refused(refusal.clone());
        }
        if self.broken {
            return Ending::Broken("a part of the response is not readable".to_owned());
        }
        match self.stop_reason.as_deref() {
            None => Ending::Broken("the response ended before the answer did".to_owned()),
            Some("max_tokens" | "model_context_window_exceeded") => Ending::Cut,
            Some("pause_turn") => Ending::Paused,
            Some("refusal") if self.category.is_empty() => Ending::Declined("the model declined".to_owned()),
            Some("refusal") => Ending::Declined(format!("the model declined ({})", self.category)),
            Some(_) => Ending::Complete,
        }
    }
}

impl Block {
    fn take_delta(&mut self, delta: &Value) {
        for (name, part) in [
            ("text", &mut self.text),
            ("partial_json", &mut self.input),
            ("thinking", &mut self.thinking),
            ("signature", &mut self.signature),
        ] {
            part.push_str(delta[name].as_str().unwrap_or_default());
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.start["type"] == kind
    }

    fn shown_text(&self) -> String {
        let begun = self.start["text"].as_str().filter(|_| self.is("text")).unwrap_or_default();
        format!("{begun}{}", self.text)
    }

    fn call(&self) -> Option<Call> {
        let text = |name: &str| self.start[name].as_str().unwrap_or_default().to_owned();
        self.is("tool_use").then(|| Call { id: text("id"), name: text("name"), input: self.input_text() })
    }

    /// Arguments come in pieces, or whole where the message is one document.
    fn input_text(&self) -> String {
        if self.input.is_empty() { self.start["input"].to_string() } else { self.input.clone() }
    }

    /// The block as the service wants to be reminded of it: thoughts with their signature, calls with their arguments.
    /// An empty text is left out, because the service refuses it.
    fn said(&self) -> Option<Value> {
        let mut block = self.start.clone();
        match block["type"].as_str()? {
            "text" => {
                let text = self.shown_text();
                if text.trim().is_empty() {
                    return None;
                }
                block["text"] = json!(text);
            }
            "tool_use" => {
                let input: Value = serde_json::from_str(&self.input_text()).unwrap_or_default();
                block["input"] = if input.is_object() { input } else { json!({}) };
            }
            "thinking" => {
                for (name, added) in [("thinking", &self.thinking), ("signature", &self.signature)] {
                    let begun = block[name].as_str().unwrap_or_default();
                    block[name] = json!(format!("{begun}{added}"));
                }
            }
            _ => {}
        }
        Some(block)
    }
}
