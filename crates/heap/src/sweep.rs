//! Blocks that survive with holes in them.
//!
//! After a collection a block in which objects stayed is `PARTIAL`: its mark bits tell which
//! granules are in use. The dead rest is left as it is (`UNCLEAN`) until somebody reads the block
//! linearly (a dirty card, a pointer from a native stack, the verifier) or allocates into it.

use canny_tables::layout::GRANULE_BYTES;

use crate::block::{
    BLOCK_BYTES, BLOCK_GRANULES, BLOCK_MARK_WORDS, Block, KNOWN, PARTIAL, Space, UNCLEAN, state,
};
use crate::shape;

/// A hole shorter than this is not allocated into.
pub(crate) const HOLE_BYTES_MIN: usize = 256;

/// A block is worth allocating into when this many bytes of it are in usable holes.
const USABLE_BYTES_MIN: usize = BLOCK_BYTES / 4;

/// Calls `visit(first, end)` for each maximal run of granules that are not in use.
fn for_each_hole(marks: &[u64; BLOCK_MARK_WORDS], mut visit: impl FnMut(usize, usize)) {
    let next = |from: usize, set: bool| -> usize {
        let mut index = from / 64;
        let mut mask = !0u64 << (from % 64);
        while index < BLOCK_MARK_WORDS {
            let word = if set { marks[index] } else { !marks[index] } & mask;
            if word != 0 {
                return index * 64 + word.trailing_zeros() as usize;
            }
            mask = !0;
            index += 1;
        }
        BLOCK_GRANULES
    };
    let mut from = 0;
    while from < BLOCK_GRANULES {
        let start = next(from, false);
        if start == BLOCK_GRANULES {
            return;
        }
        from = next(start, true);
        visit(start, from);
    }
}

/// Bytes in use of a block, by its mark bits.
pub(crate) fn live_bytes(space: &Space, block: Block) -> usize {
    let granules: u32 = space.mark_words(block).iter().map(|w| w.count_ones()).sum();
    granules as usize * GRANULE_BYTES
}

/// Makes the dead granules of a partial block holes, if they are not yet.
pub(crate) fn clean(space: &Space, block: Block) {
    let info = space.info(block);
    if info.flags & UNCLEAN == 0 {
        return;
    }
    debug_assert!(info.flags & PARTIAL != 0);
    let start = space.start_of(block);
    let top = space.top_of(block);
    let leaf = space.state(block) & state::CONTENT == state::LEAF;
    for_each_hole(&space.mark_words(block), |first, end| {
        let first = start + first * GRANULE_BYTES;
        let end = (start + end * GRANULE_BYTES).min(top);
        if first >= end {
            return;
        }
        // SAFETY: granules of the block below its top that no live object covers.
        unsafe {
            if leaf {
                shape::write(first, shape::filler_header(end - first));
            } else {
                shape::clear_hole(first, end);
            }
        }
    });
    space.update_info(block, |info| info.flags &= !UNCLEAN);
}

/// The holes of a clean partial block that are long enough to allocate into, last first. The space
/// above the block's top becomes a clean hole or part of one, so that the top can be the block's
/// end.
pub(crate) fn holes(space: &Space, block: Block) -> Vec<(usize, usize)> {
    let start = space.start_of(block);
    let top = space.top_of(block);
    let mut found = Vec::new();
    for_each_hole(&space.mark_words(block), |first, end| {
        let first = start + first * GRANULE_BYTES;
        let end = start + end * GRANULE_BYTES;
        if end > top {
            // SAFETY: no live object covers these granules.
            unsafe { shape::clear_hole(first, end) };
        }
        if end - first >= HOLE_BYTES_MIN {
            found.push((first, end));
        }
    });
    found.reverse();
    found
}

/// Decides about a condemned block in which objects may have stayed. Returns the bytes that live in
/// it, zero when it can be freed, and whether it is worth allocating into.
pub(crate) fn retain(space: &Space, block: Block) -> (usize, bool) {
    let live = live_bytes(space, block);
    if live == 0 {
        return (0, false);
    }
    let content = space.state(block) & state::CONTENT;
    space.set_state(block, content);
    let mut usable = 0;
    for_each_hole(&space.mark_words(block), |first, end| {
        let bytes = (end - first) * GRANULE_BYTES;
        if bytes >= HOLE_BYTES_MIN {
            usable += bytes;
        }
    });
    space.clear_cards(block, 1);
    if live == BLOCK_BYTES {
        space.clear_marks(block);
        space.update_info(block, |info| {
            info.flags &= KNOWN;
            info.live_granules = BLOCK_GRANULES as u16;
        });
        return (live, false);
    }
    space.update_info(block, |info| {
        info.flags = info.flags & KNOWN | PARTIAL | UNCLEAN;
        info.live_granules = (live / GRANULE_BYTES) as u16;
    });
    (live, usable >= USABLE_BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_maximal_runs_of_clear_bits() {
        let mut marks = [0u64; BLOCK_MARK_WORDS];
        let mut seen = Vec::new();
        for_each_hole(&marks, |a, b| seen.push((a, b)));
        assert_eq!(seen, [(0, BLOCK_GRANULES)]);
        marks[0] = 1;
        marks[1] = !0;
        marks[BLOCK_MARK_WORDS - 1] = 1 << 63;
        seen.clear();
        for_each_hole(&marks, |a, b| seen.push((a, b)));
        assert_eq!(seen, [(1, 64), (128, BLOCK_GRANULES - 1)]);
        seen.clear();
        for_each_hole(&[!0; BLOCK_MARK_WORDS], |a, b| seen.push((a, b)));
        assert!(seen.is_empty());
    }
}
