//! One pass over a file's bytes: digest, lines, longest line, encoding and its first bytes, in constant memory.

use std::io::{self, Read};

use assize_core::id::Digest;
use assize_core::inventory::Encoding;

use crate::encoding::{UTF8_BOM, Utf8Check, derive_utf16, units};

/// Bytes read at a time; even, so that a 16-bit unit never lies across two chunks.
pub(crate) const CHUNK: usize = 128 * 1024;

/// Bytes kept for what the beginning of a file tells.
const HEAD: usize = 8 * 1024;

/// What one pass finds.
pub(crate) struct Scan {
    pub(crate) size: u64,
    pub(crate) digest: Digest,
    /// Absent for what is not text. In UTF-16 both count 16-bit units, so that they agree with the decoded text.
    pub(crate) lines: Option<u64>,
    pub(crate) longest_line: Option<u64>,
    pub(crate) encoding: Encoding,
    /// Nothing but white space.
    pub(crate) blank: bool,
    /// The first bytes.
    pub(crate) head: Vec<u8>,
}

/// Reads to the end, or gives up with `None` when there are more than `limit` bytes.
///
/// # Errors
/// What reading says.
pub(crate) fn scan(input: &mut impl Read, buffer: &mut [u8], limit: u64) -> io::Result<Option<Scan>> {
    let mut pass = Pass::default();
    let mut hasher = blake3::Hasher::new();
    let mut head = Vec::new();
    loop {
        let filled = fill(input, buffer)?;
        let chunk = &buffer[..filled];
        if pass.size == 0 {
            head.extend_from_slice(&chunk[..filled.min(HEAD)]);
            pass.begin(chunk);
        }
        pass.feed(chunk);
        hasher.update(chunk);
        if pass.size > limit {
            return Ok(None);
        }
        if filled < buffer.len() {
            break;
        }
    }
    let encoding = pass.encoding();
    let text = encoding != Encoding::Binary;
    Ok(Some(Scan {
        size: pass.size,
        digest: Digest::from_bytes(*hasher.finalize().as_bytes()),
        lines: text.then(|| pass.lines.count()),
        longest_line: text.then(|| pass.lines.longest()),
        encoding,
        blank: pass.blank,
        head,
    }))
}

/// Reads until the buffer is full or the input ends, so that short reads change nothing.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[derive(Default)]
struct Pass {
    size: u64,
    wide: Option<Encoding>,
    marked: bool,
    zero: bool,
    blank: bool,
    controls: u64,
    utf8: Utf8Check,
    lines: Lines,
}

impl Pass {
    fn begin(&mut self, first: &[u8]) {
        self.wide = derive_utf16(first);
        self.marked = first.starts_with(UTF8_BOM);
        self.blank = true;
    }

    fn feed(&mut self, chunk: &[u8]) {
        let start = match (self.size, self.wide) {
            (0, Some(_)) if matches!(chunk, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => 2,
            (0, None) if self.marked => UTF8_BOM.len(),
            _ => 0,
        };
        let body = &chunk[start..];
        self.size += chunk.len() as u64;
        if let Some(encoding) = self.wide {
            self.blank = self.blank && units(encoding, body).all(|unit| matches!(unit, 0x09..=0x0d | 0x20));
            self.lines.feed_units(encoding, chunk);
            return;
        }
        self.blank = self.blank && body.iter().all(|byte| matches!(byte, 0x09..=0x0d | 0x20));
        self.zero = self.zero || chunk.contains(&0);
        self.controls += chunk.iter().filter(|byte| matches!(**byte, 0..=8 | 14..=26 | 28..=31 | 127)).count() as u64;
        self.utf8.feed(chunk);
        self.lines.feed_bytes(chunk);
    }

    fn encoding(&self) -> Encoding {
        match self.wide {
            Some(encoding) => encoding,
            None if self.zero => Encoding::Binary,
            None if self.utf8.is_valid() && self.marked => Encoding::Utf8Bom,
            None if self.utf8.is_valid() => Encoding::Utf8,
            // Text in some old encoding has next to no control characters; compressed data has one in ten.
            None if self.controls * 50 > self.size => Encoding::Binary,
            None => Encoding::Latin1,
        }
    }
}

/// Counts lines and the longest of them, in bytes.
#[derive(Default)]
struct Lines {
    ended: u64,
    longest: u64,
    open: u64,
}

impl Lines {
    fn feed_bytes(&mut self, chunk: &[u8]) {
        let mut from = 0;
        for (at, byte) in chunk.iter().enumerate() {
            if *byte == b'\n' {
                self.end(self.open + (at - from) as u64);
                from = at + 1;
            }
        }
        self.open += (chunk.len() - from) as u64;
    }

