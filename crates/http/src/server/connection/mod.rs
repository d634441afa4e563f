//! One connection: its worker and its phase.
//!
//! | state | means | an event |
//! |---|---|---|
//! | `IDLE` | nobody works at it | makes it `QUEUED` |
//! | `QUEUED` | it waits to be looked at | changes nothing |
//! | `BUSY` | somebody works at it, or has its request | makes it `DIRTY` |
//! | `DIRTY` | the same, and it is to be looked at afterwards | changes nothing |
//!
//! Events come at edges: a read that does not fill its buffer has read everything, and the next
//! bytes are another event. An event may come while earlier input is still handled, and one look at
//! the connection may end without reading. So events are kept in `may_have_input` until the next
//! read, and a connection that waits for a head rests only without that.

mod bodies;
mod notes;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use canny_locks::Mutex;
use rustix::net::Shutdown;

use super::http2::Http2;
use super::observer::{Outcome, Record};
use super::stream::Stream;
use super::unsent::Unsent;
use super::{BodyCoding, Common, ConnectionId, Request, RequestId, Scratch, clock};
use crate::chunked::ChunkReader;
use crate::framing::{BodyLength, Framing};
use crate::head::{EndSearch, Fault, Malformed, read_request};
use crate::response::plain_response;

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const BUSY: u8 = 2;
const DIRTY: u8 = 3;

/// So much of a body that nobody has read is read and thrown away, so that the connection can be used again.
const DISCARD_MAX: u64 = 256 * 1024;

/// How long a connection that was refused is read from, so that the answer is not lost.
pub(super) const LINGER: u64 = 2000;

/// Milliseconds for which a connection stays when the server stops, so that the next request of a busy
/// client is answered, and not met by the end of the connection.
pub(super) const GRACE: u64 = 250;

/// Tells a client that it may send the body.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Milliseconds that the clock may be behind.
const CLOCK_STEP: u64 = 20;

/// Bytes read at once from bodies.
const CHUNK_BYTES: usize = 16 * 1024;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Reading a head.
    Head,
    /// Somebody has the request.
    Handling,
    /// The response is complete and goes out.
    Writing,
    /// The rest of the request's body is thrown away.
    Discarding,
    /// The last response is out; further input is thrown away until the other side closes.
    Lingering,
    /// It belongs to somebody else.
    Detached,
    /// It speaks HTTP/2.
    Streams,
}

/// Where a request's body stands.
#[derive(Clone, Debug)]
enum Body {
    Known(u64),
    Chunked(ChunkReader),
}

impl Body {
    fn has_ended(&self) -> bool {
        match self {
            Body::Known(left) => *left == 0,
            Body::Chunked(reader) => reader.has_ended(),
        }
    }
}

#[derive(Debug)]
struct Inner {
    phase: Phase,
    serial: u32,
    /// Read and not consumed.
    input: Vec<u8>,
    consumed: usize,
    search: EndSearch,
    /// To be written, from `written` on.
    output: Vec<u8>,
    written: usize,
    body: Body,
    body_bytes: u64,
    fault: Option<Fault>,
    /// Of the body that was read to its end.
    trailers: Vec<u8>,
    /// Since when somebody has waited for more of the body, by the server's clock.
    awaits_since: Option<u64>,
    /// The client waits for 100 Continue before it sends the body.
    expects_continue: bool,
    keeps_alive: bool,
    /// Something of the response was given.
    has_begun: bool,
    /// How its body is written.
    coding: BodyCoding,
    /// Bytes that were sent since the request came.
    sent: u64,
    /// Facts about the request, if there is an observer.
    record: Option<Box<Record>>,
}

pub(super) struct Connection {
    id: ConnectionId,
    stream: Stream,
    peer: Option<SocketAddr>,
    state: AtomicU8,
    /// Something may have come that was not read: set by events and by reads that were filled, cleared
    /// before each read.
    may_have_input: AtomicBool,
    /// The other side has ended its direction, or everything.
    pub(super) has_ended: AtomicBool,
    /// When what it is at takes too long, in milliseconds of [`clock`]; 0 is never.
    deadline: AtomicU64,
    has_expired: AtomicBool,
    /// The queued output is to be dropped.
    is_shed: AtomicBool,
    /// Bytes of whole responses that wait to be sent.
    pub(super) unsent: Unsent,
    inner: Mutex<Inner>,
    /// Its streams, once it speaks HTTP/2.
    http2: OnceLock<Box<Http2>>,
    common: Arc<Common>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The result of working at a connection.
pub(super) enum Advance {
    /// There is a request; its handler works at the connection now.
    Request(Request),
    /// The same, but there may be others: nobody is at the connection.
    Stream(Request),
    /// Nothing to do until something happens.
    Rest,
    /// It is over.
    Close,
}

/// How an attempt to write ended.
pub(super) enum Sent {
    All,
    Some,
    Failed,
}

pub(super) fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

impl Inner {
    fn unread(&self) -> &[u8] {
        &self.input[self.consumed..]
    }

