//! Maps and sets by code word or address. They are addresses that no program chooses, so a
//! multiplication hashes them well enough; a log asks a map several times per entry.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::snapshot::CodeWord;

/// A map whose keys no program chooses.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;
/// A set of what no program chooses.
pub type FastSet<K> = HashSet<K, BuildHasherDefault<WordHasher>>;
/// A map by code.
pub type CodeMap<V> = FastMap<CodeWord, V>;
/// A map by address of an instruction.
pub type AddressMap<V> = FastMap<u64, V>;
/// A set of codes.
pub type CodeSet = FastSet<CodeWord>;

/// Hashes a few words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, word: u64) {
        // The golden ratio's multiplier; the fold brings the mixed high bits down to where tables look.
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_i32(&mut self, number: i32) {
        self.write_u64(number as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_addresses_do_not_collide() {
        let hashes: HashSet<u64> = (0..4096)
            .map(|index| {
                let mut hasher = WordHasher::default();
                hasher.write_u64(0x7f00_0000_0005 + 16 * index);
                hasher.finish() & 0xffff
            })
            .collect();
        assert!(hashes.len() > 3500, "{}", hashes.len());
    }
}
