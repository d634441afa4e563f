//! What hash tables and compiled code that looks into them agree on: how a word is mixed, and the seed of the process.

use std::hash::{BuildHasher, Hasher, RandomState};
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
