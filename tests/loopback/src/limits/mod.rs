//! The service's limits: rules, meters that keep to them, and the headers that tell of them.

mod duration;
mod meter;
mod rule;
mod told;

pub use duration::{later, render_go_duration, render_http_date, render_seconds};
pub use meter::{Cause, Meter};
pub use rule::{Refill, Rule, parse_seconds};
pub use told::{Gauge, Told, render_headers};
