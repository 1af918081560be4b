//! One call: a store, an instance in it, a deadline on both, and what is made of the engine's errors.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Engine, Store, Trap, UpdateDeadline};

use crate::engine::TICK;
use crate::error::{CallError, one_line};
use crate::guest::{Broken, Guest};
use crate::limits::{LimitName, Limits};
use crate::logs::LogSink;

/// What a call is told of the world.
#[derive(Clone, Default)]
pub struct CallContext {
    /// The moment at which the guest's clocks stand still, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Where the guest's randomness comes from.
    pub seed: [u8; 32],
    /// Time for this call instead of the limit of the plugin's kind. The caller has checked it against policy.
    pub deadline: Option<Duration>,
    /// Takes what the plugin says. Absent: it is thrown away.
    pub logs: Option<Arc<dyn LogSink>>,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("now_ms", &self.now_ms)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// How long after its deadline a guest may still be parked in a host call before the call is given up. A running guest
/// is ended by the epoch at its deadline; this is for one that does not run.
const GRACE: Duration = TICK.saturating_mul(2);

/// One instance of one plugin in a store of its own.
pub(crate) struct Session {
    pub(crate) store: Store<Guest>,
    pub(crate) instance: Instance,
    terms: Terms,
}

/// What a session is held to, and by what name it is called in messages.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) plugin: Arc<str>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) time: Duration,
    pub(crate) logs: Option<Arc<dyn LogSink>>,
}

impl Session {
    /// Instantiates. The time that it takes is part of the first call's.
    ///
    /// # Errors
    ///
    /// A limit that instantiation broke, or the trap of a start function.
    pub(crate) async fn open(
        engine: &Engine,
        pre: &InstancePre<Guest>,
        terms: Terms,
        call: &CallContext,
    ) -> Result<Self, CallError> {
        let deadline = terms.deadline();
        let mut store = Store::new(engine, Guest::new(&terms.limits, call, deadline));
        // Counts are read here and only here; `Guest::new` has set them.
        store.limiter(|guest| &mut guest.budget);
        store.set_hostcall_fuel(terms.limits.output_bytes);
        store.set_max_component_handles(terms.limits.handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            if Instant::now() >= context.data().deadline {
                return Err(Broken(LimitName::Time).into());
            }
            Ok(UpdateDeadline::Yield(1))
        });
        let made = bounded(deadline, pre.instantiate_async(&mut store)).await;
        match made {
            Ok(instance) => Ok(Self { store, instance, terms }),
            Err(error) => {
                terms.hand_over_logs(&store);
                Err(match terms.explain(&error) {
                    CallError::Trap { plugin, message } => CallError::Instantiate { plugin, message },
                    other => other,
                })
            }
        }
    }

    /// When the running call ends.
    pub(crate) fn deadline(&self) -> Instant {
        self.store.data().deadline
    }

    /// Gives the next call its own time.
    pub(crate) fn renew(&mut self) {
        self.store.data_mut().deadline = self.terms.deadline();
        self.store.set_epoch_deadline(1);
    }

    /// Ends a call: hands over its logs and names what went wrong.
    ///
    /// # Errors
    ///
    /// The call's.
    pub(crate) fn end<T>(&mut self, result: wasmtime::Result<T>) -> Result<T, CallError> {
        self.terms.hand_over_logs(&self.store);
        result.map_err(|error| self.terms.explain(&error))
    }
}

/// Waits for the engine, but not for ever.
///
/// # Errors
///
/// The engine's, or the time limit for a guest that is parked.
pub(crate) async fn bounded<T>(
    deadline: Instant,
    work: impl Future<Output = wasmtime::Result<T>>,
) -> wasmtime::Result<T> {
    match tokio::time::timeout_at((deadline + GRACE).into(), work).await {
        Ok(result) => result,
        Err(_) => Err(Broken(LimitName::Time).into()),
    }
}

/// The longest time that any call gets, whatever it was promised; keeps sums of times within bounds.
const LONGEST: Duration = Duration::from_secs(3600);

impl Terms {
    fn deadline(&self) -> Instant {
        Instant::now() + self.time.min(LONGEST)
    }

    fn hand_over_logs(&self, store: &Store<Guest>) {
        let logs = store.data().logs.take(&self.plugin, self.limits.log_bytes);
        let silent = logs.lines.is_empty() && logs.dropped_lines == 0;
        if let Some(sink) = self.logs.as_ref().filter(|_| !silent) {
            sink.logged(logs);
        }
    }

    fn explain(&self, error: &wasmtime::Error) -> CallError {
        let plugin = self.plugin.to_string();
        if let Some(limit) = broken_limit(error) {
            return CallError::Limit { plugin, limit, allowed: self.limits.allowed(limit, self.time) };
        }
        let message = match error.downcast_ref::<wasmtime_wasi::I32Exit>() {
            Some(exit) => format!("it exited with status {}", exit.0),
            None => match error.downcast_ref::<Trap>() {
                Some(trap) => trap.to_string(),
                None => one_line(error),
            },
        };
        CallError::Trap { plugin, message }
    }
}

/// The limit that an error of the engine is about. Counts and output are limits of the engine itself, which has no public
/// type for them, only these words; the tests of hostile guests fail when it changes them.
fn broken_limit(error: &wasmtime::Error) -> Option<LimitName> {
    if let Some(Broken(name)) = error.downcast_ref() {
        return Some(*name);
    }
    let words = error.root_cause().to_string();
    [
        ("resource limit exceeded: instance count", LimitName::Instances),
        ("resource limit exceeded: memory count", LimitName::Memories),
        ("resource limit exceeded: table count", LimitName::Tables),
        ("cannot allocate another handle", LimitName::Handles),
        ("too much data is being copied between the host and the guest", LimitName::Output),
    ]
    .into_iter()
    .find(|(prefix, _)| words.starts_with(prefix))
    .map(|(_, name)| name)
}
