//! Ways into the program that are written plainly: routes of web frameworks, and `main`.

use crate::collector::Collector;
use crate::facts::Route;
use crate::language::*;
use crate::lexer::Class;
use crate::text::{Text, contains, find};
use crate::words::Word;

/// Objects on which routes are registered.
const ROUTERS: [&[u8]; 22] = [
    b"app",
    b"router",
    b"Router",
    b"route",
    b"server",
    b"api",
    b"r",
    b"e",
    b"g",
    b"mux",
    b"http",
    b"blueprint",
    b"bp",
    b"Route",
    b"routes",
    b"web",
    b"application",
    b"fastify",
    b"engine",
    b"group",
    b"v1",
    b"main",
];

/// Reads a route that a word begins, if it does.
pub fn read(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if !out.wants_routes() {
        return;
    }
    let name = &text.bytes[word.start..word.end];
    if matches!(name, b"main" | b"Main" | b"__name__") {
        return read_entry(text, out, word, name);
    }
    if text.byte(word.end) != b'(' || !begins_route(text, word, name) {
        return;
    }
    let at = text.skip_white(word.end + 1);
    let Some(segment) = text.segments.get(text.segment_index(at)).filter(|s| s.class == Class::String) else { return };
    if at != segment.start || segment.end - segment.start > 300 {
        return;
    }
    let inner = &text.bytes[segment.start + 1..segment.end.max(segment.start + 2) - 1];
    let path = String::from_utf8_lossy(inner).into_owned();
    let is_mapping = text.is(JVM | CSHARP) || is_attribute(text, word);
    if !(path.starts_with('/') || path == "*" || is_mapping) || path.contains("://") || path.contains('\n') {
        return;
    }
    let (from, close) = text.arguments(word.end).unwrap_or((segment.start, segment.end));
    let rest = &text.bytes[segment.end.min(close).max(from)..close.max(from)];
    let method = method_of(name, rest);
    let handler = handler_of(text, rest, segment.end);
    let end = if close > segment.end && close - word.start < 200 { close + 1 } else { segment.end };
    out.routes.push(Route {
        method,
        path,
        handler,
        span: text.span(word.start, end.min(text.bytes.len())),
        extra: Vec::new(),
    });
}

fn is_attribute(text: &Text<'_>, word: Word) -> bool {
    let before = text.line_before(word.start).trim_ascii();
    before == b"@" || before == b"#[" || before.starts_with(b"@")
}

fn begins_route(text: &Text<'_>, word: Word, name: &[u8]) -> bool {
    if text.is(JVM | CSHARP) {
        return true;
    }
    let receiver = text.receiver(word.start);
    if text.is(RUST) {
        return name == b"route" && receiver.is_some() || name != b"route" && is_attribute(text, word);
    }
    if text.is(PYTHON) {
        return is_attribute(text, word) && receiver.is_some();
    }
    match receiver {
        Some((_, receiver)) => {
            let is_router =
                ROUTERS.contains(&receiver) || receiver.ends_with(b"Router") || receiver.ends_with(b"_router");
            // Go writes methods of clients in the same way; the package `http` has `Get` and `Post` of its own.
            is_router && !(text.is(GO) && receiver == b"http" && !name.starts_with(b"Handle"))
        }
        None => text.is(SCRIPT) && is_attribute(text, word) && name[0].is_ascii_uppercase(),
    }
}

fn method_of(name: &[u8], rest: &[u8]) -> String {
    let upper = String::from_utf8_lossy(name).to_ascii_uppercase();
    let stem = upper.trim_end_matches("MAPPING").trim_start_matches("HTTP").trim_start_matches("MAP");
    if matches!(stem, "GET" | "POST" | "PUT" | "DELETE" | "PATCH" | "HEAD" | "OPTIONS") {
        return stem.to_owned();
    }
    // `route`, `Handle`, `RequestMapping`: the method stands in the arguments, when it does.
    let rest = String::from_utf8_lossy(rest).to_ascii_uppercase();
    let found: Vec<&str> = ["GET", "POST", "PUT", "DELETE", "PATCH"]
        .into_iter()
        .filter(|m| {
            ["'", "\"", "(", "."].iter().any(|c| rest.contains(&format!("{c}{m}"))) || rest.contains(&format!(" {m}("))
        })
        .collect();
    match found.as_slice() {
        [one] => (*one).to_owned(),
        _ => "*".to_owned(),
    }
}

/// The last plain name of the arguments, or the function that the decorator stands over.
fn handler_of(text: &Text<'_>, rest: &[u8], from: usize) -> Option<String> {
    if text.is(PYTHON) {
        let window = &text.bytes[from..text.bytes.len().min(from + 400)];
        let at = find(window, b"def ", 0)? + 4;
        let end = at + window[at..].iter().position(|b| !crate::text::is_word(*b))?;
        return Some(String::from_utf8_lossy(&window[at..end]).into_owned());
    }
    let last = rest.rsplit(|b| *b == b',').next()?.trim_ascii();
    let name = last.strip_suffix(b")").and_then(|inner| inner.rsplit(|b| *b == b'(').next()).unwrap_or(last);
    (!name.is_empty() && name.len() < 80 && name.iter().all(|b| crate::text::is_word(*b) || matches!(b, b'.' | b':')))
        .then(|| String::from_utf8_lossy(name).into_owned())
}

fn read_entry(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &[u8]) {
    let before = text.line_before(word.start).trim_ascii();
    let rest = text.rest_of_line(word.end);
    let is_entry = match text.language {
        PYTHON => name == b"__name__" && before == b"if" && contains(rest, b"__main__"),
        GO => before == b"func" && rest.starts_with(b"()"),
        RUST => (before == b"fn" || before.ends_with(b" fn")) && rest.starts_with(b"()"),
        C => (before == b"int" || before == b"void") && rest.starts_with(b"("),
        JAVA | CSHARP => contains(before, b"static") && rest.starts_with(b"("),
        KOTLIN => before == b"fun" && rest.starts_with(b"("),
        _ => false,
    };
    if is_entry {
        let stem = text.path.rsplit('/').next().unwrap_or(text.path);
        out.routes.push(Route {
            method: "cli".to_owned(),
            path: stem.to_owned(),
            handler: (name != b"__name__").then(|| String::from_utf8_lossy(name).into_owned()),
            span: text.span(word.start, word.end),
            extra: Vec::new(),
        });
    }
}
