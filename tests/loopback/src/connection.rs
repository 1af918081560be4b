//! One connection: its requests in turn, each routed, noted and replied to.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::asked::{Asked, read_request, tokens};
use crate::credential::{credential, is_signed};
use crate::http::{Head, Response, decode_percent, read_body, read_head};
use crate::journal::Entry;
use crate::protocol::{Endpoint, Protocol, Target, route};
use crate::refusal::render_missing;
use crate::reply::{Moment, Planned, Reply, plan_reply};
use crate::scenario::{Act, Packing, Scenario, split_path};
use crate::send::{Delivery, Pause as _, send};
use crate::shared::{Admission, Shared};

/// Serves a connection until one side ends it.
///
/// # Errors
/// Those of the connection, and what is no HTTP.
pub fn serve(stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(head) = read_head(&mut input)? {
        if head.header("expect").is_some_and(|what| what.eq_ignore_ascii_case("100-continue")) {
            output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = read_body(&mut input, &head)?;
        let played = if head.path == "/__requests" {
            Played::at_once(&head, Reply::Whole(Response::json(200, &shared.journal())))
        } else {
            play(&head, &body, shared)
        };
        if !shared.pause(played.latency) {
            break;
        }
        let Played { reply, delivery, running, .. } = played;
        let go_on = send(&mut output, &mut input, reply, (delivery, &**shared), || drop(running))?;
        if !go_on || head.header("connection").is_some_and(|word| word.eq_ignore_ascii_case("close")) {
            break;
        }
    }
    Ok(())
}

/// A reply, how it is sent, and what runs until that is done.
struct Played {
    reply: Reply,
    latency: Duration,
    delivery: Delivery,
    running: Option<Running>,
}

impl Played {
    fn at_once(head: &Head, reply: Reply) -> Self {
        let delivery = Delivery { pace: None, packed: false, head_only: head.method == "HEAD" };
        Self { reply, latency: Duration::ZERO, delivery, running: None }
    }
}

/// A request that is being replied to; its end is noted when this is dropped.
struct Running {
    number: u64,
    admission: Option<Admission>,
    output_tokens: u64,
    shared: Arc<Shared>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.end(self.number, self.admission.take(), self.output_tokens);
    }
}

fn play(head: &Head, body: &[u8], shared: &Arc<Shared>) -> Played {
    let (named, path) = split_path(&head.path);
    // Clients may encode the plus signs and tildes of a name.
    let name = named.map(decode_percent).unwrap_or_default();
    let mut entry = Entry {
        number: shared.next_number(),
        at_ms: shared.elapsed_ms(),
        method: head.method.clone(),
        path: path.to_owned(),
        scenario: name.clone(),
        bytes: body.len(),
        ..Entry::default()
    };
    let key = credential(head);
    entry.credential = !key.is_empty();
    entry.credential_digest = shared.digest(&key);
    let endpoint = route(head, path);
    entry.protocol = endpoint.protocol().map(Protocol::name).unwrap_or_default().to_owned();
    let scenario = match named {
        None => Some(shared.default_scenario().clone()),
        Some(_) => Scenario::parse(name.split('~').next().unwrap_or_default()),
    };
    let mut played = match (scenario, &endpoint) {
        (None, _) => missing(head, "no scenario has this name", entry.number),
        (Some(scenario), Endpoint::Generate(target)) => {
            let request = Generation { head, body, key: &key, name: &name, path };
            generate(&scenario, target, &request, &mut entry, shared)
        }
        (Some(_), other) => aside(head, other, body, entry.number),
    };
    entry.status = played.reply.status();
    let number = entry.number;
    shared.note(entry);
    // Made only where it is missing: what is dropped is noted as ended.
    played.running.get_or_insert_with(|| Running { number, admission: None, output_tokens: 0, shared: shared.clone() });
    played
}

/// A generation request as it came.
struct Generation<'a> {
    head: &'a Head,
    body: &'a [u8],
    key: &'a str,
    name: &'a str,
    path: &'a str,
}

fn generate(
    scenario: &Scenario,
    target: &Target,
    request: &Generation,
    entry: &mut Entry,
    shared: &Arc<Shared>,
) -> Played {
    let asked = read_request(target, request.body);
    note_asked(entry, &asked);
    let met = shared.meet(scenario, &asked, request.name, request.key);
    let query = if request.head.query.is_empty() { String::new() } else { format!("?{}", request.head.query) };
    let moment = Moment {
        number: entry.number,
        earlier: met.earlier,
        now: Timestamp::now(),
        admission: met.told,
        storm_ms: met.storm_ms,
        credential: request.key,
        signed: is_signed(request.head),
        elsewhere: &format!("{}/-/ok~redirected{}{query}", shared.elsewhere(), request.path),
    };
    let Planned { reply, output_tokens } = plan_reply(scenario, &asked, &moment);
    entry.output_tokens = output_tokens;
    let acts = met.earlier < scenario.times;
    let pace = match scenario.act {
        Act::Drip { bytes, ms } if acts => Some((bytes, Duration::from_millis(ms))),
        _ => None,
    };
    let takes = || request.head.header("accept-encoding").is_some_and(|codings| codings.contains("gzip"));
    let packed = scenario.packing == Packing::Always || (scenario.packing == Packing::Accepted && takes());
    let latency = scenario.latency.filter(|_| met.is_let_in()).map_or(0, |latency| latency.ms(met.let_in));
    let running = Running { number: entry.number, admission: met.admission, output_tokens, shared: shared.clone() };
    let latency = Duration::from_millis(latency);
    Played { reply, latency, delivery: Delivery { pace, packed, head_only: false }, running: Some(running) }
}

fn note_asked(entry: &mut Entry, asked: &Asked) {
    entry.stream = asked.stream;
    entry.model = asked.model.clone();
    entry.tasks = asked.tasks();
    entry.tools = asked.tools.len();
    entry.input_tokens = asked.input_tokens();
}

/// What is asked beside answers.
fn aside(head: &Head, endpoint: &Endpoint, body: &[u8], number: u64) -> Played {
    let document = match endpoint {
        Endpoint::Count(Protocol::Gemini) => json!({"totalTokens": tokens(body.len())}),
        Endpoint::Count(_) => json!({"input_tokens": tokens(body.len())}),
        Endpoint::Models(protocol) => render_models(*protocol),
        // Clients look whether somebody is there before they ask for anything.
        Endpoint::Greeting => json!({"loopback": true}),
        Endpoint::Generate(_) | Endpoint::Unknown => {
            return missing(head, "the loopback service has no such endpoint", number);
        }
    };
    Played::at_once(head, Reply::Whole(Response::json(200, &document)))
}

fn render_models(protocol: Protocol) -> Value {
    if protocol == Protocol::Gemini {
        let methods = ["generateContent", "streamGenerateContent", "countTokens"];
        return json!({"models": [{
            "name": "models/loopback", "displayName": "loopback", "supportedGenerationMethods": methods,
            "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
        }]});
    }
    json!({"object": "list", "has_more": false, "data": [{
        "id": "loopback", "type": "model", "object": "model", "display_name": "loopback", "owned_by": "loopback",
        "created": 0, "created_at": "1970-01-01T00:00:00Z",
    }]})
}

fn missing(head: &Head, message: &str, number: u64) -> Played {
    Played::at_once(head, Reply::Whole(Response::json(404, &render_missing(message, number))))
}
