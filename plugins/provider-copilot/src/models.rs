//! Facts of models. They age, so they lie in one data file, and a user's configuration comes before them.

use serde_json::Value;

use crate::config::Protocol;

const FACTS: &str = include_str!("../models.json");

/// The model that is asked when neither the lane nor the configuration names one. A service that was configured may have
/// any models, so there is one for the usual services alone.
pub fn default_model(protocol: Protocol) -> Option<String> {
    facts()["default"][protocol.word()].as_str().map(str::to_owned)
}

/// The list of facts as JSON, as the host takes it.
pub fn derive_models() -> String {
    facts()["models"].to_string()
}

fn facts() -> Value {
    serde_json::from_str(FACTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_models_have_a_size_and_a_price() {
        let list: Value = serde_json::from_str(&derive_models()).expect("a list");
        for protocol in [Protocol::Openai, Protocol::Anthropic] {
            let model = default_model(protocol).expect("a model");
            let facts = list.as_array().expect("a list").iter();
            let mut known = facts.filter(|fact| {
                fact["match"].as_str().is_some_and(|name| model.starts_with(name.trim_end_matches('*')))
            });
            let fact = known.next().unwrap_or_else(|| panic!("{model} has no facts"));
            assert!(fact["context_tokens"].as_u64() > fact["output_tokens"].as_u64(), "{model}");
            assert!(fact["input_usd_per_million"].is_f64(), "{model}");
        }
        assert_eq!(default_model(Protocol::Azure), None);
    }
}
