//! The bytes of a server's connection, with or without TLS, behind one interface.
//!
//! The descriptor does not block, and neither does any method: `WouldBlock` says that poller and
//! handler have to wait. The lock of the TLS session is held for one call only. `descriptor` is
//! shared, so it stays open while somebody polls it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use canny_locks::Mutex;
use canny_replay::Kind;
use canny_tls::ServerLayer;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};

/// A connection that does not block.
pub(super) struct Stream {
    descriptor: Arc<OwnedFd>,
    tls: Option<Mutex<Box<ServerLayer>>>,
}

impl Stream {
    pub(super) fn new(descriptor: OwnedFd, tls: Option<ServerLayer>) -> Stream {
        Stream {
            descriptor: Arc::new(descriptor),
            tls: tls.map(|layer| Mutex::new(Box::new(layer))),
        }
    }

    pub(super) fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.descriptor
    }

    pub(super) fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether both sides have agreed on this protocol inside of TLS.
    pub(super) fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.lock().protocol() == Some(protocol))
    }

    /// Reads at least one byte; 0 is the end.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let outcome = match &self.tls {
                Some(tls) => tls.lock().receive(self.descriptor.as_fd(), buffer),
                None => canny_replay::ask_for_bytes(Kind::Read, buffer, |buffer| {
                    rustix::net::recv(&*self.descriptor, &mut *buffer, RecvFlags::empty())
                        .map(|(count, _)| count)
                })
                .map_err(io::Error::from),
            };
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// Writes a prefix.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let outcome = match &self.tls {
                Some(tls) => tls.lock().send(self.descriptor.as_fd(), bytes),
                None => canny_replay::ask_to_write(Kind::Write, bytes, |bytes| {
                    rustix::net::send(&*self.descriptor, bytes, SendFlags::NOSIGNAL)
                })
                .map_err(io::Error::from),
            };
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// Whether everything that was written is out.
    pub(super) fn flush(&self) -> io::Result<bool> {
        match &self.tls {
            Some(tls) => tls.lock().flush(self.descriptor.as_fd()),
            None => Ok(true),
        }
    }

    /// Whether nothing has come, as far as that is known: a look that takes nothing.
    pub(super) fn is_quiet(&self) -> bool {
        let mut byte = [0];
        canny_replay::ask(Kind::Ready, || {
            let looked = rustix::net::recv(&*self.descriptor, &mut byte, RecvFlags::PEEK);
            !matches!(looked, Ok((1.., _)) | Err(Errno::INTR))
        })
    }

    /// Tells the other side that nothing follows; it may be over already.
    pub(super) fn end(&self, direction: Shutdown) {
        if let Some(tls) = &self.tls
            && direction != Shutdown::Read
        {
            tls.lock().say_farewell(self.descriptor.as_fd());
        }
        let _ = canny_replay::ask(Kind::Socket, || {
            rustix::net::shutdown(&self.descriptor, direction)
        });
    }

    /// Says farewell where the protocol has one, before the descriptor is closed.
    pub(super) fn finish(&self) {
        if let Some(tls) = &self.tls {
            tls.lock().say_farewell(self.descriptor.as_fd());
        }
    }
}
