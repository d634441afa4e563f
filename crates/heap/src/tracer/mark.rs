//! Objects that stay where they are: marking large objects, code, pinned objects and the blocks of an
//! in-place full collection.

use canny_tables::layout::{GRANULE_BYTES, TAG_MASK, TAG_PAIR, code};

use super::Tracer;
use crate::block::state;
use crate::shape;

impl Tracer<'_> {
    /// Whether an object of a condemned block that is pinned or in-place stays. An object found for
    /// the first time in an in-place block is marked and added to the work.
    #[inline(never)]
    pub(crate) fn stays(&mut self, word: u64, state: u8) -> bool {
        let address = shape::address_of(word);
        if state & state::IN_PLACE == 0 {
            return self.space.is_marked(address);
        }
        self.mark_in_place(word, state);
        true
    }

    /// Marks an object that does not move and adds it to the work, once.
    #[inline(always)]
    pub(crate) fn mark_in_place(&mut self, word: u64, state: u8) {
        let address = shape::address_of(word);
        if !self.space.mark(address) {
            return;
        }
        if word & TAG_MASK == TAG_PAIR {
            self.stack.push(word);
            return;
        }
        // SAFETY: a live object that has not moved.
        let bytes = unsafe { shape::bytes_at(address) };
        if state & state::LARGE != 0 {
            if state & state::CONTENT == state::SCANNABLE {
                self.push_range(address + 8, address + bytes);
                return;
            }
        } else if bytes > GRANULE_BYTES {
            self.space.mark_range(address, bytes);
        }
        if state & state::CONTENT != state::LEAF {
            self.stack.push(word);
        }
    }

    /// Traces the tagged words of a code object: name, debug information, parameters and pool.
    pub(crate) fn scan_code(&mut self, address: usize) {
        let tagged = shape::reference_to_object(address) as usize;
        let at = |offset: i32| tagged.wrapping_add_signed(offset as isize);
        self.trace_slot(at(code::NAME));
        self.trace_slot(at(code::DEBUG));
        self.trace_slot(at(code::PARAMETERS));
        let (pool, length) = shape::pool_of(address);
        self.scan_range(pool, pool + 8 * length);
    }
}
