//! The objects of a snapshot that were in the one before, although objects move.
//!
//! After a snapshot the blocks in use are *known*: what stands in them then keeps its identity by its
//! address. From then on three things are noted. Holes of known blocks that are filled hold new objects
//! ([`Tracking::filled`]). A known object that is evacuated gets an entry with both places
//! ([`Tracking::moves`]); entries follow further moves and end with their objects. A block that is
//! released is known no more. Nothing is noted while nobody has taken a snapshot, and objects that stay
//! where they are cost nothing.
//!
//! A collection replaces the headers of what it evacuates. So the starts of known objects in blocks that
//! are to be evacuated are noted before, as bits.

use canny_tables::layout::GRANULE_BYTES;

use crate::block::{
    BLOCK_BYTES, BLOCK_GRANULES, BLOCK_MARK_WORDS, Block, KNOWN, Space, UNCLEAN, state,
};
use crate::heap::{Heap, HeapState};
use crate::shape::{self, FORWARDED};
use crate::sweep;
use crate::tracer::ToSpaces;
use crate::tracking::Tracking;

/// Notes may take this part of the heap; then the next snapshot has no predecessor.
const NOTES_SHARE: usize = 16;
/// They may take so much in any case.
const NOTES_BYTES_MIN: usize = 4 << 20;

/// Where objects came from, in granules from the lowest address.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Ranges whose objects are new, unless they are among the moves: start and length.
    pub new: Vec<(u64, u64)>,
    /// Places now and at the last snapshot.
    pub moves: Vec<(u64, u64)>,
}

/// Known objects in blocks that are about to be evacuated.
#[derive(Default)]
pub(crate) struct Evacuees {
    blocks: Vec<(Block, Box<Starts>)>,
    /// Of each entry of the moves, whether it is a pair.
    moved_pairs: Vec<bool>,
}

/// A bit for each granule of a block where an object starts, and where a pair does.
#[derive(Default)]
struct Starts {
    objects: [u64; BLOCK_MARK_WORDS],
    pairs: [u64; BLOCK_MARK_WORDS],
}

fn is_bit_set(bits: &[u64; BLOCK_MARK_WORDS], granule: usize) -> bool {
    bits[granule / 64] >> (granule % 64) & 1 != 0
}

/// Begins to track, with what is there now. Areas are closed, and segments that are being filled are, too.
pub(crate) fn begin(heap: &Heap, state: &mut HeapState) {
    state.to_spaces.settle(&heap.space);
    state.to_spaces = ToSpaces::default();
    state.code.begin_block();
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        let content = heap.space.state(block) & state::CONTENT;
        if content != state::FREE && content != state::TAIL {
            heap.space.update_info(block, |info| info.flags |= KNOWN);
        }
    }
    state.tracking = Some(Tracking::default());
}

/// Ends it.
pub(crate) fn end(heap: &Heap, state: &mut HeapState) {
    if state.tracking.take().is_some() {
        for number in 0..state.pool.frontier() {
            heap.space
                .update_info(Block(number), |info| info.flags &= !KNOWN);
        }
    }
}

/// Notes what is about to be evacuated. Blocks are condemned, and their mark bits still those of the last
/// collection.
pub(crate) fn before(heap: &Heap, state: &HeapState) -> Evacuees {
    let Some(tracking) = &state.tracking else {
        return Evacuees::default();
    };
    let space = &heap.space;
    let mut evacuees = Evacuees::default();
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        let block_state = space.state(block);
        let content = block_state & state::CONTENT;
        let moves = state::CONDEMNED | state::IN_PLACE | state::LARGE;
        if block_state & moves == state::CONDEMNED
            && !matches!(content, state::FREE | state::TAIL)
            && space.info(block).flags & KNOWN != 0
        {
            if space.info(block).flags & UNCLEAN != 0 {
                sweep::clean(space, block);
            }
            evacuees.blocks.push((block, starts_of(space, block)));
        }
    }
    let place = |(now, _): &(u32, u32)| space.base() + *now as usize * GRANULE_BYTES;
    let is_pair = |address: usize| {
        // SAFETY: entries are of live objects, and nothing was evacuated yet.
        !unsafe { shape::has_header(address) }
    };
    let moves = tracking.moves.iter();
    evacuees.moved_pairs = moves.map(|entry| is_pair(place(entry))).collect();
    evacuees
}

