//! Dangerous calls in C and C++, Rust, and shell.

use super::calls_script::{SHELL_COMMAND, danger};
use super::{Action, Args, Call, Entry, Receiver, Rule, Scope, call_end};
use crate::collector::{Collector, Hit};
use crate::language::*;
use crate::text::{Text, contains};
use crate::words::Word;

const fn call(
    words: &'static [&'static str],
    languages: Languages,
    rule: &'static Rule,
    receiver: Receiver,
    args: Args,
) -> Entry {
    Entry { words, languages, scope: Scope::Code, action: Action::Call(Call { rule, receiver, args }) }
}

// No way to use it safely: it was removed from the language.
static GETS: Rule = danger(
    "calls/c-gets",
    "`gets` cannot be bounded",
    "buffer-overflow",
    "high",
    "high",
    "CWE-242",
    "any longer line overwrites memory behind the buffer",
    "use `fgets` with the buffer's size",
);
// Whether the source fits is not followed.
static UNBOUNDED_COPY: Rule = danger(
    "calls/c-unbounded-copy",
    "possible buffer overflow: a copy without the target's size",
    "buffer-overflow",
    "medium",
    "low",
    "CWE-120",
    "a longer source overwrites memory behind the target",
    "use a bounded copy that is given the target's size",
);
// `%s` without a width, and a format that is not a literal, are patterns of real faults.
static SCAN_STRING: Rule = danger(
    "calls/c-scan-string",
    "`%s` is read without a width",
    "buffer-overflow",
    "high",
    "medium",
    "CWE-120",
    "a longer word overwrites memory behind the buffer",
    "give the width: `%63s` for a buffer of 64",
);
static FORMAT: Rule = danger(
    "calls/c-format-string",
    "possible format string injection",
    "format-string",
    "medium",
    "medium",
    "CWE-134",
    "the format is not a literal; `%n` and `%s` in it read and write memory",
    "pass the text as an argument of \"%s\"",
);
static TEMPORARY: Rule = danger(
    "calls/c-temporary-name",
    "temporary file name without creating the file",
    "insecure-temporary-file",
    "medium",
    "high",
    "CWE-377",
    "between choosing the name and opening the file another user can place a link there",
    "use `mkstemp`",
);
// The shell reads the text twice.
static SHELL_EVAL: Rule = danger(
    "calls/shell-eval",
    "possible command injection: `eval` of a variable",
    "command-injection",
    "low",
    "medium",
    "CWE-78",
    "the text is read by the shell a second time, quotes and all",
    "use an array of arguments, or `case` over known words",
);
// One unset variable deletes the root.
static REMOVE_VARIABLE: Rule = Rule {
    id: "reliability/shell-remove-variable",
    title: "recursive removal of a path that begins with a variable and goes on with `/`",
    lens: "reliability",
    category: "destructive-command",
    severity: "medium",
    confidence: "low",
    cwe: "",
    summary: "when the variable is empty the command removes from the root of the file system",
    fix: "write `${NAME:?}` so that an empty value stops the script",
    rank: 50,
};
// A network or server in between runs commands here.
static PIPE_TO_SHELL: Rule = Rule {
    id: "config/pipe-to-shell",
    title: "a download is run by a shell without a check",
    lens: "config_deployment",
    category: "unverified-download",
    severity: "medium",
    confidence: "high",
    cwe: "CWE-494",
    summary: "who controls the server or the connection runs commands on this machine, and a broken connection runs half of the script",
    fix: "download a pinned version, compare its digest, then run it",
    rank: 50,
};

/// The table.
pub const ENTRIES: &[Entry] = &[
    call(&["gets"], C, &GETS, Receiver::None, Args::Any),
    call(
        &["strcpy", "strcat", "sprintf", "vsprintf", "stpcpy", "wcscpy", "wcscat"],
        C,
        &UNBOUNDED_COPY,
        Receiver::None,
        Args::Any,
    ),
    call(&["scanf", "fscanf", "sscanf"], C, &SCAN_STRING, Receiver::None, Args::Has(&["%s"])),
    call(&["printf", "vprintf"], C, &FORMAT, Receiver::None, Args::Dynamic),
    call(&["system", "popen"], C, &SHELL_COMMAND, Receiver::None, Args::Dynamic),
    call(&["mktemp", "tmpnam", "tempnam"], C, &TEMPORARY, Receiver::None, Args::Any),
    call(
        &["arg", "args"],
        RUST,
        &SHELL_COMMAND,
        Receiver::Any,
        Args::Has(&["\"-c\", &format!", "\"-c\".to_string(), format!", "\"-c\", &cmd"]),
    ),
    Entry { words: &["eval"], languages: SHELL, scope: Scope::Code, action: Action::Look(look_at_shell_eval) },
    Entry { words: &["rm"], languages: SHELL | DOCKER, scope: Scope::Code, action: Action::Look(look_at_remove) },
    Entry {
        words: &["curl", "wget"],
        languages: SHELL | DOCKER | YAML | HASHED,
        scope: Scope::Outside,
        action: Action::Look(look_at_download),
    },
    Entry { words: &["gets"], languages: C, scope: Scope::Code, action: Action::Sink("unsafe", &[]) },
];

fn look_at_shell_eval(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let trimmed = rest.trim_ascii();
    if rest.starts_with(b" ")
        && (trimmed.starts_with(b"$") && !trimmed.starts_with(b"$(")
            || trimmed.starts_with(b"\"$") && !trimmed.starts_with(b"\"$("))
    {
        out.report(&SHELL_EVAL, Hit::at(word.start, call_end(text, word, None)));
    }
}

fn look_at_remove(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let mut parts = rest.split(|b| *b == b' ').filter(|part| !part.is_empty());
    let Some(flags) = parts.next() else { return };
    if !(flags.starts_with(b"-") && flags.iter().any(|b| matches!(b, b'r' | b'R'))) {
        return;
    }
    let is_bare = parts.take(8).any(|part| {
        let part = part.strip_prefix(b"\"").unwrap_or(part);
        let name = part.strip_prefix(b"${").or_else(|| part.strip_prefix(b"$"));
        name.is_some_and(|name| {
            let end = name.iter().position(|b| !crate::text::is_word(*b)).unwrap_or(name.len());
            end > 0 && matches!(&name[end..], [b'/', ..] | [b'}', b'/', ..] | [b'"', b'/', ..] | [b'}', b'"', b'/', ..])
        })
    });
    if is_bare {
        out.report(&REMOVE_VARIABLE, Hit::at(word.start, call_end(text, word, None)));
    }
}

fn look_at_download(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let Some(pipe) = rest.iter().position(|b| *b == b'|') else { return };
    let behind = rest[pipe + 1..].trim_ascii_start();
    let behind = behind.strip_prefix(b"sudo ").unwrap_or(behind).trim_ascii_start();
    let behind = if behind.starts_with(b"-E ") { &behind[3..] } else { behind };
    let program = behind.split(|b| !crate::text::is_word(*b) && *b != b'/').next().unwrap_or(b"");
    let name = program.rsplit(|b| *b == b'/').next().unwrap_or(b"");
    if matches!(name, b"sh" | b"bash" | b"zsh" | b"dash" | b"python" | b"python3" | b"perl" | b"node")
        && contains(&rest[..pipe], b"://")
    {
        let end = word.end + pipe + 1 + (rest[pipe + 1..].len() - behind.len()) + program.len();
        out.report(&PIPE_TO_SHELL, Hit::at(word.start, end));
    }
}
