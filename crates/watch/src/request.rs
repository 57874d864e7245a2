//! The part of HTTP that a page on this machine needs: requests that only read, and answers that are whole.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The head of a request is not longer.
const LONGEST_HEAD: usize = 16 * 1024;

/// Headers of a request at most.
const MOST_HEADERS: usize = 64;

/// Bytes of a body that nobody wants, which are read so that the answer is.
const MOST_IGNORED: usize = 64 * 1024;

/// How long a reader may take, with its request or with what it is sent.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every answer says: nothing is kept, nothing comes from elsewhere, and nobody else's page can hold this one.
const HEADERS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

/// What is asked for.
#[derive(Debug, PartialEq)]
pub struct Request {
    pub method: String,
    /// The path, without what follows a question mark.
    pub path: String,
    /// `name=value` pairs after the question mark.
    query: String,
    /// The machine that the reader believes to speak to.
    pub host: Option<String>,
}

/// A request that cannot be answered: the status, and a sentence that says why.
#[derive(Debug, PartialEq)]
pub struct Refusal(pub &'static str, pub String);

impl Refusal {
    pub fn new(status: &'static str, sentence: &str) -> Self {
        Self(status, sentence.to_string())
    }
}

impl Request {
    /// Reads the head of a request; `None` where the reader has gone without any.
    pub fn read(stream: &mut TcpStream) -> io::Result<Result<Option<Self>, Refusal>> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut head = Vec::new();
        loop {
            let mut piece = [0; 2048];
            let came = stream.read(&mut piece)?;
            if came == 0 {
                return Ok(Ok(None));
            }
            head.extend(&piece[..came]);
            match Self::parse(&head) {
                Ok(None) if head.len() < LONGEST_HEAD => {}
                Ok(None) => {
                    let refusal = Refusal::new("431 Request Header Fields Too Large", "The request is too long.");
                    return Ok(Err(refusal));
                }
                parsed => return Ok(parsed),
            }
        }
    }

    /// Takes a head apart; `None` where it is not whole yet.
    fn parse(head: &[u8]) -> Result<Option<Self>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let bad = || Refusal::new("400 Bad Request", "The request is not HTTP as this page speaks it.");
        match request.parse(head) {
            Ok(status) if status.is_partial() => return Ok(None),
            Ok(_) => {}
            Err(_) => return Err(bad()),
        }
        let (Some(method), Some(target)) = (request.method, request.path) else {
            return Err(bad());
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut hosts = request
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("host"));
        let host = hosts
            .next()
            .map(|header| String::from_utf8_lossy(header.value).into_owned());
        match hosts.next() {
            Some(_) => Err(bad()),
            None => Ok(Some(Self {
                method: method.to_string(),
                path: path.to_string(),
                query: query.to_string(),
                host,
            })),
        }
    }

    /// A number of the query.
    pub fn number(&self, name: &str) -> Option<u64> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name)?.1.parse().ok()
    }

    /// Whether the reader means this machine: a name that somebody has led here would be another.
    pub fn means_this_machine(&self) -> bool {
        let Some(host) = &self.host else { return false };
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")
    }
}

/// Sends a whole answer.
pub fn answer(stream: &mut TcpStream, status: &str, kind: &str, more: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}{HEADERS}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    finish(stream)
}

/// Sends the head of an answer that goes on until one of both closes.
pub fn begin(stream: &mut TcpStream, kind: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{HEADERS}\r\n").as_bytes())
}

/// Ends an answer so that all of it arrives: what the reader still sends is read first.
pub fn finish(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut ignored = [0; 4096];
    let mut left = MOST_IGNORED;
    while left > 0 {
        match stream.read(&mut ignored) {
            Ok(0) | Err(_) => break,
            Ok(came) => left = left.saturating_sub(came),
        }
    }
    Ok(())
}

/// Whether the reader of an answer that goes on has closed it.
pub fn has_gone(stream: &TcpStream) -> bool {
    let mut byte = [0];
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let seen = stream.peek(&mut byte);
    if stream.set_nonblocking(false).is_err() {
        return true;
    }
    match seen {
        Ok(came) => came == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// Whether two texts are equal, in a time that does not tell where they differ.
pub fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0 && a.len() == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Request {
        Request::parse(head.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_request_is_taken_apart() {
        let request = parsed("GET /abc/events?run=7&x=y HTTP/1.1\r\nhOst: localhost:80\r\n\r\n");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/abc/events"));
        assert_eq!(
            (request.number("run"), request.number("x"), request.number("y")),
            (Some(7), None, None)
        );
        assert_eq!(Request::parse(b"GET / HTTP/1.1\r\nHost: a"), Ok(None));
        for bad in [
            "\0\r\n\r\n",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ] {
            assert!(Request::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_taken() {
        let means = |host: &str| parsed(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).means_this_machine();
        for own in ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "LOCALHOST"] {
            assert!(means(own), "{own}");
        }
        for other in [
            "evil.example",
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "localhost:x",
            "",
            "[::1]:80",
            "0.0.0.0",
        ] {
            assert!(!means(other), "{other}");
        }
        assert!(!parsed("GET / HTTP/1.0\r\n\r\n").means_this_machine());
    }

    #[test]
    fn texts_are_the_same_only_where_all_of_them_is() {
        assert!(same("abc", "abc") && same("", ""));
        for other in ["", "ab", "abd", "abcd", "ABC"] {
            assert!(!same("abc", other), "{other}");
        }
    }
}
