//! As much of HTTP/1.1 as clients of a model API use: bodies with a length or in chunks, connections that are kept.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// Bytes of a request's head.
const HEAD_BYTES: u64 = 64 * 1024;
/// Bytes of a request's body: more than the longest context of a model.
const BODY_BYTES: u64 = 64 * 1024 * 1024;

/// A request's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Method, as sent.
    pub method: String,
    /// Path without the query.
    pub path: String,
    /// What follows the path behind a question mark.
    pub query: String,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| decode_percent(value))
    }
}

/// Decodes `%2F` and the like; what is no code stays as it is.
pub fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A response with its whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Headers, without those of the framing.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Response {
    /// A JSON document.
    pub fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: value.to_string().into_bytes() }
    }
}

/// Reads a head; none at the end of the connection.
///
/// # Errors
/// Those of the connection, and `InvalidData` for what is no head or too long a one.
pub fn read_head(input: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut input = input.take(HEAD_BYTES);
    let Some(first) = read_line(&mut input)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(invalid("no request line")) };
    let target = target.split('#').next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head =
        Head { method: method.to_owned(), path: path.to_owned(), query: query.to_owned(), headers: Vec::new() };
    loop {
        match read_line(&mut input)?.as_deref() {
            None => return Err(invalid("the head does not end, or not within its limit")),
            Some("") => return Ok(Some(head)),
            Some(line) => {
                let (name, value) = line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
                head.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }
}

/// Reads the body that a head announces.
///
/// # Errors
/// Those of the connection, and `InvalidData` for a body that is cut, framed wrongly or too long.
pub fn read_body(input: &mut impl BufRead, head: &Head) -> io::Result<Vec<u8>> {
    if head.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return read_chunks(input);
    }
    let length = head.header("content-length").unwrap_or("0");
    let length = length.parse::<u64>().map_err(|_| invalid("the length is no number"))?;
    let mut body = Vec::new();
    read_exactly(input, length, &mut body)?;
    Ok(body)
}

fn read_chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(&mut input.take(HEAD_BYTES))?.ok_or_else(|| invalid("a chunk is missing"))?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| invalid("the size of a chunk is no number"))?;
        if size == 0 {
            // Trailers, up to an empty line.
            while read_line(&mut input.take(HEAD_BYTES))?.is_some_and(|line| !line.is_empty()) {}
            return Ok(body);
        }
        read_exactly(input, size, &mut body)?;
        read_line(&mut input.take(HEAD_BYTES))?;
    }
}

fn read_exactly(input: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if length > BODY_BYTES || body.len() as u64 + length > BODY_BYTES {
        return Err(invalid("the body is too long"));
    }
    // Memory grows with what arrives, not with what is announced.
    let got = input.take(length).read_to_end(body)?;
    if got as u64 == length { Ok(()) } else { Err(invalid("the body is cut")) }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if input.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(invalid("a line of the head is cut or too long"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Writes status and headers. With `length` the body has that many bytes, without it comes in chunks.
pub fn write_head(output: &mut impl Write, response: &Response, length: Option<usize>) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
    for (name, value) in &response.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    match length {
        Some(length) => text.push_str(&format!("content-length: {length}\r\n\r\n")),
        None => text.push_str("transfer-encoding: chunked\r\n\r\n"),
    }
    output.write_all(text.as_bytes())
}

/// Writes one chunk and sends it off.
pub fn write_chunk(output: &mut impl Write, data: &[u8]) -> io::Result<()> {
    output.write_all(format!("{:x}\r\n", data.len()).as_bytes())?;
    output.write_all(data)?;
    output.write_all(b"\r\n")?;
    output.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        307 => "Temporary Redirect",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<(Head, Vec<u8>)>> {
        let mut input = io::BufReader::new(text.as_bytes());
        let Some(head) = read_head(&mut input)? else { return Ok(None) };
        let body = read_body(&mut input, &head)?;
        Ok(Some((head, body)))
    }

    #[test]
    fn bodies_come_with_a_length_or_in_chunks() {
        let (head, body) =
            read("POST /a?b=c HTTP/1.1\r\nX-Api-Key:  k \r\nContent-Length: 3\r\n\r\nabcd").unwrap().unwrap();
        assert_eq!((head.path.as_str(), head.header("x-api-key"), body.as_slice()), ("/a", Some("k"), &b"abc"[..]));
        let chunked =
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nab\r\nA\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(read(chunked).unwrap().unwrap().1, b"ab0123456789");
        assert!(read("").unwrap().is_none());
    }

    #[test]
    fn parameters_of_the_query_are_decoded() {
        let (head, _) = read("GET /a%2Fb?x=1&key=k%3D%zz HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.path.as_str(), head.parameter("key").as_deref()), ("/a%2Fb", Some("k=%zz")));
        assert_eq!((head.parameter("y"), decode_percent(&head.path)), (None, "/a/b".to_owned()));
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(HEAD_BYTES as usize));
        for text in [
            "GET",
            "GET / HTTP/1.1\r\nx: y\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nabc",
            "POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            &long,
        ] {
            assert_eq!(read(text).unwrap_err().kind(), io::ErrorKind::InvalidData, "{}", &text[..20.min(text.len())]);
        }
    }
}
