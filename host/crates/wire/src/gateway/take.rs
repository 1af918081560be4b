//! Takes in a request's body, within bounds.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Bytes of a request's body: it is held to be measured before it may go.
const REQUEST_CAP: usize = 32 << 20;

/// KiB of the bodies that all requests of a program may hold at once; more wait.
const ROOM: u32 = 256 << 10;

/// A request that is turned away before it is asked for.
pub(super) struct Turned {
    pub status: StatusCode,
    pub reason: &'static str,
    pub message: &'static str,
}

/// The whole body, up to the cap.
pub(super) async fn read_body(parts: &Parts, body: Incoming) -> Result<Bytes, Turned> {
    let large = || Turned {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        reason: "too-large",
        message: "the request has more than 32 MiB; send less at once",
    };
    if said_length(&parts.headers).is_some_and(|bytes| bytes > REQUEST_CAP as u64) {
        return Err(large());
    }
    match Limited::new(body, REQUEST_CAP).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(failed) if failed.is::<LengthLimitError>() => Err(large()),
        Err(_) => {
            let message = "the request's body is cut";
            Err(Turned { status: StatusCode::BAD_REQUEST, reason: "body", message })
        }
    }
}

/// Place for bodies, so that a program cannot make the host hold as much as it likes.
pub(super) struct Room(Semaphore);

impl Default for Room {
    fn default() -> Self {
        Self(Semaphore::new(ROOM as usize))
    }
}

impl Room {
    /// Waits for the place that this request may need. Nothing closes it, so nothing is refused.
    pub async fn take(&self, headers: &HeaderMap) -> Option<SemaphorePermit<'_>> {
        let chunked = headers.contains_key(TRANSFER_ENCODING);
        let bytes = said_length(headers).unwrap_or(if chunked { REQUEST_CAP as u64 } else { 0 });
        let kib = u32::try_from(bytes.min(REQUEST_CAP as u64).div_ceil(1024)).unwrap_or(ROOM);
        self.0.acquire_many(kib).await.ok()
    }
}

/// What the head says of the body's size.
pub(super) fn said_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[tokio::test]
    async fn bodies_wait_when_the_room_is_taken_and_go_when_it_is_free() {
        let (room, mut large, none) = (Room::default(), HeaderMap::new(), HeaderMap::new());
        large.insert(CONTENT_LENGTH, HeaderValue::from(u64::MAX));
        let mut chunked = HeaderMap::new();
        chunked.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        let mut taken = Vec::new();
        for headers in [&large, &chunked, &large, &chunked, &large, &chunked, &large, &chunked] {
            taken.push(room.take(headers).await);
        }
        assert!(room.take(&none).await.is_some(), "what has no body needs no room");
        let mut next = Box::pin(room.take(&chunked));
        assert!(futures_util::poll!(&mut next).is_pending());
        taken.pop();
        assert!(next.await.is_some());
    }
}
