//! The only place that opens files: never through a link, never a FIFO, never more than asked for.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Flag that makes opening a FIFO return at once; 0 where its value is not known here.
#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
))]
const NONBLOCK: i32 = 0o4000;
#[cfg(target_vendor = "apple")]
const NONBLOCK: i32 = 0x4;
#[cfg(not(any(
    target_vendor = "apple",
    all(
        any(target_os = "linux", target_os = "android"),
        not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
    )
)))]
const NONBLOCK: i32 = 0;

/// Flag that refuses a link as the last part; 0 where its value is not known here, and the identity check stands alone.
#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    any(target_arch = "x86", target_arch = "x86_64", target_arch = "riscv64", target_arch = "s390x")
))]
const NOFOLLOW: i32 = 0o400_000;
#[cfg(all(any(target_os = "linux", target_os = "android"), any(target_arch = "arm", target_arch = "aarch64")))]
const NOFOLLOW: i32 = 0o100_000;
#[cfg(target_vendor = "apple")]
const NOFOLLOW: i32 = 0x100;
#[cfg(not(any(
    target_vendor = "apple",
    all(
        any(target_os = "linux", target_os = "android"),
        any(
            target_arch = "x86",
            target_arch = "x86_64",
            target_arch = "riscv64",
            target_arch = "s390x",
            target_arch = "arm",
            target_arch = "aarch64"
        )
    )
)))]
const NOFOLLOW: i32 = 0;

/// Opens a plain file whose device and inode were seen before.
///
/// # Errors
/// What the system says; `InvalidInput` when it is no plain file, or another one than was seen.
pub(crate) fn open_seen(path: &Path, device: u64, inode: u64) -> io::Result<(File, Metadata)> {
    let file = OpenOptions::new().read(true).custom_flags(NONBLOCK | NOFOLLOW).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.dev() != device || metadata.ino() != inode {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "replaced by something else while it was opened"));
    }
    Ok((file, metadata))
}

/// Reads a small plain file whole; `None` when there is none, or a link, directory or the like in its place.
///
/// # Errors
/// What the system says; `FileTooLarge` when it has more than `limit` bytes.
pub(crate) fn read_small(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let seen = match path.symlink_metadata() {
        Ok(seen) if seen.is_file() => seen,
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (file, _) = open_seen(path, seen.dev(), seen.ino())?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes")));
    }
    Ok(Some(bytes))
}
