//! Each built-in component, called as the component that the binary embeds, through the catalog of a run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod analyzer_patterns;
mod catalog;
mod inspector;
mod launches;
mod provider_claude_code;
mod provider_command;
mod provider_rules;
mod ratelimit_anthropic;
