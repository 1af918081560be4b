//! The component's edge: generated bindings and conversions without thought.
#![allow(unsafe_code, missing_docs, clippy::all)]

use crate::describe::{CONFIG_SCHEMA, PROVIDERS};
use crate::reading;

wit_bindgen::generate!({ path: "../../wit/v0.1", world: "rate-limit-plugin" });

use assize::plugin::types::{Description, Evidence, Service};
use exports::assize::plugin::{plugin, rate_limits};

struct Component;

impl plugin::Guest for Component {
    fn describe() -> Description {
        Description {
            name: "anthropic".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reads the limits that Anthropic's services and Claude Code tell".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            kind: "rate-limit".to_owned(),
            serves: PROVIDERS
                .iter()
                .map(|name| Service { kind: "provider".to_owned(), value: (*name).to_owned() })
                .collect(),
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }
}

impl rate_limits::Guest for Component {
    fn read(evidence: Evidence) -> Option<rate_limits::Reading> {
        let evidence = reading::Evidence {
            provider: evidence.provider,
            model: evidence.model,
            status: evidence.status,
            headers: evidence.headers,
            text: evidence.text,
            received_at_ms: evidence.received_at_ms,
        };
        crate::read::read_evidence(&evidence).map(Into::into)
    }
}

impl From<reading::Reading> for rate_limits::Reading {
    fn from(from: reading::Reading) -> Self {
        Self {
            limits: from.limits.into_iter().map(Into::into).collect(),
            throttled: from.throttled,
            retry_after_ms: from.retry_after_ms,
            extra: from.extra,
        }
    }
}

impl From<reading::Limit> for rate_limits::Limit {
    fn from(from: reading::Limit) -> Self {
        Self {
            dimension: from.dimension,
            window_seconds: from.window_seconds,
            limit: from.limit,
            remaining: from.remaining,
            resets_at_ms: from.resets_at_ms,
            scope: from.scope,
            extra: from.extra,
        }
    }
}

export!(Component);
