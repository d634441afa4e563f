//! Byte devices, which stand behind a [`Handle`](crate::Handle) in place of a file descriptor.
//!
//! A device is plain sequential code; the handle adds the lock, the waiting and the interrupts. A
//! device that has nothing to give yet returns `ErrorKind::WouldBlock` and never sleeps itself. A
//! caller that waits tries again when the handle that the device waits for is ready, or something was
//! written to the same handle, else ten times a second.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_sched::{Notice, Seen};

use super::Handle;

/// A source or sink of bytes. Every operation may be left out; it then reports `Unsupported`.
pub trait ByteDevice: Send {
    /// Reads at least one byte; 0 means the end of input for now.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _ = buffer;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Writes a prefix of `bytes` and returns its length, which is not 0 unless `bytes` is empty.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = bytes;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands on what the device itself holds back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Moves to a position and returns it, counted from the start.
    fn seek(&mut self, target: io::SeekFrom) -> io::Result<u64> {
        let _ = target;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The descriptor whose readiness decides when a blocked read or write can resume.
    fn waits_for(&self) -> Option<Awaited> {
        None
    }

    /// Bytes of memory that the device holds, as far as it knows. It must not wait.
    fn memory_bytes(&self) -> usize {
        0
    }

    /// Whether what was written is complete only when the device is closed.
    fn completes_when_closed(&self) -> bool {
        false
    }

    /// Called once, when the handle is closed, without its lock: it may wait.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The resource that a device depends on.
#[derive(Clone, Debug)]
pub enum Awaited {
    /// The operation of the same name on another handle.
    Handle(Arc<Handle>),
    /// A descriptor from which something can be read.
    Readable(Arc<OwnedFd>),
    /// A descriptor to which something can be written.
    Writable(Arc<OwnedFd>),
    /// Another notice than the one that the device has seen, before it found that it would block.
    Notice(Arc<Notice>, Seen),
}

/// A file in memory: one position for reading and writing, growing when written past its end.
#[derive(Debug, Default)]
pub struct MemoryDevice {
    bytes: io::Cursor<Vec<u8>>,
}

impl MemoryDevice {
    /// A file with the given contents, positioned at its start.
    pub fn new(bytes: Vec<u8>) -> MemoryDevice {
        MemoryDevice {
            bytes: io::Cursor::new(bytes),
        }
    }
}

impl ByteDevice for MemoryDevice {
    fn memory_bytes(&self) -> usize {
        self.bytes.get_ref().capacity()
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut self.bytes, buffer)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.bytes, bytes)
    }

    fn seek(&mut self, target: io::SeekFrom) -> io::Result<u64> {
        io::Seek::seek(&mut self.bytes, target)
    }
}

/// Bytes that a served channel takes before somebody must take them from it.
const SERVED_BYTES: usize = 32 * 1024;

/// A pipe in memory: written bytes can be read once, in order. Reading an empty channel would block
/// until something is written or [`Handle::end_input`](crate::Handle::end_input) is called.
///
/// A *served* channel is how a port whose bytes are made or taken by a procedure works: where another
/// channel would wait, the operation fails with `Unserved`, its caller runs the procedure, which feeds
/// or empties the channel, and repeats the operation.
#[derive(Debug, Default)]
pub(crate) struct ChannelDevice {
    bytes: VecDeque<u8>,
    pub(crate) ended: bool,
    /// Ends of input that do not last, each behind so many of the bytes that were there when it was noted.
    passing_ends: VecDeque<usize>,
    pub(crate) is_served: bool,
    /// A flush or a close was served; the operation that asked for it may complete.
    pub(crate) is_acknowledged: bool,
}

impl ChannelDevice {
    pub(crate) fn served() -> ChannelDevice {
        ChannelDevice {
            is_served: true,
            ..ChannelDevice::default()
        }
    }

    /// Notes an end of input behind what is there, after which there may be more.
    pub(crate) fn end_for_now(&mut self) {
        let before: usize = self.passing_ends.iter().sum();
        self.passing_ends.push_back(self.bytes.len() - before);
    }

    /// Adds bytes, however many there are.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Takes everything.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.passing_ends.clear();
        std::mem::take(&mut self.bytes).into()
    }
}

impl ByteDevice for ChannelDevice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reach = match self.passing_ends.front_mut() {
            Some(0) => {
                self.passing_ends.pop_front();
                return Ok(0);
            }
            Some(bytes) => {
                let reach = buffer.len().min(*bytes);
                *bytes -= reach;
                reach
            }
            None if self.bytes.is_empty() && !self.ended => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            None => buffer.len(),
        };
        io::Read::read(&mut self.bytes, &mut buffer[..reach])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.is_served && self.bytes.len() >= SERVED_BYTES {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.bytes.extend(bytes);
        Ok(bytes.len())
    }
}
