//! The protocols, and which endpoint of which one a request is for.

use crate::http::{Head, decode_percent};

/// A protocol of a model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Anthropic Messages.
    #[default]
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini's generateContent.
    Gemini,
    /// Bedrock Converse.
    Converse,
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An answer of a model.
    Generate(Target),
    /// The tokens of a prompt.
    Count(Protocol),
    /// The list of the models.
    Models(Protocol),
    /// Whether somebody is there.
    Greeting,
    /// Nothing that the service has.
    Unknown,
}

/// Who is asked, as far as the address says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The protocol.
    pub protocol: Protocol,
    /// The model, where the address names it.
    pub model: Option<String>,
    /// Whether the address asks for a stream.
    pub stream: bool,
    /// Whether such a stream is one of events; else it is one JSON array.
    pub events: bool,
}

impl Protocol {
    /// Name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Messages => "messages",
            Protocol::Chat => "chat",
            Protocol::Responses => "responses",
            Protocol::Gemini => "gemini",
            Protocol::Converse => "converse",
        }
    }
}

impl Endpoint {
    /// The protocol that is spoken; none where nothing tells it.
    pub fn protocol(&self) -> Option<Protocol> {
        match self {
            Endpoint::Generate(target) => Some(target.protocol),
            Endpoint::Count(protocol) | Endpoint::Models(protocol) => Some(*protocol),
            Endpoint::Greeting | Endpoint::Unknown => None,
        }
    }
}

/// Finds the endpoint; `path` is that behind the scenario.
pub fn route(head: &Head, path: &str) -> Endpoint {
    let path = path.trim_end_matches('/');
    match head.method.as_str() {
        "POST" => route_post(head, path),
        "GET" | "HEAD" if path.is_empty() => Endpoint::Greeting,
        "GET" | "HEAD" if path.ends_with("/models") || path.contains("/models/") => {
            Endpoint::Models(if path.contains("/v1beta/") { Protocol::Gemini } else { Protocol::Chat })
        }
        _ => Endpoint::Unknown,
    }
}

fn route_post(head: &Head, path: &str) -> Endpoint {
    let plain = |protocol| Endpoint::Generate(Target { protocol, ..Target::default() });
    if path.ends_with("/messages/count_tokens") {
        Endpoint::Count(Protocol::Messages)
    } else if path.ends_with("/messages") {
        plain(Protocol::Messages)
    } else if path.ends_with("/chat/completions") {
        plain(Protocol::Chat)
    } else if path.ends_with("/responses") {
        plain(Protocol::Responses)
    } else if let Some((before, method)) = path.rsplit_once(':')
        && let Some((_, model)) = before.rsplit_once("/models/")
    {
        route_gemini(head, model, method)
    } else if let Some((_, model)) = path.strip_suffix("/converse").and_then(|path| path.split_once("/model/")) {
        Endpoint::Generate(Target {
            protocol: Protocol::Converse,
            model: Some(decode_percent(model)),
            ..Target::default()
        })
    } else {
        Endpoint::Unknown
    }
}

fn route_gemini(head: &Head, model: &str, method: &str) -> Endpoint {
    let target = |stream| {
        Endpoint::Generate(Target {
            protocol: Protocol::Gemini,
            model: Some(decode_percent(model)),
            stream,
            events: head.parameter("alt").as_deref() == Some("sse"),
        })
    };
    match method {
        "generateContent" => target(false),
        "streamGenerateContent" => target(true),
        "countTokens" => Endpoint::Count(Protocol::Gemini),
        _ => Endpoint::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(path: &str, query: &str) -> Endpoint {
        let head = Head { method: "POST".to_owned(), query: query.to_owned(), ..Head::default() };
        route(&head, path)
    }

    #[test]
    fn every_protocol_has_its_address() {
        for (path, protocol) in [
            ("/v1/messages", Protocol::Messages),
            ("/v1/chat/completions", Protocol::Chat),
            ("/openai/deployments/d/chat/completions", Protocol::Chat),
            ("/v1/responses", Protocol::Responses),
            ("/v1beta/models/gemini-x:generateContent", Protocol::Gemini),
            ("/model/a.b-v1%3A0/converse", Protocol::Converse),
        ] {
            assert_eq!(post(path, "").protocol(), Some(protocol), "{path}");
        }
        assert_eq!(post("/v1/embeddings", ""), Endpoint::Unknown);
    }

    #[test]
    fn addresses_name_models_and_streams() {
        let Endpoint::Generate(target) = post("/v1beta/models/g:streamGenerateContent", "key=k&alt=sse") else {
            panic!("generate")
        };
        assert!(target.stream && target.events && target.model.as_deref() == Some("g"));
        let Endpoint::Generate(target) = post("/model/a.b-v1%3A0/converse", "") else { panic!("generate") };
        assert_eq!(target.model.as_deref(), Some("a.b-v1:0"));
    }
}
