//! Tracing: evacuation into to-space, and the loop that finds everything reachable.
//!
//! [`Tracer::trace`] takes a reference and returns the one to hold from now on. An object in a
//! condemned block is copied to the old generation, unless it is pinned or its block is marked in
//! place (see the `mark` module for what happens then). Copies in scannable to-space are scanned word by
//! word in Cheney's manner; objects that do not move and have references are pushed on explicit
//! stacks, so that nothing here recurses.
//!
//! A pair's copy is found through its old car, [`FORWARDED`], and its old cdr, the new reference;
//! an object's through its old header, which the new reference replaces (no header has its tag).

mod cards;
mod mark;
pub mod weak;

use canny_tables::layout::{GRANULE_BYTES, TAG_MASK, TAG_PAIR};

use crate::account::Account;
use crate::block::{
    BLOCK_BYTES, BLOCK_GRANULES, BLOCK_SHIFT, Block, KNOWN, PARTIAL, Space, UNCLEAN, state,
};
use crate::block_pool::BlockPool;
use crate::shape::{self, FORWARDED};
use crate::sweep::{self, HOLE_BYTES_MIN};
use weak::WeakWork;

/// The generations that a collection covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionMode {
    /// The nursery only. Objects that have survived a collection keep their places, so a root that
    /// has not changed since the last collection need not be visited.
    Minor,
    /// Everything.
    Full,
}

/// Where copies of one content go.
#[derive(Debug, Default)]
pub(crate) struct ToSpace {
    cursor: usize,
    limit: usize,
    /// The part of the segment below this address is counted in `taken_bytes`.
    counted: usize,
    taken_bytes: usize,
    /// Block of the segment; `None` when there is none, with `cursor` and `limit` zero.
    block: Option<Block>,
    /// The segment is a hole, not the rest of a fresh block.
    in_hole: bool,
    /// Further clean holes, to fill next.
    holes: Vec<(usize, usize)>,
    /// A fresh block for objects that did not fit the segment.
    overflow_cursor: usize,
    overflow_limit: usize,
    overflow_block: Option<Block>,
}

/// To-spaces of all contents. They are kept from one minor collection to the next, so that small
/// promotions do not waste blocks.
#[derive(Debug, Default)]
pub(crate) struct ToSpaces {
    scannable: ToSpace,
    leaf: ToSpace,
    special: ToSpace,
}

impl ToSpace {
    /// Takes room from the segment.
    #[inline(always)]
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let at = self.cursor;
        let next = at + bytes;
        if next > self.limit {
            return None;
        }
        self.cursor = next;
        Some(at)
    }

    /// Counts what was taken from the segment since the last call.
    fn count(&mut self) {
        self.taken_bytes += self.cursor - self.counted;
        self.counted = self.cursor;
    }

    /// Makes the unused part of the segment walkable.
    fn settle(&self, space: &Space) {
        if let Some(block) = self.block {
            if self.in_hole {
                if self.cursor < self.limit {
                    // SAFETY: the rest of a clean hole; one granule at least.
                    unsafe {
                        shape::write(self.cursor, shape::filler_header(self.limit - self.cursor));
                    }
                }
            } else {
                let top = self.cursor - space.start_of(block);
                space.update_info(block, |info| info.top = top as u32);
            }
        }
        if let Some(block) = self.overflow_block {
            let top = self.overflow_cursor - space.start_of(block);
            space.update_info(block, |info| info.top = top as u32);
        }
    }
}

impl ToSpaces {
    /// Makes all blocks walkable.
    pub(crate) fn settle(&self, space: &Space) {
        self.scannable.settle(space);
        self.leaf.settle(space);
        self.special.settle(space);
    }

    /// Bytes taken since the last call.
    fn take_count(&mut self) -> usize {
        let mut bytes = 0;
        for to in [&mut self.scannable, &mut self.leaf, &mut self.special] {
            to.count();
            bytes += std::mem::take(&mut to.taken_bytes);
        }
        bytes
    }
}

/// The state of one collection.
pub(crate) struct Tracer<'h> {
    pub(crate) space: &'h Space,
    pub(crate) pool: &'h mut BlockPool,
    to: &'h mut ToSpaces,
    partial_scannable: &'h mut Vec<Block>,
    partial_leaf: &'h mut Vec<Block>,
    base: usize,
    states: *const u8,
    mode: CollectionMode,
    /// Start of what is not scanned of the scannable segment.
    scan: usize,
    /// Ranges of words to scan: closed to-space segments, large objects.
    ranges: Vec<(usize, usize)>,
    /// References to objects that did not move, to scan.
    pub(crate) stack: Vec<u64>,
    /// Special objects to process.
    pub(crate) specials: Vec<usize>,
    pub(crate) weak: WeakWork,
    code_range: (usize, usize),
    /// Holes of known blocks that were opened; see `identity`.
    filled: Vec<(usize, usize)>,
}

