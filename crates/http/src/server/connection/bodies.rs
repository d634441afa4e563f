//! Reads request bodies and writes response bodies of an HTTP/1.1 connection.
//!
//! Every function runs under the connection's lock and never blocks: it fails with `WouldBlock`
//! where the client has to act first. Chunks and lengths are handled here, so that devices see
//! plain bytes. A serial number tells one request of a connection from the next; old ones get an
//! error.

use std::io;

use rustix::net::Shutdown;

use super::{Body, CHUNK_BYTES, CONTINUE, Connection, Inner, Sent, would_block};
use crate::chunked::{LAST_CHUNK, Piece, push_chunk};
use crate::head::Fault;
use crate::server::{BodyCoding, clock};

impl Connection {
    /// Reads of the request's body; 0 is its end.
    pub(super) fn read_body(&self, inner: &mut Inner, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if inner.body.has_ended() || buffer.is_empty() {
                return Ok(0);
            }
            if inner.unread().is_empty()
                && let Body::Known(left) = &mut inner.body
            {
                // Straight to where it is wanted.
                let room = buffer
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                let count = self.receive(&mut buffer[..room])?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left -= count as u64;
                inner.body_bytes += count as u64;
                return Ok(count);
            }
            match self.take_piece(inner, buffer)? {
                Some(count) => return Ok(count),
                None if inner.body.has_ended() => {}
                None => self.fill(inner)?,
            }
        }
    }

    /// Reads of the body for the handler of a request.
    pub(in crate::server) fn read_body_of(
        &self,
        serial: Option<u32>,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let mut inner = self.inner.lock();
        let Some(serial) = serial else {
            return self.read_raw(&mut inner, buffer);
        };
        if !Connection::is_current(&inner, serial) {
            return Err(io::Error::other("the request is over"));
        }
        if inner.expects_continue {
            inner.expects_continue = false;
            inner.output.extend_from_slice(CONTINUE);
            if matches!(self.send(&mut inner), Sent::Failed) {
                self.note_short(&mut inner);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        let answer = self.read_body(&mut inner, buffer);
        match &answer {
            Err(error) if would_block(error) => {
                inner.awaits_since.get_or_insert_with(clock);
            }
            Err(_) if inner.fault.is_none() => self.note_short(&mut inner),
            _ => inner.awaits_since = None,
        }
        let count = answer?;
        let limit = self.common.options.body_max;
        if limit.is_some_and(|limit| inner.body_bytes > limit) {
            inner.fault = Some(Fault::BodyLength);
            inner.keeps_alive = false;
            return Err(io::Error::other(Fault::BodyLength.text()));
        }
        Ok(count)
    }

    /// Nothing more of the body comes. A client that has ended only its own direction still learns why
    /// it gets no other answer.
    fn note_short(&self, inner: &mut Inner) {
        self.note_gone(inner);
        inner.fault = Some(Fault::BodyEnd);
        inner.keeps_alive = false;
    }

    /// Reads what comes, of another protocol.
    fn read_raw(&self, inner: &mut Inner, buffer: &mut [u8]) -> io::Result<usize> {
        if inner.unread().is_empty() {
            return self.receive(buffer);
        }
        let count = inner.unread().len().min(buffer.len());
        buffer[..count].copy_from_slice(&inner.unread()[..count]);
        inner.consume(count);
        Ok(count)
    }

    /// Writes of the body for the handler of a request, as its coding wants it; nothing new while the
    /// other side has not taken what was written before.
    pub(in crate::server) fn write_body_of(
        &self,
        serial: Option<u32>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let mut inner = self.inner.lock();
        let is_raw = serial.is_none();
        let is_open = |serial| Connection::is_current(&inner, serial) && inner.has_begun;
        if !serial.is_none_or(is_open) {
            return Err(io::Error::other("the response is over"));
        }
        match self.send(&mut inner) {
            Sent::All => {}
            Sent::Some => return Err(io::ErrorKind::WouldBlock.into()),
            Sent::Failed => {
                self.note_gone(&mut inner);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        let mut bytes = bytes;
        match &mut inner.coding {
            _ if is_raw => inner.output.extend_from_slice(bytes),
            BodyCoding::Ignored => {}
            BodyCoding::Chunked => push_chunk(&mut inner.output, bytes),
            BodyCoding::UntilEnd => inner.output.extend_from_slice(bytes),
            BodyCoding::Known(0) if !bytes.is_empty() => {
                return Err(io::Error::other(
                    "the body is longer than its Content-Length",
                ));
            }
            BodyCoding::Known(left) => {
                bytes = &bytes[..bytes
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX))];
                *left -= bytes.len() as u64;
                inner.output.extend_from_slice(bytes);
            }
        }
        // The bytes that are not sent now go before those of the next call.
        match self.send(&mut inner) {
            Sent::Failed => {
                self.note_gone(&mut inner);
                Err(io::ErrorKind::BrokenPipe.into())
            }
            Sent::All | Sent::Some => Ok(bytes.len()),
        }
    }

    /// The trailers of the request's body as they came, when that was read to its end.
    pub(in crate::server) fn trailers(&self, serial: u32) -> Vec<u8> {
        let inner = self.inner.lock();
        if Connection::is_current(&inner, serial) {
            inner.trailers.clone()
        } else {
            Vec::new()
        }
    }

    /// The remaining bytes of a response whose body was written; `None` if the body is shorter than
    /// was said.
    pub(in crate::server) fn last_bytes(&self, serial: u32) -> Option<&'static [u8]> {
        let inner = self.inner.lock();
        match inner.coding {
            _ if !(Connection::is_current(&inner, serial) && inner.has_begun) => None,
            BodyCoding::Chunked => Some(LAST_CHUNK),
            BodyCoding::Known(0) | BodyCoding::UntilEnd | BodyCoding::Ignored => Some(b""),
            BodyCoding::Known(_) => None,
        }
    }

    /// Ends what belongs to another protocol: the writing, or both directions.
    pub(in crate::server) fn end_raw(&self, direction: Shutdown) {
        self.stream.end(direction);
    }

    /// Appends what has come to what was read.
    fn fill(&self, inner: &mut Inner) -> io::Result<()> {
        inner.input.drain(..inner.consumed);
        inner.consumed = 0;
        let before = inner.input.len();
        inner.input.resize(before + CHUNK_BYTES, 0);
        let outcome = self.receive(&mut inner.input[before..]);
        inner
            .input
            .truncate(before + outcome.as_ref().copied().unwrap_or(0));
        match outcome {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes bytes of the body from what was read; `None` if more has to be read first, or it has ended.
    fn take_piece(&self, inner: &mut Inner, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let unread = &inner.input[inner.consumed..];
            let piece = match &mut inner.body {
                Body::Known(left) => {
                    let room = buffer
                        .len()
                        .min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let count = room.min(unread.len());
                    *left -= count as u64;
                    Piece::Data(count)
                }
                Body::Chunked(reader) => {
                    let limits = &self.common.options.head;
                    match reader.next(unread, buffer.len(), limits) {
                        Ok(piece) => piece,
                        Err(malformed) => {
                            inner.fault = Some(malformed.fault);
                            inner.keeps_alive = false;
                            return Err(io::Error::other(malformed.fault.text()));
                        }
                    }
                }
            };
            match piece {
                Piece::Data(0) | Piece::More => return Ok(None),
                Piece::Data(count) => {
                    buffer[..count].copy_from_slice(&unread[..count]);
                    inner.consume(count);
                    inner.body_bytes += count as u64;
                    return Ok(Some(count));
                }
                Piece::Skip(count) => inner.consume(count),
                Piece::End(count) => {
                    // More than the line end that is always there.
                    if count > 2 {
                        inner.trailers = unread[..count].to_vec();
                    }
                    inner.consume(count);
                    return Ok(None);
                }
            }
        }
    }
}
