//! Secrets known by the name they are given: `password = "…"`, `API_KEY=…`, `"token": "…"`.

use crate::collector::{Collector, Hit};
use crate::language::{CODE, CONFIG, DOCKER, JSON, PROSE, PYTHON, SETTINGS, SHELL, YAML};
use crate::lexer::Class;
use crate::rules::Rule;
use crate::text::{Text, contains, contains_fold};

// A guess by name and variety: high when right, so medium confidence.
static GENERIC: Rule = Rule {
    id: "secrets/generic-assignment",
    title: "possible hard-coded secret",
    lens: "security",
    category: "hardcoded-secret",
    severity: "high",
    confidence: "medium",
    cwe: "CWE-798",
    summary: "a value that looks like a secret is given to a name of a secret; everybody who can read the repository can use it",
    fix: "read it from a secret store or the environment, and replace the value that was published",
    rank: 9,
};

// The secret half of the account's key.
static AWS_SECRET: Rule = Rule {
    id: "secrets/aws-secret-key",
    title: "an AWS secret access key",
    severity: "critical",
    confidence: "high",
    rank: 2,
    ..GENERIC_BASE
};
const GENERIC_BASE: Rule = Rule {
    id: "",
    title: "",
    lens: "security",
    category: "hardcoded-secret",
    severity: "high",
    confidence: "medium",
    cwe: "CWE-798",
    summary: "everybody who can read the repository, now or in its history, can use it",
    fix: "revoke it, issue a new one, and read it from a secret store or the environment",
    rank: 9,
};

/// Longest value that is taken for a secret.
const LONGEST: usize = 300;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Password,
    Key,
}

/// Looks at strings behind names in code, and at lines in settings.
pub fn scan(text: &Text<'_>, out: &mut Collector<'_>) {
    if text.is(YAML | SETTINGS | DOCKER | SHELL) {
        for line in 0..text.line_count() {
            scan_line(text, out, line);
        }
    } else if text.is((CODE | CONFIG) & !PROSE) {
        for segment in &text.segments {
            if segment.class == Class::String && (6..=LONGEST + 8).contains(&(segment.end - segment.start)) {
                scan_string(text, out, segment.start, segment.end);
            }
        }
    }
}

fn scan_string(text: &Text<'_>, out: &mut Collector<'_>, start: usize, end: usize) {
    let mut at = start;
    while at > 0 && start - at < 4 && matches!(text.bytes[at - 1], b'b' | b'r' | b'@' | b'u') {
        at -= 1;
    }
    while at > 0 && start - at < 40 && matches!(text.bytes[at - 1], b' ' | b'\t') {
        at -= 1;
    }
    let sign = if at == 0 { 0 } else { text.bytes[at - 1] };
    if !matches!(sign, b'=' | b':' | b'>' | b',' | b'(') {
        return;
    }
    at -= 1;
    if sign == b',' || sign == b'(' {
        // `set("password", "…")` and `getenv("TOKEN", "…")`: only a string directly before a comma names the value.
        if sign == b'(' || at == 0 || !matches!(text.bytes[at - 1], b'"' | b'\'') {
            return;
        }
    }
    while at > 0 && start - at < 60 && matches!(text.bytes[at - 1], b'=' | b':' | b'!' | b' ' | b'\t') {
        at -= 1;
    }
    let mut name_end = at;
    while name_end > 0 && at - name_end < 3 && matches!(text.bytes[name_end - 1], b'"' | b'\'' | b']' | b'?') {
        name_end -= 1;
    }
    let mut name_start = name_end;
    while name_start > 0
        && name_end - name_start < 80
        && (crate::text::is_word(text.bytes[name_start - 1]) || matches!(text.bytes[name_start - 1], b'-'))
    {
        name_start -= 1;
    }
    let mut name = &text.bytes[name_start..name_end];
    // A typed declaration: `let password: &str = "…"`, `password: string = "…"`.
    if text.bytes[..name_start].trim_ascii_end().ends_with(b":") || text.bytes[..name_start].ends_with(b"&") {
        let before = text.line_before(name_start);
        let colon = before.iter().rposition(|b| *b == b':').unwrap_or(0);
        let first = before[..colon].iter().rposition(|b| !crate::text::is_word(*b)).map_or(0, |at| at + 1);
        name = &before[first..colon];
    }
    let quote = text.bytes[start];
    let mut width = 1;
    while width < 3 && text.byte(start + width) == quote && end - start > 2 * width + 1 {
        width += 1;
    }
    let (from, to) = (start + width, end.saturating_sub(width));
    let value = &text.bytes[from.min(to)..to];
    // Behind a comma a short word is mostly another name.
    let is_weak =
        sign == b',' && value.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) && value.len() < 12;
    if from < to && !is_weak && !crate::rules::has_hole(text, start) {
        judge(text, out, name, from, to, false);
    }
}

