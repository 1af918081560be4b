//! Scenarios: what part the server plays for one request, as the name in its address says.

use crate::latency::Latency;
use crate::limits::{Rule, parse_seconds};
use crate::scenario_words::{parse_act, parse_call, parse_feature};

/// A scenario as an address names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What is done.
    pub act: Act,
    /// To how many requests, from the first; the others are answered.
    pub times: u64,
    /// Whether an answer holds a finding.
    pub findings: bool,
    /// Whether the answer is given by the tool for it, where one is offered.
    pub submit: bool,
    /// Calls of tools before the answer.
    pub calls: Option<Calls>,
    /// Limits that are kept to.
    pub rule: Option<Rule>,
    /// Milliseconds after the first request in which all are refused as too many.
    pub storm_ms: Option<u64>,
    /// Latency before anything is said.
    pub latency: Option<Latency>,
    /// Features that are refused.
    pub refused: Vec<Feature>,
    /// Credentials that are taken.
    pub door: Door,
    /// Whether answers are packed.
    pub packing: Packing,
}

/// What the server does with a generation request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Answers.
    Answer(Shape),
    /// Refuses.
    Refuse(Refusal),
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
    /// Begins to answer, then says that it is overloaded.
    ErrorEvent,
    /// Begins to answer, then says that there were too many requests.
    LimitEvent,
    /// Answers without end, or nearly so.
    Flood {
        /// Bytes of the answer, in MiB.
        mib: u64,
    },
    /// Answers slowly.
    Drip {
        /// Bytes at once.
        bytes: usize,
        /// Milliseconds between them.
        ms: u64,
    },
    /// Sends the client elsewhere.
    Redirect,
}

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The answer and nothing else.
    Plain,
    /// Prose around the answer.
    ProseAround,
    /// The answer in a JSON string.
    DoubleEncoded,
    /// No text.
    Empty,
    /// Half of it, because more tokens were not allowed.
    Half,
    /// The model refuses.
    Refused,
    /// The service's filter takes the answer away.
    Filtered,
    /// The credential before the answer, and in a header.
    EchoKey,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The credential is not valid.
    Unauthenticated,
    /// The same, and the credential is told back.
    EchoKey,
    /// There is no money.
    Unpaid,
    /// The credential may not do this.
    Forbidden,
    /// There is no such model.
    UnknownModel,
    /// The request has too many bytes.
    TooLarge,
    /// The prompt has too many tokens.
    TooLong,
    /// Too many requests.
    Limited(Hint),
    /// The day's quota is spent.
    Daily,
    /// The plan's quota is spent.
    Plan,
    /// The account's money is spent.
    InsufficientQuota,
    /// The service's filter does not let the answer out.
    Filtered,
    /// Something broke.
    Broken,
    /// A proxy before the service answers by a page.
    BadGateway,
    /// The service is not available.
    Unavailable,
    /// The service is overloaded.
    Overloaded,
}

/// What a refusal says about when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// In so many seconds.
    In(u64),
    /// At a date, so many seconds ahead.
    Date(u64),
    /// Nothing.
    Nothing,
}

/// Tools that are called before the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// The tool that reads files, so many times.
    Read(usize),
    /// The same, without end.
    Forever,
    /// The same, for a path outside.
    Outside,
    /// A tool that nobody offered.
    Unknown,
    /// The tool that reads files, with arguments that are cut.
    BadArguments,
    /// The tool that runs commands.
    Shell,
    /// The tool that writes files.
    Write,
}

/// A feature that not every service has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Answers that fit a schema.
    JsonSchema,
    /// Answers that are an object.
    JsonObject,
    /// Tools.
    Tools,
    /// Streams.
    Stream,
    /// Marks for the cache.
    CacheControl,
    /// Options of the stream.
    StreamOptions,
}

/// Which credentials are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// Any, and none.
    Open,
    /// Any.
    NeedsKey,
    /// This one.
    Only(String),
}

/// When answers are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Never.
    Never,
    /// When the client takes it.
    Accepted,
    /// Whether or not it does.
    Always,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            act: Act::Answer(Shape::Plain),
            times: u64::MAX,
            findings: false,
            submit: false,
            calls: None,
            rule: None,
            storm_ms: None,
            latency: None,
            refused: Vec::new(),
            door: Door::Open,
            packing: Packing::Never,
        }
    }
}

impl Scenario {
    /// Reads a name without its tag; none for a name that means nothing.
    pub fn parse(name: &str) -> Option<Self> {
        let mut scenario = Self::default();
        name.split('+').try_for_each(|word| scenario.take(word))?;
        Some(scenario)
    }

    fn take(&mut self, word: &str) -> Option<()> {
        let word = match word.strip_suffix("-findings") {
            Some(word) => {
                self.findings = true;
                word
            }
            None => word,
        };
        if let Some(rule) = Rule::parse(word) {
            self.rule = Some(rule);
        } else if let Some(latency) = Latency::parse(word) {
            self.latency = Some(latency);
        } else if let Some(calls) = parse_call(word) {
            self.calls = Some(calls);
        } else if let Some(feature) = parse_feature(word) {
            self.refused.push(feature);
        } else if let Some((act, times)) = parse_act(word) {
            (self.act, self.times) = (act, times);
        } else {
            self.take_setting(word)?;
        }
        Some(())
    }

    fn take_setting(&mut self, word: &str) -> Option<()> {
        match word {
            "findings" => self.findings = true,
            "submit" => self.submit = true,
            "gzip" => self.packing = Packing::Accepted,
            "gzip-always" => self.packing = Packing::Always,
            "need-key" => self.door = Door::NeedsKey,
            _ => match (word.strip_prefix("storm-"), word.strip_prefix("key-")) {
                (Some(seconds), _) => self.storm_ms = Some(parse_seconds(seconds)?),
                (_, Some(key)) if !key.is_empty() => self.door = Door::Only(key.to_owned()),
                _ => return None,
            },
        }
        Some(())
    }
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
        for name in crate::scenario_words::NAMES.split_whitespace() {
            let plain = Scenario::parse(name).unwrap_or_else(|| panic!("{name}"));
            let with = Scenario::parse(&format!("{name}-findings")).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(Scenario { findings: true, ..plain }, with, "{name}");
        }
        for name in
            ["", "okay", "bucket-5", "429-thrice", "ok+", "key-", "storm-0", "flood-0", "drip-0-1", "tool-read-0"]
        {
            assert_eq!(Scenario::parse(name), None, "{name}");
        }
    }

    #[test]
    fn parts_are_put_together() {
        let scenario =
            Scenario::parse("bucket-50-40000-8+lognormal-800-0.6+429-once+tool-read-2+submit+findings").unwrap();
        assert_eq!((scenario.act, scenario.times), (Act::Refuse(Refusal::Limited(Hint::In(1))), 1));
        assert_eq!(scenario.calls, Some(Calls::Read(2)));
        assert!(scenario.rule.is_some() && scenario.latency.is_some() && scenario.submit && scenario.findings);
    }
}
