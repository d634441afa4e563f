//! One collection, from the decision what to collect to the accounts afterwards.
//!
//! Order, with the reason: areas are closed so that blocks are walkable; native stacks are searched and
//! pins set before anything moves; then precise roots, cards, the drain; then ephemerons, guardians,
//! externals and weak tables in this order; then blocks are freed or kept; at last, in a full
//! collection, owners of raw memory learn who refers to it.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::block::{BLOCK_BYTES, BLOCK_GRANULES, Block, PARTIAL, UNCLEAN, state};
use crate::census::Census;
use crate::heap::{Heap, HeapState};
use crate::identity;
use crate::notices;
use crate::nursery;
use crate::pin::Candidates;
use crate::raw::RawSearch;
use crate::roots::{DependentVisitor, RootVisitor, WeakRoots, WeakVisitor};
use crate::shape;
use crate::statistics::{Pause, PauseTimer};
use crate::sweep;
use crate::tracer::{CollectionMode, Tracer};
use crate::verify;

/// Pauses that are kept until somebody takes them.
const PAUSES_MAX: usize = 10_000;

/// Collects. Every mutator is stopped, and the caller holds the heap's lock.
pub(crate) fn collect(heap: &Heap, state: &mut HeapState, full: bool) {
    let timer = PauseTimer::start();
    let bytes_before = state.pool.used() * BLOCK_BYTES;
    close_areas(heap, state);
    if heap.config.verify {
        verify::verify(heap, state, verify::Moment::Before);
    }
    let mode = if full || wants_full(heap, state) {
        CollectionMode::Full
    } else {
        CollectionMode::Minor
    };
    let in_place = mode == CollectionMode::Full && wants_in_place(heap, state);
    let search = (mode == CollectionMode::Full).then(|| RawSearch::begin(state));
    let young = Young::of(state);
    trace_everything(heap, state, mode, in_place);
    let live = reclaim(heap, state, mode);
    if mode == CollectionMode::Minor {
        fit_nursery(heap, state, young);
    }
    settle_accounts(heap, state, mode, in_place, live);
    if let Some(search) = search {
        search.finish(heap, state);
    }
    if mode == CollectionMode::Full && state.wants_census {
        state.census = Some(Census::take(&heap.space, state.pool.frontier()));
    }
    if heap.config.verify {
        verify::verify(heap, state, verify::Moment::After);
    }
    let wall = timer.stop(&mut state.statistics, mode == CollectionMode::Full);
    if let Some(pauses) = state.pauses.as_mut().filter(|kept| kept.len() < PAUSES_MAX) {
        pauses.push(Pause {
            end: Instant::now(),
            wall,
            is_full: mode == CollectionMode::Full,
            bytes: (bytes_before, state.pool.used() * BLOCK_BYTES),
        });
    }
    heap.tell_observer(state, mode == CollectionMode::Full);
}

/// Gives up the blocks that mutators were filling.
pub(crate) fn close_areas(heap: &Heap, state: &mut HeapState) {
    for entry in &mut state.mutators {
        // SAFETY: the mutator is stopped, and both outlive its entry.
        let (area, local) = unsafe { (entry.area.as_mut(), entry.local.as_mut()) };
        let bytes = nursery::close_all(&heap.space, area, local);
        state.statistics.bytes_allocated += bytes as u64;
    }
}

/// Nurseries' worth of memory at most that freed large objects keep committed for others.
const WARM_NURSERIES: usize = 4;
/// Of that memory, the part of what nobody needed since the last collection that is given back.
const UNUSED_SHARE_GIVEN_BACK: usize = 8;

/// Blocks that minor collections leave to what native stacks refer to before a full collection frees
/// them: each may hold a single object that has long died.
const PINNED_BLOCKS_MIN: usize = 12;
/// The same as a part of the old blocks, which a full collection goes through.
const PINNED_SHARE: usize = 4;

/// Blocks of the nursery that a collection finds.
#[derive(Clone, Copy)]
struct Young {
    blocks: usize,
    blocks_of_large: usize,
}

impl Young {
    fn of(state: &HeapState) -> Young {
        Young {
            blocks: state.young_blocks,
            blocks_of_large: state.young_blocks.saturating_sub(state.young.len()),
        }
    }
}

