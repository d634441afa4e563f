//! Binary output ports: a buffer before a handle, or bytes collected in memory.
//!
//! A write whose error is retryable has accepted nothing, so that it can be repeated whole. After any
//! other error of `close` the port is closed. Room of a port may be lent to a thread (`lending`), which
//! then writes bytes without a call.

use std::ops::Range;
use std::sync::Arc;

use crate::error::IoError;
use crate::handle::Handle;
use crate::lending::{Borrower, Lender, Lent, SharedPort};
use crate::port::output_buffer::{Buffering, OutputBuffer};
use crate::port::room::LentRoom;
use crate::wait::Wait;

/// A sink for bytes.
pub struct BinaryOutput {
    pub(super) buffer: OutputBuffer,
    /// The lent room.
    room: LentRoom,
}

impl BinaryOutput {
    /// Writes bytes to a handle in blocks.
    pub fn new(handle: Arc<Handle>) -> BinaryOutput {
        BinaryOutput {
            buffer: OutputBuffer::new(handle, Buffering::Block),
            room: LentRoom::default(),
        }
    }

    /// Collects bytes in memory; see [`BinaryOutput::bytes`].
    pub fn memory() -> BinaryOutput {
        BinaryOutput {
            buffer: OutputBuffer::memory("bytevector"),
            room: LentRoom::default(),
        }
    }

    /// The name of the target.
    pub fn name(&self) -> &str {
        self.buffer.name()
    }

    /// Bytes of the buffers, without what the device behind the handle holds.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.memory_bytes()
    }

    /// The handle that is written, unless the bytes stay in memory.
    pub fn handle(&self) -> Option<&Arc<Handle>> {
        self.buffer.handle()
    }

    /// `close` was not called.
    pub fn is_open(&self) -> bool {
        self.buffer.is_open()
    }

    /// Changes when bytes are handed on. Bytes have no lines: `Line` means `Block`.
    pub fn set_buffering(&mut self, buffering: Buffering) {
        self.buffer.set_buffering(buffering);
    }

    /// Takes everything that was accepted of a port on a channel or in memory.
    pub fn take_accepted(&mut self) -> Vec<u8> {
        self.buffer.take_accepted()
    }

    /// The position of the next byte, counted from the start of the target.
    pub fn byte_offset(&self) -> Result<u64, IoError> {
        self.buffer.position()
    }

    /// Flushes the buffer and continues at another position of the target.
    pub fn seek(&mut self, byte_offset: u64, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.seek(byte_offset, wait)
    }

    /// The number of bytes that were accepted and are not out yet.
    pub fn pending(&self) -> usize {
        self.buffer.pending()
    }

    /// The bytes collected so far by a port in memory; empty for others. Closing does not discard them.
    pub fn bytes(&self) -> &[u8] {
        if self.handle().is_none() {
            &self.buffer.bytes
        } else {
            b""
        }
    }

    /// Writes a byte.
    #[inline]
    pub fn write_u8(&mut self, byte: u8, wait: Wait<'_>) -> Result<(), IoError> {
        if self.buffer.has_room() {
            self.buffer.bytes.push(byte);
            return Ok(());
        }
        self.write_bytes(&[byte], wait)
    }

    /// Writes bytes. If it returns an error that `is_retryable`, nothing was accepted.
    pub fn write_bytes(&mut self, bytes: &[u8], wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.write(bytes, wait)
    }

    /// Bytes will be written in small pieces: from now on there is something to lend.
    #[inline]
    pub fn provide_room(&mut self) {
        if self.buffer.room() > 0 {
            self.room.provide();
        }
    }

    /// Writes bytes if there is room for them, or can be made without waiting; else does nothing.
    pub(crate) fn put_bytes_at_once(&mut self, bytes: &[u8]) -> bool {
        if !self.buffer.provide_room(bytes.len()) {
            return false;
        }
        self.buffer.bytes.extend_from_slice(bytes);
        true
    }

    /// Whether the port is open and flushing it would do nothing.
    pub fn is_flushed(&self) -> bool {
        self.buffer.is_flushed()
    }

    /// Hands on everything written so far.
    pub fn flush(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.flush(wait)
    }

    /// Flushes and closes the port and its handle. Closing twice is no error. Interrupted or put off,
    /// the port stays open; after any other error, that the time is over among them, it is closed.
    pub fn close(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.close(wait)
    }

    /// Closes the port and its handle without writing what is left.
    pub fn discard(&mut self) -> Result<(), IoError> {
        self.buffer.discard()
    }
}

impl Lender for BinaryOutput {
    const LENT: Lent = Lent::ByteOutput;

    /// Room for bytes, where they are handed on in blocks only.
    #[inline]
    fn lend(&mut self) -> Range<usize> {
        self.room.lend(self.buffer.room())
    }

    fn take_back(&mut self, count: usize) {
        self.room
            .take_back(count, |bytes| self.buffer.bytes.extend_from_slice(bytes));
    }
}

impl SharedPort<BinaryOutput> {
    /// Puts bytes where the port lends room to the borrower, and whether it did. To be called on the
    /// borrower's system thread.
    #[inline]
    pub fn put_through_loan(&self, borrower: &Borrower, bytes: &[u8]) -> bool {
        self.put_bytes_through_loan(borrower, bytes, false)
    }

    /// Writes bytes if the port is free and has room for them, or can make room without waiting, and
    /// lends room for more; whether it did. An error has no effect but that it did not.
    #[inline(never)]
    pub fn put_at_once(&self, borrower: &Borrower, bytes: &[u8]) -> bool {
        let Some(mut port) = self.try_lock() else {
            return false;
        };
        port.provide_room();
        let done = port.put_bytes_at_once(bytes);
        port.release_to(borrower);
        done
    }

    /// Whether the port is free and open, and flushing it would do nothing.
    pub fn is_flushed(&self, borrower: &Borrower) -> bool {
        self.try_lock().is_some_and(|port| {
            let is_flushed = port.is_flushed();
            port.release_to(borrower);
            is_flushed
        })
    }
}
