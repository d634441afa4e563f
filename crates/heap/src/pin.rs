//! Conservative roots: words of native stacks and registers that may be references.
//!
//! A word that points anywhere into an object of a condemned block keeps that object alive and in
//! place. The object's start is found by walking its block, once for all words that point into it.

use crate::block::{Block, Space, UNCLEAN, state};
use crate::native_stack::NativeContext;
use crate::shape;
use crate::sweep;
use crate::tracer::Tracer;

/// Words of native stacks that point into condemned blocks, sorted.
#[derive(Default)]
pub(crate) struct Candidates {
    addresses: Vec<usize>,
}

impl Candidates {
    /// Collects the words of a stopped thread.
    pub(crate) fn gather(&mut self, space: &Space, context: &NativeContext) {
        context.for_each_word(|word| self.consider(space, word));
    }

    fn consider(&mut self, space: &Space, word: usize) {
        if !space.contains(word) {
            return;
        }
        let mut block = space.block_of(word);
        if space.state(block) & state::CONTENT == state::TAIL {
            block = Block(space.info(block).span);
        }
        if space.state(block) & state::CONDEMNED != 0 {
            self.addresses.push(word);
        }
    }

    /// Sorts, and makes the blocks concerned walkable. Must come before mark bits are cleared.
    pub(crate) fn prepare(&mut self, space: &Space) {
        self.addresses.sort_unstable();
        self.addresses.dedup();
        for &address in &self.addresses {
            let block = space.block_of(address);
            if space.info(block).flags & UNCLEAN != 0 {
                sweep::clean(space, block);
            }
        }
    }

    /// Pins the objects pointed into and adds them to the tracer's work. Returns how many.
    pub(crate) fn pin(&self, tracer: &mut Tracer<'_>) -> usize {
        let mut pinned = 0;
        let mut rest = &self.addresses[..];
        while let Some(&first) = rest.first() {
            let space = tracer.space;
            let mut block = space.block_of(first);
            if space.state(block) & state::CONTENT == state::TAIL {
                block = Block(space.info(block).span);
            }
            let start = space.start_of(block);
            let end = if space.state(block) & state::LARGE != 0 {
                start + ((space.info(block).span as usize) << crate::block::BLOCK_SHIFT)
            } else {
                start + crate::block::BLOCK_BYTES
            };
            let count = rest.partition_point(|&address| address < end);
            let (here, others) = rest.split_at(count);
            pinned += pin_in(tracer, block, here);
            rest = others;
        }
        pinned
    }
}

/// Pins the objects of one block, or the large object, that sorted addresses point into.
fn pin_in(tracer: &mut Tracer<'_>, block: Block, addresses: &[usize]) -> usize {
    let space = tracer.space;
    let block_state = space.state(block);
    let start = space.start_of(block);
    if block_state & state::LARGE != 0 {
        tracer.mark_in_place(shape::reference_to_object(start), block_state);
        return 1;
    }
    let top = space.top_of(block);
    let mut pinned = 0;
    let mut addresses = addresses.iter().copied().peekable();
    let mut at = start;
    while at < top {
        let Some(&address) = addresses.peek() else {
            break;
        };
        // SAFETY: the block is walkable up to its top, and nothing has been evacuated yet.
        let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
        if address < at + bytes {
            while addresses.next_if(|&address| address < at + bytes).is_some() {}
            if !shape::is_filler(word) {
                pinned += 1;
                pin_object(tracer, block, block_state, at, bytes);
            }
        }
        at += bytes;
    }
    pinned
}

fn pin_object(tracer: &mut Tracer<'_>, block: Block, block_state: u8, at: usize, bytes: usize) {
    // SAFETY: an object starts here, and nothing has been evacuated yet.
    let word = unsafe { shape::reference_to(at) };
    if block_state & state::IN_PLACE != 0 {
        tracer.mark_in_place(word, block_state);
        return;
    }
    let space = tracer.space;
    space.mark_range(at, bytes);
    space.set_state(block, block_state | state::PINNED);
    if block_state & state::CONTENT != state::LEAF {
        tracer.stack.push(word);
    }
}
