//! All HTTP of the host: the requests of provider components, and the gateway through which launched programs reach
//! their service. It decides no grant and reads no clock, no environment and no randomness: they come in as values.

mod client;
mod decode;
mod error;
mod gateway;
mod mask;
mod origin;
mod proxy;
mod reach;
mod request;
mod sign;
mod tls;
mod usage;

pub use client::{HttpClient, HttpOptions};
pub use error::WireError;
pub use futures_util::future::BoxFuture;
pub use gateway::{Gateway, GatewayOptions, Inject, Meter, Refused, RequestAsk, RequestSeen, Verdict};
pub use origin::{HostPort, host_of};
pub use proxy::Proxies;
pub use reach::is_private;
pub use request::{Incoming, OutHeader, Outgoing, RESPONSE_CAP};
pub use sign::Signature;
pub use usage::{Counted, CountedBody, count_usage};

#[cfg(test)]
mod tests;
