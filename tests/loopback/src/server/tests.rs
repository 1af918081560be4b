//! The server over real connections.

use std::io::Read as _;

use serde_json::Value;

use super::*;
use crate::prompt::tests::SAMPLE;

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
    assert_eq!(status("/-/bucket-1-3600/v1/messages"), "200");
    assert_eq!(status("/-/bucket-1-3600/v1/messages"), "429");
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
    assert_eq!(api.requests()[0].status, None);
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
