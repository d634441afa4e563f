//! The connection that both directions of a session share.
//!
//! One `rustls` connection stands behind a lock; the handshake, the input and the output device each
//! take it for one step. No step waits: an operation that cannot continue fails with `WouldBlock`,
//! and the caller waits for the descriptor.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use canny_locks::{Mutex, MutexGuard};
use rustix::net::{RecvFlags, SendFlags};
use rustls::Connection;

/// The state of a session, shared by its directions.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) descriptor: Arc<OwnedFd>,
    connection: Mutex<Connection>,
}

impl Shared {
    /// Bytes of the session's state. The buffers inside of it are not known.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Shared>()
    }

    pub(crate) fn new(descriptor: Arc<OwnedFd>, connection: Connection) -> Shared {
        Shared {
            descriptor,
            connection: Mutex::new(connection),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }

    /// Sends what the session has to send, as far as that is possible without waiting. Says whether all
    /// of it was.
    pub(crate) fn send(&self, connection: &mut Connection) -> io::Result<bool> {
        while connection.wants_write() {
            match connection.write_tls(&mut Carrier(self.descriptor.as_fd())) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Receives what there is and takes it apart. Fails with `WouldBlock` if there is nothing. Says
    /// whether there may be more: whether the other side has not ended the connection.
    pub(crate) fn receive(&self, connection: &mut Connection) -> io::Result<bool> {
        let count = loop {
            match connection.read_tls(&mut Carrier(self.descriptor.as_fd())) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        if let Err(error) = connection.process_new_packets() {
            // The other side gets an alert, if it still listens.
            let _ = self.send(connection);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(count > 0)
    }
}

/// A descriptor as what `rustls` reads and writes.
pub(crate) struct Carrier<'d>(pub(crate) BorrowedFd<'d>);

impl Read for Carrier<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (count, _) = rustix::net::recv(self.0, buffer, RecvFlags::DONTWAIT)?;
        Ok(count)
    }
}

impl Write for Carrier<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(self.0, bytes, flags)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
