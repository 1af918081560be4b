//! Credentials of requests. They tell clients apart; they are compared and told back, never kept.

use crate::http::Head;

/// The credential of a request; empty where there is none. Of a signature it is the name of the key.
pub fn credential(head: &Head) -> String {
    let named = ["x-api-key", "x-goog-api-key", "api-key"].iter().find_map(|name| head.header(name));
    if let Some(key) = named {
        return key.to_owned();
    }
    match head.header("authorization") {
        Some(value) if value.starts_with("AWS4-HMAC-SHA256 ") => {
            part_of_signature(value, "Credential=").split('/').next().unwrap_or_default().to_owned()
        }
        Some(value) => value.split_once(' ').map_or(value, |(_, key)| key).trim().to_owned(),
        None => head.parameter("key").unwrap_or_default(),
    }
}

/// Whether a request is signed in the form of AWS's version 4. The signature itself is not checked: its key is not known here.
pub fn is_signed(head: &Head) -> bool {
    let Some(value) = head.header("authorization").filter(|value| value.starts_with("AWS4-HMAC-SHA256 ")) else {
        return false;
    };
    let scope: Vec<&str> = part_of_signature(value, "Credential=").split('/').collect();
    let [key, date, region, "bedrock", "aws4_request"] = scope[..] else { return false };
    let signed: Vec<&str> = part_of_signature(value, "SignedHeaders=").split(';').collect();
    let signature = part_of_signature(value, "Signature=");
    let time = head.header("x-amz-date").unwrap_or_default();
    !key.is_empty()
        && !region.is_empty()
        && date.len() == 8
        && time.starts_with(date)
        && time.len() == 16
        && ["host", "x-amz-date"].iter().all(|name| signed.contains(name))
        && signature.len() == 64
        && signature.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn part_of_signature<'a>(value: &'a str, name: &str) -> &'a str {
    let parts = value.split([' ', ',']);
    parts.filter_map(|part| part.strip_prefix(name)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)], query: &str) -> Head {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Head { headers, query: query.to_owned(), ..Head::default() }
    }

    #[test]
    fn credentials_are_found_wherever_services_take_them() {
        assert_eq!(credential(&head(&[("x-api-key", "a")], "")), "a");
        assert_eq!(credential(&head(&[("authorization", "Bearer b")], "")), "b");
        assert_eq!(credential(&head(&[("x-goog-api-key", "c")], "")), "c");
        assert_eq!(credential(&head(&[], "alt=sse&key=d")), "d");
        assert_eq!(credential(&head(&[], "")), "");
    }

    #[test]
    fn a_signature_has_its_form() {
        let signature = "0123456789abcdef".repeat(4);
        let value = format!(
            "AWS4-HMAC-SHA256 Credential=AKIA1/20260102/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature={signature}"
        );
        let time = ("x-amz-date", "20260102T030405Z");
        let good = head(&[("authorization", &value), time], "");
        assert!(is_signed(&good));
        assert_eq!(credential(&good), "AKIA1");
        for bad in [
            value.replace("/bedrock/", "/s3/"),
            value.replace("20260102", "20260103"),
            value.replace(";host", ""),
            value.replace(&signature, "abc"),
            value.replace("AWS4-HMAC-SHA256", "Bearer"),
        ] {
            assert!(!is_signed(&head(&[("authorization", &bad), time], "")), "{bad}");
        }
        assert!(!is_signed(&head(&[("authorization", &value)], "")));
    }
}
