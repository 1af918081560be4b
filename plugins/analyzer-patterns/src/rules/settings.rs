//! Permissions and switches that are too wide, in configuration and in code.

use super::{Action, Entry, Rule, Scope};
use crate::collector::{Collector, Hit};
use crate::language::*;
use crate::rules::shared::value_after;
use crate::text::{Text, contains, is_word};
use crate::words::Word;

#[expect(clippy::too_many_arguments, reason = "a row of a table, read by its columns")]
const fn setting(
    id: &'static str,
    title: &'static str,
    category: &'static str,
    severity: &'static str,
    confidence: &'static str,
    cwe: &'static str,
    summary: &'static str,
    fix: &'static str,
) -> Rule {
    Rule { id, title, lens: "config_deployment", category, severity, confidence, cwe, summary, fix, rank: 50 }
}

// Local users only, but all of them.
static WORLD_WRITABLE: Rule = setting(
    "permissions/world-writable",
    "a file or directory that everybody may write",
    "world-writable",
    "medium",
    "high",
    "CWE-732",
    "every user and process of the machine can change the content",
    "give the owner or a group what it needs, such as 0750 or 0640",
);
// Data of the whole bucket, readable by strangers; sometimes meant.
static PUBLIC_BUCKET: Rule = setting(
    "permissions/public-bucket",
    "storage that everybody may read",
    "public-storage",
    "high",
    "medium",
    "CWE-732",
    "the access list opens the objects to the whole internet",
    "use a private access list and hand out signed addresses",
);
// A container that is root on its host.
static PRIVILEGED: Rule = setting(
    "permissions/privileged-container",
    "a privileged container",
    "excess-privilege",
    "high",
    "high",
    "CWE-250",
    "a process inside has the host's devices and kernel interfaces: leaving the container is trivial",
    "drop `privileged` and add the single capabilities that are needed",
);
// Steps towards the host.
static HOST_NAMESPACE: Rule = setting(
    "permissions/host-namespace",
    "a container shares the host or may gain privileges",
    "excess-privilege",
    "medium",
    "high",
    "CWE-250",
    "isolation between the container and its host is switched off",
    "leave the setting at its safe default",
);
// Any step of the workflow, third-party actions among them, can push code.
static WRITE_ALL: Rule = setting(
    "permissions/workflow-write-all",
    "the workflow's token may write everything",
    "excess-privilege",
    "medium",
    "high",
    "CWE-732",
    "a compromised action or step can push code, releases and packages",
    "list the permissions that each job needs",
);
// Text of strangers runs in the job.
static WORKFLOW_INJECTION: Rule = setting(
    "config/workflow-injection",
    "possible command injection: text of an event is pasted into a workflow",
    "command-injection",
    "high",
    "medium",
    "CWE-78",
    "titles, bodies and branch names are written by strangers; in a `run` step they become shell commands",
    "pass the value through `env:` and quote the variable",
);
// Stack traces and settings for every visitor.
static DEBUG: Rule = setting(
    "config/debug-enabled",
    "debug mode is switched on in settings",
    "debug-enabled",
    "medium",
    "medium",
    "CWE-489",
    "error pages show code, settings and data to visitors",
    "read the switch from the environment and leave it off by default",
);
// Any page in the visitor's browser can act in their name.
static CORS: Rule = setting(
    "config/cors-any-origin-with-credentials",
    "every origin may send requests with credentials",
    "cross-origin",
    "high",
    "medium",
    "CWE-942",
    "any page that a signed-in visitor opens can read and act in their name",
    "list the origins that are trusted",
);
// The socket is root on the host.
static DOCKER_SOCKET: Rule = setting(
    "permissions/container-socket",
    "the container engine's socket is mounted",
    "excess-privilege",
    "medium",
    "medium",
    "CWE-250",
    "who can write to the socket can start privileged containers, so is root on the host",
    "leave the socket out, or put a filtering proxy before it",
);

const fn look(words: &'static [&'static str], languages: Languages, scope: Scope, look: super::Look) -> Entry {
    Entry { words, languages, scope, action: Action::Look(look) }
}

