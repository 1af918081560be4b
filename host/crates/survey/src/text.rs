//! Gives the text of a row's file, from inside the root only and only if it is still what the row was made of.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assize_core::id::Digest;
use assize_core::inventory::{Encoding, FileRow, FileStatus};

use crate::encoding::decode;
use crate::open::open_seen;
use crate::path_text::row_bytes;
use crate::scan::{CHUNK, scan};

/// Bytes that are read into memory at most, whatever the row says.
const TEXT_LIMIT: u64 = 256 * 1024 * 1024;

/// Text of a file, and what was done to its bytes to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedText {
    /// The text. Byte order marks are gone, line ends are untouched.
    pub text: String,
    /// How the bytes were read.
    pub encoding: Encoding,
    /// Whether something could not be decoded and stands as U+FFFD.
    pub lossy: bool,
    /// Whether the text's bytes are the file's, so that byte offsets agree.
    pub verbatim: bool,
    /// BLAKE3 of the file's bytes.
    pub digest: Digest,
}

/// Reads and decodes the file of a row. No part of its path may be a link, and no more than the row's size is read.
///
/// # Errors
/// [`ReadError`](crate::ReadError): outside the root, not a plain file, not text, changed since the survey, or what the system says.
pub fn read_text(root: &Path, row: &FileRow) -> Result<DecodedText, crate::ReadError> {
    use crate::ReadError::{Io, NotText};
    let path = || row.path.clone();
    let (bytes, digest) = read_seen(root, row)?;
    let encoding = match row.encoding {
        Encoding::Unknown => {
            let scanned = scan(&mut bytes.as_slice(), &mut vec![0; CHUNK], u64::MAX);
            let scanned = scanned.map_err(|source| Io { path: path(), source })?;
            scanned.map_or(Encoding::Unknown, |scanned| scanned.encoding)
        }
        known => known,
    };
    let (text, lossy) = decode(encoding, &bytes).ok_or_else(|| NotText { path: path() })?;
    let verbatim = text.as_bytes() == bytes;
    Ok(DecodedText { text, encoding, lossy, verbatim, digest })
}

/// Reads the bytes of a row's file, exactly those that the row was made of.
///
/// # Errors
/// As [`read_text`], but for what is not text.
pub fn read_bytes(root: &Path, row: &FileRow) -> Result<Vec<u8>, crate::ReadError> {
    read_seen(root, row).map(|(bytes, _)| bytes)
}

fn read_seen(root: &Path, row: &FileRow) -> Result<(Vec<u8>, Digest), crate::ReadError> {
    use crate::ReadError::{Changed, Io, NotAFile, TooLarge};
    let path = || row.path.clone();
    let io_error = |source: io::Error| Io { path: path(), source };
    if row.status == FileStatus::Special || row.path.ends_with('/') {
        return Err(NotAFile { path: path() });
    }
    if row.reason == "too-large" || row.size > TEXT_LIMIT {
        return Err(TooLarge { path: path() });
    }
    let real_root = root.canonicalize().map_err(io_error)?;
    let (place, device, inode) = confine(&real_root, row)?;
    let (file, _) = open_seen(&place, device, inode).map_err(io_error)?;
    // A directory on the way may have become a link between the look and the opening; then the path leads elsewhere now.
    if confine(&real_root, row)? != (place, device, inode) {
        return Err(Changed { path: path() });
    }
    let mut bytes = Vec::new();
    file.take(row.size.saturating_add(1)).read_to_end(&mut bytes).map_err(io_error)?;
    let digest = Digest::of(&bytes);
    if bytes.len() as u64 != row.size || row.digest.is_some_and(|known| known != digest) {
        return Err(Changed { path: path() });
    }
    Ok((bytes, digest))
}

/// Goes down from the root part by part; every part but the last must be a directory, the last a plain file.
fn confine(root: &Path, row: &FileRow) -> Result<(PathBuf, u64, u64), crate::ReadError> {
    use crate::ReadError::{Io, NotAFile, Outside};
    let path = || row.path.clone();
    let mut place = root.to_path_buf();
    let mut parts = row_bytes(row).split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        if matches!(part, b"" | b"." | b"..") || part.contains(&0) {
            return Err(Outside { path: path() });
        }
        place.push(OsStr::from_bytes(part));
        let seen = place.symlink_metadata().map_err(|source| Io { path: path(), source })?;
        match parts.peek() {
            Some(_) if seen.is_symlink() => return Err(Outside { path: path() }),
            Some(_) if seen.is_dir() => {}
            None if seen.is_file() => return Ok((place, seen.dev(), seen.ino())),
            _ => return Err(NotAFile { path: path() }),
        }
    }
    Err(Outside { path: path() })
}
