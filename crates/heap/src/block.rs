//! Blocks and the tables beside them.
//!
//! The heap is an array of 32 KB blocks. Per block there are a state byte, a [`BlockInfo`], 64
//! cards and 2048 mark bits (one per 16-byte granule), each in a table of its own that is indexed
//! by block number or by address.
//!
//! ```text
//! state byte   7         6        5      4     3     2..0
//!              condemned in-place pinned young large content
//! ```
//!
//! - *condemned*: the collection in progress decides about this block's objects. Young blocks are
//!   born condemned, since every collection takes the whole nursery.
//! - *in-place*: of a condemned block: objects stay and are marked. Otherwise they are evacuated,
//!   except those whose mark bits a pin has set (then *pinned* is set too).
//!
//! Mark bits: zero, but in a condemned block during a collection, and in a `PARTIAL` block, where
//! the set bits are the granules that are in use.
//!
//! | table | written by | when |
//! |---|---|---|
//! | state, info, marks | the holder of the heap's lock | any time |
//! | cards | mutators (byte stores), collector | between, during collections |

use std::io;

use canny_tables::layout::{CARD_SHIFT, GRANULE_BYTES};

use crate::account::Account;
use crate::reservation::Reservation;

/// Block size as a shift.
pub(crate) const BLOCK_SHIFT: u32 = 15;
/// Bytes per block.
pub(crate) const BLOCK_BYTES: usize = 1 << BLOCK_SHIFT;
/// Granules per block.
pub(crate) const BLOCK_GRANULES: usize = BLOCK_BYTES / GRANULE_BYTES;
/// 64-bit words of mark bits per block.
pub(crate) const BLOCK_MARK_WORDS: usize = BLOCK_GRANULES / 64;
/// Cards per block.
pub(crate) const BLOCK_CARDS: usize = BLOCK_BYTES >> CARD_SHIFT;
/// Bytes per card.
pub(crate) const CARD_BYTES: usize = 1 << CARD_SHIFT;
/// An object of more bytes than this gets blocks of its own.
pub(crate) const LARGE_ABOVE_BYTES: usize = BLOCK_BYTES / 2;

/// Number of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block(pub(crate) u32);

/// State byte: the content of a block.
pub(crate) mod state {
    /// Nothing.
    pub(crate) const FREE: u8 = 0;
    /// Pairs and scannable objects.
    pub(crate) const SCANNABLE: u8 = 1;
    /// Leaf objects.
    pub(crate) const LEAF: u8 = 2;
    /// Objects traced by a rule of their own.
    pub(crate) const SPECIAL: u8 = 3;
    /// Code objects.
    pub(crate) const CODE: u8 = 4;
    /// A further block of a large object; `BlockInfo::span` is the first block.
    pub(crate) const TAIL: u8 = 5;
    /// Mask of the above.
    pub(crate) const CONTENT: u8 = 7;
    /// First block of a large object; `BlockInfo::span` counts its blocks.
    pub(crate) const LARGE: u8 = 0x08;
    /// Allocated since the last collection.
    pub(crate) const YOUNG: u8 = 0x10;
    /// Some objects are pinned.
    pub(crate) const PINNED: u8 = 0x20;
    /// Objects are marked, not moved.
    pub(crate) const IN_PLACE: u8 = 0x40;
    /// Subject of the collection in progress.
    pub(crate) const CONDEMNED: u8 = 0x80;
}

/// Facts about a block that the tracing loop does not need.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct BlockInfo {
    /// Bytes from the block's start that are laid out as objects; not meaningful for large objects.
    pub(crate) top: u32,
    /// Blocks of a large object, or for a tail the number of its first block.
    pub(crate) span: u32,
    /// Granules that were live when the block was last marked or filled.
    pub(crate) live_granules: u16,
    /// `PARTIAL`, `UNCLEAN`.
    pub(crate) flags: u16,
    /// The account that owns most of the block's objects.
    pub(crate) account: Account,
}

/// Info flag: the mark bits tell which granules are in use; the others may be allocated into.
pub(crate) const PARTIAL: u16 = 1;
/// Info flag: granules not in use still hold dead objects. Code that reads the block linearly
/// cleans it first.
pub(crate) const UNCLEAN: u16 = 2;
/// Info flag: the block was in use when the last snapshot was taken; see `identity`.
pub(crate) const KNOWN: u16 = 4;

