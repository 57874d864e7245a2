//! Answers the browser: the page's files, the events that keep it current, and the policy at play.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderValue, LOCATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::picture::Player;
use crate::request::{Answer, PATIENCE, Request, TEXT, flowing, same, whole};
use crate::watcher::Shared;
use crate::{WatchError, events, page};

/// Readers at a time; a browser opens a handful for each page.
const MOST_READERS: usize = 100;

/// Bytes of the head of a request.
const LONGEST_HEAD: usize = 16 * 1024;

/// Before another reader is waited for where none could be taken, as with too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Bytes of the token, which nobody guesses.
const TOKEN_BYTES: usize = 16;

/// Listens on this machine alone.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    token: String,
    port: u16,
    shared: Arc<Shared>,
    readers: AtomicUsize,
    player: Arc<Player>,
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
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, asked));
        let listener = runtime.block_on(listener).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            runtime,
            listener,
            token: token()?,
            port,
            shared,
            readers: AtomicUsize::new(0),
            player: Arc::default(),
        })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers whoever comes.
    pub fn serve(self: &Arc<Self>) {
        self.runtime.block_on(async {
            loop {
                let Ok((stream, _)) = self.listener.accept().await else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                if self.readers.fetch_add(1, Ordering::Relaxed) >= MOST_READERS {
                    self.readers.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                tokio::spawn(converse(Reader(self.clone()), stream));
            }
        });
    }

    fn answer(&self, request: &Request) -> Answer {
        let path = match self.permitted(request) {
            Ok(path) => path,
            Err((status, sentence)) => return refusal(status, sentence),
        };
        match path {
            "" => {
                let mut answer = whole(StatusCode::PERMANENT_REDIRECT, TEXT, "");
                if let Ok(there) = HeaderValue::try_from(format!("/{}/", self.token)) {
                    answer.headers_mut().insert(LOCATION, there);
                }
                answer
            }
            "/events" => {
                let (shared, run) = (self.shared.clone(), request.number("run"));
                flowing("text/event-stream; charset=utf-8", move |outlet| {
                    // A reader that goes away while it is answered is no fault.
                    let _ = events::send(outlet, &shared, run);
                })
            }
            "/picture" => self.player.answer(&self.shared, request),
            path => match page::file(path) {
                Some((kind, body)) => whole(StatusCode::OK, kind, body),
                None => refusal(StatusCode::NOT_FOUND, "There is nothing of this name."),
            },
        }
    }

    /// The path behind the token, where the request may be answered; else a status and a sentence that says why.
    fn permitted<'a>(&self, request: &'a Request) -> Result<&'a str, (StatusCode, &'static str)> {
        if !request.means_this_machine() {
            let sentence = "This page is read as 127.0.0.1 or localhost, and under no other name.";
            return Err((StatusCode::FORBIDDEN, sentence));
        }
        let path = request.path.strip_prefix('/').unwrap_or_default();
        let end = path.find('/').unwrap_or(path.len());
        if !same(&path[..end], &self.token) {
            let sentence = "The address lacks the right token; open the whole address that the program printed.";
            return Err((StatusCode::FORBIDDEN, sentence));
        }
        if request.method != "GET" {
            let sentence = "This page can only be read, with GET.";
            return Err((StatusCode::METHOD_NOT_ALLOWED, sentence));
        }
        Ok(&path[end..])
    }
}

/// Answers one request; a reader that goes away meanwhile is no fault.
async fn converse(reader: Reader, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request| {
        let answer = reader.0.answer(&Request::of(&request));
        async { Ok::<_, Infallible>(answer) }
    });
    let mut connection = http1::Builder::new();
    connection
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(LONGEST_HEAD)
        .keep_alive(false)
        .title_case_headers(true);
    let _ = connection.serve_connection(TokioIo::new(stream), answer).await;
}

/// Somebody who is answered; counted as long as it lives.
struct Reader(Arc<Server>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that is not answered, and a sentence that says why.
pub fn refusal(status: StatusCode, sentence: &str) -> Answer {
    let mut refusal = whole(status, TEXT, format!("{sentence}\n"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    refusal
}

/// Letters and digits that nobody guesses.
fn token() -> Result<String, WatchError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| WatchError::NoToken(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