fn starts_of(space: &Space, block: Block) -> Box<Starts> {
    let mut starts = Box::<Starts>::default();
    let (first, top) = (space.start_of(block), space.top_of(block));
    let mut at = first;
    while at < top {
        // SAFETY: the block is laid out as objects up to its top.
        let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
        if !shape::is_filler(word) {
            let granule = (at - first) / GRANULE_BYTES;
            starts.objects[granule / 64] |= 1 << (granule % 64);
            // SAFETY: as above.
            if !unsafe { shape::has_header(at) } {
                starts.pairs[granule / 64] |= 1 << (granule % 64);
            }
        }
        at += bytes.max(GRANULE_BYTES);
    }
    starts
}

/// Where the object or pair that was at an address is now; none if it was not evacuated.
fn evacuated_to(address: usize, is_pair: bool) -> Option<usize> {
    // SAFETY: an object or pair was here before the collection, and its block was not released yet.
    let first = unsafe { shape::read(address) };
    if is_pair {
        // SAFETY: as above.
        return (first == FORWARDED)
            .then(|| shape::address_of(unsafe { shape::read(address + 8) }));
    }
    shape::is_reference(first).then(|| shape::address_of(first))
}

/// Notes what was evacuated. Everything is traced, and nothing released.
pub(crate) fn after(heap: &Heap, state: &mut HeapState, evacuees: Evacuees) {
    let Some(mut tracking) = state.tracking.take() else {
        return;
    };
    let space = &heap.space;
    let sorted = tracking.filled_sorted();
    let old = std::mem::take(&mut tracking.moves);
    let places: Vec<u32> = old.iter().map(|(now, _)| *now).collect();
    let mut moves = Vec::with_capacity(old.len());
    for ((now, before), is_pair) in old.into_iter().zip(evacuees.moved_pairs) {
        let address = space.base() + now as usize * GRANULE_BYTES;
        let block_state = space.state(space.block_of(address));
        if block_state & state::CONDEMNED == 0 {
            moves.push((now, before));
        } else if let Some(place) = evacuated_to(address, is_pair) {
            moves.push((space.granule_of(place) as u32, before));
        } else if block_state & (state::PINNED | state::IN_PLACE) != 0 && space.is_marked(address) {
            moves.push((now, before));
        }
    }
    for (block, starts) in evacuees.blocks {
        let first = space.start_of(block);
        for granule in (0..BLOCK_GRANULES).filter(|it| is_bit_set(&starts.objects, *it)) {
            let address = first + granule * GRANULE_BYTES;
            let place = space.granule_of(address) as u32;
            if let Some(to) = evacuated_to(address, is_bit_set(&starts.pairs, granule))
                && !tracking.is_filled(&sorted, address)
                && places.binary_search(&place).is_err()
            {
                moves.push((space.granule_of(to) as u32, place));
            }
        }
    }
    moves.sort_unstable();
    tracking.moves = moves;
    let most = (state.old_bytes / NOTES_SHARE).max(NOTES_BYTES_MIN);
    let is_too_much = tracking.bytes() > most;
    state.tracking = Some(tracking);
    if is_too_much {
        end(heap, state);
    }
}

/// Where everything came from since tracking began; none if nothing is tracked.
pub(crate) fn origins(heap: &Heap, state: &HeapState) -> Option<Origins> {
    let tracking = state.tracking.as_ref()?;
    let space = &heap.space;
    let is_known = |block: Block| space.info(block).flags & KNOWN != 0;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        let block_state = space.state(block);
        if matches!(block_state & state::CONTENT, state::FREE | state::TAIL) || is_known(block) {
            continue;
        }
        let blocks = match block_state & state::LARGE {
            0 => 1,
            _ => u64::from(space.info(block).span),
        };
        let start = space.granule_of(space.start_of(block)) as u64;
        ranges.push((start, blocks * (BLOCK_BYTES / GRANULE_BYTES) as u64));
    }
    for (start, end) in &tracking.filled {
        if is_known(space.block_of(*start)) {
            let granules = (end - start) / GRANULE_BYTES;
            ranges.push((space.granule_of(*start) as u64, granules as u64));
        }
    }
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let touches = next.0 <= last.0 + last.1;
        if touches {
            last.1 = last.1.max(next.0 + next.1 - last.0);
        }
        touches
    });
    let moves = tracking.moves.iter();
    let moves = moves.map(|(now, before)| (u64::from(*now), u64::from(*before)));
    Some(Origins {
        new: ranges,
        moves: moves.collect(),
    })
}
