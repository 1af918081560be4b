//! The host's side of `wit/v0.1`, generated. One world with the exports of all three kinds, so that a record that two
//! interfaces share is one Rust type; each kind of plugin then loads only the interfaces that its own world exports.

#![allow(missing_docs, unused_qualifications, clippy::all)]

wasmtime::component::bindgen!({
    path: "../../../wit/v0.1",
    inline: "
        package assize:sandbox;

        world every-kind {
            import assize:plugin/log@0.1.0;
            export assize:plugin/plugin@0.1.0;
            export assize:plugin/provider@0.1.0;
            export assize:plugin/rate-limits@0.1.0;
            export assize:plugin/analyzer@0.1.0;
        }
    ",
    world: "assize:sandbox/every-kind",
    exports: { default: async },
});

pub use assize::plugin::{effects, facts, log, types};
pub use exports::assize::plugin::{analyzer, plugin, provider, rate_limits};
