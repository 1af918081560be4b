//! Servers of tests: raw TCP, so that they can break every rule.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A connection, plain or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}
pub(super) type Line = Box<dyn Duplex>;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

type Answer = Arc<dyn Fn(Asked, Line) -> BoxFuture<'static, Option<Line>> + Send + Sync>;

/// Serves until it is dropped. The answer gets the line and gives it back to keep it alive.
pub(super) struct Upstream {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    _served: JoinSet<()>,
}

impl Upstream {
    pub async fn start<F, R>(answer: F) -> Self
    where
        F: Fn(Asked, Line) -> R + Send + Sync + 'static,
        R: Future<Output = Option<Line>> + Send + 'static,
    {
        Self::start_with(answer, None).await
    }

    pub async fn start_with<F, R>(answer: F, tls: Option<tokio_rustls::TlsAcceptor>) -> Self
    where
        F: Fn(Asked, Line) -> R + Send + Sync + 'static,
        R: Future<Output = Option<Line>> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let answer: Answer = Arc::new(move |request, line| Box::pin(answer(request, line)));
        let seen = Arc::clone(&asked);
        let mut served = JoinSet::new();
        served.spawn(async move {
            let mut lines = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (seen, answer, tls) = (Arc::clone(&seen), Arc::clone(&answer), tls.clone());
                lines.spawn(async move {
                    let line: Line = match tls {
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                        None => Box::new(stream),
                    };
                    converse(line, seen, answer).await;
                });
            }
        });
        Self { port, asked, _served: served }
    }

    /// Answers every request with these bytes and keeps the line.
    pub async fn fixed(reply: impl Into<Vec<u8>>) -> Self {
        let reply: Arc<Vec<u8>> = Arc::new(reply.into());
        Self::start(move |_, mut line| {
            let reply = Arc::clone(&reply);
            async move {
                line.write_all(&reply).await.ok()?;
                Some(line)
            }
        })
        .await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn converse(mut line: Line, seen: Arc<Mutex<Vec<Asked>>>, answer: Answer) {
    loop {
        let Some(request) = read_request(&mut line).await else { return };
        seen.lock().unwrap().push(request.clone());
        match answer(request, line).await {
            Some(kept) => line = kept,
            None => return,
        }
    }
}

async fn read_request(line: &mut Line) -> Option<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(line.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut asked = Asked { method, target, headers, body: Vec::new() };
    let length = asked.header("content-length").map_or(0, |value| value.parse().unwrap());
    asked.body = vec![0; length];
    line.read_exact(&mut asked.body).await.ok()?;
    Some(asked)
}

/// A reply with a length.
pub(super) fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// One part of a chunked body.
pub(super) fn chunk(part: impl AsRef<[u8]>) -> Vec<u8> {
    let part = part.as_ref();
    [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat()
}

/// Fails a test that would wait for ever.
pub(super) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it ends soon")
}
