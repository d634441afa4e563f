//! Finds repetitions for the compressor.
//!
//! The matcher of `ruzstd` looks at each byte with a table larger than the caches. This one has a
//! small table, looks four bytes at a time, and takes larger steps where nothing repeats.

use ruzstd::encoding::{CompressionLevel, Matcher, Sequence};

/// The largest block of Zstandard.
const BLOCK_BYTES: usize = 128 << 10;
const TABLE_BITS: u32 = 14;
/// Shorter repetitions cost more than they save. With six bytes a block has fewer repetitions than
/// the 32512 from which on `ruzstd` 0.8.3 encodes their number wrongly.
const MATCH_MIN: usize = 6;
/// `ruzstd` 0.8.3 encodes longer ones wrongly: it subtracts 32771 where the format wants 65539.
const MATCH_MAX: usize = 65538;
/// After so many bytes without a repetition, as a power of two, steps grow by one.
const SKIP_BITS: u32 = 6;

/// Finds repetitions within a block.
pub struct BlockMatcher {
    block: Vec<u8>,
    spare: Vec<u8>,
    /// Where a hash was seen last, plus one.
    table: Vec<u32>,
}

impl BlockMatcher {
    pub fn new() -> BlockMatcher {
        BlockMatcher {
            block: Vec::new(),
            spare: Vec::new(),
            table: vec![0; 1 << TABLE_BITS],
        }
    }
}

fn eight_bytes(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The hash of the first six of eight bytes.
fn slot(word: u64) -> usize {
    ((word << 16).wrapping_mul(0x9e37_79b1_85eb_ca87) >> (64 - TABLE_BITS)) as usize
}

/// The length of what two places have in common; the second is behind the first.
fn common(bytes: &[u8], first: usize, second: usize) -> usize {
    let mut length = 0;
    while let Some(right) = eight_bytes(bytes, second + length) {
        let Some(left) = eight_bytes(bytes, first + length) else {
            break;
        };
        let difference = left ^ right;
        if difference != 0 {
            return length + (difference.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = bytes[second + length..]
        .iter()
        .zip(&bytes[first + length..]);
    length + rest.take_while(|(left, right)| left == right).count()
}

impl Matcher for BlockMatcher {
    fn get_next_space(&mut self) -> Vec<u8> {
        let mut space = std::mem::take(&mut self.spare);
        space.resize(BLOCK_BYTES, 0);
        space
    }

    fn get_last_space(&mut self) -> &[u8] {
        &self.block
    }

    fn commit_space(&mut self, space: Vec<u8>) {
        self.spare = std::mem::replace(&mut self.block, space);
    }

    fn skip_matching(&mut self) {}

    fn start_matching(&mut self, mut handle_sequence: impl for<'a> FnMut(Sequence<'a>)) {
        self.table.fill(0);
        let bytes = &self.block[..];
        let mut at = 0;
        let mut literals = 0;
        while let Some(word) = eight_bytes(bytes, at) {
            let slot = &mut self.table[slot(word)];
            let candidate = std::mem::replace(slot, at as u32 + 1) as usize;
            let length = match candidate.checked_sub(1) {
                Some(before) => common(bytes, before, at).min(MATCH_MAX),
                None => 0,
            };
            if length < MATCH_MIN {
                at += 1 + ((at - literals) >> SKIP_BITS);
                continue;
            }
            handle_sequence(Sequence::Triple {
                literals: &bytes[literals..at],
                offset: at + 1 - candidate,
                match_len: length,
            });
            at += length;
            literals = at;
        }
        if literals < bytes.len() {
            handle_sequence(Sequence::Literals {
                literals: &bytes[literals..],
            });
        }
    }

    fn reset(&mut self, _: CompressionLevel) {}

    fn window_size(&self) -> u64 {
        BLOCK_BYTES as u64
    }
}
