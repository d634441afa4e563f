//! Bytes that ports hold in memory, counted for memory limits.
//!
//! A buffer that has nothing behind it may hold a little without asking. Whenever it is full its room
//! doubles, if the sum of all such rooms stays below what is allowed; else the operation fails, and has
//! accepted nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that every buffer may hold.
const FREE_BYTES: usize = 64 * 1024;

/// The sum of all rooms beyond that.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The most that it may be.
static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Bytes of room that ports in memory have.
pub fn held_bytes() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// Says how many bytes of room ports in memory may have in all. They keep the memory that they have.
pub fn allow_bytes(bytes: usize) {
    ALLOWED.store(bytes, Ordering::Relaxed);
}

/// The room of one buffer.
#[derive(Debug, Default)]
pub(crate) struct Room {
    counted: usize,
}

impl Room {
    /// Bytes that may be held.
    pub(crate) fn bytes(&self) -> usize {
        FREE_BYTES + self.counted
    }

    /// Makes the room larger than `used` bytes; whether that is allowed.
    pub(crate) fn grow_beyond(&mut self, used: usize) -> bool {
        let more = (2 * used.max(self.bytes())).saturating_sub(self.bytes());
        let allowed = ALLOWED.load(Ordering::Relaxed);
        let grown = HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(more).filter(|sum| *sum <= allowed)
        });
        if grown.is_ok() {
            self.counted += more;
        }
        grown.is_ok()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.counted > 0 {
            HELD.fetch_sub(self.counted, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOutput, IoError, Wait};

    #[test]
    fn a_port_stops_where_no_more_is_allowed_and_gives_its_room_back() {
        let before = held_bytes();
        allow_bytes(before + (4 << 20));
        let mut port = BinaryOutput::memory();
        let piece = [7; 1000];
        let mut accepted = 0;
        let error = loop {
            match port.write_bytes(&piece, Wait::NonBlocking) {
                Ok(()) => accepted += piece.len(),
                Err(error) => break error,
            }
            assert!(accepted < 10 << 20, "the port did not stop");
        };
        assert!(matches!(error, IoError::MemoryUsedUp(_)));
        assert!(accepted >= 2 << 20, "{accepted}");
        assert_eq!(port.bytes().len(), accepted);
        allow_bytes(usize::MAX);
        port.write_bytes(&piece, Wait::NonBlocking).unwrap();
        drop(port);
        assert!(held_bytes() < before + (1 << 20));
    }
}
