//! The account of one request, delivered once whatever happens.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use super::meter::{Meter, RequestSeen};
use crate::mask::Mask;
use crate::usage::{UsageCounter, capped};

/// Bytes kept of the text of an error.
const ERROR_CAP: usize = 8 << 10;
/// Headers kept, and bytes of each.
const HEADERS_KEPT: usize = 64;
const HEADER_CAP: usize = 1024;

/// Headers about limits, and those by which the service finds a request again.
const ABOUT_LIMITS: [&str; 8] =
    ["retry-after", "x-ratelimit", "x-rate-limit", "ratelimit", "anthropic-", "x-codex-", "x-endpoint-", "x-trial-"];
const NAMED: [&str; 9] = [
    "date",
    "request-id",
    "x-amzn-errortype",
    "x-amzn-requestid",
    "x-error-message",
    "x-ms-error-code",
    "x-request-id",
    "x-should-retry",
    "x-ms-request-id",
];

/// Tells the meter when it is finished, and otherwise when it is dropped.
pub(super) struct Watch {
    meter: Arc<dyn Meter>,
    /// Absent once delivered.
    seen: Option<RequestSeen>,
    start: Instant,
    digest: blake3::Hasher,
    counter: UsageCounter,
    error: Vec<u8>,
    mask: Mask,
}

impl Watch {
    pub fn start(meter: Arc<dyn Meter>, mask: Mask, seen: RequestSeen) -> Self {
        Self {
            meter,
            seen: Some(seen),
            start: Instant::now(),
            digest: blake3::Hasher::new(),
            counter: UsageCounter::default(),
            error: Vec::new(),
            mask,
        }
    }

    /// The head of the answer.
    pub fn head(&mut self, status: StatusCode, headers: &HeaderMap) {
        let headers = headers
            .iter()
            .filter(|(name, _)| is_kept(name.as_str()))
            .take(HEADERS_KEPT)
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(&self.mask.hide(value.as_bytes())).into_owned();
                (name.as_str().to_owned(), capped(&value, HEADER_CAP))
            })
            .collect();
        let first_byte = millis(self.start.elapsed());
        if let Some(seen) = &mut self.seen {
            (seen.status, seen.headers, seen.first_byte_ms) = (Some(status.as_u16()), headers, Some(first_byte));
        }
    }

    /// A part of the body, as the upstream sent it.
    pub fn took(&mut self, part: &[u8]) {
        self.digest.update(part);
        if let Some(seen) = &mut self.seen {
            seen.response_bytes = seen.response_bytes.saturating_add(part.len() as u64);
        }
    }

    /// Bytes that came so far.
    pub fn response_bytes(&self) -> u64 {
        self.seen.as_ref().map_or(0, |seen| seen.response_bytes)
    }

    /// The same part decompressed and without the secret.
    pub fn read(&mut self, part: &[u8]) {
        if self.is_error() {
            let take = part.len().min(ERROR_CAP - self.error.len());
            self.error.extend_from_slice(&part[..take]);
        } else {
            self.counter.push(part);
        }
    }

    fn is_error(&self) -> bool {
        self.seen.as_ref().and_then(|seen| seen.status).is_some_and(|status| status >= 400)
    }

    /// It broke.
    pub fn fail(&mut self, reason: &str) {
        if let Some(seen) = &mut self.seen {
            seen.error_text = Some(capped(reason, ERROR_CAP));
        }
        self.deliver(false);
    }

    /// It is all there.
    pub fn done(&mut self) {
        self.deliver(true);
    }

    fn deliver(&mut self, complete: bool) {
        let Some(mut seen) = self.seen.take() else { return };
        self.counter.finish();
        let tally = self.counter.tally();
        seen.usage = tally.counted();
        seen.estimated_output_tokens = tally.estimated_output_tokens();
        seen.stop = tally.stop.clone();
        if seen.error_text.is_none() {
            let body = (!self.error.is_empty()).then(|| String::from_utf8_lossy(&self.error).into_owned());
            seen.error_text = body.map(|text| capped(&text, ERROR_CAP)).or_else(|| tally.error.clone());
        }
        seen.response_digest = self.digest.finalize().to_hex().to_string();
        seen.wall_ms = millis(self.start.elapsed());
        seen.complete = complete;
        self.meter.saw(seen);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.deliver(false);
    }
}

fn is_kept(name: &str) -> bool {
    ABOUT_LIMITS.iter().any(|start| name.starts_with(start)) || NAMED.contains(&name)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
