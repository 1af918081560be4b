//! Secrets that are known by their own form: tokens of services, key blocks, addresses with passwords, password hashes.

use crate::assignments::is_placeholder;
use crate::collector::{Collector, Hit};
use crate::rules::Rule;
use crate::text::{Text, contains, find};
use crate::words::Word;

/// A secret rule. All tokens open something of their owner's to whoever reads them.
const fn secret(
    id: &'static str,
    title: &'static str,
    severity: &'static str,
    confidence: &'static str,
    rank: u8,
) -> Rule {
    Rule {
        id,
        title,
        lens: "security",
        category: "hardcoded-secret",
        severity,
        confidence,
        cwe: "CWE-798",
        summary: "everybody who can read the repository, now or in its history, can use it",
        fix: "revoke it, issue a new one, and read it from a secret store or the environment",
        rank,
    }
}

/// Bytes of a token behind its prefix.
#[derive(Clone, Copy)]
enum Alphabet {
    Alphanumeric,
    /// With `_` and `-`.
    Url,
    /// With `.` as well.
    Dotted,
    LowerHex,
    /// Capitals and digits.
    Upper,
}

/// What else must hold.
#[derive(Clone, Copy)]
enum Check {
    /// Nothing but enough variety.
    Variety,
    /// The last six characters are the CRC32 of the thirty before them, in base 62.
    Crc,
    /// The text occurs in the token.
    Has(&'static str),
    /// Slack: parts of digits.
    Digits,
}

struct Form {
    prefix: &'static [u8],
    alphabet: Alphabet,
    least: usize,
    most: usize,
    check: Check,
    rule: &'static Rule,
}

const fn form(
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
    check: Check,
    rule: &'static Rule,
) -> Form {
    Form { prefix: prefix.as_bytes(), alphabet, least, most, check, rule }
}

// Cloud and source accounts: full harm at once. Test keys and narrow tokens: lower.
static AWS: Rule = secret("secrets/aws-access-key", "an AWS access key id", "high", "high", 1);
static GITHUB: Rule = secret("secrets/github-token", "a GitHub token", "critical", "high", 1);
static GITLAB: Rule = secret("secrets/gitlab-token", "a GitLab token", "critical", "high", 1);
static SLACK: Rule = secret("secrets/slack-token", "a Slack token", "high", "high", 1);
static SLACK_HOOK: Rule = secret("secrets/slack-webhook", "a Slack webhook address", "medium", "high", 1);
static STRIPE: Rule = secret("secrets/stripe-key", "a Stripe live key", "critical", "high", 1);
static STRIPE_TEST: Rule = secret("secrets/stripe-test-key", "a Stripe test key", "low", "high", 1);
static GOOGLE: Rule = secret("secrets/google-api-key", "a Google API key", "medium", "high", 1);
static ANTHROPIC: Rule = secret("secrets/anthropic-key", "an Anthropic API key", "critical", "high", 1);
static OPENAI: Rule = secret("secrets/openai-key", "an OpenAI API key", "critical", "high", 2);
static NPM: Rule = secret("secrets/npm-token", "an npm token", "critical", "high", 1);
static PYPI: Rule = secret("secrets/pypi-token", "a PyPI token", "critical", "high", 1);
static SENDGRID: Rule = secret("secrets/sendgrid-key", "a SendGrid key", "high", "high", 1);
static TWILIO: Rule = secret("secrets/twilio-key", "a Twilio API key", "medium", "medium", 1);
static HUGGING_FACE: Rule = secret("secrets/huggingface-token", "a Hugging Face token", "high", "high", 1);
static DIGITAL_OCEAN: Rule = secret("secrets/digitalocean-token", "a DigitalOcean token", "critical", "high", 1);
static SHOPIFY: Rule = secret("secrets/shopify-token", "a Shopify token", "high", "high", 1);
static VAULT: Rule = secret("secrets/vault-token", "a Vault token", "high", "medium", 1);
static NEW_RELIC: Rule = secret("secrets/newrelic-key", "a New Relic key", "medium", "high", 1);
static AZURE: Rule = secret("secrets/azure-storage-key", "an Azure storage account key", "critical", "high", 1);
// A signed token is mostly short-lived, and often an example.
static JWT: Rule = secret("secrets/json-web-token", "a signed JSON Web Token", "low", "medium", 3);
static KEY_BLOCK: Rule = secret("secrets/private-key", "a private key", "critical", "high", 0);
static URL_PASSWORD: Rule = secret("secrets/url-password", "an address with a password", "high", "medium", 3);
// The hash has to be cracked first.
static PASSWORD_HASH: Rule = secret("secrets/password-hash", "a password hash of a login file", "medium", "medium", 3);

/// Service forms, by prefix.
static FORMS: &[Form] = &[
    form("AKIA", Alphabet::Upper, 16, 16, Check::Variety, &AWS),
    form("ASIA", Alphabet::Upper, 16, 16, Check::Variety, &AWS),
    form("ABIA", Alphabet::Upper, 16, 16, Check::Variety, &AWS),
    form("ghp_", Alphabet::Alphanumeric, 36, 36, Check::Crc, &GITHUB),
    form("gho_", Alphabet::Alphanumeric, 36, 36, Check::Crc, &GITHUB),
    form("ghu_", Alphabet::Alphanumeric, 36, 36, Check::Crc, &GITHUB),
    form("ghs_", Alphabet::Alphanumeric, 36, 36, Check::Crc, &GITHUB),
    form("ghr_", Alphabet::Alphanumeric, 36, 76, Check::Variety, &GITHUB),
    form("github_pat_", Alphabet::Url, 82, 82, Check::Variety, &GITHUB),
    form("glpat-", Alphabet::Url, 20, 64, Check::Variety, &GITLAB),
    form("gldt-", Alphabet::Url, 20, 64, Check::Variety, &GITLAB),
    form("glrt-", Alphabet::Url, 20, 64, Check::Variety, &GITLAB),
    form("xoxb-", Alphabet::Url, 24, 120, Check::Digits, &SLACK),
    form("xoxp-", Alphabet::Url, 24, 120, Check::Digits, &SLACK),
    form("xoxa-", Alphabet::Url, 24, 120, Check::Digits, &SLACK),
    form("xoxr-", Alphabet::Url, 24, 120, Check::Digits, &SLACK),
    form("xapp-", Alphabet::Url, 40, 140, Check::Digits, &SLACK),
    form("sk_live_", Alphabet::Alphanumeric, 16, 120, Check::Variety, &STRIPE),
    form("rk_live_", Alphabet::Alphanumeric, 16, 120, Check::Variety, &STRIPE),
    form("sk_test_", Alphabet::Alphanumeric, 16, 120, Check::Variety, &STRIPE_TEST),
    form("AIza", Alphabet::Url, 35, 35, Check::Variety, &GOOGLE),
    form("sk-ant-", Alphabet::Url, 60, 140, Check::Variety, &ANTHROPIC),
    form("sk-", Alphabet::Url, 40, 200, Check::Has("T3BlbkFJ"), &OPENAI),
    form("npm_", Alphabet::Alphanumeric, 36, 36, Check::Crc, &NPM),
    form("pypi-AgE", Alphabet::Url, 60, 250, Check::Variety, &PYPI),
    form("SG.", Alphabet::Dotted, 66, 66, Check::Has("."), &SENDGRID),
    form("SK", Alphabet::LowerHex, 32, 32, Check::Variety, &TWILIO),
    form("hf_", Alphabet::Alphanumeric, 34, 40, Check::Variety, &HUGGING_FACE),
    form("dop_v1_", Alphabet::LowerHex, 64, 64, Check::Variety, &DIGITAL_OCEAN),
    form("shpat_", Alphabet::LowerHex, 32, 32, Check::Variety, &SHOPIFY),
    form("shpss_", Alphabet::LowerHex, 32, 32, Check::Variety, &SHOPIFY),
    form("hvs.", Alphabet::Url, 24, 140, Check::Variety, &VAULT),
    form("NRAK-", Alphabet::Upper, 27, 27, Check::Variety, &NEW_RELIC),
];

/// First bytes of the forms, and of the other words that are looked at.
static FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < FORMS.len() {
        table[FORMS[at].prefix[0] as usize] = true;
        at += 1;
    }
    table[b'e' as usize] = true;
    table[b'h' as usize] = true;
    table
};

