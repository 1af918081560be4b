//! The client library's log of responses, which Claude Code prints among its lines when `ANTHROPIC_LOG` asks for it.

use assize_reading::{Reading, read_status};

use crate::header::read_headers;

/// Headers of one response that are looked at.
const HEADERS: usize = 128;

/// What every logged response says. A block begins with the log's mark at the start of a line and ends with a brace
/// there; of its members only `status` and `headers` count, because the others are bodies.
pub fn read_log(text: &str, received_at_ms: u64) -> Reading {
    let mut reading = Reading::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("[log_") && line.contains("] response ") && line.ends_with('{') {
            let block = read_block(&mut lines);
            let mut told = read_headers(&block.headers, received_at_ms);
            told.absorb(read_status(block.status));
            if !told.throttled {
                told.retry_after_ms = None;
            }
            reading.absorb(told);
        }
    }
    reading
}

#[derive(Default)]
struct Block {
    status: u16,
    headers: Vec<(String, String)>,
}

fn read_block<'t>(lines: &mut impl Iterator<Item = &'t str>) -> Block {
    let mut block = Block::default();
    let mut in_headers = false;
    for line in lines.take_while(|line| *line != "}") {
        // Members of the block are indented by two, headers by four.
        if let Some(status) = line.strip_prefix("  status: ") {
            block.status = status.trim_end_matches(',').parse().unwrap_or_default();
        } else if line == "  headers: {" {
            in_headers = true;
        } else if line.starts_with("  }") {
            in_headers = false;
        } else if in_headers && block.headers.len() < HEADERS {
            block.headers.extend(header_of(line));
        }
    }
    block
}

/// `    "retry-after": "30",`
fn header_of(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix("    ")?.trim_end_matches(',').split_once(": ")?;
    let bare = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    Some((bare(name), bare(value)))
}
