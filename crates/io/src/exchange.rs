//! Exchanges over several streams at once, as with a process whose input, output and error are pipes. Serving
//! one stream after the other could wait for ever, since the other side may do the same.
//!
//! A step does what can be done first, and nothing is lost between steps, so that the amount of data
//! needs no memory.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use canny_sched::{Interest, Wake};

use crate::error::{IoError, Operation};
use crate::handle::Handle;
use crate::wait::Wait;

/// Bytes read at once: the capacity of a pipe of Linux.
const CHUNK_BYTES: usize = 64 * 1024;

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Exchanged {
    /// So many bytes were written.
    Written(usize),
    /// Nobody reads any more.
    Refused,
    /// The source with this index gave bytes; none mean its end.
    Read(usize, Vec<u8>),
    /// The deadline passed.
    TimedOut,
}

/// Writes a prefix of the bytes, which must not be empty, to the target, or reads from one of the
/// sources, whichever is possible first.
pub fn exchange(
    target: Option<(&Arc<Handle>, &[u8])>,
    sources: &[Option<&Arc<Handle>>],
    deadline: Option<Instant>,
    wait: Wait<'_>,
) -> Result<Exchanged, IoError> {
    loop {
        // A stream that never dries up must not keep the deadline off.
        if deadline.is_some_and(|deadline| canny_replay::now() >= deadline) {
            return Ok(Exchanged::TimedOut);
        }
        // Reading comes first: it makes room for the other side.
        for (index, source) in sources.iter().enumerate() {
            let Some(source) = source else { continue };
            let mut chunk = vec![0; CHUNK_BYTES];
            match source.read(&mut chunk, Wait::NonBlocking) {
                Ok(count) => {
                    chunk.truncate(count);
                    return Ok(Exchanged::Read(index, chunk));
                }
                Err(IoError::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some((target, bytes)) = target {
            match write_some(target, bytes) {
                Ok(0) => {}
                Ok(count) => return Ok(Exchanged::Written(count)),
                Err(IoError::BrokenPipe(_)) => return Ok(Exchanged::Refused),
                Err(error) => return Err(error),
            }
        }
        let readable: Vec<_> = sources
            .iter()
            .flatten()
            .filter_map(|source| source.descriptor())
            .collect();
        let writable = target.and_then(|(target, _)| target.descriptor());
        let mut interests: Vec<Interest<'_>> = readable
            .iter()
            .map(|descriptor| Interest::Readable(descriptor.as_fd()))
            .collect();
        interests.extend(writable.iter().map(|it| Interest::Writable(it.as_fd())));
        match canny_sched::wait(&interests, deadline, wait.interrupt()) {
            Wake::Ready(_) => {}
            Wake::TimedOut => return Ok(Exchanged::TimedOut),
            Wake::Interrupted => return Err(IoError::Interrupted),
            Wake::Parked => return Err(IoError::parked(Operation::Read, "process")),
        }
    }
}

/// Writes as much as is taken without waiting.
fn write_some(target: &Handle, bytes: &[u8]) -> Result<usize, IoError> {
    let mut written = 0;
    while written < bytes.len() {
        match target.write(&bytes[written..], Wait::NonBlocking) {
            Ok(count) => written += count,
            Err(IoError::WouldBlock) => break,
            // The written bytes are reported first; the error comes again.
            Err(_) if written > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}
