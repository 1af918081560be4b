//! Bindings of the world `provider-plugin`.
#![allow(unsafe_code, missing_docs, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    world: "provider-plugin",
    pub_export_macro: true,
    default_bindings_module: "assize_plugin_sdk::component::bindings",
    export_macro_name: "export_provider_world",
});