/// Looks whether a token begins at a word.
pub fn check_word(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let first = text.bytes[word.start];
    if !FIRST[usize::from(first)] {
        return;
    }
    let rest = &text.bytes[word.start..];
    for form in FORMS {
        if form.prefix[0] == first && rest.starts_with(form.prefix) {
            check_form(text, out, word.start, form);
        }
    }
    if rest.starts_with(b"eyJ") {
        check_json_web_token(text, out, word.start);
    } else if rest.starts_with(b"hooks.slack.com/services/T") {
        let end = token_end(text, word.start + 25, 90, |b| b.is_ascii_alphanumeric() || b == b'/');
        if end - word.start >= 25 + 36 && !is_placeholder(&text.bytes[word.start + 25..end]) {
            out.report(&SLACK_HOOK, Hit::at(word.start, end));
        }
    }
}

fn check_form(text: &Text<'_>, out: &mut Collector<'_>, start: usize, form: &Form) {
    let body = start + form.prefix.len();
    let belongs: fn(u8) -> bool = match form.alphabet {
        Alphabet::Alphanumeric => |b| b.is_ascii_alphanumeric(),
        Alphabet::Url => |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
        Alphabet::Dotted => |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
        Alphabet::LowerHex => |b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'),
        Alphabet::Upper => |b| b.is_ascii_digit() || b.is_ascii_uppercase(),
    };
    let end = token_end(text, body, form.most + 1, belongs);
    let length = end - body;
    if length < form.least || length > form.most || crate::text::is_word(text.byte(end)) {
        return;
    }
    let token = &text.bytes[body..end];
    if is_placeholder(token) || contains(token, b"EXAMPLE") || variety(token) < 8 || is_sequence(token) {
        return;
    }
    let mut hit = Hit::at(start, end);
    match form.check {
        Check::Variety => {}
        // A wrong checksum means that no service issued it: mostly an invented example.
        Check::Crc => {
            if !has_checksum(token) {
                hit.confidence = Some("low");
                hit.severity = Some("medium");
            }
        }
        Check::Has(needle) => {
            if !contains(token, needle.as_bytes()) {
                return;
            }
        }
        Check::Digits => {
            if token.split(|b| *b == b'-').filter(|part| part.len() >= 8 && part.iter().all(u8::is_ascii_digit)).count()
                == 0
            {
                return;
            }
        }
    }
    out.report(form.rule, hit);
}