fn scan_line(text: &Text<'_>, out: &mut Collector<'_>, line: usize) {
    let (start, end) = text.line(line);
    let end = end.min(start + 1000);
    let bytes = &text.bytes[start..end];
    let content = bytes.trim_ascii_start();
    if content.is_empty() || content[0] == b'#' || content[0] == b';' || content.starts_with(b"//") {
        return;
    }
    let offset = start + bytes.len() - content.len();
    let Some(separator) =
        content.iter().take(120).position(|b| matches!(b, b'=' | b':') || (text.is(DOCKER) && *b == b' '))
    else {
        return;
    };
    let (name, at) = if text.is(DOCKER) && content[separator] == b' ' {
        if !matches!(&content[..separator], b"ENV" | b"ARG") {
            return;
        }
        let rest = content[separator + 1..].trim_ascii_start();
        let skip = content.len() - rest.len();
        let Some(sign) = rest.iter().position(|b| matches!(b, b'=' | b' ')) else { return };
        (&rest[..sign], skip + sign + 1)
    } else {
        (&content[..separator], separator + 1)
    };
    let name = name.trim_ascii();
    let name = [&b"export "[..], b"- ", b"set ", b"local ", b"readonly "]
        .iter()
        .fold(name, |name, prefix| name.strip_prefix(*prefix).unwrap_or(name));
    // In settings a path may stand before the name: `//registry.example/:_authToken=…` and `spring.datasource.password=…`.
    let (name, at) = match content.iter().take(200).position(|b| *b == b'=') {
        Some(sign) if text.is(SETTINGS) => (&content[..sign], sign + 1),
        _ => (name, at),
    };
    let name = name.rsplit(|b| matches!(b, b':' | b'.' | b'/')).next().unwrap_or(name).trim_ascii();
    let mut from = at;
    while from < content.len() && (content[from].is_ascii_whitespace() || content[from] == b'=') {
        from += 1;
    }
    let mut to = content.len();
    if let Some(comment) = content[from.min(to)..].windows(2).position(|w| w == b" #") {
        to = from + comment;
    }
    while to > from && (content[to - 1].is_ascii_whitespace() || matches!(content[to - 1], b',' | b';')) {
        to -= 1;
    }
    if to > from + 1 && matches!(content[from], b'"' | b'\'') && content[to - 1] == content[from] {
        from += 1;
        to -= 1;
    }
    if from < to {
        judge(text, out, name, offset + from, offset + to, true);
    }
}

fn judge(text: &Text<'_>, out: &mut Collector<'_>, name: &[u8], from: usize, to: usize, is_setting: bool) {
    let value = &text.bytes[from..to];
    if value.len() < 6 || value.len() > LONGEST {
        return;
    }
    let Some(kind) = kind_of_name(name) else { return };
    if !text.spend(value.len() * 8) || is_reference(value) || is_placeholder(value) {
        return;
    }
    let is_aws = value.len() == 40
        && contains_fold(name, b"secret")
        && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+'));
    let bits = entropy(value);
    if is_aws && bits > 4.2 && (contains_fold(name, b"aws") || text.path.ends_with("credentials")) {
        out.report(&AWS_SECRET, Hit::at(from, to));
        return;
    }
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let has_letter = value.iter().any(u8::is_ascii_alphabetic);
    let is_mixed = has_digit && has_letter || value.iter().any(|b| b"!@#%^&*+=?".contains(b));
    let is_name = is_identifier(value);
    let fits = match kind {
        Kind::Password => {
            is_mixed && !is_name
                || (is_setting
                    && !text.is(YAML | PYTHON | JSON)
                    && has_letter
                    && value.len() <= 64
                    && !is_name_like(value))
        }
        Kind::Key => {
            let is_hex = value.iter().all(u8::is_ascii_hexdigit);
            value.len() >= 12
                && has_digit
                && (bits >= out.entropy() || (is_hex && value.len() >= 16 && bits >= out.entropy() - 0.8))
                && !is_name
        }
    };
    if fits {
        let confidence = (!is_mixed).then_some("low");
        out.report(&GENERIC, Hit { confidence, ..Hit::at(from, to) });
    }
}

