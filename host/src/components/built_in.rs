//! The components that the build embeds, and the grants that are compiled in beside them.

use assize_core::grant::{Grant, GrantKind};
use assize_core::plugin::PluginKind;

include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// Name and bytes of each.
pub(super) fn built_in() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    BUILT_IN.iter().copied()
}

/// What a built-in component may have done without being asked about. A replacement of the same name gets none of it.
pub(super) fn fixed_grants(kind: PluginKind, name: &str) -> Vec<Grant> {
    let grant = |kind, name: &str| Grant { kind, name: name.to_owned() };
    match (kind, name) {
        (PluginKind::Provider, "claude-code") => vec![
            grant(GrantKind::Program, "claude"),
            grant(GrantKind::Secret, "ANTHROPIC_API_KEY"),
            grant(GrantKind::Secret, "CLAUDE_CODE_OAUTH_TOKEN"),
            grant(GrantKind::Secret, "ANTHROPIC_BASE_URL"),
        ],
        _ => Vec::new(),
    }
}
