//! The machine's side of the specializer: a worker's view of the program's code, and how compiled
//! code comes into use and out of use again.
//!
//! A worker asks its [`View`] for snapshots, builds and compiles a graph, and hands it to
//! [`Specializer::install`]. Mutators make the snapshots that are wished for at their next
//! safepoint, count exits of compiled code, enter loops that have some, and retire code that relied
//! on a global variable that changes.
//!
//! - [`registry`]: known code and candidates; publishing and retiring.
//! - [`retired`]: machine code out of use, and when it is freed.
//! - [`stitched`]: code put together from stencils, until the compiler's is there.
//! - [`snapshot`]: immutable copies of code objects.
//! - [`watches`]: global variables on whose value compiled code relies.
//! - [`compiler`]: builds, compiles and installs what the worker plans.
//! - [`compiled`]: functions that compiled code calls.
//! - [`ledger`], [`report`]: the specializer's actions, for people.
//! - [`kept`]: profiles that outlive the process.
//! - [`log`]: the logs that threads write while they interpret, and when.
//! - [`worker`]: the thread that reads logs, plans and has plans compiled.
//!
//! **Retiring while it runs.** An instruction that compiled code leaves to the runtime may retire the
//! very candidate that runs it. Compiled code compares the address that the runtime gives with the one
//! that it expects, so the runtime gives the address of a *detour* then: a retired descriptor of the
//! thread, which stands for the expected address ([`crate::thread::Thread::detour`]). The mismatch
//! makes compiled code leave, and the interpreter continues through the descriptor.

pub(crate) mod compiled;
pub mod compiler;
mod figures;
mod install;
mod kept;
pub mod ledger;
pub(crate) mod log;
mod mapped;
mod now;
pub(crate) mod registry;
mod report;
mod retired;
mod snapshot;
mod stitched;
pub(crate) mod thread;
mod watches;
pub mod worker;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use canny_heap::Heap;
use canny_locks::{Mutex, MutexGuard};
use canny_spesh::snapshot::{CodeSnapshot, CodeSource, CodeWord, RecordTypeSnapshot};
use canny_spesh::types::Type;

use crate::leaf::LeafFunction;

pub use canny_spesh::kept::KeptProfile;
pub use install::InstallError;
pub use registry::CodeUsage;
use registry::Registry;
pub use snapshot::type_of;

/// Names a candidate: code that was compiled for one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CandidateId(pub u64);

/// Why compiled code is not put into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Code that it refers to is not known, or was freed meanwhile.
    UnknownCode,
    /// A global variable that it relies on changed meanwhile.
    Stale,
}

/// Why a candidate was taken out of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetiredBy {
    /// Guesses failed too often.
    Exits,
    /// A global variable that it relied on changed.
    Variable,
    /// Somebody asked for it.
    Request,
    /// Nobody has the procedure any more.
    Death,
}

/// The fate of a candidate.
#[derive(Clone, Debug)]
pub struct ExitReport {
    /// Exits that were taken: code, word index of the instruction resumed at, times.
    pub exits: Vec<(CodeWord, usize, u32)>,
    /// Entries at a loop.
    pub loop_entries: u64,
    /// Nobody enters it any more.
    pub is_retired: bool,
    /// Why, if so.
    pub retired_by: Option<RetiredBy>,
}

/// Settings of the specializer's part of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecializerConfig {
    /// Compiled code leaves without a reason, once in so many chances on the average; always for 1,
    /// never for 0.
    pub stress: u64,
    /// Most bytes of machine code, unless 256 MB. Descriptors get half of that.
    pub code_bytes_max: Option<usize>,
    /// Whether code is listed in a file for the `perf` profiler.
    pub writes_perf_map: bool,
    /// Whether code and its lines are written to a file for `perf inject --jit`.
    pub writes_jitdump: bool,
}