impl<'h> Tracer<'h> {
    pub(crate) fn new(
        space: &'h Space,
        pool: &'h mut BlockPool,
        to: &'h mut ToSpaces,
        partial_scannable: &'h mut Vec<Block>,
        partial_leaf: &'h mut Vec<Block>,
        mode: CollectionMode,
    ) -> Tracer<'h> {
        if mode == CollectionMode::Full {
            *to = ToSpaces::default();
        }
        let scan = to.scannable.cursor;
        Tracer {
            base: space.base(),
            states: space.states(),
            space,
            pool,
            to,
            partial_scannable,
            partial_leaf,
            mode,
            scan,
            ranges: Vec::new(),
            stack: Vec::new(),
            specials: Vec::new(),
            weak: WeakWork::default(),
            code_range: (0, 0),
            filled: Vec::new(),
        }
    }

    /// Holes of known blocks that were opened since the last call.
    pub(crate) fn take_filled(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.filled)
    }

    /// The mode of this collection: minor or full.
    pub(crate) fn mode(&self) -> CollectionMode {
        self.mode
    }

    #[inline(always)]
    fn state_of(&self, address: usize) -> u8 {
        debug_assert!(self.space.contains(address), "reference out of the heap");
        // SAFETY: references name objects in blocks, and the table has a byte for each block.
        unsafe { *self.states.add((address - self.base) >> BLOCK_SHIFT) }
    }

    /// The reference to hold instead of `word`, which is one.
    #[inline(always)]
    pub(crate) fn trace(&mut self, word: u64) -> u64 {
        debug_assert!(shape::is_reference(word));
        let address = shape::address_of(word);
        let state = self.state_of(address);
        if state & state::CONDEMNED == 0 {
            return word;
        }
        if state & (state::PINNED | state::IN_PLACE) != 0 && self.stays(word, state) {
            return word;
        }
        // SAFETY: a live object in a condemned block; a pair and the header of an object are words.
        unsafe {
            let first = shape::read(address);
            if word & TAG_MASK != TAG_PAIR {
                if shape::is_reference(first) {
                    return first;
                }
                return self.evacuate_object(address, first, state);
            }
            let second = shape::read(address + 8);
            if first == FORWARDED {
                return second;
            }
            let to = match self.to.scannable.take(GRANULE_BYTES) {
                Some(to) => to,
                None => self.scannable_slow(GRANULE_BYTES, address),
            };
            shape::write(to, first);
            shape::write(to + 8, second);
            let moved = to as u64 | TAG_PAIR;
            shape::write(address, FORWARDED);
            shape::write(address + 8, moved);
            moved
        }
    }

    /// Copies an object and leaves its new reference in place of the header.
    ///
    /// # Safety
    /// An object with this header starts at the address, in a condemned block of this state.
    #[inline(never)]
    unsafe fn evacuate_object(&mut self, address: usize, header: u64, state: u8) -> u64 {
        let bytes = shape::bytes_of_header(header);
        let to = match state & state::CONTENT {
            state::SCANNABLE => match self.to.scannable.take(bytes) {
                Some(to) => to,
                None => self.scannable_slow(bytes, address),
            },
            state::LEAF => match self.to.leaf.take(bytes) {
                Some(to) => to,
                None => self.refill(state::LEAF, bytes, address),
            },
            _ => {
                let to = match self.to.special.take(bytes) {
                    Some(to) => to,
                    None => self.refill(state::SPECIAL, bytes, address),
                };
                self.specials.push(to);
                to
            }
        };
        // SAFETY: source and destination are whole granules of different blocks, or of a block and
        // a hole of it.
        unsafe {
            if bytes <= 64 {
                let mut offset = 0;
                while offset < bytes {
                    shape::write(to + offset, shape::read(address + offset));
                    shape::write(to + offset + 8, shape::read(address + offset + 8));
                    offset += GRANULE_BYTES;
                }
            } else {
                std::ptr::copy_nonoverlapping(address as *const u8, to as *mut u8, bytes);
            }
            let moved = shape::reference_to_object(to);
            shape::write(address, moved);
            moved
        }
    }

    /// A pair in the old generation; its fields are up to date or will be scanned.
    pub(crate) fn promoted_pair(&mut self, car: u64, cdr: u64) -> u64 {
        let to = match self.to.scannable.take(GRANULE_BYTES) {
            Some(to) => to,
            None => self.scannable_slow(GRANULE_BYTES, self.base),
        };
        // SAFETY: the granule was just taken.
        unsafe {
            shape::write(to, car);
            shape::write(to + 8, cdr);
        }
        to as u64 | TAG_PAIR
    }

    /// Room in scannable to-space when the segment is too short; as [`Tracer::refill`].
    #[cold]
    #[inline(never)]
    fn scannable_slow(&mut self, bytes: usize, from: usize) -> usize {
        let at = self.refill(state::SCANNABLE, bytes, from);
        if self.to.scannable.cursor != at + bytes {
            // It went to the overflow block, which the scan pointer does not pass.
            self.ranges.push((at, at + bytes));
        }
        at
    }

    fn destination(&mut self, content: u8) -> &mut ToSpace {
        match content {
            state::SCANNABLE => &mut self.to.scannable,
            state::LEAF => &mut self.to.leaf,
            _ => &mut self.to.special,
        }
    }

    /// Opens another segment, or uses the overflow block, and takes room there, for an object that was
    /// at `from`: the new segment belongs to the same account.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, content: u8, bytes: usize, from: usize) -> usize {
        let account = self.space.info(self.space.block_of(from)).account;
        if bytes > HOLE_BYTES_MIN {
            return self.take_overflow(content, bytes, account);
        }
        if content == state::SCANNABLE && self.scan < self.to.scannable.cursor {
            self.ranges.push((self.scan, self.to.scannable.cursor));
        }
        let space = self.space;
        self.destination(content).count();
        self.destination(content).settle(space);
        if self.destination(content).holes.is_empty() {
            self.open_partial(content, account);
        }
        let fresh = match self.destination(content).holes.pop() {
            Some((start, end)) => {
                let block = space.block_of(start);
                let to = self.destination(content);
                (to.cursor, to.limit, to.counted) = (start, end, start);
                (to.block, to.in_hole) = (Some(block), true);
                start
            }
            None => {
                let block = self.fresh_block(content, account);
                let start = space.start_of(block);
                let to = self.destination(content);
                (to.cursor, to.limit, to.counted) = (start, start + BLOCK_BYTES, start);
                (to.block, to.in_hole) = (Some(block), false);
                start
            }
        };
        if content == state::SCANNABLE {
            self.scan = fresh;
        }
        self.destination(content)
            .take(bytes)
            .expect("a hole is longer than what is put into holes")
    }

    fn take_overflow(&mut self, content: u8, bytes: usize, account: Account) -> usize {
        let space = self.space;
        let to = self.destination(content);
        if to.overflow_cursor + bytes > to.overflow_limit {
            to.settle(space);
            let block = self.fresh_block(content, account);
            let start = space.start_of(block);
            let to = self.destination(content);
            to.overflow_block = Some(block);
            to.overflow_cursor = start;
            to.overflow_limit = start + BLOCK_BYTES;
        }
        let to = self.destination(content);
        let at = to.overflow_cursor;
        to.overflow_cursor += bytes;
        to.taken_bytes += bytes;
        at
    }

    /// A block for copies. The reservation is a multiple of the limit, so there is one.
    fn fresh_block(&mut self, content: u8, account: Account) -> Block {
        let block = self
            .pool
            .take(self.space)
            .expect("the reservation has room for every copy");
        self.space.set_state(block, content);
        self.space.update_info(block, |info| info.account = account);
        block
    }

    /// Takes a block with room from the last in-place collection and lists its holes.
    fn open_partial(&mut self, content: u8, account: Account) {
        if self.mode == CollectionMode::Full {
            return;
        }
        let list = match content {
            state::SCANNABLE => &mut *self.partial_scannable,
            state::LEAF => &mut *self.partial_leaf,
            _ => return,
        };
        let Some(block) = list.pop() else { return };
        let space = self.space;
        sweep::clean(space, block);
        let holes = sweep::holes(space, block);
        if space.info(block).flags & KNOWN != 0 {
            self.filled.extend(&holes);
        }
        self.destination(content).holes = holes;
        space.clear_marks(block);
        space.update_info(block, |info| {
            info.flags &= !(PARTIAL | UNCLEAN);
            info.top = BLOCK_BYTES as u32;
            if usize::from(info.live_granules) < BLOCK_GRANULES / 2 {
                info.account = account;
            }
        });
    }

    /// Traces each word of a range and updates it.
    #[inline(always)]
    pub(crate) fn scan_range(&mut self, start: usize, end: usize) {
        let mut slot = start;
        while slot < end {
            self.trace_slot(slot);
            slot += 8;
        }
    }

    /// Traces the word at an address and updates it.
    #[inline(always)]
    pub(crate) fn trace_slot(&mut self, slot: usize) {
        // SAFETY: a word of an object that is being scanned.
        unsafe {
            let word = shape::read(slot);
            if shape::is_reference(word) {
                let moved = self.trace(word);
                if moved != word {
                    shape::write(slot, moved);
                }
            }
        }
    }

    /// Adds a range of words of a non-moving object to the work.
    pub(crate) fn push_range(&mut self, start: usize, end: usize) {
        self.ranges.push((start, end));
    }

    /// Traces until nothing is left but weak decisions.
    pub(crate) fn drain(&mut self) {
        /// Words of a long range that are scanned before other work has its turn, which bounds the
        /// stacks.
        const STRIDE_BYTES: usize = 4096;
        loop {
            while self.scan < self.to.scannable.cursor {
                let at = self.scan;
                self.scan = at + GRANULE_BYTES;
                self.trace_slot(at);
                self.trace_slot(at + 8);
            }
            if let Some(word) = self.stack.pop() {
                self.scan_object(word);
            } else if let Some((start, end)) = self.ranges.pop() {
                let middle = end.min(start + STRIDE_BYTES);
                if middle < end {
                    self.ranges.push((middle, end));
                }
                self.scan_range(start, middle);
            } else if let Some(special) = self.specials.pop() {
                self.trace_special(special);
            } else {
                return;
            }
        }
    }

    /// Scans an object that stays where it is.
    fn scan_object(&mut self, word: u64) {
        let address = shape::address_of(word);
        if word & TAG_MASK == TAG_PAIR {
            return self.scan_pairs(address);
        }
        match self.state_of(address) & state::CONTENT {
            state::SCANNABLE => {
                // SAFETY: a live object that has not moved.
                let bytes = unsafe { shape::bytes_at(address) };
                self.scan_range(address + 8, address + bytes);
            }
            state::CODE => self.scan_code(address),
            state::SPECIAL => self.specials.push(address),
            _ => {}
        }
    }

    /// Scans a pair that stays where it is, and those after it in its list that are found for the first
    /// time and stay, too: most of a list is not pushed on the stack.
    fn scan_pairs(&mut self, mut address: usize) {
        const STAYS: u8 = state::CONDEMNED | state::IN_PLACE;
        loop {
            self.trace_slot(address);
            let slot = address + 8;
            // SAFETY: a live pair.
            let word = unsafe { shape::read(slot) };
            if word & TAG_MASK == TAG_PAIR {
                let next = shape::address_of(word);
                if self.state_of(next) & STAYS == STAYS {
                    if !self.space.mark(next) {
                        return;
                    }
                    address = next;
                    continue;
                }
            }
            return self.trace_slot(slot);
        }
    }

    /// The reference to hold from now on if the object is known to be alive. Words that are no
    /// references are.
    pub(crate) fn forwarded_if_alive(&self, word: u64) -> Option<u64> {
        if !shape::is_reference(word) {
            return Some(word);
        }
        let address = shape::address_of(word);
        let state = self.state_of(address);
        if state & state::CONDEMNED == 0 {
            return Some(word);
        }
        if state & (state::PINNED | state::IN_PLACE) != 0 && self.space.is_marked(address) {
            return Some(word);
        }
        if state & state::IN_PLACE != 0 {
            return None;
        }
        // SAFETY: the first words of an object or pair in a condemned block, moved or not.
        unsafe {
            let first = shape::read(address);
            if word & TAG_MASK == TAG_PAIR {
                (first == FORWARDED).then(|| shape::read(address + 8))
            } else {
                shape::is_reference(first).then_some(first)
            }
        }
    }

    /// Bytes copied by this collection; to be called once, at its end.
    pub(crate) fn take_bytes_copied(&mut self) -> usize {
        self.to.take_count()
    }

    /// Keeps the code object around an address.
    pub(crate) fn keep_code_at(&mut self, address: usize) {
        if (self.code_range.0..self.code_range.1).contains(&address)
            || !self.space.contains(address)
        {
            return;
        }
        if let Some((start, end)) = crate::code_space::object_around(self.space, address) {
            self.code_range = (start, end);
            self.trace(shape::reference_to_object(start));
        }
    }
}
