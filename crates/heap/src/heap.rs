//! The heap that mutators share: its settings, its lock and the state that the lock guards.
//!
//! `HeapState` is all state behind the lock: block lists, budgets, roots, statistics. A mutator
//! takes the lock to get blocks, not to allocate inside of one; the collector works on it while
//! every mutator is stopped. The atomics of `Heap` are mirrors that polls read without the lock,
//! and hints: a reader that needs the truth takes the lock. Sizes are in blocks unless the name
//! ends with `_bytes`.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use canny_locks::{Condvar, Mutex, MutexGuard};
use canny_tables::layout::{TAG_MASK, TAG_OBJECT};
use canny_value::Value;

use crate::accounts::Accounts;
use crate::block::{BLOCK_BYTES, BLOCK_SHIFT, Block, Space};
use crate::block_pool::BlockPool;
use crate::census::Census;
use crate::code_space::{self, CodeSpace};
use crate::config::HeapConfig;
use crate::guardian::{Finalization, Watched};
use crate::handles::{Handle, HandleTable};
use crate::mutator_entry::{MutatorEntry, Status};
use crate::reservation::physical_bytes;
use crate::roots::{RawReferences, Roots, WeakRoots};
use crate::statistics::{Pause, Statistics};
use crate::tracer::ToSpaces;
use crate::tracking::Tracking;

/// A request that the heap limit does not allow, after a full collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapExhausted {
    /// Bytes of the request; `usize::MAX` when they cannot be counted.
    pub requested_bytes: usize,
    /// The heap limit in bytes.
    pub limit_bytes: usize,
}

impl fmt::Display for HeapExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "heap limit of {} bytes exceeded by a request of {} bytes",
            self.limit_bytes, self.requested_bytes
        )
    }
}

impl std::error::Error for HeapExhausted {}

/// Blocks of the first nursery, 512 kB: a program whose objects die at once needs no more, and it stays
/// in the caches of one processor.
const NURSERY_BLOCKS_FIRST: usize = 16;
/// Fewest blocks for each of several threads, 1 MB, since all of them stop for a collection.
const NURSERY_BLOCKS_PER_THREAD: usize = 32;
/// Blocks up to which a nursery grows if little survives in it, 6 MB: pages of 4 kB of which processors
/// know so many at a time.
const NURSERY_BLOCKS_USUAL: usize = 192;
/// A collection looks at the cards of all old blocks, so that nurseries are no less than this part of
/// them, within what is usual.
const OLD_BLOCKS_PER_NURSERY_BLOCK: usize = 8;
/// Fewest blocks in a nursery.
const NURSERY_BLOCKS_MIN: usize = 8;
/// Least heap limit: some nurseries, the reserve, and room to live.
const LIMIT_BYTES_MIN: usize = 4 << 20;
/// Address space reserved when the system allows it, whatever the limit: blocks beyond the limit,
/// opened before the machine notices, must go somewhere.
const RESERVED_BYTES_MIN: usize = 16 << 30;
/// Most address space that is reserved.
const RESERVED_BYTES_MAX: usize = 64 << 30;

/// The heap while every mutator stands still; `survey` has what can be done with it.
pub struct Standstill<'h> {
    pub(crate) heap: &'h Heap,
    pub(crate) state: &'h mut HeapState,
}

/// How a collection ended.
#[derive(Clone, Copy, Debug)]
pub struct Collected {
    /// It was a full one.
    pub is_full: bool,
    /// It found the limit nearly reached: those that use the most memory are going to be notified.
    pub is_near_limit: bool,
    /// Bytes of old objects.
    pub bytes: usize,
}

