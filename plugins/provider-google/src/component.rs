//! The component's edge.
#![allow(unsafe_code)]

assize_plugin_sdk::export_provider!(assize_plugin_sdk::dialogue::Dialogue<crate::api::GoogleApi>);
