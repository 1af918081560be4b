//! Limits, budgets and shared state, end to end: the real binary against a service on the loopback interface that keeps token
//! buckets and writes down what it was asked.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod budgets;
mod bursts;
mod check;
mod fit;
mod quota;
mod scene;
mod spill;
