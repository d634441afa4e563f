//! The heap limit as mutators meet it: collections before an allocation, refusals, and the choice
//! of the account that is notified.
//!
//! | allocation | at the limit |
//! |---|---|
//! | pairs, small objects that are never refused | made on the reserve below the limit, then beyond it |
//! | small objects that may be refused | the same, up to one reserve beyond it (innocent accounts: four) |
//! | large objects | refused if a full collection does not make room below the limit |
//! | the same up to half a reserve, for accounts that have not used it up | up to two reserves beyond the limit |
//!
//! The accounts that have used up the memory are notified when the reserve is entered
//! ([`Mutator::take_exhausted`]).

use super::Mutator;
use crate::area::AreaKind;
use crate::block::BLOCK_BYTES;
use crate::heap::{HeapExhausted, HeapState};

/// Whether an allocation may fail if there is no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    MayFail,
    MustSucceed,
}

impl Mutator {
    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_slow(
        &mut self,
        kind: AreaKind,
        bytes: usize,
    ) -> Result<usize, HeapExhausted> {
        let point = self.sampling_point(kind, bytes);
        let at = match self.take_local(kind, bytes) {
            Some(at) => at,
            None if self.has_room_for(1, Urgency::MayFail) => self.refill(kind, bytes),
            None => return Err(self.heap().refusal(BLOCK_BYTES)),
        };
        self.note_allocation(kind, point, at, bytes);
        Ok(at)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_beyond_limit(&mut self, kind: AreaKind, bytes: usize) -> usize {
        let point = self.sampling_point(kind, bytes);
        let at = match self.take_local(kind, bytes) {
            Some(at) => at,
            None => {
                self.has_room_for(1, Urgency::MustSucceed);
                self.refill(kind, bytes)
            }
        };
        self.note_allocation(kind, point, at, bytes);
        at
    }

    /// Collects if `blocks` more do not fit the nursery's budget. Whether that many are to be had,
    /// after a full collection if need be.
    // Inline: a frame more is a frame more in which stale references are found.
    #[inline(always)]
    pub(crate) fn has_room_for(&mut self, blocks: usize, urgency: Urgency) -> bool {
        let heap = self.heap().clone();
        let mut collected_fully = false;
        loop {
            self.safepoint();
            let state = heap.lock();
            // Beyond the limit the budget is a small one, which keeps full collections apart. The excess
            // is notified by the collector.
            let fits_budget = if blocks <= state.nursery_budget {
                state.young_blocks + blocks <= state.nursery_budget
            } else {
                // A large object that no nursery could hold only needs not to pile up on others.
                state.young_blocks == 0 || state.young_blocks <= state.nursery_budget / 4
            };
            let wanted = state.pool.used().saturating_add(blocks);
            let fits = wanted <= self.most_blocks(&state, blocks, urgency)
                && (blocks == 1 || !self.is_above_own_limit(&state, blocks));
            if fits_budget && (fits || collected_fully) {
                return fits;
            }
            let full = fits_budget || wanted > heap.ceiling_blocks(&state);
            drop(state);
            let was_mine = self.try_collect(full);
            collected_fully |= full && was_mine;
        }
    }

    /// So many blocks may be in use when `blocks` more are. The account that has used up the limit
    /// is notified before it is reached, and is refused blocks then that others still get: while
    /// the memory is not given back yet, they continue beyond the limit.
    fn most_blocks(&mut self, state: &HeapState, blocks: usize, urgency: Urgency) -> usize {
        let heap = self.heap();
        let (limit, reserve) = (heap.limit_blocks_now(), heap.reserve_blocks);
        let is_small = blocks <= reserve / 2;
        let is_to_blame = state.accounts.was_told(self.account());
        match urgency {
            Urgency::MustSucceed => usize::MAX,
            Urgency::MayFail if blocks == 1 && is_to_blame => limit + reserve,
            Urgency::MayFail if blocks == 1 => limit + 4 * reserve,
            Urgency::MayFail if is_small && !is_to_blame => limit + 2 * reserve,
            Urgency::MayFail => limit,
        }
    }

    /// Room for `blocks` more, or a refusal.
    pub(crate) fn before_allocation(&mut self, blocks: usize) -> Result<(), HeapExhausted> {
        if self.has_room_for(blocks, Urgency::MayFail) {
            Ok(())
        } else {
            Err(self.heap().refusal(blocks.saturating_mul(BLOCK_BYTES)))
        }
    }
}