/// What a name promises; absent when it is no secret's.
fn kind_of_name(name: &[u8]) -> Option<Kind> {
    if name.len() < 3 || name.len() > 100 {
        return None;
    }
    let flat: Vec<u8> = name.iter().filter(|b| b.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    let has = |words: &[&str]| words.iter().any(|w| contains(&flat, w.as_bytes()));
    let ends = |words: &[&str]| words.iter().any(|w| flat.ends_with(w.as_bytes()));
    if ends(&[
        "path",
        "file",
        "url",
        "uri",
        "name",
        "id",
        "ids",
        "field",
        "label",
        "placeholder",
        "header",
        "type",
        "prefix",
        "suffix",
        "length",
        "len",
        "min",
        "max",
        "regex",
        "pattern",
        "policy",
        "hint",
        "error",
        "message",
        "msg",
        "text",
        "title",
        "format",
        "expiry",
        "expires",
        "ttl",
        "count",
        "limit",
        "env",
        "var",
        "param",
        "parameter",
        "selector",
        "input",
        "endpoint",
        "class",
        "style",
        "column",
        "description",
        "reset",
        "provider",
        "store",
        "ref",
        "algorithm",
        "mode",
        "scope",
        "audience",
        "issuer",
        "version",
        "date",
        "time",
        "dir",
        "arn",
    ]) || has(&[
        "tokeniz",
        "tokens",
        "csrf",
        "public",
        "secretary",
        "passwordless",
        "forgot",
        "stoptoken",
        "eostoken",
        "padtoken",
        "unktoken",
        "foreignkey",
        "primarykey",
    ]) {
        return None;
    }
    if has(&["password", "passwd", "passphrase", "passwort"])
        || ends(&["pwd", "pass"]) && !ends(&["bypass", "compass", "renderpass"])
    {
        return Some(Kind::Password);
    }
    (has(&[
        "secret",
        "apikey",
        "accesskey",
        "privatekey",
        "authkey",
        "encryptionkey",
        "signingkey",
        "credential",
        "accountkey",
        "masterkey",
    ]) || ends(&["token", "authtoken", "auth", "appkey", "secretkey", "clientkey"]))
    .then_some(Kind::Key)
}

/// Whether a value is a name of the value rather than the value.
fn is_reference(value: &[u8]) -> bool {
    let starts: [&[u8]; 20] = [
        b"$",
        b"{{",
        b"<",
        b"%",
        b"!",
        b"&",
        b"vault:",
        b"arn:",
        b"ref+",
        b"env(",
        b"env:",
        b"process.env",
        b"os.",
        b"secretKeyRef",
        b"file:",
        b"http://",
        b"https://",
        b"./",
        b"/",
        b"[",
    ];
    if starts.iter().any(|s| value.starts_with(s)) {
        return true;
    }
    value.iter().any(|b| matches!(b, b' ' | b'\t' | b'\n' | b'(' | b')' | b'<' | b'{' | b'\\'))
        || contains(value, b"${")
        || contains(value, b"::")
}

/// Words joined by signs, such as `auth.token.refresh` or `x-api-key`: a label.
fn is_identifier(value: &[u8]) -> bool {
    let is_label = value.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':'));
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    is_label
        || (value.iter().any(|b| matches!(b, b'_' | b'-' | b'.'))
            && digits <= 1
            && value.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.')))
}

fn is_name_like(value: &[u8]) -> bool {
    [&b"string"[..], b"required", b"optional", b"boolean", b"default", b"hidden", b"prompt", b"disabled", b"enabled"]
        .iter()
        .any(|w| value.eq_ignore_ascii_case(w))
        || value.iter().any(|b| matches!(b, b'.' | b'/' | b':' | b'|'))
}

/// Whether a value was plainly put there to be replaced.
pub fn is_placeholder(value: &[u8]) -> bool {
    let words: [&[u8]; 26] = [
        b"changeme",
        b"change_me",
        b"change-me",
        b"example",
        b"placeholder",
        b"xxxx",
        b"your-",
        b"your_",
        b"yourpass",
        b"yourkey",
        b"yoursecret",
        b"insert",
        b"replace",
        b"dummy",
        b"redacted",
        b"****",
        b"....",
        b"todo",
        b"fixme",
        b"sample",
        b"notreal",
        b"not-a-real",
        b"fake",
        b"<",
        b"mysecret",
        b"not_a_secret",
    ];
    if words.iter().any(|w| contains_fold(value, w)) {
        return true;
    }
    let plain = [
        &b"password"[..],
        b"passwd",
        b"secret",
        b"token",
        b"undefined",
        b"none",
        b"null",
        b"true",
        b"false",
        b"test",
        b"testing",
        b"username",
        b"password1",
        b"123456",
        b"12345678",
    ];
    if plain.iter().any(|w| value.eq_ignore_ascii_case(w)) {
        return true;
    }
    // One or two different characters: `000000`, `-----`.
    let first = value.first().copied().unwrap_or(0);
    value.iter().filter(|b| **b != first).count() <= 1
}

/// Shannon entropy in bits a byte.
pub fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    value.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let total = value.len().max(1) as f64;
    counts.iter().filter(|n| **n > 0).map(|n| f64::from(*n) / total).map(|p| -p * p.log2()).sum()
}
