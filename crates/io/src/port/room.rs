//! Room in front of an output's buffer, which is lent to a thread; see [`crate::lending`].
//!
//! While it is lent, its bytes are written to through its address. They are read when the loan was
//! taken back.

use std::ops::Range;

/// Bytes that are lent room for at first, and once that was used up.
const ROOM_BYTES_MIN: usize = 128;
const ROOM_BYTES_MAX: usize = 4 * 1024;

/// Empty until something is written in small pieces.
#[derive(Default)]
pub(super) struct LentRoom(Box<[u8]>);

impl LentRoom {
    /// From now on there is something to lend.
    #[inline]
    pub(super) fn provide(&mut self) {
        if self.0.is_empty() {
            self.0 = vec![0; ROOM_BYTES_MIN].into_boxed_slice();
        }
    }

    /// The addresses of the room, or of as much of it as the buffer has room for.
    #[inline]
    pub(super) fn lend(&mut self, buffer_room: usize) -> Range<usize> {
        let bytes = self.0.len().min(buffer_room);
        let start = self.0.as_mut_ptr().expose_provenance();
        start..start + bytes
    }

    /// Shows the first `count` bytes, which were written, to who appends them to the buffer.
    #[inline]
    pub(super) fn take_back(&mut self, count: usize, append: impl FnOnce(&[u8])) {
        if count == 0 {
            return;
        }
        append(&self.0[..count]);
        if count > ROOM_BYTES_MIN / 2 && self.0.len() == ROOM_BYTES_MIN {
            self.0 = vec![0; ROOM_BYTES_MAX].into_boxed_slice();
        }
    }
}
