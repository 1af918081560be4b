//! Refusals say what their services say.

use jiff::Timestamp;
use serde_json::Value;

use super::*;
use crate::asked::Asked;
use crate::http::Response;
use crate::limits::{Cause, Gauge, Told};
use crate::protocol::Protocol;
use crate::scenario::{Act, Feature, Scenario};

fn refuse(protocol: Protocol, reason: Reason) -> (Response, Value) {
    let asked = Asked { protocol, model: "m".to_owned(), ..Asked::default() };
    let response =
        render_refusal(reason, Occasion { asked: &asked, number: 7, now: Timestamp::UNIX_EPOCH, credential: "SECRET" });
    let body = serde_json::from_slice(&response.body).unwrap_or_default();
    (response, body)
}

fn named(protocol: Protocol, name: &str) -> (Response, Value) {
    let Some(Scenario { act: Act::Refuse(refusal), .. }) = Scenario::parse(name) else { panic!("{name}") };
    refuse(protocol, Reason::Named(refusal))
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

const ALL: [Protocol; 5] =
    [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini, Protocol::Converse];

#[test]
fn a_refusal_has_the_status_of_its_name_in_every_protocol() {
    for (name, status) in [
        ("401", 401),
        ("402", 402),
        ("403", 403),
        ("404-model", 404),
        ("413", 413),
        ("400-too-long", 400),
        ("429", 429),
        ("429-date", 429),
        ("429-no-hint", 429),
        ("429-daily", 429),
        ("429-plan", 429),
        ("500", 500),
        ("503", 503),
        ("529", 529),
    ] {
        for protocol in ALL {
            let (response, body) = named(protocol, name);
            assert_eq!(response.status, status, "{name} {protocol:?}");
            let message = if protocol == Protocol::Converse { &body["message"] } else { &body["error"]["message"] };
            assert!(message.as_str().is_some_and(|message| !message.is_empty()), "{name} {protocol:?}: {body}");
        }
    }
    let (page, body) = named(Protocol::Chat, "502-html");
    assert!(page.status == 502 && body.is_null() && page.body.starts_with(b"<html>"));
}

#[test]
fn anthropic_has_its_words() {
    for (name, word) in [
        ("429", "rate_limit_error"),
        ("529", "overloaded_error"),
        ("500", "api_error"),
        ("401", "authentication_error"),
        ("402", "billing_error"),
        ("403", "permission_error"),
        ("404-model", "not_found_error"),
        ("413", "request_too_large"),
        ("400-too-long", "invalid_request_error"),
        ("insufficient-quota", "invalid_request_error"),
    ] {
        let (response, body) = named(Protocol::Messages, name);
        assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &word.into()), "{name}");
        assert_eq!(header(&response, "request-id"), body["request_id"].as_str(), "{name}");
        assert_eq!(header(&response, "retry-after").is_some(), name == "429", "{name}");
    }
}

#[test]
fn openai_has_its_codes() {
    for (name, code) in [
        ("401", "invalid_api_key"),
        ("404-model", "model_not_found"),
        ("429", "rate_limit_exceeded"),
        ("429-daily", "rate_limit_exceeded"),
        ("insufficient-quota", "insufficient_quota"),
        ("400-too-long", "context_length_exceeded"),
    ] {
        assert_eq!(named(Protocol::Responses, name).1["error"]["code"], code, "{name}");
    }
    let (response, body) = named(Protocol::Chat, "429-plan");
    assert_eq!(body["error"]["type"], "usage_limit_reached");
    assert_eq!(body["error"]["resets_at"].to_string(), header(&response, "x-codex-primary-reset-at").unwrap());
}

#[test]
fn gemini_tells_in_the_body_when_to_come_back() {
    let (response, body) = named(Protocol::Gemini, "429-in-7");
    assert_eq!(header(&response, "retry-after"), None);
    assert!(body.to_string().contains(r#""retryDelay":"7s""#) && body.to_string().contains("PerMinute"));
    assert!(named(Protocol::Gemini, "429-daily").1.to_string().contains("PerDay"));
    assert_eq!(named(Protocol::Gemini, "429-no-hint").1["error"].get("details"), None);
    assert_eq!(named(Protocol::Gemini, "503").1["error"]["status"], "UNAVAILABLE");
}

#[test]
fn bedrock_names_its_errors_in_a_header() {
    let kind = |name| header(&named(Protocol::Converse, name).0, "x-amzn-errortype").map(str::to_owned).unwrap();
    assert!(kind("429").starts_with("ThrottlingException:"));
    assert!(kind("503").starts_with("ServiceUnavailableException:"));
}

#[test]
fn hints_have_the_form_of_their_scenario() {
    for protocol in [Protocol::Messages, Protocol::Chat] {
        assert_eq!(header(&named(protocol, "429").0, "retry-after"), Some("30"));
        assert_eq!(header(&named(protocol, "429-date").0, "retry-after"), Some("Thu, 01 Jan 1970 00:00:30 GMT"));
        assert_eq!(header(&named(protocol, "429-no-hint").0, "retry-after"), None);
    }
    let daily = named(Protocol::Messages, "429-daily").0;
    assert_eq!(header(&daily, "anthropic-ratelimit-unified-status"), Some("rejected"));
}

#[test]
fn a_credential_is_told_back_only_where_that_is_the_scenario() {
    for protocol in ALL {
        let (response, body) = named(protocol, "echo-key");
        assert_eq!(header(&response, "x-echo-credential"), Some("SECRET"));
        assert!(body.to_string().contains("SECRET"), "{protocol:?}");
        assert!(!named(protocol, "401").1.to_string().contains("SECRET"));
    }
}

#[test]
fn limits_tell_their_numbers() {
    let tokens = Gauge { limit: 1_000, remaining: 300, full_in_ms: 42_000 };
    let told = Told { tokens: Some(tokens), retry_in_ms: Some(3_890), ..Told::NOTHING };
    let (response, body) = refuse(Protocol::Chat, Reason::Limit(Cause::Tokens { asked: 500 }, told));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("Limit 1000, Used 700, Requested 500. Please try again in 3.89s."), "{message}");
    assert_eq!(body["error"]["type"], "tokens");
    assert_eq!(header(&response, "x-ratelimit-reset-tokens"), Some("42s"));
    assert_eq!(header(&response, "retry-after-ms"), Some("3890"));
}

#[test]
fn a_missing_feature_is_named() {
    for (protocol, feature, name) in [
        (Protocol::Chat, Feature::JsonSchema, "response_format"),
        (Protocol::Responses, Feature::JsonObject, "text.format"),
        (Protocol::Messages, Feature::CacheControl, "cache_control"),
        (Protocol::Gemini, Feature::Tools, "tools"),
    ] {
        let (response, body) = refuse(protocol, Reason::Feature(feature));
        assert!(response.status == 400 && body["error"]["message"].as_str().unwrap().contains(name), "{body}");
    }
}
