//! What a scenario makes of a request, as a value; `send.rs` puts it on the wire.

use jiff::Timestamp;

use crate::asked::{Asked, Format};
use crate::http::Response;
use crate::limits::{Cause, Told, render_headers};
use crate::protocol::Protocol;
use crate::refusal::{Occasion, Reason, identity, render_refusal};
use crate::said::{Said, Stop, render_said, say};
use crate::scenario::{Act, Door, Feature, Hint, Refusal, Scenario, Shape};
use crate::wire::{render_break, render_events, render_whole};

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
    /// A response of so many bytes, made up as it is sent.
    Flood(Response, Flood),
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

/// A body that is too large to be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Its beginning.
    pub opening: String,
    /// What is repeated.
    pub piece: String,
    /// Bytes of what is repeated.
    pub bytes: u64,
    /// Its end.
    pub closing: String,
}

impl Reply {
    /// HTTP status; none where nothing is said.
    pub fn status(&self) -> Option<u16> {
        match self {
            Reply::Whole(response)
            | Reply::Stream(response, _)
            | Reply::CutStream(response, ..)
            | Reply::CutWhole(response, ..)
            | Reply::Flood(response, _) => Some(response.status),
            Reply::Silence => None,
        }
    }
}

/// What the server knows beside the request.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    /// Number of the request among all, from 1.
    pub number: u64,
    /// Earlier generation requests of the same scenario and tag.
    pub earlier: u64,
    /// The time.
    pub now: Timestamp,
    /// What is to be told of the limits, and why the request is not let in where it is not.
    pub admission: (Option<Cause>, Told),
    /// Milliseconds for which a storm goes on.
    pub storm_ms: u64,
    /// The credential; empty where there is none.
    pub credential: &'a str,
    /// Whether the signature of a request that needs one has its form.
    pub signed: bool,
    /// Where a client is sent that is sent elsewhere.
    pub elsewhere: &'a str,
}

/// A reply, and the tokens of the answer in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The reply.
    pub reply: Reply,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// Plans the reply to a generation request.
pub fn plan_reply(scenario: &Scenario, asked: &Asked, moment: &Moment) -> Planned {
    let answering = Answering { scenario, asked, moment };
    let refused = |reason| Planned { reply: Reply::Whole(answering.refuse(reason)), output_tokens: 0 };
    match turned_away(scenario, asked, moment) {
        Some(reason) => refused(reason),
        None if moment.earlier >= scenario.times => answering.act(Act::Answer(Shape::Plain)),
        None => answering.act(scenario.act),
    }
}

/// Why a request does not even come to its act.
fn turned_away(scenario: &Scenario, asked: &Asked, moment: &Moment) -> Option<Reason> {
    let taken = match &scenario.door {
        Door::Open => true,
        Door::NeedsKey => !moment.credential.is_empty(),
        Door::Only(key) => moment.credential == key,
    };
    if !taken {
        return Some(Reason::Named(Refusal::Unauthenticated));
    }
    if asked.protocol == Protocol::Converse && !moment.signed {
        return Some(Reason::Named(Refusal::Forbidden));
    }
    if let Some(feature) = scenario.refused.iter().find(|feature| uses(asked, **feature)) {
        return Some(Reason::Feature(*feature));
    }
    if moment.storm_ms > 0 {
        return Some(Reason::Limit(Cause::Requests, Told::spent(moment.storm_ms)));
    }
    let (cause, told) = moment.admission;
    cause.map(|cause| Reason::Limit(cause, told))
}

fn uses(asked: &Asked, feature: Feature) -> bool {
    match feature {
        Feature::JsonSchema => matches!(asked.format, Format::JsonSchema(_)),
        Feature::JsonObject => asked.format == Format::JsonObject,
        Feature::Tools => !asked.tools.is_empty(),
        Feature::Stream => asked.stream,
        Feature::CacheControl => asked.cache_control,
        Feature::StreamOptions => asked.stream_options,
    }
}

struct Answering<'a> {
    scenario: &'a Scenario,
    asked: &'a Asked,
    moment: &'a Moment<'a>,
}

