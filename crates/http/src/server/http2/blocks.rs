//! The limits of arriving frames, as far as they say whether the head of a request is on its way. A
//! head that takes too long has to be noticed, and the state machine of the frames does not tell.

use super::PREFACE;

/// Bytes before the payload of a frame: three of its length, the type, the flags and four of the stream.
const FRAME_HEAD_BYTES: usize = 9;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

#[derive(Debug)]
pub(super) struct BlockTracker {
    /// Bytes to be passed over.
    skip: usize,
    head: [u8; FRAME_HEAD_BYTES],
    /// How much of `head` has come.
    filled: usize,
    /// A block of fields has begun and not ended.
    is_open: bool,
    /// So many have begun.
    count: u64,
    /// That frame ends it.
    will_close: bool,
}

impl Default for BlockTracker {
    fn default() -> BlockTracker {
        BlockTracker {
            skip: PREFACE.len(),
            head: [0; FRAME_HEAD_BYTES],
            filled: 0,
            is_open: false,
            count: 0,
            will_close: false,
        }
    }
}

impl BlockTracker {
    /// Passes over what came.
    pub(super) fn pass(&mut self, mut bytes: &[u8]) {
        loop {
            let count = self.skip.min(bytes.len());
            self.skip -= count;
            bytes = &bytes[count..];
            if self.skip > 0 {
                return;
            }
            if std::mem::take(&mut self.will_close) {
                self.is_open = false;
            }
            if bytes.is_empty() {
                return;
            }
            let count = (FRAME_HEAD_BYTES - self.filled).min(bytes.len());
            self.head[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
            self.filled += count;
            bytes = &bytes[count..];
            if self.filled < FRAME_HEAD_BYTES {
                return;
            }
            self.filled = 0;
            let [high, middle, low, kind, flags, ..] = self.head;
            self.skip = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            if matches!(kind, HEADERS | CONTINUATION) {
                self.count += u64::from(kind == HEADERS);
                self.is_open = true;
                self.will_close = flags & END_HEADERS != 0;
            }
        }
    }

    /// The number of the head that has begun and not ended.
    pub(super) fn open_block(&self) -> Option<u64> {
        self.is_open.then_some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_end_with_their_last_frame() {
        let mut bytes = PREFACE.to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        let before = bytes.len();
        bytes.extend_from_slice(&[0, 0, 2, 1, 1, 0, 0, 0, 1, 7, 7]);
        bytes.extend_from_slice(&[0, 0, 1, 9, 4, 0, 0, 0, 1, 7]);
        let after = bytes.len();
        bytes.extend_from_slice(&[0, 0, 1, 0, 1, 0, 0, 0, 1, 7]);
        // However the bytes come, in pieces or one by one.
        for size in [1, 2, 3, 7, 100] {
            let mut tracker = BlockTracker::default();
            let mut passed = 0;
            for piece in bytes.chunks(size) {
                tracker.pass(piece);
                passed += piece.len();
                let is_inside = (before + FRAME_HEAD_BYTES..after).contains(&passed);
                assert_eq!(tracker.open_block(), is_inside.then_some(1), "{passed}");
            }
        }
    }
}
