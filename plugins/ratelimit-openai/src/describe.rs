//! What the plugin says of itself.

use assize_reading::{Evidence, LimitReader, Reading};

use crate::read::read_evidence;

/// The reader of the limits of OpenAI and of services with its interface.
pub struct OpenAi;

impl LimitReader for OpenAi {
    const NAME: &'static str = "openai";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SUMMARY: &'static str =
        "Reads the limits that OpenAI, Azure, ChatGPT plans and services with the same interface tell";
    const PROVIDERS: &'static [&'static str] = &[
        "openai",
        "codex",
        "azure",
        "azure-openai",
        "groq",
        "mistral",
        "xai",
        "openrouter",
        "github-models",
        "cerebras",
        "fireworks",
    ];

    fn read(evidence: &Evidence) -> Option<Reading> {
        read_evidence(evidence)
    }
}
