//! What a reader asks for, and answers that keep strangers out.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// How long a reader may take, with its request or with a piece of what it is sent.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Pieces of an answer that wait for a reader.
const WAITING: usize = 4;

/// Words.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// What every answer says: nothing is kept, nothing comes from elsewhere, and nobody else's page can hold this one.
const HEADERS: [(&str, &str); 7] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];

/// What is asked for.
#[derive(Debug, PartialEq)]
pub struct Request {
    pub method: String,
    /// The path, without what follows a question mark.
    pub path: String,
    /// `name=value` pairs after the question mark.
    query: String,
    /// The machine that the reader believes to speak to; of two it cannot be known which is meant.
    host: Option<String>,
}

impl Request {
    /// The head of a request.
    pub fn of<T>(request: &hyper::Request<T>) -> Self {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none());
        Self {
            method: request.method().to_string(),
            path: request.uri().path().to_string(),
            query: request.uri().query().unwrap_or_default().to_string(),
            host: host.and_then(|host| host.to_str().ok()).map(String::from),
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

/// What is sent back.
pub type Answer = Response<Content>;

/// The body of an answer.
pub enum Content {
    /// All of it; nothing once it is sent.
    Whole(Option<Bytes>),
    /// What an [`Outlet`] is given, until it is closed.
    Flowing(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take()),
            Self::Flowing(pieces) => pieces.poll_recv(context),
        };
        piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Flowing(_) => SizeHint::default(),
        }
    }
}

fn answer(status: StatusCode, kind: &'static str, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}

/// An answer that is sent at once.
pub fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let body = Some(body.into()).filter(|body| !body.is_empty());
    answer(status, kind, Content::Whole(body))
}

/// An answer that `write` sends piece by piece, in a thread of its own, until it returns or the reader has gone. Where no
/// thread can be made, it ends at once, and the reader tries again.
pub fn flowing(kind: &'static str, write: impl FnOnce(&Outlet) + Send + 'static) -> Answer {
    let (pieces, received) = mpsc::channel(WAITING);
    let outlet = Outlet {
        pieces,
        runtime: Handle::current(),
    };
    let _ = thread::Builder::new().spawn(move || write(&outlet));
    answer(StatusCode::OK, kind, Content::Flowing(received))
}

/// Where the pieces of an answer go.
pub struct Outlet {
    pieces: mpsc::Sender<Bytes>,
    runtime: Handle,
}

impl Outlet {
    /// Sends a piece; one that does not take it in time has gone.
    pub fn send(&self, bytes: impl Into<Bytes>) -> io::Result<()> {
        let sent = self.runtime.block_on(self.pieces.send_timeout(bytes.into(), PATIENCE));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Whether the reader has gone.
    pub fn is_closed(&self) -> bool {
        self.pieces.is_closed()
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

    fn asked(target: &str, hosts: &[&str]) -> Request {
        let request = hyper::Request::builder().uri(target);
        let request = hosts
            .iter()
            .fold(request, |request, host| request.header("Host", *host));
        Request::of(&request.body(()).unwrap())
    }

    #[test]
    fn a_request_is_taken_apart() {
        let request = asked("/abc/events?run=7&x=y", &["localhost:80"]);
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/abc/events"));
        assert_eq!(
            (request.number("run"), request.number("x"), request.number("y")),
            (Some(7), None, None)
        );
    }

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for own in ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "LOCALHOST"] {
            assert!(asked("/", &[own]).means_this_machine(), "{own}");
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
            assert!(!asked("/", &[other]).means_this_machine(), "{other}");
        }
        assert!(!asked("/", &[]).means_this_machine());
        assert!(!asked("/", &["localhost", "evil.example"]).means_this_machine());
        // A target that names a machine does not speak for the header.
        assert!(!asked("http://localhost/", &["evil.example"]).means_this_machine());
    }

    #[test]
    fn texts_are_the_same_only_where_all_of_them_is() {
        assert!(same("abc", "abc") && same("", ""));
        for other in ["", "ab", "abd", "abcd", "ABC"] {
            assert!(!same("abc", other), "{other}");
        }
    }
}
