//! Facts about a request until its response is out: for the log, and for the numbers about
//! requests.
//!
//! A server without a log and without measurements has no observer, and its requests no [`Record`].
//! The record is made where a head is whole, or refused. Code that takes it out of its connection
//! gives it to [`Observer::finish`], exactly once.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ServerOptions;
use super::journal::{Entry, Journal};
use super::measurements::{Measurements, method_index};
use crate::head::RequestHead;
use crate::proxies::Forwarded;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The response was given to the system.
    Complete,
    /// It was no request: its head was refused.
    Refused,
    /// The client took too long.
    TimedOut,
    /// The client has too many connections.
    TurnedAway,
    /// The client went away before it had everything.
    ClientGone,
    /// The handler failed in the midst of the response, or the server was made to stop.
    Aborted,
    /// The connection speaks another protocol from here on.
    Upgraded,
}

impl Outcome {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Complete => "complete",
            Outcome::Refused => "refused",
            Outcome::TimedOut => "timed-out",
            Outcome::TurnedAway => "turned-away",
            Outcome::ClientGone => "client-gone",
            Outcome::Aborted => "aborted",
            Outcome::Upgraded => "upgraded",
        }
    }
}

/// So much of a refused head is kept, and of the fields of one that was taken.
const KEPT_BYTES: usize = 1024;

/// So much of a target is kept.
const TARGET_BYTES: usize = 4096;

/// The texts of a head, one behind the other, and where each ends.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    method: usize,
    target: usize,
    referer: usize,
    agent: usize,
    has_referer: bool,
    has_agent: bool,
}

impl Texts {
    fn of_head(bytes: &[u8], head: &RequestHead) -> Texts {
        let mut texts = Texts::default();
        texts.push(&bytes[head.method.clone()], KEPT_BYTES);
        texts.method = texts.bytes.len();
        texts.push(&bytes[head.target.clone()], TARGET_BYTES);
        texts.target = texts.bytes.len();
        let field = |name: &[u8]| {
            let mut fields = head.fields.iter();
            let found = fields.find(|field| bytes[field.name()].eq_ignore_ascii_case(name));
            found.map(|field| &bytes[field.value()])
        };
        let (referer, agent) = (field(b"referer"), field(b"user-agent"));
        texts.has_referer = referer.is_some();
        texts.has_agent = agent.is_some();
        texts.push(referer.unwrap_or_default(), KEPT_BYTES);
        texts.referer = texts.bytes.len();
        texts.push(agent.unwrap_or_default(), KEPT_BYTES);
        texts.agent = texts.bytes.len();
        texts
    }

    fn push(&mut self, text: &[u8], most: usize) {
        self.bytes.extend_from_slice(&text[..text.len().min(most)]);
    }

    pub(super) fn method(&self) -> &[u8] {
        &self.bytes[..self.method]
    }

    pub(super) fn target(&self) -> &[u8] {
        &self.bytes[self.method..self.target]
    }

    pub(super) fn referer(&self) -> Option<&[u8]> {
        self.has_referer
            .then(|| &self.bytes[self.target..self.referer])
    }

    pub(super) fn agent(&self) -> Option<&[u8]> {
        self.has_agent
            .then(|| &self.bytes[self.referer..self.agent])
    }

    /// The first line of what is no head.
    pub(super) fn line(&self) -> &[u8] {
        let bytes = self.bytes.trim_ascii_start();
        let end = memchr::memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
        &bytes[..end]
    }
}

/// A request that is not answered yet.
#[derive(Debug)]
pub(super) struct Record {
    began: Instant,
    /// For whom a proxy asks.
    client: Option<IpAddr>,
    /// For the log; the method is where the head was taken.
    texts: Texts,
    method: usize,
    is_request: bool,
    version: &'static str,
    /// Of the response; 0 while there is none.
    status: u16,
    /// Bytes of the connection before the response's body.
    head_bytes: u64,
    request_id: Option<Box<[u8]>>,
    /// Decided already.
    outcome: Option<Outcome>,
}

impl Record {
    /// Sets the outcome of the request, if nothing was decided before.
    pub(super) fn decide(&mut self, outcome: Outcome) {
        self.outcome.get_or_insert(outcome);
    }

