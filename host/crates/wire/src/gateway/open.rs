//! Opens a gateway, and ends it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::forward::Forward;
use super::key::Key;
use super::meter::Meter;
use super::take::Room;
use crate::client::HttpClient;
use crate::error::WireError;
use crate::mask::Mask;

/// Connections of one program at once; more wait to be taken.
const CONNECTIONS: usize = 256;
/// For the head of a request; a program that is slower has forgotten its connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Before the next try when the system has no place for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A secret that the program does not get.
#[derive(Clone)]
pub struct Inject {
    /// Header that carries it.
    pub header: String,
    /// What stands before it, such as `Bearer `.
    pub prefix: String,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for Inject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inject").field("header", &self.header).finish_non_exhaustive()
    }
}

/// What a gateway is made of.
pub struct GatewayOptions {
    /// Sends what is forwarded.
    pub client: HttpClient,
    /// `https` URL, or `http` where that is allowed; its path comes before that of every request.
    pub upstream: String,
    /// Absent passes the program's own credential through.
    pub inject: Option<Inject>,
    /// Admits and counts.
    pub meter: Arc<dyn Meter>,
    /// At least 128 random bits in letters and digits, of this launch alone.
    pub token: String,
    /// Until the head of an answer, and between its parts. Longer than a model may think in silence.
    pub idle_timeout: Duration,
}

/// Serves a launch at loopback until it is closed or dropped; then every connection ends.
///
/// What passes is not altered, with one exception: where a server echoes the secret that the host put in, the
/// program sees as many stars. So that it can be found, bodies are asked for without compression, and one that is
/// compressed with gzip all the same is passed on unpacked.
pub struct Gateway {
    address: String,
    token: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Gateway {
    /// Listens at a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// The upstream may not be reached or is no plain address, the header to inject is none, or nothing can listen.
    pub async fn open(options: GatewayOptions) -> Result<Self, WireError> {
        let token = options.token.clone();
        let forward = forward(options)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(WireError::Listen)?;
        let port = listener.local_addr().map_err(WireError::Listen)?.port();
        let address = format!("http://127.0.0.1:{port}/{}", forward.key.segment());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(serve(listener, Arc::new(forward), stopped));
        Ok(Self { address, token, stop, served })
    }

    /// Base URL for the program, without a slash at its end. Whoever has it may use the gateway.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the program takes for its key.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Ends every connection and waits until the meter has been told of every request.
    pub async fn close(self) {
        drop(self.stop);
        // A panic of the meter's has been reported where it happened.
        let _ = self.served.await;
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

fn forward(options: GatewayOptions) -> Result<Forward, WireError> {
    let upstream = options.client.reach().target(&options.upstream)?;
    if upstream.url.query().is_some() || upstream.url.fragment().is_some() {
        return Err(WireError::Address { reason: "an upstream has no query and no fragment" });
    }
    let mask = options.inject.as_ref().map_or_else(Mask::default, |inject| Mask::of(&inject.secret));
    let inject = options.inject.as_ref().map(|inject| injected(inject, &upstream.name())).transpose()?;
    Ok(Forward {
        key: Key::of(options.token, inject.is_some()),
        client: options.client,
        upstream,
        inject,
        mask,
        meter: options.meter,
        idle: options.idle_timeout,
        room: Room::default(),
    })
}

fn injected(inject: &Inject, host: &str) -> Result<(HeaderName, HeaderValue), WireError> {
    let refuse = |reason: &str| WireError::Request { host: host.to_owned(), reason: reason.to_owned() };
    let name = HeaderName::from_bytes(inject.header.to_ascii_lowercase().as_bytes())
        .map_err(|_| refuse("the header for the secret is none"))?;
    let mut value = HeaderValue::from_str(&format!("{}{}", inject.prefix, inject.secret.trim()))
        .map_err(|_| refuse("the secret holds a character that no header may hold"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

async fn serve(listener: TcpListener, forward: Arc<Forward>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&forward)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves one connection. Its errors are the program's own doing, or have been told to the meter.
async fn converse(stream: TcpStream, forward: Arc<Forward>) {
    // Without it small events would wait for each other; where it cannot be set they do.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let forward = Arc::clone(&forward);
        async move { Ok::<_, Infallible>(forward.serve(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = served.await;
}
