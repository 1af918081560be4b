//! Facts of models. They age, so they lie in one data file, and a user's configuration comes before them.

use serde_json::Value;

use crate::cli::Cli;

const FACTS: &str = include_str!("../models.json");

/// The model that is asked when neither the lane nor the configuration names one. The program must be told one: left to
/// choose, Gemini CLI spends a request on the choice.
pub fn default_model(cli: Cli) -> String {
    facts()["default"][cli.name()].as_str().unwrap_or_default().to_owned()
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
    fn each_program_has_a_default_model_whose_size_is_known() {
        let models = facts()["models"].as_array().cloned().unwrap_or_default();
        for cli in Cli::ALL {
            let model = default_model(cli);
            let first = models.iter().find(|fact| {
                let name = fact["match"].as_str().unwrap_or_default();
                name.strip_suffix('*').map_or(name == model, |start| model.starts_with(start))
            });
            let fact = first.unwrap_or_else(|| panic!("{model} has no facts"));
            assert!(fact["context_tokens"].as_u64() > fact["output_tokens"].as_u64(), "{model}");
            assert!(fact["input_usd_per_million"].is_f64(), "{model}");
        }
    }

    #[test]
    fn every_fact_has_the_members_that_the_interface_names_and_no_others() {
        let known = [
            "match",
            "context_tokens",
            "output_tokens",
            "input_usd_per_million",
            "output_usd_per_million",
            "cached_input_usd_per_million",
        ];
        let list: Value = serde_json::from_str(&derive_models()).expect("a list");
        for fact in list.as_array().expect("a list") {
            assert!(fact["match"].is_string());
            assert!(fact.as_object().expect("an object").keys().all(|key| known.contains(&key.as_str())), "{fact}");
        }
    }
}
