//! `RateLimit` and `RateLimit-Policy` of the IETF's drafts, from the three fields of the early ones to the lists of the
//! late ones. A malformed member is left out and the others count.

use assize_reading::{Headers, Limit, parse_count};

/// Members of a list that are looked at.
const MEMBERS: usize = 32;

/// One policy: how much in which time.
#[derive(Clone, Debug, Default, PartialEq)]
struct Policy {
    name: String,
    quota: u64,
    window: Option<u64>,
    dimension: Option<&'static str>,
}

/// What is left of one policy.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    name: String,
    quota: Option<u64>,
    remaining: Option<u64>,
    resets_in_s: Option<u64>,
}

/// Limits of the account. `resets_at_ms` holds milliseconds *from receipt*, because the fields tell nothing else.
pub fn read_rate_limit(headers: &Headers<'_>) -> Vec<Limit> {
    let mut policies: Vec<Policy> =
        members(headers.get("ratelimit-policy")).iter().filter_map(|m| parse_policy(m)).collect();
    let states = match headers.get("ratelimit") {
        Some(field) => parse_states(field),
        None => parse_fields(headers, &mut policies).into_iter().collect(),
    };
    let mut limits: Vec<Limit> = policies.iter().filter_map(policy_limit).collect();
    let places: Vec<usize> = (0..policies.len()).filter(|at| policies[*at].dimension.is_some()).collect();
    for state in states {
        let matches = |at: &&usize| {
            let policy = &policies[**at];
            policy.name == state.name && (!state.name.is_empty() || state.quota.is_none_or(|q| q == policy.quota))
        };
        let known = policies.iter().any(|policy| policy.name == state.name && !state.name.is_empty());
        match places.iter().position(|at| matches(&at)) {
            Some(at) => fill(&mut limits[at], &state),
            // A policy in a unit that is not known is not one of requests.
            None if known => {}
            None => {
                let mut limit =
                    Limit { limit: state.quota, ..named(Limit::of("requests", None, "account"), &state.name) };
                fill(&mut limit, &state);
                if limit.tells() {
                    limits.push(limit);
                }
            }
        }
    }
    limits
}

fn fill(limit: &mut Limit, state: &State) {
    limit.remaining = state.remaining;
    limit.resets_at_ms = state.resets_in_s.and_then(|seconds| seconds.checked_mul(1000));
}

fn policy_limit(policy: &Policy) -> Option<Limit> {
    let limit = named(Limit::of(policy.dimension?, policy.window, "account"), &policy.name);
    Some(Limit { limit: Some(policy.quota), ..limit })
}

fn named(mut limit: Limit, name: &str) -> Limit {
    if !name.is_empty() {
        limit.extra.push(("policy".to_owned(), name.to_owned()));
    }
    limit
}

/// `"burst";q=100;w=60` or, before, `100;w=60`.
fn parse_policy(member: &str) -> Option<Policy> {
    let (head, parameters) = split_member(member);
    let value = |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let window = value("w").and_then(parse_count).filter(|seconds| *seconds > 0);
    if let Some(quota) = parse_count(&head) {
        return Some(Policy { name: String::new(), quota, window, dimension: Some("requests") });
    }
    let quota = value("q").and_then(parse_count)?;
    let dimension = match value("qu") {
        None | Some("requests") => Some("requests"),
        Some("concurrent-requests") => Some("concurrency"),
        Some(_) => None,
    };
    Some(Policy { name: head, quota, window, dimension })
}

/// `"burst";r=50;t=30` or, before, `limit=100, remaining=50, reset=5`.
fn parse_states(field: &str) -> Vec<State> {
    let members = members(Some(field));
    let pair = |name: &str| {
        let value = members.iter().find_map(|member| member.trim().strip_prefix(name)?.trim_start().strip_prefix('='));
        value.and_then(|value| parse_count(value.split(';').next().unwrap_or_default()))
    };
    let older =
        State { name: String::new(), quota: pair("limit"), remaining: pair("remaining"), resets_in_s: pair("reset") };
    if older.quota.is_some() || older.remaining.is_some() {
        return vec![older];
    }
    let of = |member: &String| {
        let (name, parameters) = split_member(member);
        let value = |key: &str| parameters.iter().find(|(known, _)| known == key).and_then(|(_, v)| parse_count(v));
        let state = State { name, quota: None, remaining: value("r"), resets_in_s: value("t") };
        state.remaining.is_some().then_some(state)
    };
    members.iter().filter_map(of).collect()
}

/// `RateLimit-Limit: 100, 100;w=10` with `RateLimit-Remaining` and `RateLimit-Reset`.
fn parse_fields(headers: &Headers<'_>, policies: &mut Vec<Policy>) -> Option<State> {
    let limit = members(headers.get("ratelimit-limit"));
    let mut parts = limit.iter();
    let quota = parts.next().and_then(|member| parse_count(&split_member(member).0));
    policies.extend(parts.filter_map(|member| parse_policy(member)));
    let state = State {
        name: String::new(),
        quota,
        remaining: headers.count("ratelimit-remaining"),
        resets_in_s: headers.count("ratelimit-reset"),
    };
    (quota.is_some() || state.remaining.is_some()).then_some(state)
}

/// Members of a list, split at commas outside quotes.
fn members(field: Option<&str>) -> Vec<String> {
    field.map(|field| split_outside_quotes(field, ',')).unwrap_or_default()
}

/// The item and its parameters.
fn split_member(member: &str) -> (String, Vec<(String, String)>) {
    let mut parts = split_outside_quotes(member, ';').into_iter();
    let bare = |text: &str| text.trim().trim_matches('"').to_owned();
    let head = parts.next().map(|head| bare(&head)).unwrap_or_default();
    let parameters = parts.filter_map(|part| {
        let (name, value) = part.split_once('=')?;
        Some((name.trim().to_ascii_lowercase(), bare(value)))
    });
    (head, parameters.collect())
}

fn split_outside_quotes(text: &str, mark: char) -> Vec<String> {
    let mut quoted = false;
    let pieces = text.split(|c: char| {
        quoted ^= c == '"';
        c == mark && !quoted
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty()).take(MEMBERS).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(policy: &str, state: &str) -> Vec<(Option<u64>, Option<u64>, Option<u64>)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [pair("RateLimit-Policy", policy), pair("RateLimit", state)];
        let limits = read_rate_limit(&Headers(&headers));
        limits.into_iter().map(|limit| (limit.window_seconds, limit.limit, limit.remaining)).collect()
    }

    #[test]
    fn a_comma_or_semicolon_inside_quotes_splits_nothing() {
        assert_eq!(told("\"a,b;c\";q=5;w=1", "\"a,b;c\";r=2"), [(Some(1), Some(5), Some(2))]);
    }

    #[test]
    fn the_state_of_a_policy_that_is_not_told_stands_alone() {
        assert_eq!(told("\"a\";q=5;w=1", "\"b\";r=2"), [(Some(1), Some(5), None), (None, None, Some(2))]);
    }

    #[test]
    fn malformed_members_say_nothing() {
        for field in ["", "\"", ";;", "\"a\";q=-1", "a;q", "=,=;", "\"a\";r=\u{fc}"] {
            assert_eq!(told(field, field), [], "{field}");
        }
    }

    #[test]
    fn a_long_list_is_cut() {
        let list: Vec<String> = (0..1000).map(|n| format!("\"p{n}\";q=1;w=1")).collect();
        assert_eq!(told(&list.join(","), "").len(), MEMBERS);
    }
}
