//! Reads members of JSON objects and marks what is wrong with them.

use serde_json::{Map, Value};

use super::problem::Problem;

/// Problems that are kept of one result; the rest is counted.
const KEPT: usize = 100;
/// Entries of a list of texts.
const LIST: usize = 500;

/// The errors and warnings of one result.
#[derive(Debug)]
pub(super) struct Marks {
    /// Each of them refuses the result.
    pub errors: Vec<Problem>,
    /// Worth telling.
    pub warnings: Vec<Problem>,
    max_text: usize,
}

impl Marks {
    /// None yet. `max_text` is the longest text of a member in bytes.
    pub fn new(max_text: usize) -> Self {
        Self { errors: Vec::new(), warnings: Vec::new(), max_text }
    }

    /// Marks an error.
    pub fn error(&mut self, code: &str, place: impl Into<String>, message: impl AsRef<str>) {
        push(&mut self.errors, Problem::new(code, place, message));
    }

    /// Marks a warning.
    pub fn warn(&mut self, code: &str, place: impl Into<String>, message: impl AsRef<str>) {
        push(&mut self.warnings, Problem::new(code, place, message));
    }

    /// A text that must be there and hold more than white space.
    pub fn text(&mut self, object: &Map<String, Value>, key: &str, place: &str) -> Option<String> {
        let text = self.optional_text(object, key, place);
        if text.is_none() && !matches!(object.get(key), Some(v) if !v.is_null() && !is_blank(v)) {
            self.error("missing-text", format!("{place}/{key}"), format!("`{key}` is missing or empty"));
        }
        text
    }

    /// A text that may be absent, null or blank, which is all the same.
    pub fn optional_text(&mut self, object: &Map<String, Value>, key: &str, place: &str) -> Option<String> {
        match object.get(key)? {
            Value::Null => None,
            value => self.bounded(value, &format!("{place}/{key}")).filter(|text| !text.trim().is_empty()),
        }
    }

    /// A list of texts; blank ones are left out, a single text is a list of one.
    pub fn texts(&mut self, object: &Map<String, Value>, key: &str, place: &str) -> Vec<String> {
        let place = format!("{place}/{key}");
        let list = match object.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) => list.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        if list.len() > LIST {
            self.error("too-many", place, format!("more than {LIST} entries"));
            return Vec::new();
        }
        let mut texts = Vec::new();
        for (at, value) in list.iter().enumerate() {
            texts.extend(self.bounded(value, &format!("{place}/{at}")).filter(|t| !t.trim().is_empty()));
        }
        texts
    }

    /// A flag that may be absent.
    pub fn flag(&mut self, object: &Map<String, Value>, key: &str, place: &str) -> Option<bool> {
        match object.get(key)? {
            Value::Null => None,
            Value::Bool(flag) => Some(*flag),
            _ => {
                self.error("wrong-type", format!("{place}/{key}"), format!("`{key}` must be true or false"));
                None
            }
        }
    }

    /// A list of objects or anything else; absent is an error where it is required.
    pub fn list<'a>(&mut self, object: &'a Map<String, Value>, key: &str, place: &str, max: usize) -> &'a [Value] {
        let place = format!("{place}/{key}");
        match object.get(key) {
            Some(Value::Array(list)) if list.len() <= max => list,
            Some(Value::Array(list)) => {
                self.error("too-many", place, format!("{} entries, at most {max} are taken", list.len()));
                &[]
            }
            None | Some(Value::Null) => {
                self.error("missing-list", place, format!("`{key}` is missing"));
                &[]
            }
            Some(_) => {
                self.error("wrong-type", place, format!("`{key}` must be an array"));
                &[]
            }
        }
    }

    fn bounded(&mut self, value: &Value, place: &str) -> Option<String> {
        match value {
            Value::String(text) if text.len() > self.max_text => {
                let max = self.max_text;
                self.error("too-large", place, format!("{} bytes, at most {max} are taken", text.len()));
                None
            }
            Value::String(text) => Some(text.clone()),
            _ => {
                self.error("wrong-type", place, "must be a text");
                None
            }
        }
    }
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn push(list: &mut Vec<Problem>, problem: Problem) {
    match list.len() {
        n if n < KEPT => list.push(problem),
        KEPT => list.push(Problem::new("more-problems", "", "there are more problems than are listed")),
        _ => {}
    }
}
