//! The gateway: a loopback endpoint of one launch that forwards to one upstream, holds requests back, counts what they
//! cost and keeps the secret from the program.

mod ask;
mod forward;
mod key;
mod meter;
mod open;
mod refusal;
mod relay;
mod take;
mod watch;

pub use meter::{Meter, Refused, RequestAsk, RequestSeen, Verdict};
pub use open::{Gateway, GatewayOptions, Inject};
