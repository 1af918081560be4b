//! The component's edge.
#![allow(unsafe_code)]

assize_plugin_sdk::export_provider!(crate::launch::OpenAiLaunch);
