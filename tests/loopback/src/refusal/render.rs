//! A refusal as a response.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::http::Response;
use crate::limits::{Cause, Told};
use crate::protocol::Protocol;
use crate::refusal::{limit_headers, render_body, words_of};
use crate::scenario::{Feature, Refusal};

/// Why a request gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The scenario says so.
    Named(Refusal),
    /// A limit is reached, and this is what is told of it.
    Limit(Cause, Told),
    /// A feature is not there.
    Feature(Feature),
}

/// Whose request it is and when.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The request.
    pub asked: &'a Asked,
    /// Its number.
    pub number: u64,
    /// The time.
    pub now: Timestamp,
    /// Its credential, for who tells it back.
    pub credential: &'a str,
}

/// The response.
pub fn render_refusal(reason: Reason, occasion: Occasion) -> Response {
    if reason == Reason::Named(Refusal::BadGateway) {
        let page = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>";
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        return Response { status: 502, headers, body: page.to_vec() };
    }
    let protocol = occasion.asked.protocol;
    let words = words_of(reason, occasion);
    let mut response = Response::json(words.status, &render_body(&words, occasion));
    response.headers.extend(identity(protocol, occasion.number));
    if protocol == Protocol::Converse {
        let kind = format!("{}:http://internal.amazon.com/coral/com.amazon.bedrock/", words.kind);
        response.headers.push(("x-amzn-errortype".to_owned(), kind));
    }
    response.headers.extend(limit_headers(reason, occasion));
    if reason == Reason::Named(Refusal::EchoKey) {
        response.headers.push(("x-echo-credential".to_owned(), occasion.credential.to_owned()));
    }
    response
}

/// The header that names the request.
pub fn identity(protocol: Protocol, number: u64) -> Option<(String, String)> {
    let name = match protocol {
        Protocol::Messages => "request-id",
        Protocol::Chat | Protocol::Responses => "x-request-id",
        Protocol::Converse => "x-amzn-requestid",
        Protocol::Gemini => return None,
    };
    Some((name.to_owned(), request_id(number)))
}

/// The name of a request.
pub fn request_id(number: u64) -> String {
    format!("req_loopback{number:08}")
}

/// The body of a refusal of what is no generation request.
pub fn render_missing(message: &str, number: u64) -> Value {
    json!({"type": "error", "error": {"type": "not_found_error", "message": message}, "request_id": request_id(number)})
}
