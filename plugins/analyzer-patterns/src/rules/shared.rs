//! Rules that need their own look: assignments to markup, swallowed errors, weak randomness, blocking in async code.

use super::calls_script::danger;
use super::{Action, Entry, Rule, Scope, call_end, is_dynamic};
use crate::collector::{Collector, Hit};
use crate::language::*;
use crate::lexer::Class;
use crate::text::{Text, contains, contains_fold, is_word};
use crate::words::Word;

// Needs a value from outside; frameworks that escape by themselves never come here.
static INNER_HTML: Rule = danger(
    "calls/inner-html",
    "possible cross-site scripting: computed HTML is assigned",
    "cross-site-scripting",
    "medium",
    "medium",
    "CWE-79",
    "text that is not a literal becomes markup; a value from outside can bring scripts",
    "assign `textContent`, or sanitise the markup first",
);
// The shell reads what the list form would pass as it is.
static SHELL_TRUE: Rule = danger(
    "calls/shell-true",
    "possible command injection: a program is started through a shell",
    "command-injection",
    "medium",
    "medium",
    "CWE-78",
    "with `shell=True` the command is read by a shell; a value from outside can add commands",
    "pass a list of arguments and leave `shell` off",
);
// Guessable when used for tokens; only lines that name one are reported.
static WEAK_RANDOM: Rule = danger(
    "calls/weak-random",
    "possible guessable secret: a token is made with a predictable generator",
    "weak-randomness",
    "medium",
    "low",
    "CWE-338",
    "the generator's next values follow from earlier ones; a token, password or key made with it can be guessed",
    "use the generator for secrets (`crypto.randomBytes`, `secrets`, `SecureRandom`)",
);
// Assertions vanish with `-O`.
static ASSERT_AUTH: Rule = danger(
    "calls/assert-authorisation",
    "an assertion decides about access",
    "missing-authorization",
    "low",
    "low",
    "CWE-617",
    "assertions are removed when Python runs with `-O`, and the check with them",
    "raise an error with `if not …`",
);
// Trust is switched off for a connection.
pub(super) static TLS_OFF: Rule = danger(
    "config/tls-verification-off",
    "certificates are not checked",
    "tls-verification",
    "high",
    "high",
    "CWE-295",
    "anybody on the way can answer in place of the server and read or change what is sent",
    "leave verification on and add the private authority's certificate to the trust store",
);
// Keys of hosts protect the first connection only when they are known.
static HOST_KEY: Rule = danger(
    "config/ssh-host-key-unchecked",
    "SSH host keys are accepted without a check",
    "tls-verification",
    "medium",
    "high",
    "CWE-322",
    "anybody on the way can answer in place of the host",
    "load known host keys and reject others",
);
// Templates without escaping.
static AUTOESCAPE: Rule = danger(
    "config/template-escaping-off",
    "template escaping is switched off",
    "cross-site-scripting",
    "medium",
    "high",
    "CWE-79",
    "values are written into pages as markup",
    "leave escaping on and mark single values",
);
// An error disappears without a trace.
static SWALLOWED: Rule = Rule {
    id: "reliability/swallowed-error",
    title: "an error is caught and dropped",
    lens: "reliability",
    category: "swallowed-error",
    severity: "low",
    confidence: "medium",
    cwe: "CWE-390",
    summary: "the handler is empty: the failure leaves no trace and the code goes on as if it had succeeded",
    fix: "handle the error, log it, or say in a comment why it may be dropped and catch only that kind",
    rank: 50,
};
// Catches even the wish to stop.
static BARE_EXCEPT: Rule = Rule {
    id: "reliability/bare-except",
    title: "`except:` catches everything",
    lens: "reliability",
    category: "broad-catch",
    severity: "low",
    confidence: "high",
    cwe: "CWE-396",
    summary: "interrupts and exits are caught too, and faults that nobody expected are treated like expected ones",
    fix: "name the exceptions, or write `except Exception`",
    rank: 50,
};
// All other tasks of the loop wait.
static BLOCKING_SLEEP: Rule = Rule {
    id: "concurrency/sleep-in-async",
    title: "a blocking sleep in an async function",
    lens: "concurrency",
    category: "blocking-in-async",
    severity: "medium",
    confidence: "high",
    cwe: "",
    summary: "`time.sleep` stops the event loop: every other task waits too",
    fix: "await `asyncio.sleep`",
    rank: 50,
};

const fn look(words: &'static [&'static str], languages: Languages, look: super::Look) -> Entry {
    Entry { words, languages, scope: Scope::Code, action: Action::Look(look) }
}

