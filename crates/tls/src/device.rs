//! The two directions of a TLS session as byte devices, for ports.
//!
//! Both share the session under one lock, which is not held while waiting. Bytes count as written
//! when their records are sent: a write that would block has encrypted them already, and must be
//! repeated with the same bytes. An end without `close_notify` is an error.

use std::io::{self, Read, Write};
use std::sync::Arc;

use canny_io::{Awaited, ByteDevice};

use crate::connection::Shared;

/// Bytes that are encrypted at once: one record.
const RECORD_BYTES: usize = 16 * 1024;

/// Input from the other side.
#[derive(Debug)]
pub(crate) struct InputDevice {
    shared: Arc<Shared>,
}

impl InputDevice {
    pub(crate) fn new(shared: Arc<Shared>) -> InputDevice {
        InputDevice { shared }
    }
}

impl ByteDevice for InputDevice {
    /// An end without a farewell is an error: somebody may have cut the connection.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut connection = self.shared.lock();
        loop {
            match connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let words = "the connection was cut before the other side ended it";
                    return Err(io::Error::new(error.kind(), words));
                }
                outcome => return outcome,
            }
            // Answers to what was received, such as new keys; what does not fit now is sent later.
            self.shared.send(&mut connection)?;
            self.shared.receive(&mut connection)?;
        }
    }

    fn memory_bytes(&self) -> usize {
        self.shared.memory_bytes()
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Readable(self.shared.descriptor.clone()))
    }
}

/// Output to the other side.
///
/// Bytes count as written when all that was made of them has been sent. So a write that would block has
/// encrypted them already, and the next one must begin with the same bytes, which is what buffered
/// ports do.
#[derive(Debug)]
pub(crate) struct OutputDevice {
    shared: Arc<Shared>,
    /// Encrypted bytes that are not sent yet.
    unsent: Vec<u8>,
}

impl OutputDevice {
    pub(crate) fn new(shared: Arc<Shared>) -> OutputDevice {
        OutputDevice {
            shared,
            unsent: Vec::new(),
        }
    }
}

impl ByteDevice for OutputDevice {
    /// The session belongs to the input.
    fn memory_bytes(&self) -> usize {
        self.unsent.capacity()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut connection = self.shared.lock();
        if self.unsent.is_empty() {
            let record = &bytes[..bytes.len().min(RECORD_BYTES)];
            let count = connection.writer().write(record)?;
            self.unsent.extend_from_slice(&record[..count]);
        } else if !bytes.starts_with(&self.unsent) {
            let words = "other bytes are still being sent";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        if !self.shared.send(&mut connection)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.unsent.len();
        self.unsent.clear();
        Ok(count)
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Writable(self.shared.descriptor.clone()))
    }

    /// Tells the other side that nothing follows, as far as that can be done without waiting.
    fn close(&mut self) -> io::Result<()> {
        let mut connection = self.shared.lock();
        connection.send_close_notify();
        let outcome = self.shared.send(&mut connection);
        // The other side may be gone, which is no error of who ends.
        let _ = rustix::net::shutdown(&self.shared.descriptor, rustix::net::Shutdown::Write);
        match outcome {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(error),
        }
    }
}
