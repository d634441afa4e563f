//! A hash for rows: keys are a few small numbers that the machine made.
//!
//! The standard library's hash resists keys that are chosen to collide. Rows are numbered by this
//! crate, so nobody chooses them, and a profiler must not slow its program down. Texts, which a
//! program may choose, keep the standard hash.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers of rows.
pub type RowHash = BuildHasherDefault<RowHasher>;

/// Multiplies and rotates, word by word.
#[derive(Debug, Default)]
pub struct RowHasher(u64);

/// An odd number without a pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl RowHasher {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for RowHasher {
    fn finish(&self) -> u64 {
        // The tables of the standard library use the lowest and the highest bits.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.word(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.word(value as u64);
    }
}
