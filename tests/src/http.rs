//! HTTP on the loopback interface, as small as tests need it: a request that a scripted reviewer makes, and a service that
//! writes down what it was asked and gives prepared answers.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest wait for the other side.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of one line, and lines of one head.
const LINE: u64 = 64 * 1024;
const LINES: usize = 200;
/// Bytes of one body.
const BODY: u64 = 64 * 1024 * 1024;

/// One message: its first line, its headers with lower-case names, and its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Request line or status line.
    pub first: String,
    /// Names in lower case, in the order received.
    pub headers: Vec<(String, String)>,
    /// Body, without its chunks.
    pub body: Vec<u8>,
}

impl Message {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// Status of a response; 0 when the line has none.
    pub fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// Path of a request.
    pub fn path(&self) -> &str {
        self.first.split(' ').nth(1).unwrap_or_default()
    }
}

/// Posts JSON to `http://HOST:PORT/PATH` and reads the whole answer.
///
/// # Errors
/// When the address is none of that form, or the connection fails.
pub fn post(url: &str, headers: &[(&str, &str)], body: &str) -> io::Result<Message> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("{url} is no http address"));
    let rest = url.strip_prefix("http://").ok_or_else(invalid)?;
    let (host, path) = rest.split_once('/').ok_or_else(invalid)?;
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    head.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    read_message(&mut BufReader::new(stream), true)
}

/// A service that answers with what it was given, the last answer again and again, and remembers what it was asked.
pub struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    is_over: AtomicBool,
    asked: Mutex<Vec<Message>>,
    answers: Vec<String>,
}

impl Service {
    /// Starts it. An answer is a status line's rest, headers and body, such as `429 Too Many\r\nretry-after: 1\r\n\r\n{}`.
    pub fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let shared = Arc::new(Shared { is_over: AtomicBool::new(false), asked: Mutex::default(), answers });
        let accepting = shared.clone();
        let acceptor = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // Whoever hangs up early is no concern of the others.
                let _ = accepting.serve(stream);
            }
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked, oldest first.
    pub fn asked(&self) -> Vec<Message> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The acceptor looks at the flag when somebody comes.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = read_message(&mut BufReader::new(stream.try_clone()?), false)?;
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(request);
            asked.len() - 1
        };
        let answer = self.answers.get(number).or(self.answers.last()).map_or("200 OK\r\n\r\n{}", String::as_str);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
        let length = body.len();
        let mut stream = stream;
        write!(stream, "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
    }
}

/// A body without a length or chunks ends with the connection in a response, and is none in a request.
fn read_message(reader: &mut impl BufRead, is_response: bool) -> io::Result<Message> {
    let mut message = Message { first: read_line(reader)?, ..Message::default() };
    for _ in 0..LINES {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            message.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let length = message.header("content-length").and_then(|length| length.parse::<u64>().ok());
    if message.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        message.body = read_chunks(reader)?;
    } else if length.is_some() || is_response {
        reader.take(length.unwrap_or(BODY).min(BODY)).read_to_end(&mut message.body)?;
    }
    Ok(message)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{size:?} is no size of a chunk"));
        let size = u64::from_str_radix(size, 16).map_err(|_| damaged())?;
        if size == 0 || (body.len() as u64).saturating_add(size) > BODY {
            return Ok(body);
        }
        reader.take(size).read_to_end(&mut body)?;
        read_line(reader)?;
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(LINE).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_remembers_what_it_was_asked_and_gives_its_answers_in_order() {
        let service = Service::start(&["429 Too Many Requests\r\nretry-after: 1\r\n\r\n{}", "200 OK\r\n\r\n[]"]);
        let url = format!("{}/v1/x", service.url());
        let statuses = [1, 2, 3].map(|n| post(&url, &[("x-n", &n.to_string())], "{\"a\":1}").unwrap().status());
        assert_eq!(statuses, [429, 200, 200]);
        let asked = service.asked();
        assert_eq!((asked[2].path(), asked[2].header("x-n")), ("/v1/x", Some("3")));
        assert_eq!(asked[0].body, b"{\"a\":1}");
    }

    #[test]
    fn chunks_are_joined_and_damaged_ones_refused() {
        let read = |body: &str| {
            let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
            read_message(&mut text.as_bytes(), true).map(|message| message.body)
        };
        assert_eq!(read("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        assert!(read("zz\r\n").is_err());
    }
}
