//! What users of such tools reported, each as a trial with the behaviour that is right: storms of limits, races for budgets,
//! broken answers, refusals, hostile repositories, stops, and machines on which nothing can be kept.
#![allow(clippy::disallowed_methods, reason = "tests start the program in odd surroundings")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod budgets;
mod desk;
mod preflight;
mod refusals;
mod resuming;
mod steering;
mod stopping;
mod storms;
