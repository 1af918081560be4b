//! Hosts and ports as grants name them, and the addresses that may be requested.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

use crate::error::WireError;

/// A host, with a port where one was given. Lower case, punycode, IPv6 without brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// Name or address.
    pub host: String,
    /// Absent where any port, or the scheme's own, is meant.
    pub port: Option<u16>,
}

impl HostPort {
    /// Whether this entry, read as a permission, is about this host and port.
    pub(crate) fn covers(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port.is_none_or(|own| own == port)
    }

    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for HostPort {
    type Err = WireError;

    /// Reads `NAME`, `NAME:PORT`, `ADDRESS`, `[ADDRESS]:PORT`.
    fn from_str(text: &str) -> Result<Self, WireError> {
        if text.contains(['/', '?', '#', '@', '*', '\\']) {
            return Err(WireError::Address { reason: "a host is a name or an address, and may have a port" });
        }
        let bare = text.parse::<std::net::Ipv6Addr>().is_ok();
        let full = if bare { format!("http://[{text}]/") } else { format!("http://{text}/") };
        let read = host_of(&full)?;
        // The scheme's own port is dropped by the reader of addresses, though here it was asked for.
        let port = if !bare && text.ends_with(":80") { Some(80) } else { read.port };
        Ok(Self { host: read.host, port })
    }
}

/// Host and, where it is not the scheme's own, port of a URL, as the client will connect to it.
///
/// # Errors
///
/// The text is no `http` or `https` URL with a host, or it carries a user or password.
pub fn host_of(url: &str) -> Result<HostPort, WireError> {
    let url = read_url(url)?;
    Ok(HostPort { host: host_name(&url)?, port: url.port() })
}

/// An address that may be requested, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub url: Url,
    /// Name or address, IPv6 without brackets.
    pub host: String,
    pub port: u16,
}

impl Target {
    /// Reads a URL. Nothing is granted by that.
    pub fn read(text: &str) -> Result<Self, WireError> {
        Self::of(read_url(text)?)
    }

    pub fn of(url: Url) -> Result<Self, WireError> {
        let host = host_name(&url)?;
        let port = url.port_or_known_default().ok_or(WireError::Address { reason: "it has no port" })?;
        Ok(Self { url, host, port })
    }

    /// Host and port for messages.
    pub fn name(&self) -> String {
        HostPort { host: self.host.clone(), port: self.url.port() }.to_string()
    }

    /// The address itself where the host is one.
    pub fn literal(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

fn read_url(text: &str) -> Result<Url, WireError> {
    let url = Url::parse(text).map_err(|_| WireError::Address { reason: "it is no URL" })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(WireError::Address { reason: "it is neither https nor http" });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WireError::Address {
            reason: "it carries a user or a password; name a secret for a header instead",
        });
    }
    Ok(url)
}

fn host_name(url: &Url) -> Result<String, WireError> {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() { Err(WireError::Address { reason: "it has no host" }) } else { Ok(name.to_owned()) }
        }
        Some(Host::Ipv4(address)) => Ok(address.to_string()),
        Some(Host::Ipv6(address)) => Ok(address.to_string()),
        None => Err(WireError::Address { reason: "it has no host" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(url: &str) -> String {
        host_of(url).map_or_else(|error| format!("{} {error}", error.kind()), |host| host.to_string())
    }

    #[test]
    fn a_host_is_what_the_client_connects_to() {
        for (url, expected) in [
            ("https://API.Example/v1?x=1#f", "api.example"),
            ("https://api.example:443/", "api.example"),
            ("https://api.example:8443", "api.example:8443"),
            ("https://api.example./", "api.example"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("http://[::1]:80/", "[::1]"),
            ("http://[::FFFF:10.0.0.1]:81/", "[::ffff:10.0.0.1]:81"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f.1:90/", "127.0.0.1:90"),
            ("https:\\\\api.example\\x", "api.example"),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for url in [
            "https://user@api.example/",
            "https://:pw@api.example/",
            "ftp://api.example/",
            "api.example",
            "https://",
            "",
        ] {
            assert!(host(url).starts_with("invalid "), "{url}: {}", host(url));
        }
    }

    #[test]
    fn a_permission_is_read_as_it_is_written() {
        for text in ["10.0.0.5", "10.0.0.5:8080", "[::1]:8080", "ollama.lan", "ollama.lan:80"] {
            let read: HostPort = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("::1".parse::<HostPort>().unwrap().to_string(), "[::1]");
        for text in ["", "*", "a/b", "user@a", "a b", "a:99999"] {
            assert!(text.parse::<HostPort>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_permission_with_a_port_is_for_that_port() {
        let entry: HostPort = "a.example:81".parse().unwrap();
        assert!(entry.covers("a.example", 81) && !entry.covers("a.example", 82));
        let entry: HostPort = "a.example".parse().unwrap();
        assert!(entry.covers("a.example", 81) && !entry.covers("b.a.example", 81));
    }
}
