//! One connection: its requests in turn, each routed, noted and replied to.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

use jiff::Timestamp;
use serde_json::json;

use crate::http::{Head, Response, read_body, read_head, write_chunk, write_head};
use crate::journal::Entry;
use crate::message::{Asked, read_request, render_error, tokens};
use crate::reply::{AfterCut, Moment, Reply, plan_reply};
use crate::scenario::{Scenario, split_path};
use crate::server::Shared;

/// Serves a connection until one side ends it.
///
/// # Errors
/// Those of the connection, and what is no HTTP.
pub fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input)? {
        if head.header("expect").is_some_and(|what| what.eq_ignore_ascii_case("100-continue")) {
            output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = read_body(&mut input, &head)?;
        let reply = route(&head, &body, shared);
        let go_on = send(&mut output, &mut input, &reply, head.method == "HEAD")?;
        if !go_on || head.header("connection").is_some_and(|word| word.eq_ignore_ascii_case("close")) {
            break;
        }
    }
    Ok(())
}

fn route(head: &Head, body: &[u8], shared: &Shared) -> Reply {
    if head.path == "/__requests" {
        return Reply::Whole(Response::json(200, &shared.journal()));
    }
    let (named, path) = split_path(&head.path);
    let number = shared.next_number();
    let asked = read_request(body);
    let reply = match scenario_of(named) {
        Some(scenario) => endpoint(head, path, named.unwrap_or_default(), scenario, &asked, (number, shared)),
        None => refuse(404, "no scenario has this name", number),
    };
    shared.note(Entry {
        number,
        at_ms: shared.elapsed_ms(),
        method: head.method.clone(),
        path: path.to_owned(),
        scenario: named.unwrap_or_default().to_owned(),
        status: reply.status(),
        stream: asked.stream,
        model: asked.model.clone(),
        bytes: body.len(),
        tasks: asked.prompt.as_ref().map_or(0, |prompt| prompt.tasks.len()),
        credential: !credential(head).is_empty(),
    });
    reply
}

/// The scenario of a name with its tag; the default one where none is named.
fn scenario_of(named: Option<&str>) -> Option<Scenario> {
    match named {
        None => Some(Scenario::DEFAULT),
        Some(name) => Scenario::parse(name.split('~').next().unwrap_or_default()),
    }
}

fn endpoint(
    head: &Head,
    path: &str,
    name: &str,
    scenario: Scenario,
    asked: &Asked,
    (number, shared): (u64, &Shared),
) -> Reply {
    let path = path.trim_end_matches('/');
    match (head.method.as_str(), path) {
        ("POST", path) if path.ends_with("/v1/messages") => {
            let (earlier, window) = shared.meet(scenario, name, credential(head));
            plan_reply(scenario, asked, Moment { number, earlier, now: Timestamp::now(), window })
        }
        ("POST", path) if path.ends_with("/v1/messages/count_tokens") => {
            Reply::Whole(Response::json(200, &json!({"input_tokens": tokens(asked.bytes)})))
        }
        // Clients look whether somebody is there before they ask for anything.
        ("HEAD" | "GET", "") => Reply::Whole(Response::json(200, &json!({"loopback": true}))),
        ("HEAD" | "GET", path) if path.ends_with("/v1/models") => {
            let model = json!({"id": "loopback", "type": "model", "display_name": "loopback", "created_at": "1970-01-01T00:00:00Z"});
            Reply::Whole(Response::json(200, &json!({"data": [model], "has_more": false})))
        }
        _ => refuse(404, "the loopback service has no such endpoint", number),
    }
}

fn refuse(status: u16, message: &str, number: u64) -> Reply {
    Reply::Whole(Response::json(status, &render_error("not_found_error", message, &format!("req_loopback{number:08}"))))
}

/// The credential of a request; empty where there is none. It tells clients apart and goes nowhere.
fn credential(head: &Head) -> &str {
    head.header("x-api-key").or_else(|| head.header("authorization")).unwrap_or_default()
}

/// Puts a reply on the wire, and says whether the connection goes on.
fn send(output: &mut impl Write, input: &mut impl Read, reply: &Reply, head_only: bool) -> io::Result<bool> {
    match reply {
        Reply::Whole(response) => {
            write_head(output, response, Some(response.body.len()))?;
            if !head_only {
                output.write_all(&response.body)?;
            }
            output.flush()?;
            Ok(true)
        }
        Reply::Stream(response, events) => {
            write_head(output, response, None)?;
            send_events(output, events)?;
            output.write_all(b"0\r\n\r\n")?;
            output.flush()?;
            Ok(true)
        }
        Reply::CutStream(response, events, after) => {
            write_head(output, response, None)?;
            send_events(output, events)?;
            stop(input, *after)
        }
        Reply::CutWhole(response, kept, after) => {
            write_head(output, response, Some(response.body.len()))?;
            output.write_all(&response.body[..*kept])?;
            output.flush()?;
            stop(input, *after)
        }
        Reply::Silence => stop(input, AfterCut::Silence),
    }
}

fn send_events(output: &mut impl Write, events: &[String]) -> io::Result<()> {
    events.iter().try_for_each(|event| write_chunk(output, event.as_bytes()))
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
