//! What a program prints: always drained, kept within bounds, head and tail, in a file and in memory, without secrets.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

use super::redact::Redactor;

/// Bytes read at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;

/// The default bound of each output, bytes: half of it for the beginning and half for the end.
pub const DEFAULT_OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// What was kept of one output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Head and tail, with a line break between them where something is missing.
    pub bytes: Vec<u8>,
    /// Bytes between head and tail that were not kept.
    pub dropped: u64,
    /// Why the file is not complete, when it could not be written.
    pub file_error: Option<String>,
}

/// Makes the file of an output, anew: whatever an earlier program left under its name is removed, not written to.
pub(super) fn create_log(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Reads to the end, or until told to stop. The head is written to the file as it comes, so that a person can watch;
/// the tail at the end.
pub(super) async fn capture(
    mut from: impl AsyncRead + Unpin,
    log: File,
    redactor: &Redactor,
    cap: u64,
    mut stop: watch::Receiver<bool>,
) -> Kept {
    let mut chunk = vec![0_u8; CHUNK];
    let mut clean = Vec::with_capacity(CHUNK);
    let mut stream = redactor.stream();
    let mut kept = HeadTail::new(cap);
    let mut log = Log { file: log, error: None };
    loop {
        let read = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            read = from.read(&mut chunk) => read,
        };
        let Ok(read @ 1..) = read else { break };
        stream.push(&chunk[..read], &mut clean);
        log.write(kept.push(&clean));
        clean.clear();
    }
    stream.finish(&mut clean);
    log.write(kept.push(&clean));
    if kept.dropped > 0 {
        log.write(format!("\n[{} bytes not kept]\n", kept.dropped).as_bytes());
    }
    let (front, back) = kept.tail.as_slices();
    log.write(front);
    log.write(back);
    Kept { dropped: kept.dropped, file_error: log.error, bytes: kept.into_bytes() }
}

/// A full disk ends the file, not the launch.
struct Log {
    file: File,
    error: Option<String>,
}

impl Log {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() && !bytes.is_empty() {
            self.error = self.file.write_all(bytes).err().map(|error| error.to_string());
        }
    }
}

/// The beginning and the end of a stream. Memory grows with what is kept, not with what comes.
struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_cap: usize,
    tail_cap: usize,
    dropped: u64,
}

impl HeadTail {
    fn new(cap: u64) -> Self {
        let cap = usize::try_from(cap).unwrap_or(usize::MAX);
        let head_cap = cap / 2;
        Self { head: Vec::new(), tail: VecDeque::new(), head_cap, tail_cap: cap - head_cap, dropped: 0 }
    }

    /// Takes more; gives back the part of it that belongs to the head.
    fn push<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_cap - self.head.len()));
        self.head.extend_from_slice(head);
        let fitting = &rest[rest.len().saturating_sub(self.tail_cap)..];
        let surplus = (self.tail.len() + fitting.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..surplus);
        self.tail.extend(fitting);
        self.dropped += (rest.len() - fitting.len() + surplus) as u64;
        head
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.dropped > 0 {
            // Two half lines must not become one that was never printed.
            bytes.push(b'\n');
        }
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cap: u64, parts: &[&[u8]]) -> (Vec<u8>, u64) {
        let mut kept = HeadTail::new(cap);
        for part in parts {
            kept.push(part);
        }
        let dropped = kept.dropped;
        (kept.into_bytes(), dropped)
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(kept(6, &[b"abc", b"def"]), (b"abcdef".to_vec(), 0));
        assert_eq!(kept(7, &[b"abcdefg"]), (b"abcdefg".to_vec(), 0));
        assert_eq!(kept(0, &[]), (Vec::new(), 0));
    }

    #[test]
    fn what_does_not_fit_is_counted_between_head_and_tail() {
        assert_eq!(kept(4, &[b"abcdefgh"]), (b"ab\ngh".to_vec(), 4));
        assert_eq!(kept(4, &[b"a", b"b", b"c", b"d", b"e"]), (b"ab\nde".to_vec(), 1));
        assert_eq!(kept(0, &[b"abc"]), (b"\n".to_vec(), 3));
        assert_eq!(kept(1, &[b"abc"]), (b"\nc".to_vec(), 2));
    }

    #[tokio::test]
    async fn the_file_holds_head_gap_and_tail_without_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout.log");
        let (_stop, stopped) = watch::channel(false);
        let redactor = Redactor::new(["hunter2-hunter2"]);
        let input: &[u8] = b"key hunter2-hunter2 and then a long long text with an end";
        let kept = capture(input, create_log(&path).unwrap(), &redactor, 30, stopped).await;
        assert_eq!(kept.bytes, b"key [redacted] \next with an end");
        let file = fs::read_to_string(&path).unwrap();
        assert_eq!(file, format!("key [redacted] \n[{} bytes not kept]\next with an end", kept.dropped));
        assert_eq!(kept.file_error, None);
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("precious");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join("stdout.log")).unwrap();
        create_log(&dir.path().join("stdout.log")).unwrap().write_all(b"printed").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }
}