    fn feed_units(&mut self, encoding: Encoding, chunk: &[u8]) {
        for unit in units(encoding, chunk) {
            if unit == 0x0a {
                self.end(self.open);
            } else {
                self.open += 2;
            }
        }
        self.open += (chunk.len() % 2) as u64;
    }

    fn end(&mut self, length: u64) {
        self.ended += 1;
        self.longest = self.longest.max(length);
        self.open = 0;
    }

    fn count(&self) -> u64 {
        self.ended + u64::from(self.open > 0)
    }

    fn longest(&self) -> u64 {
        self.longest.max(self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(bytes: &[u8]) -> Scan {
        scanned_by(bytes, CHUNK)
    }

    fn scanned_by(mut bytes: &[u8], chunk: usize) -> Scan {
        scan(&mut bytes, &mut vec![0; chunk], u64::MAX).expect("no reading error").expect("no limit")
    }

    #[test]
    fn lines_are_lf_bytes_plus_an_unended_last() {
        for (bytes, lines, longest) in [
            (&b""[..], 0, 0),
            (b"a", 1, 1),
            (b"a\n", 1, 1),
            (b"a\r\nbcd\r\n", 2, 4),
            (b"\n\n", 2, 0),
            (b"a\rb\rc", 1, 5),
        ] {
            let scan = scanned(bytes);
            assert_eq!((scan.lines, scan.longest_line), (Some(lines), Some(longest)), "{bytes:?}");
            assert_eq!(scan.digest, Digest::of(bytes));
        }
    }

    #[test]
    fn chunks_do_not_show_in_the_result() {
        let text = "fn main() {}\n// é日🦀\nlast".repeat(9);
        let whole = scanned(text.as_bytes());
        for chunk in [2, 4, 6, 64] {
            let part = scanned_by(text.as_bytes(), chunk);
            assert_eq!((part.lines, part.longest_line, part.digest), (whole.lines, whole.longest_line, whole.digest));
            assert_eq!(part.encoding, Encoding::Utf8);
        }
    }

    #[test]
    fn encodings_are_told_apart() {
        let wide: Vec<u8> = "x = 1\ny = 2".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(scanned(&wide).encoding, Encoding::Utf16Le);
        assert_eq!(scanned(&wide).lines, Some(2));
        assert_eq!(scanned(b"\xef\xbb\xbfx\n").encoding, Encoding::Utf8Bom);
        assert_eq!(scanned(b"\xff\xfe# caf\xe9\npassword=\"x\"\n").encoding, Encoding::Latin1);
        let late_zero = [&b"x = 1\n".repeat(2000)[..], b"\0"].concat();
        assert_eq!(scanned(&late_zero).encoding, Encoding::Binary);
        assert_eq!(scanned(&late_zero).lines, None);
        assert_eq!(scanned(b"\x89PNG\r\n\x1a\n\x01\x02\x03\x80\x81").encoding, Encoding::Binary);
    }

    #[test]
    fn more_than_the_limit_is_given_up() {
        assert!(scan(&mut io::repeat(b'x'), &mut vec![0; CHUNK], 1 << 20).expect("no reading error").is_none());
    }

    #[test]
    fn white_space_alone_is_blank() {
        assert!(scanned(b"").blank && scanned(b" \n\t\r\n").blank && scanned(b"\xef\xbb\xbf\n").blank);
        assert!(!scanned(b"\nx").blank);
    }
}
