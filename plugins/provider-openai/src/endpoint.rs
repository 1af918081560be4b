//! Addresses, queries and headers of the configuration: what is let through, and how it is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assize_plugin_sdk::PluginError;

use crate::config::refuse;

/// Headers that are the client's, or that carry keys.
const REFUSED_HEADERS: [&str; 14] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "accept",
    "accept-encoding",
    "expect",
];
/// Names under which keys stand in queries.
const REFUSED_QUERIES: [&str; 6] = ["key", "api-key", "api_key", "apikey", "token", "access_token"];

/// An address without the slash at its end.
///
/// # Errors
/// `invalid-configuration` when it is no address, or when a key would go over a wire that everybody reads.
pub(crate) fn read_base_url(url: &str, has_key: bool) -> Result<String, PluginError> {
    let url = url.trim().trim_end_matches('/');
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    if !matches!(scheme, "https" | "http") || authority.is_empty() {
        return Err(refuse("`base_url` is an address such as https://api.openai.com/v1".to_owned()));
    }
    if url.contains(['?', '#']) {
        return Err(refuse("`base_url` has no query; write it into `query`".to_owned()));
    }
    if authority.contains('@') {
        return Err(refuse("`base_url` carries no credential; name it with `secret`".to_owned()));
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains(['\\', '"', '<', '>', '{', '}']) {
        return Err(refuse("`base_url` holds characters that no address has".to_owned()));
    }
    if let Some(end) = ["/chat/completions", "/responses"].iter().find(|end| url.ends_with(*end)) {
        return Err(refuse(format!("`base_url` ends before `{end}`, which is added")));
    }
    if scheme == "http" && has_key && !is_loopback(authority) {
        return Err(refuse(format!(
            "`base_url` would send the key to {authority} unencrypted; use https, or `secret = false` for a server without keys"
        )));
    }
    Ok(url.to_owned())
}

/// Whether the address is OpenAI's own.
pub(crate) fn is_openai(base_url: &str) -> bool {
    let authority = base_url.strip_prefix("https://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    authority.strip_suffix(":443").unwrap_or(authority).eq_ignore_ascii_case("api.openai.com")
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_127 = host.split('.').count() == 4
        && host.starts_with("127.")
        && host.split('.').all(|part| part.parse::<u8>().is_ok());
    host == "localhost" || host == "::1" || is_127
}

/// The whole address of a request.
pub(crate) fn render_url(base_url: &str, end: &str, query: &BTreeMap<String, String>) -> String {
    let mut url = format!("{base_url}{end}");
    for (at, (name, value)) in query.iter().enumerate() {
        url.push(if at == 0 { '?' } else { '&' });
        escape(name, &mut url);
        url.push('=');
        escape(value, &mut url);
    }
    url
}

fn escape(text: &str, url: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
}

/// Refuses headers that belong to the client, carry keys, or are none.
pub(crate) fn check_headers(headers: &BTreeMap<String, String>, key_header: &str) -> Result<(), PluginError> {
    if !is_name(key_header) {
        return Err(refuse("`api_key_header` is no name of a header".to_owned()));
    }
    for (name, value) in headers {
        let folded = name.to_ascii_lowercase();
        if REFUSED_HEADERS.contains(&folded.as_str()) || folded == key_header {
            return Err(refuse(format!("`headers` may not hold `{name}`; a key is named with `secret`")));
        }
        if !is_name(name) {
            return Err(refuse(format!("`headers` holds `{name}`, which is no name of a header")));
        }
        if value.chars().any(char::is_control) {
            return Err(refuse(format!("the value of `{name}` in `headers` holds a control character")));
        }
    }
    Ok(())
}

/// Refuses keys in the query, because addresses are written into logs.
pub(crate) fn check_query(query: &BTreeMap<String, String>) -> Result<(), PluginError> {
    match query.keys().find(|name| REFUSED_QUERIES.contains(&name.to_ascii_lowercase().as_str())) {
        Some(name) => Err(refuse(format!("`query` may not hold `{name}`; a key is named with `secret`"))),
        None => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_get_a_key() {
        for url in
            ["https://h/v1", "http://localhost:1/v1", "http://127.0.0.1:1", "http://[::1]:8080/v1", "http://127.9.9.9"]
        {
            assert!(read_base_url(url, true).is_ok(), "{url}");
        }
        for url in ["http://h/v1", "http://127.0.0.1.evil.example/v1", "http://10.0.0.1", "http://localhost.example"] {
            assert!(read_base_url(url, true).is_err(), "{url}");
            assert!(read_base_url(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in [
            "",
            "api.openai.com/v1",
            "ftp://h",
            "https://",
            "https://u:p@h/v1",
            "https://h/v1#x",
            "https://h/a b",
            "https://h/{model}",
            "https://h/v1/chat/completions/",
            "https://h/v1/responses",
        ] {
            assert!(read_base_url(url, true).is_err(), "{url}");
        }
    }

    #[test]
    fn openai_is_known_by_its_whole_name() {
        assert!(is_openai("https://api.openai.com/v1") && is_openai("https://API.openai.com:443"));
        for url in ["https://api.openai.com.example/v1", "http://api.openai.com/v1", "https://h/api.openai.com"] {
            assert!(!is_openai(url), "{url}");
        }
    }

    #[test]
    fn queries_are_escaped() {
        let query = [("api-version", "2025 01&x=é")].map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        assert_eq!(
            render_url("https://h/v1", "/responses", &query),
            "https://h/v1/responses?api-version=2025%2001%26x%3D%C3%A9"
        );
        assert_eq!(render_url("https://h", "/x", &BTreeMap::new()), "https://h/x");
    }
}
