//! The names that a component imports and exports at its top level, read from its binary form before anything is
//! compiled. Only the outer sections are looked at; the engine validates the rest.

/// Names of the outermost component.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) imports: Vec<String>,
    pub(crate) exports: Vec<String>,
}

/// Why no names can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Empty,
    NotWasm(&'static str),
    CoreModule,
    Damaged(&'static str),
}

const MAGIC: &[u8] = b"\0asm";
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];
const CORE: &[u8] = &[1, 0, 0, 0];

const SECTION_IMPORT: u8 = 10;
const SECTION_EXPORT: u8 = 11;

/// Names that are read at most; a plugin has about twenty.
const MOST_NAMES: usize = 1_000;

/// Reads the names.
///
/// # Errors
///
/// Whatever is not a component, or breaks off.
pub(crate) fn read_names(bytes: &[u8]) -> Result<Names, Unreadable> {
    let mut reader = Reader { rest: check_preamble(bytes)? };
    let mut names = Names::default();
    while let Some(id) = reader.rest.first().copied() {
        reader.rest = &reader.rest[1..];
        let size = reader.number()?;
        let mut section = Reader { rest: reader.take(size)? };
        match id {
            SECTION_IMPORT => section.imports(&mut names.imports)?,
            SECTION_EXPORT => section.exports(&mut names.exports)?,
            _ => {}
        }
    }
    Ok(names)
}

fn check_preamble(bytes: &[u8]) -> Result<&[u8], Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    if !bytes.starts_with(MAGIC) {
        let text = std::str::from_utf8(&bytes[..bytes.len().min(512)]).is_ok_and(|text| !text.contains('\0'));
        return Err(Unreadable::NotWasm(if text { "it is text" } else { "it is not WebAssembly" }));
    }
    match bytes.get(4..8) {
        None => Err(Unreadable::Damaged("it ends within its header")),
        Some(CORE) => Err(Unreadable::CoreModule),
        Some(COMPONENT) => Ok(&bytes[8..]),
        Some(_) => Err(Unreadable::NotWasm("it is WebAssembly of an unknown version")),
    }
}

/// Takes bytes from the front.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(Unreadable::Damaged("it ends within a section"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.take(1)?[0])
    }

    /// An unsigned number of at most 32 bits, seven bits a byte, lowest first.
    fn number(&mut self) -> Result<usize, Unreadable> {
        let mut value = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value)
                    .map(|n| n as usize)
                    .map_err(|_| Unreadable::Damaged("a number is too large"));
            }
        }
        Err(Unreadable::Damaged("a number is too large"))
    }

    fn count(&mut self) -> Result<usize, Unreadable> {
        let count = self.number()?;
        if count > MOST_NAMES {
            return Err(Unreadable::Damaged("it has too many imports or exports"));
        }
        Ok(count)
    }

    fn text(&mut self) -> Result<String, Unreadable> {
        let size = self.number()?;
        let text = std::str::from_utf8(self.take(size)?).map_err(|_| Unreadable::Damaged("a name is not UTF-8"))?;
        Ok(text.to_owned())
    }

    /// The name of an import or export, in either of its two forms.
    fn name(&mut self) -> Result<String, Unreadable> {
        match self.byte()? {
            0 | 1 => self.text(),
            _ => Err(Unreadable::Damaged("a name has an unknown form")),
        }
    }

    /// The type of an import or export, skipped.
    fn extern_type(&mut self) -> Result<(), Unreadable> {
        match self.byte()? {
            0x00 => {
                self.byte()?;
                self.number()?;
            }
            0x01 | 0x04 | 0x05 => {
                self.number()?;
            }
            0x02 => self.bound()?,
            0x03 => {
                if self.byte()? == 0x00 {
                    self.number()?;
                }
            }
            _ => return Err(Unreadable::Damaged("an import or export has an unknown type")),
        }
        Ok(())
    }

    /// What a value import is bound to.
    fn bound(&mut self) -> Result<(), Unreadable> {
        self.byte()?;
        self.number()?;
        Ok(())
    }

    fn imports(&mut self, names: &mut Vec<String>) -> Result<(), Unreadable> {
        for _ in 0..self.count()? {
            names.push(self.name()?);
            self.extern_type()?;
        }
        Ok(())
    }

    fn exports(&mut self, names: &mut Vec<String>) -> Result<(), Unreadable> {
        for _ in 0..self.count()? {
            names.push(self.name()?);
            if self.byte()? == 0 {
                self.byte()?;
            }
            self.number()?;
            match self.byte()? {
                0 => {}
                1 => self.extern_type()?,
                _ => return Err(Unreadable::Damaged("an export has an unknown form")),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with one import of an instance and one export of it.
    fn sample() -> Vec<u8> {
        let mut bytes = [MAGIC, COMPONENT].concat();
        bytes.extend([SECTION_IMPORT, 8, 1, 0, 3, b'a', b':', b'b', 5, 0]);
        bytes.extend([SECTION_EXPORT, 8, 1, 0, 2, b'c', b'd', 5, 0, 0]);
        bytes
    }

    #[test]
    fn names_are_read_from_the_outer_sections() {
        let names = read_names(&sample()).expect("a component");
        assert_eq!((names.imports, names.exports), (vec!["a:b".to_owned()], vec!["cd".to_owned()]));
    }

    #[test]
    fn every_cut_is_refused_or_is_a_whole_component() {
        let whole = sample();
        for length in 0..whole.len() {
            match read_names(&whole[..length]) {
                Ok(_) => assert!([8, 18].contains(&length), "{length}"),
                Err(error) => assert_ne!(error, Unreadable::CoreModule),
            }
        }
    }

    #[test]
    fn no_flipped_byte_makes_it_panic() {
        let whole = sample();
        for at in 0..whole.len() {
            for byte in 0..=255 {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                let _ = read_names(&bytes);
            }
        }
    }

    #[test]
    fn what_it_is_instead_is_said() {
        assert_eq!(read_names(b""), Err(Unreadable::Empty));
        assert_eq!(read_names(b"(component)"), Err(Unreadable::NotWasm("it is text")));
        assert_eq!(read_names(b"\x7fELF\0\0\0\0"), Err(Unreadable::NotWasm("it is not WebAssembly")));
        assert_eq!(read_names(b"\0asm\x01\0\0\0"), Err(Unreadable::CoreModule));
    }
}