    fn consume(&mut self, count: usize) {
        self.consumed += count;
        if self.consumed == self.input.len() {
            // A connection that rests has no buffer.
            self.input = Vec::new();
            self.consumed = 0;
        }
    }

    fn has_output(&self) -> bool {
        self.written < self.output.len()
    }
}

impl Connection {
    pub(super) fn new(
        id: ConnectionId,
        stream: Stream,
        peer: Option<SocketAddr>,
        deadline: u64,
        common: Arc<Common>,
    ) -> Connection {
        Connection {
            id,
            stream,
            peer,
            state: AtomicU8::new(QUEUED),
            may_have_input: AtomicBool::new(true),
            has_ended: AtomicBool::new(false),
            deadline: AtomicU64::new(deadline),
            has_expired: AtomicBool::new(false),
            is_shed: AtomicBool::new(false),
            unsent: Unsent::new(common.clone()),
            common,
            http2: OnceLock::new(),
            inner: Mutex::new(Inner {
                phase: Phase::Head,
                serial: 0,
                input: Vec::new(),
                consumed: 0,
                search: EndSearch::default(),
                output: Vec::new(),
                written: 0,
                body: Body::Known(0),
                body_bytes: 0,
                fault: None,
                trailers: Vec::new(),
                awaits_since: None,
                expects_continue: false,
                keeps_alive: true,
                has_begun: false,
                coding: BodyCoding::Ignored,
                sent: 0,
                record: None,
            }),
        }
    }

    pub(super) fn id(&self) -> ConnectionId {
        self.id
    }

    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    pub(super) fn descriptor(&self) -> &Arc<OwnedFd> {
        self.stream.descriptor()
    }

    /// Something has happened; whether the connection is to be queued for it.
    pub(super) fn has_event(&self, has_input: bool, has_ended: bool) -> bool {
        if has_ended {
            self.has_ended.store(true, Ordering::SeqCst);
        }
        if has_input || has_ended {
            self.may_have_input.store(true, Ordering::SeqCst);
        }
        self.mark()
    }

    /// Whether nothing would tell that there is something to read, since the event was before.
    fn has_missed_input(&self) -> bool {
        self.may_have_input.load(Ordering::SeqCst) || self.has_ended.load(Ordering::SeqCst)
    }

    pub(super) fn mark(&self) -> bool {
        let mark = |state| match state {
            IDLE => Some(QUEUED),
            BUSY => Some(DIRTY),
            _ => None,
        };
        let update = self
            .state
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, mark);
        update == Ok(IDLE)
    }

    /// Nobody works at it any more. If it is to be looked at again it is `QUEUED`, and this is `false`.
    pub(super) fn rest(&self) -> bool {
        let rested = self
            .state
            .compare_exchange(BUSY, IDLE, Ordering::SeqCst, Ordering::SeqCst);
        if rested.is_err() {
            self.state.store(QUEUED, Ordering::SeqCst);
        }
        rested.is_ok()
    }

