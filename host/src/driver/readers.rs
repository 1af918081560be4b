//! The readers of limits of one lane, asked in their order until one of them answers.

use assize_core::plugin::{Evidence, Reading};
use assize_sandbox::CallContext;

use crate::clock;
use crate::components::Component;

/// The readers of one lane.
pub(super) struct Readers(Vec<Component>);

impl Readers {
    pub(super) fn new(components: Vec<Component>) -> Self {
        Self(components)
    }

    /// What the readers make of the evidence. The first one that knows it is enough, unless it says no more than that a
    /// limit said no: then the next ones may know when it is over.
    pub(super) async fn read(&self, evidence: &Evidence) -> Vec<Reading> {
        let mut evidence = evidence.clone();
        if evidence.received_at_ms == 0 {
            evidence.received_at_ms = clock::now_ms();
        }
        let mut readings = self.ask(&evidence).await;
        let open = !readings.is_empty() && !readings.iter().any(names_an_end);
        if open && evidence.status.is_some() && evidence.headers.is_empty() {
            // A program's own sentence with a status that its plugin knows: readers of such sentences expect none.
            evidence.status = None;
            readings.extend(self.ask(&evidence).await.into_iter().filter(names_an_end));
        }
        readings
    }

    /// Asks in the order of the readers until one says enough. A reader that fails costs its reading only.
    async fn ask(&self, evidence: &Evidence) -> Vec<Reading> {
        let call = CallContext { now_ms: evidence.received_at_ms, ..CallContext::default() };
        let mut readings = Vec::new();
        for component in &self.0 {
            if let Ok(Some(reading)) = component.plugin.read_limits(evidence, &call).await {
                let enough = !reading.throttled || names_an_end(&reading);
                readings.push(reading);
                if enough {
                    break;
                }
            }
        }
        readings
    }
}

/// Whether a reading says when a limit is over.
fn names_an_end(reading: &Reading) -> bool {
    reading.retry_after_ms.is_some() || reading.limits.iter().any(|limit| limit.resets_at_ms.is_some())
}
