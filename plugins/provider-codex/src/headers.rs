//! Responses in the program's trace on standard error, which is the only place where it tells their headers.

use assize_plugin_sdk::{derive_tail, strip_escapes};

/// Responses that are kept; the last ones say most.
const KEPT: usize = 4;
/// Headers of one response that are kept, and characters of a value.
const HEADERS: usize = 64;
const VALUE_CHARS: usize = 400;
/// Bytes at the end of standard error that are read.
const TAIL: usize = 256 * 1024;

/// One response of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers, as far as they are text.
    pub headers: Vec<(String, String)>,
}

/// The last responses that the trace tells of, oldest first.
pub fn read_responses(stderr: &[u8]) -> Vec<Response> {
    let trace = strip_escapes(&derive_tail(stderr, TAIL));
    let mut responses: Vec<Response> = trace.lines().rev().filter_map(read_line).take(KEPT).collect();
    responses.reverse();
    responses
}

fn read_line(line: &str) -> Option<Response> {
    let (_, told) = line.split_once("codex_http_client::client: Request completed ")?;
    let (_, after) = told.split_once(" status=")?;
    let status: u16 = after.get(..3)?.parse().ok().filter(|status| (100..600).contains(status))?;
    let (_, map) = after.split_once(" headers={")?;
    Some(Response { status, headers: read_map(map) })
}

/// `"name": "value", …` up to the brace that closes the map. A value that is no text ends with its comma.
fn read_map(map: &str) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut rest = map;
    while headers.len() < HEADERS {
        let Some((name, after)) = read_quoted(rest) else { break };
        let Some(after) = after.strip_prefix(": ") else { break };
        let after = match read_quoted(after) {
            Some((value, after)) => {
                // Cookies are credentials and say nothing of limits.
                if !name.eq_ignore_ascii_case("set-cookie") {
                    headers.push((name, value));
                }
                after
            }
            None => after.find([',', '}']).map_or("", |at| &after[at..]),
        };
        let Some(after) = after.strip_prefix(", ") else { break };
        rest = after;
    }
    headers
}

/// A text in quotes at the beginning, and what stands after it.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '"' if !escaped => return Some((value.chars().take(VALUE_CHARS).collect(), &inner[at + 1..])),
            _ => value.push(c),
        }
        escaped = false;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(status: &str, headers: &str) -> String {
        format!(
            "\u{1b}[2m2026-03-01T12:00:00Z\u{1b}[0m DEBUG codex_http_client::client: Request completed method=POST url=http://127.0.0.1:9/v1/responses status={status} headers={{{headers}}} version=HTTP/1.1\n"
        )
    }

    #[test]
    fn a_response_is_told_with_its_headers_and_without_cookies() {
        let trace = line(
            "429 Too Many Requests",
            r#""x-ratelimit-remaining-requests": "0", "authorization": Sensitive, "set-cookie": "a=b", "x-say": "\"hi\", }", "retry-after": "1""#,
        );
        let responses = read_responses(trace.as_bytes());
        assert_eq!(responses.len(), 1);
        assert_eq!(responses[0].status, 429);
        let names: Vec<&str> = responses[0].headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x-ratelimit-remaining-requests", "x-say", "retry-after"]);
        assert_eq!(responses[0].headers[1].1, "\"hi\", }");
    }

    #[test]
    fn only_the_last_responses_are_kept_in_their_order() {
        let trace: String = (200..220).map(|status| line(&format!("{status} OK"), "")).collect();
        let statuses: Vec<u16> = read_responses(trace.as_bytes()).iter().map(|response| response.status).collect();
        assert_eq!(statuses, [216, 217, 218, 219]);
    }

    #[test]
    fn damage_is_survived_and_other_lines_are_nothing() {
        for text in [
            "ERROR status=429 headers={\"retry-after\": \"1\"}",
            "codex_http_client::client: Request completed  status=42",
            "codex_http_client::client: Request completed  status=ä29 headers={",
            "codex_http_client::client: Request completed  status=999 headers={}",
        ] {
            assert_eq!(read_responses(text.as_bytes()), [], "{text}");
        }
        let cut = "codex_http_client::client: Request completed x status=429 Too headers={\"a\": \"b\", \"c\": \"d\\";
        assert_eq!(read_responses(cut.as_bytes())[0].headers.len(), 1);
    }
}
