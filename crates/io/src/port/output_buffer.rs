//! The buffer between an output port and its handle.
//!
//! Invariant: bytes are accepted only when there is room or room could be made, and what was accepted
//! stays until it was written. Hence a failed [`OutputBuffer::make_room`] means that nothing was
//! accepted and the operation can be repeated.

use std::borrow::Cow;
use std::io::SeekFrom;
use std::sync::Arc;

use crate::error::{IoError, Operation};
use crate::handle::Handle;
use crate::memory::Room;
use crate::wait::Wait;

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 32 * 1024;

/// When an output port flushes its bytes without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// When the buffer is full.
    Block,
    /// Also at the end of each line.
    Line,
    /// After each operation.
    None,
}

impl Buffering {
    /// Lines for terminals, blocks for the rest.
    pub fn for_handle(handle: &Handle) -> Buffering {
        if handle.is_terminal() {
            Buffering::Line
        } else {
            Buffering::Block
        }
    }
}

pub(super) struct OutputBuffer {
    /// `None`: the bytes stay in memory.
    handle: Option<Arc<Handle>>,
    pub(super) bytes: Vec<u8>,
    /// `bytes[..written]` are already out.
    written: usize,
    pub(super) buffering: Buffering,
    /// The bytes that may stay in memory.
    memory: Room,
    /// While fewer bytes than this are there, a byte that ends no line can simply be pushed.
    push_limit: usize,
    name: Cow<'static, str>,
    closed: bool,
}

