//! Launches: the one kind of call that keeps its store, from start to conclusion.

use assize_core::plugin::{EffectEvent, LaunchRequest, PluginKind, Step};
use wasmtime::component::ResourceAny;

use crate::bindings::provider;
use crate::call::{CallContext, Session, bounded};
use crate::convert;
use crate::error::CallError;
use crate::limits::LimitName;
use crate::plugin::{Calls, Plugin};

/// One launch of a provider. Dropping it ends it.
pub struct Launch {
    plugin: Plugin,
    steps: u32,
    state: State,
}

enum State {
    Open(Box<Open>),
    /// And why.
    Over(String),
}

struct Open {
    session: Session,
    guest: provider::Guest,
    launch: ResourceAny,
}

impl Plugin {
    /// Starts a launch. Its clocks stand still at the call's moment for all of its steps.
    ///
    /// # Errors
    ///
    /// Of the call, of the plugin, or that this is not a provider.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub async fn start_launch(&self, request: LaunchRequest, call: &CallContext) -> Result<Launch, CallError> {
        let Calls::Provider(indices) = self.calls() else {
            return Err(self.wrong_kind(PluginKind::Provider));
        };
        let mut session = self.open(call).await?;
        let request = convert::launch_request_in(request);
        let loaded = indices.load(&mut session.store, &session.instance);
        let guest = session.end(loaded)?;
        let started = bounded(session.deadline(), guest.launch().call_start(&mut session.store, &request)).await;
        let launch = session.end(started)?.map_err(|error| self.refusal(error))?;
        let state = State::Open(Box::new(Open { session, guest, launch }));
        Ok(Launch { plugin: self.clone(), steps: 0, state })
    }
}

impl Launch {
    /// The plugin that runs it.
    pub fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Steps so far.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// What happens next: `None` at first, then what the effect before brought.
    ///
    /// Not to be raced against anything: a future of this that is dropped before its end ends the launch.
    ///
    /// # Errors
    ///
    /// Of the call, or of the plugin, or that no step is left. A trap or a limit ends the launch; after an error that
    /// the plugin returned it may be asked again.
    pub async fn next(&mut self, event: Option<EffectEvent>) -> Result<Step, CallError> {
        let allowed = self.plugin.ground().limits.steps;
        if self.steps >= allowed && matches!(self.state, State::Open(_)) {
            self.state = State::Over(format!("it took more than {allowed} steps"));
            return Err(CallError::Limit {
                plugin: self.plugin.name().to_owned(),
                limit: LimitName::Steps,
                allowed: self.plugin.ground().limits.allowed(LimitName::Steps, Default::default()),
            });
        }
        // Whatever ends this function early leaves the launch over.
        let mut open = match std::mem::replace(&mut self.state, State::Over("a step was given up".to_owned())) {
            State::Open(open) => open,
            State::Over(reason) => {
                self.state = State::Over(reason.clone());
                return Err(CallError::Over { plugin: self.plugin.name().to_owned(), reason });
            }
        };
        self.steps += 1;
        let event = event.map(convert::event_in);
        let Open { session, guest, launch } = &mut *open;
        session.renew();
        let deadline = session.deadline();
        let result = bounded(deadline, guest.launch().call_next(&mut session.store, *launch, event.as_ref())).await;
        let answer = match session.end(result) {
            Ok(answer) => answer,
            Err(error) => {
                self.state = State::Over(error.to_string());
                return Err(error);
            }
        };
        match answer.map(convert::step) {
            Ok(Step::Done(conclusion)) => {
                self.state = State::Over("it has concluded".to_owned());
                Ok(Step::Done(conclusion))
            }
            Ok(step) => {
                self.state = State::Open(open);
                Ok(step)
            }
            Err(error) => {
                self.state = State::Open(open);
                Err(self.plugin.refusal(error))
            }
        }
    }
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("plugin", &self.plugin).field("steps", &self.steps).finish_non_exhaustive()
    }
}