/// Chooses the size of the next nursery. A small one stays in the caches, and in the table of pages
/// that the processor has at hand; a large one copies less where objects live on for a while, and large
/// objects are not touched so often.
fn fit_nursery(heap: &Heap, state: &mut HeapState, young: Young) {
    let (least, most) = (heap.nursery_blocks_least(state), heap.nursery_blocks);
    let promoted = state.statistics.bytes_promoted_last / BLOCK_BYTES;
    let now = state.nursery_blocks;
    let is_small = now < heap.nursery_blocks_usual();
    let enough_lives = promoted * if is_small { 32 } else { 8 } > young.blocks;
    let next = if enough_lives || 2 * young.blocks_of_large > young.blocks {
        2 * now
    } else if 64 * promoted < young.blocks {
        now - now / 4
    } else {
        now
    };
    state.nursery_blocks = next.max(least).min(most);
}

fn wants_full(heap: &Heap, state: &HeapState) -> bool {
    if state.full_next || state.old_bytes > state.full_above_bytes {
        return true;
    }
    let old_blocks = state.old_bytes / BLOCK_BYTES;
    if state.pinned_blocks > PINNED_BLOCKS_MIN.max(old_blocks / PINNED_SHARE) {
        return true;
    }
    // Promoted objects must fit below the limit, with the nursery beside them. The nursery was
    // sized so that they do, but the host's memory outside of the heap may have grown a little
    // since.
    let old_blocks = state.pool.used() - state.young_blocks.min(state.pool.used());
    let slack = heap.reserve_blocks / 4;
    old_blocks + 2 * state.young_blocks > heap.ceiling_blocks(state) + slack
}

fn wants_in_place(heap: &Heap, state: &HeapState) -> bool {
    state.old_bytes > heap.config.in_place_above_bytes || state.pool.used() * 2 > heap.limit_blocks
}

/// Whether a block was found nearly empty by the last full collection and has not been filled since:
/// then even an in-place collection evacuates it, which keeps fragmentation down. The copies are a
/// fraction of the size of the blocks, so this needs little room.
fn is_sparse(heap: &Heap, block: Block) -> bool {
    let info = heap.space.info(block);
    info.flags & PARTIAL != 0 && (info.live_granules as usize) < BLOCK_GRANULES / 8
}

/// Marks the blocks that a full collection decides about. Young blocks are condemned from birth.
fn condemn(heap: &Heap, state: &mut HeapState, in_place: bool) {
    let space = &heap.space;
    state.partial_scannable.clear();
    state.partial_leaf.clear();
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        let old = space.state(block);
        if old & state::YOUNG != 0 {
            continue;
        }
        let new = match old & state::CONTENT {
            state::FREE | state::TAIL => continue,
            _ if old & state::LARGE != 0 => old | state::CONDEMNED | state::IN_PLACE,
            state::CODE => old | state::CONDEMNED | state::IN_PLACE,
            state::SCANNABLE | state::LEAF if in_place && !is_sparse(heap, block) => {
                old | state::CONDEMNED | state::IN_PLACE
            }
            _ => old | state::CONDEMNED,
        };
        space.set_state(block, new);
    }
}

/// Drops what mark bits say of the last collection.
fn forget_marks(heap: &Heap, state: &HeapState) {
    let space = &heap.space;
    for number in 0..state.pool.frontier() {
        let block = Block(number);
        if space.info(block).flags & PARTIAL != 0
            && space.state(block) & state::CONTENT != state::TAIL
        {
            space.clear_marks(block);
            space.update_info(block, |info| info.flags &= !(PARTIAL | UNCLEAN));
        }
    }
}

