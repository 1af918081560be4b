//! Reads a limit out of every header that is called `left`, and says in the reading what it was told.
#![cfg(target_family = "wasm")]

wit_bindgen::generate!({ world: "rate-limit-plugin", path: "../../wit/v0.1" });

use assize::plugin::types::{Description, Evidence, Request, Service};
use exports::assize::plugin::rate_limits::{Limit, Reading};

struct Component;

impl exports::assize::plugin::plugin::Guest for Component {
    fn describe() -> Description {
        Description {
            name: "honest-rate-limit".to_owned(),
            version: "1.2.3-rc.1+build".to_owned(),
            summary: "Reads limits.".to_owned(),
            license: "MIT".to_owned(),
            kind: "rate-limit".to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "honest".to_owned() }],
            config_schema: "{\"type\":\"object\"}".to_owned(),
            requests: vec![Request {
                kind: "host".to_owned(),
                name: "example.com".to_owned(),
                reason: "None; it shows the form.".to_owned(),
            }],
            extra: vec![("a".to_owned(), "b".to_owned())],
        }
    }
}

impl exports::assize::plugin::rate_limits::Guest for Component {
    fn read(evidence: Evidence) -> Option<Reading> {
        let limits: Vec<Limit> = evidence
            .headers
            .iter()
            .filter(|(name, _)| name == "left")
            .map(|(_, value)| Limit {
                dimension: "requests".to_owned(),
                window_seconds: Some(60),
                limit: None,
                remaining: value.parse().ok(),
                resets_at_ms: Some(evidence.received_at_ms + 1),
                scope: evidence.model.clone().unwrap_or_default(),
                extra: evidence.extra.clone(),
            })
            .collect();
        if limits.is_empty() && evidence.status.is_none() {
            return None;
        }
        Some(Reading {
            limits,
            throttled: evidence.status == Some(429),
            retry_after_ms: Some(evidence.text.len() as u64),
            extra: vec![("provider".to_owned(), evidence.provider)],
        })
    }
}

export!(Component);
