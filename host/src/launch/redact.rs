//! Secrets out of whatever a program or server hands back, plain and in the encodings in which they usually echo.

use std::collections::BTreeSet;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are not looked for: they would be found in every other word.
const SHORTEST_PLAIN: usize = 4;
/// Shorter encodings are not looked for, for the same reason.
const SHORTEST_ENCODED: usize = 8;

/// Finds the values of secrets: as they are; base64, both alphabets, wherever they begin in what was encoded; in
/// percent, hexadecimal and JSON encoding. Not found: base64 broken into lines, compressed or encrypted text.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Patterns by their first byte, the longest first.
    by_first: Vec<Vec<Vec<u8>>>,
}

impl Redactor {
    /// Looks for these values. Blanks around a value are not part of it.
    pub fn new<S: AsRef<str>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let mut patterns = BTreeSet::new();
        for secret in secrets {
            let secret = secret.as_ref().trim();
            if secret.len() >= SHORTEST_PLAIN {
                patterns.insert(secret.as_bytes().to_vec());
                patterns.extend(encodings(secret).into_iter().filter(|form| form.len() >= SHORTEST_ENCODED));
            }
        }
        if patterns.is_empty() {
            return Self::default();
        }
        let mut by_first = vec![Vec::new(); 256];
        for pattern in patterns {
            if let Some(first) = pattern.first() {
                by_first[usize::from(*first)].push(pattern);
            }
        }
        for patterns in &mut by_first {
            patterns.sort_by_key(|pattern: &Vec<u8>| std::cmp::Reverse(pattern.len()));
        }
        Self { by_first }
    }

    /// The bytes without secrets.
    pub fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(bytes.len());
        let mut stream = self.stream();
        stream.push(bytes, &mut clean);
        stream.finish(&mut clean);
        clean
    }

    /// The text without secrets.
    pub fn redact_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact(text.as_bytes())).into_owned()
    }

    /// For bytes that come in parts: a secret may lie across two of them.
    pub fn stream(&self) -> RedactStream<'_> {
        RedactStream { redactor: self, held: Vec::new() }
    }

    /// What is at the start of these bytes. `more` says that other bytes may follow them.
    fn look(&self, at: &[u8], more: bool) -> Look {
        let Some(first) = at.first() else { return Look::Nothing };
        for pattern in &self.by_first[usize::from(*first)] {
            if at.starts_with(pattern) {
                return Look::Secret(pattern.len());
            }
            if more && pattern.starts_with(at) {
                return Look::Unknown;
            }
        }
        Look::Nothing
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

enum Look {
    Nothing,
    Secret(usize),
    /// It begins like a secret and the rest has not come yet.
    Unknown,
}

/// Redacts a stream. Holds back only what begins like a secret.
#[derive(Debug)]
pub struct RedactStream<'a> {
    redactor: &'a Redactor,
    held: Vec<u8>,
}

impl RedactStream<'_> {
    /// Takes the next part and appends what is certain to be clean.
    pub fn push(&mut self, part: &[u8], clean: &mut Vec<u8>) {
        if self.redactor.by_first.is_empty() {
            clean.extend_from_slice(part);
        } else if self.held.is_empty() {
            let certain = self.scan(part, true, clean);
            self.held.extend_from_slice(&part[certain..]);
        } else {
            let mut whole = std::mem::take(&mut self.held);
            whole.extend_from_slice(part);
            let certain = self.scan(&whole, true, clean);
            whole.drain(..certain);
            self.held = whole;
        }
    }

    /// Appends the rest.
    pub fn finish(&mut self, clean: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.held);
        self.scan(&rest, false, clean);
    }

    /// Appends the clean form; returns how many bytes it covers.
    fn scan(&self, bytes: &[u8], more: bool, clean: &mut Vec<u8>) -> usize {
        let mut copied = 0;
        let mut at = 0;
        loop {
            let next = bytes[at..].iter().position(|byte| !self.redactor.by_first[usize::from(*byte)].is_empty());
            let Some(next) = next else {
                clean.extend_from_slice(&bytes[copied..]);
                return bytes.len();
            };
            at += next;
            match self.redactor.look(&bytes[at..], more) {
                Look::Nothing => at += 1,
                Look::Secret(length) => {
                    clean.extend_from_slice(&bytes[copied..at]);
                    clean.extend_from_slice(REDACTED.as_bytes());
                    at += length;
                    copied = at;
                }
                Look::Unknown => {
                    clean.extend_from_slice(&bytes[copied..at]);
                    return at;
                }
            }
        }
    }
}

