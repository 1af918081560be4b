//! What a plugin says: log lines and standard output of one call, kept up to a cap, then dropped and counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogLevel {
    /// Every detail.
    Trace,
    /// For the author.
    Debug,
    /// For the user.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// One line. Text of a plugin is untrusted: whoever shows it on a terminal takes control characters out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Level; lines of standard output are `Info`, of standard error `Warn`.
    pub level: LogLevel,
    /// Text.
    pub message: String,
    /// Named values. Lines of standard output and error have one, `stream`.
    pub fields: Vec<(String, String)>,
}

/// All that one call said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallLogs {
    /// Name of the plugin.
    pub plugin: String,
    /// Lines that were kept, in order.
    pub lines: Vec<LogLine>,
    /// Lines beyond the cap, whole or in part; a piece of output counts as one.
    pub dropped_lines: u64,
    /// Bytes beyond the cap.
    pub dropped_bytes: u64,
}

/// Takes what a call said, once, when the call has ended. Not called for a call that said nothing.
pub trait LogSink: Send + Sync {
    /// Must not block.
    fn logged(&self, logs: CallLogs);
}

/// Bytes that each line costs beside its text, so that empty lines run into the cap too.
const LINE_COST: usize = 32;

/// Which standard stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn word(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }

    fn level(self) -> LogLevel {
        match self {
            Stream::Stdout => LogLevel::Info,
            Stream::Stderr => LogLevel::Warn,
        }
    }
}

/// The buffer of one store; shared with the output streams, which live apart from the store's data.
#[derive(Clone)]
pub(crate) struct LogBuffer(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    room: usize,
    lines: Vec<LogLine>,
    dropped_lines: u64,
    dropped_bytes: u64,
    /// Output without its line end yet, for standard output and standard error.
    open: [Vec<u8>; 2],
}

impl LogBuffer {
    pub(crate) fn new(cap: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept { room: cap, ..Kept::default() })))
    }

    pub(crate) fn line(&self, line: LogLine) {
        self.kept().keep(line);
    }

    pub(crate) fn output(&self, stream: Stream, bytes: &[u8]) {
        self.kept().output(stream, bytes);
    }

    /// Everything so far; the buffer is then empty and has the cap's room again.
    pub(crate) fn take(&self, plugin: &str, cap: usize) -> CallLogs {
        let mut kept = self.kept();
        for stream in [Stream::Stdout, Stream::Stderr] {
            kept.end_line(stream);
        }
        let kept = std::mem::replace(&mut *kept, Kept { room: cap, ..Kept::default() });
        CallLogs {
            plugin: plugin.to_owned(),
            lines: kept.lines,
            dropped_lines: kept.dropped_lines,
            dropped_bytes: kept.dropped_bytes,
        }
    }

    /// The data is valid after every statement, so a panic elsewhere does not spoil it.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn keep(&mut self, line: LogLine) {
        let text = line.fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + line.message.len();
        match self.room.checked_sub(text + LINE_COST) {
            Some(left) => {
                self.room = left;
                self.lines.push(line);
            }
            None => self.drop_bytes(text),
        }
    }

    fn drop_bytes(&mut self, bytes: usize) {
        self.dropped_lines += 1;
        self.dropped_bytes += bytes as u64;
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            // An open line is held outside `lines` and must not outgrow the room either.
            let fits = text.len().min(self.room.saturating_sub(self.open[stream as usize].len()));
            self.open[stream as usize].extend_from_slice(&text[..fits]);
            if fits < text.len() {
                self.drop_bytes(text.len() - fits);
            }
            if ends {
                self.end_line(stream);
            }
        }
    }

    fn end_line(&mut self, stream: Stream) {
        let bytes = std::mem::take(&mut self.open[stream as usize]);
        if bytes.is_empty() {
            return;
        }
        let mut message = String::from_utf8_lossy(&bytes).into_owned();
        let fields = vec![("stream".to_owned(), stream.word().to_owned())];
        // Shorten to what is left, so that the beginning of a long line is still seen.
        let fixed = LINE_COST + fields[0].0.len() + fields[0].1.len();
        let room = self.room.saturating_sub(fixed);
        if message.len() > room && room > 0 {
            let end = (0..=room).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            self.drop_bytes(message.len() - end);
            message.truncate(end);
        }
        self.keep(LogLine { level: stream.level(), message, fields });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &str) -> LogLine {
        LogLine { level: LogLevel::Info, message: message.to_owned(), fields: Vec::new() }
    }

    #[test]
    fn beyond_the_cap_lines_are_dropped_and_counted() {
        let buffer = LogBuffer::new(100);
        for _ in 0..10 {
            buffer.line(line("0123456789"));
        }
        let logs = buffer.take("p", 100);
        assert_eq!((logs.lines.len(), logs.dropped_lines, logs.dropped_bytes), (2, 8, 80));
        buffer.line(line("again"));
        assert_eq!(buffer.take("p", 100).lines, [line("again")]);
    }

    #[test]
    fn empty_lines_run_into_the_cap_too() {
        let buffer = LogBuffer::new(1_000);
        for _ in 0..1_000_000 {
            buffer.line(line(""));
        }
        assert!(buffer.take("p", 0).lines.len() < 100);
    }

    #[test]
    fn output_becomes_lines_and_its_last_line_needs_no_end() {
        let buffer = LogBuffer::new(1_000);
        buffer.output(Stream::Stderr, b"one\ntw");
        buffer.output(Stream::Stdout, b"out\n");
        buffer.output(Stream::Stderr, b"o");
        let logs = buffer.take("p", 0);
        let texts: Vec<_> = logs.lines.iter().map(|l| (l.message.as_str(), l.fields[0].1.as_str())).collect();
        assert_eq!(texts, [("one", "stderr"), ("out", "stdout"), ("two", "stderr")]);
    }

    #[test]
    fn a_line_without_end_does_not_outgrow_the_cap() {
        let buffer = LogBuffer::new(1_000);
        for _ in 0..1_000 {
            buffer.output(Stream::Stderr, &[b'x'; 1_000]);
        }
        let logs = buffer.take("p", 0);
        let kept: usize = logs.lines.iter().map(|l| l.message.len()).sum();
        assert!(kept <= 1_000 && kept > 500, "{kept}");
        assert_eq!(kept as u64 + logs.dropped_bytes, 1_000_000);
    }
}
