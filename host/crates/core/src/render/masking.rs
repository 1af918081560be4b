//! Which part of a quoted line is a secret, and how it looks with its middle masked.

use std::collections::HashSet;

/// From this many characters on, the ends of a value are shown; of a shorter one they would be most of it.
const LONG: usize = 12;
/// Characters that are shown at the start and the end of a long value.
const SHOWN: (usize, usize) = (4, 2);
/// Characters of a value by which it is known again in other text, so that a part of it is known too.
const GRAM: usize = 8;
/// A shorter value is too common to be looked for in other text.
const SHORTEST: usize = 4;
/// Words without blanks that look random are masked in other text from this many characters on.
const RANDOM: usize = 16;
/// What stands for masked text.
const MASK: char = '…';
/// Words in the names that secrets have. A string that is such a name in the place of a name is no secret.
const NAMES: [&str; 8] = ["pass", "pwd", "secret", "token", "key", "credential", "auth", "user"];

/// What was masked in quotes, to be known again in other text.
#[derive(Default)]
pub(super) struct Known {
    whole: HashSet<String>,
    grams: HashSet<[char; GRAM]>,
}

impl Known {
    /// Notes a value, and the parts of it that look like secrets themselves.
    fn note(&mut self, value: &str, assigned: bool) {
        if is_name(value) && NAMES.iter().any(|word| value.to_lowercase().contains(word)) {
            return;
        }
        let odd = value.chars().any(|c| !c.is_alphabetic());
        let chars: Vec<char> = value.chars().collect();
        for gram in chars.windows(GRAM).filter_map(|window| window.try_into().ok()) {
            self.grams.insert(gram);
        }
        if chars.len() >= GRAM || (chars.len() >= SHORTEST && (odd || assigned)) {
            self.whole.insert(value.to_owned());
        }
        let parts = value.split(|c: char| c.is_whitespace() || "=:;,@/&?|\"'".contains(c));
        for part in parts.filter(|part| part.len() < value.len()) {
            let is_mixed = part.chars().any(|c| c.is_ascii_digit()) && part.chars().any(char::is_alphabetic);
            if part.chars().count() >= SHORTEST && is_mixed {
                self.whole.insert(part.to_owned());
            }
        }
    }

    /// Text in which known values, blocks of private keys and random-looking words are masked. Words that hold one of
    /// the `paths` are left alone.
    pub(super) fn conceal(&self, text: &str, paths: &[String]) -> String {
        let (text, after) = split_key_block(text);
        let mut out = mask_random(&self.mask_known(text), paths);
        if let Some(after) = after {
            push_block(&mut out, after);
        }
        out
    }

    fn mask_known(&self, text: &str) -> String {
        if self.whole.is_empty() {
            return text.to_owned();
        }
        let chars: Vec<char> = text.chars().collect();
        let mut covered = vec![false; chars.len()];
        for (at, window) in chars.windows(GRAM).enumerate() {
            if <[char; GRAM]>::try_from(window).is_ok_and(|gram| self.grams.contains(&gram)) {
                covered[at..at + GRAM].fill(true);
            }
        }
        for length in SHORTEST..GRAM {
            for (at, window) in chars.windows(length).enumerate() {
                let is_word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric());
                let inside = is_word(at.checked_sub(1).and_then(|at| chars.get(at))) || is_word(chars.get(at + length));
                if !inside && self.whole.contains(&window.iter().collect::<String>()) {
                    covered[at..at + length].fill(true);
                }
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while at < chars.len() {
            let length = covered[at..].iter().take_while(|hit| **hit == covered[at]).count();
            let run: String = chars[at..at + length].iter().collect();
            if !covered[at] {
                out.push_str(&run);
            } else if self.whole.contains(&run) {
                out.push_str(&mask(&run));
            } else {
                out.push(MASK);
            }
            at += length;
        }
        out
    }
}

/// A value with its middle masked, or all of it where it is short.
fn mask(value: &str) -> String {
    let count = value.chars().count();
    if count < LONG {
        return MASK.to_string();
    }
    let head = value.chars().take(SHOWN.0);
    head.chain([MASK]).chain(value.chars().skip(count - SHOWN.1)).collect()
}

/// A quote of source text with every value masked that may be the secret. What was masked goes to `known`.
pub(super) fn mask_quote(quote: &str, known: &mut Known) -> String {
    let (text, after) = split_key_block(quote);
    let (before, header) = text.split_at(if after.is_some() { text.rfind(BEGIN).unwrap_or(0) } else { text.len() });
    let mut out = String::with_capacity(quote.len());
    for (at, line) in before.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        mask_line(line, known, &mut out);
    }
    out.push_str(header);
    if let Some(after) = after {
        after.lines().map(str::trim).filter(|line| !line.starts_with("-----")).for_each(|line| known.note(line, false));
        push_block(&mut out, after);
    }
    out
}

const BEGIN: &str = "-----BEGIN ";