/// The blocks and their tables.
pub(crate) struct Space {
    reservation: Reservation,
    base: usize,
    block_count: usize,
    states: *mut u8,
    infos: *mut BlockInfo,
    cards: *mut u8,
    marks: *mut u64,
}

// SAFETY: the tables are plain memory; who may write which is the table in the module's header.
unsafe impl Send for Space {}
// SAFETY: as above.
unsafe impl Sync for Space {}

impl Space {
    /// Reserves room for `bytes` of blocks, or for half as much and so on when refused.
    pub(crate) fn new(bytes: usize) -> io::Result<Space> {
        let mut block_count = (bytes >> BLOCK_SHIFT).max(64);
        loop {
            match Space::with_blocks(block_count) {
                Ok(space) => return Ok(space),
                Err(_) if block_count > 2048 => block_count /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    fn with_blocks(block_count: usize) -> io::Result<Space> {
        const PAGE: usize = 4096;
        let round = |bytes: usize| (bytes + PAGE - 1) & !(PAGE - 1);
        let states = round(block_count);
        let infos = round(block_count * size_of::<BlockInfo>());
        let cards = round(block_count * BLOCK_CARDS);
        let marks = round(block_count * BLOCK_MARK_WORDS * 8);
        let tables = states + infos + cards + marks;
        let reservation = Reservation::new(tables + (block_count + 1) * BLOCK_BYTES)?;
        let start = reservation.start();
        let base = (start + tables + BLOCK_BYTES - 1) & !(BLOCK_BYTES - 1);
        Ok(Space {
            base,
            block_count,
            states: start as *mut u8,
            infos: (start + states) as *mut BlockInfo,
            cards: (start + states + infos) as *mut u8,
            marks: (start + states + infos + cards) as *mut u64,
            reservation,
        })
    }

    /// Address of block 0.
    #[inline(always)]
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// Number of blocks reserved.
    pub(crate) fn block_count(&self) -> usize {
        self.block_count
    }

    /// The state table.
    #[inline(always)]
    pub(crate) fn states(&self) -> *mut u8 {
        self.states
    }

    /// Address such that `biased + (address >> CARD_SHIFT)` is the card of `address`.
    pub(crate) fn biased_cards(&self) -> usize {
        (self.cards as usize).wrapping_sub(self.base >> CARD_SHIFT)
    }

    /// Whether an address lies in some block.
    #[inline(always)]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.block_count << BLOCK_SHIFT
    }

    /// The addresses of the space.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        self.base..self.base + (self.block_count << BLOCK_SHIFT)
    }

    /// The block of an address in the space.
    #[inline(always)]
    pub(crate) fn block_of(&self, address: usize) -> Block {
        Block(((address - self.base) >> BLOCK_SHIFT) as u32)
    }

    /// The granule of an address in the space, counted from its base.
    #[inline(always)]
    pub(crate) fn granule_of(&self, address: usize) -> usize {
        (address - self.base) / GRANULE_BYTES
    }

    /// First address of a block.
    #[inline(always)]
    pub(crate) fn start_of(&self, block: Block) -> usize {
        self.base + ((block.0 as usize) << BLOCK_SHIFT)
    }

    /// State of a block.
    #[inline(always)]
    pub(crate) fn state(&self, block: Block) -> u8 {
        debug_assert!((block.0 as usize) < self.block_count);
        // SAFETY: block numbers are below `block_count`, the table's length.
        unsafe { *self.states.add(block.0 as usize) }
    }

    /// Changes the state of a block.
    #[inline(always)]
    pub(crate) fn set_state(&self, block: Block, state: u8) {
        debug_assert!((block.0 as usize) < self.block_count);
        // SAFETY: as for `state`; the caller holds the heap's lock.
        unsafe { *self.states.add(block.0 as usize) = state }
    }

    /// Facts about a block.
    #[inline(always)]
    pub(crate) fn info(&self, block: Block) -> BlockInfo {
        debug_assert!((block.0 as usize) < self.block_count);
        // SAFETY: as for `state`.
        unsafe { *self.infos.add(block.0 as usize) }
    }

    /// Changes facts about a block.
    #[inline(always)]
    pub(crate) fn update_info(&self, block: Block, change: impl FnOnce(&mut BlockInfo)) {
        debug_assert!((block.0 as usize) < self.block_count);
        // SAFETY: as for `set_state`; the reference does not outlive the call and `change` gets no
        // other way to the table.
        change(unsafe { &mut *self.infos.add(block.0 as usize) });
    }

    /// End of the part of a block that is laid out as objects.
    pub(crate) fn top_of(&self, block: Block) -> usize {
        self.start_of(block) + self.info(block).top as usize
    }

    /// The cards of a block and of `blocks - 1` blocks after it.
    pub(crate) fn cards_of(&self, block: Block, blocks: usize) -> *mut [u8] {
        debug_assert!(block.0 as usize + blocks <= self.block_count);
        // SAFETY: the range is inside the table.
        let first = unsafe { self.cards.add(block.0 as usize * BLOCK_CARDS) };
        std::ptr::slice_from_raw_parts_mut(first, blocks * BLOCK_CARDS)
    }

    /// Clears the cards of `blocks` blocks.
    pub(crate) fn clear_cards(&self, block: Block, blocks: usize) {
        // SAFETY: a range of the table; no mutator runs, or the blocks belong to none.
        unsafe {
            let cards = self.cards_of(block, blocks);
            (cards as *mut u8).write_bytes(0, cards.len());
        }
    }

    /// Address of the mark word that holds a granule's bit, and the bit.
    #[inline(always)]
    fn mark_position(&self, address: usize) -> (*mut u64, u32) {
        let granule = (address - self.base) / GRANULE_BYTES;
        // SAFETY: the address lies in a block, so the word is inside the table.
        (
            unsafe { self.marks.add(granule / 64) },
            (granule % 64) as u32,
        )
    }

    /// Whether the granule at an address is marked.
    #[inline(always)]
    pub(crate) fn is_marked(&self, address: usize) -> bool {
        let (word, bit) = self.mark_position(address);
        // SAFETY: a word of the table.
        unsafe { *word >> bit & 1 != 0 }
    }

    /// Marks the granule at an address; says whether it was unmarked.
    #[inline(always)]
    pub(crate) fn mark(&self, address: usize) -> bool {
        let (word, bit) = self.mark_position(address);
        // SAFETY: a word of the table; the caller holds the heap's lock.
        unsafe {
            let old = *word;
            *word = old | 1 << bit;
            old >> bit & 1 == 0
        }
    }

    /// Marks every granule of an object that lies in one block.
    #[inline(always)]
    pub(crate) fn mark_range(&self, address: usize, bytes: usize) {
        let (mut word, bit) = self.mark_position(address);
        let mut bit = bit as usize;
        let mut granules = bytes / GRANULE_BYTES;
        while granules > 0 {
            let here = granules.min(64 - bit);
            let mask = if here == 64 {
                !0
            } else {
                ((1u64 << here) - 1) << bit
            };
            // SAFETY: an object does not reach beyond its block, so the words are in the table.
            unsafe {
                *word |= mask;
                word = word.add(1);
            }
            granules -= here;
            bit = 0;
        }
    }

    /// Unmarks the granule at an address.
    pub(crate) fn unmark(&self, address: usize) {
        let (word, bit) = self.mark_position(address);
        // SAFETY: a word of the table; the caller holds the heap's lock.
        unsafe { *word &= !(1 << bit) }
    }

    /// The mark words of a block, to read.
    pub(crate) fn mark_words(&self, block: Block) -> [u64; BLOCK_MARK_WORDS] {
        // SAFETY: a block's words are inside the table and suitably aligned.
        unsafe {
            *(self.marks.add(block.0 as usize * BLOCK_MARK_WORDS) as *const [u64; BLOCK_MARK_WORDS])
        }
    }

    /// Unmarks everything in a block.
    pub(crate) fn clear_marks(&self, block: Block) {
        // SAFETY: a block's words are inside the table; the caller holds the heap's lock.
        unsafe {
            self.marks
                .add(block.0 as usize * BLOCK_MARK_WORDS)
                .write_bytes(0, BLOCK_MARK_WORDS);
        }
    }

    /// Returns the memory of `blocks` free blocks to the system.
    pub(crate) fn decommit(&self, block: Block, blocks: usize) {
        self.reservation
            .decommit(self.start_of(block), blocks << BLOCK_SHIFT);
    }

    /// Commits the memory of `blocks` blocks at once.
    pub(crate) fn populate(&self, block: Block, blocks: usize) {
        self.reservation
            .populate(self.start_of(block), blocks << BLOCK_SHIFT);
    }
}

/// Words that may look like references are tested for alignment to this.
const _: () = assert!(GRANULE_BYTES == 16 && CARD_BYTES.is_multiple_of(GRANULE_BYTES));