fn token_end(text: &Text<'_>, from: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let limit = text.bytes.len().min(from + most);
    let mut at = from.min(limit);
    while at < limit && belongs(text.bytes[at]) {
        at += 1;
    }
    at
}

fn variety(token: &[u8]) -> usize {
    let mut seen = [false; 256];
    token.iter().for_each(|b| seen[usize::from(*b)] = true);
    seen.iter().filter(|s| **s).count()
}

/// `abcdef…`, `012345…`: written by hand.
fn is_sequence(token: &[u8]) -> bool {
    let steps = token.windows(2).filter(|w| w[1] == w[0].wrapping_add(1)).count();
    steps * 3 > token.len() * 2
}

/// Whether the last six characters are the checksum of the others.
fn has_checksum(token: &[u8]) -> bool {
    let Some((body, sum)) = token.len().checked_sub(6).map(|at| token.split_at(at)) else { return false };
    let mut crc = u32::MAX;
    for byte in body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut value = !crc;
    sum.iter().rev().all(|digit| {
        let expected = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(value % 62) as usize];
        value /= 62;
        expected == *digit
    })
}

fn check_json_web_token(text: &Text<'_>, out: &mut Collector<'_>, start: usize) {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let first = token_end(text, start, 400, is_part);
    if text.byte(first) != b'.' || text.bytes.get(first + 1..first + 4) != Some(b"eyJ") || first - start < 16 {
        return;
    }
    let second = token_end(text, first + 1, 2000, is_part);
    let third = token_end(text, second + 1, 700, is_part);
    if text.spend(third - start) && text.byte(second) == b'.' && third - second > 20 {
        out.report(&JWT, Hit::at(start, third));
    }
}

