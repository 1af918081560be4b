//! The rules: what they are called, the words that wake them, and how a call is looked at.

mod calls_managed;
mod calls_native;
mod calls_script;
mod files;
mod settings;
mod shared;
mod signals;
mod table;

pub use files::check_file;
pub use table::{HASH_SEED, hash_step, lookup};

use crate::collector::{Collector, Hit};
use crate::language::{Languages, PHP, PYTHON, RUBY, SCRIPT, SHELL};
use crate::lexer::Class;
use crate::text::{Text, contains, contains_fold, is_word};
use crate::words::Word;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// `family/name`.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// Lens.
    pub lens: &'static str,
    /// Category, the word of suppressions.
    pub category: &'static str,
    /// Severity in code that is shipped.
    pub severity: &'static str,
    /// How sure the recogniser is.
    pub confidence: &'static str,
    /// Weakness; empty where none fits.
    pub cwe: &'static str,
    /// What is wrong and why it matters.
    pub summary: &'static str,
    /// How to mend it.
    pub fix: &'static str,
    /// Among secrets at one place the lowest rank is reported.
    pub rank: u8,
}

impl Rule {
    /// Whether the quote is a secret that has to be masked.
    pub fn is_secret(&self) -> bool {
        self.id.starts_with("secrets/")
    }
}

/// One severity lower.
pub fn lowered(severity: &'static str) -> &'static str {
    match severity {
        "critical" => "high",
        "high" => "medium",
        "medium" => "low",
        _ => "info",
    }
}

/// Where a word must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In code only.
    Code,
    /// In code and strings.
    Outside,
}

/// What must stand in front of a called word.
#[derive(Clone, Copy, Debug)]
pub enum Receiver {
    /// Anything.
    Any,
    /// Nothing: a plain call.
    None,
    /// One of these names.
    One(&'static [&'static str]),
    /// Any name, but there must be one.
    Some,
}

/// What must stand between the parentheses.
#[derive(Clone, Copy, Debug)]
pub enum Args {
    /// Anything.
    Any,
    /// The first argument is more than one plain literal or constant.
    Dynamic,
    /// One of these texts.
    Has(&'static [&'static str]),
    /// None of these texts.
    Lacks(&'static [&'static str]),
    /// A word for a password, whatever its case.
    Password,
}

/// A call that a rule is about.
#[derive(Debug)]
pub struct Call {
    /// The rule.
    pub rule: &'static Rule,
    /// What stands in front.
    pub receiver: Receiver,
    /// What stands inside.
    pub args: Args,
}

/// Looks closer at a word and reports what it finds.
pub type Look = fn(&Text<'_>, &mut Collector<'_>, Word);

