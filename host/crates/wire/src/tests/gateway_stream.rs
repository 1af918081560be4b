//! Streams: each part at once, counted as it passes, many at a time.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

use super::program::{Served, Setup, body_of};
use super::upstream::{Line, Upstream, chunk, reply, soon};

/// Sends a part whenever it is allowed one, and notes when.
async fn stepping(steps: Arc<Semaphore>, sent: Arc<Mutex<Instant>>, parts: usize) -> Upstream {
    Upstream::start(move |_, mut line: Line| {
        let (steps, sent) = (Arc::clone(&steps), Arc::clone(&sent));
        async move {
            line.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
                .await
                .ok()?;
            for part in 0..parts {
                steps.acquire().await.unwrap().forget();
                *sent.lock().await = Instant::now();
                line.write_all(&chunk(format!("data: {part}\n\n"))).await.ok()?;
                line.flush().await.ok()?;
            }
            line.write_all(b"0\r\n\r\n").await.ok()?;
            Some(line)
        }
    })
    .await
}

async fn start(served: &Served) -> TcpStream {
    let mut line = served.connect().await;
    let request = format!("GET {}/s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", served.segment());
    line.write_all(request.as_bytes()).await.unwrap();
    line
}

async fn read_until(line: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        text.push(char::from(soon(line.read_u8()).await.unwrap()));
    }
    text
}

/// The next part is sent only when the last has arrived, so one that is kept back fails the test by waiting for ever.
#[tokio::test]
async fn every_part_passes_at_once() {
    for setup in [Setup::default(), Setup::injecting()] {
        let steps = Arc::new(Semaphore::new(0));
        let sent = Arc::new(Mutex::new(Instant::now()));
        let upstream = stepping(Arc::clone(&steps), Arc::clone(&sent), 20).await;
        let mut served = setup.open(&upstream).await;
        let mut line = start(&served).await;
        read_until(&mut line, "\r\n\r\n").await;
        let mut fastest = Duration::MAX;
        for part in 0..20 {
            steps.add_permits(1);
            read_until(&mut line, &format!("data: {part}\n\n")).await;
            fastest = fastest.min(sent.lock().await.elapsed());
        }
        assert!(fastest < Duration::from_millis(20), "{fastest:?}");
        read_until(&mut line, "0\r\n\r\n").await;
        let seen = served.seen().await;
        assert!(seen.complete && seen.first_byte_ms <= Some(seen.wall_ms));
    }
}

#[tokio::test]
async fn streams_of_every_protocol_are_counted_as_they_pass() {
    let stream = |text: &str| {
        let parts: Vec<u8> = text.as_bytes().chunks(3).flat_map(chunk).collect();
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), parts, b"0\r\n\r\n".to_vec()].concat()
    };
    for (text, counted, stop) in [
        (
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            (1, 2),
            "end_turn",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
            (3, 4),
            "stop",
        ),
        (
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":6}}}\n\n",
            (5, 6),
            "completed",
        ),
        (
            "[{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":8}}]",
            (7, 8),
            "STOP",
        ),
    ] {
        let upstream = Upstream::fixed(stream(text)).await;
        let mut served = Setup::injecting().open(&upstream).await;
        served.ask("POST", "/v1/x", "", "{}").await;
        let seen = served.seen().await;
        let usage = seen.usage.unwrap();
        assert_eq!(((usage.input, usage.output), seen.stop.as_deref()), (counted, Some(stop)), "{text}");
        assert_eq!((seen.response_bytes, usage.requests), (text.len() as u64, 1));
    }
}

#[tokio::test]
async fn an_error_inside_a_good_answer_is_told() {
    let text =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let upstream = Upstream::fixed(reply("200 OK", "content-type: text/event-stream\r\n", text)).await;
    let mut served = Setup::default().open(&upstream).await;
    let answer = served.ask("POST", "/v1/messages", "", "{}").await;
    assert_eq!(body_of(&answer), text);
    let seen = served.seen().await;
    assert_eq!((seen.status, seen.stop.as_deref()), (Some(200), Some("overloaded_error")));
    assert!(seen.error_text.unwrap().contains("busy") && seen.complete);
}

#[tokio::test]
async fn sixty_four_requests_pass_side_by_side() {
    // Each waits at the upstream until all are there.
    let all = Arc::new(tokio::sync::Barrier::new(64));
    let upstream = Upstream::start(move |asked, mut line: Line| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            line.write_all(&reply("200 OK", "", &asked.body)).await.ok()?;
            Some(line)
        }
    })
    .await;
    let mut served = Setup::injecting().open(&upstream).await;
    let (port, segment) = (served.port(), served.segment());
    let mut programs = JoinSet::new();
    for number in 0..64 {
        let segment = segment.clone();
        programs.spawn(async move {
            let body = format!("request {number}");
            let mut line = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let length = body.len();
            let request = format!(
                "POST {segment}/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            line.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            line.read_to_string(&mut answer).await.unwrap();
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        });
    }
    soon(programs.join_all()).await;
    for _ in 0..64 {
        assert!(served.seen().await.complete);
    }
}

#[tokio::test]
async fn trailers_pass_to_a_program_that_takes_them() {
    let bytes = [
        b"HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
        chunk("body"),
        b"0\r\nx-sum: 9\r\n\r\n".to_vec(),
    ]
    .concat();
    let upstream = Upstream::fixed(bytes).await;
    let mut served = Setup::default().open(&upstream).await;
    let answer = served.ask("GET", "/", "te: trailers\r\n", "").await;
    assert!(answer.ends_with("0\r\nx-sum: 9\r\n\r\n"), "{answer}");
    assert!(served.seen().await.complete);
}
