//! What becomes of a plain file and why: one list of rules, the first that holds decides.

use assize_core::inventory::{Encoding, FileKind, FileStatus};

use crate::language::ByName;
use crate::language_table::{Language, Role};
use crate::names;
use crate::rules::Attributes;

/// What the content says beyond its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// A comment near the top says that a tool wrote it.
    pub(crate) generated: bool,
    /// It stands for a file that is kept elsewhere.
    pub(crate) pointer: bool,
    /// It is a report of this program.
    pub(crate) own_report: bool,
    /// It has nothing but white space.
    pub(crate) blank: bool,
}

/// All that the rules look at.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    pub(crate) language: Option<&'static Language>,
    pub(crate) kind: FileKind,
    pub(crate) attributes: Attributes,
    pub(crate) size: u64,
    pub(crate) lines: Option<u64>,
    pub(crate) longest_line: Option<u64>,
    pub(crate) encoding: Encoding,
    pub(crate) traits: Traits,
    pub(crate) max_parse_bytes: u64,
}

/// Status and machine reason of a file whose content is known.
pub(crate) fn derive_disposition(subject: &Subject) -> (FileStatus, &'static str) {
    if let Some(reason) = excluded_by_form(subject).or_else(|| excluded_by_name(subject)) {
        return (FileStatus::Excluded, reason);
    }
    if subject.size > subject.max_parse_bytes {
        return (FileStatus::Unreadable, "too-large");
    }
    match excluded_by_content(subject) {
        Some(reason) => (FileStatus::Excluded, reason),
        None => (FileStatus::Auditable, auditable_reason(subject.kind)),
    }
}

fn excluded_by_form(subject: &Subject) -> Option<&'static str> {
    let text = !matches!(subject.encoding, Encoding::Binary | Encoding::Unknown);
    if subject.size == 0 || subject.traits.blank {
        Some("trivial")
    } else if subject.encoding == Encoding::Binary || !text && names::is_binary_name(subject.name) {
        Some("binary")
    } else if subject.encoding == Encoding::Latin1 && names::is_binary_name(subject.name) {
        // An image that happens to have no zero byte; one that is plain UTF-8 is no image, whatever its name.
        Some("binary")
    } else {
        None
    }
}

fn excluded_by_name(subject: &Subject) -> Option<&'static str> {
    if names::is_lock_file(subject.name) {
        Some("lock-file")
    } else if names::is_license(subject.name) {
        Some("license")
    } else if subject.attributes.generated.unwrap_or_else(|| names::is_generated_name(subject.name)) {
        Some("generated")
    } else if names::is_minified_name(subject.name) {
        Some("minified")
    } else if subject.language.is_some_and(|language| language.role == Role::Data) {
        Some("data")
    } else {
        None
    }
}

fn excluded_by_content(subject: &Subject) -> Option<&'static str> {
    if subject.traits.pointer {
        Some("lfs-pointer")
    } else if subject.traits.own_report {
        Some("own-output")
    } else if subject.traits.generated && subject.attributes.generated != Some(false) {
        Some("generated-marker")
    } else if is_squeezed(subject) {
        let web = subject.language.is_some_and(|language| matches!(language.name, "javascript" | "css" | "html"));
        Some(if web { "minified" } else { "long-line" })
    } else if subject.kind == FileKind::Doc {
        Some("doc-only")
    } else {
        None
    }
}

/// Long lines and few of them. One long line in an ordinary file does not hide the rest, and manifests may be one line.
fn is_squeezed(subject: &Subject) -> bool {
    let (Some(lines), Some(longest)) = (subject.lines, subject.longest_line) else { return false };
    let tolerated = match subject.kind {
        FileKind::Source | FileKind::Other | FileKind::Test => 5_000,
        _ => 65_536,
    };
    longest >= tolerated && subject.size / lines.max(1) >= 1_000
}

fn auditable_reason(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Source => "source",
        FileKind::Test => "test",
        FileKind::Config => "config",
        FileKind::Ci => "ci",
        FileKind::Infra => "infra",
        FileKind::Schema => "schema",
        FileKind::Script => "script",
        FileKind::Doc => "doc",
        // Text of a kind that nobody has told us about may be code; it is better seen than left out.
        FileKind::Other => "text",
    }
}

