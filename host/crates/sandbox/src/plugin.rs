//! A plugin that was admitted: what it is, and the way to a fresh instance of it.

use std::fmt;
use std::sync::Arc;

use assize_core::plugin::{Description, PluginError, PluginKind};
use wasmtime::component::InstancePre;

use crate::bindings::{analyzer, provider, rate_limits};
use crate::call::{CallContext, Session, Terms};
use crate::convert;
use crate::error::CallError;
use crate::guest::Guest;
use crate::sandbox::Ground;

/// A plugin. Cheap to clone; calls of one plugin run at once on as many instances as there are calls.
#[derive(Clone)]
pub struct Plugin(Arc<Admitted>);

pub(crate) struct Admitted {
    /// Holds the engine and the thread behind its deadlines alive.
    pub(crate) ground: Arc<Ground>,
    pub(crate) pre: InstancePre<Guest>,
    pub(crate) calls: Calls,
    pub(crate) name: Arc<str>,
    pub(crate) description: Description,
    pub(crate) sha256: String,
    pub(crate) size: u64,
}

/// Where the functions of the plugin's kind are among its exports.
pub(crate) enum Calls {
    Provider(provider::GuestIndices),
    RateLimit(rate_limits::GuestIndices),
    Analyzer(analyzer::GuestIndices),
}

impl Calls {
    /// # Errors
    ///
    /// A function that the component does not export.
    pub(crate) fn find(kind: PluginKind, pre: &InstancePre<Guest>) -> wasmtime::Result<Self> {
        Ok(match kind {
            PluginKind::Provider => Calls::Provider(provider::GuestIndices::new(pre)?),
            PluginKind::RateLimit => Calls::RateLimit(rate_limits::GuestIndices::new(pre)?),
            PluginKind::Analyzer => Calls::Analyzer(analyzer::GuestIndices::new(pre)?),
        })
    }
}

impl Plugin {
    pub(crate) fn new(admitted: Admitted) -> Self {
        Self(Arc::new(admitted))
    }

    /// SHA-256 of the component, 64 hex digits: what grants and lock files name it by.
    pub fn digest_sha256(&self) -> &str {
        &self.0.sha256
    }

    /// What it exports.
    pub fn kind(&self) -> PluginKind {
        self.0.description.kind
    }

    /// What it says of itself, checked.
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// Its name, out of the description.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Bytes of the component.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.0.calls
    }

    pub(crate) fn ground(&self) -> &Ground {
        &self.0.ground
    }

    pub(crate) async fn open(&self, call: &CallContext) -> Result<Session, CallError> {
        let limits = &self.0.ground.limits;
        let terms = Terms {
            plugin: self.0.name.clone(),
            limits: limits.clone(),
            time: call.deadline.unwrap_or_else(|| limits.time(self.kind())),
            logs: call.logs.clone(),
        };
        Session::open(&self.0.ground.engine, &self.0.pre, terms, call).await
    }

    pub(crate) fn wrong_kind(&self, wanted: PluginKind) -> CallError {
        CallError::wrong_kind(&self.0.name, self.kind(), wanted)
    }

    /// The plugin's own error, with its name.
    pub(crate) fn refusal(&self, error: crate::bindings::types::PluginError) -> CallError {
        let error: PluginError = convert::plugin_error(error);
        CallError::Plugin { plugin: self.0.name.to_string(), error }
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin").field("name", &self.0.name).field("sha256", &self.0.sha256).finish_non_exhaustive()
    }
}
