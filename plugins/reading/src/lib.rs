//! What rate-limit plugins share: evidence and readings as plain data, the forms in which services and programs write
//! instants, waits, counts and refusals, and the glue that turns a [`LimitReader`] into a component.
//!
//! **Invariant**: nothing here knows one service's names of headers. Text counts only in forms in which an error is
//! reported, at the start of a line; sources, paths and findings that speak of limits say nothing. An unknown unit, zone
//! or number yields nothing.

mod clock;
#[cfg(target_family = "wasm")]
pub mod component;
mod counts;
mod describe;
mod duration;
mod error_body;
mod frame;
mod headers;
mod instant;
mod number;
mod plan;
mod reading;
mod record;
mod report;
mod sentence;
mod text;
mod throttling;
mod wall;
mod zone;

pub use clock::parse_reset;
pub use counts::{Counted, read_counts};
pub use describe::{CONFIG_SCHEMA, LimitReader};
pub use duration::parse_duration;
pub use error_body::{ErrorBody, read_code};
pub use frame::{Frame, TIME_ZONE};
pub use headers::{Headers, Pairs, read_wait};
pub use instant::{instant_of_number, parse_http_date, parse_instant, parse_retry_after, parse_rfc3339};
pub use number::{parse_count, parse_decimal, whole};
pub use plan::PlanWindow;
pub use reading::{Cause, Evidence, Extra, Limit, Reading};
pub use record::{ReadHeaders, read_record};
pub use report::{read_report, read_status};
pub use sentence::{ends_sentence, find_wait, fold};
pub use text::{derive_tail, json_lines, strip_escapes};
pub use wall::read_wall;
pub use zone::{ToldZone, find_zone, parse_zone};
