//! What services say when they say no. Each writes it in a form of its own.

use assize_plugin_sdk::{derive_one_line, read_events};
use serde_json::{Map, Value};

/// Longest sentence that is kept, in characters.
const SENTENCE_CHARS: usize = 1000;
/// Members of an error that say something about limits and hold nothing of the request.
const TOLD: [&str; 10] = [
    "type",
    "code",
    "param",
    "status",
    "retry_after",
    "plan_type",
    "resets_at",
    "resets_in_seconds",
    "limit_source",
    "provider_name",
];

/// An error in common words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceError {
    /// Status that the error itself names; routers pass on another service's.
    pub status: Option<u16>,
    /// `code`, lower case.
    pub code: String,
    /// `type`, lower case.
    pub kind: String,
    /// Parameter of the request that is to blame.
    pub param: String,
    /// The sentence.
    pub message: String,
    /// What another service behind this one said.
    pub behind: String,
    /// What the rate-limit component reads.
    pub evidence: String,
}

impl ServiceError {
    /// An error that is only a sentence.
    pub(crate) fn said(message: &str) -> Self {
        let message = derive_one_line(message, SENTENCE_CHARS);
        Self { evidence: message.clone(), message, ..Self::default() }
    }

    /// Whether code or type is one of the words.
    pub(crate) fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.code.as_str()) || words.contains(&self.kind.as_str())
    }

    /// Whether the sentence, or the one of the service behind, holds one of the phrases, which are lower case.
    pub(crate) fn says(&self, phrases: &[&str]) -> bool {
        let folded = format!("{}\n{}", self.message, self.behind).to_lowercase().replace('\u{2019}', "'");
        phrases.iter().any(|phrase| folded.contains(phrase))
    }
}

/// The error of a whole body. A page of a proxy in between has no sentence.
pub(crate) fn read_error_body(body: &[u8]) -> ServiceError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return read_error(&value).unwrap_or_default();
    }
    if text.starts_with("data:") || text.starts_with("event:") {
        let mut values =
            read_events(text.as_bytes()).filter_map(|event| serde_json::from_str::<Value>(&event.data).ok());
        return values.find_map(|value| read_error(&value)).unwrap_or_default();
    }
    if text.starts_with('<') { ServiceError::default() } else { ServiceError::said(text) }
}

/// The error that a JSON value is or holds; absent when it holds none.
pub(crate) fn read_error(value: &Value) -> Option<ServiceError> {
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    if let Value::String(sentence) = value {
        return Some(ServiceError::said(sentence));
    }
    let outer = value.as_object()?;
    match outer.get("error") {
        Some(Value::Object(error)) => Some(read_members(error, outer)),
        Some(Value::String(sentence)) => Some(read_members(outer, outer).with_sentence(sentence)),
        _ if has_sentence(outer) => Some(read_members(outer, outer)),
        _ => None,
    }
}

fn has_sentence(members: &Map<String, Value>) -> bool {
    ["message", "detail"].iter().any(|key| members.get(*key).is_some_and(|value| !value.is_null()))
}

