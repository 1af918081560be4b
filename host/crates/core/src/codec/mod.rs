//! JSON forms that other programs read. Domain types are not wire types: each form has a version of its own.

mod worker;

pub use worker::{WORKER_CONTRACT, WorkerPlaces, render_pending_tasks, render_worker_task};
