//! What threads share.

use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use canny_heap::{Heap, HeapConfig};
use canny_value::Value;

use crate::code::UnitMetadata;
use crate::globals::{Globals, GlobalsHandle};
use crate::primitive::PrimitiveFunction;
use crate::roots::{SharedRoots, SharedRootsHandle};
use crate::stack::VmStack;
use crate::stubs::Stubs;
use crate::symbols::{SymbolTable, SymbolTableHandle};
use crate::thread::Thread;

/// What a host chooses when it makes a machine.
#[derive(Clone, Debug)]
pub struct VmConfig {
    /// The heap's settings.
    pub heap: HeapConfig,
    /// Bytes of frames that a thread may have.
    pub stack_bytes: usize,
}

impl Default for VmConfig {
    fn default() -> Self {
        VmConfig {
            heap: HeapConfig::default(),
            stack_bytes: VmStack::DEFAULT_FRAME_BYTES,
        }
    }
}

/// A machine.
pub struct Vm {
    pub(crate) heap: Arc<Heap>,
    pub(crate) symbols: Arc<SymbolTable>,
    pub(crate) globals: Arc<Globals>,
    pub(crate) shared_roots: Arc<SharedRoots>,
    pub(crate) units: Mutex<Vec<Arc<UnitMetadata>>>,
    pub(crate) stubs: Stubs,
    host: OnceLock<Box<dyn Any + Send + Sync>>,
    primitives: Arc<[PrimitiveFunction]>,
    config: VmConfig,
}

impl Vm {
    /// Makes a machine with a host's primitives, one function per row in the order of the rows (rows that
    /// are frame operations may have any function there).
    pub fn new(config: VmConfig, primitives: Arc<[PrimitiveFunction]>) -> io::Result<Arc<Vm>> {
        assert_eq!(
            primitives.len(),
            canny_tables::primitives::count(),
            "one function per primitive row"
        );
        let heap = Heap::new(config.heap.clone())?;
        let symbols = Arc::new(SymbolTable::default());
        let globals = Arc::new(Globals::default());
        let shared_roots = Arc::new(SharedRoots::default());
        heap.add_weak_roots(Box::new(SymbolTableHandle(symbols.clone())));
        heap.add_global_roots(Box::new(GlobalsHandle(globals.clone())));
        heap.add_global_roots(Box::new(SharedRootsHandle(shared_roots.clone())));
        Ok(Arc::new(Vm {
            heap,
            symbols,
            globals,
            shared_roots,
            units: Mutex::new(Vec::new()),
            stubs: Stubs::new(),
            host: OnceLock::new(),
            primitives,
            config,
        }))
    }

    /// Makes a thread of the machine for the calling thread of the system, which alone may use it.
    pub fn attach(self: &Arc<Vm>) -> io::Result<Box<Thread>> {
        let stack = VmStack::new(self.config.stack_bytes)?;
        let mut thread = Thread::new(self.clone(), stack);
        thread.attach_to_heap();
        thread.make_machine_procedures();
        Ok(thread)
    }

    /// The heap.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    pub(crate) fn primitives(&self) -> &Arc<[PrimitiveFunction]> {
        &self.primitives
    }

    /// Gives the host a place for its own data; the first call counts.
    pub fn set_host(&self, host: Box<dyn Any + Send + Sync>) {
        // A second call finds the place taken, which is what the documentation says.
        let _ = self.host.set(host);
    }

    /// The host's data, if it is of this type.
    pub fn host<T: Any>(&self) -> Option<&T> {
        self.host.get().and_then(|host| host.downcast_ref())
    }

    /// A value that is kept alive until the machine ends, under a name.
    pub fn set_root(&self, name: &'static str, value: Value) {
        self.shared_roots.set_named(name, value);
    }

    /// The value kept under a name.
    pub fn root(&self, name: &'static str) -> Option<Value> {
        self.shared_roots.named(name)
    }
}
