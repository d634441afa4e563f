//! Connections of nREPL clients: messages in and out, sessions, and operations without evaluation.
//!
//! Each connection has a thread. Requests that evaluate are queued for the session's thread, which
//! alone runs Scheme. A client that does not read for `WRITE_TIME` is disconnected, so that it
//! cannot block evaluations.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use canny_lib::Evaluation;
use canny_lib::evaluation::{INTERACTION, NameKind};
use canny_locks::Mutex;

use super::bencode::{Bencode, Problem};
use super::evaluation::{Operation, Request};
use super::{Job, Shared};
use crate::repl::completion::names_starting_with;

/// Bytes of a message at most.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// A client that takes nothing for so long is disconnected.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// Candidates that are sent at most.
const CANDIDATES_MAX: usize = 500;

/// The operations, for `describe`.
const OPERATIONS: [&str; 13] = [
    "clone",
    "close",
    "complete",
    "completions",
    "describe",
    "eldoc",
    "eval",
    "info",
    "interrupt",
    "load-file",
    "lookup",
    "ls-sessions",
    "stdin",
];

/// The receivers of messages.
#[derive(Clone)]
pub struct Client(Arc<Mutex<TcpStream>>);

impl Client {
    /// Sends a message about a request. A client that is gone misses it.
    pub fn send<'a>(
        &self,
        session: &str,
        id: &str,
        entries: impl IntoIterator<Item = (&'a str, Bencode)>,
    ) {
        let about = [
            ("session", Bencode::text(session)),
            ("id", Bencode::text(id)),
        ];
        let known = about
            .into_iter()
            .filter(|(_, value)| *value != Bencode::text(""));
        let message = Bencode::dictionary(known.chain(entries));
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let mut stream = self.0.lock();
        if stream.write_all(&bytes).is_err() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    /// The last message about a request.
    pub fn finish<'a>(&self, session: &str, id: &str, status: impl IntoIterator<Item = &'a str>) {
        let status = status.into_iter().chain(["done"]);
        self.send(session, id, [("status", Bencode::texts(status))]);
    }
}

/// Accepts connections on a thread of its own.
pub fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    jobs: Sender<Job>,
) -> std::io::Result<()> {
    static CONNECTIONS: AtomicU64 = AtomicU64::new(1);
    let accepting = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // Too many files are open, or the like: others may be closed soon.
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            let (shared, jobs) = (shared.clone(), jobs.clone());
            let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
            let thread = std::thread::Builder::new().name("connection".into());
            // Without a thread the connection is closed.
            let _ = thread.spawn(move || Connection::new(stream, shared, jobs, number).serve());
        }
    };
    let thread = std::thread::Builder::new().name("listener".into());
    thread.spawn(accepting).map(drop)
}

struct Connection {
    stream: TcpStream,
    client: Option<Client>,
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    number: u64,
}

impl Connection {
    fn new(stream: TcpStream, shared: Arc<Shared>, jobs: Sender<Job>, number: u64) -> Connection {
        let _ = stream.set_write_timeout(Some(WRITE_TIME));
        let _ = stream.set_nodelay(true);
        let writing = stream.try_clone().ok();
        Connection {
            client: writing.map(|stream| Client(Arc::new(Mutex::new(stream)))),
            stream,
            shared,
            jobs,
            number,
        }
    }

    /// Answers messages until the client goes.
    fn serve(mut self) {
        let Some(client) = self.client.clone() else {
            return;
        };
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        // A long message is looked at again when it has doubled.
        let mut enough = 0;
        loop {
            while bytes.len() > enough {
                match Bencode::decode(&bytes, MESSAGE_BYTES_MAX) {
                    Ok((message, length)) => {
                        bytes.drain(..length);
                        enough = 0;
                        self.message(&client, &message);
                    }
                    Err(Problem::Incomplete) if bytes.len() <= MESSAGE_BYTES_MAX => {
                        enough = if bytes.len() < piece.len() {
                            0
                        } else {
                            2 * bytes.len()
                        };
                        break;
                    }
                    Err(_) => {
                        client.finish("", "", ["error", "bad-message"]);
                        let _ = self.stream.shutdown(std::net::Shutdown::Both);
                        self.close();
                        return;
                    }
                }
            }
            match self.stream.read(&mut piece) {
                Ok(count) if count > 0 => {
                    bytes.extend(&piece[..count]);
                    // The end of a message may come before it has doubled.
                    if count < piece.len() {
                        enough = 0;
                    }
                }
                _ => {
                    self.close();
                    return;
                }
            }
        }
    }

    /// Forgets the sessions of the connection.
    fn close(&self) {
        let number = self.number;
        self.shared
            .state()
            .sessions
            .retain(|_, owner| *owner != number);
    }

