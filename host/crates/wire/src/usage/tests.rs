//! Usage of every protocol, however its bytes are cut.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Counted, Tally, UsageCounter};

fn tally(parts: &[&[u8]]) -> Tally {
    let mut counter = UsageCounter::default();
    for part in parts {
        counter.push(part);
    }
    counter.finish();
    counter.tally().clone()
}

/// The tally, the same for every place at which the body is cut in two, and byte by byte.
fn at_every_cut(body: &str) -> Tally {
    let bytes = body.as_bytes();
    let whole = tally(&[bytes]);
    let shown = format!("{whole:?}");
    for cut in 0..=bytes.len() {
        assert_eq!(format!("{:?}", tally(&[&bytes[..cut], &bytes[cut..]])), shown, "cut at {cut}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(format!("{:?}", tally(&single)), shown, "byte by byte");
    whole
}

fn counted(input: u64, output: u64, cached: u64, model: &str) -> Option<Counted> {
    Some(Counted { input, output, cached, model: Some(model.to_owned()), requests: 1 })
}

const ANTHROPIC: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"eight ch\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[test]
fn anthropic_streams_are_counted() {
    let seen = at_every_cut(ANTHROPIC);
    assert_eq!(seen.counted(), counted(17, 42, 5, "m-1"));
    assert_eq!(seen.stop.as_deref(), Some("end_turn"));
    assert_eq!(seen.estimated_output_tokens(), 2);
    assert!(seen.error.is_none());
}

#[test]
fn line_ends_of_every_kind_are_line_ends() {
    for end in ["\r\n", "\r"] {
        assert_eq!(at_every_cut(&ANTHROPIC.replace('\n', end)).counted(), counted(17, 42, 5, "m-1"), "{end:?}");
    }
}

#[test]
fn a_stream_that_breaks_keeps_what_was_counted() {
    let half = &ANTHROPIC[..ANTHROPIC.find("event: message_delta").unwrap()];
    assert_eq!(tally(&[half.as_bytes()]).counted(), counted(17, 1, 5, "m-1"));
}

#[test]
fn anthropic_bodies_are_counted() {
    let body = r#"{"type":"message","model":"m-1","content":[{"type":"text","text":"say \"}\" {\"usage\":1}"}],"stop_reason":"max_tokens","usage":{"input_tokens":3,"output_tokens":9}}"#;
    let seen = at_every_cut(body);
    assert_eq!(seen.counted(), counted(3, 9, 0, "m-1"));
    assert_eq!(seen.stop.as_deref(), Some("max_tokens"));
}

#[test]
fn chat_completions_are_counted_plain_and_streamed() {
    let body = r#"{"object":"chat.completion","model":"g","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":8}}}"#;
    assert_eq!(at_every_cut(body).counted(), counted(20, 7, 8, "g"));
    let stream = "data: {\"object\":\"chat.completion.chunk\",\"model\":\"g\",\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":null}],\"usage\":null}\n\ndata: {\"object\":\"chat.completion.chunk\",\"model\":\"g\",\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: {\"object\":\"chat.completion.chunk\",\"model\":\"g\",\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";
    let seen = at_every_cut(stream);
    assert_eq!(seen.counted(), counted(11, 4, 0, "g"));
    assert_eq!(seen.stop.as_deref(), Some("length"));
}

#[test]
fn a_stream_without_usage_is_estimated_and_not_counted() {
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{}{}\"}}]}}]}\n\ndata: [DONE]\n\n";
    let seen = at_every_cut(stream);
    assert_eq!(seen.counted(), None);
    assert_eq!(seen.estimated_output_tokens(), 3);
}