/// The table.
pub const ENTRIES: &[Entry] = &[
    look(&["innerHTML", "outerHTML", "dangerouslySetInnerHTML", "v_html"], SCRIPT, look_at_markup),
    look(&["shell"], PYTHON, look_at_shell_flag),
    look(
        &["random", "rand", "mt_rand", "uniqid", "randint", "choice", "Intn", "Random"],
        SCRIPT | PYTHON | PHP | JVM | GO | CSHARP | C,
        look_at_random,
    ),
    look(&["assert"], PYTHON, look_at_assert),
    look(
        &[
            "verify",
            "check_hostname",
            "InsecureSkipVerify",
            "rejectUnauthorized",
            "danger_accept_invalid_certs",
            "danger_accept_invalid_hostnames",
            "CURLOPT_SSL_VERIFYPEER",
            "CURLOPT_SSL_VERIFYHOST",
            "verify_mode",
            "_create_unverified_context",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "ALLOW_ALL_HOSTNAME_VERIFIER",
            "NoopHostnameVerifier",
            "DangerousAcceptAnyServerCertificateValidator",
            "strictSSL",
        ],
        CODE,
        look_at_verification,
    ),
    look(&["AutoAddPolicy", "InsecureIgnoreHostKey", "StrictHostKeyChecking"], CODE, look_at_host_key),
    look(&["autoescape"], PYTHON, look_at_autoescape),
    look(&["except"], PYTHON, look_at_except),
    look(&["catch"], SCRIPT | JVM | CSHARP | PHP | C, look_at_catch),
    look(&["sleep"], PYTHON, look_at_sleep),
];

/// The place behind `=`, `:` or `=>` after a word, when that follows and is no comparison.
pub(super) fn value_after(text: &Text<'_>, at: usize) -> Option<usize> {
    let mut at = text.skip_blanks(at);
    if matches!(text.byte(at), b'"' | b'\'' | b']') {
        at = text.skip_blanks(at + 1);
    }
    match (text.byte(at), text.byte(at + 1)) {
        (b'=', b'=') => None,
        (b'=', b'>') | (b':', b'=') | (b'+', b'=') => Some(text.skip_blanks(at + 2)),
        (b'=' | b':' | b',', _) => Some(text.skip_blanks(at + 1)),
        _ => None,
    }
}

fn look_at_markup(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    if text.bytes[word.start..word.end].starts_with(b"d") {
        // React: `dangerouslySetInnerHTML={{ __html: value }}`.
        let Some(at) = crate::text::find(rest, b"__html", 0) else { return };
        let from = text.skip_blanks(word.end + at + 6) + 1;
        if is_dynamic(text, from, word.end + rest.len()) {
            let close = crate::text::find(rest, b"}}", 0).map_or(rest.len(), |at| at + 2);
            out.report(&INNER_HTML, Hit::at(word.start, word.end + close));
        }
        return;
    }
    let Some(from) = value_after(text, word.end) else { return };
    if text.byte(text.skip_blanks(word.end)) == b':' || text.byte(text.skip_blanks(word.end)) == b',' {
        return;
    }
    let to = word.end + rest.iter().position(|b| *b == b';').unwrap_or(rest.len());
    if from < to && is_dynamic(text, from, to) {
        let start = text.receiver(word.start).map_or(word.start, |(start, _)| start);
        out.report(&INNER_HTML, Hit::at(start, word.end + text.bytes[word.end..to].trim_ascii_end().len()));
    }
}

fn look_at_shell_flag(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if let Some(at) = value_after(text, word.end)
        && text.bytes[at..].starts_with(b"True")
        && text.byte(text.skip_blanks(word.end)) == b'='
    {
        out.report(&SHELL_TRUE, Hit::at(word.start, at + 4));
    }
}

fn look_at_random(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let name = &text.bytes[word.start..word.end];
    let fits = match text.receiver(word.start) {
        Some((_, receiver)) => {
            matches!(receiver, b"Math" | b"random" | b"rand" | b"ThreadLocalRandom") && name != b"Random"
        }
        None => matches!(name, b"rand" | b"mt_rand" | b"uniqid" | b"Random"),
    };
    if !fits || text.byte(word.end) != b'(' {
        return;
    }
    let before = text.line_before(word.start);
    let names: [&[u8]; 6] = [b"token", b"passw", b"secret", b"session", b"nonce", b"apikey"];
    if text.spend(before.len() * names.len()) && names.iter().any(|n| contains_fold(before, n)) {
        let start = text.receiver(word.start).map_or(word.start, |(start, _)| start);
        let closed = text.arguments(word.end);
        out.report(&WEAK_RANDOM, Hit::at(start, call_end(text, word, closed)));
    }
}

fn look_at_assert(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let names: [&[u8]; 5] = [b"is_admin", b"is_authenticated", b"is_superuser", b"has_perm", b"is_authorized"];
    if !contains(text.path.as_bytes(), b"test") && names.iter().any(|name| contains(rest, name)) {
        out.report(&ASSERT_AUTH, Hit::at(word.start, call_end(text, word, None)));
    }
}

