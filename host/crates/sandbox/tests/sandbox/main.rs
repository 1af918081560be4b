//! The sandbox against real components, good and hostile. One binary, so that the guests are built once.

mod admission;
mod caching;
mod calls;
mod guests;
mod launches;
mod limits;
mod speed;
