//! HTTP/2, which most services speak: to the program the gateway is the same.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use super::addresses::{get, send};
use super::program::{Rule, SECRET, Served, TOKEN, meter};
use super::tls::{acceptor, trusting};
use super::upstream::soon;
use crate::gateway::{Gateway, GatewayOptions, Inject};

/// Sends two parts, the second a break where the path asks for one and when the test says so.
async fn answer(
    request: Request<Incoming>,
    now: Arc<Notify>,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = String>>, Infallible> {
    assert_eq!(request.version(), Version::HTTP_2);
    let breaks = request.uri().path() == "/break";
    let echo = request.headers().get("authorization").map_or(String::new(), |value| value.to_str().unwrap().to_owned());
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let last = stream::once(Box::pin(async move {
        if !breaks {
            return Ok(Frame::data(body));
        }
        now.notified().await;
        Err("broken".to_owned())
    }));
    Ok(Response::new(StreamBody::new(stream::iter([Ok(Frame::data(Bytes::from(echo)))]).chain(last))))
}

#[tokio::test]
async fn an_upstream_that_speaks_http2_is_forwarded_to_and_breaks_the_same() {
    let (pem, acceptor) = acceptor(&[b"h2"]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let origin = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let now = Arc::new(Notify::new());
    let said = Arc::clone(&now);
    let mut served = JoinSet::new();
    served.spawn(async move {
        let (line, _) = listener.accept().await.unwrap();
        let line = TokioIo::new(acceptor.accept(line).await.unwrap());
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(line, service_fn(|request| answer(request, Arc::clone(&said))))
            .await;
    });
    let client = trusting(&pem);
    let direct = send(&client, get(&format!("{origin}/x"))).await.unwrap();
    assert_eq!((direct.status, direct.body.len()), (200, 0));
    now.notify_one();
    assert_eq!(send(&client, get(&format!("{origin}/break"))).await.unwrap_err().kind(), "unreachable");
    let (sender, told) = unbounded_channel();
    let inject = Inject { header: "authorization".to_owned(), prefix: "Bearer ".to_owned(), secret: SECRET.to_owned() };
    let options = GatewayOptions {
        client,
        upstream: origin,
        inject: Some(inject),
        meter: meter(Rule::Go, sender),
        token: TOKEN.to_owned(),
        idle_timeout: std::time::Duration::from_secs(20),
    };
    let mut served = Served { gateway: Gateway::open(options).await.unwrap(), told };
    let answer = served.ask("POST", "/x", "", "the body").await;
    let stars = "*".repeat(SECRET.len());
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(&format!("Bearer {stars}")), "{answer}");
    assert!(answer.contains("the body") && answer.ends_with("0\r\n\r\n"), "{answer}");
    assert!(served.seen().await.complete);
    let mut line = served.connect().await;
    let request = format!("GET {}/break HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", served.segment());
    line.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(stars.as_bytes()) {
        answer.push(soon(line.read_u8()).await.unwrap());
    }
    now.notify_one();
    let _ = soon(line.read_to_end(&mut answer)).await;
    assert!(!answer.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&answer));
    let seen = served.seen().await;
    assert!(!seen.complete && seen.error_text.unwrap().contains("broke"));
}
