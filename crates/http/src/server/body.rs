//! Bodies, and whole connections of other protocols, as devices of handles.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use canny_io::device::{Awaited, ByteDevice};
use canny_io::{Access, Handle};
use rustix::net::Shutdown;

use super::connection::Connection;

/// So much is taken at once from who writes.
const WRITE_MAX: usize = 64 * 1024;

struct BodyReader {
    connection: Arc<Connection>,
    /// Of which request the body is; none for a connection of another protocol.
    serial: Option<u32>,
}

impl ByteDevice for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.connection.read_body_of(self.serial, buffer)
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Readable(self.connection.descriptor().clone()))
    }

    fn close(&mut self) -> io::Result<()> {
        if self.serial.is_none() {
            self.connection.end_raw(Shutdown::Read);
        }
        Ok(())
    }
}

struct BodyWriter {
    connection: Arc<Connection>,
    /// Of which request the body is; none for a connection of another protocol.
    serial: Option<u32>,
}

impl ByteDevice for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection
            .write_body_of(self.serial, &bytes[..bytes.len().min(WRITE_MAX)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.write_body_of(self.serial, &[]).map(|_| ())
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Writable(self.connection.descriptor().clone()))
    }

    fn close(&mut self) -> io::Result<()> {
        if self.serial.is_none() {
            self.connection.end_raw(Shutdown::Write);
        }
        Ok(())
    }
}

fn limited(handle: Arc<Handle>, patience: Duration) -> Arc<Handle> {
    handle.set_timeout(Some(patience));
    handle
}

pub(super) fn reader(connection: Arc<Connection>, serial: u32, patience: Duration) -> Arc<Handle> {
    let device = BodyReader {
        connection,
        serial: Some(serial),
    };
    let handle = Handle::from_device(Box::new(device), "the body of a request", Access::Read);
    limited(handle, patience)
}

pub(super) fn writer(connection: Arc<Connection>, serial: u32, patience: Duration) -> Arc<Handle> {
    let device = BodyWriter {
        connection,
        serial: Some(serial),
    };
    let handle = Handle::from_device(Box::new(device), "the body of a response", Access::Write);
    limited(handle, patience)
}

/// Both directions of a connection that was detached.
pub(super) fn whole(connection: Arc<Connection>) -> (Arc<Handle>, Arc<Handle>) {
    let reader = BodyReader {
        connection: connection.clone(),
        serial: None,
    };
    let writer = BodyWriter {
        connection,
        serial: None,
    };
    (
        Handle::from_device(Box::new(reader), "a connection", Access::Read),
        Handle::from_device(Box::new(writer), "a connection", Access::Write),
    )
}