    /// It began so long ago.
    pub(super) fn has_lasted(&mut self, time: Duration) {
        if let Some(began) = canny_replay::now().checked_sub(time) {
            self.began = began;
        }
    }
}

/// Where records go.
#[derive(Debug)]
pub(super) struct Observer {
    journal: Option<Arc<Journal>>,
    measurements: Option<Measurements>,
}

impl Observer {
    /// The observer that the options ask for.
    pub(super) fn new(options: &ServerOptions) -> std::io::Result<Option<Observer>> {
        let journal = match options.log {
            Some(format) => Some(Arc::new(Journal::new(format)?)),
            None => None,
        };
        let measurements = options.measures.then(Measurements::default);
        let is_wanted = journal.is_some() || measurements.is_some();
        Ok(is_wanted.then_some(Observer {
            journal,
            measurements,
        }))
    }

    pub(super) fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    pub(super) fn measurements(&self) -> Option<&Measurements> {
        self.measurements.as_ref()
    }

    /// A head was taken, of a request in this version.
    pub(super) fn begin(
        &self,
        bytes: &[u8],
        head: &RequestHead,
        version: &'static str,
        forwarded: Option<Forwarded>,
    ) -> Box<Record> {
        if let Some(measurements) = &self.measurements {
            measurements.begin();
        }
        Box::new(Record {
            began: canny_replay::now(),
            client: forwarded.and_then(|forwarded| forwarded.client),
            texts: match self.journal {
                Some(_) => Texts::of_head(bytes, head),
                None => Texts::default(),
            },
            method: method_index(&bytes[head.method.clone()]),
            is_request: true,
            version,
            status: 0,
            head_bytes: 0,
            request_id: None,
            outcome: None,
        })
    }

    /// Something came, or should have, that is no request.
    pub(super) fn begin_refused(&self, bytes: &[u8], outcome: Outcome) -> Box<Record> {
        let mut texts = Texts::default();
        if self.journal.is_some() {
            texts.push(bytes, KEPT_BYTES);
        }
        Box::new(Record {
            began: canny_replay::now(),
            client: None,
            texts,
            method: method_index(b""),
            is_request: false,
            version: "",
            status: 0,
            head_bytes: 0,
            request_id: None,
            outcome: Some(outcome),
        })
    }

    /// A response begins with these bytes, behind `before` others that were sent for the same request.
    pub(super) fn answer(&self, record: &mut Record, bytes: &[u8], before: u64) {
        let digits = bytes.get(9..12).unwrap_or_default();
        record.status = digits
            .iter()
            .fold(0, |status, digit| status * 10 + u16::from(digit & 15));
        let (length, request_id) = look_through(bytes);
        record.head_bytes = before + length as u64;
        if self.journal.is_some() {
            record.request_id = request_id.map(Box::from);
        }
    }

    /// The end of a request, whose response took so many bytes of the connection.
    pub(super) fn finish(
        &self,
        record: &Record,
        peer: Option<IpAddr>,
        sent: u64,
        otherwise: Outcome,
    ) {
        let duration = canny_replay::now().saturating_duration_since(record.began);
        if let Some(measurements) = &self.measurements
            && record.is_request
        {
            measurements.finish(record.method, record.status, duration);
        }
        if let Some(journal) = &self.journal {
            journal.log(&Entry {
                texts: &record.texts,
                is_request: record.is_request,
                client: record.client.or(peer),
                version: record.version,
                status: record.status,
                bytes: sent.saturating_sub(record.head_bytes),
                duration,
                request_id: record.request_id.as_deref(),
                outcome: record.outcome.unwrap_or(otherwise),
            });
        }
    }
}

/// How long a response's head is, and the identifier that it gives the request.
fn look_through(bytes: &[u8]) -> (usize, Option<&[u8]>) {
    // As the library writes names.
    const NAME: &[u8] = b"X-Request-Id: ";
    let mut id = None;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = bytes[start..end].trim_ascii_end();
        if line.is_empty() {
            return (end + 1, id);
        }
        if let Some(value) = line.strip_prefix(NAME) {
            id = Some(&value[..value.len().min(KEPT_BYTES)]);
        }
        start = end + 1;
    }
    (bytes.len(), id)
}
