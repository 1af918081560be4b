//! Which components there are in a run: those built in, those named by flags and configuration, and how one is chosen.

mod built_in;
mod catalog;
mod choose;
mod lane;
mod models;

pub use catalog::{Catalog, CatalogError, Component, Wanted, describe_origin};
pub use choose::choose_lanes;
pub use lane::RunLane;