#[test]
fn responses_are_counted_plain_and_streamed() {
    let response = r#"{"object":"response","model":"o","status":"completed","error":null,"output":[{"content":[{"text":"done"}]}],"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":12},"output_tokens":6}}"#;
    assert_eq!(at_every_cut(response).counted(), counted(30, 6, 12, "o"));
    let stream = format!(
        "event: response.created\ndata: {{\"type\":\"response.created\",\"response\":{{\"usage\":null}}}}\n\nevent: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"delta\":\"done\"}}\n\nevent: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{response}}}\n\n"
    );
    let seen = at_every_cut(&stream);
    assert_eq!(seen.counted(), counted(30, 6, 12, "o"));
    assert_eq!((seen.stop.as_deref(), seen.estimated_output_tokens()), (Some("completed"), 1));
    let cut = r#"{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#;
    assert_eq!(tally(&[cut.as_bytes()]).stop.as_deref(), Some("max_output_tokens"));
}

const GEMINI: &str = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":9},"modelVersion":"gem"}"#;
const GEMINI_LAST: &str = r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":3},"modelVersion":"gem"}"#;

#[test]
fn gemini_is_counted_plain_as_events_as_an_array_and_wrapped() {
    for body in [
        GEMINI_LAST.to_owned(),
        format!("data: {GEMINI}\r\n\r\ndata: {GEMINI_LAST}\r\n\r\n"),
        format!("data: {GEMINI}\n\ndata: {GEMINI_LAST}"),
        format!("[{GEMINI},\r\n{GEMINI_LAST}\n]"),
        format!("[{{\"response\":{GEMINI}}},{{\"response\":{GEMINI_LAST}}}]"),
    ] {
        let seen = at_every_cut(&body);
        assert_eq!(seen.counted(), counted(9, 8, 4, "gem"), "{body}");
        assert_eq!(seen.stop.as_deref(), Some("STOP"));
    }
}

#[test]
fn errors_inside_a_stream_are_told_with_their_type() {
    for (stream, stop, text) in [
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "overloaded_error",
            "Overloaded",
        ),
        (
            "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}}}\n\n",
            "rate_limit_exceeded",
            "slow down",
        ),
        ("data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"oops\"}\n\n", "server_error", "oops"),
        ("data: {\"error\":{\"message\":\"no credits\",\"code\":402}}\n\n", "error", "no credits"),
        (
            "[{\"error\":{\"code\":429,\"message\":\"quota\",\"status\":\"RESOURCE_EXHAUSTED\"}}]",
            "RESOURCE_EXHAUSTED",
            "quota",
        ),
    ] {
        let seen = at_every_cut(stream);
        assert_eq!(seen.stop.as_deref(), Some(stop), "{stream}");
        assert!(seen.error.as_deref().unwrap().contains(text), "{stream}: {seen:?}");
    }
}

#[test]
fn an_answer_that_talks_of_errors_and_usage_is_no_error() {
    let body = r#"{"type":"message","model":"m","content":[{"type":"text","text":"{\"type\":\"error\",\"usage\":{\"input_tokens\":999}}"}],"usage":{"input_tokens":1,"output_tokens":2}}"#;
    let seen = at_every_cut(body);
    assert_eq!(seen.counted(), counted(1, 2, 0, "m"));
    assert!(seen.error.is_none());
}

#[test]
fn hostile_bodies_say_nothing_and_hold_little() {
    for body in [
        "",
        "   ",
        "]]}}",
        "[[[[",
        "{\"a\":\"",
        "<html>{</html>",
        "data",
        "{\"usage\":{\"input_tokens\":-1}}",
        "\u{feff}x",
    ] {
        assert_eq!(tally(&[body.as_bytes()]).counted(), None, "{body}");
    }
    let deep = vec![b'{'; 100_000];
    assert_eq!(tally(&[&deep]).counted(), None);
}

#[test]
fn an_event_beyond_the_cap_is_forgotten_and_the_next_is_read() {
    let mut counter = UsageCounter::default();
    counter.push(b"data: ");
    let much = vec![b'x'; 1 << 20];
    for _ in 0..=8 {
        counter.push(&much);
    }
    counter.push(b"\n\n");
    counter.push(ANTHROPIC.as_bytes());
    counter.finish();
    assert_eq!(counter.tally().counted(), counted(17, 42, 5, "m-1"));
}
