//! Calls of rate-limit plugins.

use assize_core::plugin::{Evidence, PluginKind, Reading};

use crate::call::{CallContext, bounded};
use crate::convert;
use crate::error::CallError;
use crate::plugin::{Calls, Plugin};

impl Plugin {
    /// Reads limits out of one piece of evidence; `None` when it says nothing of limits.
    ///
    /// # Errors
    ///
    /// Of the call, or that this is not a rate-limit plugin.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn read_limits(&self, evidence: &Evidence, call: &CallContext) -> Result<Option<Reading>, CallError> {
        let Calls::RateLimit(indices) = self.calls() else {
            return Err(self.wrong_kind(PluginKind::RateLimit));
        };
        let mut session = self.open(call).await?;
        let evidence = convert::evidence_in(evidence);
        let result = match indices.load(&mut session.store, &session.instance) {
            Ok(guest) => bounded(session.deadline(), guest.call_read(&mut session.store, &evidence)).await,
            Err(error) => Err(error),
        };
        Ok(session.end(result)?.map(convert::reading))
    }
}
