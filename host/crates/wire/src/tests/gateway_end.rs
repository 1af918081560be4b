//! Ends: of the upstream's stream, of the program, of the gateway. Each is told once, and nothing lingers.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::program::{Rule, Served, Setup, Told};
use super::upstream::{Line, Upstream, chunk, soon};

/// Sends a head and one part, then waits until its line ends, and says so.
async fn hanging(ended: Arc<Notify>) -> Upstream {
    Upstream::start(move |_, mut line: Line| {
        let ended = Arc::clone(&ended);
        async move {
            line.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.ok()?;
            line.write_all(&chunk(
                "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5}}}\n\n",
            ))
            .await
            .ok()?;
            line.flush().await.ok()?;
            let _ = line.read(&mut [0; 8]).await;
            ended.notify_one();
            None
        }
    })
    .await
}

/// A program that has read the first part of its answer.
async fn reading(served: &Served) -> TcpStream {
    let mut line = served.connect().await;
    let request = format!("POST {}/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{{}}", served.segment());
    line.write_all(request.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    while !text.ends_with(b"\n\n\r\n") {
        text.push(soon(line.read_u8()).await.unwrap());
    }
    line
}

/// No account but those that were taken already.
async fn nothing_more(mut served: Served) {
    served.gateway.close().await;
    while let Some(told) = served.told.recv().await {
        assert!(!matches!(told, Told::Seen(_)), "{told:?}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_breaks_for_the_program_too() {
    for head in ["transfer-encoding: chunked", "content-length: 100"] {
        let upstream = Upstream::start(move |_, mut line: Line| async move {
            let part = if head.starts_with('t') { chunk("data: half") } else { b"data: half".to_vec() };
            line.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes()).await.ok()?;
            line.write_all(&part).await.ok()?;
            line.flush().await.ok()?;
            None
        })
        .await;
        let mut served = Setup::injecting().open(&upstream).await;
        let answer = served.ask("GET", "/", "", "").await;
        assert!(answer.contains("data: half") && !answer.contains("\r\n0\r\n"), "{answer}");
        let seen = served.seen().await;
        assert_eq!((seen.status, seen.complete, seen.response_bytes), (Some(200), false, 10));
        assert!(seen.error_text.unwrap().contains("broke"));
        nothing_more(served).await;
    }
}

#[tokio::test]
async fn a_program_that_leaves_ends_the_request_and_is_told_once() {
    let ended = Arc::new(Notify::new());
    let upstream = hanging(Arc::clone(&ended)).await;
    let mut served = Setup::default().open(&upstream).await;
    drop(reading(&served).await);
    let seen = served.seen().await;
    assert_eq!((seen.complete, seen.error_text, seen.status), (false, None, Some(200)));
    assert_eq!(seen.usage.unwrap().input, 5, "what was counted by then counts");
    soon(ended.notified()).await;
    nothing_more(served).await;
}

#[tokio::test]
async fn a_program_that_leaves_while_it_is_held_back_is_forgotten() {
    let upstream = Upstream::fixed("").await;
    let mut served = Setup { rule: Rule::Never, ..Setup::default() }.open(&upstream).await;
    let mut line = served.connect().await;
    let request = format!("GET {}/v1/x HTTP/1.1\r\nhost: x\r\n\r\n", served.segment());
    line.write_all(request.as_bytes()).await.unwrap();
    assert!(matches!(soon(served.told.recv()).await, Some(Told::Asked(_))));
    drop(line);
    assert!(matches!(soon(served.told.recv()).await, Some(Told::Dropped)));
    assert!(upstream.asked().is_empty());
    nothing_more(served).await;
}

#[tokio::test]
async fn a_program_that_leaves_before_the_answer_begins_is_told_once() {
    let (asked, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, gone) = (Arc::clone(&asked), Arc::clone(&left));
    let upstream = Upstream::start(move |_, mut line: Line| {
        let (tell, gone) = (Arc::clone(&tell), Arc::clone(&gone));
        async move {
            tell.notify_one();
            let _ = line.read(&mut [0; 8]).await;
            gone.notify_one();
            None
        }
    })
    .await;
    let mut served = Setup::default().open(&upstream).await;
    let mut line = served.connect().await;
    let request = format!("GET {}/v1/x HTTP/1.1\r\nhost: x\r\n\r\n", served.segment());
    line.write_all(request.as_bytes()).await.unwrap();
    soon(asked.notified()).await;
    drop(line);
    let seen = served.seen().await;
    assert_eq!((seen.status, seen.complete, seen.error_text), (None, false, None));
    soon(left.notified()).await;
    nothing_more(served).await;
}

#[tokio::test]
async fn closing_ends_every_connection_and_tells_of_every_request() {
    let ended = Arc::new(Notify::new());
    let upstream = hanging(Arc::clone(&ended)).await;
    let served = Setup::default().open(&upstream).await;
    let mut streaming = reading(&served).await;
    let mut idle = served.connect().await;
    let port = served.port();
    let Served { gateway, mut told } = served;
    soon(gateway.close()).await;
    let mut seen = 0;
    while let Ok(told) = told.try_recv() {
        if let Told::Seen(account) = told {
            seen += 1;
            assert!(!account.complete);
        }
    }
    assert_eq!(seen, 1);
    // An end or a reset: either way nothing more comes.
    for line in [&mut streaming, &mut idle] {
        assert!(matches!(soon(line.read(&mut [0; 8])).await, Ok(0) | Err(_)));
    }
    soon(ended.notified()).await;
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nothing listens");
}

#[tokio::test]
async fn a_gateway_that_is_dropped_ends_as_well() {
    let ended = Arc::new(Notify::new());
    let upstream = hanging(Arc::clone(&ended)).await;
    let served = Setup::default().open(&upstream).await;
    let mut streaming = reading(&served).await;
    drop(served.gateway);
    assert!(matches!(soon(streaming.read(&mut [0; 8])).await, Ok(0) | Err(_)));
    soon(ended.notified()).await;
}

#[tokio::test]
async fn an_upstream_that_falls_silent_is_given_up() {
    let ended = Arc::new(Notify::new());
    let upstream = hanging(Arc::clone(&ended)).await;
    let mut served = Setup { idle: Duration::from_millis(500), ..Setup::default() }.open(&upstream).await;
    let answer = served.ask("POST", "/v1/messages", "", "{}").await;
    assert!(answer.contains("message_start") && !answer.contains("\r\n0\r\n"), "{answer}");
    assert!(served.seen().await.error_text.unwrap().contains("too long"));
    soon(ended.notified()).await;
}

#[tokio::test]
async fn an_upstream_that_is_not_there_or_never_answers_is_said_in_the_protocols_shape() {
    let upstream = Upstream::start(|_, line| async move {
        std::future::pending::<()>().await;
        Some(line)
    })
    .await;
    let mut served = Setup { idle: Duration::from_millis(500), ..Setup::default() }.open(&upstream).await;
    let answer = served.ask("POST", "/v1/messages", "", "{}").await;
    assert!(answer.starts_with("HTTP/1.1 504 ") && answer.contains("timeout_error"), "{answer}");
    assert_eq!(served.seen().await.status, None);
    drop(upstream);
    let answer = served.ask("POST", "/v1/messages", "", "{}").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("\"type\":\"error\""), "{answer}");
    let seen = served.seen().await;
    assert_eq!((seen.status, seen.complete), (None, false));
    assert!(seen.error_text.unwrap().contains("cannot be reached"));
}
