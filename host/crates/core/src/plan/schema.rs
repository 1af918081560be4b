//! The JSON Schema of an answer, for providers that can hold a model to one.

/// JSON Schema (draft 2020-12) of the results array. Unknown members are let through: validation is stricter and says more.
pub const RESULTS_SCHEMA: &str = include_str!("template/results.schema.json");

#[cfg(test)]
mod tests {
    use super::RESULTS_SCHEMA;
    use crate::lens::Lens;
    use crate::result::Severity;

    #[test]
    fn the_schema_knows_every_lens_and_severity() {
        let schema: serde_json::Value = serde_json::from_str(RESULTS_SCHEMA).expect("it is JSON");
        let lenses: Vec<_> = Lens::ALL.iter().map(|lens| lens.as_str()).collect();
        assert_eq!(schema["$defs"]["lens"]["enum"], serde_json::json!(lenses));
        let severities: Vec<_> = Severity::WORST_FIRST.iter().map(|severity| severity.as_str()).collect();
        assert_eq!(schema["$defs"]["severity"]["enum"], serde_json::json!(severities));
        assert!(!RESULTS_SCHEMA.contains("\"additionalProperties\": false"));
    }
}
