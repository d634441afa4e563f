//! Everything that the roots reach: a bit for the first granule of each object that is alive.
//!
//! Ephemerons, tables with weak keys and what depends on something else are looked at again and again
//! until nothing new is found, as in a collection. A long vector is taken up in pieces, so that the stack
//! does not grow with its length.

use canny_tables::layout::GRANULE_BYTES;

use super::slots::{Hold, Slots};
use crate::block::{BLOCK_GRANULES, Space, state};
use crate::listing::{RootEdge, RootListing};
use crate::shape;

/// Words of an object that are looked at in one step.
const PIECE: usize = 4096;

/// The objects that are alive.
pub struct Reached<'h> {
    pub(super) space: &'h Space,
    marks: Vec<u64>,
    /// By word of `marks`, the objects in the words before.
    ranks: Vec<u32>,
    pub(super) count: usize,
    pub(super) listing: RootListing,
}

/// Objects whose words are to be looked at, from an index on.
type Work = Vec<(u32, u32)>;

impl<'h> Reached<'h> {
    /// Marks what the roots reach.
    pub(super) fn new(space: &'h Space, frontier: u32, listing: RootListing) -> Reached<'h> {
        let mut reached = Reached {
            space,
            marks: vec![0; frontier as usize * BLOCK_GRANULES / 64],
            ranks: Vec::new(),
            count: 0,
            listing,
        };
        reached.mark_all();
        reached.rank();
        reached
    }

    /// Number of objects.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the object of a reference is alive.
    #[inline]
    pub(super) fn is_marked(&self, word: u64) -> bool {
        let granule = self.space.granule_of(shape::address_of(word));
        self.marks[granule / 64] >> (granule % 64) & 1 != 0
    }

    /// The place of a live object among all of them, in the order of addresses.
    #[inline]
    pub(super) fn rank_of(&self, word: u64) -> usize {
        let granule = self.space.granule_of(shape::address_of(word));
        let below = self.marks[granule / 64] & ((1 << (granule % 64)) - 1);
        self.ranks[granule / 64] as usize + below.count_ones() as usize
    }

    /// The address of a granule.
    #[inline]
    pub(super) fn address(&self, granule: u32) -> usize {
        self.space.base() + granule as usize * GRANULE_BYTES
    }

    fn rank(&mut self) {
        let mut sum = 0u32;
        self.ranks = self
            .marks
            .iter()
            .map(|word| {
                let before = sum;
                sum += word.count_ones();
                before
            })
            .collect();
    }

    /// Marks the object of a reference and puts it on the work.
    #[inline]
    fn mark(&mut self, word: u64, work: &mut Work) {
        let granule = self.space.granule_of(shape::address_of(word));
        let bits = &mut self.marks[granule / 64];
        let bit = 1 << (granule % 64);
        if *bits & bit == 0 {
            *bits |= bit;
            self.count += 1;
            work.push((granule as u32, 0));
        }
    }

    fn mark_all(&mut self) {
        let mut work = Work::new();
        let mut specials = Vec::new();
        let nodes = std::mem::take(&mut self.listing.nodes);
        for edge in nodes.iter().flat_map(|node| &node.edges) {
            if let RootEdge::Word(word) = *edge
                && shape::is_reference(word)
            {
                self.mark(word, &mut work);
                self.drain(&mut work, &mut specials);
            }
        }
        self.listing.nodes = nodes;
        self.mark_dependents(&mut work, &mut specials);
        for (node, word) in std::mem::take(&mut self.listing.leftovers) {
            if shape::is_reference(word) && !self.is_marked(word) {
                self.mark(word, &mut work);
                self.listing.nodes[node].edges.push(RootEdge::Word(word));
                self.drain(&mut work, &mut specials);
            }
        }
        self.mark_dependents(&mut work, &mut specials);
    }

    /// Marks what lives while something else does, until there is nothing new.
    fn mark_dependents(&mut self, work: &mut Work, specials: &mut Vec<u32>) {
        let mut dependents = std::mem::take(&mut self.listing.dependents);
        loop {
            let before = self.count;
            // Chains of ephemerons are mostly made in one order, and were found in the other one.
            for index in (0..specials.len()).rev() {
                self.look_at(specials[index], 0, work);
                self.drain(work, specials);
            }
            dependents.retain(|dependent| {
                let is_alive = self.is_marked(dependent.key);
                // Where something else holds it, that is what people want to know.
                if is_alive && !self.is_marked(dependent.value) {
                    self.mark(dependent.value, work);
                    let edge = RootEdge::Word(dependent.value);
                    self.listing.nodes[dependent.node].edges.push(edge);
                }
                !is_alive
            });
            self.drain(work, specials);
            if self.count == before {
                self.listing.dependents = dependents;
                return;
            }
        }
    }

    fn drain(&mut self, work: &mut Work, specials: &mut Vec<u32>) {
        while let Some((granule, from)) = work.pop() {
            let address = self.address(granule);
            let block_state = self.space.state(self.space.block_of(address));
            if from == 0 && block_state & state::CONTENT == state::SPECIAL {
                specials.push(granule);
            }
            self.look_at(granule, from, work);
        }
    }

    /// Marks what an object refers to from a word on.
    fn look_at(&mut self, granule: u32, from: u32, work: &mut Work) {
        let slots = Slots::of(self.space, self.address(granule));
        let end = slots.count().min(from as usize + PIECE);
        if end < slots.count()
            && let Ok(next) = u32::try_from(end)
        {
            work.push((granule, next));
        }
        for index in from as usize..end {
            let word = slots.word(index);
            if slots.hold(index, word, |key| self.is_marked(key)) == Hold::Strong {
                self.mark(word, work);
            }
        }
    }
}
