//! What the analyzer says of itself.

/// Name by which the analyzer is chosen.
pub const NAME: &str = "analyzer-patterns";

/// One sentence for lists.
pub const SUMMARY: &str = "Finds secrets, conflict markers, private keys, open permissions and dangerous calls in text of any language, and resolves imports";

/// JSON Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "disable": {
      "description": "rule ids, or leading parts of them such as `secrets`, that report nothing",
      "type": "array",
      "items": { "type": "string", "minLength": 1 }
    },
    "entropy": {
      "description": "bits a character from which a value of a secret's name counts as random",
      "type": "number",
      "minimum": 0,
      "maximum": 8
    }
  }
}"#;