fn read_members(error: &Map<String, Value>, outer: &Map<String, Value>) -> ServiceError {
    let word = |key: &str| match error.get(key) {
        Some(Value::String(word)) => word.to_lowercase(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let metadata = error.get("metadata").or_else(|| outer.get("metadata")).unwrap_or(&Value::Null);
    let behind = metadata["raw"].as_str().unwrap_or_default();
    let found = ServiceError {
        status: ["code", "status", "status_code"].iter().find_map(|key| read_status(error.get(*key))),
        code: word("code"),
        kind: word("type"),
        param: word("param"),
        message: derive_one_line(&read_sentence(error), SENTENCE_CHARS),
        behind: derive_one_line(behind, SENTENCE_CHARS),
        evidence: String::new(),
    };
    let evidence = render_evidence(error, metadata, &found);
    ServiceError { evidence, ..found }
}

impl ServiceError {
    fn with_sentence(self, sentence: &str) -> Self {
        let said = ServiceError::said(sentence);
        let evidence = serde_json::json!({"error": said.message, "code": self.code}).to_string();
        Self { message: said.message, evidence, ..self }
    }
}

/// The sentence. A list of faults repeats the request beside each, so only what it says of them is taken.
fn read_sentence(error: &Map<String, Value>) -> String {
    let detail = error.get("message").filter(|value| !value.is_null()).or_else(|| error.get("detail"));
    match detail {
        Some(Value::String(sentence)) => sentence.clone(),
        Some(Value::Array(faults)) => {
            let said = |fault: &Value| {
                let place = fault["loc"].as_array().and_then(|loc| loc.last()?.as_str()).unwrap_or_default().to_owned();
                format!("{place}: {}", fault["msg"].as_str().unwrap_or_default())
            };
            faults.iter().take(3).map(said).collect::<Vec<_>>().join("; ")
        }
        Some(Value::Object(inner)) => {
            let inner = inner.get("message").or_else(|| inner.get("detail"));
            inner.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// The error again, without members that may repeat the request or the answer.
fn render_evidence(error: &Map<String, Value>, metadata: &Value, found: &ServiceError) -> String {
    let mut kept = Map::new();
    kept.insert("message".to_owned(), found.message.clone().into());
    let told = |from: &Map<String, Value>, kept: &mut Map<String, Value>| {
        for key in TOLD {
            match from.get(key) {
                Some(Value::String(word)) => kept.insert(key.to_owned(), derive_one_line(word, 200).into()),
                Some(number @ Value::Number(_)) => kept.insert(key.to_owned(), number.clone()),
                _ => None,
            };
        }
    };
    told(error, &mut kept);
    if let Value::Object(members) = metadata {
        let mut about = Map::new();
        told(members, &mut about);
        if let Some(Value::Object(headers)) = members.get("headers") {
            let plain = headers.iter().filter(|(_, value)| value.is_string() || value.is_number()).take(32);
            about.insert("headers".to_owned(), plain.map(|(name, value)| (name.clone(), value.clone())).collect());
        }
        if !found.behind.is_empty() {
            about.insert("raw".to_owned(), found.behind.clone().into());
        }
        if !about.is_empty() {
            kept.insert("metadata".to_owned(), about.into());
        }
    }
    // Google's compatible API puts its waits and quotas into details of known types.
    if let Some(Value::Array(details)) = error.get("details") {
        let of_limits = |detail: &&Value| {
            ["RetryInfo", "QuotaFailure"].iter().any(|kind| detail["@type"].as_str().is_some_and(|t| t.ends_with(kind)))
        };
        kept.insert("details".to_owned(), details.iter().filter(of_limits).take(4).cloned().collect());
    }
    serde_json::json!({ "error": kept }).to_string()
}

fn read_status(value: Option<&Value>) -> Option<u16> {
    let value = value?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> ServiceError {
        read_error_body(body.as_bytes())
    }

    #[test]
    fn every_service_s_form_gives_its_sentence() {
        for (body, message) in [
            (r#"{"error":{"message":"slow","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#, "slow"),
            (r#"{"object":"error","message":"slow","type":"rate_limited","param":null,"code":"1300"}"#, "slow"),
            (r#"{"code":"The caller","error":"slow"}"#, "slow"),
            (r#""slow""#, "slow"),
            (r#"{"message":"slow","request_id":"1"}"#, "slow"),
            (r#"{"detail":"slow"}"#, "slow"),
            (r#"{"detail":[{"loc":["body","tools"],"msg":"slow","input":"SOURCE"}]}"#, "tools: slow"),
            (r#"{"object":"error","message":{"detail":"slow"}}"#, "slow"),
            (r#"[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]"#, "slow"),
            ("slow\nand more", "slow"),
            ("event: error\ndata: {\"error\":{\"message\":\"slow\"}}\n\n", "slow"),
            ("\u{feff}{\"error\":\"slow\"}", "slow"),
            ("<html><body>502</body></html>", ""),
            ("", ""),
            ("{}", ""),
            ("[]", ""),
            ("null", ""),
        ] {
            assert_eq!(read(body).message, message, "{body}");
        }
    }

    #[test]
    fn words_and_statuses_are_read_in_any_type() {
        let azure = read(r#"{"error":{"code":"429","message":"x"}}"#);
        assert_eq!((azure.status, azure.code.as_str()), (Some(429), "429"));
        let router = read(r#"{"error":{"code":502,"message":"x","metadata":{"raw":"busy","provider_name":"P"}}}"#);
        assert_eq!((router.status, router.behind.as_str()), (Some(502), "busy"));
        assert!(router.says(&["busy"]));
        assert_eq!(read(r#"{"error":{"code":"1300","message":"x"}}"#).status, None);
    }

    #[test]
    fn the_evidence_holds_limits_and_nothing_of_request_or_answer() {
        let body = r#"{"error":{"message":"m","type":"tokens","failed_generation":"ANSWER","input":"PROMPT",
            "metadata":{"headers":{"X-RateLimit-Reset":"17"},"flagged_input":"PROMPT","raw":"r"},
            "details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"26s"},{"@type":"x/Help","links":"PROMPT"}]}}"#;
        let error = read(body);
        for part in ["\"tokens\"", "X-RateLimit-Reset", "26s", "\"raw\":\"r\""] {
            assert!(error.evidence.contains(part), "{part}: {}", error.evidence);
        }
        assert!(!error.evidence.contains("ANSWER") && !error.evidence.contains("PROMPT"), "{}", error.evidence);
        assert!(!read(r#"{"detail":[{"msg":"m","input":"PROMPT"}]}"#).evidence.contains("PROMPT"));
    }

    #[test]
    fn hostile_bodies_give_an_error_and_no_panic() {
        for body in ["[".repeat(100_000), "{\"error\":".repeat(100_000), "\u{0}".repeat(10), "data:".to_owned()] {
            let error = read(&body);
            assert!(error.message.chars().count() <= SENTENCE_CHARS + 1);
        }
        assert_eq!(read_error_body(&[0xff, 0xfe, b'<']).status, None);
    }
}
