//! A thread's handle on the heap: allocation, stores, collection.
//!
//! Inline paths bump the areas that generated code shares; everything else goes through one slow
//! path per area, which is where collections, stress mode and the limit come in.
//!
//! A [`Value`] in a local variable is safe across allocations: native stacks pin what they refer to.

mod accounts;
mod in_place;
mod large;
mod limit;
mod safepoint;
mod sampling;
mod walk;

pub use safepoint::NativeRegion;
pub use walk::LiveObject;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_tables::kinds::Kind;
use canny_tables::layout::{CARD_SHIFT, GRANULE_BYTES, TAG_PAIR, code};
use canny_value::{Header, Value};

use crate::area::AreaKind;
use crate::block::{BLOCK_BYTES, LARGE_ABOVE_BYTES, state};
use crate::collector;
use crate::handles::Handle;
use crate::heap::{Heap, HeapExhausted};
use crate::mutator_entry::{MutatorEntry, PollingMutator, SafepointRequest, Status};
use crate::native_stack::NativeContext;
use crate::nursery::{self, AllocationArea, LocalAreas};
use crate::roots::Roots;
use crate::shape;

/// A thread that uses a heap. It counts as running, so collections of other threads wait for it to
/// allocate, to call [`Mutator::safepoint`] or to be in a native region.
pub struct Mutator {
    heap: Arc<Heap>,
    id: u64,
    area: NonNull<AllocationArea>,
    local: NonNull<LocalAreas>,
    /// A collection that an allocation asked for instead of making it; see [`Mutator::allocate_in_place`].
    due: Due,
    /// The area's owner, when the mutator is.
    _own_area: Option<Box<AllocationArea>>,
}

/// The collection that a mutator owes at its next safepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// If the nursery's budget is still used up then.
    WhenFull,
    /// In any case: stress mode's turn.
    Always {
        full: bool,
    },
}

impl Mutator {
    /// Makes the current thread a mutator. Waits for a collection in progress.
    ///
    /// # Safety
    /// `area` (usually inside the machine's thread block) and `roots` stay valid and in place until
    /// the mutator is dropped; `roots` may be visited from other threads while this one is stopped.
    /// The mutator is used on this thread only.
    pub unsafe fn attach(
        heap: &Arc<Heap>,
        area: NonNull<AllocationArea>,
        roots: Option<NonNull<dyn Roots>>,
        request: Arc<dyn SafepointRequest>,
    ) -> Mutator {
        let local = NonNull::from(Box::leak(Box::new(LocalAreas::default())));
        // SAFETY: the caller's contract.
        unsafe {
            *area.as_ptr() = AllocationArea {
                cards: heap.space.biased_cards(),
                ..AllocationArea::default()
            };
        }
        let context = NativeContext::of_current_thread();
        let mut state = heap.lock();
        while state.stopping {
            state = heap.wait(&heap.resumed, state);
        }
        let id = state.next_mutator_id;
        state.next_mutator_id += 1;
        state.running += 1;
        state.mutators.push(MutatorEntry {
            id,
            status: Status::Running,
            context,
            area,
            local,
            roots,
            request,
        });
        drop(state);
        let mut mutator = Mutator {
            heap: heap.clone(),
            id,
            area,
            local,
            due: Due::Nothing,
            _own_area: None,
        };
        mutator.meet_others();
        mutator
    }

    /// Makes the current thread a mutator with an area of its own and no roots but its native stack.
    pub fn attach_plain(heap: &Arc<Heap>) -> Mutator {
        let mut own = Box::<AllocationArea>::default();
        let area = NonNull::from(&mut *own);
        // SAFETY: the box lives as long as the mutator, which is not `Send`.
        let mut mutator = unsafe { Mutator::attach(heap, area, None, Arc::new(PollingMutator)) };
        mutator._own_area = Some(own);
        mutator
    }

