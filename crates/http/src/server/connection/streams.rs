//! Connects a connection that speaks HTTP/2 with its streams: when it begins, timers, records for
//! the observer.
//!
//! A connection speaks HTTP/2 if its first bytes are the preface or TLS negotiated `h2`, and then
//! for its whole life. The protocol itself is in [`crate::server::http2`].

use std::sync::atomic::Ordering;

use rustix::net::Shutdown;

use super::{Connection, Inner, Phase, Sent};
use crate::framing::Framing;
use crate::head::RequestHead;
use crate::proxies::Forwarded;
use crate::server::http2::note::Note;
use crate::server::http2::{Http2, PREFACE};
use crate::server::observer::{Outcome, Record};
use crate::server::{Request, RequestId, ServerOptions};

/// The name of HTTP/2 among the protocols inside of TLS.
const ALPN: &[u8] = b"h2";

impl Connection {
    /// Its streams, if it speaks HTTP/2.
    #[inline]
    pub(in crate::server) fn http2(&self) -> Option<&Http2> {
        self.http2.get().map(|http2| &**http2)
    }

    /// Whether the first bytes of a new connection are the preface of HTTP/2, or a part of it.
    /// Inside of TLS clients have to agree on it before.
    pub(super) fn is_preface(&self, inner: &Inner, bytes: &[u8]) -> bool {
        let count = bytes.len().min(PREFACE.len());
        inner.serial == 0
            && inner.phase == Phase::Head
            && !self.is_secure()
            && self.common.options.streams_max > 0
            && bytes[..count] == PREFACE[..count]
    }

    /// Whether both sides have agreed on HTTP/2 inside of TLS. A client that offers it and does not
    /// speak it answers as HTTP/1 does.
    pub(super) fn has_agreed_on_streams(&self) -> bool {
        self.common.options.streams_max > 0 && self.stream.has_agreed_on(ALPN)
    }

    /// Speaks HTTP/2 from now on, these bytes being the first.
    pub(super) fn begin_streams(&self, inner: &mut Inner, bytes: &[u8]) {
        let counters = &self.common.counters;
        counters.http2.fetch_add(1, Ordering::Relaxed);
        self.http2
            .get_or_init(|| Box::new(Http2::new(&self.common.options, bytes)));
        inner.input = Vec::new();
        inner.consumed = 0;
        inner.phase = Phase::Streams;
    }

    pub(in crate::server) fn options(&self) -> &ServerOptions {
        &self.common.options
    }

    pub(in crate::server) fn is_secure(&self) -> bool {
        self.stream.is_secure()
    }

    pub(in crate::server) fn is_stopping(&self) -> bool {
        self.common.is_stopping.load(Ordering::SeqCst)
    }

    /// Whether its time was found to be over since this was asked last.
    pub(in crate::server) fn take_expiry(&self) -> bool {
        self.has_expired.swap(false, Ordering::SeqCst)
    }

    pub(in crate::server) fn is_late(&self, now: u64) -> bool {
        self.deadline.load(Ordering::Relaxed) <= now
    }

    /// It is looked at then, in milliseconds of the clock; 0 is never.
    pub(in crate::server) fn set_deadline_at(&self, time: u64) {
        self.deadline.store(time, Ordering::Relaxed);
    }

    /// Sends the bytes that TLS holds; returns whether they are out.
    pub(in crate::server) fn flush(&self) -> Sent {
        match self.stream.flush() {
            Ok(true) => Sent::All,
            Ok(false) => Sent::Some,
            Err(_) => Sent::Failed,
        }
    }

    pub(in crate::server) fn end(&self, direction: Shutdown) {
        self.stream.end(direction);
    }

    /// Facts about a request from a trusted proxy.
    pub(in crate::server) fn forwarded(
        &self,
        bytes: &[u8],
        head: &RequestHead,
    ) -> Option<Forwarded> {
        self.common.forwarded(self.peer, bytes, head)
    }

    /// Whether the client speaks TLS, with this server or with a proxy that is trusted.
    pub(in crate::server) fn is_secure_for(&self, forwarded: Option<Forwarded>) -> bool {
        let said = forwarded.and_then(|forwarded| forwarded.is_secure);
        said.unwrap_or_else(|| self.is_secure())
    }

    /// The observer's view of a stream with this head.
    pub(in crate::server) fn note_of_stream(
        &self,
        bytes: &[u8],
        head: &RequestHead,
        forwarded: Option<Forwarded>,
    ) -> Option<Note> {
        let observer = self.common.observer.as_ref()?;
        let record = observer.begin(bytes, head, "2.0", forwarded);
        Some(self.note(record))
    }

    /// The same of one whose head was refused; nothing of that head is kept.
    pub(in crate::server) fn note_of_refused_stream(&self) -> Option<Note> {
        let observer = self.common.observer.as_ref()?;
        Some(self.note(observer.begin_refused(b"", Outcome::Refused)))
    }

    fn note(&self, record: Box<Record>) -> Note {
        Note {
            common: self.common.clone(),
            peer: self.peer.map(|peer| peer.ip()),
            record,
            sent: 0,
        }
    }

    pub(in crate::server) fn count_refusal(&self) {
        let counters = &self.common.counters;
        counters.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(in crate::server) fn count_time_out(&self) {
        let counters = &self.common.counters;
        counters.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    pub(in crate::server) fn request_of_stream(
        &self,
        serial: u32,
        head: RequestHead,
        framing: Framing,
        forwarded: Option<Forwarded>,
    ) -> Request {
        Request {
            id: RequestId {
                connection: self.id,
                serial,
            },
            head,
            framing,
            is_secure: self.is_secure_for(forwarded),
            is_http2: true,
        }
    }
}
