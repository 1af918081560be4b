//! Requests of provider components: sent once, read up to a cap.

use std::time::Duration;

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::time::{Instant, timeout};

use crate::client::HttpClient;
use crate::decode::Decoder;
use crate::error::WireError;
use crate::origin::Target;
use crate::sign::{Signature, sign};

/// Most bytes of a body that are kept, after decompression: no request can ask for more.
pub const RESPONSE_CAP: u64 = 32 << 20;
/// Most bytes of all headers of an answer.
pub(crate) const HEAD_CAP: usize = 256 << 10;
/// Redirects within one origin that are followed.
const REDIRECTS: usize = 3;
/// Headers that the host sets itself: they frame the message, or choose an encoding that it must be able to read.
const OWN_HEADERS: [&str; 9] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// One header of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct OutHeader {
    /// Name.
    pub name: String,
    /// Value, secrets filled in.
    pub value: String,
    /// Whether the value holds a secret: then no debug output shows it, here or in the client.
    pub secret: bool,
}

impl std::fmt::Debug for OutHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = if self.secret { "[secret]" } else { &self.value };
        write!(f, "{}: {value}", self.name)
    }
}

/// A request that was granted.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Method.
    pub method: String,
    /// `https` URL, or `http` where that is allowed.
    pub url: String,
    /// Headers; those that frame the message are refused.
    pub headers: Vec<OutHeader>,
    /// Body.
    pub body: Vec<u8>,
    /// For the whole exchange, redirects and body included.
    pub timeout: Duration,
    /// Whether the answer is a stream of events: then the pauses between its parts are limited, too.
    pub event_stream: bool,
    /// Longest pause in a stream of events, its beginning included; the client's own unless said.
    pub pause: Option<Duration>,
    /// Bytes kept of the body; zero means [`RESPONSE_CAP`], which is also the most.
    pub response_cap: u64,
    /// Signs the request for AWS.
    pub sign: Option<Signature>,
}

/// What was answered. Secrets that the server echoes are still in it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Status.
    pub status: u16,
    /// Headers, names in lower case, values with whatever is not UTF-8 replaced.
    pub headers: Vec<(String, String)>,
    /// Body, decompressed, up to the cap.
    pub body: Vec<u8>,
    /// Bytes that came after the cap. Reading stops when as many were dropped as kept, so it may be less than all.
    pub body_dropped: u64,
    /// Until the head of the answer.
    pub first_byte: Duration,
    /// Until its end.
    pub wall: Duration,
}

impl HttpClient {
    /// Sends a request and reads the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// See [`WireError::kind`]. `cancel` ends the exchange as `interrupted`.
    pub async fn send(&self, request: Outgoing, cancel: impl Future<Output = ()>) -> Result<Incoming, WireError> {
        let target = self.reach().target(&request.url)?;
        let host = target.name();
        let after = request.timeout;
        tokio::select! {
            biased;
            () = cancel => Err(WireError::Interrupted { host }),
            answer = timeout(after, self.follow(&request, target)) => {
                answer.unwrap_or(Err(WireError::Timeout { host, what: "answer", after }))
            }
        }
    }

    /// Follows redirects within the origin, as long as nothing but the address changes.
    async fn follow(&self, request: &Outgoing, mut target: Target) -> Result<Incoming, WireError> {
        let start = Instant::now();
        for _ in 0..=REDIRECTS {
            let asked = build(request, &target)?;
            let response = self.head(request, &target, asked).await?;
            let first_byte = start.elapsed();
            check_head(&target, response.headers())?;
            let Some(next) = redirect(request, &target, &response)? else {
                return self.read(request, &target, response, (start, first_byte)).await;
            };
            target = next;
        }
        Err(WireError::RedirectedTooOften { host: target.name(), most: REDIRECTS })
    }

    /// The head of the answer. A stream that does not begin is as silent as one that stops.
    async fn head(
        &self,
        request: &Outgoing,
        target: &Target,
        asked: reqwest::Request,
    ) -> Result<reqwest::Response, WireError> {
        let exchange = self.exchange(target, asked);
        match request.pause.filter(|_| request.event_stream) {
            None => exchange.await,
            Some(after) => timeout(after, exchange)
                .await
                .unwrap_or_else(|_| Err(WireError::Timeout { host: target.name(), what: "begin its stream", after })),
        }
    }