fn look_at_verification(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let name = &text.bytes[word.start..word.end];
    let off = |words: &[&[u8]]| {
        let at = if text.byte(word.end) == b'(' {
            Some(text.skip_blanks(word.end + 1))
        } else {
            value_after(text, word.end)
        };
        at.and_then(|at| {
            words
                .iter()
                .find(|w| text.bytes[at..].starts_with(w) && !is_word(text.byte(at + w.len())))
                .map(|w| at + w.len())
        })
    };
    let end = match name {
        b"verify" if text.is(PYTHON) && text.receiver(word.start).is_none_or(|(_, r)| r != b"jwt") => off(&[b"False"]),
        b"check_hostname" => off(&[b"False"]),
        b"InsecureSkipVerify" if text.is(GO) => off(&[b"true"]),
        b"rejectUnauthorized" | b"strictSSL" => off(&[b"false"]),
        b"danger_accept_invalid_certs" | b"danger_accept_invalid_hostnames" => off(&[b"true"]),
        b"CURLOPT_SSL_VERIFYPEER" | b"CURLOPT_SSL_VERIFYHOST" => off(&[b"false", b"FALSE", b"0", b"0L"]),
        b"verify_mode" => off(&[b"OpenSSL::SSL::VERIFY_NONE", b"ssl.CERT_NONE"]),
        b"NODE_TLS_REJECT_UNAUTHORIZED" => off(&[b"'0'", b"\"0\"", b"0"]),
        b"_create_unverified_context"
        | b"ALLOW_ALL_HOSTNAME_VERIFIER"
        | b"NoopHostnameVerifier"
        | b"DangerousAcceptAnyServerCertificateValidator" => Some(word.end),
        _ => None,
    };
    if let Some(end) = end {
        out.report(&TLS_OFF, Hit::at(word.start, end));
    }
}

fn look_at_host_key(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    if text.bytes[word.start..word.end].starts_with(b"Strict") {
        if rest.starts_with(b"=no") || rest.starts_with(b" no") {
            out.report(&HOST_KEY, Hit::at(word.start, word.end + 3));
        }
    } else if rest.starts_with(b"(") {
        out.report(&HOST_KEY, Hit::at(word.start, word.end));
    }
}

fn look_at_autoescape(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if let Some(at) = value_after(text, word.end)
        && text.bytes[at..].starts_with(b"False")
    {
        out.report(&AUTOESCAPE, Hit::at(word.start, at + 5));
    }
}

fn look_at_except(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let Some(colon) = rest.iter().position(|b| *b == b':') else { return };
    let is_bare = rest[..colon].trim_ascii().is_empty();
    let body = text.skip_white(word.end + colon + 1);
    let end = text.word_end(body);
    let after = text.skip_blanks(end);
    let is_empty = &text.bytes[body.min(end)..end] == b"pass" && matches!(text.byte(after), b'\n' | b'\r' | 0);
    // Narrow kinds that are commonly and rightly passed over.
    let is_narrow = [
        &b"KeyboardInterrupt"[..],
        b"ImportError",
        b"ModuleNotFoundError",
        b"StopIteration",
        b"FileNotFoundError",
        b"CancelledError",
        b"KeyError",
        b"ProcessLookupError",
    ]
    .iter()
    .any(|kind| contains(&rest[..colon], kind));
    if is_empty && !is_narrow {
        out.report(&SWALLOWED, Hit::at(word.start, end));
    } else if is_bare {
        out.report(&BARE_EXCEPT, Hit::at(word.start, word.end + colon + 1));
    }
}

fn look_at_catch(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let mut at = text.skip_blanks(word.end);
    if text.byte(at) == b'(' {
        let Some((_, close)) = text.arguments(at) else { return };
        at = text.skip_white(close + 1);
    } else {
        at = text.skip_white(at);
    }
    if text.byte(at) != b'{' || text.class_at(at) != Class::Code {
        return;
    }
    let close = text.skip_white(at + 1);
    // A comment inside is taken for the reason why it may be dropped.
    if text.byte(close) == b'}' {
        out.report(&SWALLOWED, Hit::at(word.start, close + 1));
    }
}

fn look_at_sleep(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let Some((start, b"time")) = text.receiver(word.start) else { return };
    if text.byte(word.end) != b'(' {
        return;
    }
    let mut line = text.line_of(start);
    let (from, _) = text.line(line);
    let mut indent = start - from;
    // The nearest line above that is indented less and begins a function owns the call.
    for _ in 0..200 {
        if line == 0 || indent == 0 || !text.spend(40) {
            return;
        }
        line -= 1;
        let (from, end) = text.line(line);
        let first = text.skip_blanks(from);
        if first >= end || first - from >= indent || text.class_at(first) != Class::Code {
            continue;
        }
        indent = first - from;
        let head = &text.bytes[first..end];
        if head.starts_with(b"async def") {
            out.report(&BLOCKING_SLEEP, Hit::at(start, call_end(text, word, text.arguments(word.end))));
            return;
        }
        if head.starts_with(b"def ") || head.starts_with(b"class ") {
            return;
        }
    }
}
