//! Which blocks are free.
//!
//! Free blocks are either *ready* (committed, contents arbitrary; taken one by one) or in a *run*
//! (decommitted, so they read as zero; adjacent runs are merged). Blocks at or above the frontier
//! were never used and read as zero too.

use std::collections::BTreeMap;

use crate::block::{BLOCK_BYTES, Block, BlockInfo, Space, state};

/// Filled into freed memory in poison mode: a reference to an address that cannot be mapped.
pub(crate) const POISON: u64 = 0x7f7f_7f7f_7f7f_7f7d;

/// Most blocks that are committed at once.
const COMMIT_BATCH_MAX: usize = 64;

/// The free blocks.
pub(crate) struct BlockPool {
    ready: Vec<Block>,
    runs: BTreeMap<u32, u32>,
    frontier: u32,
    block_count: u32,
    used: usize,
    used_max: usize,
    poison: bool,
}

impl BlockPool {
    /// Every block of a fresh space.
    pub(crate) fn new(block_count: usize, poison: bool) -> BlockPool {
        BlockPool {
            ready: Vec::new(),
            runs: BTreeMap::new(),
            frontier: 0,
            block_count: block_count as u32,
            used: 0,
            used_max: 0,
            poison,
        }
    }

    /// Number of blocks in use.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Greatest number of blocks that were in use at one time.
    pub(crate) fn used_max(&self) -> usize {
        self.used_max
    }

    /// Every block in use has a smaller number.
    pub(crate) fn frontier(&self) -> u32 {
        self.frontier
    }

    fn count_taken(&mut self, blocks: usize) {
        self.used += blocks;
        self.used_max = self.used_max.max(self.used);
    }

    /// Takes a block, contents arbitrary. Its state, cards and marks are clear.
    pub(crate) fn take(&mut self, space: &Space) -> Option<Block> {
        if let Some(block) = self.ready.pop() {
            self.count_taken(1);
            return Some(block);
        }
        self.commit_some(space);
        if let Some(block) = self.ready.pop() {
            self.count_taken(1);
            return Some(block);
        }
        self.take_run(1)
    }

    /// Makes a number of blocks ready that grows with the heap. One system call for all of them
    /// costs a fraction of the page faults that it saves.
    fn commit_some(&mut self, space: &Space) {
        let mut batch = (self.used / 16).min(COMMIT_BATCH_MAX);
        if batch < 2 {
            return;
        }
        let start = match self.runs.pop_first() {
            Some((start, length)) => {
                batch = batch.min(length as usize);
                if length as usize > batch {
                    self.runs
                        .insert(start + batch as u32, length - batch as u32);
                }
                start
            }
            None => {
                batch = batch.min((self.block_count - self.frontier) as usize);
                let start = self.frontier;
                self.frontier += batch as u32;
                start
            }
        };
        space.populate(Block(start), batch);
        self.ready
            .extend((start..start + batch as u32).rev().map(Block));
    }

    /// Takes adjacent blocks that read as zero. Their states, cards and marks are clear.
    pub(crate) fn take_run(&mut self, blocks: usize) -> Option<Block> {
        let fitting = self
            .runs
            .iter()
            .find(|(_, length)| **length as usize >= blocks)
            .map(|(start, length)| (*start, *length));
        let start = match fitting {
            Some((start, length)) => {
                self.runs.remove(&start);
                if length as usize > blocks {
                    self.runs
                        .insert(start + blocks as u32, length - blocks as u32);
                }
                start
            }
            None => {
                if blocks > (self.block_count - self.frontier) as usize {
                    return None;
                }
                let start = self.frontier;
                self.frontier += blocks as u32;
                start
            }
        };
        self.count_taken(blocks);
        Some(Block(start))
    }

    fn clear_tables(&self, space: &Space, block: Block, blocks: usize) {
        space.clear_cards(block, blocks);
        for number in block.0..block.0 + blocks as u32 {
            space.set_state(Block(number), state::FREE);
            space.update_info(Block(number), |info| *info = BlockInfo::default());
        }
    }

    /// Frees one block; it stays committed until [`BlockPool::trim`].
    pub(crate) fn release(&mut self, space: &Space, block: Block) {
        self.clear_tables(space, block, 1);
        space.clear_marks(block);
        if self.poison {
            let words = space.start_of(block) as *mut u64;
            for index in 0..BLOCK_BYTES / 8 {
                // SAFETY: a word of the block, which nobody uses any more.
                unsafe { *words.add(index) = POISON }
            }
        }
        self.used -= 1;
        self.ready.push(block);
    }

    /// Frees adjacent blocks, a large object's, and decommits them. The mark bit of the object must
    /// be clear.
    pub(crate) fn release_run(&mut self, space: &Space, block: Block, blocks: usize) {
        self.clear_tables(space, block, blocks);
        self.used -= blocks;
        self.add_run(space, block, blocks);
    }

    fn add_run(&mut self, space: &Space, block: Block, blocks: usize) {
        space.decommit(block, blocks);
        let mut start = block.0;
        let mut length = blocks as u32;
        if let Some((&before, &before_length)) = self.runs.range(..start).next_back()
            && before + before_length == start
        {
            self.runs.remove(&before);
            start = before;
            length += before_length;
        }
        if let Some(after_length) = self.runs.remove(&(block.0 + blocks as u32)) {
            length += after_length;
        }
        if start + length == self.frontier {
            self.frontier = start;
        } else {
            self.runs.insert(start, length);
        }
    }

    /// Decommits ready blocks until at most `keep` are left, the ones with the greatest numbers first.
    pub(crate) fn trim(&mut self, space: &Space, keep: usize) {
        if self.ready.len() <= keep {
            return;
        }
        self.ready.sort_unstable_by(|a, b| b.cmp(a));
        let excess = self.ready.len() - keep;
        let mut freed = self
            .ready
            .drain(..excess)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .peekable();
        while let Some(first) = freed.next() {
            let mut length = 1;
            while freed.next_if_eq(&Block(first.0 + length)).is_some() {
                length += 1;
            }
            self.add_run(space, first, length as usize);
        }
    }
}