    fn message(&mut self, client: &Client, message: &Bencode) {
        let text = |key: &str| message.text_of(key).unwrap_or_default();
        let (operation, session, id) = (text("op"), text("session"), text("id"));
        if !session.is_empty() && !self.shared.state().sessions.contains_key(&session) {
            client.finish(&session, &id, ["error", "unknown-session"]);
            return;
        }
        match operation.as_str() {
            "clone" => {
                let new = self.new_session();
                let entries = [
                    ("new-session", Bencode::text(new)),
                    ("status", Bencode::texts(["done"])),
                ];
                client.send(&session, &id, entries);
            }
            "close" => {
                self.shared.state().sessions.remove(&session);
                client.finish(&session, &id, ["session-closed"]);
            }
            "describe" => describe(client, &session, &id),
            "ls-sessions" => {
                let sessions: Vec<Bencode> = {
                    let state = self.shared.state();
                    state.sessions.keys().map(Bencode::text).collect()
                };
                let entries = [
                    ("sessions", Bencode::List(sessions)),
                    ("status", Bencode::texts(["done"])),
                ];
                client.send(&session, &id, entries);
            }
            "interrupt" => self.interrupt(client, &session, &id, &text("interrupt-id")),
            "completions" | "complete" => self.complete(client, &session, &id, message),
            // Programs read the server's own standard input.
            "stdin" => client.finish(&session, &id, []),
            "eval" | "load-file" | "lookup" | "info" | "eldoc" => {
                let operation = match operation.as_str() {
                    "eval" => Operation::Evaluate {
                        code: text("code"),
                        library: message.text_of("ns"),
                    },
                    "load-file" => Operation::Load {
                        name: [text("file-path"), text("file-name")]
                            .into_iter()
                            .find(|name| !name.is_empty())
                            .unwrap_or_else(|| "file of a client".to_owned()),
                        content: text("file"),
                    },
                    _ => Operation::Look {
                        name: ["sym", "symbol"]
                            .iter()
                            .find_map(|key| message.text_of(key))
                            .unwrap_or_default(),
                        answers_flatly: operation != "lookup",
                    },
                };
                let request = Request {
                    client: client.clone(),
                    session,
                    id,
                    operation,
                };
                let _ = self.jobs.send(Job::Request(Box::new(request)));
            }
            _ => client.finish(&session, &id, ["error", "unknown-op"]),
        }
    }

    fn new_session(&self) -> String {
        let mut state = self.shared.state();
        state.next_session += 1;
        // Nobody is to guess anything from it; it only has to be unlike others.
        let name = format!("canny-{}-{}", std::process::id(), state.next_session);
        state.sessions.insert(name.clone(), self.number);
        name
    }

    fn interrupt(&self, client: &Client, session: &str, id: &str, wanted: &str) {
        let status = {
            let state = self.shared.state();
            match &state.running {
                Some((owner, running)) if owner == session => {
                    if wanted.is_empty() || wanted == running {
                        self.shared.interrupts.interrupt();
                        None
                    } else {
                        Some("interrupt-id-mismatch")
                    }
                }
                _ => Some("session-idle"),
            }
        };
        client.finish(session, id, status);
    }

    fn complete(&self, client: &Client, session: &str, id: &str, message: &Bencode) {
        let prefix = ["prefix", "symbol"]
            .iter()
            .find_map(|key| message.text_of(key))
            .unwrap_or_default();
        let vm = self.shared.vm.clone();
        let evaluation = Evaluation::of(&vm);
        let names = names_starting_with(evaluation, INTERACTION, &prefix);
        let candidates = names.iter().take(CANDIDATES_MAX).map(|name| {
            let info = evaluation.name_info(INTERACTION, name);
            let kind = match info.map(|info| info.kind) {
                Some(NameKind::Form | NameKind::Macro) => "macro",
                Some(NameKind::Primitive) => "function",
                Some(NameKind::Variable) => "var",
                None => "namespace",
            };
            Bencode::dictionary([
                ("candidate", Bencode::text(name)),
                ("type", Bencode::text(kind)),
            ])
        });
        let entries = [
            ("completions", Bencode::List(candidates.collect())),
            ("status", Bencode::texts(["done"])),
        ];
        client.send(session, id, entries);
    }
}

/// Answers `describe` with the operations and versions of the server.
fn describe(client: &Client, session: &str, id: &str) {
    let nothing = || Bencode::dictionary([]);
    let operations = OPERATIONS.map(|operation| (operation, nothing()));
    let version = |text: &str| {
        let mut parts = text.split('.');
        let mut part = || Bencode::Integer(parts.next().and_then(|n| n.parse().ok()).unwrap_or(0));
        let (major, minor, incremental) = (part(), part(), part());
        Bencode::dictionary([
            ("major", major),
            ("minor", minor),
            ("incremental", incremental),
            ("version-string", Bencode::text(text)),
        ])
    };
    let versions = Bencode::dictionary([
        ("canny", version(env!("CARGO_PKG_VERSION"))),
        ("nrepl", version("1.0.0")),
    ]);
    let entries = [
        ("ops", Bencode::dictionary(operations)),
        ("versions", versions),
        ("aux", nothing()),
        ("status", Bencode::texts(["done"])),
    ];
    client.send(session, id, entries);
}
