//! Between the generated types and those of `assize_core`: what comes out of a plugin, and what goes in (`_in`).

mod effects;
mod facts;
mod launches;
mod readings;

pub(crate) use effects::event_in;
pub(crate) use facts::{fact, file_facts_in, observation, relation};
pub(crate) use launches::{launch_request_in, step};
pub(crate) use readings::{evidence_in, plugin_error, reading};