/// Is told of collections.
pub trait CollectionObserver: Send {
    /// A collection has ended, and nothing runs yet. It must not collect.
    fn collected(&mut self, still: &mut Standstill<'_>, end: Collected);
}

/// A heap. Threads use it through a [`crate::Mutator`] each.
pub struct Heap {
    pub(crate) config: HeapConfig,
    pub(crate) space: Space,
    /// Limit in blocks.
    pub(crate) limit_blocks: usize,
    /// Blocks below the limit that are kept for the program's handling of the excess.
    pub(crate) reserve_blocks: usize,
    /// Blocks of the largest nursery.
    pub(crate) nursery_blocks: usize,
    state: Mutex<HeapState>,
    /// Signalled when no mutator runs any more.
    pub(crate) stopped: Condvar,
    /// Signalled when a collection has ended.
    pub(crate) resumed: Condvar,
    /// Mirror of [`HeapState::stopping`] for polls.
    pub(crate) stop_requested: AtomicBool,
    pub(crate) epoch: AtomicU64,
    /// Whether any account has a notice that it uses too much.
    pub(crate) any_told: AtomicBool,
    /// Whether any notified account is still there.
    pub(crate) any_ending: AtomicBool,
    /// Whether any account has a limit of its own.
    pub(crate) any_limited: AtomicBool,
    pub(crate) next_account: AtomicU32,
    /// Number of the next sampled object.
    next_sample: AtomicU64,
    /// See [`Heap::is_short`].
    pub(crate) short: AtomicBool,
    /// Collect at every n-th allocation; at first what the configuration says.
    stress_every: AtomicU32,
    pub(crate) handles: Arc<HandleTable>,
}

/// State that the heap's lock guards.
pub(crate) struct HeapState {
    pub(crate) pool: BlockPool,
    /// Blocks of the nursery.
    pub(crate) young: Vec<Block>,
    /// First blocks of large objects: old ones, and those allocated since the last collection.
    pub(crate) large_old: Vec<Block>,
    pub(crate) large_young: Vec<Block>,
    /// Blocks handed out since the last collection, large objects included.
    pub(crate) young_blocks: usize,
    /// Blocks that may be handed out until the next collection.
    pub(crate) nursery_budget: usize,
    /// Blocks of a full nursery, as the last collections found it fit.
    pub(crate) nursery_blocks: usize,
    pub(crate) to_spaces: ToSpaces,
    /// Old blocks with room in them, to promote into.
    pub(crate) partial_scannable: Vec<Block>,
    pub(crate) partial_leaf: Vec<Block>,
    pub(crate) code: CodeSpace,
    pub(crate) finalization: Finalization,
    pub(crate) global_roots: Vec<Box<dyn Roots + Send>>,
    pub(crate) weak_roots: Vec<Box<dyn WeakRoots + Send>>,
    pub(crate) raw_references: Vec<Box<dyn RawReferences + Send>>,
    pub(crate) statistics: Statistics,
    /// The collections since they were taken; none if nobody wants them.
    pub(crate) pauses: Option<Vec<Pause>>,
    /// The content of the heap after the last full collection, once somebody has asked for it.
    pub(crate) census: Option<Census>,
    pub(crate) wants_census: bool,
    /// Where objects went since the last snapshot, if one was taken.
    pub(crate) tracking: Option<Tracking>,
    /// Is told of collections.
    pub(crate) observer: Option<Box<dyn CollectionObserver>>,
    /// Bytes of old objects: live after the last full collection, and promoted since.
    pub(crate) old_bytes: usize,
    /// The next collection is full when `old_bytes` exceeds this.
    pub(crate) full_above_bytes: usize,
    /// Bytes of `old_bytes` that were promoted since the last full collection.
    pub(crate) promoted_bytes: usize,
    /// Blocks that stayed since the last full collection since native stacks seemed to refer to objects
    /// in them.
    pub(crate) pinned_blocks: usize,
    /// Free blocks, beside a nursery, that stay committed for the promotions to come. As many as the
    /// last cycle of collections used, shrinking with every collection.
    pub(crate) spare_blocks: usize,
    /// The next collection is full in any case.
    pub(crate) full_next: bool,
    /// The mutator that collects, or has collected last.
    pub(crate) collector: u64,
    /// The limit's reserve is in use; blocks in use when that was last told.
    pub(crate) excess_told: Option<usize>,
    pub(crate) accounts: Accounts,
    pub(crate) stress_countdown: u32,
    pub(crate) stress_collections: u32,
    pub(crate) mutators: Vec<MutatorEntry>,
    pub(crate) next_mutator_id: u64,
    /// Number of mutators whose status is `Running`.
    pub(crate) running: usize,
    /// A thread is stopping the world or has stopped it.
    pub(crate) stopping: bool,
}

// SAFETY: the raw pointers in mutator entries are used by the collecting thread only while their
// mutators are stopped; hosts promise that their roots may be visited from any thread.
unsafe impl Send for HeapState {}

impl Heap {
    /// Makes a heap: reserves address space, commits next to nothing.
    pub fn new(config: HeapConfig) -> io::Result<Arc<Heap>> {
        let limit = config.limit.unwrap_or_else(|| physical_bytes() / 4 * 3);
        let limit = limit.max(LIMIT_BYTES_MIN);
        let wanted = limit
            .saturating_mul(4)
            .clamp(RESERVED_BYTES_MIN, RESERVED_BYTES_MAX);
        let space = Space::new(wanted)?;
        if let Some(outside) = config.outside {
            (outside.allow_bytes)(limit);
        }
        // A collection may need room for copies besides what is in use.
        let limit_blocks = (limit >> BLOCK_SHIFT).min(space.block_count() / 3);
        let reserve_blocks = (limit_blocks / 16).clamp(2 * NURSERY_BLOCKS_MIN, 512);
        let nursery_blocks = (config.nursery_bytes >> BLOCK_SHIFT).max(NURSERY_BLOCKS_MIN);
        let mut state = HeapState {
            pool: BlockPool::new(space.block_count(), config.poison),
            young: Vec::new(),
            large_old: Vec::new(),
            large_young: Vec::new(),
            young_blocks: 0,
            nursery_budget: 0,
            nursery_blocks: nursery_blocks.min(NURSERY_BLOCKS_FIRST),
            to_spaces: ToSpaces::default(),
            partial_scannable: Vec::new(),
            partial_leaf: Vec::new(),
            code: CodeSpace::default(),
            finalization: Finalization::default(),
            global_roots: Vec::new(),
            weak_roots: Vec::new(),
            raw_references: Vec::new(),
            statistics: Statistics::default(),
            pauses: None,
            census: None,
            wants_census: false,
            tracking: None,
            observer: None,
            old_bytes: 0,
            full_above_bytes: config.full_floor_bytes,
            promoted_bytes: 0,
            pinned_blocks: 0,
            spare_blocks: 0,
            full_next: false,
            collector: 0,
            excess_told: None,
            accounts: Accounts::default(),
            stress_countdown: config.stress_every,
            stress_collections: 0,
            mutators: Vec::new(),
            next_mutator_id: 1,
            running: 0,
            stopping: false,
        };
        let budget = state.nursery_blocks.min(limit_blocks / 4);
        state.nursery_budget = budget.max(NURSERY_BLOCKS_MIN);
        Ok(Arc::new(Heap {
            stress_every: AtomicU32::new(config.stress_every),
            config,
            space,
            limit_blocks,
            reserve_blocks,
            nursery_blocks,
            state: Mutex::new(state),
            stopped: Condvar::new(),
            resumed: Condvar::new(),
            stop_requested: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            any_told: AtomicBool::new(false),
            any_ending: AtomicBool::new(false),
            any_limited: AtomicBool::new(false),
            next_account: AtomicU32::new(0),
            next_sample: AtomicU64::new(0),
            short: AtomicBool::new(false),
            handles: Arc::new(HandleTable::default()),
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HeapState> {
        self.state.lock()
    }

    pub(crate) fn wait<'g>(
        &self,
        condition: &Condvar,
        guard: MutexGuard<'g, HeapState>,
    ) -> MutexGuard<'g, HeapState> {
        condition.wait(guard)
    }

    /// So many blocks may be in use before there is a full collection: the limit, and a little more
    /// while the accounts that were notified that they have used it up are still to give something
    /// back.
    pub(crate) fn ceiling_blocks(&self, state: &HeapState) -> usize {
        let more = if state.accounts.is_any_ending() {
            2 * self.reserve_blocks
        } else {
            0
        };
        self.limit_blocks_now() + more
    }

    /// The limit without what the host has outside of the heap, of which half of it counts at most.
    pub(crate) fn limit_blocks_now(&self) -> usize {
        let outside = self
            .config
            .outside
            .map_or(0, |outside| (outside.held_bytes)());
        self.limit_blocks - outside.div_ceil(BLOCK_BYTES).min(self.limit_blocks / 2)
    }

    /// Blocks that a nursery of `wanted` blocks may have when `used` blocks are in use after a collection.
    /// Where there is no room, and accounts that were notified are to end, it is so large that they have
    /// time for that before everything is collected again.
    pub(crate) fn nursery_budget(&self, state: &HeapState, used: usize, wanted: usize) -> usize {
        let room = self.ceiling_blocks(state).saturating_sub(used);
        let least = if state.accounts.is_any_ending() {
            (self.reserve_blocks / 2).max(NURSERY_BLOCKS_MIN)
        } else {
            NURSERY_BLOCKS_MIN
        };
        wanted.min(room / 2).max(least)
    }

    /// Fewest blocks of a nursery while there is room for more.
    pub(crate) fn nursery_blocks_least(&self, state: &HeapState) -> usize {
        let for_threads = match state.mutators.len() {
            0 | 1 => NURSERY_BLOCKS_FIRST,
            threads => NURSERY_BLOCKS_PER_THREAD * threads,
        };
        let for_old = state.old_bytes / BLOCK_BYTES / OLD_BLOCKS_PER_NURSERY_BLOCK;
        for_threads.max(for_old).min(self.nursery_blocks_usual())
    }

    /// Blocks of a nursery that are worth it though little survives.
    pub(crate) fn nursery_blocks_usual(&self) -> usize {
        self.nursery_blocks.min(NURSERY_BLOCKS_USUAL)
    }

    /// A number that changes whenever objects may have moved, so that tables keyed by address know
    /// when to rehash.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Bytes of the blocks in use.
    pub fn bytes_in_use(&self) -> usize {
        self.lock().pool.used() * BLOCK_BYTES
    }

    /// The heap limit in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_blocks * BLOCK_BYTES
    }

    /// The refusal of so many bytes.
    pub(crate) fn refusal(&self, requested_bytes: usize) -> HeapExhausted {
        HeapExhausted {
            requested_bytes,
            limit_bytes: self.limit_bytes(),
        }
    }

    pub(crate) fn stress_every(&self) -> u32 {
        self.stress_every.load(Ordering::Relaxed)
    }

    /// Collects at every n-th allocation from now on; 0 turns the mode off. It takes effect when the
    /// threads open new blocks, at the latest after the next collection.
    pub fn set_stress(&self, every: u32) {
        let mut state = self.lock();
        state.stress_countdown = every;
        self.stress_every.store(every, Ordering::Relaxed);
    }

    /// Counters so far.
    pub fn statistics(&self) -> Statistics {
        let state = self.lock();
        Statistics {
            bytes_live: state.old_bytes,
            bytes_in_use: state.pool.used() * BLOCK_BYTES,
            bytes_in_use_max: state.pool.used_max() * BLOCK_BYTES,
            ..state.statistics.clone()
        }
    }

    /// Makes a handle that keeps a value alive and up to date. For threads that run as mutators.
    pub fn create_handle(&self, value: Value) -> Handle {
        self.handles.create(value)
    }

    /// The table of handles.
    pub fn handles(&self) -> &HandleTable {
        &self.handles
    }

    /// Tells somebody of all collections from now on, or nobody.
    pub fn set_observer(&self, observer: Option<Box<dyn CollectionObserver>>) {
        self.lock().observer = observer;
    }

    /// Tells the observer of a collection that has just ended, if there is one.
    pub(crate) fn tell_observer(&self, state: &mut HeapState, is_full: bool) {
        let Some(mut observer) = state.observer.take() else {
            return;
        };
        let end = Collected {
            is_full,
            is_near_limit: is_full && state.excess_told.is_some(),
            bytes: state.old_bytes,
        };
        observer.collected(&mut Standstill { heap: self, state }, end);
        state.observer = Some(observer);
    }

    /// Adds roots that belong to no mutator; they are visited in each collection from now on.
    pub fn add_global_roots(&self, roots: Box<dyn Roots + Send>) {
        self.lock().global_roots.push(roots);
    }

    /// Adds a table of weak references; it is updated in each collection from now on.
    pub fn add_weak_roots(&self, roots: Box<dyn WeakRoots + Send>) {
        self.lock().weak_roots.push(roots);
    }

    /// Adds memory to which native stacks and closures may have raw references; each full collection
    /// passes them to it from now on.
    pub fn add_raw_references(&self, raw: Box<dyn RawReferences + Send>) {
        self.lock().raw_references.push(raw);
    }

    /// Asks for `value` to be put on `guardian`'s `ready` list once it is not reachable otherwise.
    /// An object registered n times is delivered n times. Only objects and pairs are worth it.
    pub fn register_guardian(&self, value: Value, guardian: Value) {
        self.lock().finalization.register_guardian(value, guardian);
    }

    /// Asks for `id` to be queued for the host when `value` has died. Guardians come first: an object
    /// that one of them delivers is alive.
    pub fn register_external(&self, value: Value, id: u64) {
        self.lock().finalization.externals.register(value, id);
    }

    /// The ids of externals that have died since the last call, in the order of registration per
    /// collection.
    pub fn take_dead_externals(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().finalization.externals.dead)
    }

