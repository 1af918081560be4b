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

    /// What the first reader that knows the evidence makes of it. A reader that fails costs its reading only.
    pub(super) async fn read(&self, evidence: &Evidence) -> Vec<Reading> {
        let mut evidence = evidence.clone();
        if evidence.received_at_ms == 0 {
            evidence.received_at_ms = clock::now_ms();
        }
        let call = CallContext { now_ms: evidence.received_at_ms, ..CallContext::default() };
        for component in &self.0 {
            if let Ok(Some(reading)) = component.plugin.read_limits(&evidence, &call).await {
                return vec![reading];
            }
        }
        Vec::new()
    }
}
