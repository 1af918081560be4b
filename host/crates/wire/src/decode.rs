//! Decompression in small parts, so that what a few bytes unfold to is never held at once.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

/// Compressed bytes taken at once. Gzip unfolds to about a thousand times as much at most, so no part exceeds some MiB.
const STEP: usize = 4096;

/// Undoes a content encoding.
pub(crate) enum Decoder {
    /// There is none.
    Plain,
    /// `gzip`.
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Decoder {
    /// For the value of `content-encoding`, in lower case; nothing when it cannot be undone.
    pub fn of(encoding: &str) -> Option<Self> {
        match encoding {
            "" | "identity" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            _ => None,
        }
    }

    /// Takes the next part and hands on what it unfolds to.
    pub fn push(&mut self, part: &[u8], take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let Self::Gzip(gzip) = self else {
            take(part);
            return Ok(());
        };
        for step in part.chunks(STEP) {
            gzip.write_all(step)?;
            gzip.flush()?;
            drain(gzip.get_mut(), take);
        }
        Ok(())
    }

    /// Hands on the rest; an error when the stream is cut.
    pub fn finish(&mut self, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if let Self::Gzip(gzip) = self {
            gzip.try_finish()?;
            drain(gzip.get_mut(), take);
        }
        Ok(())
    }
}

fn drain(unfolded: &mut Vec<u8>, take: &mut dyn FnMut(&[u8])) {
    if !unfolded.is_empty() {
        take(unfolded);
        unfolded.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_cut_of_a_stream_unfolds_to_the_same() {
        let packed = gzip(b"a text that is long enough to be cut anywhere");
        for cut in 0..=packed.len() {
            let mut decoder = Decoder::of("gzip").unwrap();
            let mut out = Vec::new();
            decoder.push(&packed[..cut], &mut |part| out.extend_from_slice(part)).unwrap();
            decoder.push(&packed[cut..], &mut |part| out.extend_from_slice(part)).unwrap();
            decoder.finish(&mut |part| out.extend_from_slice(part)).unwrap();
            assert_eq!(out, b"a text that is long enough to be cut anywhere", "cut at {cut}");
        }
    }

    #[test]
    fn a_flushed_part_is_handed_on_at_once() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"data: first\n\n").unwrap();
        encoder.flush().unwrap();
        let mut out = Vec::new();
        Decoder::of("gzip").unwrap().push(encoder.get_ref(), &mut |part| out.extend_from_slice(part)).unwrap();
        assert_eq!(out, b"data: first\n\n");
    }

    #[test]
    fn a_cut_stream_and_bytes_that_are_none_are_errors() {
        let packed = gzip(&[7; 5000]);
        let mut decoder = Decoder::of("gzip").unwrap();
        let fed = decoder.push(&packed[..packed.len() / 2], &mut |_| {});
        assert!(fed.is_err() || decoder.finish(&mut |_| {}).is_err());
        let mut decoder = Decoder::of("gzip").unwrap();
        let fed = decoder.push(b"no gzip at all, not even a little", &mut |_| {});
        assert!(fed.is_err() || decoder.finish(&mut |_| {}).is_err());
        assert!(Decoder::of("br").is_none());
    }
}