    /// The heap.
    #[inline]
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline(always)]
    pub(crate) fn area(&mut self) -> &mut AllocationArea {
        // SAFETY: valid by the contract of `attach`, and this thread is the only one that uses it
        // while it runs.
        unsafe { self.area.as_mut() }
    }

    #[inline(always)]
    pub(crate) fn local(&mut self) -> &mut LocalAreas {
        // SAFETY: owned by this mutator; the collector uses it only while this thread is stopped.
        unsafe { self.local.as_mut() }
    }

    /// A pair. At the heap limit it is made on the reserve, or beyond; see [`Mutator::take_exhausted`].
    /// A loop that makes pairs without bound uses [`Mutator::try_pair`] or polls that.
    #[inline(always)]
    pub fn pair(&mut self, car: Value, cdr: Value) -> Value {
        let area = self.area();
        let at = area.scan_cursor;
        let next = at + GRANULE_BYTES;
        if next <= area.scan_limit {
            area.scan_cursor = next;
            // SAFETY: the granule was just taken from this thread's block.
            return unsafe { init_pair(at, car, cdr) };
        }
        self.pair_slow(car, cdr)
    }

    #[cold]
    #[inline(never)]
    fn pair_slow(&mut self, car: Value, cdr: Value) -> Value {
        let at = self.allocate_beyond_limit(AreaKind::Scannable, GRANULE_BYTES);
        // SAFETY: as in `pair`.
        unsafe { init_pair(at, car, cdr) }
    }

    /// A pair, or a refusal at the heap limit.
    #[inline]
    pub fn try_pair(&mut self, car: Value, cdr: Value) -> Result<Value, HeapExhausted> {
        let at = self.allocate_small(AreaKind::Scannable, GRANULE_BYTES)?;
        // SAFETY: as in `pair`.
        Ok(unsafe { init_pair(at, car, cdr) })
    }

    /// An object of a scannable or special kind with `length` units, every payload word `fill`.
    /// Refused when it does not fit the heap limit after a full collection.
    ///
    /// # Panics
    /// If the kind is a leaf or code.
    pub fn object(
        &mut self,
        kind: Kind,
        flags: u8,
        length: usize,
        fill: Value,
    ) -> Result<Value, HeapExhausted> {
        let bytes = self.checked_bytes(kind, length)?;
        let (area, content) = area_of(kind);
        let (at, zeroed) = self.allocate(area, content, bytes)?;
        // SAFETY: the room was just taken; it is `bytes` long.
        Ok(unsafe { init_object(at, Header::new(kind, flags, length), bytes, zeroed, fill) })
    }

    /// An object as [`Mutator::object`] makes it, of at most half a block, that is never refused: at the
    /// heap limit it is made like a pair by [`Mutator::pair`].
    ///
    /// # Panics
    /// If the kind is a leaf or code, or the object is larger than half a block (16 KB).
    pub fn small_object(&mut self, kind: Kind, flags: u8, length: usize, fill: Value) -> Value {
        let bytes = small_bytes(kind, length);
        let (area, _) = area_of(kind);
        let at = self.allocate_small_always(area, bytes);
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_object(at, Header::new(kind, flags, length), bytes, false, fill) }
    }

    /// A leaf object as [`Mutator::leaf`] makes it, of at most half a block, that is never refused.
    ///
    /// # Panics
    /// If the kind is not a leaf or the object is larger than half a block (16 KB).
    pub fn small_leaf(&mut self, kind: Kind, flags: u8, length: usize) -> Value {
        let bytes = small_bytes(kind, length);
        assert_leaf(kind);
        let at = self.allocate_small_always(AreaKind::Leaf, bytes);
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_leaf(at, Header::new(kind, flags, length), bytes, false) }
    }

    /// An object of a leaf kind with `length` units, zeroed. Refused as [`Mutator::object`] is.
    ///
    /// # Panics
    /// If the kind is not a leaf.
    pub fn leaf(&mut self, kind: Kind, flags: u8, length: usize) -> Result<Value, HeapExhausted> {
        let bytes = self.checked_bytes(kind, length)?;
        assert_leaf(kind);
        let (at, zeroed) = self.allocate(AreaKind::Leaf, state::LEAF, bytes)?;
        // SAFETY: the room was just taken; it is `bytes` long.
        Ok(unsafe { init_leaf(at, Header::new(kind, flags, length), bytes, zeroed) })
    }

    /// A code object with so many bytes of payload, zeroed. It never moves. The host fills the
    /// payload as `layout::code` says, before the next allocation or safepoint; tagged words that it
    /// stores later go through [`Mutator::store_code_pool`] or are followed by
    /// [`Mutator::code_changed`].
    pub fn code(&mut self, payload_bytes: usize) -> Result<Value, HeapExhausted> {
        let payload_bytes = payload_bytes.max(8 * code::FIXED_WORDS);
        let bytes = self.checked_bytes(Kind::Code, payload_bytes)?;
        let at = if bytes > LARGE_ABOVE_BYTES {
            self.allocate_large(state::CODE, bytes)?.0
        } else {
            self.allocate_code(bytes)?
        };
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe {
            (at as *mut u8).write_bytes(0, bytes);
            shape::write(at, Header::new(Kind::Code, 0, payload_bytes).0);
            let object = Value::object_at(at);
            self.code_changed(object);
            Ok(object)
        }
    }

    fn allocate_code(&mut self, bytes: usize) -> Result<usize, HeapExhausted> {
        let heap = self.heap.clone();
        self.before_allocation(1)?;
        let mut guard = heap.lock();
        let state = &mut *guard;
        let (at, taken) = state
            .code
            .allocate(&heap.space, &mut state.pool, bytes)
            .ok_or_else(|| heap.refusal(bytes))?;
        state.young_blocks += usize::from(taken);
        state.old_bytes += bytes;
        state.statistics.bytes_allocated += bytes as u64;
        // SAFETY: the room was just taken. A walk must not find it without a header once the lock is
        // released.
        unsafe { shape::write(at, shape::filler_header(bytes)) };
        drop(guard);
        self.note_allocation_outside(at, bytes);
        Ok(at)
    }

    fn checked_bytes(&self, kind: Kind, length: usize) -> Result<usize, HeapExhausted> {
        match shape::object_bytes(kind, length) {
            Some(bytes) if bytes <= self.heap.limit_bytes() => Ok(bytes),
            bytes => Err(self.heap.refusal(bytes.unwrap_or(usize::MAX))),
        }
    }

    /// Room for an object, and whether it reads as zero.
    #[inline]
    fn allocate(
        &mut self,
        kind: AreaKind,
        content: u8,
        bytes: usize,
    ) -> Result<(usize, bool), HeapExhausted> {
        if bytes > LARGE_ABOVE_BYTES {
            self.allocate_large(content, bytes)
        } else {
            Ok((self.allocate_small(kind, bytes)?, false))
        }
    }

    /// Bumps the area that generated code bumps too.
    #[inline]
    fn bump(&mut self, kind: AreaKind, bytes: usize) -> Option<usize> {
        let area = self.area();
        let (cursor, limit) = match kind {
            AreaKind::Scannable => (&mut area.scan_cursor, area.scan_limit),
            AreaKind::Leaf => (&mut area.leaf_cursor, area.leaf_limit),
            AreaKind::Special => return None,
        };
        let at = *cursor;
        if at + bytes > limit {
            return None;
        }
        *cursor = at + bytes;
        Some(at)
    }

    #[inline]
    fn allocate_small(&mut self, kind: AreaKind, bytes: usize) -> Result<usize, HeapExhausted> {
        match self.bump(kind, bytes) {
            Some(at) => Ok(at),
            None => self.allocate_slow(kind, bytes),
        }
    }

    #[inline]
    fn allocate_small_always(&mut self, kind: AreaKind, bytes: usize) -> usize {
        match self.bump(kind, bytes) {
            Some(at) => at,
            None => self.allocate_beyond_limit(kind, bytes),
        }
    }

    /// Stress mode: counts, collects when due, and allocates from the block at hand if possible. Also
    /// the fast path of the special area.
    pub(crate) fn take_local(&mut self, kind: AreaKind, bytes: usize) -> Option<usize> {
        let stress = self.heap.stress_every() > 0;
        if stress {
            self.stress();
        } else if kind != AreaKind::Special && !self.is_sampling() {
            return None;
        }
        self.take_hidden(kind, bytes)
    }

    /// Room in the block at hand, of which stress mode shows nothing to generated code.
    fn take_hidden(&mut self, kind: AreaKind, bytes: usize) -> Option<usize> {
        let area = self.area.as_ptr();
        let local = self.local();
        // SAFETY: as in `area`; the two structures are apart.
        let area = unsafe { &mut *area };
        let (cursor, end) = match kind {
            AreaKind::Scannable => (&mut area.scan_cursor, local.scan_end),
            AreaKind::Leaf => (&mut area.leaf_cursor, local.leaf_end),
            AreaKind::Special => (&mut local.special_cursor, local.special_end),
        };
        let at = *cursor;
        if at + bytes > end {
            return None;
        }
        *cursor = at + bytes;
        if self.heap.stress_every() > 0 {
            area.scan_limit = area.scan_cursor;
            area.leaf_limit = area.leaf_cursor;
        }
        Some(at)
    }

    fn stress(&mut self) {
        if let Some(full) = self.stress_turn() {
            self.collect(full);
        }
    }

    /// Stress mode: counts an allocation; whether a collection is due, and whether that is a full one.
    fn stress_turn(&mut self) -> Option<bool> {
        let heap = self.heap.clone();
        let mut state = heap.lock();
        state.stress_countdown = state.stress_countdown.saturating_sub(1);
        if state.stress_countdown > 0 {
            return None;
        }
        state.stress_countdown = heap.stress_every();
        state.stress_collections += 1;
        let every = heap.config.stress_full_every;
        Some(every > 0 && state.stress_collections.is_multiple_of(every))
    }

    /// Opens another block for an area and takes room in it.
    pub(crate) fn refill(&mut self, kind: AreaKind, bytes: usize) -> usize {
        debug_assert!(bytes <= BLOCK_BYTES);
        let heap = self.heap.clone();
        let id = self.id;
        let area = self.area.as_ptr();
        let local = self.local();
        // SAFETY: as in `area`; the two structures are apart.
        let area = unsafe { &mut *area };
        let mut guard = heap.lock();
        let state = &mut *guard;
        let closed = nursery::close_area(&heap.space, area, local, kind);
        state.statistics.bytes_allocated += closed as u64;
        let block = state
            .pool
            .take(&heap.space)
            .expect("the reservation is a multiple of the limit");
        state.young.push(block);
        state.young_blocks += 1;
        state.accounts.note_opened(local.account);
        local.opened += 1;
        local.is_untouched = false;
        let (account, opened) = (local.account, local.opened);
        let reserve = heap.reserve_blocks;
        if heap.any_ending.load(Ordering::Relaxed)
            && state.accounts.gives_way(account, opened, reserve)
        {
            state.entry(id).request.request();
        }
        let content = match kind {
            AreaKind::Scannable => state::SCANNABLE,
            AreaKind::Leaf => state::LEAF,
            AreaKind::Special => state::SPECIAL,
        };
        heap.space
            .set_state(block, content | state::YOUNG | state::CONDEMNED);
        heap.space
            .update_info(block, |info| info.account = local.account);
        let start = heap.space.start_of(block);
        let (next, end) = (start + bytes, start + BLOCK_BYTES);
        let shown = if heap.stress_every() > 0 { next } else { end };
        match kind {
            AreaKind::Scannable => {
                (area.scan_cursor, area.scan_limit) = (next, shown);
                (local.scan_end, local.scan_block) = (end, Some(block));
            }
            AreaKind::Leaf => {
                (area.leaf_cursor, area.leaf_limit) = (next, shown);
                (local.leaf_end, local.leaf_block) = (end, Some(block));
            }
            AreaKind::Special => {
                (local.special_cursor, local.special_end) = (next, end);
                local.special_block = Some(block);
            }
        }
        start
    }

    fn take_in_place(&mut self, kind: AreaKind, bytes: usize) -> usize {
        match self.bump(kind, bytes) {
            Some(at) => at,
            None => self.take_in_place_slow(kind, bytes),
        }
    }

    fn take_in_place_slow(&mut self, kind: AreaKind, bytes: usize) -> usize {
        let point = self.sampling_point(kind, bytes);
        let hides = self.heap.stress_every() > 0;
        if hides && let Some(full) = self.stress_turn() {
            self.request_collection(Due::Always { full });
        }
        let hidden = if hides || self.is_sampling() {
            self.take_hidden(kind, bytes)
        } else {
            None
        };
        let at = match hidden {
            Some(at) => at,
            None => {
                self.request_collection_if_full(1);
                self.refill(kind, bytes)
            }
        };
        self.note_allocation(kind, point, at, bytes);
        at
    }

    #[cold]
    fn allocate_large_in_place(&mut self, content: u8, bytes: usize) -> usize {
        if self.heap.stress_every() > 0
            && let Some(full) = self.stress_turn()
        {
            self.request_collection(Due::Always { full });
        }
        self.request_collection_if_full(large::blocks_for(bytes));
        let heap = self.heap.clone();
        let account = self.account_of_large();
        let mut state = heap.lock();
        let (at, _) = large::allocate(&heap, &mut state, content, bytes, account)
            .expect("the reservation is a multiple of the limit");
        drop(state);
        self.note_allocation_outside(at, bytes);
        at
    }

    fn request_collection_if_full(&mut self, blocks: usize) {
        let heap = self.heap.clone();
        let state = heap.lock();
        let full = state.young_blocks + blocks > state.nursery_budget;
        drop(state);
        if full {
            self.request_collection(Due::WhenFull);
        }
    }

    fn request_collection(&mut self, due: Due) {
        if !matches!(self.due, Due::Always { .. }) {
            self.due = due;
        }
        let heap = self.heap.clone();
        let mut state = heap.lock();
        let id = self.id;
        state.entry(id).request.request();
    }

    /// Makes the collection that is owed, if the reason is still there. At safepoints.
    #[cold]
    #[inline(never)]
    pub(crate) fn collect_due(&mut self) {
        let full = match std::mem::replace(&mut self.due, Due::Nothing) {
            Due::Nothing => return,
            Due::Always { full } => full,
            Due::WhenFull => {
                let heap = self.heap.clone();
                let state = heap.lock();
                // A collection may have come since.
                if state.young_blocks < state.nursery_budget {
                    return;
                }
                state.pool.used() >= heap.ceiling_blocks(&state)
            }
        };
        self.try_collect(full);
    }

    #[inline(always)]
    pub(crate) fn owes_collection(&self) -> bool {
        self.due != Due::Nothing
    }

    #[cold]
    fn allocate_large(
        &mut self,
        content: u8,
        bytes: usize,
    ) -> Result<(usize, bool), HeapExhausted> {
        if self.heap.stress_every() > 0 {
            self.stress();
        }
        self.before_allocation(large::blocks_for(bytes))?;
        let heap = self.heap.clone();
        let account = self.account_of_large();
        let mut state = heap.lock();
        let taken = large::allocate(&heap, &mut state, content, bytes, account);
        drop(state);
        let (at, zeroed) = taken.ok_or_else(|| heap.refusal(bytes))?;
        self.note_allocation_outside(at, bytes);
        Ok((at, zeroed))
    }

    /// Records that a reference was stored at `slot`.
    #[inline(always)]
    pub fn barrier(&mut self, slot: usize) {
        let card = self.area().cards.wrapping_add(slot >> CARD_SHIFT) as *mut u8;
        // SAFETY: the card of an address in the heap.
        unsafe { *card = 1 }
    }

    /// Stores a payload word of a scannable or special object.
    ///
    /// # Panics
    /// If the index is out of range or the value is no such object.
    #[inline(always)]
    pub fn store(&mut self, object: Value, field_index: usize, value: Value) {
        let object = object.as_object().expect("a store goes into an object");
        assert!(
            field_index * 8 + 8 <= object.header().payload_bytes(),
            "field index out of range"
        );
        let slot = object.slot_address(field_index);
        // SAFETY: a word of a live object.
        unsafe { shape::write(slot, value.bits()) };
        self.barrier(slot);
    }

    /// Changes the car of a pair.
    ///
    /// # Panics
    /// If the value is no pair.
    #[inline(always)]
    pub fn set_car(&mut self, pair: Value, value: Value) {
        let slot = pair.as_pair().expect("a pair").slot_address();
        // SAFETY: a word of a live pair.
        unsafe { shape::write(slot, value.bits()) };
        self.barrier(slot);
    }

    /// Changes the cdr of a pair.
    ///
    /// # Panics
    /// If the value is no pair.
    #[inline(always)]
    pub fn set_cdr(&mut self, pair: Value, value: Value) {
        let slot = pair.as_pair().expect("a pair").slot_address() + 8;
        // SAFETY: a word of a live pair.
        unsafe { shape::write(slot, value.bits()) };
        self.barrier(slot);
    }

    /// Changes a pool word of a code object.
    ///
    /// # Panics
    /// If the index is not below the pool's length.
    pub fn store_code_pool(&mut self, code_object: Value, index: usize, value: Value) {
        let address = code_object.as_kind(Kind::Code).map(|o| o.value().address());
        let (pool, length) = shape::pool_of(address.expect("a code object"));
        assert!(index < length, "pool index out of range");
        // SAFETY: a pool word of a live code object.
        unsafe { shape::write(pool + 8 * index, value.bits()) };
        self.code_changed(code_object);
    }

    /// Collects now: the nursery, or everything. When another thread is about to collect, that
    /// collection counts as this one if the nursery is all that is asked for.
    #[cold]
    #[inline(never)]
    pub fn collect(&mut self, full: bool) {
        while !self.try_collect(full) && full {}
    }

    /// Collects unless another thread does at this moment, whose collection is waited for; whether it was
    /// this one. A mutator that only needs room looks at what there is then: two that need it at the same
    /// time would otherwise collect everything twice.
    #[inline(never)]
    pub(crate) fn try_collect(&mut self, full: bool) -> bool {
        let id = self.id;
        self.stop_the_world(|heap, state| {
            state.collector = id;
            collector::collect(heap, state, full);
        })
        .is_some()
    }

    /// A handle that keeps a value alive and up to date.
    pub fn handle(&mut self, value: Value) -> Handle {
        self.heap.create_handle(value)
    }

    /// See [`Heap::register_guardian`].
    pub fn register_guardian(&mut self, object: Value, guardian: Value) {
        self.heap.register_guardian(object, guardian);
    }

    /// See [`Heap::register_external`].
    pub fn register_external(&mut self, value: Value, id: u64) {
        self.heap.register_external(value, id);
    }
}