/// Whole private key blocks. Public keys and certificates are none.
pub fn check_key_blocks(text: &Text<'_>, out: &mut Collector<'_>) {
    let mut from = 0;
    while let Some(start) = find(text.bytes, b"-----BEGIN ", from) {
        from = start + 11;
        let head = &text.bytes[from..text.bytes.len().min(from + 60)];
        let Some(label_end) = find(head, b"-----", 0) else { continue };
        let label = &head[..label_end];
        if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK")) {
            continue;
        }
        let body = from + label_end + 5;
        let window = &text.bytes[body..text.bytes.len().min(body + 15_000)];
        if !text.spend(window.len()) {
            break;
        }
        let Some(close) = find(window, b"-----END ", 0) else { continue };
        let material = window[..close].iter().filter(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/')).count();
        // Shorter is `...` or `<key>`; the smallest real key, Ed25519, has 64 characters.
        if material < 60 || contains(&window[..close], b"...") || variety(&window[..close]) < 16 {
            continue;
        }
        let tail = body + close + 9;
        let end =
            find(&text.bytes[tail..text.bytes.len().min(tail + 60)], b"-----", 0).map_or(tail, |at| tail + at + 5);
        out.report(&KEY_BLOCK, Hit::at(start, end));
        from = end;
    }
    let mut from = 0;
    while let Some(start) = find(text.bytes, b"AccountKey=", from) {
        from = start + 11;
        let end = token_end(text, from, 90, |b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
        if end - from == 88 && text.bytes[from..end].ends_with(b"==") && variety(&text.bytes[from..end]) > 16 {
            out.report(&AZURE, Hit::at(start, end));
        }
    }
}

/// `scheme://user:password@host`, from the colon before the slashes.
pub fn check_url(text: &Text<'_>, out: &mut Collector<'_>, colon: usize) {
    let from = colon + 3;
    let window = &text.bytes[from..text.bytes.len().min(from + 200)];
    let end = window
        .iter()
        .position(|b| {
            b.is_ascii_whitespace()
                || matches!(b, b'"' | b'\'' | b'`' | b'/' | b'?' | b'<' | b'>' | b')' | b'|' | b'\\')
        })
        .unwrap_or(window.len());
    let authority = &window[..end];
    let Some(at) = authority.iter().rposition(|b| *b == b'@') else { return };
    let Some(separator) = authority[..at].iter().position(|b| *b == b':') else { return };
    let (user, password, host) = (&authority[..separator], &authority[separator + 1..at], &authority[at + 1..]);
    if password.len() < 3
        || host.is_empty()
        || is_placeholder(password)
        || password == user
        || password.contains(&b'$')
        || password.contains(&b'{')
    {
        return;
    }
    let is_common = [
        &b"password"[..],
        b"pass",
        b"pwd",
        b"passwd",
        b"secret",
        b"postgres",
        b"root",
        b"guest",
        b"admin",
        b"test",
        b"user",
    ]
    .iter()
    .any(|w| password.eq_ignore_ascii_case(w));
    let is_local = host.starts_with(b"localhost")
        || host.starts_with(b"127.")
        || host.starts_with(b"example.")
        || contains(host, b".example");
    let mut hit = Hit::at(text.word_start(colon), from + at + 1 + host.len());
    if is_common || is_local {
        hit.severity = Some("low");
        hit.confidence = Some("low");
    }
    out.report(&URL_PASSWORD, hit);
}

/// `$apr1$…`, `$2y$…`, `$6$…`: hashes of login files.
pub fn check_password_hash(text: &Text<'_>, out: &mut Collector<'_>, at: usize) {
    let rest = &text.bytes[at..text.bytes.len().min(at + 140)];
    let forms: [(&[u8], usize); 8] = [
        (b"$apr1$", 30),
        (b"$2y$", 55),
        (b"$2a$", 55),
        (b"$2b$", 55),
        (b"$1$", 28),
        (b"$5$", 50),
        (b"$6$", 90),
        (b"$y$", 60),
    ];
    let Some((_, least)) = forms.iter().find(|(prefix, _)| rest.starts_with(prefix)) else { return };
    let end = token_end(text, at, 140, |b| b.is_ascii_alphanumeric() || matches!(b, b'$' | b'.' | b'/' | b'='));
    let hash = &text.bytes[at..end];
    if hash.len() >= *least && hash.iter().filter(|b| **b == b'$').count() >= 3 && variety(hash) > 14 {
        out.report(&PASSWORD_HASH, Hit::at(at, end));
    }
}