/// The table.
pub const ENTRIES: &[Entry] = &[
    look(
        &["chmod", "Chmod", "fchmod", "mkdir", "chmodSync", "from_mode"],
        CODE | DOCKER | YAML,
        Scope::Outside,
        look_at_mode_argument,
    ),
    look(&["mode", "file_permission", "defaultMode"], YAML | TERRAFORM, Scope::Outside, look_at_mode_key),
    look(&["public"], YAML | TERRAFORM | JSON | PYTHON | SCRIPT | GO | SHELL, Scope::Outside, look_at_bucket),
    look(&["privileged"], YAML | JSON | TERRAFORM, Scope::Outside, look_at_privileged),
    look(
        &["hostNetwork", "hostPID", "hostIPC", "allowPrivilegeEscalation"],
        YAML | JSON,
        Scope::Outside,
        look_at_host_namespace,
    ),
    look(&["permissions"], YAML, Scope::Code, look_at_workflow_permissions),
    look(&["github"], YAML, Scope::Outside, look_at_workflow_event),
    look(&["DEBUG"], PYTHON, Scope::Code, look_at_debug),
    look(&["Access"], CODE | CONFIG, Scope::Outside, look_at_cors_header),
    look(&["allow_origins", "origin"], PYTHON | SCRIPT, Scope::Code, look_at_cors_options),
    look(&["docker"], YAML, Scope::Outside, look_at_docker_socket),
];

