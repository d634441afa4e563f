//! Visits every live object, for heap snapshots and tests.
//!
//! The walk runs while the world is stopped, after a full collection, so that every object it meets
//! is live. An object shows its kind, its bytes and its outgoing edges, weak references included;
//! it must not be kept beyond the walk, since nothing roots it.

use canny_tables::kinds::Kind;
use canny_tables::layout::{GRANULE_BYTES, code};
use canny_value::{Header, Value};

use crate::block::{Block, Space, state};
use crate::collector;
use crate::heap::HeapState;
use crate::mark;
use crate::mutator::Mutator;
use crate::shape;
use crate::sweep;

/// A live object or pair, seen while the world is stopped.
#[derive(Clone, Copy, Debug)]
pub struct LiveObject {
    address: usize,
    content: u8,
    bytes: usize,
    kind: Option<Kind>,
}

impl LiveObject {
    /// Its reference.
    pub fn value(&self) -> Value {
        // SAFETY: a live object at this address.
        unsafe { shape::value(shape::reference_to(self.address)) }
    }

    /// Its kind, or `None` for a pair.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Bytes that it takes in the heap.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls `visit` for each reference that it holds, weak ones included.
    pub fn for_each_edge(&self, mut visit: impl FnMut(Value)) {
        for_each_slot(self.address, self.content, self.bytes, |slot| {
            // SAFETY: a tagged word of a live object.
            let word = unsafe { shape::read(slot) };
            if shape::is_reference(word) {
                // SAFETY: as above.
                visit(unsafe { shape::value(word) });
            }
        });
    }
}

/// Calls `visit` with the address of each tagged word of an object.
pub(crate) fn for_each_slot(
    address: usize,
    content: u8,
    bytes: usize,
    mut visit: impl FnMut(usize),
) {
    match content {
        state::SCANNABLE | state::SPECIAL => {
            // SAFETY: an object or pair starts here. Its first word may be treated alike, since a header
            // does not look like a reference.
            let first = unsafe { shape::read(address) };
            let bytes = if Header::is_header(first) {
                8 + Header(first).payload_bytes()
            } else {
                bytes
            };
            for slot in (address..address + bytes).step_by(8) {
                visit(slot);
            }
        }
        state::CODE => {
            let tagged = shape::reference_to_object(address) as usize;
            for offset in [code::NAME, code::DEBUG, code::PARAMETERS] {
                visit(tagged.wrapping_add_signed(offset as isize));
            }
            let (pool, length) = mark::pool_of(address);
            for index in 0..length {
                visit(pool + 8 * index);
            }
        }
        _ => {}
    }
}

/// Calls `visit(address, content, bytes)` for every object, dead ones that have not been reclaimed
/// included. Areas are closed.
pub(crate) fn for_each_object(
    space: &Space,
    state: &HeapState,
    mut visit: impl FnMut(usize, u8, usize),
) {
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        let block_state = space.state(block);
        let content = block_state & state::CONTENT;
        if matches!(content, state::FREE | state::TAIL) {
            continue;
        }
        let start = space.start_of(block);
        if block_state & state::LARGE != 0 {
            // SAFETY: a large object starts at its first block.
            visit(start, content, unsafe { shape::bytes_at(start) });
            continue;
        }
        sweep::clean(space, block);
        let top = space.top_of(block);
        let mut at = start;
        while at < top {
            // SAFETY: the block is laid out as objects up to its top.
            let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
            if !shape::is_filler(word) {
                visit(at, content, bytes);
            }
            at += bytes.max(GRANULE_BYTES);
        }
    }
}

impl Mutator {
    /// Collects fully, then calls `visit` for every live object while the world is stopped. `visit`
    /// must not use the heap.
    pub fn walk(&mut self, mut visit: impl FnMut(&LiveObject)) {
        while self
            .stop_the_world(|heap, state| {
                collector::collect(heap, state, true);
                for_each_object(&heap.space, state, |address, content, bytes| {
                    // SAFETY: an object starts here.
                    let first = unsafe { shape::read(address) };
                    let kind = Header::is_header(first).then(|| Header(first).kind());
                    visit(&LiveObject {
                        address,
                        content,
                        bytes,
                        kind,
                    });
                });
            })
            .is_none()
        {}
    }
}
