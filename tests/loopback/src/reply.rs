//! What a scenario makes of a request, as a value; `connection.rs` puts it on the wire.

use jiff::Timestamp;

use crate::answer::render_answer;
use crate::http::Response;
use crate::limits::Window;
use crate::message::{Asked, render_error, render_events, render_message};
use crate::scenario::{Kind, Scenario};

/// How one request is replied to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// One whole response.
    Whole(Response),
    /// A stream of events to its end. The response has no body of its own.
    Stream(Response, Vec<String>),
    /// A stream that breaks off after these events.
    CutStream(Response, Vec<String>, AfterCut),
    /// A response that announces its whole body and breaks off after so many bytes.
    CutWhole(Response, usize, AfterCut),
    /// Nothing.
    Silence,
}

/// What comes after an answer broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterCut {
    /// Nothing, until the client leaves.
    Silence,
    /// The end of the connection.
    End,
}

impl Reply {
    /// HTTP status; none where nothing is said.
    pub fn status(&self) -> Option<u16> {
        match self {
            Reply::Whole(response)
            | Reply::Stream(response, _)
            | Reply::CutStream(response, ..)
            | Reply::CutWhole(response, ..) => Some(response.status),
            Reply::Silence => None,
        }
    }
}

/// What the server knows beside the request.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Number of the request among all, from 1.
    pub number: u64,
    /// Earlier generation requests of the same scenario and tag.
    pub earlier: u64,
    /// The time.
    pub now: Timestamp,
    /// The window, where the scenario keeps a bucket.
    pub window: Window,
}

