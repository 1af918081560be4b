//! The one walk over a file: each word is looked up in the table of the rules, a few signs lead to secrets.

use crate::collector::Collector;
use crate::lexer::Class;
use crate::outline::Outline;
use crate::rules::{self, Action, Scope};
use crate::text::{Text, WORD};
use crate::{imports, routes, tokens};

/// A word of the file.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What it stands in.
    pub class: Class,
}

/// Walks the file once.
pub fn scan(text: &Text<'_>, out: &mut Collector<'_>) {
    let mut outline = Outline::new(text);
    for segment in &text.segments {
        let mut at = segment.start;
        let end = segment.end;
        let is_code = segment.class == Class::Code;
        while at < end {
            let byte = text.bytes[at];
            match WORD[usize::from(byte)] {
                1 => {
                    let start = at;
                    let mut hash = rules::HASH_SEED;
                    while at < end && WORD[usize::from(text.bytes[at])] != 0 {
                        hash = rules::hash_step(hash, text.bytes[at]);
                        at += 1;
                    }
                    visit(text, out, &mut outline, Word { start, end: at, class: segment.class }, hash);
                }
                2 => {
                    while at < end && WORD[usize::from(text.bytes[at])] != 0 {
                        at += 1;
                    }
                }
                _ => {
                    match byte {
                        b'{' if is_code => outline.open_brace(),
                        b'}' if is_code => outline.close_brace(at),
                        b'(' if is_code => outline.open_parenthesis(),
                        b')' if is_code => outline.close_parenthesis(),
                        b';' if is_code => outline.semicolon(),
                        b':' if text.byte(at + 1) == b'/' && text.byte(at + 2) == b'/' => {
                            tokens::check_url(text, out, at)
                        }
                        b'$' => tokens::check_password_hash(text, out, at),
                        _ => {}
                    }
                    at += 1;
                }
            }
        }
    }
    outline.finish(text, out);
}

fn visit(text: &Text<'_>, out: &mut Collector<'_>, outline: &mut Outline, word: Word, hash: u32) {
    let bytes = &text.bytes[word.start..word.end];
    if bytes.len() >= 2 {
        tokens::check_word(text, out, word);
    }
    for entry in rules::lookup(bytes, hash) {
        if entry.languages & text.language == 0 {
            continue;
        }
        match (entry.scope, word.class) {
            (Scope::Code, Class::Code) | (Scope::Outside, Class::Code | Class::String) => {}
            _ => continue,
        }
        match &entry.action {
            Action::Call(call) => rules::check_call(text, out, word, call),
            Action::Look(look) => look(text, out, word),
            Action::Sink(name, receivers) => rules::check_sink(text, out, word, name, receivers),
            Action::Import => imports::read(text, out, word),
            Action::Define(kind) => outline.define(text, out, word, kind),
            Action::Route => routes::read(text, out, word),
        }
    }
}
