//! Transfers between a descriptor and memory that never sleep, although the descriptor may be one that
//! blocks.
//!
//! Standard descriptors are shared with other programs, so they cannot be made non-blocking. Linux
//! takes the wish not to wait with each call, for pipes and sockets. Elsewhere, and for terminals, a
//! transfer is made after `poll` said that it can be, and what is written is short then.

use std::io;
#[cfg(target_os = "linux")]
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

use canny_replay::Kind;
use canny_sched::Interest;
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::io::ReadWriteFlags;

/// How much of a blocking pipe, terminal or socket can surely be written without sleeping once `poll`
/// has found it writable: `PIPE_BUF` of the systems that Canny runs on.
const PIPE_WRITE_BYTES_MAX: usize = 4096;

/// The form of a transfer that does not sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// A plain call: it never sleeps, or only for a disk.
    Plain,
    /// A call that says that it does not wait.
    NoWait,
    /// A call after `poll`.
    AfterPoll,
}

impl Transfer {
    /// The form for a descriptor that may block.
    pub(super) const MAY_BLOCK: Transfer = if cfg!(target_os = "linux") {
        Transfer::NoWait
    } else {
        Transfer::AfterPoll
    };

    /// Reads at least one byte, or none at the end.
    pub(super) fn read(&mut self, from: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        canny_replay::ask_for_bytes(Kind::Read, buffer, |buffer| self.read_now(from, buffer))
    }

    fn read_now(&mut self, from: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(target_os = "linux")]
        if *self == Transfer::NoWait {
            let mut slices = [IoSliceMut::new(buffer)];
            let read = rustix::io::preadv2(from, &mut slices, HERE, ReadWriteFlags::NOWAIT);
            if let Some(result) = self.unless_unsupported(read) {
                return result;
            }
        }
        if *self == Transfer::AfterPoll && !canny_sched::is_ready(Interest::Readable(from)) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(rustix::io::read(from, buffer)?)
    }

    /// Writes a prefix of the bytes.
    pub(super) fn write(&mut self, to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let written =
            canny_replay::ask_to_write(Kind::Write, bytes, |bytes| self.write_now(to, bytes));
        if canny_replay::is_replaying()
            && let Ok(count) = written
            && let stream @ (1 | 2) = to.as_raw_fd()
        {
            show(
                to,
                canny_replay::unseen(stream as usize - 1, &bytes[..count]),
            );
        }
        written
    }

    fn write_now(&mut self, to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut bytes = bytes;
        #[cfg(target_os = "linux")]
        if *self == Transfer::NoWait {
            let slices = [IoSlice::new(bytes)];
            let written = rustix::io::pwritev2(to, &slices, HERE, ReadWriteFlags::NOWAIT);
            if let Some(result) = self.unless_unsupported(written) {
                return result;
            }
        }
        if *self == Transfer::AfterPoll {
            if !canny_sched::is_ready(Interest::Writable(to)) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            bytes = &bytes[..bytes.len().min(PIPE_WRITE_BYTES_MAX)];
        }
        Ok(rustix::io::write(to, bytes)?)
    }

    /// The result of a call that does not wait; nothing, and the other form from now on, if the
    /// descriptor or the system knows no such call.
    #[cfg(target_os = "linux")]
    fn unless_unsupported(&mut self, result: Result<usize, Errno>) -> Option<io::Result<usize>> {
        match result {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::SPIPE) => {
                *self = Transfer::AfterPoll;
                None
            }
            result => Some(result.map_err(io::Error::from)),
        }
    }
}

/// Shows people what a program writes that is replayed. Nobody learns of a failure: the program did not
/// fail when it was recorded.
fn show(to: BorrowedFd<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(count) if count > 0 => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            _ => return,
        }
    }
}

/// The offset that stands for the position of the descriptor.
#[cfg(target_os = "linux")]
const HERE: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    /// Both forms, and what a pipe with nobody at the other side does.
    #[test]
    fn a_blocking_pipe_is_written_and_read_without_sleeping() {
        for form in [Transfer::MAY_BLOCK, Transfer::AfterPoll] {
            let (mut reader, writer) = io::pipe().unwrap();
            let (mut reading, mut writing) = (form, form);
            let mut buffer = [0; 16];
            let error = reading.read(reader.as_fd(), &mut buffer).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            let bytes = vec![7; 100_000];
            let mut count = 0;
            let error = loop {
                match writing.write(writer.as_fd(), &bytes) {
                    Ok(more) => count += more,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{form:?}");
            assert!(count >= PIPE_WRITE_BYTES_MAX);
            assert_eq!(reading.read(reader.as_fd(), &mut buffer).unwrap(), 16);
            drop(writer);
            let mut rest = Vec::new();
            reader.read_to_end(&mut rest).unwrap();
            assert_eq!(rest.len() + 16, count);
            assert_eq!(reading.read(reader.as_fd(), &mut buffer).unwrap(), 0);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_take_more_than_a_page_at_once() {
        let (_reader, writer) = io::pipe().unwrap();
        let mut form = Transfer::MAY_BLOCK;
        let written = form.write(writer.as_fd(), &[1; 50_000]).unwrap();
        // An old system has only the other form.
        assert_eq!(written > PIPE_WRITE_BYTES_MAX, form == Transfer::NoWait);
    }
}