impl Drop for Mutator {
    fn drop(&mut self) {
        let heap = self.heap.clone();
        let mut guard = heap.lock();
        let state = &mut *guard;
        let local = self.local.as_ptr();
        // SAFETY: the local areas were leaked for this mutator and are not used after this; the area
        // is valid by the contract of `attach`.
        let mut local = unsafe { Box::from_raw(local) };
        let closed = nursery::close_all(&heap.space, self.area(), &mut local);
        state.statistics.bytes_allocated += closed as u64;
        state.stop(self.id, Status::InNative, &heap);
        state.mutators.retain(|entry| entry.id != self.id);
        if let [last] = &state.mutators[..] {
            last.request.set_has_others(false);
        }
    }
}

/// Writes a pair.
///
/// # Safety
/// A granule at the address was just taken from the scannable area.
#[inline(always)]
unsafe fn init_pair(at: usize, car: Value, cdr: Value) -> Value {
    // SAFETY: the caller's contract.
    unsafe {
        shape::write(at, car.bits());
        shape::write(at + 8, cdr.bits());
        shape::value(at as u64 | TAG_PAIR)
    }
}

/// The area and the block content for objects of tagged words.
#[inline]
fn area_of(kind: Kind) -> (AreaKind, u8) {
    match shape::content_of(kind) {
        state::SCANNABLE => (AreaKind::Scannable, state::SCANNABLE),
        state::SPECIAL => (AreaKind::Special, state::SPECIAL),
        _ => panic!("a {} is not made of tagged words", kind.row().name),
    }
}

