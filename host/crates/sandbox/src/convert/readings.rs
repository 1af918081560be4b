//! Evidence, readings and plugin errors.

use assize_core::plugin::{Evidence, Limit, PluginError, Reading};

use crate::bindings::{rate_limits as wit, types};

pub(crate) fn evidence_in(evidence: &Evidence) -> types::Evidence {
    let Evidence { provider, model, status, headers, text, received_at_ms, extra } = evidence.clone();
    types::Evidence { provider, model, status, headers, text, received_at_ms, extra }
}

pub(crate) fn evidence(evidence: types::Evidence) -> Evidence {
    let types::Evidence { provider, model, status, headers, text, received_at_ms, extra } = evidence;
    Evidence { provider, model, status, headers, text, received_at_ms, extra }
}

pub(crate) fn reading(reading: wit::Reading) -> Reading {
    let wit::Reading { limits, throttled, retry_after_ms, extra } = reading;
    Reading { limits: limits.into_iter().map(limit).collect(), throttled, retry_after_ms, extra }
}

fn limit(limit: wit::Limit) -> Limit {
    let wit::Limit { dimension, window_seconds, limit, remaining, resets_at_ms, scope, extra } = limit;
    Limit { dimension, window_seconds, limit, remaining, resets_at_ms, scope, extra }
}

pub(crate) fn plugin_error(error: types::PluginError) -> PluginError {
    match error {
        types::PluginError::InvalidConfiguration(text) => PluginError::InvalidConfiguration(text),
        types::PluginError::Unsupported(text) => PluginError::Unsupported(text),
        types::PluginError::MalformedInput(text) => PluginError::MalformedInput(text),
        types::PluginError::Internal(text) => PluginError::Internal(text),
    }
}
