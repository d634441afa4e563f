//! One stream of an HTTP/2 connection: its request, its response and how far both have got.
//!
//! The connection's lock guards every exchange. No method blocks; methods that send return a
//! `Progress`. When the response is complete, an unread request body is discarded up to a limit,
//! and then the stream is reset.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use canny_sched::Notice;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Response, StatusCode};

use super::messages::{fields_of, response_of};
use super::note::Note;
use crate::head::Fault;
use crate::server::observer::Outcome;
use crate::server::{BodyCoding, clock};

/// So much of a request's body that nobody has read is thrown away before the stream is reset.
const DISCARD_MAX: usize = 256 * 1024;

/// Wakes who waits for a stream.
#[derive(Debug, Default)]
pub(in crate::server) struct Signal(pub(super) Arc<Notice>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.0.give();
    }
}

pub(in crate::server) struct Exchange {
    respond: SendResponse<Bytes>,
    /// Where the body of the response goes, when its head is out and there is one.
    pub(super) send: Option<SendStream<Bytes>>,
    /// Where the body of the request comes from.
    pub(super) receive: Option<RecvStream>,
    /// Bytes of that body that have arrived and were not read.
    pub(super) unread: Bytes,
    pub(super) body_bytes: u64,
    /// So much of it was thrown away.
    discarded: usize,
    pub(super) fault: Option<Fault>,
    expects_continue: bool,
    pub(super) has_begun: bool,
    pub(super) coding: BodyCoding,
    /// The rest of a response that was given as a whole.
    pending: Bytes,
    /// The response is complete and goes out: nobody handles the request any more.
    pub(super) is_complete: bool,
    /// When it takes too long to go out.
    pub(super) deadline: u64,
    signal: Option<Arc<Signal>>,
    /// Since when somebody has waited for more of the body of the request.
    pub(super) awaits_since: Option<u64>,
    pub(super) note: Option<Note>,
    /// Of the request, in the form of HTTP/1, when all of it was read.
    pub(super) trailers: Vec<u8>,
}

/// How far a response has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of it is with the frames.
    Done,
    /// Some more of it is.
    Some,
    /// Nothing more, until the other side takes something.
    None,
    /// The stream has ended.
    Failed,
}

impl Exchange {
    pub(super) fn new(
        respond: SendResponse<Bytes>,
        receive: Option<RecvStream>,
        expects_continue: bool,
    ) -> Exchange {
        Exchange {
            respond,
            send: None,
            receive,
            unread: Bytes::new(),
            body_bytes: 0,
            discarded: 0,
            fault: None,
            expects_continue,
            has_begun: false,
            coding: BodyCoding::Ignored,
            pending: Bytes::new(),
            is_complete: false,
            deadline: 0,
            signal: None,
            awaits_since: None,
            note: None,
            trailers: Vec::new(),
        }
    }

    /// Tasks that wait for the stream wait for this.
    pub(in crate::server) fn signal(&mut self) -> Arc<Signal> {
        self.signal.get_or_insert_default().clone()
    }

    /// Sets the outcome of the request for the observer, unless it is decided.
    pub(super) fn decide(&mut self, outcome: Outcome) {
        if let Some(note) = &mut self.note {
            note.decide(outcome);
        }
    }

    /// So much of the body of the response was taken.
    pub(super) fn note_sent(&mut self, count: usize) {
        if let Some(note) = &mut self.note {
            note.sent += count as u64;
        }
    }

    fn note_answer(&mut self, head: &[u8]) {
        if let Some(note) = &mut self.note {
            note.answer(head);
        }
    }

    /// Why the body of the request could not be read.
    pub(super) fn reason(&self, patience: u64) -> Option<Fault> {
        let is_slow = |since: &u64| clock().saturating_sub(*since) >= patience;
        let slow = self.awaits_since.filter(is_slow).map(|_| Fault::Slow);
        self.fault.or(slow)
    }

    /// Begins a whole response, in the form of HTTP/1.
    pub(super) fn answer(&mut self, bytes: &[u8]) -> Progress {
        let Some((response, length)) = response_of(bytes) else {
            self.reset(Reason::INTERNAL_ERROR);
            return Progress::Failed;
        };
        let body = &bytes[length..];
        self.note_answer(&bytes[..length]);
        self.has_begun = true;
        match self.respond.send_response(response, body.is_empty()) {
            Ok(_) if body.is_empty() => self.discard(),
            Ok(send) => {
                self.send = Some(send);
                self.pending = Bytes::copy_from_slice(body);
                self.proceed()
            }
            Err(_) => Progress::Failed,
        }
    }

