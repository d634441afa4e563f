//! The remembered set: cards that mutators have written to.
//!
//! A store of a reference sets the card of the *slot* that it writes. A minor collection traces the
//! words under the dirty cards of old blocks; of special and code blocks, which are not made of
//! tagged words only, it processes every object when any card is dirty. Afterwards nothing old
//! refers to anything young (there is nothing young), and all cards are clear.

use super::Tracer;
use crate::block::{BLOCK_BYTES, BLOCK_CARDS, Block, CARD_BYTES, state};
use crate::shape;
use crate::sweep;

impl Tracer<'_> {
    /// Traces everything old that may refer to something young, and clears the cards.
    pub(crate) fn scan_cards(&mut self) {
        let frontier = self.pool.frontier();
        let mut number = 0;
        while number < frontier {
            let block = Block(number);
            let state = self.space.state(block);
            number += 1;
            let content = state & state::CONTENT;
            if state & state::YOUNG != 0
                || !matches!(content, state::SCANNABLE | state::SPECIAL | state::CODE)
            {
                continue;
            }
            let mut blocks = 1;
            if state & state::LARGE != 0 {
                blocks = self.space.info(block).span as usize;
                number = block.0 + blocks as u32;
            }
            if content == state::SCANNABLE {
                self.scan_scannable_cards(block, blocks, state & state::LARGE != 0);
            } else if self.any_dirty(block, blocks) {
                self.space.clear_cards(block, blocks);
                self.visit_objects(block, state);
            }
        }
    }

    fn card_words(&self, block: Block, blocks: usize) -> (*mut u64, usize) {
        const { assert!(BLOCK_CARDS.is_multiple_of(8)) };
        let cards = self.space.cards_of(block, blocks) as *mut u8;
        (cards as *mut u64, blocks * BLOCK_CARDS / 8)
    }

    fn any_dirty(&self, block: Block, blocks: usize) -> bool {
        let (words, count) = self.card_words(block, blocks);
        // SAFETY: the cards of these blocks, eight by eight; the table is aligned, no mutator runs.
        (0..count).any(|index| unsafe { *words.add(index) != 0 })
    }

    fn scan_scannable_cards(&mut self, block: Block, blocks: usize, large: bool) {
        let start = self.space.start_of(block);
        let (words, count) = self.card_words(block, blocks);
        let mut end = None;
        for index in 0..count {
            // SAFETY: as in `any_dirty`.
            let dirty = unsafe { words.add(index).replace(0) };
            if dirty == 0 {
                continue;
            }
            let end = *end.get_or_insert_with(|| {
                if large {
                    // SAFETY: a large object starts at its first block.
                    return start + unsafe { shape::bytes_at(start) };
                }
                sweep::clean(self.space, block);
                self.space.top_of(block)
            });
            for card in 0..8 {
                if dirty >> (8 * card) & 0xff != 0 {
                    let from = start + (8 * index + card) * CARD_BYTES;
                    self.scan_range(from, end.min(from + CARD_BYTES));
                }
            }
        }
    }

    /// Processes every object of a special or code block.
    fn visit_objects(&mut self, block: Block, state: u8) {
        let start = self.space.start_of(block);
        let end = if state & state::LARGE != 0 {
            start + 1
        } else {
            sweep::clean(self.space, block);
            self.space.top_of(block)
        };
        debug_assert!(end <= start + BLOCK_BYTES);
        let mut at = start;
        while at < end {
            // SAFETY: the block is laid out as objects up to its top.
            let (header, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
            if !shape::is_filler(header) {
                if state & state::CONTENT == state::CODE {
                    self.scan_code(at);
                } else {
                    self.specials.push(at);
                }
            }
            at += bytes;
        }
    }
}
