//! Server-sent events, as streaming model services send them.

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// What the stream calls it; empty when it does not say.
    pub name: String,
    /// The data lines, joined by line feeds.
    pub data: String,
}

/// The events of a whole body, in order.
///
/// Lines end in CR LF, LF or CR; comments and fields of other kinds are passed over; bytes that are no UTF-8 are replaced.
/// The last event is given even when the blank line behind it is missing, because many services leave it out; whether
/// its data is whole is for the reader of the data to find out. An event without data is left out.
pub fn read_events(body: &[u8]) -> impl Iterator<Item = ServerEvent> + '_ {
    let mut lines = Lines { rest: body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body) };
    std::iter::from_fn(move || {
        let mut event = Partial::default();
        for line in lines.by_ref() {
            if !line.is_empty() {
                event.take(line);
            } else if event.has_data {
                return Some(event.event);
            } else {
                event = Partial::default();
            }
        }
        event.has_data.then_some(event.event)
    })
}

/// An event whose end has not been seen.
#[derive(Default)]
struct Partial {
    event: ServerEvent,
    has_data: bool,
}

impl Partial {
    fn take(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"event" => self.event.name = value.into_owned(),
            b"data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(&value);
            }
            _ => {}
        }
    }
}

/// The lines of a body, without what ends them.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(end) = self.rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            return Some(std::mem::take(&mut self.rest));
        };
        let (line, after) = self.rest.split_at(end);
        self.rest = after.strip_prefix(b"\r\n").unwrap_or(&after[1..]);
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(body: &[u8]) -> Vec<(String, String)> {
        read_events(body).map(|event| (event.name, event.data)).collect()
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn every_line_ending_is_read_alike() {
        for end in ["\n", "\r\n", "\r"] {
            let body = ["event: a", "data: 1", "", ": ping", "data:2", "data: 3", "id: 9", "", ""].join(end);
            assert_eq!(events(body.as_bytes()), [pair("a", "1"), pair("", "2\n3")], "{end:?}");
        }
    }

    #[test]
    fn the_last_event_counts_without_its_blank_line() {
        assert_eq!(events(b"data: {\"a\":1}"), [pair("", "{\"a\":1}")]);
        assert_eq!(events(b"data: 1\n\ndata: {\"cu"), [pair("", "1"), pair("", "{\"cu")]);
    }

    #[test]
    fn a_name_without_data_and_a_comment_are_no_events() {
        assert_eq!(events(b"event: a\n\n: hello\n\nevent: b\ndata: x\n\n"), [pair("b", "x")]);
        assert_eq!(events(b""), []);
        assert_eq!(events(b"\n\n\n"), []);
    }

    #[test]
    fn only_one_space_is_taken_off_and_empty_data_is_data() {
        assert_eq!(events(b"data:  two\n\ndata\n\ndata:\n\n"), [pair("", " two"), pair("", ""), pair("", "")]);
    }

    #[test]
    fn a_byte_order_mark_and_broken_utf_8_hurt_nothing() {
        assert_eq!(events(b"\xef\xbb\xbfdata: \xff\xc3\xa4\n\n"), [pair("", "\u{fffd}ä")]);
    }
}
