//! Addresses of services, from configuration.

/// A base address, checked and without its last slash: `https`, or `http` to this machine, and nothing behind the path.
///
/// # Errors
/// Why it cannot be used, with the mend.
pub fn check_base_url(url: &str) -> Result<String, String> {
    let refuse = |why: &str| Err(format!("`base_url` {why}; write it like https://host/path"));
    if url.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\')) {
        return refuse("has a query, a fragment or a blank");
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
        _ => return refuse("is no https address"),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return refuse("holds a user; credentials are secrets");
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            if port.parse::<u16>().is_err() {
                return refuse("has a port that is no number");
            }
            host
        }
        _ => authority,
    };
    if host.is_empty() {
        return refuse("names no host");
    }
    if scheme == "http" && !is_loopback(host) {
        return refuse("is http to another machine, where the key could be read on the way");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn is_loopback(host: &str) -> bool {
    let numeric = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || numeric.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Text as one segment of a path: whatever is not a letter, a digit or one of `-._~` is percent-encoded.
pub fn encode_segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_and_this_machine_are_taken() {
        for (url, checked) in [
            ("https://api.example.com", "https://api.example.com"),
            ("https://example.com:8443/a/b/", "https://example.com:8443/a/b"),
            ("http://127.0.0.1:9/-/ok", "http://127.0.0.1:9/-/ok"),
            ("http://localhost:11434", "http://localhost:11434"),
            ("http://[::1]:80/v1", "http://[::1]:80/v1"),
            ("http://[::1]", "http://[::1]"),
        ] {
            assert_eq!(check_base_url(url).as_deref(), Ok(checked));
        }
    }

    #[test]
    fn what_would_leak_a_key_or_bend_the_path_is_refused() {
        for url in [
            "",
            "example.com",
            "ftp://example.com",
            "http://example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "https://",
            "https:///v1",
            "https://user:key@example.com",
            "https://example.com/?key=1",
            "https://example.com/#x",
            "https://example.com/a b",
            "https://example.com:port",
            "https://example.com:99999",
        ] {
            assert!(check_base_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_segment_stays_one_segment() {
        assert_eq!(encode_segment("a-b_c.d:0/é?"), "a-b_c.d%3A0%2F%C3%A9%3F");
    }
}
