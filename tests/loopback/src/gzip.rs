//! The gzip form, in blocks that are stored as they are: what is tested is that clients unpack, not how well anybody packs.

/// Bytes of a stored block.
const BLOCK: usize = 65_535;

/// Packs a stream piece by piece; every piece can be unpacked as soon as it arrives.
#[derive(Debug)]
pub struct Gzip {
    begun: bool,
    crc: u32,
    length: u32,
}

impl Gzip {
    /// A stream of which nothing has been packed.
    pub fn new() -> Self {
        Self { begun: false, crc: !0, length: 0 }
    }

    /// Packs a piece.
    pub fn pack(&mut self, data: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(data.len() + 32);
        if !std::mem::replace(&mut self.begun, true) {
            packed.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        }
        for block in data.chunks(BLOCK) {
            push_block(&mut packed, block, false);
        }
        self.crc = data.iter().fold(self.crc, |crc, byte| next_crc(crc, *byte));
        self.length = self.length.wrapping_add(data.len() as u32);
        packed
    }

    /// The end of the stream.
    pub fn finish(mut self) -> Vec<u8> {
        let mut packed = self.pack(&[]);
        push_block(&mut packed, &[], true);
        packed.extend_from_slice(&(!self.crc).to_le_bytes());
        packed.extend_from_slice(&self.length.to_le_bytes());
        packed
    }

    /// Packs all at once.
    pub fn pack_whole(data: &[u8]) -> Vec<u8> {
        let mut gzip = Self::new();
        let mut packed = gzip.pack(data);
        packed.extend(gzip.finish());
        packed
    }
}

fn push_block(packed: &mut Vec<u8>, block: &[u8], last: bool) {
    let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
    packed.push(u8::from(last));
    packed.extend_from_slice(&length.to_le_bytes());
    packed.extend_from_slice(&(!length).to_le_bytes());
    packed.extend_from_slice(block);
}

fn next_crc(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_text_has_its_known_checksum() {
        let packed = Gzip::pack_whole(b"123456789");
        assert_eq!(packed[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        assert_eq!(packed[10..15], [0, 9, 0, 0xf6, 0xff]);
        assert_eq!(&packed[15..24], b"123456789");
        let tail = packed.len() - 8;
        assert_eq!(packed[24..tail], [1, 0, 0, 0xff, 0xff]);
        assert_eq!(packed[tail..], [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
    }

    #[test]
    fn pieces_give_the_same_checksum_as_the_whole() {
        let mut gzip = Gzip::new();
        gzip.pack(b"1234");
        gzip.pack(b"56789");
        let end = gzip.finish();
        assert_eq!(end[end.len() - 8..], [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
        assert!(Gzip::pack_whole(&vec![7; BLOCK + 1]).len() > BLOCK + 20);
    }
}
