//! Windows of a subscription, which are told in fractions or by name only.

use crate::reading::Limit;

/// One window of a plan, as headers, events and sentences tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanWindow {
    /// Name, such as `five_hour`, `seven_day_opus`, `daily` or `primary`; empty where none is told.
    pub claim: String,
    /// `allowed`, `allowed_warning` or `rejected`.
    pub status: Option<String>,
    /// What is used, 1 for all of it.
    pub utilization: Option<f64>,
    /// When it is full again, in milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
}

impl PlanWindow {
    /// A window that is spent.
    pub fn rejected(claim: &str, resets_at_ms: Option<u64>) -> Self {
        Self { claim: claim.to_owned(), status: Some("rejected".to_owned()), utilization: None, resets_at_ms }
    }

    /// The limit. Its size is not known; nothing is left of it when it is `rejected` and `binding`.
    pub fn limit(&self, binding: bool) -> Limit {
        let (window_seconds, model) = match self.claim.as_str() {
            "daily" => (Some(86_400), ""),
            claim => {
                if let Some(model) = claim.strip_prefix("five_hour") {
                    (Some(18_000), model)
                } else if let Some(model) = claim.strip_prefix("seven_day") {
                    (Some(604_800), model)
                } else {
                    (parse_length(claim), "")
                }
            }
        };
        let told = [
            ("claim", Some(self.claim.clone()).filter(|claim| !claim.is_empty())),
            ("status", self.status.clone()),
            ("utilization", self.utilization.map(|used| used.to_string())),
        ];
        Limit {
            window_seconds,
            remaining: (binding && self.status.as_deref() == Some("rejected")).then_some(0),
            resets_at_ms: self.resets_at_ms,
            extra: told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
            ..Limit::of("tokens", None, if model.is_empty() { "account" } else { "model" })
        }
    }
}

/// The length in a name such as `1h` or `30d`.
fn parse_length(name: &str) -> Option<u64> {
    let split = name.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = name[..split].parse().ok()?;
    match &name[split..] {
        "h" => count.checked_mul(3600),
        "d" => count.checked_mul(86_400),
        _ => None,
    }
}
