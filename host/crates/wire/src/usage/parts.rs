//! Takes a body apart into the JSON texts that it carries, however it is cut.

/// Bytes of one JSON text. The largest that carry usage hold a whole answer.
pub(super) const EVENT_CAP: usize = 8 << 20;

/// Finds JSON texts: whole bodies, elements of a streamed array, lines, and data of server-sent events. The first
/// byte that is not blank tells which, since servers name content types that are not theirs.
#[derive(Default)]
pub(super) enum Parts {
    /// Nothing but blanks has come.
    #[default]
    Unknown,
    /// Objects, one after another or in one array.
    Objects(Objects),
    /// Server-sent events.
    Events(Events),
}

impl Parts {
    pub fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        let mut rest = bytes;
        if matches!(self, Self::Unknown) {
            let Some(first) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else { return };
            rest = &bytes[first..];
            let json = matches!(rest.first(), Some(b'{' | b'['));
            *self = if json { Self::Objects(Objects::default()) } else { Self::Events(Events::default()) };
        }
        match self {
            Self::Unknown => {}
            Self::Objects(objects) => objects.push(rest, take),
            Self::Events(events) => events.push(rest, take),
        }
    }

    /// Events whose last blank line is missing count all the same.
    pub fn finish(&mut self, take: &mut dyn FnMut(&[u8])) {
        if let Self::Events(events) = self {
            events.push(b"\n\n", take);
        }
    }
}

/// Bytes up to the cap; one that runs over is forgotten.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    overrun: bool,
}

impl Held {
    fn push(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > EVENT_CAP {
            self.overrun = true;
            self.bytes = Vec::new();
        }
        if !self.overrun {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Hands the bytes on, unless some are missing, and starts again.
    fn take(&mut self, take: &mut dyn FnMut(&[u8])) {
        if !self.overrun && !self.bytes.is_empty() {
            take(&self.bytes);
        }
        self.bytes.clear();
        self.overrun = false;
    }
}

/// Objects at the top, or in an array at the top.
#[derive(Default)]
pub(super) struct Objects {
    held: Held,
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Objects {
    fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if self.depth == 0 {
                // Brackets and commas around objects, or bytes that are no JSON.
                if *byte == b'{' {
                    (self.depth, from) = (1, at);
                }
                continue;
            }
            self.step(*byte);
            if self.depth == 0 {
                self.held.push(&bytes[from..=at]);
                self.held.take(take);
            }
        }
        if self.depth > 0 {
            self.held.push(&bytes[from..]);
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }
}

/// Server-sent events; only their data is of interest, since it names its own type.
#[derive(Default)]
pub(super) struct Events {
    line: Held,
    data: Held,
    after_return: bool,
}

impl Events {
    fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let skipped = std::mem::take(&mut self.after_return) && *byte == b'\n';
            if skipped {
                from = at + 1;
            } else if matches!(byte, b'\n' | b'\r') {
                self.line.push(&bytes[from..at]);
                self.end_line(take);
                self.after_return = *byte == b'\r';
                from = at + 1;
            }
        }
        self.line.push(&bytes[from..]);
    }

    fn end_line(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.line.overrun {
            self.line.take(take);
            self.data.overrun = true;
            return;
        }
        let line = std::mem::take(&mut self.line.bytes);
        if line.is_empty() {
            self.data.take(take);
        } else if let Some(data) = line.strip_prefix(b"data:") {
            let data = data.strip_prefix(b" ").unwrap_or(data);
            if !self.data.bytes.is_empty() {
                self.data.push(b"\n");
            }
            self.data.push(data);
        }
    }
}