impl OutputBuffer {
    /// Bytes that the buffer has room for.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn new(handle: Arc<Handle>, buffering: Buffering) -> OutputBuffer {
        let name = Cow::Owned(handle.name().to_owned());
        let push_limit = if buffering == Buffering::None {
            0
        } else {
            BUFFER_BYTES
        };
        let bytes = Vec::new();
        OutputBuffer {
            handle: Some(handle),
            bytes,
            written: 0,
            buffering,
            memory: Room::default(),
            push_limit,
            name,
            closed: false,
        }
    }

    pub(super) fn memory(name: &'static str) -> OutputBuffer {
        let memory = Room::default();
        OutputBuffer {
            handle: None,
            bytes: Vec::new(),
            written: 0,
            buffering: Buffering::Block,
            push_limit: memory.bytes(),
            memory,
            name: Cow::Borrowed(name),
            closed: false,
        }
    }

    pub(super) fn handle(&self) -> Option<&Arc<Handle>> {
        self.handle.as_ref()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_open(&self) -> bool {
        !self.closed
    }

    pub(super) fn set_buffering(&mut self, buffering: Buffering) {
        self.buffering = buffering;
        if self.handle.is_some() && !self.closed {
            self.push_limit = if buffering == Buffering::None {
                0
            } else {
                BUFFER_BYTES
            };
        }
    }

    /// A byte may be pushed without further ado.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < self.push_limit
    }

    /// The number of bytes that may be pushed without further ado, whatever they are.
    pub(super) fn room(&self) -> usize {
        match self.buffering {
            Buffering::Block => self.push_limit.saturating_sub(self.bytes.len()),
            Buffering::Line | Buffering::None => 0,
        }
    }

    /// Provides room for so many bytes, writing out what is there if nothing has to be waited for; whether
    /// there is room now. Bytes that cannot be written stay, so that another attempt meets the same error and
    /// reports it.
    pub(super) fn provide_room(&mut self, bytes: usize) -> bool {
        if self.closed || self.buffering != Buffering::Block || bytes > self.push_limit {
            return false;
        }
        self.room() >= bytes
            || self.write_what_can_be(Wait::NonBlocking).is_ok() && self.room() >= bytes
    }

    /// The number of bytes that were accepted and are not out yet.
    pub(super) fn pending(&self) -> usize {
        if self.handle.is_some() {
            self.bytes.len() - self.written
        } else {
            0
        }
    }

    /// Prepares for accepting bytes. Afterwards the caller appends what it likes, in full.
    pub(super) fn make_room(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Write, &self.name));
        }
        if self.handle.is_some() && self.bytes.len() >= BUFFER_BYTES {
            self.write_out(wait)?;
        }
        if self.handle.is_none() && self.bytes.len() >= self.push_limit {
            if !self.memory.grow_beyond(self.bytes.len()) {
                return Err(IoError::memory_used_up(Operation::Write, &self.name));
            }
            self.push_limit = self.memory.bytes();
        }
        Ok(())
    }

    /// Accepts bytes. If it returns an error that `is_retryable`, nothing was accepted. Bytes that the
    /// buffer could not hold anyway go on without a copy, as far as that needs no waiting.
    pub(super) fn write(&mut self, bytes: &[u8], wait: Wait<'_>) -> Result<(), IoError> {
        self.make_room(wait)?;
        let (done, has_failed) = if bytes.len() < BUFFER_BYTES {
            (0, false)
        } else {
            self.hand_on(bytes)
        };
        self.bytes.extend_from_slice(&bytes[done..]);
        if has_failed {
            // It meets the error again, and reports it.
            return self.write_out(wait);
        }
        self.accepted(false, wait)
    }

    /// Writes what is there, and then as many of the bytes as can be written without waiting: how many,
    /// and whether it ended with an error.
    fn hand_on(&mut self, bytes: &[u8]) -> (usize, bool) {
        if self.write_what_can_be(Wait::NonBlocking).is_err() {
            return (0, false);
        }
        let Some(handle) = &self.handle else {
            return (0, false);
        };
        let mut done = 0;
        while done < bytes.len() {
            match handle.write(&bytes[done..], Wait::NonBlocking) {
                Ok(count) => done += count,
                Err(error) => return (done, !error.is_retryable()),
            }
        }
        (done, false)
    }

    /// Whether it is open, and flushing it would do nothing.
    pub(super) fn is_flushed(&self) -> bool {
        let is_plain = |handle: &Arc<Handle>| handle.is_plain();
        !self.closed && self.pending() == 0 && self.handle.as_ref().is_none_or(is_plain)
    }

    /// Hands bytes on if the buffering says so. That the other side is not ready, or that the caller was
    /// interrupted, is no error here: the bytes were accepted and will be written by a later operation.
    pub(super) fn accepted(&mut self, ended_line: bool, wait: Wait<'_>) -> Result<(), IoError> {
        let is_due = match self.buffering {
            Buffering::None => true,
            Buffering::Line => ended_line || self.bytes.len() >= BUFFER_BYTES,
            Buffering::Block => self.bytes.len() >= BUFFER_BYTES,
        };
        if !is_due || self.handle.is_none() {
            return Ok(());
        }
        match self.write_out(wait) {
            Err(error) if error.is_retryable() => Ok(()),
            outcome => outcome,
        }
    }

    /// Writes everything and flushes the handle.
    pub(super) fn flush(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Write, &self.name));
        }
        self.write_out(wait)?;
        self.handle
            .as_ref()
            .map_or(Ok(()), |handle| handle.flush(wait))
    }

    /// Flushes and closes. If flushing is interrupted or put off, the port stays open. After any other error,
    /// that the time is over among them, it is closed nevertheless, and the error is returned: no program
    /// closes a port a second time, so that it would stay open for as long as the other side likes.
    pub(super) fn close(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        if self.closed {
            return Ok(());
        }
        let flushed = match &self.handle {
            // Somebody closed the handle itself: an error only if bytes are lost by that.
            Some(handle) if handle.is_closed() && self.pending() == 0 => Ok(()),
            _ => self.flush(wait),
        };
        if let Err(error) = &flushed
            && error.is_retryable()
            && !matches!(error, IoError::TimedOut(_))
        {
            return flushed;
        }
        let closed = self.discard();
        flushed.and(closed)
    }

    /// Closes without writing what is left.
    pub(super) fn discard(&mut self) -> Result<(), IoError> {
        self.closed = true;
        self.push_limit = 0;
        let Some(handle) = &self.handle else {
            return Ok(());
        };
        self.bytes = Vec::new();
        self.written = 0;
        handle.close()
    }

    /// Closes the buffer, but leaves what it holds, and its handle, to another one.
    pub(super) fn surrender(&mut self) -> Result<OutputBuffer, IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Write, &self.name));
        }
        let mut closed = OutputBuffer::memory("");
        closed.name = self.name.clone();
        closed.closed = true;
        closed.push_limit = 0;
        Ok(std::mem::replace(self, closed))
    }

    /// Takes everything that was accepted, be it that a channel has it already.
    pub(super) fn take_accepted(&mut self) -> Vec<u8> {
        let Some(handle) = &self.handle else {
            return std::mem::take(&mut self.bytes);
        };
        let mut bytes = handle.take_channel();
        bytes.extend_from_slice(&self.bytes[self.written..]);
        self.bytes.clear();
        self.written = 0;
        bytes
    }

    /// The position of the next byte, counted from the start.
    pub(super) fn position(&self) -> Result<u64, IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Seek, &self.name));
        }
        match &self.handle {
            Some(handle) => Ok(handle.tell()? + self.pending() as u64),
            None => Ok(self.bytes.len() as u64),
        }
    }

    /// Flushes the buffer and continues at another position.
    pub(super) fn seek(&mut self, byte_offset: u64, wait: Wait<'_>) -> Result<(), IoError> {
        self.flush(wait)?;
        match &self.handle {
            Some(handle) => handle.seek(SeekFrom::Start(byte_offset)).map(drop),
            None => Err(IoError::unsupported(Operation::Seek, &self.name)),
        }
    }

    fn write_out(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        let outcome = self.write_what_can_be(wait);
        if let Err(IoError::BrokenPipe(_) | IoError::Closed(_)) = outcome {
            // These bytes can never be delivered; reporting them once is enough.
            self.bytes.clear();
        }
        outcome
    }

    /// Writes until there is nothing left, or an error, which leaves the rest.
    fn write_what_can_be(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        let Some(handle) = &self.handle else {
            return Ok(());
        };
        while self.written < self.bytes.len() {
            match handle.write(&self.bytes[self.written..], wait) {
                Ok(count) => self.written += count,
                Err(error) => {
                    self.bytes.drain(..self.written);
                    self.written = 0;
                    return Err(error);
                }
            }
        }
        self.bytes.clear();
        self.written = 0;
        if self.bytes.capacity() > 4 * BUFFER_BYTES {
            self.bytes.shrink_to(BUFFER_BYTES);
        }
        Ok(())
    }
}

