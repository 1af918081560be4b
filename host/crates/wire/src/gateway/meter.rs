//! What the gateway asks before a request, and tells after it.

use futures_util::future::BoxFuture;

use crate::usage::Counted;

/// Admits requests against windows and takes note of what they cost. Called from many requests at once.
pub trait Meter: Send + Sync {
    /// Waits until a request may go, or refuses it. When the program leaves meanwhile the future is dropped: one that is
    /// dropped must hold nothing. The ticket comes back in [`Meter::saw`].
    fn admit(&self, ask: RequestAsk) -> BoxFuture<'_, Verdict>;

    /// Called exactly once for each [`Verdict::Go`] that was returned: at the end of the answer, or when it breaks or the
    /// program leaves or the gateway closes. Must not block.
    fn saw(&self, seen: RequestSeen);

    /// A request that was turned away without [`Meter::admit`]. Must not block.
    fn refused(&self, refused: Refused);
}

/// A request that wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAsk {
    /// Method.
    pub method: String,
    /// Path at the upstream, without a query. Not every request is one to a model.
    pub path: String,
    /// Bytes of the body.
    pub request_bytes: u64,
    /// By the size of the body.
    pub estimated_input_tokens: u64,
    /// The most that the program lets the model answer, where its body says so.
    pub max_output_tokens: Option<u64>,
    /// Model that is asked, where body or path say so.
    pub model: Option<String>,
}

/// Whether it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may; the number is handed back.
    Go(u64),
    /// It may not: the program gets a 429.
    Refuse {
        /// Milliseconds until it is worth another try.
        retry_after_ms: u64,
        /// For the program and whoever reads its output.
        message: String,
    },
}

/// A request that was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Method.
    pub method: String,
    /// What the program got.
    pub status: u16,
    /// `token`, `connect`, `upgrade`, `target`, `too-large` or `body`.
    pub reason: &'static str,
}

/// What became of a request. Bodies are not in it, but for the text of errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSeen {
    /// Of [`Verdict::Go`].
    pub ticket: u64,
    /// Method.
    pub method: String,
    /// Host and port of the upstream.
    pub host: String,
    /// Path at the upstream, without a query.
    pub path: String,
    /// Absent when no answer came; `error_text` then says why.
    pub status: Option<u16>,
    /// Those about limits and the names of requests, secrets hidden.
    pub headers: Vec<(String, String)>,
    /// Start of an answer with a status of 400 or more, an error inside a stream that began well, or why the answer
    /// broke. Absent when the program left.
    pub error_text: Option<String>,
    /// Absent when the service did not count.
    pub usage: Option<Counted>,
    /// By the text that passed, for when the service did not count, or not to the end.
    pub estimated_output_tokens: u64,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the answer's body, as the upstream sent them.
    pub response_bytes: u64,
    /// BLAKE3 of the request's body, hexadecimal.
    pub request_digest: String,
    /// BLAKE3 of the answer's body, as the upstream sent it, hexadecimal.
    pub response_digest: String,
    /// Until the head of the answer, from when the request was let go.
    pub first_byte_ms: Option<u64>,
    /// Until its end, from when the request was let go.
    pub wall_ms: u64,
    /// Whether the whole answer was there.
    pub complete: bool,
    /// Why the model ended, in the service's word, or the type of the error inside the stream.
    pub stop: Option<String>,
}
