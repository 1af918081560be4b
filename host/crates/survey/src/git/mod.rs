//! What git's own files say; git itself is never run.

mod head;
mod index;
mod place;

pub(crate) use head::derive_head;
pub(crate) use index::Tracked;
pub(crate) use place::{Place, discover, is_repository};