    /// A number for a sampled object, which is told when the object is dead.
    pub(crate) fn register_sample(&self, object: Value) -> u64 {
        let id = self.next_sample.fetch_add(1, Ordering::Relaxed);
        self.lock().finalization.samples.register(object, id);
        id
    }

    /// The numbers of sampled objects that have died since the last call.
    pub fn take_dead_samples(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().finalization.samples.dead)
    }

    /// Forgets the sampled objects.
    pub fn forget_samples(&self) {
        self.lock().finalization.samples = Watched::default();
    }

    /// Asks every mutator to come to a safepoint soon.
    pub fn request_safepoints(&self) {
        for entry in &self.lock().mutators {
            entry.request.request();
        }
    }

    /// Bytes that the host holds outside of the heap and counts toward its limit.
    pub fn outside_bytes(&self) -> usize {
        let outside = self.config.outside;
        outside.map_or(0, |outside| (outside.held_bytes)())
    }

    /// The content of the heap by kind of object after the last full collection. The first call has full
    /// collections count from then on.
    pub fn census(&self) -> Option<Census> {
        let mut state = self.lock();
        state.wants_census = true;
        state.census.clone()
    }

    /// The collections since the last call, and those to come are kept if `keeps_on`.
    pub fn take_pauses(&self, keeps_on: bool) -> Vec<Pause> {
        let next = keeps_on.then(Vec::new);
        std::mem::replace(&mut self.lock().pauses, next).unwrap_or_default()
    }

