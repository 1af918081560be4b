//! AWS Signature Version 4, so that no component ever holds the key that signs.
//!
//! The rules are those of "Create a signed AWS API request" in the IAM user guide. The path is encoded once more, as
//! every service but S3 wants it.

use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use crate::origin::Target;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What a request is signed with.
#[derive(Clone)]
pub struct Signature {
    /// Region, such as `eu-central-1`.
    pub region: String,
    /// Service, such as `bedrock`.
    pub service: String,
    /// Access key id.
    pub key_id: String,
    /// Secret access key.
    pub secret: String,
    /// Session token, of temporary keys.
    pub session_token: Option<String>,
    /// Milliseconds since the Unix epoch: the service accepts some minutes around its own time.
    pub now_ms: u64,
}

impl std::fmt::Debug for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signature")
            .field("region", &self.region)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// Adds `x-amz-date`, the token and `authorization`; every header that is there by then is signed.
pub(crate) fn sign(
    method: &Method,
    target: &Target,
    headers: &mut HeaderMap,
    body: &[u8],
    with: &Signature,
) -> Result<(), &'static str> {
    let (day, instant) = times(with.now_ms).ok_or("its time is out of range")?;
    headers.remove(http::header::AUTHORIZATION);
    let mut add = |name: &'static str, text: &str| {
        let mut value =
            HeaderValue::from_str(text).map_err(|_| "a key or token holds a character that none may hold")?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
        Ok::<(), &'static str>(())
    };
    add("x-amz-date", &instant)?;
    if let Some(token) = &with.session_token {
        add("x-amz-security-token", token)?;
    }
    let (names, canonical) = canonical(method, target, headers, body);
    let scope = format!("{day}/{}/{}/aws4_request", with.region, with.service);
    let text = format!("{ALGORITHM}\n{instant}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
    let signature = hex(&mac(&key(with, &day), text.as_bytes()));
    let value = format!("{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", with.key_id);
    let mut value = HeaderValue::from_str(&value).map_err(|_| "the key id, region or service is none")?;
    value.set_sensitive(true);
    headers.insert(http::header::AUTHORIZATION, value);
    Ok(())
}

/// The names of the signed headers, and the request in the form that is hashed.
fn canonical(method: &Method, target: &Target, headers: &HeaderMap, body: &[u8]) -> (String, String) {
    let mut signed: Vec<(String, String)> = vec![("host".to_owned(), authority(target))];
    for name in headers.keys() {
        let values: Vec<String> = headers.get_all(name).iter().map(squeeze).collect();
        signed.push((name.as_str().to_owned(), values.join(",")));
    }
    signed.sort();
    let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
    let lines: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let names = names.join(";");
    let path = encode(target.url.path(), true);
    let digest = hex(&Sha256::digest(body));
    let canonical = format!("{method}\n{path}\n{}\n{lines}\n{names}\n{digest}", query(target));
    (names, canonical)
}

fn authority(target: &Target) -> String {
    let host = target.url.host_str().unwrap_or_default();
    target.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A value with every run of blanks as one.
fn squeeze(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

fn query(target: &Target) -> String {
    let mut pairs: Vec<(String, String)> =
        target.url.query_pairs().map(|(name, value)| (encode(&name, false), encode(&value, false))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encode(text: &str, keep_slash: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slash && byte == b'/') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Day and instant in the basic form of ISO 8601.
fn times(now_ms: u64) -> Option<(String, String)> {
    let now = Timestamp::from_millisecond(i64::try_from(now_ms).ok()?).ok()?.to_zoned(TimeZone::UTC);
    Some((now.strftime("%Y%m%d").to_string(), now.strftime("%Y%m%dT%H%M%SZ").to_string()))
}

fn key(with: &Signature, day: &str) -> Vec<u8> {
    let start = format!("AWS4{}", with.secret).into_bytes();
    [day, &with.region, &with.service, "aws4_request"].iter().fold(start, |key, part| mac(&key, part.as_bytes()))
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // A key of any length is taken, so the branch without a code is never reached.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key, region, service and instant of the test suite that AWS publishes (2015-08-30T12:36:00Z).
    fn suite() -> Signature {
        Signature {
            region: "us-east-1".to_owned(),
            service: "service".to_owned(),
            key_id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
            now_ms: 1_440_938_160_000,
        }
    }

    fn signed(method: Method, url: &str, pairs: &[(&'static str, &'static str)], with: &Signature) -> String {
        let target = Target::read(url).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        sign(&method, &target, &mut headers, b"", with).unwrap();
        let text = headers["authorization"].to_str().unwrap();
        text.rsplit('=').next().unwrap().to_owned()
    }

    #[test]
    fn the_published_vectors_are_met() {
        let url = "https://example.amazonaws.com/";
        let with = suite();
        // get-vanilla, post-vanilla.
        assert_eq!(
            signed(Method::GET, url, &[], &with),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        assert_eq!(
            signed(Method::POST, url, &[], &with),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
        // get-vanilla-query-order-key-case.
        assert_eq!(
            signed(Method::GET, "https://example.amazonaws.com/?Param2=value2&Param1=value1", &[], &with),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
        );
        // The worked example of the user guide.
        let with = Signature { service: "iam".to_owned(), ..suite() };
        let pairs = [("content-type", "application/x-www-form-urlencoded; charset=utf-8")];
        assert_eq!(
            signed(Method::GET, "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", &pairs, &with),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
        );
    }

    #[test]
    fn a_path_is_encoded_once_more_and_everything_sent_is_signed() {
        let target = Target::read("https://h.example/model/a%3Ab:1/invoke").unwrap();
        let mut headers = HeaderMap::new();
        let with = Signature { session_token: Some("tok".to_owned()), ..suite() };
        headers.insert("accept", HeaderValue::from_static(" a   b "));
        sign(&Method::POST, &target, &mut headers, b"{}", &with).unwrap();
        let text = headers["authorization"].to_str().unwrap();
        assert!(text.contains("SignedHeaders=accept;host;x-amz-date;x-amz-security-token,"), "{text}");
        let mut bare = headers.clone();
        bare.remove("authorization");
        let (_, canonical) = canonical(&Method::POST, &target, &bare, b"{}");
        assert!(
            canonical.starts_with("POST\n/model/a%253Ab%3A1/invoke\n\naccept:a b\nhost:h.example\n"),
            "{canonical}"
        );
    }

    #[test]
    fn debug_output_shows_no_key() {
        let text = format!("{:?}", suite());
        assert!(!text.contains("wJalr") && !text.contains("AKID"), "{text}");
    }
}
