//! Objects larger than half a block. Each has adjacent blocks of its own and never moves.
//!
//! It is promoted in place. Memory of objects above a limit is not committed when they are
//! allocated, since a program may never touch most of it; the pages appear zeroed at the first
//! access.

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::Mutator;
use crate::account::Account;
use crate::block::{BLOCK_BYTES, Block, state};
use crate::heap::{Heap, HeapExhausted, HeapState};
use crate::shape;

/// A large object of at most so many blocks is committed at once when it is allocated; of a larger one
/// the program may never touch much.
const COMMITTED_BLOCKS_MAX: usize = 256;

impl Mutator {
    /// A leaf as [`Mutator::leaf`] makes it, all of which is written next: its memory is committed at
    /// once, whatever its size, which takes half as long as the faults would.
    ///
    /// # Panics
    /// If the kind is not a leaf.
    pub fn leaf_to_fill(
        &mut self,
        kind: Kind,
        flags: u8,
        length: usize,
    ) -> Result<Value, HeapExhausted> {
        let leaf = self.leaf(kind, flags, length)?;
        let blocks = blocks_for(shape::object_bytes(kind, length).unwrap_or(0));
        if blocks > COMMITTED_BLOCKS_MAX {
            let space = &self.heap().space;
            space.populate(space.block_of(leaf.address()), blocks);
        }
        Ok(leaf)
    }
}

/// Blocks that a large object of so many bytes takes.
pub(crate) fn blocks_for(bytes: usize) -> usize {
    bytes.div_ceil(BLOCK_BYTES)
}

/// Takes blocks for a large object. The address, and whether the memory reads as zero; `None` when no
/// adjacent blocks are left in the reservation.
pub(crate) fn allocate(
    heap: &Heap,
    state: &mut HeapState,
    content: u8,
    bytes: usize,
    account: Account,
) -> Option<(usize, bool)> {
    let blocks = blocks_for(bytes);
    let space = &heap.space;
    let run = match state.pool.take_run(blocks) {
        Some(run) => run,
        None => {
            state.pool.trim(space, 0, 0);
            state.pool.cool(space, 0);
            state.pool.take_run(blocks)?
        }
    };
    let first = run.first;
    if run.is_zero && blocks <= COMMITTED_BLOCKS_MAX {
        space.populate(first, blocks);
    }
    let birth = if content == state::CODE {
        // Code is old from birth.
        content | state::LARGE
    } else {
        content | state::LARGE | state::YOUNG | state::CONDEMNED | state::IN_PLACE
    };
    space.set_state(first, birth);
    space.update_info(first, |info| {
        info.span = blocks as u32;
        info.account = account;
    });
    for number in first.0 + 1..first.0 + blocks as u32 {
        space.set_state(Block(number), state::TAIL);
        space.update_info(Block(number), |info| info.span = first.0);
    }
    if content == state::CODE {
        state.large_old.push(first);
        state.old_bytes += bytes;
    } else {
        state.large_young.push(first);
    }
    state.young_blocks += blocks;
    state.statistics.bytes_allocated += bytes as u64;
    Some((space.start_of(first), run.is_zero))
}
