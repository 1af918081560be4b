//! What scenarios make of requests.

use serde_json::{Value, json};

use super::*;
use crate::asked::read_request;
use crate::prompt::tests::SAMPLE;
use crate::protocol::Target;

fn moment(earlier: u64) -> Moment<'static> {
    Moment {
        number: 7,
        earlier,
        now: Timestamp::UNIX_EPOCH,
        admission: (None, Told::EASY),
        storm_ms: 0,
        credential: "SECRET",
        signed: true,
        elsewhere: "http://127.0.0.1:1/x",
    }
}

fn asked(protocol: Protocol, stream: bool) -> Asked {
    let target = Target { protocol, events: true, ..Target::default() };
    let body = json!({"model": "m", "stream": stream, "stream_options": {}, "input": SAMPLE,
        "messages": [{"role": "user", "content": SAMPLE}], "contents": [{"parts": [{"text": SAMPLE}]}]});
    read_request(&target, body.to_string().as_bytes())
}

fn play_in(protocol: Protocol, name: &str, stream: bool, earlier: u64) -> Reply {
    plan_reply(&Scenario::parse(name).unwrap(), &asked(protocol, stream), &moment(earlier)).reply
}

fn play(name: &str, stream: bool, earlier: u64) -> Reply {
    play_in(Protocol::Messages, name, stream, earlier)
}

fn document(reply: Reply) -> Value {
    let Reply::Whole(response) = reply else { panic!("whole") };
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn once_means_the_first_request_only() {
    for name in ["429-once", "disconnect-once", "empty-once", "529-twice", "refusal-once"] {
        let plain = play("ok", true, 9);
        assert_ne!(play(name, true, 0), plain, "{name}");
        assert_eq!(play(name, true, 2), plain, "{name}");
    }
}

#[test]
fn an_audit_prompt_is_answered_in_every_protocol() {
    for (protocol, pointer) in [
        (Protocol::Messages, "/content/0/text"),
        (Protocol::Chat, "/choices/0/message/content"),
        (Protocol::Responses, "/output/0/content/0/text"),
        (Protocol::Gemini, "/candidates/0/content/parts/0/text"),
        (Protocol::Converse, "/output/message/content/0/text"),
    ] {
        // The text of Converse stands where that of the others does not.
        let mut asked = asked(protocol, false);
        asked.prompt = asked.prompt.or_else(|| crate::prompt::read_prompt(SAMPLE));
        let planned = plan_reply(&Scenario::parse("ok-findings").unwrap(), &asked, &moment(0));
        let document = document(planned.reply);
        let text = document.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{document}"));
        let results: Value = serde_json::from_str(text).unwrap();
        assert_eq!(results[0]["task_id"], "src:security");
        assert_eq!(results[0]["findings"].as_array().unwrap().len(), 1);
        assert_eq!(planned.output_tokens, crate::asked::tokens(text.len()));
    }
}

#[test]
fn an_answer_that_breaks_off_has_begun_and_never_ends() {
    for protocol in [Protocol::Messages, Protocol::Chat, Protocol::Responses] {
        for (name, after) in [("stall", AfterCut::Silence), ("disconnect", AfterCut::End)] {
            let Reply::Stream(_, whole) = play_in(protocol, "ok", true, 0) else { panic!("stream") };
            let Reply::CutStream(_, events, then) = play_in(protocol, name, true, 0) else { panic!("{name}") };
            assert!(then == after && events.len() < whole.len() && whole.starts_with(&events));
            assert!(events.last().unwrap().contains("task_id"), "{events:?}");
            let Reply::CutWhole(response, kept, then) = play_in(protocol, name, false, 0) else { panic!("{name}") };
            assert!(then == after && kept < response.body.len());
        }
    }
}

#[test]
fn broken_documents_come_with_a_good_status() {
    for (name, stream) in [("badjson", true), ("badjson", false), ("empty", true), ("empty", false)] {
        assert_eq!(play(name, stream, 0).status(), Some(200), "{name}");
    }
    let Reply::Whole(response) = play("badjson", false, 0) else { panic!("whole") };
    assert!(serde_json::from_slice::<Value>(&response.body).is_err());
}

#[test]
fn an_error_in_the_midst_comes_after_the_beginning_and_ends_it() {
    let Reply::Stream(_, events) = play("error-event", true, 0) else { panic!("stream") };
    assert!(events.last().unwrap().starts_with("event: error\n"));
    assert!(events.iter().any(|event| event.contains("text_delta")));
    assert_eq!(play("error-event", false, 0).status(), Some(529));
    assert_eq!(play("error-event-limit", false, 0).status(), Some(429));
}

#[test]
fn the_door_opens_for_the_right_key_only() {
    assert_eq!(play("key-SECRET", false, 0).status(), Some(200));
    assert_eq!(play("key-other", false, 0).status(), Some(401));
    let nobody = Moment { credential: "", ..moment(0) };
    let planned = plan_reply(&Scenario::parse("need-key").unwrap(), &asked(Protocol::Chat, false), &nobody);
    assert_eq!(planned.reply.status(), Some(401));
    let unsigned = Moment { signed: false, ..moment(0) };
    let planned = plan_reply(&Scenario::default(), &asked(Protocol::Converse, false), &unsigned);
    assert_eq!(planned.reply.status(), Some(403));
}

#[test]
fn features_are_refused_only_to_who_uses_them() {
    assert_eq!(play("no-stream", true, 0).status(), Some(400));
    assert_eq!(play("no-stream", false, 0).status(), Some(200));
    assert_eq!(play("no-tools+no-json-schema+no-json-object+no-cache-control", true, 0).status(), Some(200));
    assert_eq!(play_in(Protocol::Chat, "no-stream-options", true, 0).status(), Some(400));
}

#[test]
fn limits_and_storms_are_told() {
    let limited = Moment { admission: (Some(Cause::Requests), Told::spent(2_000)), ..moment(0) };
    let stormy = Moment { storm_ms: 2_000, ..moment(0) };
    for moment in [limited, stormy] {
        let planned = plan_reply(&Scenario::default(), &asked(Protocol::Messages, false), &moment);
        let Reply::Whole(response) = planned.reply else { panic!("whole") };
        assert_eq!((response.status, planned.output_tokens), (429, 0));
        assert!(response.headers.contains(&("retry-after".to_owned(), "2".to_owned())));
    }
}

#[test]
fn a_flood_is_a_good_answer_but_for_its_size() {
    let Reply::Flood(_, flood) = play("flood", false, 0) else { panic!("flood") };
    assert!(flood.bytes > 64 << 20);
    let text = [flood.opening, flood.piece, flood.closing].concat();
    assert!(serde_json::from_str::<Value>(&text).is_ok());
    let Reply::Flood(_, flood) = play("flood-1", true, 0) else { panic!("flood") };
    assert!(flood.piece.starts_with("event: content_block_delta\n") && flood.closing.contains("message_stop"));
}

#[test]
fn who_is_sent_elsewhere_is_told_where() {
    let Reply::Whole(response) = play("redirect", true, 0) else { panic!("whole") };
    assert_eq!((response.status, response.headers[0].1.as_str()), (307, "http://127.0.0.1:1/x"));
}
