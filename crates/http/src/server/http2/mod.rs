//! A connection that speaks HTTP/2 (RFC 9113): streams, each of which is a request with its response.
//!
//! Frames, compression of heads, flow control and the defence against clients that misuse them are
//! the crate `h2`'s. Its state machine is driven by hand over memory ([`pipe`]): it is fed the
//! bytes that were read, it is polled until it has nothing more to do, and its output is sent. It
//! wakes only tasks that wait for the body of a stream; everything else is polled anyway.
//!
//! A stream is known to others by the connection's number and its own. Unlike with HTTP/1, no task
//! owns the connection while a request is handled: it rests and is looked at when something
//! happens. Every task that answers a request or moves a part of a body drives it under its lock.
//!
//! One request is looked ahead for. If there is one, earlier answers are held back, to be sent with
//! the next answers: they go out before the last request is handed out at the latest.
//!
//! As many requests are handled at once as the client may have streams open, including those that
//! it has reset meanwhile. Further ones stay with the state machine, which ends a connection that
//! resets many of them. They also stay there while many answered bytes wait for the client's
//! windows (`unsent.rs`).

mod blocks;
pub(super) mod bodies;
mod exchange;
mod messages;
pub(super) mod note;
mod pipe;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use ::http::Request as Incoming;
use bytes::Bytes;
use canny_locks::Mutex;
use h2::server::{Builder, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use rustix::net::Shutdown;

use super::connection::{Advance, Connection, LINGER, Sent, would_block};
use super::observer::Outcome;
use super::{BodyCoding, Request, Scratch, ServerOptions, clock};
use crate::framing::{BodyLength, Framing};
use crate::head::{Fault, Malformed, RequestHead};
use crate::response::plain_response;
use exchange::{Exchange, Progress};
use pipe::PipeEnd;

/// The first bytes of a client.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of one stream that a client may send before they are read.
const STREAM_WINDOW: u32 = 128 * 1024;

/// Bytes of all streams of a connection together.
const CONNECTION_WINDOW: u32 = 512 * 1024;

/// Bytes of one stream that wait in the state machine to be sent.
const SEND_BUFFER: usize = 64 * 1024;

/// Bytes that are read at once.
const READ_BYTES: usize = 32 * 1024;

/// So often a connection is read from before others have their turn.
const TURNS_MAX: usize = 16;

/// Held answers are sent when they are so many bytes.
const HELD_MAX: usize = 32 * 1024;

/// The size that the specification adds for a field to its name and value.
const FIELD_OVERHEAD: usize = 32;

enum Protocol {
    /// The preface has not come.
    Greeting(Handshake<PipeEnd, Bytes>),
    Open(h2::server::Connection<PipeEnd, Bytes>),
    /// Only the rest of the output is to be sent.
    Ended,
}

pub(super) struct Inner {
    protocol: Protocol,
    pipe: PipeEnd,
    /// The request after the one that was given out.
    next: Option<(Incoming<RecvStream>, SendResponse<Bytes>)>,
    exchanges: HashMap<u32, Box<Exchange>>,
    exchanges_max: usize,
    /// Those whose responses are complete and wait for room, or for the end of the request.
    writing: Vec<u32>,
    /// The state machine got an input and was not polled since.
    has_news: bool,
    /// Requests were left where they are, since as many as allowed are handled.
    is_saturated: bool,
    /// The client was notified that no more requests are taken.
    is_leaving: bool,
    /// The last byte was sent; further input is thrown away.
    is_lingering: bool,
    /// Writing has failed.
    has_failed: bool,
    /// When it takes too long, 0 for never: that output is taken, that a head ends, that a request comes.
    stalled: u64,
    head: u64,
    idle: u64,
    /// The number of the head to which that time limit belongs.
    block: Option<u64>,
}

/// The state of a connection that speaks HTTP/2.
pub(super) struct Http2 {
    pub(super) inner: Mutex<Inner>,
}

/// The result of answering.
pub(super) struct Answered {
    /// The connection is to be looked at.
    pub(super) wants_attention: bool,
}

impl Http2 {
    /// A connection of which these bytes were read.
    pub(super) fn new(options: &ServerOptions, first: &[u8]) -> Http2 {
        let pipe = PipeEnd::default();
        pipe.lock().feed(first);
        let list_bytes = options.head.bytes + options.head.fields * FIELD_OVERHEAD;
        let streams_max = u32::try_from(options.streams_max).unwrap_or(u32::MAX);
        let greeting = Builder::new()
            .max_concurrent_streams(streams_max)
            .max_header_list_size(u32::try_from(list_bytes).unwrap_or(u32::MAX))
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(SEND_BUFFER)
            .handshake(pipe.clone());
        Http2 {
            inner: Mutex::new(Inner {
                protocol: Protocol::Greeting(greeting),
                pipe,
                next: None,
                exchanges: HashMap::new(),
                exchanges_max: options.streams_max,
                writing: Vec::new(),
                has_news: true,
                is_saturated: false,
                is_leaving: false,
                is_lingering: false,
                has_failed: false,
                stalled: 0,
                head: clock() + options.head_time.as_millis() as u64,
                idle: 0,
                block: None,
            }),
        }
    }

    pub(super) fn advance(&self, connection: &Connection, scratch: &mut Scratch) -> Advance {
        let mut inner = self.inner.lock();
        if connection.take_expiry() && inner.expire(connection) {
            return Advance::Close;
        }
        if connection.take_shed() {
            inner.shed(connection);
        }
        // Nothing is left to be read: bytes that come from now on are another event.
        let mut is_drained = false;
        for _ in 0..TURNS_MAX {
            if inner.is_lingering {
                return connection.linger(scratch).unwrap_or(Advance::Rest);
            }
            if !inner.is_quiet()
                && let Some(request) = inner.take_request(connection, scratch)
            {
                let is_followed = inner.next.is_some();
                // Looking for another one has polled.
                inner.has_news = false;
                if is_followed || inner.pipe.lock().output().is_empty() {
                    inner.schedule(connection);
                } else {
                    inner.settle(connection, false);
                }
                if is_followed || !is_drained || inner.is_ended() {
                    connection.mark();
                }
                return Advance::Stream(request);
            }
            let had_input = inner.pipe.lock().has_input();
            let is_out = inner.is_quiet() || inner.settle(connection, false);
            if inner.is_ended() {
                if inner.has_failed || inner.pipe.lock().has_ended {
                    return Advance::Close;
                }
                connection.end(Shutdown::Write);
                inner.is_lingering = true;
                connection.set_deadline(LINGER);
                continue;
            }
            if inner.is_saturated && is_out && !inner.is_at_limit(connection) {
                // The bytes that were just sent made room for the requests that were left.
                continue;
            }
            if had_input {
                if is_out {
                    continue;
                }
                // It is taken when there is room for the answers.
                return Advance::Rest;
            }
            if is_drained {
                return Advance::Rest;
            }
            match connection.receive(&mut scratch.bytes[..READ_BYTES]) {
                Ok(0) => inner.pipe.lock().has_ended = true,
                Ok(count) => {
                    inner.pipe.lock().feed(&scratch.bytes[..count]);
                    inner.has_news = true;
                    is_drained = count < READ_BYTES && !connection.is_secure();
                }
                Err(error) if would_block(&error) => return Advance::Rest,
                Err(_) => return Advance::Close,
            }
        }
        connection.mark();
        Advance::Rest
    }

    /// Sends a whole response; `None` if nobody handles such a request.
    pub(super) fn respond(
        &self,
        connection: &Connection,
        serial: u32,
        bytes: &[u8],
    ) -> Option<Answered> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial).filter(|it| !it.has_begun)?;
        let progress = exchange.answer(bytes);
        inner.answered(connection, serial, progress);
        let is_followed = inner.next.is_some();
        Some(inner.conclude(connection, is_followed))
    }

    /// Begins a response whose body follows.
    pub(super) fn begin(
        &self,
        connection: &Connection,
        serial: u32,
        head: &[u8],
        coding: BodyCoding,
    ) -> Option<()> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial).filter(|it| !it.has_begun)?;
        exchange.begin(head, coding)?;
        inner.settle(connection, false);
        Some(())
    }

    /// Ends a response whose body was written; `None` if that is not possible, and then it is to be aborted.
    pub(super) fn finish(
        &self,
        connection: &Connection,
        serial: u32,
        trailers: &[u8],
    ) -> Option<Answered> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial)?;
        if !exchange.finish(trailers) {
            return None;
        }
        let progress = exchange.discard();
        inner.answered(connection, serial, progress);
        Some(inner.conclude(connection, false))
    }

    /// Tells the client that it does not get a response, or not all of it.
    pub(super) fn abort(&self, connection: &Connection, serial: u32) -> Option<Answered> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial)?;
        exchange.decide(Outcome::Aborted);
        exchange.reset(Reason::INTERNAL_ERROR);
        inner.exchanges.remove(&serial);
        Some(inner.conclude(connection, false))
    }

    /// Why the body of a request could not be read; who waits has this patience.
    pub(super) fn fault(&self, serial: u32, patience: u64) -> Option<u16> {
        let mut inner = self.inner.lock();
        inner.handled(serial)?.reason(patience).map(Fault::status)
    }

    /// The trailers of a request, in the form of HTTP/1.
    pub(super) fn trailers(&self, serial: u32) -> Vec<u8> {
        let mut inner = self.inner.lock();
        inner
            .handled(serial)
            .map_or(Vec::new(), |exchange| exchange.trailers.clone())
    }

    /// The connection has ended, and so have its streams.
    pub(super) fn conclude(&self, outcome: Outcome) {
        for exchange in self.inner.lock().exchanges.values_mut() {
            exchange.decide(outcome);
            exchange.note = None;
        }
    }

    pub(super) fn has_begun(&self, serial: u32) -> bool {
        let mut inner = self.inner.lock();
        inner.handled(serial).is_none_or(|it| it.has_begun)
    }

    /// Nothing is read or written any more.
    pub(super) fn end(&self) {
        let mut inner = self.inner.lock();
        inner.protocol = Protocol::Ended;
        inner.next = None;
        inner.writing = Vec::new();
        inner.exchanges.retain(|_, exchange| !exchange.is_complete);
        for exchange in inner.exchanges.values() {
            exchange.wake();
        }
    }
}