    /// Addresses that objects may have.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        self.space.addresses()
    }

    /// The word of the code object that contains an address, if one does. For the thread of a mutator,
    /// between its safepoints.
    pub fn code_around(&self, address: usize) -> Option<u64> {
        if !self.space.contains(address) {
            return None;
        }
        let _state = self.lock();
        let (start, _) = code_space::object_around(&self.space, address)?;
        Some(start as u64 + TAG_OBJECT)
    }

    /// Whether a word is a reference to a code object that there is. For the thread of a mutator, between its
    /// safepoints.
    pub fn is_code(&self, word: u64) -> bool {
        if word & TAG_MASK != TAG_OBJECT || !self.space.contains(word as usize) {
            return false;
        }
        let address = (word - TAG_OBJECT) as usize;
        let _state = self.lock();
        code_space::object_around(&self.space, address).is_some_and(|(start, _)| start == address)
    }
}

impl HeapState {
    /// The entry of a mutator that is attached.
    pub(crate) fn entry(&mut self, id: u64) -> &mut MutatorEntry {
        self.mutators
            .iter_mut()
            .find(|entry| entry.id == id)
            .expect("the mutator is attached")
    }

    /// A running mutator stops running.
    pub(crate) fn stop(&mut self, id: u64, status: Status, heap: &Heap) {
        let entry = self.entry(id);
        debug_assert_eq!(entry.status, Status::Running);
        entry.status = status;
        self.running -= 1;
        if self.running == 0 {
            heap.stopped.notify_all();
        }
    }

    /// Those that wait at a safepoint run again.
    pub(crate) fn resume_all(&mut self) {
        for entry in &mut self.mutators {
            if entry.status == Status::AtSafepoint {
                entry.status = Status::Running;
                self.running += 1;
            }
        }
        self.stopping = false;
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap")
            .field("limit_bytes", &self.limit_bytes())
            .finish_non_exhaustive()
    }
}
