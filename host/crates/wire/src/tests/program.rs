//! The program's side of a gateway, and a meter that remembers.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::addresses::local_client;
use super::upstream::{Upstream, soon};
use crate::gateway::{Gateway, GatewayOptions, Inject, Meter, Refused, RequestAsk, RequestSeen, Verdict};

pub(super) const TOKEN: &str = "t0ken-of-the-launch";
pub(super) const SECRET: &str = "sk-hush-hush-0001";

/// What a meter was told.
#[derive(Debug)]
pub(super) enum Told {
    Asked(RequestAsk),
    Seen(Box<RequestSeen>),
    Refused(Refused),
    /// An admission that waited was dropped.
    Dropped,
}

/// How a meter decides.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    Go,
    Refuse(u64),
    Never,
}

struct Remembering {
    rule: Rule,
    told: UnboundedSender<Told>,
}

pub(super) fn meter(rule: Rule, told: UnboundedSender<Told>) -> Arc<dyn Meter> {
    Arc::new(Remembering { rule, told })
}

struct TellsItsDrop(UnboundedSender<Told>);

impl Drop for TellsItsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(Told::Dropped);
    }
}

impl Meter for Remembering {
    fn admit(&self, ask: RequestAsk) -> BoxFuture<'_, Verdict> {
        let _ = self.told.send(Told::Asked(ask));
        match self.rule {
            Rule::Go => Box::pin(std::future::ready(Verdict::Go(7))),
            Rule::Refuse(retry_after_ms) => {
                Box::pin(std::future::ready(Verdict::Refuse { retry_after_ms, message: "window spent".to_owned() }))
            }
            Rule::Never => {
                let drops = TellsItsDrop(self.told.clone());
                Box::pin(async move {
                    let _kept = drops;
                    std::future::pending().await
                })
            }
        }
    }

    fn saw(&self, seen: RequestSeen) {
        let _ = self.told.send(Told::Seen(Box::new(seen)));
    }

    fn refused(&self, refused: Refused) {
        let _ = self.told.send(Told::Refused(refused));
    }
}

/// A gateway with its meter's memory.
pub(super) struct Served {
    pub gateway: Gateway,
    pub told: UnboundedReceiver<Told>,
}

pub(super) struct Setup {
    pub path: &'static str,
    pub inject: Option<Inject>,
    pub rule: Rule,
    pub idle: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self { path: "", inject: None, rule: Rule::Go, idle: Duration::from_secs(20) }
    }
}

impl Setup {
    pub fn injecting() -> Self {
        let inject =
            Inject { header: "Authorization".to_owned(), prefix: "Bearer ".to_owned(), secret: SECRET.to_owned() };
        Self { inject: Some(inject), ..Self::default() }
    }

    pub async fn open(self, upstream: &Upstream) -> Served {
        let (sender, told) = unbounded_channel();
        let options = GatewayOptions {
            client: local_client(),
            upstream: upstream.url(self.path),
            inject: self.inject,
            meter: meter(self.rule, sender),
            token: TOKEN.to_owned(),
            idle_timeout: self.idle,
        };
        Served { gateway: Gateway::open(options).await.unwrap(), told }
    }
}

impl Served {
    /// The next account, past the questions before it.
    pub async fn seen(&mut self) -> RequestSeen {
        loop {
            match soon(self.told.recv()).await.unwrap() {
                Told::Seen(seen) => return *seen,
                Told::Asked(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn port(&self) -> u16 {
        let rest = self.gateway.address().strip_prefix("http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// The path that authorises.
    pub fn segment(&self) -> String {
        let address = self.gateway.address();
        address[address.rfind('/').unwrap()..].to_owned()
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port())).await.unwrap()
    }

    /// Sends these bytes and gives all that comes until the gateway hangs up.
    pub async fn raw(&self, request: &str) -> String {
        let mut line = self.connect().await;
        line.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A broken answer may end with a reset, which is an end, too.
        let _ = soon(line.read_to_end(&mut answer)).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request that asks to hang up after the answer; the target starts behind the segment.
    pub async fn ask(&self, method: &str, target: &str, headers: &str, body: &str) -> String {
        let segment = self.segment();
        let length = body.len();
        self.raw(&format!(
            "{method} {segment}{target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }
}

pub(super) fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

pub(super) fn head_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().0
}
