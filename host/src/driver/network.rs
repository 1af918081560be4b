//! The way to the network, made once a run from what the user has configured.

use std::str::FromStr;

use assize_core::grant::GrantKind;
use assize_wire::{HostPort, HttpClient, HttpOptions, Proxies, WireError, host_of};

use crate::components::RunLane;
use crate::config::Settings;

/// The client of a run. Addresses in private networks, and those without TLS, are reached only where the user has named
/// them: in `[network]`, as a provider's `base_url`, or in the variable that a program takes its address from.
pub(super) fn http_client(settings: &Settings, lanes: &[RunLane]) -> Result<HttpClient, WireError> {
    let mut named = Vec::new();
    for host in &settings.user.network.private {
        named.push(HostPort::from_str(host)?);
    }
    for lane in lanes {
        let base = lane.config.get("base_url").and_then(serde_json::Value::as_str);
        let variables = lane.grants.iter().filter(|g| g.kind == GrantKind::Secret && g.name.ends_with("_BASE_URL"));
        let urls = variables.filter_map(|grant| settings.environment.get(&grant.name));
        for url in base.into_iter().chain(urls).filter(|url| !url.is_empty()) {
            named.push(host_of(url)?);
        }
    }
    HttpClient::new(HttpOptions {
        ca_bundle: settings.user.network.ca_bundle.clone(),
        proxies: Proxies::from_map(settings.environment.all())?,
        allow_plain: named.clone(),
        allow_private: named,
        user_agent: concat!("assize/", env!("CARGO_PKG_VERSION")).to_owned(),
        ..HttpOptions::default()
    })
}