fn trace_everything(heap: &Heap, state: &mut HeapState, mode: CollectionMode, in_place: bool) {
    let full = mode == CollectionMode::Full;
    if full {
        condemn(heap, state, in_place);
    }
    let mut candidates = Candidates::default();
    for entry in &state.mutators {
        candidates.gather(&heap.space, &entry.context);
    }
    candidates.prepare(&heap.space);
    let evacuees = identity::before(heap, state);
    if full {
        forget_marks(heap, state);
    }
    let mut tracer = Tracer::new(
        &heap.space,
        &mut state.pool,
        &mut state.to_spaces,
        &mut state.partial_scannable,
        &mut state.partial_leaf,
        mode,
    );
    let pinned = candidates.pin(&mut tracer);
    state.statistics.pinned_objects = pinned;
    state.statistics.pinned_objects_total += pinned as u64;

    let mut visitor = RootVisitor {
        tracer: &mut tracer,
    };
    for entry in &mut state.mutators {
        if let Some(roots) = &mut entry.roots {
            // SAFETY: the mutator is stopped, and its roots outlive its entry.
            unsafe { roots.as_mut().visit_roots(&mut visitor, mode) };
        }
    }
    for roots in &mut state.global_roots {
        // SAFETY: every mutator is stopped.
        unsafe { roots.visit_roots(&mut visitor, mode) };
    }
    heap.handles.for_each_slot(|slot| visitor.visit(slot));
    if !full {
        tracer.scan_cards();
    }
    tracer.drain_with_ephemerons();
    if full {
        drain_with_dependents(&mut tracer, &mut state.weak_roots);
    }
    state.finalization.guard(&mut tracer);
    if full {
        // Guardians may have brought objects back on which others depend.
        drain_with_dependents(&mut tracer, &mut state.weak_roots);
    }
    state.finalization.sweep_watched(&tracer);
    tracer.finish_weak();
    let visitor = WeakVisitor { tracer: &tracer };
    for roots in &mut state.weak_roots {
        // SAFETY: every mutator is stopped.
        unsafe { roots.update_weak(&visitor) };
    }
    let copied = tracer.take_bytes_copied();
    let filled = tracer.take_filled();
    state.to_spaces.settle(&heap.space);
    state.statistics.bytes_evacuated += copied as u64;
    state.statistics.bytes_promoted_last = copied;
    if let Some(tracking) = &mut state.tracking {
        tracking.filled.extend(filled);
    }
    identity::after(heap, state, evacuees);
    if copied > 0 {
        heap.epoch.fetch_add(1, Ordering::Relaxed);
    }
}

/// Traces what is kept for the sake of something else, until there is nothing new.
fn drain_with_dependents(tracer: &mut Tracer<'_>, tables: &mut [Box<dyn WeakRoots + Send>]) {
    loop {
        let mut progress = false;
        for roots in &mut *tables {
            let mut visitor = DependentVisitor {
                tracer: &mut *tracer,
            };
            // SAFETY: every mutator is stopped.
            progress |= unsafe { roots.visit_dependents(&mut visitor) };
        }
        if !progress {
            return;
        }
        tracer.drain_with_ephemerons();
    }
}

/// Frees what died. Returns the bytes of objects that stayed in condemned blocks.
fn reclaim(heap: &Heap, state: &mut HeapState, mode: CollectionMode) -> usize {
    let mut live = 0;
    if mode == CollectionMode::Full {
        state.pinned_blocks = 0;
    }
    for block in std::mem::take(&mut state.young) {
        let stayed = reclaim_block(heap, state, block);
        state.pinned_blocks += usize::from(stayed > 0 && mode == CollectionMode::Minor);
        live += stayed;
    }
    let mut large = std::mem::take(&mut state.large_young);
    if mode == CollectionMode::Full {
        state.code.begin_sweep();
        for number in 0..state.pool.frontier() {
            let block = Block(number);
            let block_state = heap.space.state(block);
            if block_state & state::CONDEMNED == 0 || block_state & state::LARGE != 0 {
                continue;
            }
            if block_state & state::CONTENT == state::CODE {
                let bytes = state.code.sweep(&heap.space, block);
                heap.space.clear_cards(block, 1);
                live += bytes;
                if bytes == 0 {
                    state.pool.release(&heap.space, block);
                }
            } else {
                live += reclaim_block(heap, state, block);
            }
        }
        large.append(&mut state.large_old);
    }
    for block in large {
        live += reclaim_large(heap, state, block);
    }
    live
}

fn reclaim_block(heap: &Heap, state: &mut HeapState, block: Block) -> usize {
    let space = &heap.space;
    let block_state = space.state(block);
    if block_state & (state::PINNED | state::IN_PLACE) == 0 {
        state.pool.release(space, block);
        return 0;
    }
    let (live, usable) = sweep::retain(space, block);
    if live == 0 {
        state.pool.release(space, block);
        return 0;
    }
    if heap.config.poison {
        sweep::clean(space, block);
    }
    if usable {
        match block_state & state::CONTENT {
            state::SCANNABLE => state.partial_scannable.push(block),
            state::LEAF => state.partial_leaf.push(block),
            _ => {}
        }
    }
    live
}

