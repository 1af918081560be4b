//! How bytes are text: what the first bytes say, whether a stream is UTF-8, and how text is decoded.

use assize_core::inventory::Encoding;

pub(crate) const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// UTF-16 as far as the first bytes of a file tell.
pub(crate) fn derive_utf16(first: &[u8]) -> Option<Encoding> {
    let (encoding, body) = match first {
        // UTF-32's mark begins like UTF-16's; nobody writes source in it.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, body @ ..] => (Encoding::Utf16Le, body),
        [0xfe, 0xff, body @ ..] => (Encoding::Utf16Be, body),
        _ => return derive_unmarked_utf16(first),
    };
    // A mark before what is plainly single bytes is no mark.
    let plain = body.iter().filter(|byte| matches!(byte, 0x20..=0x7e | b'\n' | b'\r' | b'\t')).count();
    let single = !body.is_empty() && !body.contains(&0) && plain * 4 >= body.len() * 3;
    (!single && units(encoding, body).all(|unit| unit != 0)).then_some(encoding)
}

/// Without a mark: text of Latin letters has a zero in nearly every second byte, always the same one.
fn derive_unmarked_utf16(first: &[u8]) -> Option<Encoding> {
    if first.len() < 4 || !first.contains(&0) {
        return None;
    }
    let zeros = |at: usize| first.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), first.len() / 2);
    let encoding = match (even, odd) {
        (0, odd) if odd * 10 >= pairs * 7 => Encoding::Utf16Le,
        (even, 0) if even * 10 >= pairs * 7 => Encoding::Utf16Be,
        _ => return None,
    };
    let controls = units(encoding, first).filter(|unit| *unit < 0x20 && !matches!(unit, 9 | 10 | 12 | 13)).count();
    (controls == 0).then_some(encoding)
}

/// The 16-bit units of some bytes; an odd byte at the end is left out.
pub(crate) fn units(encoding: Encoding, bytes: &[u8]) -> impl Iterator<Item = u16> {
    let big = encoding == Encoding::Utf16Be;
    bytes.chunks_exact(2).map(move |pair| match pair {
        [a, b] if big => u16::from_be_bytes([*a, *b]),
        [a, b] => u16::from_le_bytes([*a, *b]),
        _ => 0,
    })
}

/// Text of bytes in an encoding, and whether something had to be replaced. `None` when they are not text.
pub(crate) fn decode(encoding: Encoding, bytes: &[u8]) -> Option<(String, bool)> {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom => {
            let body = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
            let text = String::from_utf8_lossy(body);
            let lossy = matches!(text, std::borrow::Cow::Owned(_));
            Some((text.into_owned(), lossy))
        }
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let body = if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) { &bytes[2..] } else { bytes };
            let mut lossy = body.len() % 2 == 1;
            let mut text: String = char::decode_utf16(units(encoding, body))
                .map(|unit| {
                    unit.unwrap_or_else(|_| {
                        lossy = true;
                        char::REPLACEMENT_CHARACTER
                    })
                })
                .collect();
            if body.len() % 2 == 1 {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            Some((text, lossy))
        }
        Encoding::Latin1 => Some((bytes.iter().map(|byte| char::from(*byte)).collect(), false)),
        Encoding::Binary | Encoding::Unknown => None,
    }
}

/// Checks a stream for UTF-8, a chunk at a time.
#[derive(Default)]
pub(crate) struct Utf8Check {
    broken: bool,
    carry: Vec<u8>,
}

impl Utf8Check {
    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, mut chunk: &[u8]) {
        while !self.broken && !self.carry.is_empty() && !chunk.is_empty() {
            self.carry.push(chunk[0]);
            chunk = &chunk[1..];
            match std::str::from_utf8(&self.carry) {
                Ok(_) => self.carry.clear(),
                Err(error) if error.error_len().is_some() => self.broken = true,
                Err(_) => {}
            }
        }
        if self.broken {
            return;
        }
        if let Err(error) = std::str::from_utf8(chunk) {
            match error.error_len() {
                Some(_) => self.broken = true,
                None => self.carry.extend_from_slice(&chunk[error.valid_up_to()..]),
            }
        }
    }

    /// Whether all of it was UTF-8.
    pub(crate) fn is_valid(&self) -> bool {
        !self.broken && self.carry.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16le(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn utf16_is_known_with_and_without_a_mark() {
        let plain = utf16le("let x = 1;\n");
        assert_eq!(derive_utf16(&plain), Some(Encoding::Utf16Le));
        let marked = [&b"\xff\xfe"[..], &utf16le("日本\n")].concat();
        assert_eq!(derive_utf16(&marked), Some(Encoding::Utf16Le));
        let big: Vec<u8> = "let x\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(derive_utf16(&big), Some(Encoding::Utf16Be));
    }

    #[test]
    fn a_mark_before_single_bytes_is_not_utf16() {
        assert_eq!(derive_utf16(b"\xff\xfe# caf\xe9\npassword=\"x\"\n"), None);
        assert_eq!(derive_utf16(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"), None);
    }

    #[test]
    fn utf8_is_checked_across_chunks_of_any_size() {
        let text = "aé日🦀z".as_bytes();
        for size in 1..=text.len() {
            let mut check = Utf8Check::default();
            text.chunks(size).for_each(|chunk| check.feed(chunk));
            assert!(check.is_valid(), "chunks of {size}");
            let mut cut = Utf8Check::default();
            text[..text.len() - 2].chunks(size).for_each(|chunk| cut.feed(chunk));
            assert!(!cut.is_valid(), "cut, chunks of {size}");
        }
    }

    #[test]
    fn broken_units_are_replaced_and_said() {
        let (text, lossy) = decode(Encoding::Utf16Le, b"a\0\x00\xd8b\0c").expect("text");
        assert_eq!(text, "a\u{fffd}b\u{fffd}");
        assert!(lossy);
        assert_eq!(decode(Encoding::Latin1, b"caf\xe9"), Some(("café".to_owned(), false)));
    }
}