/// Text up to the end of the first header of a private key, and what follows it.
fn split_key_block(text: &str) -> (&str, Option<&str>) {
    for (at, _) in text.match_indices(BEGIN) {
        let words = &text[at + BEGIN.len()..];
        if let Some(end) = words.find("-----").filter(|end| *end < 80)
            && words[..end].contains("PRIVATE KEY")
        {
            let (head, after) = text.split_at(at + BEGIN.len() + end + 5);
            return (head, Some(after));
        }
    }
    (text, None)
}

/// Of a block nothing is shown but its header.
fn push_block(out: &mut String, after: &str) {
    if after.trim().is_empty() {
        out.push_str(after);
        return;
    }
    if after.starts_with(['\n', '\r']) {
        out.push('\n');
    }
    out.push(MASK);
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// Whether text reads as a name: words of letters, or short ones with digits.
fn is_name(text: &str) -> bool {
    text.split(['_', '-', '.', '$', '&', '*']).all(|part| {
        let count = part.chars().count();
        let letters = part.chars().all(char::is_alphabetic);
        (letters && count <= 20) || (count <= 4 && part.chars().all(char::is_alphanumeric))
    })
}

/// Masks one line: the value of `name = value` or `name: value` without quotes as a whole, else every string and
/// every long word that is no name in the place of a name.
fn mask_line(line: &str, known: &mut Known, out: &mut String) {
    let separator =
        line.find(|c: char| is_quote(c) || matches!(c, '=' | ':')).filter(|at| line[*at..].starts_with(['=', ':']));
    if let Some(at) = separator {
        let rest = &line[at..];
        let start = rest.find(|c: char| !(c.is_whitespace() || "=:>~".contains(c))).unwrap_or(rest.len());
        let (between, rest) = rest.split_at(start);
        let end = [" #", " //", "\t#", "\t//"].iter().filter_map(|mark| rest.find(mark)).min().unwrap_or(rest.len());
        let value = rest[..end].trim_end();
        if !value.is_empty() && !value.contains(is_quote) {
            mask_words(&line[..at], Some('='), known, out);
            out.push_str(between);
            known.note(value, true);
            out.push_str(&mask(value));
            mask_words(&rest[value.len()..], None, known, out);
            return;
        }
    }
    mask_strings(line, known, out);
}

/// Masks strings, and the words between them.
fn mask_strings(line: &str, known: &mut Known, out: &mut String) {
    let mut rest = line;
    let mut before: Option<char> = None;
    while let Some(open) = rest.find(is_quote) {
        let (words, string) = rest.split_at(open);
        mask_words(words, None, known, out);
        before = words.trim_end().chars().next_back().or(before);
        let quote = string.chars().next().unwrap_or('"');
        let inner = &string[1..];
        let end = find_end(inner, quote);
        let (content, after) = inner.split_at(end);
        let next = after.get(1..).unwrap_or_default().trim_start();
        out.push(quote);
        if content.is_empty() || is_key(content, before, next) {
            out.push_str(content);
        } else {
            known.note(content, matches!(before, Some('=' | ':' | '>')));
            out.push_str(&mask(content));
        }
        if !after.is_empty() {
            out.push(quote);
        }
        rest = after.get(1..).unwrap_or_default();
        before = Some(quote);
    }
    mask_words(rest, None, known, out);
}

/// Where a string ends: at its closing quote, or with the line.
fn find_end(inner: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at,
            _ => {}
        }
    }
    inner.len()
}

/// Whether a string is the name of a value and not the value: a key of a map, or what is looked up.
fn is_key(content: &str, before: Option<char>, next: &str) -> bool {
    let lower = content.to_lowercase();
    let is_map_key = matches!(before, None | Some('{' | ',')) && (next.starts_with(':') || next.starts_with("=>"));
    let is_lookup = matches!(before, Some('(' | '[')) && NAMES.iter().any(|word| lower.contains(word));
    is_name(content) && (is_map_key || is_lookup)
}

/// Masks words outside of strings: long ones, mixed ones, and what stands between two tags. A name before `=`, `:`,
/// a bracket or a point stays; `then` is what follows the text.
fn mask_words(text: &str, then: Option<char>, known: &mut Known, out: &mut String) {
    let is_break = |c: char| c.is_whitespace() || "=:,;(){}[]<>".contains(c);
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(is_break).unwrap_or(rest.len());
        if length == 0 {
            out.push(first);
            before = Some(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        let next = after.trim_start().chars().next().or(then);
        let is_named = is_name(word) && matches!(next, Some('=' | ':' | '(' | '[' | '{'));
        let is_element = before == Some('>') && after.starts_with('<');
        let count = word.chars().count();
        let is_mixed = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic);
        if is_element || (!is_named && (count >= LONG || (count >= 6 && is_mixed))) {
            known.note(word, is_element);
            out.push_str(&mask(word));
        } else {
            out.push_str(word);
        }
        before = word.chars().next_back();
        rest = after;
    }
}

