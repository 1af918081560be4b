//! Extensions that several languages share, decided by the first bytes of the content.

/// Name of the language of a shared extension; the most usual one when the content tells nothing.
pub(crate) fn choose(extension: &str, head: &str) -> &'static str {
    match extension {
        "h" => header(head),
        "m" if any_line(
            head,
            &["#import", "@interface", "@implementation", "@protocol", "@class", "#include", "@import"],
        ) =>
        {
            "objective-c"
        }
        "m" if any_line(head, &["function ", "%", "classdef ", "end"]) => "matlab",
        "m" => "objective-c",
        "ts" if head.trim_start().starts_with("<?xml") || head.trim_start().starts_with("<!DOCTYPE TS") => {
            "qt-translation"
        }
        "ts" => "typescript",
        "pl" if any_line(head, &["use ", "package ", "sub ", "my ", "our ", "require "]) => "perl",
        "pl" if head.contains(":-") => "prolog",
        "pl" => "perl",
        "pp" if any_line(head, &["unit ", "program ", "library ", "uses ", "{$"]) => "pascal",
        "pp" => "puppet",
        "v" if any_line(
            head,
            &["Require ", "Theorem ", "Lemma ", "Definition ", "Inductive ", "From ", "Proof", "(*"],
        ) =>
        {
            "coq"
        }
        "v" => "verilog",
        "fs" if any_line(head, &[": ", "\\ ", "variable ", "constant "]) => "forth",
        "fs" => "fsharp",
        "cls" if any_line(head, &["\\", "%"]) => "tex",
        "cls" if any_line(head, &["VERSION ", "Attribute ", "Option "]) => "vba",
        "cls" => "apex",
        _ => "",
    }
}

fn header(head: &str) -> &'static str {
    if any_line(head, &["@interface", "@protocol", "@class", "#import", "@import"]) {
        return "objective-c";
    }
    let cpp = [
        "class ",
        "namespace ",
        "template",
        "using ",
        "public:",
        "private:",
        "protected:",
        "constexpr ",
        "virtual ",
        "enum class ",
    ];
    // Guards such as `#ifdef __cplusplus` mark C headers that C++ may use, so the word alone proves nothing.
    let standard = [
        "<string>",
        "<vector>",
        "<memory>",
        "<iostream>",
        "<map>",
        "<functional>",
        "<utility>",
        "<cstdint>",
        "<cstddef>",
    ];
    let includes = head
        .lines()
        .any(|line| line.trim_start().starts_with("#include") && standard.iter().any(|name| line.contains(name)));
    if includes || any_line(head, &cpp) || head.contains("std::") { "cpp" } else { "c" }
}

fn any_line(head: &str, starts: &[&str]) -> bool {
    head.lines().map(str::trim_start).any(|line| starts.iter().any(|start| line.starts_with(start)))
}
