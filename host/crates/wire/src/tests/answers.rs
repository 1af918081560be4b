//! Answers of `send`: sizes, times, breaks, encodings.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use super::addresses::{get, local_client, local_options, send};
use super::upstream::{Line, Upstream, chunk, reply, soon};
use crate::client::{HttpClient, HttpOptions};
use crate::request::{OutHeader, Outgoing};
use crate::sign::Signature;

const SHORT: Duration = Duration::from_millis(60);

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_request_arrives_as_it_was_described() {
    let server = Upstream::fixed(reply("201 Created", "X-Odd: a\r\nx-odd: b\r\n", "made")).await;
    let header = |name: &str, value: &str| OutHeader { name: name.to_owned(), value: value.to_owned(), secret: false };
    let request = Outgoing {
        method: "POST".to_owned(),
        headers: vec![header("Content-Type", "application/json"), header("X-Twice", "1"), header("X-Twice", "2")],
        body: b"{}".to_vec(),
        ..get(&server.url("/v1/x?a=b"))
    };
    let answer = send(&local_client(), request).await.unwrap();
    assert_eq!(answer.status, 201);
    let odd: Vec<_> =
        answer.headers.iter().filter(|(name, _)| name == "x-odd").map(|(_, value)| value.as_str()).collect();
    assert_eq!(odd, ["a", "b"]);
    assert!(answer.first_byte <= answer.wall);
    let asked = &server.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.target.as_str(), asked.body.as_slice()),
        ("POST", "/v1/x?a=b", b"{}".as_slice())
    );
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.headers.iter().filter(|(name, _)| name == "x-twice").count(), 2);
    assert!(asked.header("user-agent").unwrap().starts_with("assize/"));
}

