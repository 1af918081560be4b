//! Facts of models that age: how much a model takes and gives, and what it costs.

use serde::Deserialize;

/// Facts of the models whose name matches a pattern, as they stand in a component's `models.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelFacts {
    /// Name of a model; `*` stands for any characters.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Tokens that prompt and answer may have together.
    pub context_tokens: Option<u64>,
    /// Tokens that an answer may have.
    pub output_tokens: Option<u64>,
    /// US dollars for a million tokens of input.
    pub input_usd_per_million: Option<f64>,
    /// US dollars for a million tokens of output.
    pub output_usd_per_million: Option<f64>,
    /// US dollars for a million tokens of input that a cache held; the price of other input unless said.
    pub cached_input_usd_per_million: Option<f64>,
}

/// Tokens of one or more requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Into the model, not from a cache.
    pub input: u64,
    /// Into the model, from a cache.
    pub cached_input: u64,
    /// Out of the model.
    pub output: u64,
}

/// The facts of a model: the first entry of the JSON list whose pattern matches its name.
///
/// A list that cannot be read knows no model, because facts are an estimate that a launch can do without.
pub fn find_model_facts(json: &str, model: &str) -> Option<ModelFacts> {
    let list: Vec<ModelFacts> = serde_json::from_str(json).unwrap_or_default();
    list.into_iter().find(|facts| matches_pattern(&facts.pattern, model))
}

/// Whether a name matches a pattern in which `*` stands for any characters, none included.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = pattern.contains('*').then(|| parts.next_back()).flatten() else { return rest.is_empty() };
    for part in parts {
        // The first place suffices: what a later place would match behind it, the earlier place leaves over too.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl ModelFacts {
    /// Cost in millionths of a US dollar, rounded up; absent when a price that is needed is not known.
    pub fn derive_cost(&self, tokens: Tokens) -> Option<u64> {
        let cached_price = self.cached_input_usd_per_million.or(self.input_usd_per_million);
        let parts = [
            (tokens.input, self.input_usd_per_million),
            (tokens.cached_input, cached_price),
            (tokens.output, self.output_usd_per_million),
        ];
        let mut sum = 0.0;
        for (count, price) in parts.into_iter().filter(|(count, _)| *count > 0) {
            // A dollar for a million tokens is a millionth of a dollar for one token.
            sum += count as f64 * price.filter(|price| price.is_finite() && *price >= 0.0)?;
        }
        // A billionth is taken off so that the rounding of decimal prices does not add a millionth.
        Some((sum - 1e-9).ceil().max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("a*", "a", true),
            ("*", "", true),
            ("*b*", "abc", true),
            ("*b*b", "ab", false),
            ("a*a", "a", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("ä*ü", "äöü", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_long_pattern_against_a_long_name_ends_soon() {
        assert!(!matches_pattern(&"*a".repeat(10_000), &"a".repeat(9_999)));
    }

    #[test]
    fn the_first_match_counts_and_unknown_members_are_passed_over() {
        let json = r#"[{"match":"m-1*","output_tokens":1,"colour":"red"},{"match":"m*","output_tokens":2}]"#;
        let output = |model| find_model_facts(json, model).and_then(|facts| facts.output_tokens);
        assert_eq!((output("m-12"), output("m-2"), output("x")), (Some(1), Some(2), None));
        assert_eq!(find_model_facts("no list", "m"), None);
    }

    #[test]
    fn a_cost_is_in_millionths_and_rounded_up() {
        let facts = ModelFacts {
            input_usd_per_million: Some(3.0),
            output_usd_per_million: Some(15.0),
            cached_input_usd_per_million: Some(0.3),
            ..ModelFacts::default()
        };
        let cost = |input, cached_input, output| facts.derive_cost(Tokens { input, cached_input, output });
        assert_eq!(cost(1000, 0, 10), Some(3150));
        assert_eq!(cost(0, 10, 0), Some(3));
        assert_eq!(cost(0, 11, 0), Some(4));
        assert_eq!(cost(0, 0, 0), Some(0));
        assert_eq!(cost(u64::MAX, 0, 0), Some(u64::MAX));
    }

    #[test]
    fn a_cost_without_its_price_is_not_told() {
        let facts = ModelFacts { input_usd_per_million: Some(3.0), ..ModelFacts::default() };
        assert_eq!(facts.derive_cost(Tokens { output: 1, ..Tokens::default() }), None);
        assert_eq!(facts.derive_cost(Tokens { cached_input: 2, ..Tokens::default() }), Some(6));
        let broken = ModelFacts { input_usd_per_million: Some(-1.0), ..ModelFacts::default() };
        assert_eq!(broken.derive_cost(Tokens { input: 1, ..Tokens::default() }), None);
    }
}