/// The specializer's part of a machine.
pub struct Specializer {
    heap: Arc<Heap>,
    is_enabled: bool,
    registry: Mutex<Registry>,
    /// Record types by class key, of those that logs name.
    record_types: Mutex<HashMap<u32, Arc<RecordTypeSnapshot>>>,
    /// Mirror of whether there are wishes for snapshots.
    has_wishes: AtomicBool,
    /// A full collection is wanted, for the memory that retired code takes.
    wants_collection: AtomicBool,
    next_candidate: AtomicU64,
    /// There is no room for machine code, retired or not.
    is_full: AtomicBool,
    machine_code: install::MachineCode,
    leaves: &'static [LeafFunction],
    /// Compiled code leaves without a reason, once in so many chances on the average.
    stress: Option<u64>,
    ledger: ledger::Ledger,
    counters: figures::Counters,
}

impl std::fmt::Debug for Specializer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Specializer")
            .field("is_enabled", &self.is_enabled)
            .finish_non_exhaustive()
    }
}

impl Specializer {
    /// Bytes of machine code by the address of the code that it was made of; nothing if somebody is changing
    /// it.
    pub(crate) fn machine_code_now(&self) -> HashMap<usize, usize> {
        let mut sums = HashMap::new();
        if let Some(registry) = self.registry.try_lock() {
            for (address, bytes) in registry.machine_code() {
                *sums.entry(address).or_default() += bytes;
            }
        }
        sums
    }

    /// Where the machine code of a code object is, and how long, by address.
    pub(crate) fn segments_of(&self, code: CodeWord) -> Vec<(u64, usize)> {
        let registry = self.lock();
        let own = registry.segments().filter(|(of, ..)| *of == code);
        let mut own: Vec<_> = own
            .map(|(_, start, length)| (start as u64, length))
            .collect();
        own.sort();
        own
    }

    /// The machine code that an address is in: where that begins, and its bytes.
    pub fn machine_code_at(&self, address: u64) -> Option<(u64, Vec<u8>)> {
        let registry = self.lock();
        let address = usize::try_from(address).ok()?;
        let mut segments = registry.segments();
        let (_, start, length) =
            segments.find(|(_, start, length)| (*start..start + length).contains(&address))?;
        // SAFETY: the machine code of a candidate, which stays where it is while the registry is locked.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        Some((start as u64, bytes.to_vec()))
    }

    pub(crate) fn new(
        heap: Arc<Heap>,
        leaves: &'static [LeafFunction],
        is_enabled: bool,
        config: SpecializerConfig,
    ) -> Specializer {
        let ledger = ledger::Ledger::default();
        if config.writes_jitdump {
            ledger.keep_places();
        }
        Specializer {
            heap,
            is_enabled,
            registry: Mutex::default(),
            record_types: Mutex::default(),
            has_wishes: AtomicBool::new(false),
            wants_collection: AtomicBool::new(false),
            next_candidate: AtomicU64::new(1),
            is_full: AtomicBool::new(false),
            machine_code: install::MachineCode::new(config),
            leaves,
            stress: Some(config.stress).filter(|stress| *stress > 0),
            ledger,
            counters: figures::Counters::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// Returns the ledger of events, for people; it is off unless the host turns it on.
    pub fn ledger(&self) -> &ledger::Ledger {
        &self.ledger
    }

    /// Whether the host wants code to be compiled.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// The snapshot of a code if there is one; else a mutator makes it at its next safepoint.
    pub fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        let (snapshot, is_new) = self.lock().snapshot_or_wish(code);
        if is_new {
            self.ask_for_snapshots();
        }
        snapshot
    }

    /// Lets the next thread at a safepoint make the snapshots that are wished for.
    fn ask_for_snapshots(&self) {
        self.has_wishes.store(true, Ordering::Release);
        self.heap.request_safepoints();
    }

    /// The snapshot of a code that was wished for, and whether it may still be made if there is none.
    pub(crate) fn awaited(&self, code: CodeWord) -> (Option<Arc<CodeSnapshot>>, bool) {
        self.lock().awaited(code)
    }

    /// The record types that have a name of their own, with their class keys.
    pub(crate) fn named_record_types(&self) -> HashMap<String, u32> {
        let known = self.record_types.lock();
        let mut named: HashMap<String, Option<u32>> = HashMap::new();
        for (class, record_type) in &*known {
            named
                .entry(record_type.name.clone())
                .and_modify(|class| *class = None)
                .or_insert(Some(*class));
        }
        let single = named.into_iter();
        single
            .filter_map(|(name, class)| Some((name, class?)))
            .collect()
    }

    /// The record type with a class key.
    pub fn record_type(&self, class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        self.record_types.lock().get(&class).cloned()
    }

    /// Asks for a full collection that frees retired code.
    fn want_collection(&self) {
        self.wants_collection.store(true, Ordering::Release);
        self.heap.request_safepoints();
    }

    /// Lets a thread show the return addresses that it has, in a full collection that looks for retired code.
    pub(crate) fn show_return_addresses(&self, walk: impl FnOnce(&mut dyn FnMut(usize))) {
        let mut registry = self.lock();
        if registry.retired.is_searching() {
            let mut last = 0;
            walk(&mut |address| {
                // Recursions return to the same place again and again.
                if std::mem::replace(&mut last, address) != address {
                    registry.retired.see(address);
                }
            });
        }
    }

    /// Whether a thread at a safepoint shall collect fully; true once per wish.
    pub(crate) fn take_collection_wish(&self) -> bool {
        self.wants_collection.load(Ordering::Acquire)
            && self.wants_collection.swap(false, Ordering::AcqRel)
    }

    fn has_wishes(&self) -> bool {
        self.has_wishes.load(Ordering::Acquire)
    }

    /// A source of snapshots for one graph.
    pub fn view(self: &Arc<Specializer>) -> View {
        View {
            specializer: self.clone(),
            given: RefCell::default(),
            missed: Cell::new(false),
        }
    }

    /// Takes a candidate out of use. Frames of it resume in the bytecode.
    pub fn retire(&self, id: CandidateId) {
        self.lock().retire(id, RetiredBy::Request);
        self.heap.request_safepoints();
    }

    /// The first candidate that calls of a code enter; it may pass them on to others.
    pub fn entered(&self, code: CodeWord) -> Option<CandidateId> {
        self.lock().entered(code)
    }

    /// Whether guesses at an instruction failed so often that its candidate was retired.
    pub fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.lock().is_unstable(code, pc)
    }