/// Whether a file belongs to others and is not even read.
pub(crate) fn is_vendored(name: &str, in_vendor_directory: bool, attributes: Attributes) -> bool {
    attributes.vendored.unwrap_or_else(|| in_vendor_directory || names::is_vendored_name(name))
}

/// What the first bytes, as text, say.
pub(crate) fn derive_traits(name: &str, head: &str, blank: bool) -> Traits {
    Traits {
        generated: has_generated_marker(head),
        pointer: head.starts_with("version https://git-lfs.github.com/spec/"),
        own_report: name.ends_with(".json") && head.contains("\"audit-tools/audit-findings/"),
        blank,
    }
}

/// What an earlier row says of the content, when the rules that made it had looked at the content at all.
pub(crate) fn recall_traits(reason: &str) -> Option<Traits> {
    let none = Traits::default();
    Some(match reason {
        "generated-marker" => Traits { generated: true, ..none },
        "lfs-pointer" => Traits { pointer: true, ..none },
        "own-output" => Traits { own_report: true, ..none },
        "trivial" => Traits { blank: true, ..none },
        "binary" | "minified" | "long-line" | "doc-only" | "source" | "test" | "config" | "ci" | "infra" | "schema"
        | "script" | "doc" | "text" => none,
        _ => return None,
    })
}

/// Whether an earlier row's language may be used again for this name.
pub(crate) fn recall_language(by_name: ByName, language: &str) -> Option<Option<&'static Language>> {
    crate::language::is_plausible(by_name, language).then(|| crate::language::by_known_name(language))
}

/// A comment among the first twenty lines that says that a tool wrote the file.
fn has_generated_marker(head: &str) -> bool {
    const COMMENTS: &[&str] =
        &["//", "#", "/*", "*", "--", ";", "<!--", "%", "\"\"\"", "(*", "'", "{-", "rem ", "!", "<%"];
    let mut said = false;
    for line in head.lines().take(20) {
        let lower = line.trim_start().to_ascii_lowercase();
        if !COMMENTS.iter().any(|start| lower.starts_with(start)) {
            said = false;
            continue;
        }
        let whole = |word: &str| {
            lower
                .split(|c: char| c.is_whitespace() || matches!(c, '*' | '/' | '.' | ',' | '(' | '>'))
                .any(|part| part == word)
        };
        if whole("@generated") || lower.contains("<auto-generated") {
            return true;
        }
        // The two halves may stand on neighbouring lines.
        let generated = lower.contains("generated");
        let hands_off = ["do not edit", "do not modify", "don't edit", "do not change", "do not hand-edit"]
            .iter()
            .any(|words| lower.contains(words));
        if hands_off && (generated || said) {
            return true;
        }
        said = generated;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_that_mean_it_mark_a_file_as_generated() {
        for marked in [
            "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n",
            "/**\n * @generated\n */\n",
            "# This file was generated by a tool.\n# Do not edit.\n",
            "// <auto-generated>\n//   text\n",
            "-- autogenerated, do not modify\n",
        ] {
            assert!(has_generated_marker(marked), "{marked}");
        }
        for plain in [
            "const M: &str = \"@generated\";\n",
            "// Ids are generated by the database.\nfn a() {}\n",
            "// Do not edit the order of these lines.\n",
            "// Writes @generated-like headers\n# generated\nx\n# do not edit\n",
        ] {
            assert!(!has_generated_marker(plain), "{plain}");
        }
        assert!(!has_generated_marker(&format!("{}// @generated\n", "// line\n".repeat(20))));
    }

    #[test]
    fn every_reason_of_content_is_recalled_as_what_made_it() {
        let traits = Traits { generated: true, ..Traits::default() };
        assert_eq!(recall_traits("generated-marker"), Some(traits));
        assert_eq!(recall_traits("source"), Some(Traits::default()));
        assert_eq!(recall_traits("vendored"), None);
        assert_eq!(recall_traits("lock-file"), None);
    }
}
