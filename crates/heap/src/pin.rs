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
    /// Collects the words of a stopped thread that point into condemned blocks.
    pub(crate) fn gather(&mut self, space: &Space, context: &NativeContext) {
        context.for_each_word(|word| {
            if block_state_at(space, word).is_some_and(|state| state & state::CONDEMNED != 0) {
                self.addresses.push(word);
            }
        });
    }

    /// Collects the words of a stopped thread that point into any block in use.
    pub(crate) fn gather_all(&mut self, space: &Space, context: &NativeContext) {
        context.for_each_word(|word| {
            let content = block_state_at(space, word).map(|state| state & state::CONTENT);
            if content.is_some_and(|content| content != state::FREE && content != state::TAIL) {
                self.addresses.push(word);
            }
        });
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
        let space = tracer.space;
        self.each_object(space, |block, at, bytes| {
            let block_state = space.state(block);
            pinned += 1;
            if block_state & state::LARGE != 0 {
                tracer.mark_in_place(shape::reference_to_object(at), block_state);
            } else {
                pin_object(tracer, block, block_state, at, bytes);
            }
        });
        pinned
    }

    /// Calls `visit` with block, address and bytes of each object pointed into. Nothing has been
    /// evacuated yet.
    pub(crate) fn each_object(&self, space: &Space, mut visit: impl FnMut(Block, usize, usize)) {
        let mut rest = &self.addresses[..];
        while let Some(&first) = rest.first() {
            let mut block = space.block_of(first);
            if space.state(block) & state::CONTENT == state::TAIL {
                block = Block(space.info(block).span);
            }
            let start = space.start_of(block);
            let is_large = space.state(block) & state::LARGE != 0;
            let end = if is_large {
                start + ((space.info(block).span as usize) << crate::block::BLOCK_SHIFT)
            } else {
                start + crate::block::BLOCK_BYTES
            };
            let count = rest.partition_point(|&address| address < end);
            let (here, others) = rest.split_at(count);
            if is_large {
                visit(block, start, end - start);
            } else {
                each_object_in(space, block, here, &mut visit);
            }
            rest = others;
        }
    }
}

/// The state of the block that a word points into, of a large object that of its first block.
fn block_state_at(space: &Space, word: usize) -> Option<u8> {
    if !space.contains(word) {
        return None;
    }
    let block = space.block_of(word);
    let block_state = space.state(block);
    Some(if block_state & state::CONTENT == state::TAIL {
        space.state(Block(space.info(block).span))
    } else {
        block_state
    })
}

/// The objects of one block of small ones that sorted addresses point into.
fn each_object_in(
    space: &Space,
    block: Block,
    addresses: &[usize],
    visit: &mut impl FnMut(Block, usize, usize),
) {
    let top = space.top_of(block);
    let mut addresses = addresses.iter().copied().peekable();
    let mut at = space.start_of(block);
    while at < top {
        let Some(&address) = addresses.peek() else {
            break;
        };
        // SAFETY: the block is walkable up to its top, and nothing has been evacuated yet.
        let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
        if address < at + bytes {
            while addresses.next_if(|&address| address < at + bytes).is_some() {}
            if !shape::is_filler(word) {
                visit(block, at, bytes);
            }
        }
        at += bytes;
    }
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
