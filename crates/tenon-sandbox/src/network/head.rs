//! Heads of HTTP messages: read up to their end, taken apart by httparse, and written anew.
//!
//! What goes on is never the client's own bytes but a head written from what was understood, with
//! one target, one length and `Connection: close`. So nothing can be read in two ways by us and by
//! the server behind us, and no second request can hide behind the first one.

use httparse::{EMPTY_HEADER, Header, Status};
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::host::Target;

/// Longest head of a request or response. Servers take 8 to 16 KiB; cookies and tokens fit well.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Most header fields of a head, as httpd and nginx have it.
const HEADERS_MAX: usize = 100;
/// The port of `http://` without a port.
pub(super) const HTTP_PORT: u16 = 80;

/// Fields that are between two neighbours, or that we write ourselves.
const FIELDS_NOT_FORWARDED: [&str; 9] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];
const PROXY_FIELDS_START: &str = "proxy-";

/// Fields of a response that are between two neighbours. How its body ends stays as it is.
const RESPONSE_FIELDS_NOT_FORWARDED: [&str; 4] =
    ["connection", "keep-alive", "proxy-connection", "upgrade"];

/// What a client asks a proxy for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `CONNECT host:port`: bytes in both directions.
    Tunnel(Target),
    /// `GET http://host/path`: one request and its response.
    Forward(Forward),
}

/// A plain request, ready to be sent on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Forward {
    pub(super) target: Target,
    /// The head as the server gets it.
    pub(super) head: Vec<u8>,
    /// How many bytes of body follow the head.
    pub(super) body_bytes: u64,
}

/// A request that is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadRequest {
    /// What stood where the target should be, as the client sent it.
    pub(super) asked: Vec<u8>,
    pub(super) status: &'static str,
    pub(super) what: &'static str,
}

/// Why there is no head.
#[derive(Debug)]
pub(super) enum HeadError {
    /// The other side is gone or was never heard.
    Gone,
    /// It went on for too long.
    TooLong,
}

/// Reads a head with the empty line at its end, and not a byte more.
pub(super) async fn read_head(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> Result<Vec<u8>, HeadError> {
    let mut head = Vec::new();
    loop {
        let Ok(chunk) = reader.fill_buf().await else { return Err(HeadError::Gone) };
        if chunk.is_empty() {
            return Err(HeadError::Gone);
        }
        let mut taken = 0;
        for byte in chunk {
            head.push(*byte);
            taken += 1;
            if head.ends_with(b"\r\n\r\n") || head.len() > HEAD_BYTES_MAX {
                break;
            }
        }
        reader.consume(taken);
        if head.len() > HEAD_BYTES_MAX {
            return Err(HeadError::TooLong);
        }
        if head.ends_with(b"\r\n\r\n") {
            return Ok(head);
        }
    }
}

/// Understands the head of a request, or says what is wrong with it. Pure.
pub(super) fn parse_request(head: &[u8]) -> Result<Request, BadRequest> {
    let asked = head.split(|byte| byte.is_ascii_whitespace()).nth(1).unwrap_or_default();
    let bad = |what| BadRequest { asked: asked.to_vec(), status: "400 Bad Request", what };
    if !has_strict_lines(head) {
        return Err(bad("its head has a bare carriage return, line feed or NUL"));
    }
    let mut fields = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Ok(_) => return Err(bad("its head is not one of HTTP/1.1")),
        Err(httparse::Error::TooManyHeaders) => return Err(bad("its head has too many fields")),
        Err(_) => return Err(bad("its head is not one of HTTP/1.1")),
    }
    let (Some(method), Some(asked), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(bad("its head is not one of HTTP/1.1"));
    };
    let body_bytes = body_bytes(request.headers).map_err(|mut problem| {
        problem.asked = asked.as_bytes().to_vec();
        problem
    })?;
    if method == "CONNECT" {
        let target = Target::parse(asked, None).map_err(|_| bad("CONNECT wants host:port"))?;
        if body_bytes > 0 {
            return Err(bad("CONNECT has no body"));
        }
        return Ok(Request::Tunnel(target));
    }
    let (target, path) = absolute_form(asked).map_err(bad)?;
    check_host_field(request.headers, &target, minor).map_err(bad)?;
    let head = forwarded_head(method, &path, minor, &target, request.headers, body_bytes);
    Ok(Request::Forward(Forward { target, head, body_bytes }))
}

/// Every line ends in CR LF, and these are nowhere else; no empty line comes first.
fn has_strict_lines(head: &[u8]) -> bool {
    let mut before = b'\n';
    for byte in head {
        let fits = match (before, *byte) {
            (b'\r', next) => next == b'\n',
            (_, next) => !matches!(next, b'\n' | 0),
        };
        if !fits {
            return false;
        }
        before = *byte;
    }
    !head.starts_with(b"\r\n")
}

