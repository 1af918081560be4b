//! What a person may choose about planning and packing, with the values that hold when nothing is chosen.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::lens::Lens;

/// How much is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// Only what every file gets.
    Quick,
    /// What every file gets, and what its signals ask for.
    #[default]
    Standard,
    /// Every lens that fits the kind of file.
    Deep,
}

impl Depth {
    /// The word of flags and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Depth::Quick => "quick",
            Depth::Standard => "standard",
            Depth::Deep => "deep",
        }
    }

    /// The depth of a word, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Quick, Self::Standard, Self::Deep]
            .into_iter()
            .find(|depth| depth.as_str().eq_ignore_ascii_case(word.trim()))
    }
}

/// How tasks are planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanOptions {
    /// Lenses that may be used; absent means all.
    pub lenses: Option<Vec<Lens>>,
    /// How much is looked at.
    pub depth: Depth,
    /// Most files of one task.
    pub max_task_files: usize,
    /// Most lines of one task; a longer file is split.
    pub max_task_lines: u64,
    /// Most bytes of one task, for files with long lines; a larger file is split.
    pub max_task_bytes: u64,
    /// Paths to which the work is restricted; absent means all.
    pub only: Option<BTreeSet<String>>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            lenses: None,
            depth: Depth::Standard,
            max_task_files: 15,
            max_task_lines: 3_000,
            // Three thousand ordinary lines, and about 30,000 tokens: what a small context still holds.
            max_task_bytes: 120_000,
            only: None,
        }
    }
}

impl PlanOptions {
    /// Whether the lens may be used.
    pub fn allows(&self, lens: Lens) -> bool {
        self.lenses.as_ref().is_none_or(|lenses| lenses.contains(&lens))
    }

    /// Whether the path is in the scope.
    pub fn includes(&self, path: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(path))
    }
}

/// How tasks are packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PacketOptions {
    /// Smallest context of the configured models, in tokens: prompt, content and answers must fit it with a margin.
    pub context_tokens: u64,
    /// Most tasks of one packet.
    pub max_tasks: usize,
    /// Most lenses of one packet.
    pub max_lenses: usize,
    /// Most tokens of source text in one packet: attention, unlike a context, does not grow.
    pub max_input_tokens: u64,
    /// Tokens that the answer to one task takes.
    pub answer_tokens: u64,
    /// Tokens that are gone before the prompt: a harness's own instructions.
    pub overhead_tokens: u64,
}

impl Default for PacketOptions {
    fn default() -> Self {
        Self {
            context_tokens: 128_000,
            max_tasks: 12,
            max_lenses: 3,
            max_input_tokens: 32_000,
            answer_tokens: 800,
            overhead_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_depth_is_found_by_its_word() {
        for depth in [Depth::Quick, Depth::Standard, Depth::Deep] {
            assert_eq!(Depth::parse(&depth.as_str().to_uppercase()), Some(depth));
        }
        assert_eq!(Depth::parse("bottomless"), None);
    }
}
