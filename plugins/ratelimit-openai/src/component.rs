//! The component's edge.
#![allow(unsafe_code, missing_docs)]

assize_reading::export_rate_limits!(crate::describe::OpenAi);