fn assert_leaf(kind: Kind) {
    assert_eq!(
        shape::content_of(kind),
        state::LEAF,
        "a {} has no raw payload",
        kind.row().name
    );
}

fn small_bytes(kind: Kind, length: usize) -> usize {
    let bytes = shape::object_bytes(kind, length).unwrap_or(usize::MAX);
    assert!(
        bytes <= LARGE_ABOVE_BYTES,
        "a large object is asked for with `object` or `leaf`"
    );
    bytes
}

/// Bytes of an object with a payload of so many bytes, which is no large one.
#[inline(always)]
fn small_payload_bytes(payload_bytes: usize) -> usize {
    assert!(payload_bytes < LARGE_ABOVE_BYTES);
    let bytes = Header::size_for_payload(payload_bytes);
    assert!(bytes <= LARGE_ABOVE_BYTES);
    bytes
}

/// Writes an object of tagged words.
///
/// # Safety
/// `bytes` bytes at the address were just taken for an object with this header.
unsafe fn init_object(at: usize, header: Header, bytes: usize, zeroed: bool, fill: Value) -> Value {
    // SAFETY: the caller's contract.
    unsafe {
        shape::write(at, header.0);
        if !(zeroed && fill.bits() == 0) {
            for word in 1..=header.length() {
                shape::write(at + 8 * word, fill.bits());
            }
        }
        if !zeroed && header.length().is_multiple_of(2) {
            // The word of padding, which is scanned like the others.
            shape::write(at + bytes - 8, 0);
        }
        Value::object_at(at)
    }
}

/// Writes a leaf object of zeros.
///
/// # Safety
/// As for [`init_object`].
unsafe fn init_leaf(at: usize, header: Header, bytes: usize, zeroed: bool) -> Value {
    // SAFETY: the caller's contract.
    unsafe {
        if !zeroed {
            (at as *mut u8).write_bytes(0, bytes);
        }
        shape::write(at, header.0);
        Value::object_at(at)
    }
}
