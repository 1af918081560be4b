//! The server over real connections.

use std::io::Read as _;

use serde_json::Value;

use super::*;
use crate::gzip::Gzip;
use crate::prompt::tests::SAMPLE;
use crate::send::Pause as _;

fn connect(api: &LoopbackApi) -> TcpStream {
    let stream = TcpStream::connect(api.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Asks and reads to the end of the connection.
fn ask(api: &LoopbackApi, method: &str, path: &str, body: &str) -> String {
    let mut stream = connect(api);
    send(&mut stream, method, path, body);
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn send(stream: &mut TcpStream, method: &str, path: &str, body: &str) {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: SECRET\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
}

fn body_of(text: &str) -> Value {
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn prompt(stream: bool) -> String {
    serde_json::json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": SAMPLE}]}).to_string()
}

#[test]
fn a_streamed_answer_arrives_in_order_and_ends() {
    let api = LoopbackApi::start(0).unwrap();
    let text = ask(&api, "POST", "/-/ok/v1/messages?beta=true", &prompt(true));
    let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let order =
        "message_start content_block_start ping content_block_delta content_block_stop message_delta message_stop";
    assert_eq!(kinds.join(" "), order);
    assert!(text.ends_with("\r\n0\r\n\r\n"));
    assert!(text.contains("anthropic-ratelimit-requests-remaining: 49"));
}

#[test]
fn scenarios_and_tags_keep_their_own_state() {
    let api = LoopbackApi::start(0).unwrap();
    let status = |path: &str| ask(&api, "POST", path, &prompt(false))[9..12].to_owned();
    assert_eq!(status("/-/429-once~a/v1/messages"), "429");
    assert_eq!(status("/-/429-once~b/v1/messages"), "429");
    assert_eq!(status("/-/429-once~a/v1/messages"), "200");
    assert_eq!(status("/-/bucket-1-0/v1/messages"), "200");
    assert_eq!(status("/-/bucket-1-0/v1/messages"), "429");
    assert_eq!(status("/-/bucket-1-0%7Eb/v1/messages"), "200");
    assert_eq!(status("/-/nonsense/v1/messages"), "404");
}

#[test]
fn requests_are_noted_without_their_credentials() {
    let api = LoopbackApi::start(0).unwrap();
    ask(&api, "HEAD", "/-/401/", "");
    ask(&api, "POST", "/-/401/v1/messages", &prompt(true));
    ask(&api, "GET", "/somewhere/else", "");
    let told = ask(&api, "GET", "/__requests", "");
    assert!(!told.contains("SECRET"));
    let told = body_of(&told);
    let statuses: Vec<&Value> = told.as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
    assert_eq!(statuses, [200, 401, 404]);
    assert_eq!((&told[1]["tasks"], &told[1]["credential"]), (&2.into(), &true.into()));
    assert_eq!(api.requests().len(), 3);
    assert_eq!(told[1]["credential_digest"], api.digest("SECRET"));
    assert!(api.requests().iter().all(|entry| entry.end_ms.is_some_and(|end| end >= entry.at_ms)));
    assert_eq!((api.answered(401), api.answered(429)), (1, 0));
}

#[test]
fn a_connection_carries_one_request_after_the_other() {
    let api = LoopbackApi::start(0).unwrap();
    let mut stream = connect(&api);
    let one = "POST /v1/messages/count_tokens HTTP/1.1\r\ncontent-length: 8\r\n\r\n12345678";
    stream.write_all(format!("{one}{one}").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("{\"input_tokens\":2}").count(), 2);
}

#[test]
fn an_answer_that_is_cut_ends_the_connection_without_its_end() {
    let api = LoopbackApi::start(0).unwrap();
    let text = ask(&api, "POST", "/-/disconnect/v1/messages", &prompt(true));
    assert!(text.contains("text_delta") && !text.ends_with("0\r\n\r\n"));
}

#[test]
fn silence_ends_with_the_server() {
    let api = LoopbackApi::start(0).unwrap();
    let mut stream = connect(&api);
    send(&mut stream, "POST", "/-/hang/v1/messages", &prompt(false));
    // The note shows that the request has been taken before the server goes.
    while api.requests().is_empty() {
        std::thread::yield_now();
    }
    let Entry { status, end_ms, .. } = entry(&api, 1);
    assert_eq!((status, end_ms), (None, None), "it runs");
    drop(api);
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert_eq!(text, "");
}

#[test]
fn too_many_connections_are_told_so() {
    let api = LoopbackApi::start(0).unwrap();
    let kept: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect(&api)).collect();
    let mut one_more = connect(&api);
    let mut text = String::new();
    let _ = one_more.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    drop(kept);
}

fn entry(api: &LoopbackApi, number: usize) -> Entry {
    api.requests()[number - 1].clone()
}

#[test]
fn every_protocol_is_served_and_noted() {
    let api = LoopbackApi::start(0).unwrap();
    let chat = prompt(false);
    let responses = serde_json::json!({"model": "m", "input": SAMPLE}).to_string();
    let gemini = serde_json::json!({"contents": [{"parts": [{"text": SAMPLE}]}]}).to_string();
    for (path, body, protocol, model) in [
        ("/v1/messages", &chat, "messages", "m"),
        ("/-/ok/v1/chat/completions", &chat, "chat", "m"),
        ("/-/ok/v1/responses", &responses, "responses", "m"),
        ("/-/ok/v1beta/models/g:generateContent?key=k", &gemini, "gemini", "g"),
        ("/-/ok/v1beta/models/g:streamGenerateContent?alt=sse", &gemini, "gemini", "g"),
    ] {
        let text = ask(&api, "POST", path, body);
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("src:security"), "{path}: {text}");
        let entry = api.requests().pop().unwrap();
        assert_eq!((entry.protocol.as_str(), entry.model.as_str(), entry.tasks), (protocol, model, 2), "{path}");
        assert!(entry.input_tokens > 100 && entry.output_tokens > 50, "{path}");
    }
}

#[test]
fn bedrock_wants_a_signature() {
    let api = LoopbackApi::start(0).unwrap();
    let body = serde_json::json!({"messages": [{"role": "user", "content": [{"text": "Reply with OK"}]}]}).to_string();
    let path = "/-/ok/model/a.b-v1%3A0/converse";
    assert!(ask(&api, "POST", path, &body).starts_with("HTTP/1.1 403"));
    let mut stream = connect(&api);
    let signature = "0".repeat(64);
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential=AKIA/20260102/r/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature={signature}"
    );
    let request = format!(
        "POST {path} HTTP/1.1\r\nconnection: close\r\nauthorization: {authorization}\r\nx-amz-date: 20260102T030405Z\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(body_of(&text)["output"]["message"]["content"][0]["text"], "OK");
    assert_eq!(entry(&api, 2).model, "a.b-v1:0");
}

#[test]
fn a_limit_lets_in_again_when_it_said_it_would() {
    let api = LoopbackApi::start(0).unwrap();
    let path = "/-/bucket-1-0-per-0.03/v1/chat/completions";
    let mut stream = connect(&api);
    // In one go, so that they come faster than the bucket fills.
    let one = format!("POST {path} HTTP/1.1\r\nx-api-key: SECRET\r\ncontent-length: 2\r\n\r\n{{}}");
    stream.write_all(one.repeat(20).as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("HTTP/1.1 429") && api.requests().len() == 20);
    assert!(text.contains("x-ratelimit-remaining-requests: 0"));
    let wait = text.lines().filter_map(|line| line.strip_prefix("retry-after-ms: ")).next_back().unwrap();
    api.shared.pause(Duration::from_millis(wait.parse::<u64>().unwrap()));
    assert!(ask(&api, "POST", path, "{}").starts_with("HTTP/1.1 200"));
}

#[test]
fn requests_at_once_are_counted_until_they_end() {
    let api = LoopbackApi::start(0).unwrap();
    let path = "/-/bucket-0-0-1+hang/v1/messages";
    let mut first = connect(&api);
    send(&mut first, "POST", path, &prompt(false));
    while api.requests().is_empty() {
        std::thread::yield_now();
    }
    assert!(ask(&api, "POST", path, &prompt(false)).contains("concurrent connections"));
    first.shutdown(Shutdown::Both).unwrap();
    while api.requests()[0].end_ms.is_none() {
        std::thread::yield_now();
    }
    let mut next = connect(&api);
    send(&mut next, "POST", path, &prompt(false));
    while api.requests().len() < 3 {
        std::thread::yield_now();
    }
    assert_eq!((entry(&api, 2).status, entry(&api, 3).status), (Some(429), None));
}

#[test]
fn a_place_is_free_as_soon_as_its_answer_has_been_read() {
    let api = LoopbackApi::start(0).unwrap();
    for stream in [true, false] {
        for _ in 0..20 {
            ask(&api, "POST", "/-/bucket-0-0-1/v1/messages", &prompt(stream));
        }
    }
    assert_eq!((api.answered(200), api.answered(429)), (40, 0));
}

#[test]
fn latencies_pass_before_the_answer() {
    let api = LoopbackApi::start(0).unwrap();
    ask(&api, "POST", "/-/slow-30/v1/messages", &prompt(true));
    let Entry { at_ms, end_ms, .. } = entry(&api, 1);
    assert!(end_ms.unwrap() - at_ms >= 30);
}

#[test]
fn nobody_waits_for_a_server_that_has_ended() {
    let api = LoopbackApi::start(0).unwrap();
    let mut stream = connect(&api);
    send(&mut stream, "POST", "/-/slow-600000/v1/messages", &prompt(false));
    while api.requests().is_empty() {
        std::thread::yield_now();
    }
    drop(api);
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert_eq!(text, "");
}

#[test]
fn a_storm_passes() {
    let api = LoopbackApi::start(0).unwrap();
    let path = "/-/storm-0.03/v1/messages";
    assert!(ask(&api, "POST", path, &prompt(false)).contains("retry-after: 1"));
    api.shared.pause(Duration::from_millis(31));
    assert!(ask(&api, "POST", path, &prompt(false)).starts_with("HTTP/1.1 200"));
}

#[test]
fn what_drips_is_whole_in_the_end() {
    let api = LoopbackApi::start(0).unwrap();
    let ping = r#"{"stream": true, "messages": []}"#;
    let body = |path: &str| {
        let text = ask(&api, "POST", path, ping);
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        join_chunks(body.as_bytes())
    };
    let dripped = body("/-/drip-200-1/v1/responses");
    let whole = body("/-/ok/v1/responses");
    // The ids hold the request's number.
    assert_eq!(dripped.len(), whole.len());
    assert!(dripped.ends_with(b"\n\n"));
}

fn join_chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let size = usize::from_str_radix(str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return joined;
        }
        joined.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}

#[test]
fn packed_answers_hold_what_plain_ones_do() {
    let api = LoopbackApi::start(0).unwrap();
    let raw = |path: &str| {
        let mut stream = connect(&api);
        send(&mut stream, "POST", path, r#"{"stream": false}"#);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        (String::from_utf8(bytes[..at].to_vec()).unwrap(), bytes[at + 4..].to_vec())
    };
    let (head, packed) = raw("/-/gzip-always/v1/chat/completions");
    assert!(head.contains("content-encoding: gzip"));
    let plain = raw("/-/gzip/v1/chat/completions");
    assert!(!plain.0.contains("content-encoding"), "this client does not take it");
    let number = |text: &[u8]| String::from_utf8_lossy(text).replace("00000001", "00000002");
    let created = |text: String| text.split("\"created\"").next().unwrap().to_owned();
    let inside = String::from_utf8(packed[15..packed.len() - 13].to_vec()).unwrap();
    assert_eq!(created(number(inside.as_bytes())), created(number(&plain.1)));
    assert_eq!(packed, Gzip::pack_whole(inside.as_bytes()));
}

#[test]
fn a_flood_comes_to_its_end() {
    let api = LoopbackApi::start(0).unwrap();
    let text = ask(&api, "POST", "/-/flood-2/v1/chat/completions", &prompt(true));
    assert!(text.len() > 2 << 20 && text.ends_with("\r\n0\r\n\r\n"));
}

#[test]
fn who_follows_a_redirection_is_seen() {
    let api = LoopbackApi::start(0).unwrap();
    let text = ask(&api, "POST", "/-/redirect/v1/messages?beta=true", &prompt(false));
    let location = text.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    assert!(!location.starts_with(&api.url()) && location.ends_with("/-/ok~redirected/v1/messages?beta=true"));
    let (address, path) = location.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    send(&mut stream, "POST", &format!("/{path}"), &prompt(false));
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(entry(&api, 2).scenario, "ok~redirected");
}

#[test]
fn a_server_plays_one_scenario_to_who_names_none() {
    let api = LoopbackApi::playing("429-once", 0).unwrap();
    let status = |path: &str| ask(&api, "POST", path, &prompt(false))[9..12].to_owned();
    assert_eq!([status("/v1/messages"), status("/v1/messages"), status("/-/401/v1/messages")], ["429", "200", "401"]);
    assert!(LoopbackApi::playing("nonsense", 0).is_err());
}