/// The forms in which a value echoes.
fn encodings(secret: &str) -> Vec<Vec<u8>> {
    let bytes = secret.as_bytes();
    let mut forms = Vec::new();
    for alphabet in [BASE64, BASE64_URL] {
        forms.extend((0..3).map(|before| base64_inside(bytes, before, alphabet)));
    }
    for digits in [UPPER, LOWER] {
        forms.push(percent(bytes, digits, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)));
        forms.push(percent(bytes, digits, |byte| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte)));
        forms.push(percent(bytes, digits, |_| false));
        forms.push(bytes.iter().flat_map(|byte| hex(*byte, digits)).collect());
    }
    if let Ok(json) = serde_json::to_string(secret) {
        let inner = json[1..json.len() - 1].to_owned();
        forms.push(inner.replace('/', "\\/").into_bytes());
        forms.push(inner.into_bytes());
    }
    forms
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// The base64 digits that depend on these bytes alone when `before` other bytes (modulo three) come first.
fn base64_inside(bytes: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bit = |index: usize| bytes[index / 8] >> (7 - index % 8) & 1;
    // Bits of the first digit that starts inside, counted from the start of the bytes.
    let first = (6 - before * 8 % 6) % 6;
    (first..bytes.len() * 8)
        .step_by(6)
        .take_while(|start| start + 6 <= bytes.len() * 8)
        .map(|start| (start..start + 6).fold(0_u8, |digit, index| digit << 1 | bit(index)))
        .map(|digit| alphabet[usize::from(digit)])
        .collect()
}

fn percent(bytes: &[u8], digits: &[u8; 16], plain: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut form = Vec::with_capacity(bytes.len() * 3);
    for byte in bytes {
        if plain(*byte) {
            form.push(*byte);
        } else {
            form.push(b'%');
            form.extend(hex(*byte, digits));
        }
    }
    form
}

fn hex(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-Test/Key+with\"odd parts";

    fn clean(text: &str) -> String {
        Redactor::new([SECRET]).redact_text(text)
    }

    #[test]
    fn a_secret_is_found_in_its_usual_forms() {
        for form in [
            SECRET,
            // base64 of it, of `:` and it, and of `user:` and it, less the digits that others share in.
            "c2stVGVzdC9LZXkrd2l0aCJvZGQgcGFydH",
            "NrLVRlc3QvS2V5K3dpdGgib2RkIHBhcnRz",
            "zay1UZXN0L0tleSt3aXRoIm9kZCBwYXJ0c",
            "sk-Test%2FKey%2Bwith%22odd%20parts",
            "sk-Test%2fKey%2bwith%22odd%20parts",
            "736B2D546573742F4B65792B77697468226F6464207061727473",
            "736b2d546573742f4b65792b77697468226f6464207061727473",
            "sk-Test/Key+with\\\"odd parts",
            "sk-Test\\/Key+with\\\"odd parts",
        ] {
            let text = clean(&format!("before {form} after"));
            assert!(text.contains(REDACTED), "{form}: {text}");
            assert!(text.starts_with("before ") && text.ends_with(" after"), "{form}: {text}");
        }
    }

    #[test]
    fn base64_is_found_at_every_alignment() {
        // Written with the standard alphabet's own rule, bit by bit, over the whole text.
        for before in ["", "a", "ab", "abc", "user:"] {
            let whole = format!("{before}{SECRET}xyz");
            let encoded = String::from_utf8(base64_inside(whole.as_bytes(), 0, BASE64)).unwrap();
            assert!(clean(&encoded).contains(REDACTED), "{before}: {encoded}");
        }
        assert_eq!(base64_inside(b"Man", 0, BASE64), b"TWFu");
        assert_eq!(base64_inside(b"an", 1, BASE64), b"Fu");
        assert_eq!(base64_inside(b"n", 2, BASE64), b"u");
    }

    #[test]
    fn a_secret_across_parts_is_found_at_every_cut() {
        let redactor = Redactor::new([SECRET, "sk-Test"]);
        let text = format!("a sk-Te b {SECRET} c sk-Test d");
        for cut in 0..=text.len() {
            let mut out = Vec::new();
            let mut stream = redactor.stream();
            stream.push(&text.as_bytes()[..cut], &mut out);
            stream.push(&text.as_bytes()[cut..], &mut out);
            stream.finish(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), "a sk-Te b [redacted] c [redacted] d", "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_and_is_not_held_back() {
        let redactor = Redactor::new([SECRET]);
        let mut out = Vec::new();
        let mut stream = redactor.stream();
        stream.push(b"an ordinary line\n", &mut out);
        assert_eq!(out, b"an ordinary line\n");
        assert_eq!(Redactor::new(["", " ", "abc"]).redact_text("abc"), "abc");
    }

    #[test]
    fn debug_output_shows_no_secret() {
        assert!(!format!("{:?}", Redactor::new([SECRET])).contains("sk-"));
    }
}
