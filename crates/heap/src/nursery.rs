//! Where mutators allocate: bump areas that generated code shares.
//!
//! The nursery is a number of blocks handed out one by one to mutators. A mutator has three areas:
//! scannable and leaf, whose cursors and limits are in the [`AllocationArea`] that generated code
//! reads and writes, and special, which only the host uses. After a collection every area is empty.
//!
//! In stress mode the limit that generated code sees is the cursor itself, so that each allocation
//! comes to the slow path; the true limit is in [`LocalAreas`].

use canny_tables::layout::thread;

use crate::account::Account;
use crate::area::AreaKind;
use crate::block::{Block, Space};
use crate::sampling::Sampling;

/// The words of a thread block that allocation in generated code uses. The machine's thread block
/// contains one at [`thread::SCAN_CURSOR`].
#[derive(Debug, Default)]
#[repr(C)]
pub struct AllocationArea {
    /// Next free byte for scannable objects and pairs.
    pub scan_cursor: usize,
    /// A scannable allocation that would end above this takes the slow path.
    pub scan_limit: usize,
    /// Next free byte for leaf objects.
    pub leaf_cursor: usize,
    /// A leaf allocation that would end above this takes the slow path.
    pub leaf_limit: usize,
    /// Card table base: after storing a reference at `slot`, the byte at
    /// `cards + (slot >> CARD_SHIFT)` is set to 1.
    pub cards: usize,
}

const _: () = {
    use std::mem::offset_of;
    const fn at(field: i32) -> usize {
        (field - thread::SCAN_CURSOR) as usize
    }
    assert!(offset_of!(AllocationArea, scan_cursor) == at(thread::SCAN_CURSOR));
    assert!(offset_of!(AllocationArea, scan_limit) == at(thread::SCAN_LIMIT));
    assert!(offset_of!(AllocationArea, leaf_cursor) == at(thread::LEAF_CURSOR));
    assert!(offset_of!(AllocationArea, leaf_limit) == at(thread::LEAF_LIMIT));
    assert!(offset_of!(AllocationArea, cards) == at(thread::CARDS));
};

/// State of a mutator's areas beyond the [`AllocationArea`], for the collector and the slow path.
#[derive(Debug, Default)]
pub(crate) struct LocalAreas {
    pub(crate) scan_end: usize,
    pub(crate) leaf_end: usize,
    pub(crate) special_cursor: usize,
    pub(crate) special_end: usize,
    pub(crate) scan_block: Option<Block>,
    pub(crate) leaf_block: Option<Block>,
    pub(crate) special_block: Option<Block>,
    /// The account that owns the blocks opened from now on.
    pub(crate) account: Account,
    /// Blocks that were opened for it here, without large objects, since the mutator has it.
    pub(crate) opened: usize,
    /// The account was begun here by [`Mutator::begin_account`](crate::Mutator::begin_account), and
    /// nothing belongs to it yet: no block was opened, and no other account was in use since.
    pub(crate) is_untouched: bool,
    /// An account that was begun and ended without that anything belonged to it.
    pub(crate) spare_account: Option<Account>,
    /// There while allocations are sampled; limits are lowered to the next sample then.
    pub(crate) sampling: Option<Box<Sampling>>,
}

/// Records how far a block was filled; returns the bytes.
fn close(space: &Space, block: &mut Option<Block>, cursor: usize) -> usize {
    match block.take() {
        Some(block) => {
            let bytes = cursor - space.start_of(block);
            space.update_info(block, |info| info.top = bytes as u32);
            bytes
        }
        None => 0,
    }
}

/// Gives up the block of one area; returns the bytes that were allocated in it.
pub(crate) fn close_area(
    space: &Space,
    area: &mut AllocationArea,
    local: &mut LocalAreas,
    kind: AreaKind,
) -> usize {
    if let Some(sampling) = &mut local.sampling {
        let cursor = match kind {
            AreaKind::Scannable => area.scan_cursor,
            AreaKind::Leaf => area.leaf_cursor,
            AreaKind::Special => local.special_cursor,
        };
        sampling.close_area(kind, cursor);
    }
    match kind {
        AreaKind::Scannable => {
            let bytes = close(space, &mut local.scan_block, area.scan_cursor);
            (area.scan_cursor, area.scan_limit, local.scan_end) = (0, 0, 0);
            bytes
        }
        AreaKind::Leaf => {
            let bytes = close(space, &mut local.leaf_block, area.leaf_cursor);
            (area.leaf_cursor, area.leaf_limit, local.leaf_end) = (0, 0, 0);
            bytes
        }
        AreaKind::Special => {
            let bytes = close(space, &mut local.special_block, local.special_cursor);
            (local.special_cursor, local.special_end) = (0, 0);
            bytes
        }
    }
}

/// Gives up every block of a mutator.
pub(crate) fn close_all(space: &Space, area: &mut AllocationArea, local: &mut LocalAreas) -> usize {
    [AreaKind::Scannable, AreaKind::Leaf, AreaKind::Special]
        .into_iter()
        .map(|kind| close_area(space, area, local, kind))
        .sum()
}
