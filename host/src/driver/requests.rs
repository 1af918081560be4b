//! What a launch sends: requests of its component, and the gateway through which its program sends its own.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use assize_core::grant::GrantKind;
use assize_core::plugin::{EffectEvent, Failure, Gateway as WantedGateway, Responded, SendRequest};
use assize_core::result::ReviewerKind;
use assize_wire::{
    Gateway, GatewayOptions, Incoming, Inject, Meter, OutHeader, Outgoing, RequestAsk, RequestSeen, Signature, Verdict,
    WireError, count_usage, host_of,
};
use tokio::time::Instant;

use super::effects::Stage;
use super::values::Values;
use crate::clock;
use crate::launch::{GatewayPlace, Redactor, Urgency};

/// Bytes kept of one response at most.
const RESPONSE_CAP: u64 = 32 << 20;
/// Silence of an upstream after which the gateway gives up.
const GATEWAY_IDLE: Duration = Duration::from_secs(300);
/// Bytes of an error's text that limits are read from.
const ERROR_TEXT: usize = 8 << 10;

impl Stage {
    /// Sends one request and gives its response, without the secrets that went with it.
    pub(super) async fn send(&mut self, wish: SendRequest) -> Result<EffectEvent, Failure> {
        self.saw(ReviewerKind::Model);
        let host = host_of(&wish.url).map_err(|error| failure(&error))?;
        let mut secrets = Vec::new();
        let outgoing = self.outgoing(&wish, &host.host, &mut secrets).await?;
        let ask = ask_of(&wish);
        let cancel = self.cancel.clone();
        let mut stopped = std::pin::pin!(async move { cancel.reached(Urgency::Soft).await });
        let verdict = tokio::select! {
            verdict = self.meter.admit(ask) => verdict,
            () = &mut stopped => return Err(Failure::new("interrupted", "the run was interrupted")),
            () = tokio::time::sleep_until(self.deadline) => {
                return Err(Failure::new("timeout", "the request had no turn before the launch's deadline"));
            }
        };
        let ticket = match verdict {
            Verdict::Go(ticket) => ticket,
            Verdict::Refuse { retry_after_ms, message } => return Ok(refusal(retry_after_ms, &message)),
        };
        let sent = self.http.send(outgoing, stopped).await;
        self.meter.saw(seen_of(ticket, &wish, &host.to_string(), &sent, &secrets));
        let incoming = sent.map_err(|error| failure(&error))?;
        Ok(EffectEvent::Responded(responded(incoming, &secrets)))
    }

    async fn outgoing(&self, wish: &SendRequest, host: &str, secrets: &mut Vec<String>) -> Result<Outgoing, Failure> {
        let values = self.values();
        let headers = values.resolve(&wish.headers, Some(host), secrets).await?;
        let headers = headers.into_iter().map(|header| OutHeader {
            name: header.name,
            value: header.value,
            secret: header.secret,
        });
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(Outgoing {
            method: wish.method.clone(),
            url: wish.url.clone(),
            headers: headers.collect(),
            body: wish.body.clone(),
            // What a plugin limits of a stream is its silence; the launch's deadline limits the whole.
            timeout: if wish.event_stream { left } else { left.min(Duration::from_millis(wish.timeout_ms)) },
            event_stream: wish.event_stream,
            pause: wish.event_stream.then(|| left.min(Duration::from_millis(wish.timeout_ms))),
            response_cap: RESPONSE_CAP,
            sign: signature(&values, wish, host, secrets).await?,
        })
    }

    /// Opens the gateway that a program asks for, and notes its place.
    pub(super) async fn open_gateway(
        &mut self,
        wish: &WantedGateway,
        secrets: &mut Vec<String>,
    ) -> Result<Gateway, Failure> {
        let upstream = self.upstream(wish);
        let host = host_of(&upstream).map_err(|error| failure(&error))?;
        let extra = |name: &str| wish.extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let inject = match &wish.secret {
            Some(name) => {
                let secret = self.values().secret(name, Some(&host.host), secrets).await?;
                let header = extra("secret-header").unwrap_or_else(|| "authorization".to_owned());
                let bearer = if header.eq_ignore_ascii_case("authorization") { "Bearer " } else { "" };
                let prefix = extra("secret-prefix").unwrap_or_else(|| bearer.to_owned());
                Some(Inject { header, prefix, secret })
            }
            None => None,
        };
        let token = random_token().ok_or_else(|| Failure::new("spawn", "the system gives no random numbers"))?;
        let options = GatewayOptions {
            client: self.http.clone(),
            upstream,
            inject,
            meter: self.meter.clone() as Arc<dyn Meter>,
            token,
            idle_timeout: GATEWAY_IDLE,
        };
        let gateway = Gateway::open(options).await.map_err(|error| failure(&error))?;
        let (address, token) = (gateway.address().to_owned(), gateway.token().to_owned());
        // Programs print their address in errors; what makes it this launch's alone has no place in messages and logs.
        secrets.extend(address.rsplit('/').next().map(str::to_owned));
        secrets.push(token.clone());
        self.places.gateway = Some(GatewayPlace { address, token });
        Ok(gateway)
    }

