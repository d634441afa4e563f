//! Byte devices for request and response bodies, and for whole connections after an upgrade.
//!
//! A device of a body holds its connection weakly: the server may close the connection while a
//! program still has the port, which then gets an error. A device of a detached connection owns it.
//! Reads and writes never block; `waits_for` says which descriptor to wait for.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

use canny_io::handle::{Awaited, ByteDevice};
use canny_io::{Access, Handle};
use rustix::net::Shutdown;

use super::connection::Connection;

/// So much is taken at once from a writer.
const WRITE_MAX: usize = 64 * 1024;

/// The part of a connection that a device reads or writes.
enum Side {
    /// The body of a request, or of its response. It does not keep the connection: when the server
    /// closes that, its descriptor is closed even if a port is still open.
    Body(Weak<Connection>, u32),
    /// A connection of another protocol, which is nobody else's.
    Whole(Arc<Connection>),
}

impl Side {
    fn connection(&self) -> io::Result<(Option<u32>, Cow<'_, Arc<Connection>>)> {
        match self {
            Side::Whole(connection) => Ok((None, Cow::Borrowed(connection))),
            Side::Body(connection, serial) => match connection.upgrade() {
                Some(connection) => Ok((Some(*serial), Cow::Owned(connection))),
                None => Err(io::Error::other("the request is over")),
            },
        }
    }

    fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        let (_, connection) = self.connection().ok()?;
        Some(connection.descriptor().clone())
    }

    fn end(&self, direction: Shutdown) {
        if let Side::Whole(connection) = self {
            connection.end_raw(direction);
        }
    }
}

struct BodyReader(Side);

impl ByteDevice for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (serial, connection) = self.0.connection()?;
        connection.read_body_of(serial, buffer)
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Readable(self.0.descriptor()?))
    }

    fn close(&mut self) -> io::Result<()> {
        self.0.end(Shutdown::Read);
        Ok(())
    }
}

struct BodyWriter(Side);

impl ByteDevice for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (serial, connection) = self.0.connection()?;
        connection.write_body_of(serial, &bytes[..bytes.len().min(WRITE_MAX)])
    }

    fn flush(&mut self) -> io::Result<()> {
        let (serial, connection) = self.0.connection()?;
        connection.write_body_of(serial, &[]).map(|_| ())
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Writable(self.0.descriptor()?))
    }

    fn close(&mut self) -> io::Result<()> {
        self.0.end(Shutdown::Write);
        Ok(())
    }
}

fn limited(handle: Arc<Handle>, patience: Duration) -> Arc<Handle> {
    handle.set_timeout(Some(patience));
    handle
}

pub(super) fn reader(connection: &Arc<Connection>, serial: u32, patience: Duration) -> Arc<Handle> {
    let device = BodyReader(Side::Body(Arc::downgrade(connection), serial));
    let handle = Handle::from_device(Box::new(device), "the body of a request", Access::Read);
    limited(handle, patience)
}

pub(super) fn writer(connection: &Arc<Connection>, serial: u32, patience: Duration) -> Arc<Handle> {
    let device = BodyWriter(Side::Body(Arc::downgrade(connection), serial));
    let handle = Handle::from_device(Box::new(device), "the body of a response", Access::Write);
    limited(handle, patience)
}

/// Both directions of a connection that was detached. Its owner may wait for the other side to say
/// something, but that side has to take what it is sent in time.
pub(super) fn whole(connection: Arc<Connection>, patience: Duration) -> (Arc<Handle>, Arc<Handle>) {
    let reader = BodyReader(Side::Whole(connection.clone()));
    let writer = BodyWriter(Side::Whole(connection));
    let writer = Handle::from_device(Box::new(writer), "a connection", Access::Write);
    (
        Handle::from_device(Box::new(reader), "a connection", Access::Read),
        limited(writer, patience),
    )
}
