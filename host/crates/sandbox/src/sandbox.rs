//! The sandbox: one engine, one linker, one cache; components come in, plugins go out.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use assize_core::plugin::{Description, PluginKind};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use crate::admit::check_component;
use crate::bindings::{plugin, types};
use crate::cache::{Cache, CacheEvent, Entry};
use crate::call::{CallContext, Session, Terms, bounded};
use crate::describe::check_description;
use crate::engine::{Ticker, open_engine, open_linker};
use crate::error::{CallError, Refused, SandboxError, one_line};
use crate::guest::Guest;
use crate::limits::Limits;
use crate::plugin::{Admitted, Calls, Plugin};

/// How a sandbox is set up. The default has the default limits and no cache.
#[derive(Clone, Default)]
pub struct SandboxOptions {
    /// Limits of every call.
    pub limits: Limits,
    /// Directory of compiled code, made private to the user when it does not exist. Absent: components are compiled in
    /// every run.
    pub cache_dir: Option<PathBuf>,
    /// Secret key of the cache. Whoever knows it and can write to the directory runs code in this process.
    pub cache_key: [u8; 32],
    /// Bytes of address space for each linear memory, for machines that cap it. Absent: the engine's choice, 4 GiB.
    pub memory_reservation: Option<u64>,
}

/// Admits components. Everything it admitted lives on when it is dropped.
pub struct Sandbox {
    ground: Arc<Ground>,
    linker: Linker<Guest>,
    cache: Option<Cache>,
}

/// What plugins stand on: the engine, its limits, and the thread behind its deadlines.
pub(crate) struct Ground {
    pub(crate) engine: Engine,
    pub(crate) limits: Arc<Limits>,
    _ticker: Ticker,
}

impl Sandbox {
    /// Sets it up; starts the thread that advances deadlines, which ends with the last plugin.
    ///
    /// # Errors
    ///
    /// When the machine lacks what the engine needs.
    pub fn new(options: SandboxOptions) -> Result<Self, SandboxError> {
        let engine = open_engine(options.memory_reservation)?;
        let linker = open_linker(&engine).map_err(|error| SandboxError::Engine { message: one_line(&error) })?;
        let ticker = Ticker::start(&engine)?;
        let cache = options.cache_dir.map(|dir| Cache::new(dir, options.cache_key));
        let ground = Ground { engine, limits: Arc::new(options.limits), _ticker: ticker };
        Ok(Self { ground: Arc::new(ground), linker, cache })
    }

    /// Makes a plugin of a component; `origin` is the path or name that refusals begin with.
    ///
    /// Compiles on this thread (and the engine's helpers), from milliseconds to many seconds for a language runtime;
    /// with a warm cache it neither compiles nor runs anything.
    ///
    /// # Errors
    ///
    /// The reason against the component, in one line.
    pub fn admit(&self, bytes: &[u8], origin: &str) -> Result<Plugin, Refused> {
        let kind = check_component(bytes, origin, &self.ground.limits)?;
        let sha256: [u8; 32] = Sha256::digest(bytes).into();
        let place = self.cache.as_ref().map(|cache| (cache, cache.place(&self.ground.engine, &sha256)));
        let cached = place.as_ref().and_then(|(cache, place)| cache.load(&self.ground.engine, place));
        let (pre, description) = match cached {
            Some(Entry { component, description }) => (self.link(&component, origin)?, description),
            None => {
                let component = self.compile(bytes, origin)?;
                let pre = self.link(&component, origin)?;
                let description = self.describe(&pre, kind, origin)?;
                if let Some((cache, place)) = &place {
                    cache.store(place, &component, &description);
                }
                (pre, description)
            }
        };
        let calls = Calls::find(kind, &pre).map_err(|error| mismatch(origin, &error))?;
        Ok(Plugin::new(Admitted {
            ground: self.ground.clone(),
            pre,
            calls,
            name: description.name.as_str().into(),
            description,
            sha256: sha256.iter().map(|byte| format!("{byte:02x}")).collect(),
            size: bytes.len() as u64,
        }))
    }

    /// What the cache did since the last time, oldest first, of which the last few hundred are kept.
    pub fn take_cache_events(&self) -> Vec<CacheEvent> {
        self.cache.as_ref().map(Cache::take_events).unwrap_or_default()
    }

    fn compile(&self, bytes: &[u8], origin: &str) -> Result<Component, Refused> {
        Component::from_binary(&self.ground.engine, bytes)
            .map_err(|error| Refused::Compile { origin: origin.to_owned(), problem: one_line(&error) })
    }

    fn link(&self, component: &Component, origin: &str) -> Result<InstancePre<Guest>, Refused> {
        self.linker.instantiate_pre(component).map_err(|error| mismatch(origin, &error))
    }

    /// Asks the component what it is and checks the answer and the types of its functions.
    fn describe(&self, pre: &InstancePre<Guest>, kind: PluginKind, origin: &str) -> Result<Description, Refused> {
        let host = |problem: String| Refused::Host { origin: origin.to_owned(), problem };
        // Admission is not asynchronous, calls are: a thread of its own works inside and outside of a runtime.
        let asked = thread::scope(|scope| {
            let thread = thread::Builder::new().name("assize-describe".to_owned());
            let asking = thread.spawn_scoped(scope, || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
                Ok(runtime.block_on(ask(&self.ground, pre, kind, origin)))
            });
            match asking.map(|thread| thread.join()) {
                Ok(Ok(asked)) => asked.map_err(|error: std::io::Error| host(error.to_string())),
                Ok(Err(_)) => Err(host("the thread that asks for its description failed".to_owned())),
                Err(error) => Err(host(error.to_string())),
            }
        });
        check_description(asked??, kind).map_err(|fault| Refused::Description {
            origin: origin.to_owned(),
            field: fault.field,
            problem: fault.problem,
        })
    }
}

/// One call of `describe`, under the limits of the shortest kind of call.
async fn ask(
    ground: &Ground,
    pre: &InstancePre<Guest>,
    kind: PluginKind,
    origin: &str,
) -> Result<types::Description, Refused> {
    let failed = |source: CallError| Refused::Describe { origin: origin.to_owned(), source };
    let terms =
        Terms { plugin: origin.into(), limits: ground.limits.clone(), time: ground.limits.rate_limit_time, logs: None };
    let call = CallContext::default();
    let mut session = Session::open(&ground.engine, pre, terms, &call).await.map_err(failed)?;
    let fits = check_types(&mut session, pre, kind).map_err(|error| mismatch(origin, &error))?;
    let described = bounded(session.deadline(), fits.call_describe(&mut session.store)).await;
    session.end(described).map_err(failed)
}

/// Compares the type of every function that will be called with the interface.
fn check_types(session: &mut Session, pre: &InstancePre<Guest>, kind: PluginKind) -> wasmtime::Result<plugin::Guest> {
    let (store, instance) = (&mut session.store, &session.instance);
    match Calls::find(kind, pre)? {
        Calls::Provider(indices) => indices.load(&mut *store, instance).map(|_| ())?,
        Calls::RateLimit(indices) => indices.load(&mut *store, instance).map(|_| ())?,
        Calls::Analyzer(indices) => indices.load(&mut *store, instance).map(|_| ())?,
    }
    plugin::GuestIndices::new(pre)?.load(store, instance)
}

fn mismatch(origin: &str, error: &wasmtime::Error) -> Refused {
    Refused::Mismatch { origin: origin.to_owned(), problem: one_line(error) }
}
