//! Scenarios: what part the server plays for one request.

/// What the server does with a generation request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answers.
    Ok,
    /// Refuses with a rate limit, always.
    RateLimited,
    /// Refuses the first request with a rate limit and answers the others.
    RateLimitedOnce,
    /// Refuses as overloaded.
    Overloaded,
    /// Refuses with an internal error.
    Broken,
    /// Refuses the credential.
    Unauthenticated,
    /// Refuses the prompt as too long.
    TooLong,
    /// Says nothing.
    Hang,
    /// Begins to answer, then says nothing.
    Stall,
    /// Begins to answer, then closes the connection.
    Disconnect,
    /// Answers with half a document.
    BadJson,
    /// Answers with no document.
    Empty,
    /// Answers as long as the bucket has tokens.
    Bucket {
        /// Requests that it holds.
        limit: u32,
        /// Seconds in which it fills from nothing.
        seconds: u32,
    },
}

/// A scenario as an address names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// What is done.
    pub kind: Kind,
    /// Whether an answer holds a finding.
    pub findings: bool,
}

impl Scenario {
    /// What is played when the address names nothing.
    pub const DEFAULT: Self = Self { kind: Kind::Ok, findings: false };

    /// Reads a name without its tag; none for a name that means nothing.
    pub fn parse(name: &str) -> Option<Self> {
        let (word, findings) = match name.strip_suffix("-findings") {
            Some(word) => (word, true),
            None => (name, false),
        };
        let kind = match word {
            "ok" => Kind::Ok,
            "429" => Kind::RateLimited,
            "429-once" => Kind::RateLimitedOnce,
            "529" => Kind::Overloaded,
            "500" => Kind::Broken,
            "401" => Kind::Unauthenticated,
            "400-too-long" => Kind::TooLong,
            "hang" => Kind::Hang,
            "stall" => Kind::Stall,
            "disconnect" => Kind::Disconnect,
            "badjson" => Kind::BadJson,
            "empty" => Kind::Empty,
            "bucket" => Kind::Bucket { limit: 5, seconds: 10 },
            _ => parse_bucket(word)?,
        };
        Some(Self { kind, findings })
    }
}

fn parse_bucket(word: &str) -> Option<Kind> {
    let (limit, seconds) = word.strip_prefix("bucket-")?.split_once('-')?;
    let positive = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
    Some(Kind::Bucket { limit: positive(limit)?, seconds: positive(seconds)? })
}

/// Splits a path into the scenario's name with its tag, if it has one, and the rest.
pub fn split_path(path: &str) -> (Option<&str>, &str) {
    let Some(after) = path.strip_prefix("/-/") else { return (None, path) };
    match after.find('/') {
        Some(at) => (Some(&after[..at]), &after[at..]),
        None => (Some(after), "/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_the_scenario_before_the_endpoint() {
        assert_eq!(split_path("/-/429-once~a/v1/messages"), (Some("429-once~a"), "/v1/messages"));
        assert_eq!(split_path("/-/ok"), (Some("ok"), "/"));
        assert_eq!(split_path("/v1/messages"), (None, "/v1/messages"));
    }

    #[test]
    fn every_documented_name_is_known_with_and_without_findings() {
        let names = "ok 429 429-once 529 500 401 400-too-long hang stall disconnect badjson empty bucket bucket-2-60";
        for name in names.split(' ') {
            let plain = Scenario::parse(name).unwrap_or_else(|| panic!("{name}"));
            let with = Scenario::parse(&format!("{name}-findings")).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((plain.kind, plain.findings, with.findings), (with.kind, false, true), "{name}");
        }
        for name in ["", "okay", "bucket-0-5", "bucket-5", "429-twice", "findings"] {
            assert_eq!(Scenario::parse(name), None, "{name}");
        }
    }
}