    /// Whether what was asked before the loop that begins at an instruction failed too often.
    pub fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        self.lock().fails_before_loop(code, pc)
    }

    /// Whether the leaf function that is called at an instruction declined too often.
    pub fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.lock().declines(code, pc)
    }

    /// Types of the operands with which guesses at an instruction failed.
    pub fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        self.lock().failed_operands(code, pc)
    }

    /// Whether compiled code was ever left at an instruction because of a wrong guess.
    pub fn was_left_at(&self, code: CodeWord, pc: usize) -> bool {
        self.lock().was_left_at(code, pc)
    }

    /// How many candidates of a code were retired because their guesses were wrong.
    pub fn retirements(&self, code: CodeWord) -> u32 {
        self.lock().retirements(code)
    }

    /// How much machine code there is and was.
    pub fn code_usage(&self) -> CodeUsage {
        let registry = self.lock();
        CodeUsage {
            retired_bytes: registry.retired.bytes(),
            ..registry.usage
        }
    }

    /// Known code that died since the last call.
    fn take_dead(&self) -> Vec<CodeWord> {
        self.lock().take_dead()
    }

    /// Returns the fate of a candidate.
    pub fn exit_report(&self, id: CandidateId) -> Option<ExitReport> {
        self.lock().exit_report(id)
    }
}

/// Snapshots for the building of one graph. It remembers what it gave, which keeps that code alive until
/// the graph is installed.
#[derive(Debug)]
pub struct View {
    specializer: Arc<Specializer>,
    given: RefCell<HashMap<CodeWord, Arc<CodeSnapshot>>>,
    missed: Cell<bool>,
}

impl View {
    /// Whether a snapshot was asked for that is not made yet.
    fn misses_some(&self) -> bool {
        self.missed.get()
    }

    /// Returns the snapshots that were given so far.
    fn given(&self) -> Vec<Arc<CodeSnapshot>> {
        self.given.borrow().values().cloned().collect()
    }
}

impl CodeSource for View {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        if let Some(known) = self.given.borrow().get(&code) {
            return Some(known.clone());
        }
        let Some(snapshot) = self.specializer.snapshot(code) else {
            self.missed.set(true);
            return None;
        };
        self.given.borrow_mut().insert(code, snapshot.clone());
        Some(snapshot)
    }

    fn record_type(&self, class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        self.specializer.record_type(class)
    }
}