    /// Continues with a whole response.
    pub(super) fn proceed(&mut self) -> Progress {
        let mut context = Context::from_waker(Waker::noop());
        let mut progress = Progress::None;
        while !self.pending.is_empty() {
            let Some(send) = &mut self.send else {
                return Progress::Failed;
            };
            send.reserve_capacity(self.pending.len());
            let room = match send.capacity() {
                0 => match send.poll_capacity(&mut context) {
                    Poll::Pending => return progress,
                    Poll::Ready(Some(Ok(room))) => room,
                    Poll::Ready(_) => return Progress::Failed,
                },
                room => room,
            };
            let part = self.pending.split_to(room.min(self.pending.len()));
            let count = part.len();
            if send.send_data(part, self.pending.is_empty()).is_err() {
                return Progress::Failed;
            }
            self.note_sent(count);
            progress = Progress::Some;
        }
        self.discard()
    }

    /// Bytes of a whole response that wait for the client's windows.
    pub(super) fn unsent(&self) -> usize {
        self.pending.len()
    }

    /// Throws away what still comes of the request, up to a limit: many clients take a stream that is
    /// reset for failed, though they have the whole response. A client that waits for 100 Continue gets
    /// it by that.
    pub(super) fn discard(&mut self) -> Progress {
        let mut context = Context::from_waker(Waker::noop());
        let Some(receive) = self.receive.as_mut().filter(|_| !self.expects_continue) else {
            return Progress::Done;
        };
        let mut useless = std::mem::take(&mut self.unread);
        loop {
            self.discarded += useless.len();
            if self.discarded > DISCARD_MAX || receive.is_end_stream() {
                return Progress::Done;
            }
            // It fails when the stream has ended, and then there is nothing to report.
            let _ = receive.flow_control().release_capacity(useless.len());
            match receive.poll_data(&mut context) {
                Poll::Pending => return Progress::None,
                Poll::Ready(Some(Ok(bytes))) => useless = bytes,
                Poll::Ready(None | Some(Err(_))) => return Progress::Done,
            }
        }
    }

    /// Begins a response whose body follows.
    pub(super) fn begin(&mut self, head: &[u8], coding: BodyCoding) -> Option<()> {
        let (response, _) = response_of(head)?;
        // Another protocol cannot take a stream over.
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return None;
        }
        let is_last = coding == BodyCoding::Ignored;
        self.note_answer(head);
        let send = self.respond.send_response(response, is_last).ok()?;
        self.send = Some(send).filter(|_| !is_last);
        self.coding = coding;
        self.has_begun = true;
        Some(())
    }

    /// Ends a response whose body was written; `false` if that is not possible.
    pub(super) fn finish(&mut self, trailers: &[u8]) -> bool {
        match (&mut self.send, self.coding) {
            _ if !self.has_begun => false,
            (_, BodyCoding::Known(1..)) => false,
            (None, _) => true,
            (Some(send), _) if !trailers.is_empty() => {
                // As below.
                let _ = send.send_trailers(fields_of(trailers));
                true
            }
            (Some(send), _) => {
                // If the client has gone there is no receiver.
                let _ = send.send_data(Bytes::new(), true);
                true
            }
        }
    }

    /// Tells the client that it may send the body, if it waits for that.
    pub(super) fn invite(&mut self) {
        if std::mem::take(&mut self.expects_continue) && !self.has_begun {
            let mut response = Response::new(());
            *response.status_mut() = StatusCode::CONTINUE;
            // If the client has gone the attempt to read tells.
            let _ = self.respond.send_informational(response);
        }
    }

    pub(super) fn reset(&mut self, reason: Reason) {
        match &mut self.send {
            Some(send) => send.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    /// Whether the client has given the stream up.
    pub(in crate::server) fn is_reset(&mut self, context: &mut Context<'_>) -> bool {
        let reset = match &mut self.send {
            Some(send) => send.poll_reset(context),
            None if self.has_begun => return false,
            None => self.respond.poll_reset(context),
        };
        reset.is_ready()
    }

    /// Wakes who waits for it, to find that it has ended.
    pub(super) fn wake(&self) {
        if let Some(signal) = &self.signal {
            signal.0.give();
        }
    }
}
