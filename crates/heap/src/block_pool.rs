//! The pool of free blocks.
//!
//! Free blocks are *ready* (committed, contents arbitrary; taken one by one), in a *warm run* (where
//! large objects were: committed, contents arbitrary) or in a *cold run* (decommitted, so they read as
//! zero). Adjacent runs of a kind are merged. Blocks at or above the frontier were never used and read
//! as zero too.

use std::collections::BTreeMap;

use crate::block::{BLOCK_BYTES, Block, BlockInfo, Space, state};

/// Filled into freed memory in poison mode: a reference to an address that cannot be mapped.
pub(crate) const POISON: u64 = 0x7f7f_7f7f_7f7f_7f7d;

/// Most blocks that are committed at once.
const COMMIT_BATCH_MAX: usize = 64;

/// Free runs of blocks: length by first block.
#[derive(Default)]
struct Runs(BTreeMap<u32, u32>);

impl Runs {
    /// Adds a run to those that it touches; the whole that it is part of then.
    fn add(&mut self, start: u32, length: u32) -> (u32, u32) {
        let (mut start, mut length) = (start, length);
        if let Some((&before, &before_length)) = self.0.range(..start).next_back()
            && before + before_length == start
        {
            start = before;
            length += before_length;
        }
        if let Some(after_length) = self.0.remove(&(start + length)) {
            length += after_length;
        }
        self.0.insert(start, length);
        (start, length)
    }

    /// Takes blocks from the first run that has so many.
    fn take(&mut self, blocks: u32) -> Option<u32> {
        let (start, length) = self
            .0
            .iter()
            .find(|(_, length)| **length >= blocks)
            .map(|(start, length)| (*start, *length))?;
        self.0.remove(&start);
        if length > blocks {
            self.0.insert(start + blocks, length - blocks);
        }
        Some(start)
    }

    /// Takes at most so many blocks from the first run.
    fn take_some(&mut self, blocks: u32) -> Option<(u32, u32)> {
        let (start, length) = self.0.pop_first()?;
        let taken = blocks.min(length);
        if length > taken {
            self.0.insert(start + taken, length - taken);
        }
        Some((start, taken))
    }
}

/// Adjacent blocks that were free.
pub(crate) struct TakenRun {
    /// The first of them.
    pub(crate) first: Block,
    /// They read as zero; else they are committed and hold anything.
    pub(crate) is_zero: bool,
}

/// The free blocks.
pub(crate) struct BlockPool {
    ready: Vec<Block>,
    cold: Runs,
    warm: Runs,
    warm_blocks: usize,
    /// Fewest warm blocks since the last call of [`BlockPool::cool`]: nobody needed these.
    warm_blocks_least: usize,
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
            cold: Runs::default(),
            warm: Runs::default(),
            warm_blocks: 0,
            warm_blocks_least: 0,
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

    /// Number of free blocks that are committed where large objects were.
    pub(crate) fn warm(&self) -> usize {
        self.warm_blocks
    }

    /// Number of them that nobody needed since the last call of [`BlockPool::cool`].
    pub(crate) fn warm_unused(&self) -> usize {
        self.warm_blocks_least
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
        self.take_run(1).map(|run| run.first)
    }

    /// Makes a number of blocks ready that grows with the heap. One system call for all of them
    /// costs a fraction of the page faults that it saves.
    fn commit_some(&mut self, space: &Space) {
        let mut batch = (self.used / 16).min(COMMIT_BATCH_MAX);
        if batch < 2 {
            return;
        }
        let start = match self.cold.take_some(batch as u32) {
            Some((start, taken)) => {
                batch = taken as usize;
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

    /// Takes adjacent blocks, warm ones if there are some. Their states, cards and marks are clear.
    pub(crate) fn take_run(&mut self, blocks: usize) -> Option<TakenRun> {
        let warm = self.warm.take(blocks as u32);
        let start = match warm {
            Some(start) => {
                self.warm_blocks -= blocks;
                self.warm_blocks_least = self.warm_blocks_least.min(self.warm_blocks);
                start
            }
            None => match self.cold.take(blocks as u32) {
                Some(start) => start,
                None if blocks > (self.block_count - self.frontier) as usize => return None,
                None => {
                    let start = self.frontier;
                    self.frontier += blocks as u32;
                    start
                }
            },
        };
        self.count_taken(blocks);
        Some(TakenRun {
            first: Block(start),
            is_zero: warm.is_none(),
        })
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

    /// Frees adjacent blocks, a large object's. They stay committed until [`BlockPool::trim`]. The mark
    /// bit of the object must be clear.
    pub(crate) fn release_run(&mut self, space: &Space, block: Block, blocks: usize) {
        self.clear_tables(space, block, blocks);
        self.used -= blocks;
        if self.poison {
            self.add_cold(space, block.0, blocks as u32);
        } else {
            self.warm_blocks += blocks;
            self.warm.add(block.0, blocks as u32);
        }
    }

    fn add_cold(&mut self, space: &Space, start: u32, length: u32) {
        space.decommit(Block(start), length as usize);
        let (start, length) = self.cold.add(start, length);
        if start + length == self.frontier {
            self.frontier = start;
            self.cold.0.remove(&start);
        }
    }

    /// Decommits warm runs until at most so many blocks of them are left, the ones with the greatest
    /// numbers first.
    pub(crate) fn cool(&mut self, space: &Space, keep: usize) {
        while self.warm_blocks > keep {
            let Some((start, length)) = self.warm.0.pop_last() else {
                break;
            };
            let excess = (self.warm_blocks - keep).min(length as usize) as u32;
            if excess < length {
                self.warm.0.insert(start, length - excess);
            }
            self.warm_blocks -= excess as usize;
            self.add_cold(space, start + length - excess, excess);
        }
        self.warm_blocks_least = self.warm_blocks;
    }

    /// Decommits ready blocks until at most `keep` are left, the ones with the greatest numbers first.
    /// As many as [`BlockPool::take`] commits at once, and `slack` at most, are left alone: it would
    /// commit them again soon.
    pub(crate) fn trim(&mut self, space: &Space, keep: usize, slack: usize) {
        if self.ready.len() <= keep + slack.min(COMMIT_BATCH_MAX) {
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
            self.add_cold(space, first.0, length);
        }
    }
}