impl Drop for OutputBuffer {
    /// A port that is dropped was not closed: its bytes are still wanted. No caller is left to get an error.
    fn drop(&mut self) {
        if !self.closed && self.pending() > 0 {
            let _ = self.write_out(Wait::Blocking);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::file::{OutputMode, open_output};
    use crate::port::binary_output::BinaryOutput;
    use crate::wait::Wait;

    const WAIT: Wait<'static> = Wait::Blocking;

    #[test]
    fn long_vectors_go_out_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let long: Vec<u8> = (0..100_000u32).map(|index| (index % 251) as u8).collect();
        let mut output = BinaryOutput::new(open_output(&path, OutputMode::Truncate, WAIT).unwrap());
        let mut expected = Vec::new();
        for bytes in [&b"before"[..], &long, b"between", &long, b"behind"] {
            output.write_bytes(bytes, WAIT).unwrap();
            expected.extend_from_slice(bytes);
        }
        assert!(!output.is_flushed());
        output.flush(WAIT).unwrap();
        assert!(output.is_flushed());
        assert!(std::fs::read(&path).unwrap() == expected);
        output.close(WAIT).unwrap();
        assert!(!output.is_flushed());

        let Ok(full) = open_output("/dev/full".as_ref(), OutputMode::Overwrite, WAIT) else {
            return; // Not every system has this device.
        };
        let mut output = BinaryOutput::new(full);
        assert!(output.write_bytes(&long, WAIT).is_err());
        output.discard().unwrap();
    }
}