/// Plans the reply to a generation request.
pub fn plan_reply(scenario: Scenario, asked: &Asked, moment: Moment) -> Reply {
    let refusal = Refusal { moment };
    match scenario.kind {
        Kind::RateLimited => refusal.rate_limited(Window::spent(30)),
        Kind::RateLimitedOnce if moment.earlier == 0 => refusal.rate_limited(Window::spent(1)),
        Kind::Bucket { .. } if moment.window.retry_in_ms.is_some() => refusal.rate_limited(moment.window),
        Kind::Overloaded => refusal.of(529, "overloaded_error", "Overloaded", &[]),
        Kind::Broken => refusal.of(500, "api_error", "Internal server error", &[]),
        Kind::Unauthenticated => refusal.of(401, "authentication_error", "invalid x-api-key", &[]),
        Kind::TooLong => {
            refusal.of(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum", &[])
        }
        Kind::Hang => Reply::Silence,
        Kind::Empty => Reply::Whole(plain(asked, moment, Vec::new())),
        Kind::BadJson => plan_bad_json(asked, moment),
        Kind::Stall => plan_cut(scenario, asked, moment, AfterCut::Silence),
        Kind::Disconnect => plan_cut(scenario, asked, moment, AfterCut::End),
        Kind::Ok | Kind::RateLimitedOnce | Kind::Bucket { .. } => plan_answer(scenario, asked, moment),
    }
}

struct Refusal {
    moment: Moment,
}

impl Refusal {
    fn rate_limited(&self, window: Window) -> Reply {
        let text = "This request would exceed the rate limit of requests per minute of your organization.";
        self.of(429, "rate_limit_error", text, &window.headers(self.moment.now))
    }

    fn of(&self, status: u16, kind: &str, message: &str, headers: &[(String, String)]) -> Reply {
        let id = request_id(self.moment);
        let mut response = Response::json(status, &render_error(kind, message, &id));
        response.headers.push(("request-id".to_owned(), id));
        response.headers.extend_from_slice(headers);
        Reply::Whole(response)
    }
}

fn plan_answer(scenario: Scenario, asked: &Asked, moment: Moment) -> Reply {
    let (id, text) = (message_id(moment), answer_text(scenario, asked));
    if asked.stream {
        Reply::Stream(plain(asked, moment, Vec::new()), render_events(&id, asked, &text))
    } else {
        Reply::Whole(plain(asked, moment, render_message(&id, asked, &text).to_string().into_bytes()))
    }
}

fn plan_cut(scenario: Scenario, asked: &Asked, moment: Moment, after: AfterCut) -> Reply {
    match plan_answer(scenario, asked, moment) {
        Reply::Stream(response, mut events) => {
            // Half of the pieces at least, so that a client has begun to read an answer; never the end.
            let pieces = events.len() - 6;
            events.truncate(3 + pieces.div_ceil(2));
            Reply::CutStream(response, events, after)
        }
        Reply::Whole(response) => {
            let half = response.body.len() / 2;
            Reply::CutWhole(response, half, after)
        }
        other => other,
    }
}

fn plan_bad_json(asked: &Asked, moment: Moment) -> Reply {
    if asked.stream {
        let broken = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\n\n".to_owned();
        Reply::Stream(plain(asked, moment, Vec::new()), vec![broken])
    } else {
        Reply::Whole(plain(asked, moment, b"{\"id\":\"msg_1\",\"content\":[".to_vec()))
    }
}

fn answer_text(scenario: Scenario, asked: &Asked) -> String {
    match &asked.prompt {
        Some(prompt) => render_answer(prompt, scenario.findings),
        None => "OK".to_owned(),
    }
}

/// A response with status 200 and the headers of a request that was let in.
fn plain(asked: &Asked, moment: Moment, body: Vec<u8>) -> Response {
    let content_type = if asked.stream { "text/event-stream; charset=utf-8" } else { "application/json" };
    let mut headers =
        vec![("content-type".to_owned(), content_type.to_owned()), ("request-id".to_owned(), request_id(moment))];
    headers.extend(moment.window.headers(moment.now));
    Response { status: 200, headers, body }
}

fn request_id(moment: Moment) -> String {
    format!("req_loopback{:08}", moment.number)
}

fn message_id(moment: Moment) -> String {
    format!("msg_loopback{:08}", moment.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::read_request;
    use crate::prompt::tests::SAMPLE;
    use serde_json::{Value, json};

    fn moment(earlier: u64) -> Moment {
        Moment { number: 7, earlier, now: Timestamp::UNIX_EPOCH, window: Window::EASY }
    }

    fn asked(stream: bool) -> Asked {
        let body = json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": SAMPLE}]});
        read_request(body.to_string().as_bytes())
    }

    fn play(name: &str, stream: bool, earlier: u64) -> Reply {
        plan_reply(Scenario::parse(name).unwrap(), &asked(stream), moment(earlier))
    }

    #[test]
    fn a_refusal_has_the_status_and_the_word_of_the_service() {
        let refusals = [
            ("429", 429, "rate_limit_error"),
            ("529", 529, "overloaded_error"),
            ("500", 500, "api_error"),
            ("401", 401, "authentication_error"),
            ("400-too-long", 400, "invalid_request_error"),
        ];
        for (name, status, word) in refusals {
            let Reply::Whole(response) = play(name, true, 3) else { panic!("{name}") };
            let body: Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!((response.status, body["error"]["type"].as_str()), (status, Some(word)), "{name}");
            assert_eq!(response.headers.iter().any(|(header, _)| header == "retry-after"), name == "429", "{name}");
        }
    }

    #[test]
    fn once_means_the_first_request_only() {
        assert_eq!(play("429-once", false, 0).status(), Some(429));
        assert_eq!(play("429-once", false, 1).status(), Some(200));
    }

    #[test]
    fn an_audit_prompt_is_answered_with_its_results() {
        let Reply::Whole(response) = play("ok-findings", false, 0) else { panic!("whole") };
        let message: Value = serde_json::from_slice(&response.body).unwrap();
        let results: Value = serde_json::from_str(message["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(results[0]["task_id"], "src:security");
        assert_eq!(results[0]["findings"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_answer_that_breaks_off_has_begun_and_never_ends() {
        for (name, after) in [("stall", AfterCut::Silence), ("disconnect", AfterCut::End)] {
            let Reply::CutStream(_, events, then) = play(name, true, 0) else { panic!("{name}") };
            assert_eq!(then, after);
            assert!(events.iter().any(|event| event.contains("text_delta")));
            assert!(!events.iter().any(|event| event.contains("content_block_stop")));
            let Reply::CutWhole(response, kept, then) = play(name, false, 0) else { panic!("{name}") };
            assert!(then == after && kept < response.body.len());
        }
    }

    #[test]
    fn broken_documents_come_with_a_good_status() {
        for (name, stream) in [("badjson", true), ("badjson", false), ("empty", true), ("empty", false)] {
            assert_eq!(play(name, stream, 0).status(), Some(200), "{name}");
        }
        let Reply::Whole(response) = play("badjson", false, 0) else { panic!("whole") };
        assert!(serde_json::from_slice::<Value>(&response.body).is_err());
    }
}