impl Inner {
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.protocol, Protocol::Ended)
    }

    /// Whether there is nothing to do without more input.
    fn is_quiet(&self) -> bool {
        let is_open = matches!(self.protocol, Protocol::Open(_));
        let is_still = self.next.is_none() && self.writing.is_empty() && !self.is_saturated;
        is_open && is_still && self.stalled == 0 && !self.has_news && self.pipe.lock().is_quiet()
    }

    /// Whether no further requests are taken: as many as allowed are handled, or too much waits for the
    /// client.
    fn is_at_limit(&self, connection: &Connection) -> bool {
        self.exchanges.len() >= self.exchanges_max
            || connection.unsent.get() >= connection.options().unsent_per_connection
    }

    /// The exchange of a request that somebody handles.
    pub(super) fn handled(&mut self, serial: u32) -> Option<&mut Exchange> {
        let exchange = self.exchanges.get_mut(&serial)?;
        Some(&mut **exchange).filter(|exchange| !exchange.is_complete)
    }

    /// Has the state machine do what it can.
    fn poll(&mut self) {
        self.has_news = false;
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let is_over = match &mut self.protocol {
                Protocol::Greeting(greeting) => match Pin::new(greeting).poll(&mut context) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(connection)) => {
                        self.protocol = Protocol::Open(connection);
                        self.head = 0;
                        continue;
                    }
                    Poll::Ready(Err(_)) => true,
                },
                Protocol::Open(connection) => connection.poll_closed(&mut context).is_ready(),
                Protocol::Ended => return,
            };
            if !is_over {
                return;
            }
            self.protocol = Protocol::Ended;
            self.next = None;
        }
    }

    /// The next request that the state machine has.
    fn accept(&mut self) -> Option<(Incoming<RecvStream>, SendResponse<Bytes>)> {
        if let Protocol::Greeting(_) = self.protocol {
            self.poll();
        }
        let Protocol::Open(connection) = &mut self.protocol else {
            return None;
        };
        let mut context = Context::from_waker(Waker::noop());
        match connection.poll_accept(&mut context) {
            Poll::Ready(Some(Ok(incoming))) => Some(incoming),
            Poll::Pending => None,
            Poll::Ready(None | Some(Err(_))) => {
                self.protocol = Protocol::Ended;
                None
            }
        }
    }

    /// The next request that is one; others are answered here.
    fn take_request(&mut self, connection: &Connection, scratch: &mut Scratch) -> Option<Request> {
        loop {
            self.is_saturated = self.is_at_limit(connection);
            if self.is_saturated {
                return None;
            }
            let incoming = self.next.take();
            let (incoming, respond) = incoming.or_else(|| self.accept())?;
            self.next = self.accept();
            if self.is_ended() {
                self.next = None;
            }
            let serial = respond.stream_id().as_u32();
            let (parts, receive) = incoming.into_parts();
            let has_body = !receive.is_end_stream();
            let options = connection.options();
            let read = messages::read_head(&parts, &mut scratch.bytes, &options.head, has_body);
            let read = read.and_then(|(head, framing)| within_limit(options, head, framing));
            let receive = Some(receive).filter(|_| has_body);
            let expects = read
                .as_ref()
                .is_ok_and(|(_, framing)| framing.expects_continue);
            let mut exchange = Box::new(Exchange::new(respond, receive, expects));
            match read {
                Ok((head, framing)) => {
                    let forwarded = connection.forwarded(&scratch.bytes, &head);
                    exchange.note = connection.note_of_stream(&scratch.bytes, &head, forwarded);
                    self.exchanges.insert(serial, exchange);
                    return Some(connection.request_of_stream(serial, head, framing, forwarded));
                }
                Err(malformed) => {
                    connection.count_refusal();
                    exchange.note = connection.note_of_refused_stream();
                    let status = malformed.fault.status();
                    let progress =
                        exchange.answer(&plain_response(status, &format!("{malformed}\n")));
                    self.exchanges.insert(serial, exchange);
                    self.answered(connection, serial, progress);
                }
            }
        }
    }

    /// Handles a stream after its whole response was given.
    fn answered(&mut self, connection: &Connection, serial: u32, progress: Progress) {
        match progress {
            Progress::Done | Progress::Failed => self.drop_exchange(serial, progress),
            Progress::Some | Progress::None => {
                if let Some(exchange) = self.exchanges.get_mut(&serial) {
                    exchange.is_complete = true;
                    exchange.deadline = clock() + connection.body_time();
                    self.writing.push(serial);
                }
            }
        }
    }

    fn drop_exchange(&mut self, serial: u32, progress: Progress) {
        if let Some(mut exchange) = self.exchanges.remove(&serial)
            && progress == Progress::Done
        {
            exchange.decide(Outcome::Complete);
        }
    }

    /// Continues with whole responses; whether there was anything to do.
    fn proceed(&mut self, connection: &Connection) -> bool {
        let mut has_proceeded = false;
        let mut index = 0;
        while let Some(serial) = self.writing.get(index) {
            let exchange = self.exchanges.get_mut(serial);
            let progress = exchange.map_or(Progress::Failed, |exchange| {
                let progress = exchange.proceed();
                if progress == Progress::Some {
                    exchange.deadline = clock() + connection.body_time();
                }
                progress
            });
            has_proceeded |= progress != Progress::None;
            if matches!(progress, Progress::Done | Progress::Failed) {
                let serial = self.writing.swap_remove(index);
                self.drop_exchange(serial, progress);
            } else {
                index += 1;
            }
        }
        self.count_unsent(connection);
        has_proceeded
    }

    /// Notes how much waits for the client's windows.
    fn count_unsent(&self, connection: &Connection) {
        let waiting = self.writing.iter();
        let waiting = waiting.filter_map(|serial| self.exchanges.get(serial));
        connection.unsent.set(waiting.map(|it| it.unsent()).sum());
    }

    /// Gives up what waits for the client's windows.
    fn shed(&mut self, connection: &Connection) {
        self.has_news = true;
        let mut writing = std::mem::take(&mut self.writing);
        writing.retain(|serial| {
            let Some(exchange) = self.exchanges.get_mut(serial) else {
                return false;
            };
            if exchange.unsent() == 0 {
                return true;
            }
            exchange.decide(Outcome::Aborted);
            exchange.reset(Reason::ENHANCE_YOUR_CALM);
            self.exchanges.remove(serial);
            false
        });
        self.writing = writing;
        self.count_unsent(connection);
    }

    /// Does what can be done without more input, and sends what came of it, unless that is to be held
    /// back. Whether everything is out.
    fn settle(&mut self, connection: &Connection, holds: bool) -> bool {
        let is_out = loop {
            let has_proceeded = self.proceed(connection);
            self.poll();
            if holds && self.pipe.lock().output().len() < HELD_MAX {
                break true;
            }
            match self.send(connection) {
                Sent::All => {
                    self.stalled = 0;
                    let was_full = std::mem::take(&mut self.pipe.lock().is_full);
                    if !was_full && !has_proceeded {
                        break true;
                    }
                }
                Sent::Some => break false,
                Sent::Failed => {
                    self.has_failed = true;
                    self.protocol = Protocol::Ended;
                    break true;
                }
            }
        };
        self.schedule(connection);
        is_out
    }

    fn send(&mut self, connection: &Connection) -> Sent {
        let mut pipe = self.pipe.lock();
        let mut is_any = false;
        let sent = loop {
            if pipe.output().is_empty() {
                break connection.flush();
            }
            match connection.write(pipe.output()) {
                Ok(count) => {
                    pipe.sent(count);
                    is_any = true;
                }
                Err(error) if would_block(&error) => break Sent::Some,
                Err(_) => break Sent::Failed,
            }
        };
        if matches!(sent, Sent::Some) && (is_any || self.stalled == 0) {
            self.stalled = clock() + connection.body_time();
        }
        sent
    }

    /// Notes when the connection is to be looked at although nothing has happened.
    fn schedule(&mut self, connection: &Connection) {
        if self.is_lingering {
            return;
        }
        let options = connection.options();
        let now = clock();
        let block = self.pipe.lock().blocks.open_block();
        if block != self.block {
            self.block = block;
            self.head = match block {
                Some(_) => now + options.head_time.as_millis() as u64,
                None => 0,
            };
        }
        let is_idle = self.exchanges.is_empty() && self.next.is_none();
        if !is_idle {
            self.idle = 0;
        } else if self.idle == 0 {
            let patience = if self.is_leaving {
                LINGER
            } else {
                options.idle.as_millis() as u64
            };
            self.idle = now + patience;
        }
        let writing = self.writing.iter().filter_map(|serial| {
            let exchange = self.exchanges.get(serial)?;
            Some(exchange.deadline)
        });
        let deadlines = [self.stalled, self.head, self.idle];
        let first = deadlines.into_iter().filter(|time| *time != 0);
        connection.set_deadline_at(first.chain(writing).min().unwrap_or(0));
    }

    /// Says that no more requests are taken; those that were are answered.
    fn leave(&mut self) {
        if std::mem::replace(&mut self.is_leaving, true) {
            return;
        }
        self.idle = 0;
        if let Protocol::Open(connection) = &mut self.protocol {
            connection.graceful_shutdown();
        }
    }

    /// Does something about what has taken too long; whether the connection ends at once.
    fn expire(&mut self, connection: &Connection) -> bool {
        self.has_news = true;
        let now = clock();
        let is_late = |deadline: u64| deadline != 0 && deadline <= now;
        if self.is_lingering {
            return connection.is_late(now);
        }
        if connection.is_stopping() && !self.is_leaving {
            if let Protocol::Greeting(_) = self.protocol {
                return is_late(self.head);
            }
            self.leave();
        }
        if is_late(self.stalled) || is_late(self.head) {
            connection.count_time_out();
            return true;
        }
        if is_late(self.idle) {
            if self.is_leaving {
                return true;
            }
            connection.count_time_out();
            self.leave();
        }
        for index in (0..self.writing.len()).rev() {
            let serial = self.writing[index];
            let Some(exchange) = self.exchanges.get_mut(&serial) else {
                continue;
            };
            if is_late(exchange.deadline) {
                connection.count_time_out();
                exchange.decide(Outcome::TimedOut);
                exchange.reset(Reason::CANCEL);
                self.exchanges.remove(&serial);
                self.writing.swap_remove(index);
            }
        }
        self.count_unsent(connection);
        false
    }

    /// Finishes the work on an answer.
    fn conclude(&mut self, connection: &Connection, holds: bool) -> Answered {
        let had_input = self.pipe.lock().has_input();
        self.settle(connection, holds);
        Answered {
            wants_attention: had_input || self.is_saturated || self.is_ended(),
        }
    }
}

/// Refuses a request whose body is known to be too long.
fn within_limit(
    options: &ServerOptions,
    head: RequestHead,
    framing: Framing,
) -> Result<(RequestHead, Framing), Malformed> {
    match (framing.body, options.body_max) {
        (BodyLength::Known(length), Some(limit)) if length > limit => Err(Malformed {
            fault: Fault::BodyLength,
            position: head.length,
        }),
        _ => Ok((head, framing)),
    }
}
