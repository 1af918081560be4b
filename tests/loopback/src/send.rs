//! Puts replies on the wire.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::gzip::Gzip;
use crate::http::{Response, write_chunk, write_head};
use crate::reply::{AfterCut, Flood, Reply};

/// How a reply is sent.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes at once, and the time between them; all at once where it is none.
    pub pace: Option<(usize, Duration)>,
    /// Whether the body is packed.
    pub packed: bool,
    /// Whether only the head is asked for.
    pub head_only: bool,
}

/// Waits for a time, and says whether the server still runs then.
pub trait Pause {
    /// Waits.
    fn pause(&self, time: Duration) -> bool;
}

/// Sends a reply, and says whether the connection goes on. `finish` is called before the last piece of a whole answer is sent: who has
/// read that may come back at once, and must find the place of the request free.
///
/// # Errors
/// Those of the connection.
pub fn send(
    output: &mut impl Write,
    input: &mut impl Read,
    reply: Reply,
    how: (Delivery, &impl Pause),
    finish: impl FnOnce(),
) -> io::Result<bool> {
    let (delivery, _) = how;
    match reply {
        Reply::Whole(response) => {
            send_whole(output, response, how, finish)?;
            Ok(true)
        }
        Reply::Stream(response, events) => {
            let mut gzip = send_head(output, response, delivery)?;
            send_events(output, &events, how, &mut gzip, finish)?;
            if let Some(gzip) = gzip {
                write_chunk(output, &gzip.finish())?;
            }
            end_chunks(output)
        }
        Reply::CutStream(response, events, after) => {
            let mut gzip = send_head(output, response, delivery)?;
            send_events(output, &events, how, &mut gzip, || {})?;
            stop(input, after)
        }
        Reply::CutWhole(response, kept, after) => {
            write_head(output, &response, Some(response.body.len()))?;
            output.write_all(&response.body[..kept])?;
            output.flush()?;
            stop(input, after)
        }
        Reply::Flood(response, flood) => {
            write_head(output, &response, None)?;
            send_flood(output, &flood)
        }
        Reply::Silence => stop(input, AfterCut::Silence),
    }
}

fn send_whole(
    output: &mut impl Write,
    mut response: Response,
    how: (Delivery, &impl Pause),
    finish: impl FnOnce(),
) -> io::Result<()> {
    let delivery = how.0;
    if delivery.packed {
        response.body = Gzip::pack_whole(&response.body);
        response.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    let length = Some(response.body.len());
    let body = if delivery.head_only { Vec::new() } else { std::mem::take(&mut response.body) };
    match delivery.pace {
        None => {
            finish();
            write_head(output, &response, length)?;
            output.write_all(&body)?;
            output.flush()
        }
        Some((bytes, time)) => {
            write_head(output, &response, length)?;
            let write = |piece: &[u8]| output.write_all(piece).and_then(|()| output.flush());
            send_slowly(body.chunks(bytes), write, (how.1, time), finish)
        }
    }
}

/// Sends the head of a stream, and gives what packs its pieces.
fn send_head(output: &mut impl Write, mut response: Response, delivery: Delivery) -> io::Result<Option<Gzip>> {
    if delivery.packed {
        response.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
    }
    write_head(output, &response, None)?;
    Ok(delivery.packed.then(Gzip::new))
}

fn send_events(
    output: &mut impl Write,
    events: &[String],
    (delivery, pause): (Delivery, &impl Pause),
    gzip: &mut Option<Gzip>,
    finish: impl FnOnce(),
) -> io::Result<()> {
    let write = |piece: &[u8]| match gzip {
        Some(gzip) => write_chunk(output, &gzip.pack(piece)),
        None => write_chunk(output, piece),
    };
    match delivery.pace {
        None => send_slowly(events.iter().map(String::as_bytes), write, (pause, Duration::ZERO), finish),
        // Pieces end anywhere, in the midst of an event or of a character.
        Some((bytes, time)) => send_slowly(events.concat().as_bytes().chunks(bytes), write, (pause, time), finish),
    }
}

/// Sends pieces with a pause between them.
fn send_slowly<'a>(
    pieces: impl ExactSizeIterator<Item = &'a [u8]>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
    (pause, time): (&impl Pause, Duration),
    finish: impl FnOnce(),
) -> io::Result<()> {
    let (mut left, mut finish) = (pieces.len(), Some(finish));
    for piece in pieces {
        left -= 1;
        if left == 0
            && let Some(finish) = finish.take()
        {
            finish();
        }
        write(piece)?;
        if left > 0 && !time.is_zero() && !pause.pause(time) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    Ok(())
}

fn send_flood(output: &mut impl Write, flood: &Flood) -> io::Result<bool> {
    if !flood.opening.is_empty() {
        write_chunk(output, flood.opening.as_bytes())?;
    }
    let mut sent = 0;
    while sent < flood.bytes {
        write_chunk(output, flood.piece.as_bytes())?;
        sent += flood.piece.len() as u64;
    }
    if !flood.closing.is_empty() {
        write_chunk(output, flood.closing.as_bytes())?;
    }
    end_chunks(output)
}

fn end_chunks(output: &mut impl Write) -> io::Result<bool> {
    output.write_all(b"0\r\n\r\n")?;
    output.flush()?;
    Ok(true)
}

/// Silence lasts until the client leaves: nothing has to be waited for that does not come by itself.
fn stop(input: &mut impl Read, after: AfterCut) -> io::Result<bool> {
    if after == AfterCut::Silence {
        let mut ignored = [0; 1024];
        loop {
            match input.read(&mut ignored) {
                Ok(0) => break,
                Ok(_) => {}
                // A client may be silent for as long as it wants too.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(false)
}