/// What a word leads to.
#[derive(Debug)]
pub enum Action {
    /// A call.
    Call(Call),
    /// A recogniser of its own.
    Look(Look),
    /// A signal for the risk of the file, and the receivers it needs (empty: any).
    Sink(&'static str, &'static [&'static str]),
    /// An import.
    Import,
    /// A definition of this kind.
    Define(&'static str),
    /// Perhaps a route.
    Route,
}

/// Words and what they lead to.
#[derive(Debug)]
pub struct Entry {
    /// The words, exactly as written.
    pub words: &'static [&'static str],
    /// In these languages.
    pub languages: Languages,
    /// At these places.
    pub scope: Scope,
    /// What then.
    pub action: Action,
}

/// Checks a call and reports it.
pub fn check_call(text: &Text<'_>, out: &mut Collector<'_>, word: Word, call: &Call) {
    let open = text.skip_blanks(word.end);
    // A macro's `!` belongs to its name; PHP and Ruby may call without parentheses, which is left out on purpose.
    if text.byte(open) != b'(' || is_definition(text, word) {
        return;
    }
    let receiver = text.receiver(word.start);
    let fits = match (call.receiver, receiver) {
        (Receiver::Any, _) | (Receiver::None, None) | (Receiver::Some, Some(_)) => true,
        (Receiver::One(names), Some((_, name))) => names.iter().any(|n| n.as_bytes() == name),
        _ => false,
    };
    if !fits || !text.spend(32) {
        return;
    }
    let closed = text.arguments(open);
    let (from, to) = closed.unwrap_or_else(|| (open + 1, open + 1 + text.rest_of_line(open + 1).len()));
    let inside = &text.bytes[from.min(text.bytes.len())..to.min(text.bytes.len())];
    let fits = match call.args {
        Args::Any => true,
        Args::Dynamic => is_dynamic(text, from, to),
        Args::Has(needles) => {
            text.spend(inside.len() * needles.len()) && needles.iter().any(|n| contains(inside, n.as_bytes()))
        }
        // Without the closing parenthesis nothing is known to be absent.
        Args::Lacks(needles) => {
            closed.is_some()
                && text.spend(inside.len() * needles.len())
                && !needles.iter().any(|n| contains(inside, n.as_bytes()))
        }
        Args::Password => {
            text.spend(inside.len() * 4)
                && ["passw", "pwd", "passphrase"].iter().any(|n| contains_fold(inside, n.as_bytes()))
        }
    };
    if fits {
        let start = receiver.map_or(word.start, |(start, name)| if name.is_empty() { word.start } else { start });
        out.report(call.rule, Hit::at(start, call_end(text, word, closed)));
    }
}

/// Counts a sink.
pub fn check_sink(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &'static str, receivers: &[&str]) {
    if !receivers.is_empty() {
        let Some((_, receiver)) = text.receiver(word.start) else { return };
        if !receivers.iter().any(|r| r.as_bytes() == receiver) {
            return;
        }
    }
    // An import of a library counts: what it gives may be called under any name.
    if !is_definition(text, word) || text.line_before(word.start).trim_ascii().ends_with(b"import") {
        out.signal(name, Some((word.start, word.end)));
    }
}

/// End of the quote of a call: its closing parenthesis when it is near, otherwise the end of its line.
pub fn call_end(text: &Text<'_>, word: Word, closed: Option<(usize, usize)>) -> usize {
    match closed {
        Some((_, close)) if close - word.start <= 300 => close + 1,
        _ => word.end + text.rest_of_line(word.end).trim_ascii_end().len(),
    }
}

/// Whether the word is being defined rather than called.
pub fn is_definition(text: &Text<'_>, word: Word) -> bool {
    let before = text.bytes[word.start.saturating_sub(10)..word.start].trim_ascii_end();
    let gap = word.start - word.start.saturating_sub(10) - before.len();
    gap > 0
        && ["def", "fn", "func", "fun", "function", "import", "void", "class", "sub"].iter().any(|keyword| {
            before.strip_suffix(keyword.as_bytes()).is_some_and(|rest| rest.last().is_none_or(|b| !is_word(*b)))
        })
}

/// Whether the first argument is more than a plain literal or a constant in capitals.
pub fn is_dynamic(text: &Text<'_>, from: usize, to: usize) -> bool {
    let to = to.min(text.bytes.len());
    let mut at = text.skip_white(from);
    // Prefixes of string literals.
    while at < to && at < from + 8 && text.byte(at).is_ascii_alphabetic() && matches!(text.byte(at + 1), b'"' | b'\'') {
        if matches!(text.byte(at), b'f' | b'F') {
            return has_hole(text, at + 1);
        }
        at += 1;
    }
    if at >= to {
        return false;
    }
    let index = text.segment_index(at);
    let Some(segment) = text.segments.get(index) else { return false };
    if segment.class == Class::String {
        if has_hole(text, at) {
            return true;
        }
        let next = text.skip_white(segment.end);
        return next < to && !matches!(text.byte(next), b',' | b')');
    }
    if text.byte(at).is_ascii_digit() {
        return false;
    }
    let end = text.word_end(at);
    let is_constant =
        end > at + 1 && text.bytes[at..end].iter().all(|b| b.is_ascii_uppercase() || *b == b'_' || b.is_ascii_digit());
    let next = text.skip_white(end);
    !(is_constant && (next >= to || text.byte(next) == b','))
}

/// Whether the string at a place has something put into it by the language itself.
pub fn has_hole(text: &Text<'_>, at: usize) -> bool {
    let index = text.segment_index(at);
    let Some(segment) = text.segments.get(index) else { return false };
    let window = &text.bytes[segment.start..segment.end.min(segment.start + 1500)];
    if !text.spend(window.len()) {
        return false;
    }
    let quote = window.first().copied().unwrap_or(0);
    match text.language {
        PYTHON => {
            let prefix = &text.bytes[segment.start.saturating_sub(2)..segment.start];
            prefix.iter().any(|b| matches!(b, b'f' | b'F')) && contains(window, b"{")
        }
        SCRIPT => quote == b'`' && window.ends_with(b"${"),
        RUBY => quote == b'"' && contains(window, b"#{"),
        PHP | SHELL => {
            quote == b'"' && window.windows(2).any(|w| w[0] == b'$' && (is_word(w[1]) || w[1] == b'{' || w[1] == b'('))
        }
        crate::language::KOTLIN => window.windows(2).any(|w| w[0] == b'$' && (is_word(w[1]) || w[1] == b'{')),
        crate::language::CSHARP => segment.start > 0 && text.bytes[segment.start - 1] == b'$' && contains(window, b"{"),
        _ => false,
    }
}
