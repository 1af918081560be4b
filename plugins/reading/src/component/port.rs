//! A [`LimitReader`] behind the generated traits.

use std::marker::PhantomData;

use super::bindings::assize::plugin::types as wire_types;
use super::bindings::exports::assize::plugin::{plugin, rate_limits as wire};
use crate::describe::{CONFIG_SCHEMA, LimitReader};
use crate::reading::{Evidence, Limit, Reading};

/// The component whose reader is `R`.
pub struct Port<R>(PhantomData<R>);

impl<R: LimitReader> plugin::Guest for Port<R> {
    fn describe() -> wire_types::Description {
        let service = |name: &&str| wire_types::Service { kind: "provider".to_owned(), value: (*name).to_owned() };
        wire_types::Description {
            name: R::NAME.to_owned(),
            version: R::VERSION.to_owned(),
            summary: R::SUMMARY.to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            kind: "rate-limit".to_owned(),
            serves: R::PROVIDERS.iter().map(service).collect(),
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }
}

impl<R: LimitReader> wire::Guest for Port<R> {
    fn read(evidence: wire::Evidence) -> Option<wire::Reading> {
        R::read(&evidence.into()).map(Into::into)
    }
}

impl From<wire::Evidence> for Evidence {
    fn from(from: wire::Evidence) -> Self {
        Self {
            provider: from.provider,
            model: from.model,
            status: from.status,
            headers: from.headers,
            text: from.text,
            received_at_ms: from.received_at_ms,
            extra: from.extra,
        }
    }
}

impl From<Reading> for wire::Reading {
    fn from(from: Reading) -> Self {
        Self {
            limits: from.limits.into_iter().map(Into::into).collect(),
            throttled: from.throttled,
            retry_after_ms: from.retry_after_ms,
            extra: from.extra,
        }
    }
}

impl From<Limit> for wire::Limit {
    fn from(from: Limit) -> Self {
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