/// Masks long words of letters and digits that read like no name, path or address.
fn mask_random(text: &str, paths: &[String]) -> String {
    let is_break = |c: char| c.is_whitespace() || "\"'`,;(){}[]<>".contains(c);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_break) {
        let word = piece.trim_end_matches(is_break);
        let is_mixed = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic);
        let is_plain = || {
            let mut parts = word.split(['/', ':', '#', '?', '&', '=', '@', '_', '-', '.', MASK]);
            parts.all(|part| part.len() <= 6 || (part.len() <= 20 && part.chars().all(char::is_alphabetic)))
        };
        let is_path = || paths.iter().any(|path| !path.is_empty() && word.contains(path.as_str()));
        if is_mixed && word.chars().count() >= RANDOM && !is_plain() && !is_path() {
            out.push_str(&mask(word));
            out.push_str(&piece[word.len()..]);
        } else {
            out.push_str(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(quote: &str) -> String {
        mask_quote(quote, &mut Known::default())
    }

    #[test]
    fn a_long_value_keeps_its_ends_and_a_short_one_nothing() {
        assert_eq!(masked("key = \"AKIAIOSFODNN7EXAMPLE\""), "key = \"AKIA…LE\"");
        assert_eq!(masked("password = 'hunter2'"), "password = '…'");
        assert_eq!(masked("let k = \"a\\\"bcdefghijklmn\";"), "let k = \"a\\\"b…mn\";");
        assert_eq!(masked("x = \"never closed 1234"), "x = \"neve…34");
    }

    #[test]
    fn a_value_without_quotes_is_masked_whole() {
        assert_eq!(masked("DB_PASSWORD_2=p@ss w0rd!"), "DB_PASSWORD_2=…");
        assert_eq!(masked("  password: letmein # of the test"), "  password: … # of the test");
        assert_eq!(masked("<password>letmein</password>"), "<password>…</password>");
        assert_eq!(masked("mysql -u root -pS3cretOne"), "mysql -u root …");
        assert_eq!(masked("git clone https://me:tok3n@host.example/r"), "git clone https://me…/r");
    }

    #[test]
    fn names_stay_readable() {
        assert_eq!(
            masked("{\"aws_secret_access_key\": \"wJalrXUtnFEMI/K7MDENG\"}"),
            "{\"aws_secret_access_key\": \"wJal…NG\"}"
        );
        assert_eq!(masked("config.get(\"password\", \"letmein\")"), "config.get(\"password\", \"…\")");
        assert_eq!(masked("if password == \"letmein\":"), "if password == \"…\":");
        assert_eq!(
            masked("static AWS_SECRET_ACCESS_KEY: &str = \"abcdefghijkl\";"),
            "static AWS_SECRET_ACCESS_KEY: &str = \"abcd…kl\";"
        );
    }

    #[test]
    fn of_a_private_key_only_the_first_line_is_shown() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabcd\n-----END RSA PRIVATE KEY-----\n";
        assert_eq!(masked(block), "-----BEGIN RSA PRIVATE KEY-----\n…");
        assert_eq!(masked(&block.replace('\n', "\\n")), "-----BEGIN RSA PRIVATE KEY-----…");
        assert_eq!(masked("MIIEowIBAAKCAQEA"), "MIIE…EA");
        assert_eq!(masked("k = \"-----BEGIN PRIVATE KEY-----"), "k = \"-----BEGIN PRIVATE KEY-----");
    }

    #[test]
    fn a_value_is_known_again_in_other_text_whole_or_in_part() {
        let mut known = Known::default();
        mask_quote("key = \"AKIAIOSFODNN7EXAMPLE\"; login(\"me\", \"hunter2\"); get(\"password\")", &mut known);
        let told = |text: &str| known.conceal(text, &["src/a1b2c3d4e5f6a7.py".to_owned()]);
        assert_eq!(told("found AKIAIOSFODNN7EXAMPLE."), "found AKIA…LE.");
        assert_eq!(told("starts with AKIAIOSFOD"), "starts with …");
        assert_eq!(told("the password is hunter2, not hunter22"), "the password is …, not hunter22");
        assert_eq!(told("src/a1b2c3d4e5f6a7.py:3 - see CWE-798"), "src/a1b2c3d4e5f6a7.py:3 - see CWE-798");
        assert_eq!(told("token ghp_16C7e42F292c6912E7710c838347Ae178B4a"), "token ghp_…4a");
        assert_eq!(told("-----BEGIN PRIVATE KEY-----\nMIIE"), "-----BEGIN PRIVATE KEY-----\n…");
    }

    #[test]
    fn no_text_is_too_odd_to_mask() {
        for text in [
            "",
            "\"",
            "'\\",
            "=",
            ":\n=",
            "é\"ü",
            "-----BEGIN ",
            "a=…",
            "\u{202e}'\"`",
            "名前: 値値値値値値値値値値値値値",
        ] {
            let mut known = Known::default();
            mask_quote(text, &mut known);
            known.conceal(text, &[String::new()]);
        }
    }
}
