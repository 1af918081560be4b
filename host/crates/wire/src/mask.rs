//! Hides a secret in bytes that go to a program, without a change of length.

/// Shorter values are in every other word, and no key.
const SHORTEST: usize = 4;

/// Hides one value. Only its plain form: whoever encodes it has altered it already.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    secret: Vec<u8>,
}

impl Mask {
    /// Hides this value; blanks around it are not part of it.
    pub fn of(secret: &str) -> Self {
        let secret = secret.trim().as_bytes();
        Self { secret: if secret.len() < SHORTEST { Vec::new() } else { secret.to_vec() } }
    }

    /// The bytes with stars where the secret was.
    pub fn hide(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = MaskStream { mask: self.clone(), held: Vec::new() };
        let mut clean = stream.push(bytes);
        clean.extend(stream.finish());
        clean
    }

    /// For bytes that come in parts.
    pub fn stream(&self) -> MaskStream {
        MaskStream { mask: self.clone(), held: Vec::new() }
    }
}

/// Holds back only what the secret may begin with.
pub(crate) struct MaskStream {
    mask: Mask,
    held: Vec<u8>,
}

impl MaskStream {
    /// Whether it never changes anything.
    pub fn is_idle(&self) -> bool {
        self.mask.secret.is_empty()
    }

    /// Takes the next part; gives what is certain.
    pub fn push(&mut self, part: &[u8]) -> Vec<u8> {
        let secret = &self.mask.secret;
        let mut whole = std::mem::take(&mut self.held);
        whole.extend_from_slice(part);
        if secret.is_empty() {
            return whole;
        }
        let mut at = 0;
        while let Some(next) = whole[at..].iter().position(|byte| *byte == secret[0]) {
            at += next;
            let rest = &whole[at..];
            if rest.starts_with(secret) {
                whole[at..at + secret.len()].fill(b'*');
                at += secret.len();
            } else if secret.starts_with(rest) {
                self.held = whole.split_off(at);
                return whole;
            } else {
                at += 1;
            }
        }
        whole
    }

    /// The rest, which was no secret.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_at_every_cut_and_lengths_stay() {
        let mask = Mask::of(" aab-aac ");
        let text = b"aaab-aac aab-aab-aac aab-aa";
        assert_eq!(mask.hide(text).len(), text.len());
        assert_eq!(String::from_utf8(mask.hide(text)).unwrap(), "a******* aab-******* aab-aa");
        for cut in 0..=text.len() {
            let mut stream = mask.stream();
            let mut out = stream.push(&text[..cut]);
            out.extend(stream.push(&text[cut..]));
            out.extend(stream.finish());
            assert_eq!(out, mask.hide(text), "cut at {cut}");
        }
    }

    #[test]
    fn what_cannot_become_the_secret_is_not_held_back() {
        let mut stream = Mask::of("secret").stream();
        assert_eq!(stream.push(b"data: see\n\n"), b"data: see\n\n");
        assert_eq!(stream.push(b"data: sec"), b"data: ");
        assert_eq!(stream.push(b"ond"), b"second");
        assert!(Mask::of("abc").stream().is_idle());
    }
}
