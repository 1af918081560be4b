//! The words that scenarios are made of.

use crate::scenario::{Act, Calls, Feature, Hint, Refusal, Shape};

/// Every word that has no number, and an example of every one that has.
#[cfg(test)]
pub const NAMES: &str = "ok prose-around double-encoded empty-answer max-tokens refusal content-filter echo-key-ok \
    submit tool-read tool-read-3 tool-forever tool-outside tool-unknown tool-bad-arguments tool-shell tool-write \
    401 402 403 404-model 413 429 429-in-7 429-date 429-no-hint 429-daily 429-plan insufficient-quota 400-too-long \
    500 502-html 503 529 echo-key redirect 429-once 529-twice 500-times-3 hang stall disconnect badjson empty \
    error-event error-event-limit flood flood-65 drip drip-8-5 no-json-schema no-json-object no-tools no-stream \
    no-cache-control no-stream-options need-key key-sk-1 gzip gzip-always slow-20 lognormal-5-0.5 lognormal-5-0.5-7 \
    bucket bucket-50-40000 bucket-50-0-8 bucket-5-1000-2-reserve-per-0.5 fixed-5-1000 fixed-5-1000-0.5 storm-2";

/// An act, and how many times it is done: `WORD`, `WORD-once`, `WORD-twice`, `WORD-times-N`.
pub fn parse_act(word: &str) -> Option<(Act, u64)> {
    if let Some(act) = parse_lasting(word, 30) {
        return Some((act, u64::MAX));
    }
    let (word, times) = match (word.strip_suffix("-once"), word.strip_suffix("-twice")) {
        (Some(word), _) => (word, 1),
        (_, Some(word)) => (word, 2),
        _ => {
            let (word, times) = word.rsplit_once("-times-")?;
            (word, times.parse().ok()?)
        }
    };
    // Who is let in the next time is told to come back soon.
    Some((parse_lasting(word, 1)?, times))
}

/// An act; `seconds` is when to come back where the word does not say it.
fn parse_lasting(word: &str, seconds: u64) -> Option<Act> {
    if let Some(shape) = parse_shape(word) {
        return Some(Act::Answer(shape));
    }
    if let Some(refusal) = parse_refusal(word, seconds) {
        return Some(Act::Refuse(refusal));
    }
    Some(match word {
        "hang" => Act::Hang,
        "stall" => Act::Stall,
        "disconnect" => Act::Disconnect,
        "badjson" => Act::BadJson,
        "empty" => Act::Empty,
        "error-event" => Act::ErrorEvent,
        "error-event-limit" => Act::LimitEvent,
        "flood" => Act::Flood { mib: 72 },
        "drip" => Act::Drip { bytes: 64, ms: 10 },
        "redirect" => Act::Redirect,
        _ => return parse_measured(word),
    })
}

fn parse_measured(word: &str) -> Option<Act> {
    if let Some(mib) = word.strip_prefix("flood-") {
        return mib.parse().ok().filter(|mib| (1..=4_096).contains(mib)).map(|mib| Act::Flood { mib });
    }
    let (bytes, ms) = word.strip_prefix("drip-")?.split_once('-')?;
    let (bytes, ms) = (bytes.parse().ok()?, ms.parse().ok()?);
    (bytes > 0 && ms <= 60_000).then_some(Act::Drip { bytes, ms })
}

fn parse_shape(word: &str) -> Option<Shape> {
    Some(match word {
        "ok" => Shape::Plain,
        "prose-around" => Shape::ProseAround,
        "double-encoded" => Shape::DoubleEncoded,
        "empty-answer" => Shape::Empty,
        "max-tokens" => Shape::Half,
        "refusal" => Shape::Refused,
        "content-filter" => Shape::Filtered,
        "echo-key-ok" => Shape::EchoKey,
        _ => return None,
    })
}

fn parse_refusal(word: &str, seconds: u64) -> Option<Refusal> {
    Some(match word {
        "401" => Refusal::Unauthenticated,
        "402" => Refusal::Unpaid,
        "403" => Refusal::Forbidden,
        "404-model" => Refusal::UnknownModel,
        "413" => Refusal::TooLarge,
        "400-too-long" => Refusal::TooLong,
        "429" => Refusal::Limited(Hint::In(seconds)),
        "429-date" => Refusal::Limited(Hint::Date(seconds)),
        "429-no-hint" => Refusal::Limited(Hint::Nothing),
        "429-daily" => Refusal::Daily,
        "429-plan" => Refusal::Plan,
        "insufficient-quota" => Refusal::InsufficientQuota,
        "500" => Refusal::Broken,
        "502-html" => Refusal::BadGateway,
        "503" => Refusal::Unavailable,
        "529" => Refusal::Overloaded,
        "echo-key" => Refusal::EchoKey,
        _ => {
            let seconds = word.strip_prefix("429-in-")?.parse().ok()?;
            return (seconds <= 86_400).then_some(Refusal::Limited(Hint::In(seconds)));
        }
    })
}

/// Calls of tools.
pub fn parse_call(word: &str) -> Option<Calls> {
    Some(match word.strip_prefix("tool-")? {
        "read" => Calls::Read(1),
        "forever" => Calls::Forever,
        "outside" => Calls::Outside,
        "unknown" => Calls::Unknown,
        "bad-arguments" => Calls::BadArguments,
        "shell" => Calls::Shell,
        "write" => Calls::Write,
        rest => Calls::Read(rest.strip_prefix("read-")?.parse().ok().filter(|times| *times > 0)?),
    })
}

/// A feature that is refused.
pub fn parse_feature(word: &str) -> Option<Feature> {
    Some(match word.strip_prefix("no-")? {
        "json-schema" => Feature::JsonSchema,
        "json-object" => Feature::JsonObject,
        "tools" => Feature::Tools,
        "stream" => Feature::Stream,
        "cache-control" => Feature::CacheControl,
        "stream-options" => Feature::StreamOptions,
        _ => return None,
    })
}