fn reclaim_large(heap: &Heap, state: &mut HeapState, block: Block) -> usize {
    let space = &heap.space;
    let start = space.start_of(block);
    let blocks = space.info(block).span as usize;
    if !space.is_marked(start) {
        state.pool.release_run(space, block, blocks);
        return 0;
    }
    space.unmark(start);
    let kept = space.state(block) & (state::CONTENT | state::LARGE);
    space.set_state(block, kept);
    space.clear_cards(block, blocks);
    state.large_old.push(block);
    // SAFETY: a large object starts at its first block.
    unsafe { shape::bytes_at(start) }
}

fn settle_accounts(
    heap: &Heap,
    state: &mut HeapState,
    mode: CollectionMode,
    in_place: bool,
    stayed: usize,
) {
    let config = &heap.config;
    state.statistics.collections += 1;
    let bytes = state.statistics.bytes_promoted_last + stayed;
    if mode == CollectionMode::Full {
        state.statistics.full_collections += 1;
        state.statistics.in_place_collections += u64::from(in_place);
        state.old_bytes = bytes;
        state.spare_blocks = state.promoted_bytes / BLOCK_BYTES;
        state.promoted_bytes = 0;
        state.full_above_bytes = (bytes / 100 * config.growth_percent).max(config.full_floor_bytes);
    } else {
        state.old_bytes += bytes;
        state.promoted_bytes += bytes;
        state.spare_blocks -= state.spare_blocks.div_ceil(32);
    }
    state.young_blocks = 0;
    let used = state.pool.used();
    state.nursery_budget = heap.nursery_budget(state, used, state.nursery_blocks);
    let free = heap.limit_blocks.saturating_sub(used);
    let keep = (state.nursery_budget + state.spare_blocks).min(free);
    state.pool.trim(&heap.space, keep, free - keep);
    let given_back = state.pool.warm_unused() / UNUSED_SHARE_GIVEN_BACK;
    let keep_warm = (state.pool.warm() - given_back).min(WARM_NURSERIES * heap.nursery_blocks);
    state.pool.cool(&heap.space, keep_warm.min(free - keep));
    let room = heap.limit_blocks_now().saturating_sub(used);
    if let Some(outside) = heap.config.outside {
        (outside.allow_bytes)(heap.limit_blocks.saturating_sub(used) * BLOCK_BYTES);
    }
    if mode == CollectionMode::Minor {
        state.full_next = if state.accounts.is_any_ending() {
            used >= heap.ceiling_blocks(state)
        } else {
            room / 2 < heap.nursery_blocks.min(heap.reserve_blocks)
        };
        notices::look_at_limits(heap, state);
        return;
    }
    let is_roomy = notices::take_stock(heap, state, room);
    state.full_next = false;
    let is_short = room < 2 * heap.reserve_blocks
        && !state.accounts.is_any_ending()
        && state.accounts.cold() > heap.limit_blocks / 4 * 3;
    heap.short.store(is_short, Ordering::Relaxed);
    if is_roomy {
        state.excess_told = None;
    } else {
        tell_excess(heap, state, used);
    }
    notices::ask_told(heap, state);
    state.nursery_budget = heap.nursery_budget(state, used, state.nursery_blocks);
    debug_assert!(used * BLOCK_BYTES >= state.old_bytes.min(BLOCK_BYTES));
}

/// Says that the limit is nearly reached: once to each account that is to give something back, and
/// again when another reserve was used up since.
fn tell_excess(heap: &Heap, state: &mut HeapState, used: usize) {
    let again = match state.excess_told {
        None => {
            state.excess_told = Some(used);
            None
        }
        Some(told) if used >= told + heap.reserve_blocks => {
            state.excess_told = Some(used);
            Some(heap.reserve_blocks / 2)
        }
        Some(_) => None,
    };
    let half = used.saturating_sub(heap.limit_blocks / 2).max(1);
    let most = used.saturating_sub(heap.limit_blocks / 8).max(1);
    notices::tell_hottest(state, half..=most, again);
}
