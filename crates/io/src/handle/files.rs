//! Operations on a handle's file that leave its position alone: truncate, sync, length, positioned
//! reads, locks.
//!
//! `flock` has no wait that could be interrupted, so a waiting lock is polled; the handle's own
//! lock is not held meanwhile. A file lock belongs to the handle and ends with it.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use canny_replay::Kind;
use canny_sched::Wake;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::{Backend, Descriptor, Handle};
use crate::error::{IoError, Operation};
use crate::wait::Wait;

/// The kind of a file lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLock {
    /// Any number may have the lock like this at a time.
    Shared,
    /// Nobody else has a lock.
    Exclusive,
}

/// The system has no wait for a lock that could be ended, so that it is asked now and then.
const LOCK_SLICE: Duration = Duration::from_millis(10);

impl Handle {
    /// Cuts a file off, or makes it longer with zeros.
    pub fn truncate(&self, length: u64) -> Result<(), IoError> {
        let descriptor = self.open_descriptor(Operation::Truncate)?;
        let outcome = canny_replay::ask(Kind::File, || {
            rustix::fs::ftruncate(descriptor.as_fd(), length)
        });
        outcome.map_err(|errno| self.system(Operation::Truncate, errno))
    }

    /// Waits until what was written is on the disk; without the metadata of the file, if so wished.
    pub fn sync(&self, data_only: bool) -> Result<(), IoError> {
        let descriptor = self.open_descriptor(Operation::Sync)?;
        let outcome = canny_replay::ask(Kind::File, || {
            if data_only {
                rustix::fs::fdatasync(descriptor.as_fd())
            } else {
                rustix::fs::fsync(descriptor.as_fd())
            }
        });
        outcome.map_err(|errno| self.system(Operation::Sync, errno))
    }

    /// The length of a file in bytes.
    pub fn length(&self) -> Result<u64, IoError> {
        let descriptor = self.open_descriptor(Operation::Seek)?;
        let size = canny_replay::ask(Kind::File, || {
            rustix::fs::fstat(descriptor.as_fd()).map(|status| status.st_size as u64)
        });
        match size {
            Ok(size) if self.regular => Ok(size),
            Ok(_) => Err(IoError::unsupported(Operation::Seek, &self.name)),
            Err(errno) => Err(self.system(Operation::Seek, errno)),
        }
    }

    /// Reads up to `buffer.len()` bytes from an offset on, whatever the position; fewer only at the end
    /// of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        if !self.access.reads() {
            return Err(IoError::unsupported(Operation::Read, &self.name));
        }
        let descriptor = self.open_descriptor(Operation::Read)?;
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            let read = canny_replay::ask_for_bytes(Kind::Read, rest, |rest| {
                rustix::io::pread(descriptor.as_fd(), rest, offset + filled as u64)
            });
            match read {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(Errno::SPIPE) => {
                    return Err(IoError::unsupported(Operation::Seek, &self.name));
                }
                Err(errno) => return Err(self.system(Operation::Read, errno)),
            }
        }
        Ok(filled)
    }

    /// Locks a file, or changes the kind of its lock; waits while others have it. Only code that asks
    /// for the lock heeds it. It ends with the handle.
    pub fn lock_file(&self, kind: FileLock, wait: Wait<'_>) -> Result<(), IoError> {
        let descriptor = self.open_descriptor(Operation::Lock)?;
        let operation = match kind {
            FileLock::Shared => FlockOperation::NonBlockingLockShared,
            FileLock::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        let deadline = self.deadline(wait);
        loop {
            let locked = canny_replay::ask(Kind::File, || {
                rustix::fs::flock(descriptor.as_fd(), operation)
            });
            match locked {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK) if wait.is_non_blocking() => {
                    return Err(IoError::WouldBlock);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(self.system(Operation::Lock, errno)),
            }
            if self.is_closed() {
                return Err(IoError::closed(Operation::Lock, &self.name));
            }
            let now = canny_replay::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Err(IoError::timed_out(Operation::Lock, &self.name));
            }
            let soon = now + LOCK_SLICE;
            let soon = deadline.map_or(soon, |deadline| deadline.min(soon));
            match canny_sched::sleep_until(soon, wait.interrupt()) {
                Wake::Interrupted => return Err(IoError::Interrupted),
                Wake::Parked => return Err(IoError::parked(Operation::Lock, &self.name)),
                Wake::Ready(_) | Wake::TimedOut => {}
            }
        }
    }

    /// Gives the lock up.
    pub fn unlock_file(&self) -> Result<(), IoError> {
        let descriptor = self.open_descriptor(Operation::Lock)?;
        let outcome = canny_replay::ask(Kind::File, || {
            rustix::fs::flock(descriptor.as_fd(), FlockOperation::Unlock)
        });
        outcome.map_err(|errno| self.system(Operation::Lock, errno))
    }

    /// A second reference to the descriptor, so that the system can be asked without the lock.
    fn open_descriptor(&self, operation: Operation) -> Result<Arc<Descriptor>, IoError> {
        match &*self.lock() {
            Backend::Descriptor { descriptor, .. } => Ok(Arc::clone(descriptor)),
            Backend::Closed => Err(IoError::closed(operation, &self.name)),
            Backend::Device(_) | Backend::Channel(_) => {
                Err(IoError::unsupported(operation, &self.name))
            }
        }
    }

    fn system(&self, operation: Operation, errno: Errno) -> IoError {
        IoError::from_system(operation, &self.name, errno.into())
    }
}
