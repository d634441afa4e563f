//! Binary input: bytes from a handle through a buffer, or bytes in memory.
//!
//! `buffer[position..]` has been read and not delivered. An end of input is remembered until one
//! operation has delivered it, so that a terminal can be read beyond it. When a textual port takes
//! over, it gets the undelivered bytes (`Remains`).

use std::io::SeekFrom;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{IoError, Operation};
use crate::handle::Handle;
use crate::lending::{Lender, Lent};
use crate::port::READ_BYTES;
use crate::wait::Wait;

/// The state that a port leaves to the one that takes its place.
pub(super) struct Remains {
    pub(super) handle: Option<Arc<Handle>>,
    /// Bytes that were read from the handle and not delivered, the first of which stands at `offset` of
    /// the source.
    pub(super) bytes: Vec<u8>,
    pub(super) offset: u64,
    /// The end of input came behind them.
    pub(super) ended: bool,
    pub(super) name: Box<str>,
}

/// A source of bytes.
pub struct BinaryInput {
    /// `None`: everything is in the buffer already.
    handle: Option<Arc<Handle>>,
    /// `buffer[position..]` was read from the handle and not yet delivered.
    buffer: Vec<u8>,
    position: usize,
    /// Offset in the source of the end of the buffer.
    buffer_end_offset: u64,
    /// An end of input was seen and not yet delivered by a reading operation.
    ended: bool,
    /// The last read had to wait: few bytes are likely to come.
    has_waited: bool,
    name: Box<str>,
    closed: bool,
}

/// Bytes that are asked for after a wait. Room has to be cleared, and thousands of connections may wait.
const BYTES_AFTER_WAIT: usize = 4096;

impl BinaryInput {
    /// Reads bytes from a handle.
    pub fn new(handle: Arc<Handle>) -> BinaryInput {
        let name = handle.name().into();
        BinaryInput::with_buffer(Some(handle), Vec::new(), name)
    }

    /// Reads bytes from memory.
    pub fn from_bytes(bytes: Vec<u8>) -> BinaryInput {
        BinaryInput::with_buffer(None, bytes, "bytevector".into())
    }

    fn with_buffer(handle: Option<Arc<Handle>>, buffer: Vec<u8>, name: Box<str>) -> BinaryInput {
        let buffer_end_offset = buffer.len() as u64;
        BinaryInput {
            handle,
            buffer,
            position: 0,
            buffer_end_offset,
            ended: false,
            has_waited: false,
            name,
            closed: false,
        }
    }

    /// The name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the buffers, without what the device behind the handle holds.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// The handle that is read, unless the bytes are in memory.
    pub fn handle(&self) -> Option<&Arc<Handle>> {
        self.handle.as_ref()
    }

    /// `close` was not called.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// The number of bytes that were read in advance.
    pub fn buffered(&self) -> usize {
        self.available()
    }

    /// The number of bytes delivered so far, or since the start of the source after `seek`.
    pub fn byte_offset(&self) -> u64 {
        self.buffer_end_offset - self.available() as u64
    }

    /// Takes the next byte; `None` at the end of input.
    #[inline]
    pub fn read_u8(&mut self, wait: Wait<'_>) -> Result<Option<u8>, IoError> {
        if let Some(byte) = self.buffer.get(self.position) {
            self.position += 1;
            return Ok(Some(*byte));
        }
        let byte = self.peek_u8_slowly(wait)?;
        match byte {
            Some(_) => self.position += 1,
            None => self.ended = false,
        }
        Ok(byte)
    }

    /// The next byte, which stays where it is. An end of input seen here is also the next one read.
    #[inline]
    pub fn peek_u8(&mut self, wait: Wait<'_>) -> Result<Option<u8>, IoError> {
        match self.buffer.get(self.position) {
            Some(byte) => Ok(Some(*byte)),
            None => self.peek_u8_slowly(wait),
        }
    }

    #[cold]
    #[inline(never)]
    fn peek_u8_slowly(&mut self, wait: Wait<'_>) -> Result<Option<u8>, IoError> {
        self.require(1, wait)?;
        Ok(self.buffer.get(self.position).copied())
    }

