//! Visits objects and their tagged words, block by block, while the world is stopped.
//!
//! The visitor gets what it needs to interpret an object: its address, the content of its block and
//! its bytes.

use canny_tables::layout::{GRANULE_BYTES, code};
use canny_value::Header;

use crate::block::{Block, Space, state};
use crate::heap::HeapState;
use crate::shape;
use crate::sweep;

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
            let (pool, length) = shape::pool_of(address);
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
