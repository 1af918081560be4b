//! The documents and streams of all protocols hold what was said.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::protocol::Protocol;
use crate::said::{Content, Said, Stop};
use crate::wire::{render_break, render_events, render_whole};

fn said(content: Content, stop: Stop) -> Said {
    Said { number: 7, created: 0, content, stop, input_tokens: 11, output_tokens: 5 }
}

fn asked(protocol: Protocol) -> Asked {
    Asked { protocol, model: "m".to_owned(), stream: true, events: true, stream_usage: true, ..Asked::default() }
}

/// A text longer than a piece, with everything that could break a frame.
fn long_text() -> String {
    format!("{}\n\ndata: x\r\n\"\\", "ä".repeat(2_001))
}

fn call() -> Content {
    Content::Call("read_file".to_owned(), r#"{"path":"a.rs"}"#.to_owned())
}

/// The data of events, each of which must be framed well.
fn data(events: &[String]) -> Vec<Value> {
    let read = |event: &String| {
        assert!(event.ends_with("\n\n") && event.trim_end().lines().count() <= 2, "{event}");
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        if data == "[DONE]" {
            return None;
        }
        let data: Value = serde_json::from_str(data).unwrap();
        if let Some(kind) = event.strip_prefix("event: ") {
            assert_eq!(kind.lines().next(), data["type"].as_str());
        }
        Some(data)
    };
    events.iter().filter_map(read).collect()
}

/// Joins the pieces of a stream as a client would.
fn join(protocol: Protocol, data: &[Value]) -> String {
    let piece = |event: &Value| -> Option<String> {
        let text = match protocol {
            Protocol::Messages => {
                let delta = &event["delta"];
                delta["text"].as_str().or(delta["partial_json"].as_str())
            }
            Protocol::Chat => {
                let delta = &event["choices"][0]["delta"];
                delta["content"].as_str().or(delta["tool_calls"][0]["function"]["arguments"].as_str())
            }
            Protocol::Responses => event["delta"].as_str(),
            Protocol::Gemini | Protocol::Converse => {
                let part = &event["candidates"][0]["content"]["parts"][0];
                if part["functionCall"].is_object() {
                    return Some(part["functionCall"]["args"].to_string());
                }
                part["text"].as_str()
            }
        };
        text.map(str::to_owned)
    };
    data.iter().filter_map(piece).collect()
}

const STREAMING: [Protocol; 4] = [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini];

#[test]
fn streams_join_to_what_was_said() {
    for protocol in STREAMING {
        for content in [Content::Text(long_text()), call()] {
            let stop = if matches!(content, Content::Call(..)) { Stop::Call } else { Stop::End };
            let events = render_events(&asked(protocol), &said(content.clone(), stop)).all();
            assert_eq!(join(protocol, &data(&events)), content.text(), "{protocol:?}");
        }
    }
}

#[test]
fn anthropic_s_events_come_in_their_order() {
    let events = data(&render_events(&asked(Protocol::Messages), &said(call(), Stop::Call)).all());
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let order =
        "message_start content_block_start ping content_block_delta content_block_stop message_delta message_stop";
    assert_eq!(kinds.join(" "), order);
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 11);
    assert_eq!(events[1]["content_block"]["name"], "read_file");
    assert_eq!(
        (&events[5]["delta"]["stop_reason"], &events[5]["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(5))
    );
}

#[test]
fn responses_events_are_numbered_and_end_with_the_whole() {
    let text = Content::Text("OK".to_owned());
    let events = data(&render_events(&asked(Protocol::Responses), &said(text, Stop::End)).all());
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let order = "response.created response.in_progress response.output_item.added response.content_part.added \
        response.output_text.delta response.output_text.done response.content_part.done response.output_item.done \
        response.completed";
    assert_eq!(kinds.join(" "), order);
    assert!(events.iter().enumerate().all(|(index, event)| event["sequence_number"] == index));
    assert_eq!(events[8]["response"]["usage"]["total_tokens"], 16);
    assert_eq!(events[8]["response"]["output"][0]["content"][0]["text"], "OK");
}

#[test]
fn chat_tells_what_was_used_only_when_asked_to() {
    let text = || said(Content::Text("OK".to_owned()), Stop::End);
    let events = render_events(&asked(Protocol::Chat), &text()).all();
    assert_eq!(events.last().unwrap(), "data: [DONE]\n\n");
    assert_eq!(data(&events).last().unwrap()["usage"]["completion_tokens"], 5);
    let silent = Asked { stream_usage: false, ..asked(Protocol::Chat) };
    assert_eq!(data(&render_events(&silent, &text()).all()).last().unwrap().get("usage"), None);
}

#[test]
fn gemini_s_stream_without_events_is_an_array() {
    let asked = Asked { events: false, ..asked(Protocol::Gemini) };
    let text = render_events(&asked, &said(Content::Text(long_text()), Stop::End)).all().concat();
    let array: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(join(Protocol::Gemini, &array), long_text());
    assert_eq!(array.last().unwrap()["usageMetadata"]["totalTokenCount"], 16);
    assert_eq!(array.last().unwrap()["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn every_end_has_the_word_of_its_service() {
    let ends = [
        (Protocol::Messages, Stop::End, "/stop_reason", json!("end_turn")),
        (Protocol::Messages, Stop::Length, "/stop_reason", json!("max_tokens")),
        (Protocol::Messages, Stop::Refusal, "/stop_reason", json!("refusal")),
        (Protocol::Chat, Stop::Length, "/choices/0/finish_reason", json!("length")),
        (Protocol::Chat, Stop::Filter, "/choices/0/finish_reason", json!("content_filter")),
        (Protocol::Chat, Stop::Refusal, "/choices/0/message/refusal", json!("x")),
        (Protocol::Responses, Stop::Length, "/incomplete_details/reason", json!("max_output_tokens")),
        (Protocol::Responses, Stop::Refusal, "/output/0/content/0/refusal", json!("x")),
        (Protocol::Responses, Stop::End, "/status", json!("completed")),
        (Protocol::Gemini, Stop::Length, "/candidates/0/finishReason", json!("MAX_TOKENS")),
        (Protocol::Gemini, Stop::Filter, "/candidates/0/finishReason", json!("SAFETY")),
        (Protocol::Gemini, Stop::Refusal, "/promptFeedback/blockReason", json!("PROHIBITED_CONTENT")),
        (Protocol::Converse, Stop::Length, "/stopReason", json!("max_tokens")),
        (Protocol::Converse, Stop::Filter, "/stopReason", json!("content_filtered")),
    ];
    for (protocol, stop, pointer, wanted) in ends {
        let document = render_whole(&asked(protocol), &said(Content::Text("x".to_owned()), stop));
        assert_eq!(document.pointer(pointer), Some(&wanted), "{protocol:?} {stop:?}: {document}");
    }
}

#[test]
fn every_call_stands_in_its_document() {
    let calls = [
        (Protocol::Messages, "/content/0/input/path"),
        (Protocol::Gemini, "/candidates/0/content/parts/0/functionCall/args/path"),
        (Protocol::Converse, "/output/message/content/0/toolUse/input/path"),
    ];
    for (protocol, pointer) in calls {
        let document = render_whole(&asked(protocol), &said(call(), Stop::Call));
        assert_eq!(document.pointer(pointer), Some(&json!("a.rs")), "{protocol:?}");
    }
    for (protocol, pointer) in [
        (Protocol::Chat, "/choices/0/message/tool_calls/0/function/arguments"),
        (Protocol::Responses, "/output/0/arguments"),
    ] {
        let document = render_whole(&asked(protocol), &said(call(), Stop::Call));
        assert_eq!(document.pointer(pointer), Some(&json!(r#"{"path":"a.rs"}"#)), "{protocol:?}");
    }
}

#[test]
fn a_break_names_its_reason() {
    let text = said(Content::Text("x".to_owned()), Stop::End);
    for protocol in STREAMING {
        for (limit, words) in [(true, ["rate_limit", "RESOURCE_EXHAUSTED"]), (false, ["overload", "UNAVAILABLE"])] {
            let event = render_break(&asked(protocol), &text, limit);
            assert_eq!(data(std::slice::from_ref(&event)).len(), 1);
            assert!(words.iter().any(|word| event.to_lowercase().contains(&word.to_lowercase())), "{event}");
        }
    }
}
