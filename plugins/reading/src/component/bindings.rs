//! Bindings of the world `rate-limit-plugin`.
#![allow(unsafe_code, missing_docs, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit/v0.1",
    world: "rate-limit-plugin",
    pub_export_macro: true,
    default_bindings_module: "assize_reading::component::bindings",
    export_macro_name: "export_rate_limit_world",
});
