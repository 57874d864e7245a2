//! Answers the browser: the page's files, the events that keep it current, and the policy at play.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::picture::Player;
use crate::request::{Refusal, Request, answer, same};
use crate::watcher::Shared;
use crate::{WatchError, events, page};

/// Readers at a time; a browser opens a handful for each page.
const MOST_READERS: usize = 100;

/// Bytes of the token, which nobody guesses.
const TOKEN_BYTES: usize = 16;

/// Listens on this machine alone.
pub struct Server {
    listener: TcpListener,
    token: String,
    port: u16,
    shared: Arc<Shared>,
    readers: AtomicUsize,
    player: Player,
}

impl Server {
    /// A server at this port, or at one that the system chooses.
    pub fn bind(port: Option<u16>, shared: Arc<Shared>) -> Result<Self, WatchError> {
        let asked = port.unwrap_or(0);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => WatchError::PortTaken(asked),
            _ => WatchError::Unusable {
                port: asked,
                reason: epgt_train::artifact::reason(&error),
            },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, asked)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            token: token()?,
            port,
            shared,
            readers: AtomicUsize::new(0),
            player: Player::default(),
        })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers whoever comes, each in a thread of its own.
    pub fn serve(self: &Arc<Self>) {
        for stream in self.listener.incoming() {
            let Ok(stream) = stream else { continue };
            if self.readers.fetch_add(1, Ordering::Relaxed) >= MOST_READERS {
                self.readers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let reader = Reader(self.clone());
            let answer = move || {
                // A reader that goes away while it is answered is no fault.
                let _ = reader.0.answer(stream);
            };
            // Where no thread can be made, nobody is answered; the reader tries again.
            let _ = thread::Builder::new().spawn(answer);
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let request = match Request::read(&mut stream)? {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(refusal) => return refuse(&mut stream, &refusal),
        };
        match self.permitted(&request) {
            Err(refusal) => refuse(&mut stream, &refusal),
            Ok("") => {
                let there = format!("Location: /{}/\r\n", self.token);
                answer(
                    &mut stream,
                    "308 Permanent Redirect",
                    "text/plain; charset=utf-8",
                    &there,
                    b"",
                )
            }
            Ok("/events") => events::send(&mut stream, &self.shared, request.number("run")),
            Ok("/picture") => self.player.send(&mut stream, &self.shared, &request),
            Ok(path) => match page::file(path) {
                Some((kind, body)) => answer(&mut stream, "200 OK", kind, "", body.as_bytes()),
                None => refuse(
                    &mut stream,
                    &Refusal::new("404 Not Found", "There is nothing of this name."),
                ),
            },
        }
    }

    /// The path behind the token, where the request may be answered.
    fn permitted<'a>(&self, request: &'a Request) -> Result<&'a str, Refusal> {
        if !request.means_this_machine() {
            let sentence = "This page is read as 127.0.0.1 or localhost, and under no other name.";
            return Err(Refusal::new("403 Forbidden", sentence));
        }
        let path = request.path.strip_prefix('/').unwrap_or_default();
        let end = path.find('/').unwrap_or(path.len());
        if !same(&path[..end], &self.token) {
            let sentence = "The address lacks the right token; open the whole address that the program printed.";
            return Err(Refusal::new("403 Forbidden", sentence));
        }
        if request.method != "GET" {
            return Err(Refusal::new(
                "405 Method Not Allowed",
                "This page can only be read, with GET.",
            ));
        }
        Ok(&path[end..])
    }
}

/// Somebody who is answered; counted as long as it lives.
struct Reader(Arc<Server>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refuse(stream: &mut TcpStream, Refusal(status, sentence): &Refusal) -> io::Result<()> {
    let allow = if status.starts_with("405") {
        "Allow: GET\r\n"
    } else {
        ""
    };
    answer(
        stream,
        status,
        "text/plain; charset=utf-8",
        allow,
        format!("{sentence}\n").as_bytes(),
    )
}

/// Letters and digits that nobody guesses.
fn token() -> Result<String, WatchError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| WatchError::NoToken(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
