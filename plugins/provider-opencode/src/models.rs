//! Facts of models that age. A user's configuration comes before them.

use serde::Deserialize;
use serde_json::Value;

use crate::config::Protocol;

/// The data file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Models {
    /// Model that is asked when neither lane nor configuration names one.
    pub defaults: Defaults,
    /// Facts in the form that the host reads.
    pub models: Vec<Value>,
}

/// One model for each protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    openai: String,
    anthropic: String,
}

impl Defaults {
    /// The model of a protocol.
    pub fn of(&self, protocol: Protocol) -> &str {
        match protocol {
            Protocol::Openai => &self.openai,
            Protocol::Anthropic => &self.anthropic,
        }
    }
}

/// The facts that this plugin brings.
pub fn read_models() -> Models {
    serde_json::from_str(include_str!("../models.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_file_has_defaults_and_names_each_model_once() {
        let models = read_models();
        assert!(models.models.iter().all(|model| model["context_tokens"].as_u64() > Some(0)));
        let mut names: Vec<&str> = models.models.iter().map(|model| model["match"].as_str().expect("a name")).collect();
        for protocol in [Protocol::Openai, Protocol::Anthropic] {
            let default = models.defaults.of(protocol);
            assert!(!default.is_empty() && names.iter().any(|name| default.starts_with(name.trim_end_matches('*'))));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
