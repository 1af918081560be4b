//! Facts of models that age: what a component says of them, under what the user's configuration says.

use serde::Deserialize;

/// What is known of one model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ModelFacts {
    /// A name; `*` stands for any characters.
    #[serde(rename = "match")]
    pattern: String,
    /// Tokens that it takes, prompt and answer together.
    pub context_tokens: Option<u64>,
    /// Tokens that it gives at most.
    pub output_tokens: Option<u64>,
    /// US dollars for a million tokens in.
    pub input_usd_per_million: Option<f64>,
    /// US dollars for a million tokens out.
    pub output_usd_per_million: Option<f64>,
    /// US dollars for a million tokens in that come from a cache.
    pub cached_input_usd_per_million: Option<f64>,
}

/// The facts of a model in a component's list; the first that matches counts. Nothing is known of a model that none does,
/// nor where the list is none.
pub fn model_facts(list: Option<&str>, model: Option<&str>) -> ModelFacts {
    let facts: Vec<ModelFacts> = list.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let Some(model) = model else { return ModelFacts::default() };
    facts.into_iter().find(|facts| matches(&facts.pattern, model)).unwrap_or_default()
}

/// Whether a name is of a pattern, in time proportional to both.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, whether) in [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-5*", "gpt-5-mini", true),
            ("*opus*", "claude-opus-4-1", true),
            ("*", "anything", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), whether, "{pattern} {name}");
        }
    }

    #[test]
    fn the_first_that_matches_counts_and_the_unknown_has_no_facts() {
        let list = r#"[{"match":"big-*","context_tokens":9},{"match":"*","context_tokens":1}]"#;
        assert_eq!(model_facts(Some(list), Some("big-1")).context_tokens, Some(9));
        assert_eq!(model_facts(Some(list), Some("x")).context_tokens, Some(1));
        assert_eq!(model_facts(Some("no list"), Some("x")), ModelFacts::default());
        assert_eq!(model_facts(Some(list), None), ModelFacts::default());
    }
}
