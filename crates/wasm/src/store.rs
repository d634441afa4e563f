//! Stores: the functions, memories, tables and global variables that instances share.
//!
//! Records never move while their store lives, since code of guests and other records have their
//! addresses. Handles are numbers in a store.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::guest::{Opcode, Runtime};

use crate::activation::{FIRST_STRETCH, Limits, Outcome, Run, RunId};
use crate::arena::Arena;
use crate::code::Code;
use crate::definitions;
use crate::error::{GuestFrame, Trap};
use crate::exceptions::Exceptions;
use crate::heap::Heap;
use crate::held::Held;
use crate::memory::{Memory, PAGE};
use crate::record::{FunctionRecord, GlobalRecord, InstanceRecord};
use crate::table::Table;
use crate::types::{self, FunctionType, GlobalType};

/// A function of an instance or of the host, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function(pub(crate) u32);

impl Function {
    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A global variable, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Global(pub(crate) u32);

impl Global {
    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A function of the host in Rust: it gets the bits of its arguments and sets those of its results. A
/// vector has two words, the first with its lower lanes.
pub type Body = Box<dyn FnMut(&mut Store, &[u64], &mut [u64]) -> Result<Outcome, Trap> + Send>;

pub(crate) enum HostBody {
    /// Taken while it runs.
    Here(Option<Body>),
    /// The embedder does the work, which it finds by this number.
    Outside(u32),
}

pub(crate) struct HostFunction {
    pub body: HostBody,
    /// Its instruction.
    _code: Box<[u64]>,
}

/// Instances and what they share. All of it but structs, arrays and exceptions lives as long as the store.
///
/// A word that the host has for a reference to one of those is of use until a guest runs again, or as
/// long as it is held. Words
/// for objects of the host are the embedder's own choice, but the upper 16 bits must not be 0x5cef to
/// 0x5cf1.
pub struct Store {
    pub(crate) functions: Arena<FunctionRecord>,
    pub(crate) memories: Arena<Memory>,
    pub(crate) tables: Arena<Table>,
    pub(crate) globals: Arena<GlobalRecord>,
    pub(crate) instances: Arena<InstanceRecord>,
    pub(crate) hosts: Vec<HostFunction>,
    pub(crate) exceptions: Exceptions,
    pub(crate) heap: Heap,
    pub(crate) held: Held,
    /// Runs that are in progress, one inside of the other.
    pub(crate) depth: usize,
    /// Those of them that are not running now, the newest last.
    #[expect(clippy::vec_box, reason = "a run is moved at each call")]
    pub(crate) runs: Vec<Box<Run>>,
    pub(crate) next_run: u64,
    /// The run that is running now.
    pub(crate) running: RunId,
    /// The run that a function of the host has begun and that waits for an answer, until the outer run
    /// has been left.
    pub(crate) inner: Option<RunId>,
    #[expect(clippy::vec_box, reason = "a run is moved at each call")]
    pub(crate) spare_runs: Vec<Box<Run>>,
    /// Arguments or results of the newest event.
    pub(crate) exchange: Vec<u64>,
    /// The type of the function whose run has finished last.
    pub(crate) finished: &'static FunctionType,
    pub(crate) stack_bytes: usize,
    pub(crate) fuel: Option<u64>,
    /// Jumps and calls until the runtime looks at what runs.
    pub(crate) stretch: i64,
    memory_limit: Option<u64>,
    /// Of the newest trap.
    pub(crate) backtrace: Vec<GuestFrame>,
    may_wait: bool,
    number: u64,
    /// The instance of functions of the host.
    host: Arena<InstanceRecord>,
}

// SAFETY: records refer to each other and to nothing outside of the store but modules, which are shared
// by reference counts.
unsafe impl Send for Store {}

/// Stores that were made.
static STORES: AtomicU64 = AtomicU64::new(0);

impl Default for Store {
    fn default() -> Store {
        Store::new()
    }
}

impl Store {
    /// A store with nothing in it.
    pub fn new() -> Store {
        let mut host = Arena::new();
        host.add(InstanceRecord::of_host());
        Store {
            functions: Arena::new(),
            memories: Arena::new(),
            tables: Arena::new(),
            globals: Arena::new(),
            instances: Arena::new(),
            hosts: Vec::new(),
            exceptions: Exceptions::default(),
            heap: Heap::default(),
            held: Held::default(),
            depth: 0,
            runs: Vec::new(),
            next_run: 0,
            running: RunId(u64::MAX),
            inner: None,
            spare_runs: Vec::new(),
            exchange: Vec::new(),
            finished: FunctionType::none(),
            stack_bytes: Limits::default().stack_bytes,
            fuel: None,
            stretch: FIRST_STRETCH,
            memory_limit: None,
            backtrace: Vec::new(),
            may_wait: false,
            number: STORES.fetch_add(1, Ordering::Relaxed),
            host,
        }
    }

