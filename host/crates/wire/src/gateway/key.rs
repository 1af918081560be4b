//! Who may use a gateway: a segment of the path, or the token where a program puts its key.
//!
//! All programs take a base address with a path, so the segment is what authorises; it also keeps web pages of the
//! user's browser out, which can reach loopback but not guess. Some clients drop the path of their base address for single
//! requests: where the host injects the secret, the token in the place of the key authorises as well. Where it does not,
//! those places hold the program's own credential, which is not compared with anything.

use http::{HeaderMap, HeaderValue};

/// Where programs put their key.
pub(super) const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Keeps the segment apart from other uses of the token.
const CONTEXT: &str = "assize gateway path segment";
const SEGMENT_LENGTH: usize = 32;

/// The token and what follows from it.
pub(super) struct Key {
    token: String,
    segment: String,
    /// Whether the token counts where a key is expected.
    by_header: bool,
}

impl Key {
    pub fn of(token: String, by_header: bool) -> Self {
        let derived = blake3::Hash::from(blake3::derive_key(CONTEXT, token.as_bytes()));
        let segment = derived.to_hex()[..SEGMENT_LENGTH].to_owned();
        Self { token, segment, by_header }
    }

    pub fn segment(&self) -> &str {
        &self.segment
    }

    /// The path at the upstream, when the request is authorised.
    pub fn open<'a>(&self, path: &'a str, query: Option<&str>, headers: &HeaderMap) -> Option<&'a str> {
        let bare = path.strip_prefix('/').unwrap_or(path);
        let end = bare.find('/').unwrap_or(bare.len());
        if same(&bare[..end], &self.segment) {
            return Some(&bare[end..]);
        }
        let carried = self.by_header
            && (CREDENTIALS.iter().any(|name| headers.get_all(*name).iter().any(|value| self.is_in(value)))
                || query.is_some_and(|query| query.split('&').any(|pair| self.is_key(pair))));
        carried.then_some(path)
    }

    fn is_in(&self, value: &HeaderValue) -> bool {
        let text = value.to_str().unwrap_or_default().trim();
        // The scheme before a token is any word, most often `Bearer`.
        same(text.rsplit(' ').next().unwrap_or_default(), &self.token)
    }

    /// Whether a pair of a query is `key` with the token.
    fn is_key(&self, pair: &str) -> bool {
        pair.strip_prefix("key=").is_some_and(|value| same(value, &self.token))
    }

    /// The query without the token.
    pub fn strip(&self, query: &str) -> String {
        query.split('&').filter(|pair| !self.is_key(pair)).collect::<Vec<_>>().join("&")
    }
}

/// Compares digests, which takes the same time wherever the texts differ.
fn same(given: &str, expected: &str) -> bool {
    !expected.is_empty() && blake3::hash(given.as_bytes()) == blake3::hash(expected.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        headers
    }

    #[test]
    fn the_segment_authorises_and_is_taken_off() {
        let key = Key::of("t0ken".to_owned(), false);
        let none = HeaderMap::new();
        let path = format!("/{}/v1/x", key.segment());
        assert_eq!(key.open(&path, None, &none), Some("/v1/x"));
        assert_eq!(key.open(&format!("/{}", key.segment()), None, &none), Some(""));
        for path in [
            "/",
            "",
            "/v1/x",
            "//v1",
            "/t0ken/v1/x",
            &format!("/{}x/v1", key.segment()),
            &format!("/v1/{}", key.segment()),
        ] {
            assert_eq!(key.open(path, None, &none), None, "{path}");
        }
    }

    #[test]
    fn the_token_authorises_only_where_the_host_injects() {
        let (key, bare) = (Key::of("t0ken".to_owned(), true), Key::of("t0ken".to_owned(), false));
        for name in CREDENTIALS {
            let carried = headers(name, "Bearer t0ken");
            assert_eq!(key.open("/v1/x", None, &carried), Some("/v1/x"), "{name}");
            assert_eq!(bare.open("/v1/x", None, &carried), None, "{name}");
            assert_eq!(key.open("/v1/x", None, &headers(name, "t0ke")), None, "{name}");
        }
        assert_eq!(key.open("/x", Some("alt=sse&key=t0ken"), &HeaderMap::new()), Some("/x"));
        assert_eq!(key.open("/x", Some("monkey=t0ken"), &HeaderMap::new()), None);
        assert_eq!(key.strip("alt=sse&key=t0ken&key=other"), "alt=sse&key=other");
        assert_eq!(Key::of(String::new(), true).open("/x", Some("key="), &headers("api-key", "")), None);
    }
}
