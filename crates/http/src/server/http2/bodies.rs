//! Byte devices for the bodies of HTTP/2 streams.
//!
//! Flow control follows the reader: the client's window grows only by what a program has read.
//! Devices hold the connection weakly and never block. To wait, they give the stream's notice,
//! which the connection rings when data, room or the end of the stream has come.

use std::io;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use canny_io::handle::{Awaited, ByteDevice};
use canny_io::{Access, Handle};
use canny_sched::{Notice, Seen};

use super::Http2;
use super::messages::lines_of;
use crate::head::Fault;
use crate::server::connection::{Connection, would_block};
use crate::server::{BodyCoding, clock};

/// So much is taken at once from who writes.
const WRITE_MAX: usize = 64 * 1024;

fn over(what: &str) -> io::Error {
    io::Error::other(format!("the {what} is over"))
}

impl Http2 {
    /// The notice for tasks that wait for a stream.
    fn notice(&self, serial: u32) -> Option<Arc<Notice>> {
        let mut inner = self.inner.lock();
        Some(inner.handled(serial)?.signal().0.clone())
    }

    /// Reads of a request's body; 0 is its end.
    fn read(&self, connection: &Connection, serial: u32, buffer: &mut [u8]) -> io::Result<usize> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial).ok_or_else(|| over("request"))?;
        exchange.invite();
        let outcome = exchange.read(buffer, connection.options().body_max);
        match &outcome {
            Err(error) if would_block(error) => {
                exchange.awaits_since.get_or_insert_with(clock);
            }
            _ => exchange.awaits_since = None,
        }
        // The other side learns how much more it may send.
        inner.settle(connection, false);
        outcome
    }

    /// Writes of a response's body.
    fn write(&self, connection: &Connection, serial: u32, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner.lock();
        let exchange = inner.handled(serial).filter(|exchange| exchange.has_begun);
        let exchange = exchange.ok_or_else(|| over("response"))?;
        let outcome = exchange.write(bytes);
        inner.settle(connection, false);
        outcome
    }
}

impl super::exchange::Exchange {
    fn read(&mut self, buffer: &mut [u8], limit: Option<u64>) -> io::Result<usize> {
        let signal = Waker::from(self.signal());
        let mut context = Context::from_waker(&signal);
        let Some(receive) = &mut self.receive else {
            return Ok(0);
        };
        while self.unread.is_empty() {
            match receive.poll_data(&mut context) {
                Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
                Poll::Ready(Some(Ok(bytes))) => self.unread = bytes,
                Poll::Ready(Some(Err(error))) => {
                    self.fault.get_or_insert(Fault::BodyEnd);
                    return Err(io::Error::new(io::ErrorKind::ConnectionReset, error));
                }
                Poll::Ready(None) => {
                    // With the end of the data they are there, if they come at all; else it is asked again.
                    return match receive.poll_trailers(&mut context) {
                        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
                        Poll::Ready(Ok(Some(fields))) => {
                            self.trailers = lines_of(&fields);
                            Ok(0)
                        }
                        Poll::Ready(_) => Ok(0),
                    };
                }
            }
        }
        let count = self.unread.len().min(buffer.len());
        self.unread.copy_to_slice(&mut buffer[..count]);
        // It fails when the stream has ended, and then there is nothing to report.
        let _ = receive.flow_control().release_capacity(count);
        self.body_bytes += count as u64;
        if limit.is_some_and(|limit| self.body_bytes > limit) {
            self.fault = Some(Fault::BodyLength);
            return Err(io::Error::other(Fault::BodyLength.text()));
        }
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let signal = Waker::from(self.signal());
        let mut context = Context::from_waker(&signal);
        let mut bytes = bytes;
        match self.coding {
            BodyCoding::Ignored => return Ok(bytes.len()),
            BodyCoding::Known(0) if !bytes.is_empty() => {
                return Err(io::Error::other(
                    "the body is longer than its Content-Length",
                ));
            }
            BodyCoding::Known(left) => {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                bytes = &bytes[..bytes.len().min(left)];
            }
            BodyCoding::Chunked | BodyCoding::UntilEnd => {}
        }
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let send = self.send.as_mut().ok_or_else(gone)?;
        if bytes.is_empty() {
            return Ok(0);
        }
        send.reserve_capacity(bytes.len());
        let room = match send.capacity() {
            0 => match send.poll_capacity(&mut context) {
                Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
                Poll::Ready(Some(Ok(room))) => room,
                Poll::Ready(_) => return Err(gone()),
            },
            room => room,
        };
        let bytes = &bytes[..bytes.len().min(room)];
        let sent = send.send_data(Bytes::copy_from_slice(bytes), false);
        sent.map_err(|_| gone())?;
        if let BodyCoding::Known(left) = &mut self.coding {
            *left -= bytes.len() as u64;
        }
        self.note_sent(bytes.len());
        Ok(bytes.len())
    }
}

/// One direction of a stream.
struct Body {
    /// It does not keep the connection, whose descriptor is closed with it.
    connection: Weak<Connection>,
    serial: u32,
    /// The notice of something to read or of room to write, and its count before the last attempt.
    awaited: Option<(Arc<Notice>, Seen)>,
}

impl Body {
    /// The connection, before an attempt whose failure is waited for.
    fn begin(&mut self) -> io::Result<(Arc<Connection>, u32)> {
        let connection = self.connection.upgrade();
        let connection = connection.ok_or_else(|| over("connection"))?;
        let http2 = connection.http2().ok_or_else(|| over("connection"))?;
        let known = self.awaited.take().map(|(notice, _)| notice);
        let notice = known.or_else(|| http2.notice(self.serial));
        self.awaited = notice.map(|notice| {
            let seen = notice.look();
            (notice, seen)
        });
        Ok((connection, self.serial))
    }

    fn waits_for(&self) -> Option<Awaited> {
        let (notice, seen) = self.awaited.clone()?;
        Some(Awaited::Notice(notice, seen))
    }
}

struct Reader(Body);

impl ByteDevice for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (connection, serial) = self.0.begin()?;
        let http2 = connection.http2().ok_or_else(|| over("connection"))?;
        http2.read(&connection, serial, buffer)
    }

    fn waits_for(&self) -> Option<Awaited> {
        self.0.waits_for()
    }
}

struct Writer(Body);

impl ByteDevice for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (connection, serial) = self.0.begin()?;
        let http2 = connection.http2().ok_or_else(|| over("connection"))?;
        http2.write(&connection, serial, &bytes[..bytes.len().min(WRITE_MAX)])
    }

    fn waits_for(&self) -> Option<Awaited> {
        self.0.waits_for()
    }
}

fn body(connection: &Arc<Connection>, serial: u32) -> Body {
    Body {
        connection: Arc::downgrade(connection),
        serial,
        awaited: None,
    }
}

pub(in crate::server) fn reader(
    connection: &Arc<Connection>,
    serial: u32,
    patience: Duration,
) -> Arc<Handle> {
    let device = Box::new(Reader(body(connection, serial)));
    let handle = Handle::from_device(device, "the body of a request", Access::Read);
    handle.set_timeout(Some(patience));
    handle
}

pub(in crate::server) fn writer(
    connection: &Arc<Connection>,
    serial: u32,
    patience: Duration,
) -> Arc<Handle> {
    let device = Box::new(Writer(body(connection, serial)));
    let handle = Handle::from_device(device, "the body of a response", Access::Write);
    handle.set_timeout(Some(patience));
    handle
}
