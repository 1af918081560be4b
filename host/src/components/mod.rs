//! Which components there are in a run: those built in, those named by flags and configuration, and how one is chosen.

mod built_in;
mod catalog;
mod choose;

pub use catalog::{Catalog, CatalogError, Component, describe_origin};
pub(crate) use choose::program_of;
pub use choose::{Chosen, choose_provider};
