//! JSON that fits a schema: results under the name that the schema has for them, and objects that are made up.

use serde_json::{Map, Value, json};

/// How deep schemas are followed.
const DEPTH: usize = 8;

/// Puts results into the object that a schema asks for; results that it has no place for stay as they are.
pub fn wrap(schema: &Value, results: &str) -> String {
    match place_of_results(schema) {
        Some(name) => format!("{{{}:{results}}}", json!(name)),
        None => results.to_owned(),
    }
}

/// Name of the property that holds an array: the one that is called so, or the only one.
fn place_of_results(schema: &Value) -> Option<&str> {
    let properties = schema["properties"].as_object()?;
    let mut arrays = properties.iter().filter(|(_, schema)| kind_of(schema) == "array").map(|(name, _)| name.as_str());
    match (properties.contains_key("results"), arrays.next(), arrays.next()) {
        (true, ..) => Some("results"),
        (false, Some(only), None) => Some(only),
        _ => None,
    }
}

/// Makes up a value. `known` gives the values of properties by their name; others are as plain as the schema permits.
pub fn make_up(schema: &Value, known: &impl Fn(&str) -> Option<Value>) -> Value {
    make_up_within(schema, known, DEPTH)
}

fn make_up_within(schema: &Value, known: &impl Fn(&str) -> Option<Value>, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].get(0)) {
        return make_up_within(first, known, depth - 1);
    }
    match kind_of(schema).as_str() {
        "object" => Value::Object(make_up_members(schema, known, depth)),
        "array" => json!([]),
        "integer" | "number" => json!(1),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!("OK"),
    }
}

fn make_up_members(schema: &Value, known: &impl Fn(&str) -> Option<Value>, depth: usize) -> Map<String, Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let is_required = |name: &str| required.iter().any(|required| required == name);
    let mut members = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let value = match known(name) {
            // Some shells take their command as a list of words.
            Some(Value::String(text)) if kind_of(schema) == "array" => json!(["bash", "-lc", text]),
            Some(value) => value,
            None if is_required(name) || required.is_empty() => make_up_within(schema, known, depth - 1),
            None => continue,
        };
        members.insert(name.clone(), value);
    }
    members
}

/// Gemini writes types in capitals; a list of types is as good as its first one.
fn kind_of(schema: &Value) -> String {
    let kind = &schema["type"];
    let kind = kind.as_str().or_else(|| kind.get(0).and_then(Value::as_str));
    match kind {
        Some(kind) => kind.to_ascii_lowercase(),
        None if schema["properties"].is_object() => "object".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_where_the_schema_has_a_place_for_them() {
        let named = json!({"type": "object", "properties": {"note": {"type": "array"}, "results": {"type": "array"}}});
        assert_eq!(wrap(&named, "[1]"), r#"{"results":[1]}"#);
        let only = json!({"type": "OBJECT", "properties": {"x": {"type": "STRING"}, "answers": {"type": "ARRAY"}}});
        assert_eq!(wrap(&only, "[1]"), r#"{"answers":[1]}"#);
        assert_eq!(wrap(&json!({"type": "array"}), "[1]"), "[1]");
    }

    #[test]
    fn what_is_made_up_has_what_is_required() {
        let schema = json!({"type": "object", "required": ["path", "level", "deep"], "properties": {
            "path": {"type": "string"}, "level": {"enum": ["low", "high"]}, "optional": {"type": "integer"},
            "deep": {"type": "object", "properties": {"flag": {"type": ["boolean", "null"]}}},
        }});
        let known = |name: &str| (name == "path").then(|| json!("a.rs"));
        assert_eq!(make_up(&schema, &known), json!({"path": "a.rs", "level": "low", "deep": {"flag": false}}));
    }

    #[test]
    fn a_schema_without_end_is_followed_only_so_far() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"type": "object", "properties": {"next": schema}});
        }
        let text = make_up(&schema, &|_| None).to_string();
        assert_eq!(text.matches("next").count(), DEPTH);
    }
}
