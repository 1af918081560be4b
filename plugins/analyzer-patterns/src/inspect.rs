//! Facts of one file.

use std::borrow::Cow;

use crate::collector::Collector;
use crate::config::Config;
use crate::facts::{Error, Fact, SourceFile};
use crate::lexer::Class;
use crate::text::Text;
use crate::{assignments, outline, rules, suppressions, tokens, words};

/// Finds everything that this analyzer knows of a file. Never fails on content: text of any encoding is read as bytes,
/// UTF-16 with a byte order mark is decoded first (spans are then of the decoded text, and the metric `decoded-utf16` says so).
///
/// # Errors
/// Configuration that cannot be used.
pub fn inspect(file: &SourceFile, config: &str) -> Result<Vec<Fact>, Error> {
    let config = Config::parse(config)?;
    let (bytes, decoded) = decode(&file.content);
    let text = Text::new(&bytes, &file.language, &file.path);
    let mut out = Collector::new(&text, &config);
    if decoded {
        out.number("decoded-utf16", 1);
    }
    words::scan(&text, &mut out);
    assignments::scan(&text, &mut out);
    tokens::check_key_blocks(&text, &mut out);
    rules::check_file(&text, &mut out);
    outline::read_manifest(&text, &mut out);
    count_lines(&text, &mut out);
    let held = suppressions::read(&text, &mut out);
    Ok(out.finish(held))
}

fn decode(content: &[u8]) -> (Cow<'_, [u8]>, bool) {
    let read: fn([u8; 2]) -> u16 = match content {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return (Cow::Borrowed(content), false),
    };
    let units = content[2..].chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    (Cow::Owned(text.into_bytes()), true)
}

/// A line counts as what its first byte that is not white belongs to.
fn count_lines(text: &Text<'_>, out: &mut Collector<'_>) {
    let (mut code, mut comment, mut index) = (0, 0, 0);
    for line in 0..text.line_count() {
        let (start, end) = text.line(line);
        let Some(offset) = text.bytes[start..end].iter().position(|b| !b.is_ascii_whitespace()) else { continue };
        while text.segments.get(index).is_some_and(|segment| segment.end <= start + offset) {
            index += 1;
        }
        match text.segments.get(index).map(|segment| segment.class) {
            Some(Class::Comment) => comment += 1,
            _ => code += 1,
        }
    }
    out.number("code-lines", code);
    out.number("comment-lines", comment);
}
