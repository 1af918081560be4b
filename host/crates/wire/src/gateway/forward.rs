//! One request of a program: who asks, for what, whether it may go, and the answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use url::Url;

use super::ask::ask;
use super::key::{CREDENTIALS, Key};
use super::meter::{Meter, Refused, RequestSeen, Verdict};
use super::refusal::{hold_back, refuse};
use super::relay::{Reading, Relay};
use super::take::{Room, Turned, read_body, said_length};
use super::watch::Watch;
use crate::client::HttpClient;
use crate::decode::Decoder;
use crate::error::WireError;
use crate::mask::Mask;
use crate::origin::Target;

/// Headers that are about one connection only. `trailer` stays: it announces what is passed on.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// An answer of the gateway's own, or one on its way.
pub(super) type Answer = Response<Either<Full<Bytes>, Relay>>;

/// What every connection of a gateway shares.
pub(super) struct Forward {
    pub client: HttpClient,
    /// Without a slash at its end, and without a query.
    pub upstream: Target,
    /// Header, and its whole value.
    pub inject: Option<(HeaderName, HeaderValue)>,
    pub mask: Mask,
    pub meter: Arc<dyn Meter>,
    pub key: Key,
    pub idle: Duration,
    pub room: Room,
}

impl Forward {
    /// Answers a request, whatever it is.
    pub async fn serve(&self, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        // Held until the head of the answer is there, since until then the body is.
        let mut _place = None;
        let ready = match self.admit_target(&parts) {
            Ok(target) => {
                _place = self.room.take(&parts.headers).await;
                read_body(&parts, body).await.map(|body| (target, body))
            }
            Err(turned) => Err(turned),
        };
        match ready {
            Ok((target, body)) => self.pass(parts, target, body).await,
            Err(Turned { status, reason, message }) => {
                let method = parts.method.as_str().chars().take(32).collect();
                self.meter.refused(Refused { method, status: status.as_u16(), reason });
                refuse(status, parts.uri.path(), message).map(Either::Left)
            }
        }
    }