/// The end of a mode in which others may write, at the start of the text.
fn open_mode(text: &[u8]) -> Option<usize> {
    let prefix = if text.starts_with(b"0o") { 2 } else { 0 };
    let digits = text[prefix..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = prefix + digits;
    let mode = &text[prefix..end];
    if !(3..=5).contains(&digits) || text.get(end).is_some_and(|b| is_word(*b)) || mode.iter().any(|d| *d > b'7') {
        return None;
    }
    // A sticky directory such as /tmp is open on purpose.
    let is_sticky = digits >= 4 && matches!(mode[digits - 4], b'1' | b'3' | b'5' | b'7');
    (matches!(mode[digits - 1], b'2' | b'3' | b'6' | b'7') && !is_sticky).then_some(end)
}

fn look_at_mode_argument(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let is_shell = text.is(SHELL | DOCKER | YAML) || text.byte(word.end) != b'(';
    let limit = rest
        .iter()
        .position(|b| matches!(b, b')' | b';') || (is_shell && matches!(b, b'&' | b'|')))
        .unwrap_or(rest.len());
    let rest = &rest[..limit];
    if rest.windows(5).any(|w| w == b"umask") || !rest.starts_with(b"(") && !rest.starts_with(b" ") {
        return;
    }
    let name = &text.bytes[word.start..word.end];
    // Directories made by a program are narrowed by its mask; only the shell's `-m` is not.
    if name == b"mkdir" && !(is_shell && contains(rest, b"-m")) {
        return;
    }
    let mut at = 0;
    while at < rest.len() {
        let begins = at == 0 || matches!(rest[at - 1], b' ' | b'(' | b',' | b'=' | b'"' | b'\'');
        if begins
            && (rest[at..].starts_with(b"a+rwx")
                || rest[at..].starts_with(b"a+w")
                || rest[at..].starts_with(b"o+w")
                || rest[at..].starts_with(b"ugo+rwx"))
        {
            out.report(&WORLD_WRITABLE, Hit::at(word.start, word.end + rest.trim_ascii_end().len()));
            return;
        }
        if begins
            && rest[at].is_ascii_digit()
            && let Some(length) = open_mode(&rest[at..])
        {
            // Decimal 777 in a language with octal prefixes is another mode, but meant as this one.
            if is_shell || rest[at] == b'0' || &rest[at..at + length] == b"777" {
                out.report(&WORLD_WRITABLE, Hit::at(word.start, word.end + at + length));
                return;
            }
        }
        at += 1;
    }
}

fn look_at_mode_key(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let Some(at) = value_after(text, word.end) else { return };
    let at = if matches!(text.byte(at), b'"' | b'\'') { at + 1 } else { at };
    if let Some(length) = open_mode(&text.bytes[at..text.bytes.len().min(at + 12)]) {
        out.report(&WORLD_WRITABLE, Hit::at(word.start, at + length));
    }
}

fn look_at_bucket(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let before = text.line_before(word.start);
    if rest.starts_with(b"-read") && !contains(rest, b"://") && crate::text::contains_fold(before, b"acl") {
        let end = word.end + if rest.starts_with(b"-read-write") { 11 } else { 5 };
        let hit = Hit { severity: rest.starts_with(b"-read-write").then_some("critical"), ..Hit::at(word.start, end) };
        out.report(&PUBLIC_BUCKET, hit);
    }
}

/// The end of `true` as the value of the word.
fn switched_on(text: &Text<'_>, word: Word, value: &[u8]) -> Option<usize> {
    let at = value_after(text, word.end)?;
    (text.bytes[at..].starts_with(value) && !is_word(text.byte(at + value.len()))).then_some(at + value.len())
}

fn look_at_privileged(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if let Some(end) = switched_on(text, word, b"true") {
        out.report(&PRIVILEGED, Hit::at(word.start, end));
    }
}

fn look_at_host_namespace(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if let Some(end) = switched_on(text, word, b"true") {
        out.report(&HOST_NAMESPACE, Hit::at(word.start, end));
    }
}

fn is_workflow(text: &Text<'_>) -> bool {
    text.path.starts_with(".github/workflows/") || text.path.contains("/.github/workflows/")
}

fn look_at_workflow_permissions(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if is_workflow(text)
        && let Some(at) = value_after(text, word.end)
        && text.bytes[at..].starts_with(b"write-all")
    {
        out.report(&WRITE_ALL, Hit::at(word.start, at + 9));
    }
}

fn look_at_workflow_event(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if !is_workflow(text) || !text.bytes[word.end..].starts_with(b".") {
        return;
    }
    let before = text.line_before(word.start);
    if !before.trim_ascii_end().ends_with(b"${{") {
        return;
    }
    // A key of its own (`TITLE: ${{ … }}`) is the safe way; `run:` and bare lines of a script are not.
    let head = before.trim_ascii_start();
    let head = head.strip_prefix(b"- ").unwrap_or(head);
    let key_end = head.iter().position(|b| !is_word(*b) && *b != b'-').unwrap_or(0);
    let is_key = key_end > 0
        && head[key_end..].starts_with(b": ")
        && !head.starts_with(b"run:")
        && !head.starts_with(b"script:");
    let rest = text.rest_of_line(word.end);
    let close = crate::text::find(rest, b"}}", 0).unwrap_or(rest.len());
    let expression = &rest[..close];
    let sources: [&[u8]; 8] = [
        b".title",
        b".body",
        b".head.ref",
        b".head.label",
        b".head_ref",
        b".message",
        b".author.email",
        b".author.name",
    ];
    let is_foreign = (expression.starts_with(b".event.") || expression.starts_with(b".head_ref"))
        && sources.iter().any(|s| contains(expression, s));
    if is_foreign && !is_key {
        out.report(&WORKFLOW_INJECTION, Hit::at(word.start, word.end + expression.trim_ascii_end().len()));
    }
}

fn look_at_debug(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let name = text.path.rsplit('/').next().unwrap_or(text.path);
    let is_settings = name.contains("settings") || name.contains("config") || text.path.contains("settings/");
    let is_local = ["local", "dev", "test", "debug"].iter().any(|word| name.contains(word));
    let (line, _) = text.line(text.line_of(word.start));
    if is_settings
        && !is_local
        && line == word.start
        && let Some(end) = switched_on(text, word, b"True")
    {
        out.report(&DEBUG, Hit::at(word.start, end));
    }
}

fn look_at_cors_header(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    let Some(value) = rest.strip_prefix(b"-Control-Allow-Origin") else { return };
    let Some(star) = value.iter().take(12).position(|b| *b == b'*') else { return };
    if text.spend(text.bytes.len()) && contains(text.bytes, b"Access-Control-Allow-Credentials") {
        out.report(&CORS, Hit::at(word.start, word.end + 21 + star + 1));
    }
}

fn look_at_cors_options(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let Some(at) = value_after(text, word.end) else { return };
    let value = &text.bytes[at..text.bytes.len().min(at + 4)];
    let is_any = [&b"[\"*\""[..], b"['*'", b"\"*\"", b"'*'", b"true"].iter().any(|v| value.starts_with(v));
    let near = &text.bytes[word.start.saturating_sub(200)..text.bytes.len().min(word.end + 200)];
    let has_credentials = text.spend(near.len() * 3)
        && [&b"allow_credentials=True"[..], b"credentials: true"].iter().any(|c| contains(near, c));
    if is_any && has_credentials {
        out.report(&CORS, Hit::at(word.start, at + value.len()));
    }
}

fn look_at_docker_socket(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    let rest = text.rest_of_line(word.end);
    if rest.starts_with(b".sock:") || rest.starts_with(b".sock") && contains(text.line_before(word.start), b"path:") {
        let before = text.line_before(word.start);
        let start = crate::text::find(before, b"/", 0).map_or(word.start, |at| word.start - before.len() + at);
        out.report(&DOCKER_SOCKET, Hit::at(start, word.end + 5));
    }
}
