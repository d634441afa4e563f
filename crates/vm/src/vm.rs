//! The machine that threads share: the heap, the tables of symbols, globals and units, the
//! specializer, the pool of tasks.
//!
//! A `Vm` is made once and shared by reference count. Each table has its own lock and registers
//! itself with the heap as roots or weak roots. State of one thread is in `Thread`, not here.

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use canny_heap::{Heap, HeapConfig};
use canny_value::Value;

use crate::code::LivenessCache;
use crate::code::stubs::Stubs;
use crate::code::units::{Units, UnitsHandle};
use crate::data::globals::{Globals, GlobalsHandle};
use crate::data::literals::{RecentLiterals, RecentLiteralsHandle};
use crate::data::procedures::{ProcedureNames, ProcedureNamesHandle};
use crate::data::symbols::{SymbolTable, SymbolTableHandle};
use crate::debug::Debugger;
use crate::frames::roots::{SharedRoots, SharedRootsHandle};
use crate::frames::stack::VmStack;
use crate::leaf::LeafFunction;
use crate::primitive::PrimitiveFunction;
use crate::profile::Profiler;
use crate::specializer::registry::SpecializerHandle;
use crate::specializer::worker::{Compile, LogWorker, WorkerOptions};
use crate::specializer::{Specializer, SpecializerConfig};
use crate::survey::Snapshots;
use crate::tasks::{Tasks, TasksConfig};
use crate::thread::Thread;

/// The options that a host chooses when it makes a machine.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// The heap's settings.
    pub heap: HeapConfig,
    /// Bytes of frames that a thread may have.
    pub stack_bytes: usize,
    /// Whether code that runs often is compiled.
    pub compiles: bool,
    /// The settings of the specializer.
    pub specializer: SpecializerConfig,
    /// The settings of tasks.
    pub tasks: TasksConfig,
}

impl Default for VmConfig {
    fn default() -> Self {
        VmConfig {
            heap: HeapConfig::default(),
            stack_bytes: VmStack::DEFAULT_FRAME_BYTES,
            compiles: true,
            specializer: SpecializerConfig::default(),
            tasks: TasksConfig::default(),
        }
    }
}

/// A machine.
pub struct Vm {
    pub(crate) heap: Arc<Heap>,
    pub(crate) symbols: Arc<SymbolTable>,
    pub(crate) literals: Arc<RecentLiterals>,
    pub(crate) globals: Arc<Globals>,
    pub(crate) shared_roots: Arc<SharedRoots>,
    pub(crate) units: Arc<Units>,
    pub(crate) liveness: Arc<LivenessCache>,
    pub(crate) stubs: Stubs,
    pub(crate) procedure_names: Arc<ProcedureNames>,
    pub(crate) specializer: Arc<Specializer>,
    pub(crate) log_worker: LogWorker,
    pub(crate) tasks: OnceLock<Arc<Tasks>>,
    pub(crate) tasks_config: TasksConfig,
    pub(crate) profiler: Profiler,
    pub(crate) debugger: Debugger,
    pub(crate) snapshots: Snapshots,
    /// Whether users know a procedure of the standard library by a name.
    pub(crate) public_names: OnceLock<fn(&str) -> bool>,
    host: [OnceLock<Box<dyn Any + Send + Sync>>; 8],
    primitives: Arc<[PrimitiveFunction]>,
    config: VmConfig,
    /// Whether there may be copies of frames in other places; see `graft`. Copies go from thread to thread.
    has_grafted: AtomicBool,
}

impl Vm {
    /// Makes a machine with a host's primitives, one function per row in the order of the rows (rows that
    /// are frame operations may have any function there), and its leaf functions in the order of theirs.
    pub fn new(
        config: VmConfig,
        primitives: Arc<[PrimitiveFunction]>,
        leaves: &'static [LeafFunction],
    ) -> io::Result<Arc<Vm>> {
        assert_eq!(
            primitives.len(),
            canny_tables::primitives::count(),
            "one function per primitive row"
        );
        assert_eq!(
            leaves.len(),
            canny_tables::leaves::ROWS.len(),
            "one function per leaf row"
        );
        let heap = Heap::new(config.heap.clone())?;
        let symbols = Arc::new(SymbolTable::default());
        let globals = Arc::new(Globals::default());
        let shared_roots = Arc::new(SharedRoots::default());
        let procedure_names = Arc::new(ProcedureNames::default());
        heap.add_weak_roots(Box::new(SymbolTableHandle(symbols.clone())));
        let literals = Arc::new(RecentLiterals::default());
        heap.add_weak_roots(Box::new(RecentLiteralsHandle(literals.clone())));
        let specializer = Arc::new(Specializer::new(
            heap.clone(),
            leaves,
            config.compiles,
            config.specializer,
        ));
        heap.add_weak_roots(Box::new(SpecializerHandle(specializer.clone())));
        heap.add_global_roots(Box::new(SpecializerHandle(specializer.clone())));
        heap.add_raw_references(Box::new(SpecializerHandle(specializer.clone())));
        let units = Arc::new(Units::default());
        heap.add_weak_roots(Box::new(UnitsHandle(units.clone())));
        heap.add_weak_roots(Box::new(ProcedureNamesHandle(procedure_names.clone())));
        heap.add_global_roots(Box::new(GlobalsHandle(globals.clone())));
        heap.add_global_roots(Box::new(SharedRootsHandle(shared_roots.clone())));
        Ok(Arc::new(Vm {
            heap,
            symbols,
            literals,
            globals,
            shared_roots,
            units,
            liveness: Arc::new(LivenessCache::default()),
            stubs: Stubs::new(),
            procedure_names,
            specializer,
            log_worker: LogWorker::default(),
            tasks: OnceLock::new(),
            tasks_config: config.tasks,
            profiler: Profiler::default(),
            debugger: Debugger::default(),
            snapshots: Snapshots::default(),
            public_names: OnceLock::new(),
            host: Default::default(),
            primitives,
            config,
            has_grafted: AtomicBool::new(false),
        }))
    }

