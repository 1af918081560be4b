//! Answers of the gateway's own, in the shape of the service that the program believes to talk to.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

/// How errors look to a program.
#[derive(Clone, Copy)]
enum Shape {
    Anthropic,
    Google,
    OpenAi,
}

impl Shape {
    /// By what is asked; most services speak OpenAI's.
    fn of(path: &str) -> Self {
        if path.contains(":generateContent") || path.contains(":streamGenerateContent") || path.contains("/v1beta") {
            Self::Google
        } else if path.contains("/messages") {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }
}

/// An answer with an error.
pub(super) fn refuse(status: StatusCode, path: &str, message: &str) -> Response<Full<Bytes>> {
    answer(status, body(status, path, message, None))
}

/// A 429 that says when to come again, in every form that a program may read.
pub(super) fn hold_back(path: &str, message: &str, retry_after_ms: u64) -> Response<Full<Bytes>> {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let mut response = answer(status, body(status, path, message, Some(retry_after_ms)));
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(retry_after_ms.div_ceil(1000)));
    headers.insert("retry-after-ms", HeaderValue::from(retry_after_ms));
    response
}

fn answer(status: StatusCode, body: Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn body(status: StatusCode, path: &str, message: &str, retry_after_ms: Option<u64>) -> Value {
    let (anthropic, openai, google) = words(status);
    match Shape::of(path) {
        Shape::Anthropic => json!({"type": "error", "error": {"type": anthropic, "message": message}}),
        Shape::OpenAi => {
            json!({"error": {"message": message, "type": anthropic, "param": null, "code": openai}})
        }
        Shape::Google => {
            let mut error = json!({"code": status.as_u16(), "message": message, "status": google});
            if let Some(ms) = retry_after_ms {
                let delay = format!("{}.{:03}s", ms / 1000, ms % 1000);
                error["details"] = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]);
            }
            json!({ "error": error })
        }
    }
}

/// The type of an error as Anthropic, OpenAI and Google call it.
fn words(status: StatusCode) -> (&'static str, &'static str, &'static str) {
    match status.as_u16() {
        403 => ("permission_error", "gateway_token", "PERMISSION_DENIED"),
        413 => ("request_too_large", "request_too_large", "INVALID_ARGUMENT"),
        429 => ("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
        504 => ("timeout_error", "timeout", "DEADLINE_EXCEEDED"),
        502 => ("api_error", "bad_gateway", "UNAVAILABLE"),
        501 => ("api_error", "not_implemented", "UNIMPLEMENTED"),
        _ => ("invalid_request_error", "invalid_request", "INVALID_ARGUMENT"),
    }
}
