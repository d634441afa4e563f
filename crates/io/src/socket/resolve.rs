//! Addresses of hosts by name. The system's resolver blocks, so that it runs on threads of its own, and no
//! wait for them is longer than its limit. There are only so many of them; further questions wait for one.
//!
//! | shared state | touched by | condition |
//! |---|---|---|
//! | `Questions` | the asking thread adds; the resolvers take | under its lock |

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};

use canny_locks::{Mutex, MutexGuard};
use canny_replay::{Kind, Mode};
use canny_sched::Notice;

use super::Address;
use crate::answer::Answer;
use crate::error::{IoError, Operation};
use crate::wait::Wait;

/// At most so many names are looked up at the same time. A name server that does not answer holds a
/// thread for some ten seconds, so that a few would block all others.
const RESOLVERS_MAX: usize = 16;

/// The kind of addresses to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Any,
    Inet,
    Inet6,
}

impl Family {
    fn includes(self, address: &SocketAddr) -> bool {
        match self {
            Family::Any => true,
            Family::Inet => address.is_ipv4(),
            Family::Inet6 => address.is_ipv6(),
        }
    }
}

type Found = io::Result<Vec<SocketAddr>>;

struct Question {
    host: String,
    port: u16,
    /// A thread that stopped waiting holds it no more.
    answer: Weak<Answer<Found>>,
}

struct Questions {
    waiting: VecDeque<Question>,
    resolvers: usize,
}

static QUESTIONS: Mutex<Questions> = Mutex::new(Questions {
    waiting: VecDeque::new(),
    resolvers: 0,
});

fn questions() -> MutexGuard<'static, Questions> {
    QUESTIONS.lock()
}

/// Gives a question to the resolvers. It fails if there is none and the system has no thread for one.
fn ask(question: Question) -> io::Result<()> {
    let mut questions = questions();
    if questions.resolvers < RESOLVERS_MAX {
        let resolver = std::thread::Builder::new().name("resolver".to_owned());
        match resolver.spawn(answer_questions) {
            Ok(_) => questions.resolvers += 1,
            Err(error) if questions.resolvers == 0 => return Err(error),
            Err(_) => {}
        }
    }
    questions.waiting.push_back(question);
    Ok(())
}

/// Answers questions until none is left.
fn answer_questions() {
    loop {
        let question = {
            let mut questions = questions();
            let Some(question) = questions.waiting.pop_front() else {
                questions.resolvers -= 1;
                return;
            };
            question
        };
        if question.answer.strong_count() == 0 {
            continue;
        }
        let found = (question.host, question.port).to_socket_addrs();
        if let Some(answer) = question.answer.upgrade() {
            answer.give(found.map(Iterator::collect));
        }
    }
}

/// Looks a name up on this thread.
fn resolved_now(host: &str, port: u16) -> Found {
    let found = canny_replay::ask(Kind::Resolve, || {
        let found = (host, port).to_socket_addrs()?;
        Ok::<_, io::Error>(found.map(Address::Inet).collect::<Vec<_>>())
    });
    let inet = |address| match address {
        Address::Inet(address) => Some(address),
        Address::Unix(_) => None,
    };
    found.map(|found| found.into_iter().filter_map(inet).collect())
}

/// A look-up that was begun. [`Resolving::proceed`] may end with `Parked`, `WouldBlock`, `TimedOut` or
/// `Interrupted` and be called again.
#[derive(Debug)]
pub struct Resolving {
    host: Box<str>,
    port: u16,
    family: Family,
    answer: Arc<Answer<Found>>,
}

impl Resolving {
    /// Begins to look up the addresses of a host.
    pub fn begin(host: &str, port: u16, family: Family) -> Result<Resolving, IoError> {
        let answer = Arc::new(Answer::default());
        if let Ok(ip) = host.parse() {
            answer.give(Ok(vec![SocketAddr::new(ip, port)]));
        } else if canny_replay::mode() != Mode::Live {
            // Another thread's answer would come at another time when it is replayed.
            answer.give(resolved_now(host, port));
        } else {
            let question = Question {
                host: host.to_owned(),
                port,
                answer: Arc::downgrade(&answer),
            };
            ask(question).map_err(|error| IoError::from_system(Operation::Resolve, host, error))?;
        }
        Ok(Resolving {
            host: host.into(),
            port,
            family,
            answer,
        })
    }

    /// Whether it is a look-up for this.
    pub fn is_for(&self, host: &str, port: u16, family: Family) -> bool {
        (&*self.host, self.port, self.family) == (host, port, family)
    }

    /// It is given when [`Resolving::proceed`] need not wait.
    pub fn notice(&self) -> &Arc<Notice> {
        self.answer.notice()
    }

    /// The addresses of the host, in the order in which they should be tried: at least one. They are
    /// given once.
    pub fn proceed(&mut self, wait: Wait<'_>) -> Result<Vec<Address>, IoError> {
        let found = self.answer.take(wait, Operation::Resolve, &self.host)?;
        let found = found
            .map_err(|error| IoError::from_system(Operation::Resolve, &self.host, plain(error)))?;
        let wanted: Vec<Address> = found
            .into_iter()
            .filter(|address| self.family.includes(address))
            .map(Address::Inet)
            .collect();
        if wanted.is_empty() {
            let error = io::Error::new(io::ErrorKind::NotFound, "no address of that family");
            return Err(IoError::from_system(Operation::Resolve, &self.host, error));
        }
        Ok(wanted)
    }
}

/// The addresses of a host; see [`Resolving`].
pub fn resolve(
    host: &str,
    port: u16,
    family: Family,
    wait: Wait<'_>,
) -> Result<Vec<Address>, IoError> {
    Resolving::begin(host, port, family)?.proceed(wait)
}

/// The resolver's own words, without those of the standard library before them.
fn plain(error: io::Error) -> io::Error {
    let words = error.to_string();
    match words.split_once(": ") {
        Some((_, reason)) => io::Error::other(reason.to_owned()),
        None => error,
    }
}
