//! What comes back: unaltered, but for a secret that a server echoes.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Write as _;

use tokio::io::AsyncWriteExt;

use super::program::{SECRET, Setup, body_of, head_of};
use super::upstream::{Line, Upstream, chunk, reply};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn stars() -> String {
    "*".repeat(SECRET.len())
}

#[tokio::test]
async fn an_echoed_secret_reaches_neither_program_nor_account() {
    let body = format!("{{\"error\":{{\"message\":\"bad key {SECRET}\"}}}}");
    let headers = format!("x-echo: <{SECRET}>\r\nretry-after: {SECRET}\r\n");
    let upstream = Upstream::fixed(reply("401 Unauthorized", &headers, &body)).await;
    let mut served = Setup::injecting().open(&upstream).await;
    let answer = served.ask("POST", "/v1/x", "", "{}").await;
    assert!(!answer.contains(SECRET), "{answer}");
    assert_eq!(body_of(&answer), body.replace(SECRET, &stars()));
    assert!(head_of(&answer).contains(&format!("x-echo: <{}>", stars())), "{answer}");
    assert!(head_of(&answer).contains(&format!("content-length: {}", body.len())), "lengths stay: {answer}");
    let seen = served.seen().await;
    assert!(!format!("{seen:?}").contains(SECRET), "{seen:?}");
    assert_eq!(seen.error_text.as_deref(), Some(body_of(&answer)));
    assert_eq!(seen.response_digest, blake3::hash(body.as_bytes()).to_hex().to_string());
    assert!(seen.complete);
}

#[tokio::test]
async fn an_echoed_secret_is_found_across_parts() {
    for cut in 1..SECRET.len() {
        let upstream = Upstream::start(move |_, mut line: Line| async move {
            let (head, tail) = SECRET.split_at(cut);
            line.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.ok()?;
            for part in [format!("data: a{head}"), format!("{tail}b\n\n"), "sk-hush".to_owned()] {
                line.write_all(&chunk(part)).await.ok()?;
                line.flush().await.ok()?;
            }
            line.write_all(b"0\r\n\r\n").await.ok()?;
            Some(line)
        })
        .await;
        let served = Setup::injecting().open(&upstream).await;
        let answer = served.ask("GET", "/", "", "").await;
        // Chunk sizes stand between the parts.
        let text: String = body_of(&answer).split("\r\n").skip(1).step_by(2).collect();
        assert_eq!(text, format!("data: a{}b\n\nsk-hush", stars()), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_secret_does_not_hide_in_compression() {
    let packed = gzip(format!("the key is {SECRET}").as_bytes());
    let upstream = Upstream::fixed(reply("200 OK", "content-encoding: gzip\r\n", packed)).await;
    let served = Setup::injecting().open(&upstream).await;
    let answer = served.ask("GET", "/", "", "").await;
    assert!(answer.contains(&format!("the key is {}", stars())), "{answer}");
    assert!(!head_of(&answer).contains("content-encoding"), "{answer}");
    let upstream = Upstream::fixed(reply("200 OK", "content-encoding: br\r\n", "whatever")).await;
    let mut served = Setup::injecting().open(&upstream).await;
    let answer = served.ask("GET", "/", "", "").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(served.seen().await.error_text.unwrap().contains("br"));
}

#[tokio::test]
async fn without_a_secret_not_a_byte_is_altered_and_copies_are_counted() {
    let text = r#"{"type":"message","model":"m","usage":{"input_tokens":3,"output_tokens":4}}"#;
    let packed = gzip(text.as_bytes());
    for (encoding, body, counted) in
        [("gzip", packed.clone(), true), ("br", packed, false), ("identity", text.as_bytes().to_vec(), true)]
    {
        let upstream = Upstream::fixed(reply("200 OK", &format!("content-encoding: {encoding}\r\n"), &body)).await;
        let mut served = Setup::default().open(&upstream).await;
        let mut line = served.connect().await;
        let request = format!("GET {}/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", served.segment());
        line.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut line, &mut answer).await.unwrap();
        assert!(answer.ends_with(&body), "{encoding}");
        let seen = served.seen().await;
        assert_eq!(seen.usage.map(|usage| (usage.input, usage.output)), counted.then_some((3, 4)), "{encoding}");
        assert_eq!(seen.response_bytes, body.len() as u64);
    }
}

#[tokio::test]
async fn a_redirect_is_passed_on_and_not_followed() {
    let other = Upstream::fixed(reply("200 OK", "", "other")).await;
    let location = format!("location: {}\r\n", other.url("/elsewhere"));
    let upstream = Upstream::fixed(reply("307 Temporary Redirect", &location, "")).await;
    let served = Setup::injecting().open(&upstream).await;
    let answer = served.ask("POST", "/v1/x", "", "{}").await;
    assert!(answer.starts_with("HTTP/1.1 307 ") && answer.contains(location.trim()), "{answer}");
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn headers_about_limits_are_kept_and_no_others() {
    let headers = "retry-after: 3\r\nanthropic-ratelimit-requests-remaining: 0\r\nx-ratelimit-reset-tokens: 6m0s\r\nx-codex-primary-used-percent: 5\r\nratelimit: \"a\";r=1\r\nrequest-id: r1\r\nx-should-retry: false\r\nset-cookie: private\r\nx-other: 1\r\n";
    let upstream = Upstream::fixed(reply("429 Too Many Requests", headers, "{\"error\":\"slow\"}")).await;
    let mut served = Setup::default().open(&upstream).await;
    let answer = served.ask("POST", "/v1/x", "", "{}").await;
    assert!(answer.contains("set-cookie: private"), "all of them pass: {answer}");
    let seen = served.seen().await;
    let mut names: Vec<&str> = seen.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "anthropic-ratelimit-requests-remaining",
            "ratelimit",
            "request-id",
            "retry-after",
            "x-codex-primary-used-percent",
            "x-ratelimit-reset-tokens",
            "x-should-retry"
        ]
    );
    assert_eq!((seen.status, seen.error_text.as_deref(), seen.usage), (Some(429), Some("{\"error\":\"slow\"}"), None));
}

#[tokio::test]
async fn the_text_of_an_error_is_kept_up_to_its_cap() {
    let upstream = Upstream::fixed(reply("500 Internal Server Error", "", "é".repeat(10_000))).await;
    let mut served = Setup::default().open(&upstream).await;
    served.ask("GET", "/", "", "").await;
    let text = served.seen().await.error_text.unwrap();
    assert!((8000..=8192).contains(&text.len()), "{}", text.len());
}