    /// Whether `read_u8` would answer without waiting, be it with a byte, the end or an error.
    pub fn u8_ready(&mut self) -> Result<bool, IoError> {
        match self.require(1, Wait::NonBlocking) {
            Ok(()) => Ok(true),
            Err(error) if error.is_retryable() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the next `count` bytes, or as many as there are before the end; `None` if there are none
    /// (and `count` is not 0).
    pub fn read_bytes(&mut self, count: usize, wait: Wait<'_>) -> Result<Option<&[u8]>, IoError> {
        self.require(count, wait)?;
        let start = self.position;
        let length = self.available().min(count);
        if length == 0 && count > 0 {
            self.ended = false;
            return Ok(None);
        }
        self.position += length;
        Ok(Some(&self.buffer[start..start + length]))
    }

    /// Like [`BinaryInput::read_bytes`], but the bytes are the caller's. Much of a file goes there
    /// without passing through the buffer.
    pub fn read_vector(
        &mut self,
        count: usize,
        wait: Wait<'_>,
    ) -> Result<Option<Vec<u8>>, IoError> {
        // One byte more than there should be shows whether the file is longer by now.
        if count > READ_BYTES
            && let Some(rest) = self.rest_of_file()
            && count.min(rest + 1) > READ_BYTES
        {
            let mut bytes = vec![0; count.min(rest + 1)];
            let length = self.read_into(&mut bytes, wait)?;
            bytes.truncate(length);
            if length <= rest || length == count {
                return Ok((length > 0).then_some(bytes));
            }
            self.put_back(&bytes);
        }
        Ok(self.read_bytes(count, wait)?.map(<[u8]>::to_vec))
    }

    /// How many bytes there are up to the end of a regular file, as far as one can know.
    pub fn rest_of_file(&self) -> Option<usize> {
        let handle = self
            .handle
            .as_ref()
            .filter(|handle| handle.is_regular_file())?;
        let length = handle.length().ok()?;
        let at = handle.tell().ok()?;
        let rest = length.saturating_sub(at) as usize;
        rest.checked_add(self.available())
    }

    /// Takes all bytes that are there, waiting only if there are none; `None` at the end of input.
    pub fn read_available(&mut self, wait: Wait<'_>) -> Result<Option<&[u8]>, IoError> {
        self.require(1, wait)?;
        let available = self.available();
        self.read_bytes(available.max(1), wait)
    }

    /// The bytes that are there, of which [`BinaryInput::skip`] takes some, waiting only if there are
    /// none. It gives none at the end of input, which stays.
    pub fn peek_available(&mut self, wait: Wait<'_>) -> Result<&[u8], IoError> {
        self.require(1, wait)?;
        Ok(&self.buffer[self.position..])
    }

    /// Takes bytes that are there; at most as many as there are.
    pub fn skip(&mut self, count: usize) {
        self.position += count.min(self.available());
    }

    /// Fills `target`, or as much of it as there are bytes before the end, and returns how much. 0 is the
    /// end of input unless `target` is empty.
    pub fn read_into(&mut self, target: &mut [u8], wait: Wait<'_>) -> Result<usize, IoError> {
        self.check_open()?;
        let mut filled = self.available().min(target.len());
        target[..filled].copy_from_slice(&self.buffer[self.position..self.position + filled]);
        self.position += filled;
        while filled < target.len() && !self.ended {
            let rest = &mut target[filled..];
            if rest.len() < READ_BYTES {
                if let Err(error) = self.fill(wait) {
                    self.put_back(&target[..filled]);
                    return Err(error);
                }
                let count = self.available().min(rest.len());
                rest[..count].copy_from_slice(&self.buffer[self.position..self.position + count]);
                self.position += count;
                filled += count;
                continue;
            }
            // Much is missing: it need not pass through the buffer.
            let outcome = match &self.handle {
                Some(handle) => handle.read(rest, wait),
                None => Ok(0),
            };
            match outcome {
                Ok(count) => {
                    self.ended = count == 0;
                    self.buffer_end_offset += count as u64;
                    filled += count;
                }
                Err(error) => {
                    self.put_back(&target[..filled]);
                    return Err(error);
                }
            }
        }
        if filled == 0 && !target.is_empty() {
            self.ended = false;
        }
        Ok(filled)
    }

    /// Continues at a byte offset of the source.
    pub fn seek(&mut self, byte_offset: u64) -> Result<(), IoError> {
        self.check_open()?;
        match &self.handle {
            Some(handle) => {
                handle.seek(SeekFrom::Start(byte_offset))?;
                self.buffer.clear();
                self.position = 0;
                self.buffer_end_offset = byte_offset;
            }
            None => {
                let offset = usize::try_from(byte_offset).unwrap_or(usize::MAX);
                self.position = offset.min(self.buffer.len());
            }
        }
        self.ended = false;
        Ok(())
    }

    /// Takes everything over, what is buffered included; this port is closed from here on.
    pub fn take_open(&mut self) -> Result<BinaryInput, IoError> {
        self.check_open()?;
        let mut closed = BinaryInput::with_buffer(None, Vec::new(), self.name.clone());
        closed.closed = true;
        Ok(std::mem::replace(self, closed))
    }

    /// Closes the port and its handle. Closing twice is no error.
    pub fn close(&mut self) -> Result<(), IoError> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        self.buffer_end_offset = self.byte_offset();
        self.buffer = Vec::new();
        self.position = 0;
        self.handle.as_ref().map_or(Ok(()), |handle| handle.close())
    }

    /// Closes the port, but leaves its handle and its bytes to another one.
    pub(super) fn surrender(&mut self) -> Result<Remains, IoError> {
        self.check_open()?;
        let offset = self.byte_offset();
        let position = self.position;
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.drain(..position);
        self.closed = true;
        self.position = 0;
        self.buffer_end_offset = offset;
        Ok(Remains {
            handle: self.handle.take(),
            bytes,
            offset,
            ended: self.ended,
            name: self.name.clone(),
        })
    }

    fn available(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// Reads until `count` bytes are in the buffer or the end of input was seen.
    fn require(&mut self, count: usize, wait: Wait<'_>) -> Result<(), IoError> {
        self.check_open()?;
        while self.available() < count && !self.ended {
            self.fill(wait)?;
        }
        Ok(())
    }

    fn fill(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        let Some(handle) = &self.handle else {
            self.ended = true;
            return Ok(());
        };
        self.buffer.drain(..self.position);
        if self.buffer.is_empty() {
            self.buffer.shrink_to(4 * READ_BYTES);
        }
        self.position = 0;
        let start = self.buffer.len();
        let step = if self.has_waited {
            BYTES_AFTER_WAIT
        } else {
            READ_BYTES
        };
        self.buffer.resize(start + step, 0);
        let outcome = handle.read(&mut self.buffer[start..], wait);
        self.buffer
            .truncate(start + *outcome.as_ref().unwrap_or(&0));
        if outcome.is_err() {
            self.has_waited = true;
            if start == 0 {
                self.buffer = Vec::new();
            }
        }
        let count = outcome?;
        if count == step {
            self.has_waited = false;
        }
        self.ended = count == 0;
        self.buffer_end_offset += count as u64;
        Ok(())
    }

    /// Makes bytes that were already taken the next ones again, when an operation cannot complete.
    fn put_back(&mut self, bytes: &[u8]) {
        self.buffer.splice(..self.position, bytes.iter().copied());
        self.position = 0;
    }

    fn check_open(&self) -> Result<(), IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Read, &self.name));
        }
        Ok(())
    }
}

impl Lender for BinaryInput {
    const LENT: Lent = Lent::ByteInput;

    /// The bytes that are there.
    #[inline]
    fn lend(&mut self) -> Range<usize> {
        let unread = &self.buffer[self.position..];
        let start = unread.as_ptr().expose_provenance();
        start..start + unread.len()
    }

    #[inline]
    fn take_back(&mut self, count: usize) {
        debug_assert!(count <= self.available());
        self.position += count;
    }
}