    /// The upstream, or the address that the user's own environment names in its place.
    fn upstream(&self, wish: &WantedGateway) -> String {
        let variable = wish.extra.iter().find(|(key, _)| key == "upstream-variable").map(|(_, value)| value);
        let named = variable
            .filter(|variable| self.grants.allows(GrantKind::Secret, variable))
            .and_then(|variable| self.environment.get(variable));
        named.unwrap_or(&wish.upstream).to_owned()
    }
}

/// What a request asks for, read from its body as the gateway does.
fn ask_of(wish: &SendRequest) -> RequestAsk {
    RequestAsk::of(&wish.method, path_of(&wish.url), &wish.body)
}

/// The path of a URL without its query, which may hold a key.
fn path_of(url: &str) -> &str {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.find('/').map_or("/", |at| &path[at..]);
    path.split(['?', '#']).next().unwrap_or("/")
}

async fn signature(
    values: &Values<'_>,
    wish: &SendRequest,
    host: &str,
    secrets: &mut Vec<String>,
) -> Result<Option<Signature>, Failure> {
    let extra = |name: &str| wish.extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    match extra("sign").as_deref() {
        None => Ok(None),
        Some("aws-sigv4") => {
            let missing = |what: &str| Failure::new("invalid", format!("a request that is signed needs `{what}`"));
            let key_id = values.secret("AWS_ACCESS_KEY_ID", Some(host), secrets).await?;
            let secret = values.secret("AWS_SECRET_ACCESS_KEY", Some(host), secrets).await?;
            // A key that was not lent for a session has no token.
            let session_token = values.secret("AWS_SESSION_TOKEN", Some(host), secrets).await.ok();
            Ok(Some(Signature {
                region: extra("sign-region").ok_or_else(|| missing("sign-region"))?,
                service: extra("sign-service").ok_or_else(|| missing("sign-service"))?,
                key_id,
                secret,
                session_token,
                now_ms: clock::now_ms(),
            }))
        }
        Some(other) => Err(Failure::new("unsupported", format!("requests cannot be signed by {other:?}"))),
    }
}

/// A request that found no room in the windows is answered as the service itself would.
fn refusal(retry_after_ms: u64, message: &str) -> EffectEvent {
    let body = serde_json::json!({"type": "error", "error": {"type": "rate_limit_error", "message": message}});
    EffectEvent::Responded(Responded {
        status: 429,
        headers: vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("retry-after".to_owned(), retry_after_ms.div_ceil(1_000).to_string()),
        ],
        body: body.to_string().into_bytes(),
        body_dropped: 0,
        received_at_ms: clock::now_ms(),
        extra: Vec::new(),
    })
}

fn responded(incoming: Incoming, secrets: &[String]) -> Responded {
    let redactor = Redactor::new(secrets);
    Responded {
        status: incoming.status,
        headers: incoming.headers.into_iter().map(|(name, value)| (name, redactor.redact_text(&value))).collect(),
        body: redactor.redact(&incoming.body),
        body_dropped: incoming.body_dropped,
        received_at_ms: clock::now_ms(),
        extra: Vec::new(),
    }
}

/// What the ledger and the windows are told of a request.
fn seen_of(
    ticket: u64,
    wish: &SendRequest,
    host: &str,
    sent: &Result<Incoming, WireError>,
    secrets: &[String],
) -> RequestSeen {
    let redactor = Redactor::new(secrets);
    let mut seen = RequestSeen {
        ticket,
        method: wish.method.clone(),
        host: host.to_owned(),
        path: path_of(&wish.url).to_owned(),
        request_bytes: wish.body.len() as u64,
        request_digest: blake3::hash(&wish.body).to_hex().to_string(),
        ..RequestSeen::default()
    };
    match sent {
        Ok(incoming) => {
            let counted = count_usage(&incoming.body);
            seen.status = Some(incoming.status);
            seen.headers =
                incoming.headers.iter().map(|(name, value)| (name.clone(), redactor.redact_text(value))).collect();
            seen.response_bytes = incoming.body.len() as u64 + incoming.body_dropped;
            seen.response_digest = blake3::hash(&incoming.body).to_hex().to_string();
            seen.first_byte_ms = Some(millis(incoming.first_byte));
            seen.wall_ms = millis(incoming.wall);
            seen.complete = incoming.body_dropped == 0;
            seen.usage = counted.usage;
            seen.estimated_output_tokens = counted.estimated_output_tokens;
            seen.stop = counted.stop;
            seen.error_text = counted.error_text.map(|text| redactor.redact_text(&text));
            if incoming.status >= 400 {
                let text = String::from_utf8_lossy(&incoming.body);
                let end = text.floor_char_boundary(ERROR_TEXT);
                seen.error_text = Some(redactor.redact_text(&text[..end]));
            }
        }
        Err(error) => seen.error_text = Some(error.to_string()),
    }
    seen
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn failure(error: &WireError) -> Failure {
    Failure::new(error.kind(), error.to_string())
}

/// Two hundred and fifty-six random bits as hexadecimal digits.
fn random_token() -> Option<String> {
    use std::io::Read as _;
    let mut bytes = [0_u8; 32];
    std::fs::File::open("/dev/urandom").ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A gateway is closed on every way out, and everything that passed it has been told by then.
pub(super) async fn with_gateway<T>(gateway: Option<Gateway>, work: impl Future<Output = T>) -> T {
    let out = work.await;
    if let Some(gateway) = gateway {
        gateway.close().await;
    }
    out
}
