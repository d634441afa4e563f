//! The heap limit as mutators meet it: what is collected before an allocation, what is refused, and who is told.
//!
//! | allocation | at the limit |
//! |---|---|
//! | pairs, small objects that are never refused | made on the reserve below the limit, then beyond it |
//! | small objects that may be refused | the same, up to another reserve beyond the limit |
//! | large objects | refused if a full collection does not make room below the limit |
//!
//! Who collects when the reserve is entered is told ([`Mutator::take_exhausted`]).

use std::sync::atomic::Ordering;

use crate::block::BLOCK_BYTES;
use crate::heap::{Heap, HeapExhausted};
use crate::mutator::Mutator;
use crate::nursery::AreaKind;

impl Mutator {
    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_slow(
        &mut self,
        kind: AreaKind,
        bytes: usize,
    ) -> Result<usize, HeapExhausted> {
        if let Some(at) = self.take_local(kind, bytes) {
            return Ok(at);
        }
        // Who has used up the limit is told before it is reached. Others go on meanwhile, on another reserve beyond it.
        let heap = self.heap();
        let most = heap.limit_blocks + heap.reserve_blocks;
        if !self.has_room_for_block(most) {
            return Err(refusal(self.heap(), BLOCK_BYTES));
        }
        Ok(self.refill(kind, bytes))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_beyond_limit(&mut self, kind: AreaKind, bytes: usize) -> usize {
        if let Some(at) = self.take_local(kind, bytes) {
            return at;
        }
        self.has_room_for_block(usize::MAX);
        self.refill(kind, bytes)
    }

    /// Collects if a block more does not fit the nursery's budget. Whether so many blocks suffice for all, after a full collection
    /// if need be.
    // Inline: a frame more is a frame more in which stale references are found.
    #[inline(always)]
    pub(crate) fn has_room_for_block(&mut self, most: usize) -> bool {
        let heap = self.heap().clone();
        let mut collected_fully = false;
        loop {
            self.safepoint();
            let state = heap.lock();
            // Beyond the limit the budget is a small one, which keeps full collections apart. The excess
            // is told by the collector.
            let fits_budget = state.young_blocks < state.nursery_budget;
            let fits_most = state.pool.used() < most;
            if fits_budget && (fits_most || collected_fully) {
                return fits_most;
            }
            let full = fits_budget || state.pool.used() >= heap.limit_blocks;
            drop(state);
            self.collect(full);
            collected_fully |= full;
        }
    }

    /// Collects if `blocks` more do not fit the nursery's budget. Refuses when they do not fit the
    /// limit after a full collection.
    pub(crate) fn before_allocation(&mut self, blocks: usize) -> Result<(), HeapExhausted> {
        let heap = self.heap().clone();
        let mut collected_fully = false;
        loop {
            self.safepoint();
            let state = heap.lock();
            let small = blocks <= state.nursery_budget;
            let fits_budget = if small {
                state.young_blocks + blocks <= state.nursery_budget
            } else {
                // A large object that no nursery could hold only needs not to pile up on others.
                state.young_blocks == 0 || state.young_blocks <= state.nursery_budget / 4
            };
            let fits_limit = state.pool.used() + blocks <= heap.limit_blocks;
            if fits_budget && fits_limit {
                return Ok(());
            }
            if fits_budget && collected_fully {
                return Err(refusal(&heap, blocks * BLOCK_BYTES));
            }
            drop(state);
            let full = fits_budget || !fits_limit;
            self.collect(full);
            collected_fully |= full;
        }
    }

    /// Whether this mutator has just used up the heap limit but for a small reserve: true once per excess. It is asked to come
    /// to a safepoint when that becomes true; the machine then raises a condition, whose handler runs on the reserve.
    pub fn take_exhausted(&mut self) -> bool {
        let exhausted = &self.heap().exhausted;
        exhausted.load(Ordering::Relaxed) == self.id()
            && exhausted
                .compare_exchange(self.id(), 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

pub(crate) fn refusal(heap: &Heap, requested_bytes: usize) -> HeapExhausted {
    HeapExhausted {
        requested_bytes,
        limit_bytes: heap.limit_bytes(),
    }
}