    /// Tells which names of procedures of the standard library users know. Only the first call has an effect.
    pub fn set_public_names(&self, is_public: fn(&str) -> bool) {
        let _ = self.public_names.set(is_public);
    }

    /// Makes a thread of the machine for the calling thread of the system, which alone may use it. Its
    /// default ports are those that were set last by any thread.
    pub fn attach(self: &Arc<Vm>) -> io::Result<Box<Thread>> {
        let stack = VmStack::new(self.config.stack_bytes)?;
        let mut thread = Thread::new(self.clone(), stack);
        thread.attach_to_heap();
        thread.make_machine_procedures();
        thread.inherit_default_ports();
        thread.meet_profiler();
        self.debugger.know_thread(&thread.interrupts());
        Ok(thread)
    }

    /// Units whose code may still run, as far as the last full collection told.
    pub fn unit_count(&self) -> usize {
        self.units.count()
    }

    /// Names of the texts that code was compiled from, sorted.
    pub fn source_names(&self) -> Vec<String> {
        let mut names = std::collections::BTreeSet::new();
        self.units.each_code(|unit, _, _| {
            let written = unit.sources.iter().filter(|one| one.expansion.is_none());
            names.extend(written.map(|source| source.name.to_string()));
        });
        names.into_iter().collect()
    }

    /// The first source of a unit with a name.
    pub fn source_of_unit(&self, name: &str) -> Option<String> {
        let mut found = None;
        self.units.each_code(|unit, _, _| {
            if unit.name == name && found.is_none() {
                found = unit.sources.first().map(|source| source.name.to_string());
            }
        });
        found
    }

    /// The heap.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    /// Says who compiles what the specializer plans: threads log from then on, and a worker is started
    /// with the first full log. `compile` must not hold the machine, which would never end.
    pub fn set_compiler(&self, options: WorkerOptions, compile: Box<dyn Compile>) {
        let machine = Box::new(self.specializer.clone());
        if options.log.is_some() {
            self.specializer.ledger().keep_places();
        }
        self.log_worker.prepare(options, machine, compile);
    }

    pub(crate) fn has_grafted(&self) -> bool {
        self.has_grafted.load(Ordering::Relaxed)
    }

    pub(crate) fn note_graft(&self) {
        self.has_grafted.store(true, Ordering::Relaxed);
    }

    /// The machine's profiler.
    pub fn profiler(&self) -> &Profiler {
        &self.profiler
    }

    /// The specializer's part of the machine.
    pub fn specializer(&self) -> &Arc<Specializer> {
        &self.specializer
    }

    pub(crate) fn primitives(&self) -> &Arc<[PrimitiveFunction]> {
        &self.primitives
    }

    /// The host's data of this type, made at the first call. A machine has a place for each of a few types;
    /// panics when they are taken.
    pub fn host<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let mut make = Some(make);
        for place in &self.host {
            let data = place.get_or_init(|| match make.take() {
                Some(make) => Box::new(make()),
                None => unreachable!("data made here is found here"),
            });
            if let Some(data) = data.downcast_ref() {
                return data;
            }
        }
        panic!("a host has data of few types")
    }

    /// A value that is kept alive until the machine ends, under a name.
    pub fn set_root(&self, name: &'static str, value: Value) {
        self.shared_roots.set_named(name, value);
    }

    /// The value kept under a name, which is this one if there is none.
    pub fn root_or_set(&self, name: &'static str, value: Value) -> Value {
        self.shared_roots.named_or_set(name, value)
    }

    /// The value kept under a name.
    pub fn root(&self, name: &'static str) -> Option<Value> {
        self.shared_roots.named(name)
    }
}
