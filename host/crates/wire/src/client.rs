//! The client: built once a run, shared by requests and gateways.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{WireError, explain};
use crate::origin::{HostPort, Target};
use crate::proxy::Proxies;
use crate::reach::{GuardedLookup, Lookup, Reach, SystemLookup};
use crate::tls::Trust;

/// How a client reaches the world. The default: no bundle, no proxy, nothing private, nothing plain but loopback.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// PEM file of certificate authorities to trust beside the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Proxies.
    pub proxies: Proxies,
    /// What was granted by address: an address may be connected to under any name, a name may have private addresses.
    pub allow_private: Vec<HostPort>,
    /// Hosts beside loopback that may be asked over plain `http`.
    pub allow_plain: Vec<HostPort>,
    /// `user-agent` of requests that have none.
    pub user_agent: String,
    /// Until a connection is made, TLS included.
    pub connect_timeout: Duration,
    /// Between two parts of an event stream.
    pub idle_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            ca_bundle: None,
            proxies: Proxies::default(),
            allow_private: Vec::new(),
            allow_plain: Vec::new(),
            user_agent: concat!("assize/", env!("CARGO_PKG_VERSION")).to_owned(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// Sends requests to what was granted. Cheap to clone; clones share connections.
///
/// Defaults that nothing lifts: certificates are checked, no cookie is kept, no redirect leaves its origin, no
/// environment is read, an address is judged when it is connected to.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

/// Scheme, host and port.
type Origin = (String, String, u16);

struct Shared {
    options: HttpOptions,
    reach: Arc<Reach>,
    trust: Trust,
    lookup: Arc<dyn Lookup>,
    /// One for each origin, so that a resolver knows for which port it answers. Origins are granted, hence few.
    clients: Mutex<HashMap<Origin, reqwest::Client>>,
}

impl HttpClient {
    /// Reads the bundle. Opens no connection.
    ///
    /// # Errors
    ///
    /// The bundle cannot be used.
    pub fn new(options: HttpOptions) -> Result<Self, WireError> {
        Self::with_lookup(options, Arc::new(SystemLookup))
    }

    pub(crate) fn with_lookup(options: HttpOptions, lookup: Arc<dyn Lookup>) -> Result<Self, WireError> {
        let trust = Trust::with_bundle(options.ca_bundle.as_deref())?;
        let reach = Reach {
            private: options.allow_private.clone(),
            plain: options.allow_plain.clone(),
            proxies: options.proxies.hosts(),
        };
        let shared = Shared { options, reach: Arc::new(reach), trust, lookup, clients: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn options(&self) -> &HttpOptions {
        &self.shared.options
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.shared.reach
    }

    /// One exchange up to the head of the answer: no redirect, no decoding, no time limit but that of connecting.
    pub(crate) async fn exchange(
        &self,
        target: &Target,
        request: reqwest::Request,
    ) -> Result<reqwest::Response, WireError> {
        let client = self.client_of(target)?;
        client.execute(request).await.map_err(|failed| self.explain(target, &failed))
    }

    pub(crate) fn explain(&self, target: &Target, failed: &reqwest::Error) -> WireError {
        explain(&target.name(), self.shared.options.connect_timeout, failed)
    }

    fn client_of(&self, target: &Target) -> Result<reqwest::Client, WireError> {
        let mut clients = self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = (target.url.scheme().to_owned(), target.host.clone(), target.port);
        if let Some(client) = clients.get(&origin) {
            return Ok(client.clone());
        }
        let client = self.build(target)?;
        clients.insert(origin, client.clone());
        Ok(client)
    }

    fn build(&self, target: &Target) -> Result<reqwest::Client, WireError> {
        let Shared { options, reach, trust, lookup, .. } = &*self.shared;
        let guarded = GuardedLookup { reach: Arc::clone(reach), lookup: Arc::clone(lookup), port: target.port };
        let bare = target.url.scheme() == "http" && options.proxies.hosts().is_empty();
        let tls = if bare { Trust::none()? } else { trust.config()? };
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(tls)
            .dns_resolver(guarded)
            .connect_timeout(options.connect_timeout)
            .user_agent(&options.user_agent)
            .referer(false);
        for proxy in options.proxies.for_client()? {
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(|failed| WireError::Build(failed.to_string()))
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}
