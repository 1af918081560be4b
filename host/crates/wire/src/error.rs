//! Why a request was not sent, or was not answered as a request must be.

use std::error::Error as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use std::{error, io};

use thiserror::Error;

/// Names the host and what would mend it; never a path, a query, a header or a body.
#[derive(Debug, Error)]
pub enum WireError {
    /// It is no address that can be requested.
    #[error("the address cannot be requested: {reason}")]
    Address {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Plain `http` to a host that was not granted it.
    #[error("{host} would be asked over plain http; use https, or allow plain http to it in the configuration")]
    Plain {
        /// Host and port.
        host: String,
    },
    /// The address connected to is a private one.
    #[error("{host} is at {address}, a private address; grant the address itself to reach it")]
    Private {
        /// Host and port.
        host: String,
        /// Where it is.
        address: IpAddr,
    },
    /// The proxy itself would be asked.
    #[error("{host} is the proxy; grant its address itself to reach it as a server")]
    ProxyItself {
        /// Host and port.
        host: String,
    },
    /// It sends its callers to another origin.
    #[error("{host} redirects to {to}; if that is right, use and grant that address instead")]
    Redirected {
        /// Host and port.
        host: String,
        /// Origin, or what the answer lacks.
        to: String,
    },
    /// It redirects again and again.
    #[error("{host} redirects more than {most} times")]
    RedirectedTooOften {
        /// Host and port.
        host: String,
        /// How many are followed.
        most: usize,
    },
    /// The bundle of certificates is of no use.
    #[error("CA bundle {}: {reason}; give a PEM file of certificates", .path.display())]
    CaBundle {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The variable that names a proxy is of no use.
    #[error("{variable} names no proxy that can be used: {reason}; set it to http://HOST:PORT or unset it")]
    Proxy {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A part of the request breaks the protocol.
    #[error("the request to {host} is not one that can be sent: {reason}")]
    Request {
        /// Host and port.
        host: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection, or one that broke.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system said.
        reason: String,
    },
    /// The connection cannot be trusted.
    #[error(
        "{host} cannot be trusted: {reason}; if its certificate is from an authority of your own, give a CA bundle"
    )]
    Tls {
        /// Host and port.
        host: String,
        /// What TLS said.
        reason: String,
    },
    /// It took too long.
    #[error("{host} did not {what} within {} ms", .after.as_millis())]
    Timeout {
        /// Host and port.
        host: String,
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The head of the answer is larger than is kept.
    #[error("{host} answers with headers of more than {cap} bytes")]
    HeadTooLarge {
        /// Host and port.
        host: String,
        /// How many are kept.
        cap: usize,
    },
    /// The answer is encoded as it was not asked to be, or breaks its encoding.
    #[error("{host} answers in an encoding that cannot be read: {encoding}")]
    Encoding {
        /// Host and port.
        host: String,
        /// Its name.
        encoding: String,
    },
    /// The run was interrupted.
    #[error("the request to {host} was interrupted")]
    Interrupted {
        /// Host and port.
        host: String,
    },
    /// The gateway has no place to listen at.
    #[error("the gateway cannot listen on loopback: {0}")]
    Listen(io::Error),
    /// The client cannot be built.
    #[error("no HTTP client can be built: {0}")]
    Build(String),
}

impl WireError {
    /// The word of the plugin interface for it.
    pub fn kind(&self) -> &'static str {
        match self {
            WireError::Plain { .. }
            | WireError::Private { .. }
            | WireError::ProxyItself { .. }
            | WireError::Redirected { .. } => "denied",
            WireError::Unreachable { .. } | WireError::Listen(_) => "unreachable",
            WireError::Tls { .. } => "tls",
            WireError::Timeout { .. } => "timeout",
            WireError::HeadTooLarge { .. } => "too-large",
            WireError::Interrupted { .. } => "interrupted",
            WireError::Address { .. }
            | WireError::RedirectedTooOften { .. }
            | WireError::CaBundle { .. }
            | WireError::Proxy { .. }
            | WireError::Request { .. }
            | WireError::Encoding { .. }
            | WireError::Build(_) => "invalid",
        }
    }
}

/// A name whose addresses may not be connected to; travels through the client's own error.
#[derive(Debug, Error)]
#[error("private address {address}")]
pub(crate) struct PrivateAddress {
    pub address: IpAddr,
}

/// Errors deeper than this in a chain are not looked at.
const DEEPEST: usize = 16;

/// What the client's error means. Its own text is not used: it holds the whole address.
pub(crate) fn explain(host: &str, connect_timeout: Duration, failed: &reqwest::Error) -> WireError {
    let host = host.to_owned();
    if let Some(private) = find::<PrivateAddress>(failed) {
        return WireError::Private { host, address: private.address };
    }
    if let Some(tls) = find::<rustls::Error>(failed) {
        return WireError::Tls { host, reason: tls.to_string() };
    }
    if failed.is_timeout() {
        return WireError::Timeout { host, what: "accept a connection", after: connect_timeout };
    }
    if find::<hyper::Error>(failed).is_some_and(hyper::Error::is_parse_too_large) {
        return WireError::HeadTooLarge { host, cap: crate::request::HEAD_CAP };
    }
    let reason = match find::<io::Error>(failed) {
        Some(system) => system.to_string(),
        None if failed.is_connect() => innermost(failed),
        None => format!("the connection broke ({})", innermost(failed)),
    };
    WireError::Unreachable { host, reason }
}

/// The first error of this type in the chain. An I/O error hides the one that it wraps from its own chain.
fn find<E: error::Error + 'static>(failed: &reqwest::Error) -> Option<&E> {
    let mut at = failed.source();
    for _ in 0..DEEPEST {
        let here = at?;
        if let Some(found) = here.downcast_ref::<E>() {
            return Some(found);
        }
        let wrapped = here.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = wrapped.and_then(|inner| inner.downcast_ref::<E>()) {
            return Some(found);
        }
        at = match wrapped {
            Some(inner) => Some(inner as &(dyn error::Error + 'static)),
            None => here.source(),
        };
    }
    None
}

fn innermost(failed: &reqwest::Error) -> String {
    let mut text = String::from("no cause is known");
    let mut at = failed.source();
    for _ in 0..DEEPEST {
        let Some(here) = at else { break };
        text = here.to_string();
        at = here.source();
    }
    text.chars().take(200).collect()
}
