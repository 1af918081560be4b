//! Windows of a ChatGPT plan, as Codex is told them: headers, events, its session file and its log.

use assize_reading::{
    Headers, Limit, PlanWindow, Reading, instant_of_number, parse_count, parse_decimal, parse_instant, parse_rfc3339,
    whole,
};
use serde_json::Value;

const LEAD: &str = "x-codex-";
const FULL: f64 = 100.0;

/// One window as it is told.
#[derive(Default)]
struct Told {
    claim: String,
    used_percent: Option<f64>,
    minutes: Option<u64>,
    resets_at_ms: Option<u64>,
    of_model: bool,
}

impl Told {
    /// The limit. A window that is used up binds only when the request was refused: credits may serve beyond it.
    fn limit(&self, refused: bool) -> Option<Limit> {
        let used = self.used_percent?;
        let spent = refused && used >= FULL;
        let window = PlanWindow {
            claim: self.claim.clone(),
            status: spent.then(|| "rejected".to_owned()),
            utilization: Some(used / FULL),
            resets_at_ms: self.resets_at_ms,
        };
        let window_seconds = self.minutes.filter(|minutes| *minutes > 0).and_then(|minutes| minutes.checked_mul(60));
        let scope = if self.of_model { "model" } else { "account" }.to_owned();
        Some(Limit { window_seconds, scope, ..window.limit(spent) })
    }
}

/// Windows in response headers. A family with the name of a limit is one of a model.
pub fn read_plan_headers(headers: &Headers<'_>, refused: bool, received_at_ms: u64) -> Vec<Limit> {
    let claims = headers.sorted().into_iter().filter_map(|(name, _)| {
        let claim = name.strip_prefix(LEAD)?.strip_suffix("-used-percent")?;
        (claim.ends_with("primary") || claim.ends_with("secondary")).then(|| claim.to_owned())
    });
    claims
        .filter_map(|claim| {
            let field = |field: &str| headers.get(&format!("{LEAD}{claim}-{field}"));
            let at = field("reset-at").and_then(|text| parse_instant(text, received_at_ms));
            let after = || {
                let wait = parse_decimal(field("reset-after-seconds")?).and_then(|seconds| whole(seconds * 1000.0))?;
                Some(received_at_ms.saturating_add(wait))
            };
            let told = Told {
                used_percent: field("used-percent").and_then(parse_decimal),
                minutes: field("window-minutes").and_then(parse_count),
                resets_at_ms: at.or_else(after),
                of_model: claim.contains('-'),
                claim,
            };
            told.limit(refused)
        })
        .collect()
}

/// Windows in an event or in a line of the session file.
pub fn read_event(value: &Value, received_at_ms: u64) -> Option<Reading> {
    let event = if value["type"] == "event_msg" { &value["payload"] } else { value };
    if !matches!(event["type"].as_str(), Some("codex.rate_limits" | "token_count")) {
        return None;
    }
    let limits = &event["rate_limits"];
    let refused = limits["limit_reached"] == true;
    let windows = ["primary", "secondary"].iter().filter_map(|claim| {
        let window = &limits[*claim];
        let at = window["resets_at"].as_f64().or_else(|| window["reset_at"].as_f64()).filter(|number| *number >= 1e9);
        let after = || {
            let wait = window["resets_in_seconds"].as_f64().or_else(|| window["reset_after_seconds"].as_f64())?;
            Some(received_at_ms.saturating_add(whole(wait * 1000.0)?))
        };
        let told = Told {
            claim: (*claim).to_owned(),
            used_percent: window["used_percent"].as_f64().filter(|used| *used >= 0.0),
            minutes: window["window_minutes"].as_u64(),
            resets_at_ms: at.and_then(|number| instant_of_number(number, received_at_ms)).or_else(after),
            of_model: false,
        };
        told.limit(refused)
    });
    Reading { limits: windows.collect(), throttled: refused, ..Reading::default() }.into_option()
}

/// Status and headers of a response in a line of the program's log.
pub fn read_log_line(line: &str) -> Option<(u16, Vec<(String, String)>)> {
    const MARK: &str = "DEBUG codex_http_client::client: Request completed ";
    let (lead, rest) = line.split_once(MARK)?;
    // Only a time may stand before the level.
    if !lead.trim().is_empty() && parse_rfc3339(lead.trim()).is_none() {
        return None;
    }
    let status = rest.split_once(" status=")?.1.get(..3)?.parse().ok()?;
    let (_, map) = rest.split_once(" headers=")?;
    let map = &map[..map.rfind('}')? + 1];
    let map: serde_json::Map<String, Value> = serde_json::from_str(map).ok()?;
    let pairs = map.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())));
    Some((status, pairs.collect()))
}