    pub(super) fn is_overdue(&self, now: u64, is_stopping: bool) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        let is_late = deadline != 0 && deadline <= now;
        (is_late || is_stopping) && self.state.load(Ordering::SeqCst) == IDLE
    }

    /// Has it looked at because its time is over; whether it is to be queued for that.
    pub(super) fn expire(&self) -> bool {
        self.has_expired.store(true, Ordering::SeqCst);
        self.mark()
    }

    /// Makes it drop its queued output; whether it is to be queued for that.
    pub(super) fn shed(&self) -> bool {
        self.is_shed.store(true, Ordering::SeqCst);
        self.mark()
    }

    pub(super) fn is_shed(&self) -> bool {
        self.is_shed.load(Ordering::SeqCst)
    }

    /// Whether it was to give that up since this was asked last.
    pub(super) fn take_shed(&self) -> bool {
        self.is_shed() && self.is_shed.swap(false, Ordering::SeqCst)
    }

    pub(super) fn body_time(&self) -> u64 {
        self.common.options.body_time.as_millis() as u64
    }

    /// Milliseconds since the last response of a connection that waits for a request.
    fn has_rested_for(&self) -> u64 {
        let idle = self.common.options.idle.as_millis() as u64;
        let deadline = self.deadline.load(Ordering::Relaxed);
        (clock() + idle).saturating_sub(deadline)
    }

    pub(super) fn set_deadline(&self, after: u64) {
        self.deadline.store(clock() + after, Ordering::Relaxed);
    }

    /// Ends both directions.
    pub(super) fn shut_down(&self) {
        if let Some(http2) = self.http2.get() {
            http2.end();
        }
        let mut inner = self.inner.lock();
        inner.output = Vec::new();
        inner.written = 0;
        self.unsent.set(0);
        drop(inner);
        // It may have ended already.
        self.stream.end(Shutdown::Both);
    }

    pub(super) fn advance(&self, scratch: &mut Scratch) -> Advance {
        self.state.store(BUSY, Ordering::SeqCst);
        let mut inner = self.inner.lock();
        if let (Phase::Streams, Some(http2)) = (inner.phase, self.http2.get()) {
            drop(inner);
            return http2.advance(self, scratch);
        }
        if self.has_expired.swap(false, Ordering::SeqCst) && self.ends_by_time(&mut inner) {
            return Advance::Close;
        }
        if self.take_shed() && inner.phase == Phase::Writing {
            if let Some(record) = &mut inner.record {
                record.decide(Outcome::Aborted);
            }
            return Advance::Close;
        }
        loop {
            let next = match inner.phase {
                Phase::Head => self.read_head(&mut inner, scratch),
                Phase::Writing => match self.send(&mut inner) {
                    Sent::All => self.end_of_response(&mut inner),
                    Sent::Some => {
                        // It is read, however slowly.
                        self.set_deadline(self.body_time());
                        Some(Advance::Rest)
                    }
                    Sent::Failed => Some(Advance::Close),
                },
                Phase::Discarding => self.discard(&mut inner, scratch),
                Phase::Lingering => self.linger(scratch),
                // Its handler continues.
                Phase::Handling | Phase::Detached => Some(Advance::Rest),
                Phase::Streams => {
                    // Somebody has it looked at again, if it rests before that.
                    self.mark();
                    Some(Advance::Rest)
                }
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// Handles a connection that took too long, or is to end anyway; returns whether it ends at
    /// once.
    fn ends_by_time(&self, inner: &mut Inner) -> bool {
        let is_late = self.deadline.load(Ordering::Relaxed) <= clock();
        match inner.phase {
            Phase::Handling | Phase::Detached | Phase::Streams => false,
            Phase::Writing | Phase::Discarding if !is_late => false,
            Phase::Head if !inner.unread().is_empty() => {
                if is_late {
                    self.common
                        .counters
                        .timed_out
                        .fetch_add(1, Ordering::Relaxed);
                    let bytes = std::mem::take(&mut inner.input);
                    let slow = Malformed {
                        fault: Fault::Slow,
                        position: 0,
                    };
                    self.refuse(inner, slow, &bytes[inner.consumed..]);
                }
                false
            }
            // It was accepted and may be about to send its first request.
            Phase::Head if !is_late && inner.serial == 0 => false,
            // Its client was answered a moment ago, and may be about to send the next request.
            Phase::Head if !is_late && self.has_rested_for() < GRACE => false,
            // Bytes may have come just now.
            Phase::Head if !is_late => self.stream.is_quiet(),
            phase => {
                self.note_late(inner, phase == Phase::Head && inner.serial == 0);
                self.common
                    .counters
                    .timed_out
                    .fetch_add(1, Ordering::Relaxed);
                true
            }
        }
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // Bytes that come from here on are another event.
        self.may_have_input.store(false, Ordering::SeqCst);
        let count = self.stream.receive(buffer)?;
        // TLS may hold more than it has handed out, of which no event tells.
        if count == buffer.len() || self.stream.is_secure() {
            self.may_have_input.store(true, Ordering::SeqCst);
        }
        self.common
            .counters
            .bytes_in
            .fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.send(bytes)?;
        self.common
            .counters
            .bytes_out
            .fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    /// Reads until there is a head. `None` if the phase has changed.
    fn read_head(&self, inner: &mut Inner, scratch: &mut Scratch) -> Option<Advance> {
        let limits = &self.common.options.head;
        if !inner.unread().is_empty() {
            // Bytes that came with the request before, or a part of this one.
            let unread = inner.unread();
            let count = unread.len().min(scratch.bytes.len());
            scratch.bytes[..count].copy_from_slice(&unread[..count]);
            if inner.search.may_have_ended(&scratch.bytes[..count]) || count >= limits.bytes {
                match self.take_head(inner, scratch, count) {
                    Ok(None) => {}
                    Ok(Some(request)) => return Some(Advance::Request(request)),
                    Err(malformed) => {
                        self.refuse(inner, malformed, &scratch.bytes[..count]);
                        return None;
                    }
                }
            }
        }
        let before = inner.unread().len();
        let room = limits.bytes.min(scratch.bytes.len());
        let count = match self.receive(&mut scratch.bytes[before..room]) {
            Ok(0) => return Some(Advance::Close),
            Ok(count) => count,
            Err(error) if would_block(&error) => return Some(Advance::Rest),
            Err(_) => return Some(Advance::Close),
        };
        if inner.serial == 0 && self.stream.is_secure() && self.has_agreed_on_streams() {
            self.begin_streams(inner, &scratch.bytes[..before + count]);
            return None;
        }
        if before == 0 {
            inner.search = EndSearch::default();
            if inner.serial > 0 {
                self.set_deadline(self.common.options.head_time.as_millis() as u64);
            }
        }
        let read = before + count;
        let may_have_ended = before == 0 || inner.search.may_have_ended(&scratch.bytes[..read]);
        let taken = if may_have_ended || read >= room {
            self.take_head(inner, scratch, read)
        } else {
            Ok(None)
        };
        match taken {
            Ok(Some(request)) => Some(Advance::Request(request)),
            Ok(None) => {
                if before == 0 {
                    inner.search.may_have_ended(&scratch.bytes[..read]);
                }
                inner.consumed = 0;
                inner.input.clear();
                inner.input.extend_from_slice(&scratch.bytes[..read]);
                if self.has_missed_input() {
                    self.mark();
                }
                Some(Advance::Rest)
            }
            Err(_) if self.is_preface(inner, &scratch.bytes[..read]) => {
                self.begin_streams(inner, &scratch.bytes[..read]);
                None
            }
            Err(malformed) => {
                self.refuse(inner, malformed, &scratch.bytes[..read]);
                None
            }
        }
    }

    /// Takes the head at the start of the scratch, if it is whole. The bytes behind it are kept.
    fn take_head(
        &self,
        inner: &mut Inner,
        scratch: &mut Scratch,
        count: usize,
    ) -> Result<Option<Request>, Malformed> {
        let bytes = &scratch.bytes[..count];
        let Some(head) = read_request(bytes, &self.common.options.head)? else {
            return Ok(None);
        };
        let framing = Framing::of_request(bytes, &head)?;
        if let (BodyLength::Known(length), Some(limit)) =
            (framing.body, self.common.options.body_max)
            && length > limit
        {
            return Err(Malformed {
                fault: Fault::BodyLength,
                position: head.length,
            });
        }
        if inner.unread().is_empty() {
            inner.consumed = 0;
            inner.input = bytes[head.length..].to_vec();
        } else if inner.unread().len() == count {
            inner.consume(head.length);
        } else {
            // A part was there before, and the rest has just been read.
            inner.consumed = 0;
            inner.input.clear();
            inner.input.extend_from_slice(&bytes[head.length..]);
        }
        inner.sent = 0;
        let forwarded = self.forwarded(bytes, &head);
        if let Some(observer) = &self.common.observer {
            let version = if head.minor == 0 { "1.0" } else { "1.1" };
            inner.record = Some(observer.begin(bytes, &head, version, forwarded));
        }
        inner.phase = Phase::Handling;
        inner.serial = inner.serial.wrapping_add(1) & 0x0FFF_FFFF;
        inner.search = EndSearch::default();
        inner.body = match framing.body {
            BodyLength::Chunked => Body::Chunked(ChunkReader::default()),
            BodyLength::Known(length) => Body::Known(length),
            BodyLength::UntilEnd => Body::Known(0),
        };
        inner.body_bytes = 0;
        inner.fault = None;
        inner.awaits_since = None;
        inner.trailers = Vec::new();
        inner.expects_continue = framing.expects_continue;
        inner.keeps_alive = framing.keeps_alive;
        inner.has_begun = false;
        self.deadline.store(0, Ordering::Relaxed);
        Ok(Some(Request {
            id: RequestId {
                connection: self.id,
                serial: inner.serial,
            },
            head,
            framing,
            is_secure: self.is_secure_for(forwarded),
            is_http2: false,
        }))
    }

    /// Answers what is no request; the connection ends.
    fn refuse(&self, inner: &mut Inner, malformed: Malformed, bytes: &[u8]) {
        self.common.counters.refused.fetch_add(1, Ordering::Relaxed);
        let status = malformed.fault.status();
        inner.output = plain_response(status, &format!("{malformed}\n"));
        inner.written = 0;
        inner.sent = 0;
        self.note_refused(inner, malformed.fault, bytes);
        inner.keeps_alive = false;
        inner.body = Body::Known(0);
        inner.input = Vec::new();
        inner.consumed = 0;
        inner.phase = Phase::Writing;
        // Further bytes are no request.
        inner.fault = Some(malformed.fault);
        self.set_deadline(self.body_time());
    }

    fn send(&self, inner: &mut Inner) -> Sent {
        while inner.has_output() {
            match self.write(&inner.output[inner.written..]) {
                Ok(count) => {
                    inner.written += count;
                    inner.sent += count as u64;
                }
                Err(error) if would_block(&error) => {
                    self.unsent.set(inner.output.len());
                    return Sent::Some;
                }
                Err(_) => return Sent::Failed,
            }
        }
        inner.output = Vec::new();
        inner.written = 0;
        self.unsent.set(0);
        match self.stream.flush() {
            Ok(true) => Sent::All,
            Ok(false) => Sent::Some,
            Err(_) => Sent::Failed,
        }
    }

    /// The response is out: what comes next on the connection. `None` to continue with the new phase.
    fn end_of_response(&self, inner: &mut Inner) -> Option<Advance> {
        if inner.record.is_some() {
            self.finish(inner, Outcome::Complete);
        }
        if !inner.keeps_alive {
            let is_clean =
                inner.fault.is_none() && inner.body.has_ended() && inner.unread().is_empty();
            if is_clean {
                self.stream.finish();
                return Some(Advance::Close);
            }
            self.stream.end(Shutdown::Write);
            inner.input = Vec::new();
            inner.consumed = 0;
            inner.phase = Phase::Lingering;
            self.set_deadline(LINGER);
            return None;
        }
        if !inner.body.has_ended() {
            inner.phase = Phase::Discarding;
            self.set_deadline(self.body_time());
            return None;
        }
        inner.phase = Phase::Head;
        self.set_deadline(self.common.options.idle.as_millis() as u64);
        // There will be no further event for what is there already: others have their turn first.
        if !inner.unread().is_empty()
            || self.has_missed_input()
            || self.common.is_stopping.load(Ordering::SeqCst)
        {
            self.mark();
        }
        Some(Advance::Rest)
    }

    fn discard(&self, inner: &mut Inner, scratch: &mut Scratch) -> Option<Advance> {
        let is_known_too_long = matches!(inner.body, Body::Known(left) if left > DISCARD_MAX);
        if inner.expects_continue || is_known_too_long {
            // A client that waits for 100 Continue may send a body or not: the bytes that follow are
            // ambiguous.
            inner.keeps_alive = false;
            return self.end_of_response(inner);
        }
        loop {
            match self.read_body(inner, &mut scratch.bytes[..CHUNK_BYTES]) {
                Ok(0) => return self.end_of_response(inner),
                Ok(_) if inner.body_bytes > DISCARD_MAX => {
                    inner.keeps_alive = false;
                    return self.end_of_response(inner);
                }
                Ok(_) => {}
                Err(error) if would_block(&error) => return Some(Advance::Rest),
                Err(_) => return Some(Advance::Close),
            }
        }
    }

    pub(super) fn linger(&self, scratch: &mut Scratch) -> Option<Advance> {
        // So much is certainly no mistake.
        for _ in 0..64 {
            let buffer = &mut scratch.bytes[..CHUNK_BYTES];
            match self.stream.receive(buffer) {
                Ok(0) => return Some(Advance::Close),
                Ok(_) => {}
                Err(error) if would_block(&error) => return Some(Advance::Rest),
                Err(_) => return Some(Advance::Close),
            }
        }
        Some(Advance::Close)
    }

    fn is_current(inner: &Inner, serial: u32) -> bool {
        inner.phase == Phase::Handling && inner.serial == serial
    }

    pub(super) fn is_at(&self, serial: u32) -> bool {
        Connection::is_current(&self.inner.lock(), serial)
    }

    /// Milliseconds that somebody waits for more of a body; the clock is coarse, and was not read by
    /// who waits.
    pub(super) fn patience(&self) -> u64 {
        let time = self.common.options.body_time.as_millis() as u64;
        time.saturating_sub(CLOCK_STEP)
    }

    pub(super) fn fault(&self, serial: u32) -> Option<u16> {
        let inner = self.inner.lock();
        if !Connection::is_current(&inner, serial) {
            return None;
        }
        let is_slow = |since: &u64| clock().saturating_sub(*since) >= self.patience();
        let slow = inner.awaits_since.filter(is_slow);
        let fault = inner.fault.or(slow.map(|_| Fault::Slow))?;
        Some(fault.status())
    }

    pub(super) fn has_begun(&self, serial: u32) -> bool {
        let inner = self.inner.lock();
        inner.has_begun || !Connection::is_current(&inner, serial)
    }

    /// Completes the response with these bytes. `None` if this is not the present request.
    pub(super) fn respond(&self, serial: u32, bytes: &[u8], closes: bool) -> Option<Advance> {
        let mut inner = self.inner.lock();
        if !Connection::is_current(&inner, serial) {
            return None;
        }
        inner.keeps_alive &= !closes;
        inner.phase = Phase::Writing;
        if inner.record.is_some() && !inner.has_begun {
            self.note_answer(&mut inner, bytes);
        }
        let mut rest = bytes;
        if !inner.has_output() {
            // Most often everything goes out at once, without a copy.
            while !rest.is_empty() {
                match self.write(rest) {
                    Ok(count) => {
                        rest = &rest[count..];
                        inner.sent += count as u64;
                    }
                    Err(error) if would_block(&error) => break,
                    Err(_) => return Some(Advance::Close),
                }
            }
        }
        if !rest.is_empty() {
            inner.output.extend_from_slice(rest);
        }
        match self.send(&mut inner) {
            Sent::All => {}
            Sent::Some => {
                self.set_deadline(self.body_time());
                return Some(Advance::Rest);
            }
            Sent::Failed => return Some(Advance::Close),
        }
        match self.end_of_response(&mut inner) {
            Some(next) => Some(next),
            None => {
                self.mark();
                Some(Advance::Rest)
            }
        }
    }

    /// Begins a response whose body is written to a handle.
    pub(super) fn begin_response(
        &self,
        serial: u32,
        head: &[u8],
        coding: BodyCoding,
        closes: bool,
    ) -> Option<()> {
        let mut inner = self.inner.lock();
        if !Connection::is_current(&inner, serial) || inner.has_begun {
            return None;
        }
        inner.keeps_alive &= !closes && coding != BodyCoding::UntilEnd;
        inner.has_begun = true;
        inner.coding = coding;
        // A handler that answers before the body was read may still want it, unless this is a refusal.
        let is_refusal = matches!(head.get(9), Some(b'4' | b'5'));
        if std::mem::take(&mut inner.expects_continue) && !is_refusal {
            inner.output.extend_from_slice(CONTINUE);
        }
        if inner.record.is_some() {
            self.note_answer(&mut inner, head);
        }
        inner.output.extend_from_slice(head);
        self.send(&mut inner);
        Some(())
    }

    pub(super) fn detach(&self, serial: u32) -> Option<()> {
        let mut inner = self.inner.lock();
        if !Connection::is_current(&inner, serial) {
            return None;
        }
        inner.phase = Phase::Detached;
        if inner.record.is_some() {
            self.finish(&mut inner, Outcome::Upgraded);
        }
        self.deadline.store(0, Ordering::Relaxed);
        Some(())
    }
}
