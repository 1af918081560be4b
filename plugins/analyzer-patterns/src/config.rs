//! The analyzer's configuration section.

use crate::facts::Error;

/// Shannon entropy in bits a character from which a value of a secret's name counts as random. English words stay
/// below 3.3 at these lengths, base64 keys of 16 characters and more lie above 3.5.
pub const DEFAULT_ENTROPY: f64 = 3.5;

/// What the user set.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    disable: Vec<String>,
    /// Threshold for values of secret names, bits a character.
    pub entropy: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { disable: Vec::new(), entropy: DEFAULT_ENTROPY }
    }
}

impl Config {
    /// Reads the section. Empty text is the default.
    ///
    /// # Errors
    /// Text that is not a JSON object, an unknown key, or a value of the wrong type or range.
    pub fn parse(section: &str) -> Result<Self, Error> {
        let mut config = Self::default();
        let section = section.trim();
        if section.is_empty() || section == "{}" || section == "null" {
            return Ok(config);
        }
        let value: serde_json::Value =
            serde_json::from_str(section).map_err(|error| refuse(format!("not JSON: {error}")))?;
        let serde_json::Value::Object(keys) = value else {
            return Err(refuse("the section must be an object".to_owned()));
        };
        for (key, value) in keys {
            match key.as_str() {
                "disable" => {
                    let words = value
                        .as_array()
                        .ok_or_else(|| refuse("`disable` must be a list of rule ids or prefixes".to_owned()))?;
                    for word in words {
                        let word = word.as_str().ok_or_else(|| refuse("`disable` must hold strings".to_owned()))?;
                        config.disable.push(word.trim_end_matches(['/', '*']).to_owned());
                    }
                }
                "entropy" => {
                    config.entropy = value
                        .as_f64()
                        .filter(|bits| (0.0..=8.0).contains(bits))
                        .ok_or_else(|| refuse("`entropy` must be a number from 0 to 8".to_owned()))?;
                }
                other => return Err(refuse(format!("unknown key `{other}`; known are `disable` and `entropy`"))),
            }
        }
        Ok(config)
    }

    /// Whether a rule was switched off, by its id or by a leading part of it (`secrets`, `secrets/generic`).
    pub fn is_disabled(&self, rule: &str) -> bool {
        self.disable.iter().any(|word| {
            rule.strip_prefix(word.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '-']))
        })
    }
}

fn refuse(message: String) -> Error {
    Error::InvalidConfiguration(message)
}
