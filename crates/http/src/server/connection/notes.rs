//! Reports a connection's requests to the server's observer, for its log and measurements.
//!
//! Each request is reported exactly once, with one outcome: the first one that is noted counts.
//! Without an observer these functions do nothing. None of them changes what the connection does.

use std::time::Duration;

use super::{Connection, Inner, Phase};
use crate::head::Fault;
use crate::server::clock;
use crate::server::observer::Outcome;

impl Connection {
    /// The request, or what was none, is over.
    pub(super) fn finish(&self, inner: &mut Inner, outcome: Outcome) {
        if let (Some(observer), Some(record)) = (&self.common.observer, inner.record.take()) {
            let peer = self.peer.map(|peer| peer.ip());
            observer.finish(&record, peer, inner.sent, outcome);
        }
    }

    /// A response begins with these bytes, which go out behind what waits to be sent.
    pub(super) fn note_answer(&self, inner: &mut Inner, bytes: &[u8]) {
        let waiting = inner.output.len() - inner.written;
        if let (Some(observer), Some(record)) = (&self.common.observer, &mut inner.record) {
            observer.answer(record, bytes, inner.sent + waiting as u64);
        }
    }

    /// The input was refused, and the answer is about to be sent.
    pub(super) fn note_refused(&self, inner: &mut Inner, fault: Fault, bytes: &[u8]) {
        let Some(observer) = &self.common.observer else {
            return;
        };
        let is_slow = fault == Fault::Slow;
        let outcome = if is_slow {
            Outcome::TimedOut
        } else {
            Outcome::Refused
        };
        let mut record = observer.begin_refused(bytes, outcome);
        if is_slow {
            record.has_lasted(self.time_since_head_began());
        }
        inner.record = Some(record);
        let output = std::mem::take(&mut inner.output);
        self.note_answer(inner, &output);
        inner.output = output;
    }

    /// How long ago the time of a head began to run.
    fn time_since_head_began(&self) -> Duration {
        let deadline = self.deadline.load(std::sync::atomic::Ordering::Relaxed);
        let past = clock().saturating_sub(deadline);
        self.common.options.head_time + Duration::from_millis(past)
    }

    /// The connection ends because it took too long; one on which nothing has come has a note of its own.
    pub(super) fn note_late(&self, inner: &mut Inner, is_silent: bool) {
        if let Some(record) = &mut inner.record {
            record.decide(Outcome::TimedOut);
        } else if let (true, Some(observer)) = (is_silent, &self.common.observer) {
            let mut record = observer.begin_refused(b"", Outcome::TimedOut);
            record.has_lasted(self.time_since_head_began());
            inner.record = Some(record);
        }
    }

    /// The other side does not read or write any more.
    pub(super) fn note_gone(&self, inner: &mut Inner) {
        if let Some(record) = &mut inner.record {
            record.decide(Outcome::ClientGone);
        }
    }

    /// Says how the request ends, unless that is known.
    pub(in crate::server) fn decide(&self, outcome: Outcome) {
        if let Some(record) = &mut self.inner.lock().record {
            record.decide(outcome);
        }
    }

    /// The connection has ended, and so has what it was at.
    pub(in crate::server) fn conclude(&self, outcome: Outcome) {
        if let Some(http2) = self.http2() {
            http2.conclude(outcome);
            return;
        }
        let mut inner = self.inner.lock();
        let is_part_of_head = inner.phase == Phase::Head && !inner.unread().is_empty();
        if let (true, None, Some(observer)) =
            (is_part_of_head, &inner.record, &self.common.observer)
        {
            inner.record = Some(observer.begin_refused(inner.unread(), outcome));
            inner.sent = 0;
        }
        self.finish(&mut inner, outcome);
    }
}