    /// The one upstream is reached whatever host the program names: only path and query of its request are read.
    fn admit_target(&self, parts: &Parts) -> Result<Target, Turned> {
        let turned = |status, reason, message| Turned { status, reason, message };
        if parts.method == Method::CONNECT {
            return Err(turned(
                StatusCode::NOT_IMPLEMENTED,
                "connect",
                "the gateway is no proxy; use it as the base URL",
            ));
        }
        let query = parts.uri.query();
        let Some(path) = self.key.open(parts.uri.path(), query, &parts.headers) else {
            let message = "the gateway does not know this caller; use the address that the launch was given";
            return Err(turned(StatusCode::FORBIDDEN, "token", message));
        };
        if parts.headers.get_all(UPGRADE).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket")) {
            let message = "the gateway carries no WebSocket; use plain requests";
            return Err(turned(StatusCode::UPGRADE_REQUIRED, "upgrade", message));
        }
        let message = "the path leads out of the upstream";
        self.target(path, query).ok_or(turned(StatusCode::BAD_REQUEST, "target", message))
    }

    fn target(&self, path: &str, query: Option<&str>) -> Option<Target> {
        let base = self.upstream.url.as_str().trim_end_matches('/');
        let query = query.map(|query| if self.inject.is_some() { self.key.strip(query) } else { query.to_owned() });
        let query = query.filter(|query| !query.is_empty()).map_or_else(String::new, |query| format!("?{query}"));
        if !path.is_empty() && !path.starts_with('/') {
            return None;
        }
        let url = Url::parse(&format!("{base}{path}{query}")).ok()?;
        // Dots in the path are resolved by now: it may have climbed.
        let under = self.upstream.url.path().trim_end_matches('/');
        let inside = url.path().strip_prefix(under).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let same = url.origin() == self.upstream.url.origin() && inside;
        same.then_some(Target { url, host: self.upstream.host.clone(), port: self.upstream.port })
    }

    async fn pass(&self, parts: Parts, target: Target, body: Bytes) -> Answer {
        let path = target.url.path();
        let asked = ask(parts.method.as_str(), path, &body);
        let request_bytes = asked.request_bytes;
        let ticket = match self.meter.admit(asked).await {
            Verdict::Go(ticket) => ticket,
            Verdict::Refuse { retry_after_ms, message } => {
                return hold_back(path, &message, retry_after_ms).map(Either::Left);
            }
        };
        let watch = Watch::start(
            Arc::clone(&self.meter),
            self.mask.clone(),
            RequestSeen {
                ticket,
                method: parts.method.as_str().to_owned(),
                host: target.name(),
                path: path.to_owned(),
                request_bytes,
                request_digest: blake3::hash(&body).to_hex().to_string(),
                ..RequestSeen::default()
            },
        );
        self.exchange(&parts, &target, body, watch).await
    }

    async fn exchange(&self, parts: &Parts, target: &Target, body: Bytes, mut watch: Watch) -> Answer {
        let mut request = reqwest::Request::new(parts.method.clone(), target.url.clone());
        *request.headers_mut() = self.outgoing(&parts.headers);
        if !body.is_empty() || parts.headers.contains_key(CONTENT_LENGTH) {
            *request.body_mut() = Some(body.into());
        }
        let head = tokio::time::timeout(self.idle, self.client.exchange(target, request)).await;
        let late = || WireError::Timeout { host: target.name(), what: "begin to answer", after: self.idle };
        match head.unwrap_or_else(|_| Err(late())) {
            Ok(response) => self.relay(&parts.method, target, response, watch),
            Err(failed) => {
                watch.fail(&failed.to_string());
                unreachable(target, &failed)
            }
        }
    }

    /// The program's headers without those of its connection, and with the secret in place of its token.
    fn outgoing(&self, from: &HeaderMap) -> HeaderMap {
        let mut headers = end_to_end(from);
        for name in [HOST, CONTENT_LENGTH, http::header::EXPECT] {
            headers.remove(name);
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some((name, value)) = &self.inject {
            for name in CREDENTIALS {
                headers.remove(name);
            }
            headers.insert(name.clone(), value.clone());
        }
        headers
    }

    fn relay(&self, method: &Method, target: &Target, response: reqwest::Response, mut watch: Watch) -> Answer {
        let response: Response<reqwest::Body> = response.into();
        let (parts, body) = response.into_parts();
        watch.head(parts.status, &parts.headers);
        let named = parts.headers.get(CONTENT_ENCODING).map_or(b"".as_slice(), HeaderValue::as_bytes);
        let encoding = String::from_utf8_lossy(named).trim().to_ascii_lowercase();
        let decoder = Decoder::of(&encoding);
        let mask = self.mask.stream();
        if decoder.is_none() && !mask.is_idle() {
            let failed = WireError::Encoding { host: target.name(), encoding };
            watch.fail(&failed.to_string());
            return unreachable(target, &failed);
        }
        let rewrite = !mask.is_idle() && matches!(decoder, Some(Decoder::Gzip(_)));
        let expected = said_length(&parts.headers);
        let empty = *method == Method::HEAD || expected == Some(0);
        let reading = Reading { decoder, rewrite, mask };
        let mut answer = Response::new(Either::Right(Relay::new(body, expected, empty, reading, watch, self.idle)));
        *answer.status_mut() = parts.status;
        *answer.headers_mut() = self.incoming(&parts.headers, rewrite);
        answer
    }

    /// The upstream's headers without those of its connection, and with the secret hidden.
    fn incoming(&self, from: &HeaderMap, rewrite: bool) -> HeaderMap {
        let mut headers = end_to_end(from);
        if rewrite {
            headers.remove(CONTENT_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        for value in headers.values_mut() {
            let clean = self.mask.hide(value.as_bytes());
            if clean != value.as_bytes() {
                // Stars are valid in a value, so the replacement never fails.
                *value = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static("*"));
            }
        }
        headers
    }
}

fn unreachable(target: &Target, failed: &WireError) -> Answer {
    let status = if failed.kind() == "timeout" { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    refuse(status, target.url.path(), &failed.to_string()).map(Either::Left)
}

/// Without the headers of one connection, those that `connection` names included.
fn end_to_end(from: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = from
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut headers = HeaderMap::new();
    for (name, value) in from {
        if !HOP_BY_HOP.contains(&name.as_str()) && !named.iter().any(|named| named == name.as_str()) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}
