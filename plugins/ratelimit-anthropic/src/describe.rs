//! What the plugin says of itself.

/// Providers whose evidence it reads.
pub const PROVIDERS: [&str; 2] = ["claude-code", "anthropic"];

/// Schema of the configuration section: there is nothing to configure.
pub const CONFIG_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