#[tokio::test]
async fn what_frames_a_message_is_not_the_plugins_to_set() {
    for (method, name, value) in [
        ("GET", "Host", "other.test"),
        ("GET", "content-length", "5"),
        ("GET", "Transfer-Encoding", "chunked"),
        ("GET", "accept-encoding", "br"),
        ("GET", "x-a", "hush\r\nx-b: c"),
        ("GET", "x a", "1"),
        ("CONNECT", "x-a", "1"),
        ("G T", "x-a", "1"),
    ] {
        let header = OutHeader { name: name.to_owned(), value: value.to_owned(), secret: false };
        let request = Outgoing { method: method.to_owned(), headers: vec![header], ..get("http://127.0.0.1:9/") };
        let error = send(&local_client(), request).await.unwrap_err();
        assert_eq!(error.kind(), "invalid", "{name}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn a_signed_request_carries_no_secret_key() {
    let server = Upstream::fixed(reply("200 OK", "", "")).await;
    let sign = Some(Signature {
        region: "eu-central-1".to_owned(),
        service: "bedrock".to_owned(),
        key_id: "AKID".to_owned(),
        secret: "hush-hush".to_owned(),
        session_token: Some("tok".to_owned()),
        now_ms: 1_440_938_160_000,
    });
    send(&local_client(), Outgoing { sign, ..get(&server.url("/model/a%3Ab/invoke")) }).await.unwrap();
    let asked = &server.asked()[0];
    let value = asked.header("authorization").unwrap();
    assert!(
        value.starts_with("AWS4-HMAC-SHA256 Credential=AKID/20150830/eu-central-1/bedrock/aws4_request, "),
        "{value}"
    );
    assert_eq!(asked.header("x-amz-date"), Some("20150830T123600Z"));
    assert_eq!(asked.header("x-amz-security-token"), Some("tok"));
    assert!(!format!("{asked:?}").contains("hush"));
}

#[tokio::test]
async fn a_flood_is_cut_at_the_cap_and_counted() {
    let server = Upstream::start(|_, mut line: Line| async move {
        line.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
        let part = vec![b'x'; 1 << 16];
        while line.write_all(&part).await.is_ok() {}
        None
    })
    .await;
    let request = Outgoing { response_cap: 100_000, ..get(&server.url("/")) };
    let answer = soon(send(&local_client(), request)).await.unwrap();
    assert_eq!(answer.body.len(), 100_000);
    assert!((100_000..400_000).contains(&answer.body_dropped), "{}", answer.body_dropped);
}

#[tokio::test]
async fn a_body_a_little_above_the_cap_is_counted_exactly() {
    let server = Upstream::fixed(reply("200 OK", "", [7; 110])).await;
    let answer = send(&local_client(), Outgoing { response_cap: 100, ..get(&server.url("/")) }).await.unwrap();
    assert_eq!((answer.body.len(), answer.body_dropped), (100, 10));
}

#[tokio::test]
async fn gzip_is_unpacked_and_a_bomb_is_cut() {
    let server = Upstream::fixed(reply("200 OK", "content-encoding: gzip\r\n", gzip(b"hello"))).await;
    assert_eq!(send(&local_client(), get(&server.url("/"))).await.unwrap().body, b"hello");
    assert_eq!(server.asked()[0].header("accept-encoding"), Some("gzip"));
    let bomb = gzip(&vec![0; 16 << 20]);
    assert!(bomb.len() < 100_000);
    let server = Upstream::fixed(reply("200 OK", "content-encoding: gzip\r\n", bomb)).await;
    let answer = send(&local_client(), Outgoing { response_cap: 1 << 20, ..get(&server.url("/")) }).await.unwrap();
    assert_eq!(answer.body.len(), 1 << 20);
    assert!((1 << 20..8 << 20).contains(&answer.body_dropped), "{}", answer.body_dropped);
}

#[tokio::test]
async fn encodings_that_cannot_be_read_are_errors() {
    for (encoding, body) in
        [("br", gzip(b"x")), ("gzip", b"not gzip at all".to_vec()), ("gzip", gzip(&[1; 999])[..20].to_vec())]
    {
        let server = Upstream::fixed(reply("200 OK", &format!("content-encoding: {encoding}\r\n"), body)).await;
        let error = send(&local_client(), get(&server.url("/"))).await.unwrap_err();
        assert_eq!(error.kind(), "invalid", "{encoding}: {error}");
    }
}

#[tokio::test]
async fn a_head_beyond_the_cap_is_too_large() {
    for (lines, each) in [(1, 300 << 10), (60, 6 << 10)] {
        let headers: String = (0..lines).map(|line| format!("x-{line}: {}\r\n", "y".repeat(each))).collect();
        let server = Upstream::fixed(reply("200 OK", &headers, "")).await;
        let error = send(&local_client(), get(&server.url("/"))).await.unwrap_err();
        assert_eq!(error.kind(), "too-large", "{error}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_a_timeout() {
    let server = Upstream::start(|_, line| async move {
        std::future::pending::<()>().await;
        Some(line)
    })
    .await;
    let error = send(&local_client(), Outgoing { timeout: SHORT, ..get(&server.url("/x")) }).await.unwrap_err();
    assert_eq!(error.kind(), "timeout");
    assert!(error.to_string().contains("60 ms"), "{error}");
}

#[tokio::test]
async fn a_stream_that_pauses_too_long_is_a_timeout_before_its_end() {
    let server = Upstream::start(|_, mut line: Line| async move {
        line.write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n").await.ok()?;
        std::future::pending::<()>().await;
        Some(line)
    })
    .await;
    let client = HttpClient::new(HttpOptions { idle_timeout: SHORT, ..local_options() }).unwrap();
    let request = Outgoing { event_stream: true, ..get(&server.url("/")) };
    let error = soon(send(&client, request)).await.unwrap_err();
    assert_eq!(error.kind(), "timeout");
    assert!(error.to_string().contains("continue its stream"), "{error}");
}

#[tokio::test]
async fn an_answer_that_breaks_is_no_answer() {
    for bytes in [
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this".to_vec(),
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), chunk("part")].concat(),
        b"HTTP/1.1 200".to_vec(),
        b"SSH-2.0-odd\r\n\r\n".to_vec(),
        Vec::new(),
    ] {
        let server = Upstream::start(move |_, mut line: Line| {
            let bytes = bytes.clone();
            async move {
                line.write_all(&bytes).await.ok()?;
                None
            }
        })
        .await;
        let error = soon(send(&local_client(), get(&server.url("/path?key=hush")))).await.unwrap_err();
        assert_eq!(error.kind(), "unreachable", "{error}");
        assert!(!error.to_string().contains("hush") && !error.to_string().contains("path"), "{error}");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = send(&local_client(), get(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test]
async fn an_interruption_ends_the_exchange_and_its_connection() {
    let (asked, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, gone) = (Arc::clone(&asked), Arc::clone(&left));
    let server = Upstream::start(move |_, mut line: Line| {
        let (tell, gone) = (Arc::clone(&tell), Arc::clone(&gone));
        async move {
            tell.notify_one();
            let _ = line.read(&mut [0; 8]).await;
            gone.notify_one();
            None
        }
    })
    .await;
    let error = soon(local_client().send(get(&server.url("/")), asked.notified())).await.unwrap_err();
    assert_eq!(error.kind(), "interrupted");
    soon(left.notified()).await;
}

#[tokio::test]
async fn head_has_headers_and_no_body() {
    let server = Upstream::fixed("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").await;
    let answer = send(&local_client(), Outgoing { method: "HEAD".to_owned(), ..get(&server.url("/")) }).await.unwrap();
    assert!(answer.body.is_empty() && answer.headers.contains(&("content-length".to_owned(), "5".to_owned())));
}
