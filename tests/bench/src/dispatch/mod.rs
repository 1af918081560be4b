//! Dispatching under limits: the real binary against a service in this process that keeps token buckets, beside the physical
//! bound and beside the predecessor's waves over the same requests.

mod args;
mod bound;
mod packages;
mod suite;
mod trial;
mod waves;

pub use args::{DispatchArgs, USAGE};
pub use suite::run;
