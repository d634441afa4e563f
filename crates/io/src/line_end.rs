//! Where a short line ends.
//!
//! `memchr` begins slowly, since it looks for places that are aligned: for a line of 60 characters it takes 150 instructions, this
//! 40. What is long is left to it.

use memchr::memchr2;

/// Blocks that are looked at here.
#[cfg(target_arch = "x86_64")]
const BLOCKS_MAX: usize = 16;

/// The place of the first line feed or carriage return.
#[inline]
pub(crate) fn find(bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        let (blocks, _) = bytes.as_chunks::<16>();
        for (index, block) in blocks.iter().take(BLOCKS_MAX).enumerate() {
            let ends = ends(block);
            if ends != 0 {
                return Some(16 * index + ends.trailing_zeros() as usize);
            }
        }
        let seen = 16 * blocks.len().min(BLOCKS_MAX);
        memchr2(b'\n', b'\r', &bytes[seen..]).map(|place| seen + place)
    }
    #[cfg(not(target_arch = "x86_64"))]
    memchr2(b'\n', b'\r', bytes)
}

/// A bit for each byte that is one of them.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "loads a block into a register")]
fn ends(block: &[u8; 16]) -> i32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: every processor of this architecture has these instructions, and the block is as long as what is loaded.
    unsafe {
        let block = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        let line_feeds = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\n' as i8));
        let returns = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\r' as i8));
        _mm_movemask_epi8(_mm_or_si128(line_feeds, returns))
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_first_end_is_found_wherever_it_is() {
        for length in 0..600 {
            let mut bytes = vec![b'x'; length];
            assert_eq!(find(&bytes), None);
            for (place, end) in [(length / 2, b'\r'), (length / 3, b'\n'), (0, b'\r')] {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = end;
                    assert_eq!(find(&bytes), Some(place));
                }
            }
        }
    }
}