    async fn read(
        &self,
        request: &Outgoing,
        target: &Target,
        mut response: reqwest::Response,
        (start, first_byte): (Instant, Duration),
    ) -> Result<Incoming, WireError> {
        let encoding = |name: &str| WireError::Encoding { host: target.name(), encoding: name.to_owned() };
        let status = response.status().as_u16();
        let headers = plain_headers(response.headers());
        let named = response.headers().get(CONTENT_ENCODING).map_or(b"".as_slice(), HeaderValue::as_bytes);
        let name = String::from_utf8_lossy(named).trim().to_ascii_lowercase();
        let mut decoder = Decoder::of(&name).ok_or_else(|| encoding(&name))?;
        let mut kept = Kept::up_to(request.response_cap);
        while let Some(part) = self.part(request, target, &mut response).await? {
            decoder.push(&part, &mut |plain| kept.push(plain)).map_err(|_| encoding(&name))?;
            if kept.is_overrun() {
                break;
            }
        }
        if !kept.is_overrun() {
            decoder.finish(&mut |plain| kept.push(plain)).map_err(|_| encoding(&name))?;
        }
        Ok(Incoming {
            status,
            headers,
            body: kept.bytes,
            body_dropped: kept.dropped,
            first_byte,
            wall: start.elapsed(),
        })
    }

    async fn part(
        &self,
        request: &Outgoing,
        target: &Target,
        response: &mut reqwest::Response,
    ) -> Result<Option<bytes::Bytes>, WireError> {
        let next = response.chunk();
        let part = if request.event_stream {
            let after = request.pause.unwrap_or(self.options().idle_timeout);
            timeout(after, next).await.map_err(|_| WireError::Timeout {
                host: target.name(),
                what: "continue its stream",
                after,
            })?
        } else {
            next.await
        };
        part.map_err(|failed| self.explain(target, &failed))
    }
}

fn build(request: &Outgoing, target: &Target) -> Result<reqwest::Request, WireError> {
    let refuse = |reason: String| WireError::Request { host: target.name(), reason };
    let method = Method::from_bytes(request.method.as_bytes())
        .ok()
        .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
        .ok_or_else(|| refuse("its method is none that can be sent".to_owned()))?;
    let mut headers = HeaderMap::new();
    for OutHeader { name, value, secret } in &request.headers {
        let lower = name.to_ascii_lowercase();
        if OWN_HEADERS.contains(&lower.as_str()) {
            return Err(refuse(format!("header `{lower}` is set by the host")));
        }
        let parsed = HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| refuse("it has a header whose name is none".to_owned()))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| refuse(format!("the value of header `{lower}` holds a character that none may hold")))?;
        value.set_sensitive(*secret);
        headers.append(parsed, value);
    }
    if let Some(signature) = &request.sign {
        sign(&method, target, &mut headers, &request.body, signature)
            .map_err(|reason| refuse(format!("it cannot be signed: {reason}")))?;
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let mut asked = reqwest::Request::new(method.clone(), target.url.clone());
    *asked.headers_mut() = headers;
    if !request.body.is_empty() || !matches!(method, Method::GET | Method::HEAD) {
        *asked.body_mut() = Some(request.body.clone().into());
    }
    Ok(asked)
}

fn check_head(target: &Target, headers: &HeaderMap) -> Result<(), WireError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > HEAD_CAP {
        return Err(WireError::HeadTooLarge { host: target.name(), cap: HEAD_CAP });
    }
    Ok(())
}

/// Where a redirect leads, when it may be followed; nothing when the answer is none.
fn redirect(request: &Outgoing, from: &Target, response: &reqwest::Response) -> Result<Option<Target>, WireError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let refuse = |to: &str| WireError::Redirected { host: from.name(), to: to.to_owned() };
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let next = location.and_then(|text| from.url.join(text).ok()).ok_or_else(|| refuse("no readable address"))?;
    let next = Target::of(next).map_err(|_| refuse("an address that cannot be requested"))?;
    if next.url.origin() != from.url.origin() {
        return Err(refuse(&next.name()));
    }
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Err(refuse("another path of its own, which only GET may follow"));
    }
    Ok(Some(next))
}

pub(crate) fn plain_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

/// The start of a body.
struct Kept {
    bytes: Vec<u8>,
    cap: usize,
    dropped: u64,
}

impl Kept {
    fn up_to(cap: u64) -> Self {
        let cap = if cap == 0 { RESPONSE_CAP } else { cap.min(RESPONSE_CAP) };
        Self { bytes: Vec::new(), cap: usize::try_from(cap).unwrap_or(usize::MAX), dropped: 0 }
    }

    fn push(&mut self, part: &[u8]) {
        let take = part.len().min(self.cap - self.bytes.len());
        self.bytes.extend_from_slice(&part[..take]);
        self.dropped = self.dropped.saturating_add((part.len() - take) as u64);
    }

    fn is_overrun(&self) -> bool {
        self.dropped >= self.cap as u64
    }
}