fn body_bytes(fields: &[Header<'_>]) -> Result<u64, BadRequest> {
    let bad = |status, what| BadRequest { asked: Vec::new(), status, what };
    let mut lengths = values(fields, "content-length");
    let length = lengths.next();
    if lengths.next().is_some() {
        return Err(bad("400 Bad Request", "it has two lengths"));
    }
    if values(fields, "transfer-encoding").next().is_some() {
        // One way to say how long a body is leaves nothing to disagree about.
        return Err(match length {
            Some(_) => bad("400 Bad Request", "it has a length and a transfer encoding"),
            None => bad("411 Length Required", "a plain HTTP request needs a Content-Length"),
        });
    }
    let Some(length) = length else { return Ok(0) };
    let digits = length.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
    number.filter(|_| digits).ok_or_else(|| bad("400 Bad Request", "its length is no number"))
}

/// Splits `http://host/path` into target and path.
fn absolute_form(asked: &str) -> Result<(Target, String), &'static str> {
    let scheme = asked.get(..7).filter(|start| start.eq_ignore_ascii_case("http://"));
    let Some(rest) = scheme.and_then(|scheme| asked.get(scheme.len()..)) else {
        return Err("a proxy takes CONNECT host:port and http://host/path");
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let target = Target::parse(authority, Some(HTTP_PORT)).map_err(|_| "its host is no host")?;
    if path.contains('#') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("its path has a character that paths do not have");
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((target, format!("{slash}{path}")))
}

/// The one `Host` field, which only HTTP/1.0 may leave out, names the target.
fn check_host_field(fields: &[Header<'_>], target: &Target, minor: u8) -> Result<(), &'static str> {
    let mut hosts = values(fields, "host");
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err("it has two Host fields");
    }
    let Some(host) = host else {
        return if minor == 0 { Ok(()) } else { Err("it has no Host field") };
    };
    let named = std::str::from_utf8(host).ok();
    let named = named.and_then(|host| Target::parse(host, Some(HTTP_PORT)).ok());
    if named.as_ref() == Some(target) { Ok(()) } else { Err("its Host field names another host") }
}

fn values<'a>(fields: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let fields = fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
    fields.map(|field| field.value)
}

fn forwarded_head(
    method: &str,
    path: &str,
    minor: u8,
    target: &Target,
    fields: &[Header<'_>],
    body_bytes: u64,
) -> Vec<u8> {
    let port = if target.port == HTTP_PORT { String::new() } else { format!(":{}", target.port) };
    let start = format!("{method} {path} HTTP/1.{minor}\r\nHost: {}{port}\r\n", target.host);
    let mut head = start.into_bytes();
    let named: Vec<String> = values(fields, "connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
        .collect();
    for field in fields {
        let name = field.name.to_ascii_lowercase();
        let ours = FIELDS_NOT_FORWARDED.contains(&name.as_str());
        if !ours && !name.starts_with(PROXY_FIELDS_START) && !named.contains(&name) {
            push_field(&mut head, field);
        }
    }
    if values(fields, "content-length").next().is_some() {
        head.extend_from_slice(format!("Content-Length: {body_bytes}\r\n").as_bytes());
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

fn push_field(head: &mut Vec<u8>, field: &Header<'_>) {
    head.extend_from_slice(field.name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(field.value);
    head.extend_from_slice(b"\r\n");
}

/// The head of a response, ready for the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) head: Vec<u8>,
}

impl Response {
    /// Returns whether another head follows this one (RFC 9110, section 15.2).
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.code) && self.code != 101
    }
}

/// Understands the head of a response. Pure. None is one that is not HTTP/1.
pub(super) fn parse_response(head: &[u8]) -> Option<Response> {
    let mut fields = [EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let Ok(Status::Complete(length)) = response.parse(head) else { return None };
    let (code, minor) = (response.code?, response.version?);
    if length != head.len() {
        return None;
    }
    let start = format!("HTTP/1.{minor} {code} {}\r\n", response.reason.unwrap_or_default());
    let mut answer = Response { code, head: start.into_bytes() };
    for field in response.headers.iter() {
        let name = field.name.to_ascii_lowercase();
        if !RESPONSE_FIELDS_NOT_FORWARDED.contains(&name.as_str()) {
            push_field(&mut answer.head, field);
        }
    }
    if !answer.is_interim() {
        answer.head.extend_from_slice(b"Connection: close\r\n");
    }
    answer.head.extend_from_slice(b"\r\n");
    Some(answer)
}

#[cfg(test)]
mod tests;
