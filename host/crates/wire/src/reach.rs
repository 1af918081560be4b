//! Which addresses may be connected to: everything public over https, and what was granted by address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{PrivateAddress, WireError};
use crate::origin::{HostPort, Target};

/// What was granted beyond https to public addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    pub private: Vec<HostPort>,
    pub plain: Vec<HostPort>,
    /// Names of the proxies: their addresses are the user's own setting.
    pub proxies: Vec<String>,
}

impl Reach {
    /// Reads a URL and refuses what can be refused before a name is looked up.
    pub fn target(&self, url: &str) -> Result<Target, WireError> {
        let target = Target::read(url)?;
        self.check(&target)?;
        Ok(target)
    }

    pub fn check(&self, target: &Target) -> Result<(), WireError> {
        let loopback = target.host == "localhost" || target.literal().is_some_and(|address| address.is_loopback());
        let plain = loopback || self.plain.iter().any(|entry| entry.covers(&target.host, target.port));
        if target.url.scheme() == "http" && !plain {
            return Err(WireError::Plain { host: target.name() });
        }
        if let Some(address) = target.literal()
            && !self.allows(&target.host, target.port, address)
        {
            return Err(WireError::Private { host: target.name(), address });
        }
        // The resolver lets the proxy's name through, so the name may not pass for a server's.
        let granted = self.private.iter().any(|entry| entry.covers(&target.host, target.port));
        if self.proxies.contains(&target.host) && !granted {
            return Err(WireError::ProxyItself { host: target.name() });
        }
        Ok(())
    }

    /// Whether a connection to this address may be made for this host.
    fn allows(&self, host: &str, port: u16, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if !is_private(address) {
            return true;
        }
        self.private.iter().filter(|entry| entry.port.is_none_or(|own| own == port)).any(|entry| {
            match entry.address() {
                Some(granted) => granted.to_canonical() == address,
                None => entry.host == host && (host != "localhost" || address.is_loopback()),
            }
        })
    }
}

/// Looks names up; a trait so that a test can answer differently each time.
pub(crate) trait Lookup: Send + Sync {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
pub(crate) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|found| found.ip()).collect()) })
    }
}

/// The resolver of the client of one origin. What it returns is what is connected to, so a name that changes its
/// address between check and connection gains nothing.
pub(crate) struct GuardedLookup {
    pub reach: Arc<Reach>,
    pub lookup: Arc<dyn Lookup>,
    pub port: u16,
}

impl Resolve for GuardedLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let found = self.lookup.lookup(&host);
        let (reach, port) = (Arc::clone(&self.reach), self.port);
        Box::pin(async move {
            let found = found.await?;
            let proxy = reach.proxies.contains(&host);
            let (good, bad): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|address| proxy || reach.allows(&host, port, *address));
            match (good.is_empty(), bad.first()) {
                (true, Some(address)) => Err(PrivateAddress { address: *address }.into()),
                (true, None) => Err(io::Error::other("the name has no address").into()),
                _ => Ok(Box::new(good.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs),
            }
        })
    }
}

/// Whether an address is not one of the public network: private, loopback, link-local (there the metadata services
/// are), shared, unspecified, multicast, for documentation or reserved. IPv6 forms that carry an IPv4 address are judged
/// by that.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_private_v4(v4),
        IpAddr::V6(v6) => is_private_v6(v6),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || matches!((a, b, c), (0, _, _) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) | (224.., _, _))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Unspecified, loopback and the abandoned form that holds an IPv4 address.
        [0, 0, 0, 0, 0, 0, _, _] => true,
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, ..] | [0x100, 0, 0, 0, ..] => true,
        // Tunnels: Teredo hides the address it leads to, 6to4 shows it.
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] => true,
        [0x2002, high, low, ..] => embedded(high, low),
        // Unique local, link-local, site-local, multicast.
        [first, ..] => first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first >= 0xff00,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_outside_the_public_network_are_private() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "fd00:ec2::254",
            "fc00::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:0:1::1",
            "2001:db8::1",
        ] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in [
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
            "::ffff:8.8.8.8",
        ] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn an_address_is_reached_only_where_it_is_granted() {
        let reach =
            Reach { private: vec!["10.0.0.5:80".parse().unwrap(), "box.lan".parse().unwrap()], ..Reach::default() };
        let ten: IpAddr = "10.0.0.5".parse().unwrap();
        assert!(reach.allows("10.0.0.5", 80, ten) && reach.allows("any.name", 80, ten));
        assert!(reach.allows("any.name", 80, "::ffff:10.0.0.5".parse().unwrap()));
        assert!(!reach.allows("10.0.0.5", 81, ten));
        assert!(reach.allows("box.lan", 1, "192.168.0.1".parse().unwrap()));
        assert!(!reach.allows("other.lan", 1, "192.168.0.1".parse().unwrap()));
    }

    #[test]
    fn localhost_is_loopback_whatever_a_resolver_says() {
        let reach = Reach { private: vec!["localhost".parse().unwrap()], ..Reach::default() };
        assert!(reach.allows("localhost", 1, "127.0.0.1".parse().unwrap()));
        assert!(!reach.allows("localhost", 1, "169.254.169.254".parse().unwrap()));
    }
}
