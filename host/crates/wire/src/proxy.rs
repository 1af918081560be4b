//! Proxies, from variables that the caller has read.

use std::collections::BTreeMap;

use reqwest::NoProxy;

use crate::error::WireError;
use crate::origin::Target;

/// The proxies of a run. Where one is used it is the proxy that looks the name up: the addresses behind the name are
/// then its business, while names and addresses written as such are still checked here.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    none: String,
    hosts: Vec<String>,
}

/// Loopback is this machine's own: a proxy would look for it on another one.
const NEVER: &str = "localhost,127.0.0.0/8,::1";

impl Proxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in lower or upper case, the lower first; other
    /// variables are left alone. An empty value is none.
    ///
    /// # Errors
    ///
    /// A variable is no `http` or `https` URL with a host; its value, which may hold a password, is not in the message.
    pub fn from_map(variables: &BTreeMap<String, String>) -> Result<Self, WireError> {
        let mut found = Self { none: NEVER.to_owned(), ..Self::default() };
        let all = read(variables, "ALL_PROXY")?;
        for (variable, slot) in [("HTTP_PROXY", &mut found.http), ("HTTPS_PROXY", &mut found.https)] {
            if let Some((url, host)) = read(variables, variable)?.or_else(|| all.clone()) {
                *slot = Some(url);
                found.hosts.push(host);
            }
        }
        if let Some((_, list)) = value(variables, "NO_PROXY") {
            found.none = format!("{NEVER},{list}");
        }
        Ok(found)
    }

    /// Names and addresses of the proxies themselves.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }

    /// For the client.
    pub(crate) fn for_client(&self) -> Result<Vec<reqwest::Proxy>, WireError> {
        let none = || NoProxy::from_string(&self.none);
        let mut proxies = Vec::new();
        for (url, make) in [
            (&self.http, reqwest::Proxy::http::<String> as fn(String) -> reqwest::Result<reqwest::Proxy>),
            (&self.https, reqwest::Proxy::https::<String>),
        ] {
            if let Some(url) = url {
                let proxy = make(url.clone()).map_err(|_| WireError::Build("a proxy was refused".to_owned()))?;
                proxies.push(proxy.no_proxy(none()));
            }
        }
        Ok(proxies)
    }
}

impl std::fmt::Debug for Proxies {
    /// Hosts alone: the addresses may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxies").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

fn value<'a>(variables: &'a BTreeMap<String, String>, name: &str) -> Option<(String, &'a str)> {
    [name.to_ascii_lowercase(), name.to_owned()].into_iter().find_map(|name| {
        let value = variables.get(&name)?.trim();
        (!value.is_empty()).then_some((name, value))
    })
}

/// URL and host of a proxy. One without a scheme is `http`, as other programs read it.
fn read(variables: &BTreeMap<String, String>, name: &str) -> Result<Option<(String, String)>, WireError> {
    let Some((variable, text)) = value(variables, name) else { return Ok(None) };
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let refuse = |reason| WireError::Proxy { variable: variable.clone(), reason };
    let url = url::Url::parse(&full).map_err(|_| refuse("it is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("only http and https proxies are supported"));
    }
    let mut bare = url.clone();
    // Both are refused only for URLs without a host, which the next line refuses.
    let _ = (bare.set_username(""), bare.set_password(None));
    let host = Target::of(bare).map_err(|_| refuse("it has no host"))?.host;
    Ok(Some((url.to_string(), host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn lower_case_comes_first_and_all_fills_in() {
        let read = Proxies::from_map(&map(&[
            ("HTTPS_PROXY", "http://upper.example:1"),
            ("https_proxy", "lower.example:2"),
            ("ALL_PROXY", "http://all.example:3"),
            ("NO_PROXY", "a.example"),
        ]))
        .unwrap();
        assert_eq!(read.https.as_deref(), Some("http://lower.example:2/"));
        assert_eq!(read.http.as_deref(), Some("http://all.example:3/"));
        assert_eq!(read.hosts(), ["all.example", "lower.example"]);
        assert!(read.none.ends_with(",a.example"));
    }

    #[test]
    fn debug_output_shows_no_password() {
        let read = Proxies::from_map(&map(&[("HTTPS_PROXY", "http://me:hush@p.example:1")])).unwrap();
        assert_eq!(read.hosts(), ["p.example"]);
        assert!(!format!("{read:?}").contains("hush"));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_that_hides_its_password() {
        let error = Proxies::from_map(&map(&[("ALL_PROXY", "socks5://me:hush@p.example:1")])).unwrap_err();
        assert_eq!(error.kind(), "invalid");
        assert!(error.to_string().contains("ALL_PROXY") && !error.to_string().contains("hush"), "{error}");
        assert!(Proxies::from_map(&map(&[("HTTP_PROXY", "  ")])).unwrap().http.is_none());
    }
}
