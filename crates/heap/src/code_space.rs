//! Code objects: they never move, since return addresses and generated code point into them.
//!
//! Code is old from birth; only full collections free it. Its pool may refer to young objects: the
//! card of a code object is set when it is allocated and by stores into its pool, and a block with a
//! dirty card is traced object by object. Dead code becomes holes, which a list keeps for reuse.

use crate::block::{BLOCK_BYTES, Block, Space, state};
use crate::block_pool::BlockPool;
use crate::shape;

/// Where code is allocated.
#[derive(Debug, Default)]
pub(crate) struct CodeSpace {
    /// The rest of the current block.
    cursor: usize,
    limit: usize,
    /// Holes left by dead code, as address and bytes.
    holes: Vec<(usize, usize)>,
}

impl CodeSpace {
    /// Room for a small code object; the address of a walkable hole of exactly this size. The second
    /// result tells whether a block was taken.
    pub(crate) fn allocate(
        &mut self,
        space: &Space,
        pool: &mut BlockPool,
        bytes: usize,
    ) -> Option<(usize, bool)> {
        if let Some(index) = self.holes.iter().position(|hole| hole.1 >= bytes) {
            let (at, length) = self.holes[index];
            if length == bytes {
                self.holes.swap_remove(index);
            } else {
                self.holes[index] = (at + bytes, length - bytes);
                // SAFETY: the rest of a hole.
                unsafe { shape::write(at + bytes, shape::filler_header(length - bytes)) };
            }
            return Some((at, false));
        }
        let mut taken = false;
        if self.limit - self.cursor < bytes {
            if self.cursor < self.limit {
                self.holes.push((self.cursor, self.limit - self.cursor));
            }
            let block = pool.take(space)?;
            space.set_state(block, state::CODE);
            space.update_info(block, |info| info.top = BLOCK_BYTES as u32);
            self.cursor = space.start_of(block);
            self.limit = self.cursor + BLOCK_BYTES;
            taken = true;
        }
        let at = self.cursor;
        self.cursor += bytes;
        if self.cursor < self.limit {
            // SAFETY: the rest of the current block.
            unsafe {
                shape::write(self.cursor, shape::filler_header(self.limit - self.cursor));
            }
        }
        Some((at, taken))
    }

    /// Gives up the rest of the current block and all holes until the next sweep, so that code which is
    /// made until then stands in new blocks.
    pub(crate) fn begin_block(&mut self) {
        *self = CodeSpace::default();
    }

    /// Forgets all holes; [`CodeSpace::sweep`] finds them again.
    pub(crate) fn begin_sweep(&mut self) {
        *self = CodeSpace::default();
    }

    /// Frees the unmarked code of a block. Returns the bytes that live; zero when the block is empty.
    pub(crate) fn sweep(&mut self, space: &Space, block: Block) -> usize {
        let start = space.start_of(block);
        let end = space.top_of(block);
        let mut live = 0;
        let mut holes = Vec::new();
        let mut hole = start;
        let mut at = start;
        while at < end {
            // SAFETY: a code block is laid out as objects up to its top.
            let bytes = unsafe { shape::bytes_at(at) };
            if space.is_marked(at) {
                if hole < at {
                    holes.push((hole, at - hole));
                }
                live += bytes;
                hole = at + bytes;
            }
            at += bytes;
        }
        if live == 0 {
            return 0;
        }
        if hole < end {
            holes.push((hole, end - hole));
        }
        for &(at, bytes) in &holes {
            // SAFETY: dead code, of which nothing is read any more.
            unsafe { shape::write(at, shape::filler_header(bytes)) };
        }
        self.holes.append(&mut holes);
        space.clear_marks(block);
        space.set_state(block, state::CODE);
        live
    }
}

/// First and end address of the code object that contains an address, if one does.
pub(crate) fn object_around(space: &Space, address: usize) -> Option<(usize, usize)> {
    let mut block = space.block_of(address);
    if space.state(block) & state::CONTENT == state::TAIL {
        block = Block(space.info(block).span);
    }
    let state = space.state(block);
    if state & state::CONTENT != state::CODE {
        return None;
    }
    let start = space.start_of(block);
    if state & state::LARGE != 0 {
        // SAFETY: a large object starts at its first block.
        let bytes = unsafe { shape::bytes_at(start) };
        return (address < start + bytes).then_some((start, start + bytes));
    }
    let top = space.top_of(block);
    let mut at = start;
    while at < top {
        // SAFETY: a code block is laid out as objects up to its top.
        let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
        if address < at + bytes {
            return (!shape::is_filler(word)).then_some((at, at + bytes));
        }
        at += bytes;
    }
    None
}
