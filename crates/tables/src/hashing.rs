//! The hash function that hash tables and compiled code share: how a word is mixed, and the
//! process's seed.
//!
//! Compiled code looks tables up inline, so that both must agree bit by bit. The seed is random for
//! each process, against prepared collisions, and never changes during it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::OnceLock;

/// Added to what is mixed.
pub const MIX_OFFSET: u64 = 0x9e37_79b9_7f4a_7c15;
/// Multiplied with it.
pub const MIX_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// One round of multiplying and folding.
#[inline(always)]
pub fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word ^ MIX_OFFSET) * u128::from(MIX_FACTOR);
    (product as u64) ^ (product >> 64) as u64
}

/// The seed of this process.
#[inline(always)]
pub fn process_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().build_hasher().finish())
}

/// A hasher that mixes words as hash tables of programs do, beginning with the seed of the process: for
/// keys that programs choose, at a quarter of what the standard library's takes.
#[derive(Clone, Copy, Debug)]
pub struct SeededHasher(u64);

impl Default for SeededHasher {
    fn default() -> SeededHasher {
        SeededHasher(process_seed())
    }
}

/// A map by texts or numbers that nobody can prepare collisions for.
pub type SeededMap<K, V> = HashMap<K, V, BuildHasherDefault<SeededHasher>>;
/// The same without values.
pub type SeededSet<K> = HashSet<K, BuildHasherDefault<SeededHasher>>;

impl Hasher for SeededHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            // The length keeps zeros at the end apart.
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            word[7] = rest.len() as u8;
            self.write_u64(u64::from_le_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_hashes_of_their_own() {
        let hash = |bytes: &[u8]| {
            let mut hasher = SeededHasher::default();
            hasher.write(bytes);
            hasher.finish()
        };
        let mut seen = SeededSet::default();
        for length in 0..40 {
            for last in 0..50 {
                let mut text = vec![b'a'; length];
                text.push(last);
                assert!(seen.insert(hash(&text)), "{length} {last}");
            }
        }
        assert_eq!(hash(b"car"), hash(b"car"));
        // Tables look at the lowest bits and at the highest ones.
        let low: SeededSet<u64> = seen.iter().map(|hash| hash & 0xfff).collect();
        let high: SeededSet<u64> = seen.iter().map(|hash| hash >> 52).collect();
        assert!(low.len() > 1400 && high.len() > 1400);
    }
}