impl Answering<'_> {
    fn act(&self, act: Act) -> Planned {
        let said = self.say(if let Act::Answer(shape) = act { shape } else { Shape::Plain });
        let silent = |reply| Planned { reply, output_tokens: 0 };
        let spoken = |reply| Planned { reply, output_tokens: said.output_tokens };
        match act {
            // This service answers what is filtered by an error.
            Act::Answer(Shape::Filtered) if self.asked.protocol == Protocol::Messages => {
                silent(Reply::Whole(self.refuse(Reason::Named(Refusal::Filtered))))
            }
            Act::Answer(shape) => spoken(self.answer(&said, shape)),
            Act::Drip { .. } => spoken(self.answer(&said, Shape::Plain)),
            Act::Refuse(refusal) => silent(Reply::Whole(self.refuse(Reason::Named(refusal)))),
            Act::Hang => silent(Reply::Silence),
            Act::Stall => spoken(self.cut(&said, AfterCut::Silence)),
            Act::Disconnect => spoken(self.cut(&said, AfterCut::End)),
            Act::BadJson => silent(self.bad_json()),
            Act::Empty => silent(Reply::Whole(self.plain(Vec::new()))),
            Act::ErrorEvent => spoken(self.broken(&said, Refusal::Overloaded, false)),
            Act::LimitEvent => spoken(self.broken(&said, Refusal::Limited(Hint::In(1)), true)),
            Act::Flood { mib } => spoken(self.flood(&said, mib)),
            Act::Redirect => silent(self.redirect()),
        }
    }

    fn say(&self, shape: Shape) -> Said {
        let said = say(self.scenario, shape, self.asked, self.moment.credential);
        render_said(self.asked, self.moment.number, self.moment.now.as_second(), said)
    }

    fn refuse(&self, reason: Reason) -> Response {
        let Moment { number, now, credential, .. } = *self.moment;
        render_refusal(reason, Occasion { asked: self.asked, number, now, credential })
    }

    fn streams(&self) -> bool {
        self.asked.stream && self.asked.protocol != Protocol::Converse
    }

    fn answer(&self, said: &Said, shape: Shape) -> Reply {
        let mut reply = if self.streams() {
            Reply::Stream(self.plain(Vec::new()), render_events(self.asked, said).all())
        } else {
            Reply::Whole(self.plain(render_whole(self.asked, said).to_string().into_bytes()))
        };
        if let (Shape::EchoKey, Reply::Whole(response) | Reply::Stream(response, _)) = (shape, &mut reply) {
            response.headers.push(("x-echo-credential".to_owned(), self.moment.credential.to_owned()));
        }
        reply
    }

    fn cut(&self, said: &Said, after: AfterCut) -> Reply {
        if self.streams() {
            return Reply::CutStream(self.plain(Vec::new()), render_events(self.asked, said).half(), after);
        }
        let response = self.plain(render_whole(self.asked, said).to_string().into_bytes());
        let half = response.body.len() / 2;
        Reply::CutWhole(response, half, after)
    }

    fn broken(&self, said: &Said, refusal: Refusal, limit: bool) -> Reply {
        if !self.streams() {
            return Reply::Whole(self.refuse(Reason::Named(refusal)));
        }
        let mut events = render_events(self.asked, said).half();
        events.push(render_break(self.asked, said, limit));
        Reply::Stream(self.plain(Vec::new()), events)
    }

    fn bad_json(&self) -> Reply {
        if !self.streams() {
            return Reply::Whole(self.plain(b"{\"id\":\"msg_1\",\"content\":[".to_vec()));
        }
        let event = match (self.asked.protocol, self.asked.events) {
            (Protocol::Messages, _) => {
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\n\n"
            }
            (Protocol::Responses, _) => {
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\n\n"
            }
            (_, false) => "[{\"candidates\":[",
            _ => "data: {\"id\":\n\n",
        };
        Reply::Stream(self.plain(Vec::new()), vec![event.to_owned()])
    }

    /// The answer with a text so long that nobody should hold it.
    fn flood(&self, said: &Said, mib: u64) -> Reply {
        const MARK: &str = "LOOPBACK-FLOOD";
        let long = Said { content: crate::said::Content::Text(MARK.to_owned()), stop: Stop::End, ..said.clone() };
        let (opening, piece, closing) = if self.streams() {
            let events = render_events(self.asked, &long);
            let text = "lorem ipsum ".repeat(5_000);
            (events.opening.concat(), events.pieces.concat().replace(MARK, &text), events.closing.concat())
        } else {
            let document = render_whole(self.asked, &long).to_string();
            let (before, after) = document.split_once(MARK).unwrap_or((&document, ""));
            (before.to_owned(), "lorem ipsum ".repeat(5_000), after.to_owned())
        };
        Reply::Flood(self.plain(Vec::new()), Flood { opening, piece, bytes: mib << 20, closing })
    }

    fn redirect(&self) -> Reply {
        let headers = vec![("location".to_owned(), self.moment.elsewhere.to_owned())];
        Reply::Whole(Response { status: 307, headers, body: Vec::new() })
    }

    /// A response with status 200 and the headers of a request that was let in.
    fn plain(&self, body: Vec<u8>) -> Response {
        let asked = self.asked;
        let content_type =
            if self.streams() && asked.events { "text/event-stream; charset=utf-8" } else { "application/json" };
        let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
        headers.extend(identity(asked.protocol, self.moment.number));
        headers.extend(render_headers(asked.protocol, &self.moment.admission.1, self.moment.now));
        Response { status: 200, headers, body }
    }
}

#[cfg(test)]
mod tests;