    /// A number that no other store of the process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn add_function(&mut self, record: FunctionRecord) -> Function {
        let number = self.functions.len() as u32;
        Function(self.functions.add(FunctionRecord { number, ..record }))
    }

    /// Makes a function of the host.
    pub fn host_function(&mut self, kind: FunctionType, body: Body) -> Function {
        self.function_of_host(kind, HostBody::Here(Some(body)))
    }

    /// Makes a function whose calls are events with this number.
    pub fn outside_function(&mut self, kind: FunctionType, number: u32) -> Function {
        self.function_of_host(kind, HostBody::Outside(number))
    }

    /// Whether there are functions of the host in Rust, which may wait.
    pub fn may_wait(&self) -> bool {
        self.may_wait
    }

    fn function_of_host(&mut self, kind: FunctionType, body: HostBody) -> Function {
        let kind = definitions::intern_function(kind);
        let index = self.hosts.len() as u32;
        self.may_wait |= matches!(body, HostBody::Here(_));
        let mut code = Code::default();
        let place = code.put(Opcode::Runtime(Runtime::Host));
        code.set32(place, 8, index);
        code.set32(place, 16, kind);
        let code = code.finish();
        let record = FunctionRecord::new(code.as_ptr(), self.host.address(0), kind, index);
        self.hosts.push(HostFunction { body, _code: code });
        self.add_function(record)
    }

    /// Makes a memory.
    pub fn memory(&mut self, kind: types::MemoryType) -> Result<u32, crate::Error> {
        self.check_room(kind.initial.saturating_mul(PAGE))?;
        Ok(self.memories.add(Memory::new(kind)?))
    }

    /// Makes a table of null references.
    pub fn table(&mut self, kind: types::TableType) -> Result<u32, crate::Error> {
        self.table_of(kind, 0)
    }

    pub(crate) fn table_of(
        &mut self,
        kind: types::TableType,
        value: u64,
    ) -> Result<u32, crate::Error> {
        self.check_room(kind.initial.saturating_mul(8))?;
        Ok(self.tables.add(Table::new(kind, value)?))
    }

    /// Makes a global variable whose value has the given bits.
    pub fn global(&mut self, kind: GlobalType, value: u128) -> Global {
        Global(self.globals.add(GlobalRecord { value, kind }))
    }

    /// The bits of a global variable's value.
    pub fn global_value(&self, global: Global) -> u128 {
        self.globals[global.0].value
    }

    /// The type of a function.
    pub fn function_type(&self, function: Function) -> &'static FunctionType {
        self.functions[function.0].signature
    }

    /// The number of a function's type.
    pub fn function_type_number(&self, function: Function) -> u32 {
        self.functions[function.0].kind
    }

    /// How many functions there are; those have the numbers below.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Jumps and calls that are left to all runs, if they are limited.
    pub fn fuel(&self) -> Option<u64> {
        self.fuel
    }

    /// Sets how many jumps and calls all runs may do from now on.
    pub fn set_fuel(&mut self, fuel: Option<u64>) {
        self.fuel = fuel;
    }

    /// Sets how many bytes of frames later runs have.
    pub fn set_stack_bytes(&mut self, bytes: usize) {
        self.stack_bytes = bytes;
    }

    /// Sets how many bytes all memories, tables and objects may have.
    pub fn set_memory_limit(&mut self, bytes: Option<u64>) {
        self.memory_limit = bytes;
    }

    /// Bytes of all memories, tables and objects.
    pub fn memory_bytes(&self) -> u64 {
        let memories = (0..self.memories.len() as u32).map(|number| self.memories[number].size());
        let tables =
            (0..self.tables.len() as u32).map(|number| 8 * self.tables[number].kind().initial);
        memories.sum::<u64>() + tables.sum::<u64>() + self.heap.bytes()
    }

    /// Whether memories, tables and objects may have so many bytes more.
    pub(crate) fn may_grow(&self, bytes: u64) -> bool {
        self.memory_limit.is_none_or(|limit| {
            let sum = self.memory_bytes().checked_add(bytes);
            sum.is_some_and(|sum| sum <= limit)
        })
    }

    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), crate::Error> {
        if self.may_grow(bytes) {
            return Ok(());
        }
        let limit = self.memory_limit.unwrap_or(0);
        Err(crate::Error::NoMemory(format!(
            "the limit of {limit} bytes for memories, tables and objects is too small"
        )))
    }

    /// The word that refers to a function.
    pub fn reference(&self, function: Function) -> u64 {
        self.functions.address(function.0) as u64
    }
}
