//! Stores: the functions, memories, tables and global variables that instances share.
//!
//! Records never move while their store lives, since code of guests and other records have their
//! addresses. Handles are numbers in a store.

use canny_tables::guest::{Opcode, Runtime};

use crate::arena::Arena;
use crate::code::Code;
use crate::error::Trap;
use crate::memory::Memory;
use crate::record::{FunctionRecord, GlobalRecord, InstanceRecord};
use crate::table::Table;
use crate::types::{self, FunctionType, GlobalType};

/// A function of an instance or of the host, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function(pub(crate) u32);

/// A global variable, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Global(pub(crate) u32);

/// The body of a function of the host: it gets the bits of its arguments and sets those of its results.
/// A vector has two words, the first with its lower lanes.
pub type HostBody = Box<dyn FnMut(&mut Store, &[u64], &mut [u64]) -> Result<(), Trap> + Send>;

pub(crate) struct HostFunction {
    /// Taken while it runs.
    pub body: Option<HostBody>,
    /// Its instruction.
    _code: Box<[u64]>,
}

/// Instances and what they share. All of it lives as long as the store.
pub struct Store {
    pub(crate) functions: Arena<FunctionRecord>,
    pub(crate) memories: Arena<Memory>,
    pub(crate) tables: Arena<Table>,
    pub(crate) globals: Arena<GlobalRecord>,
    pub(crate) instances: Arena<InstanceRecord>,
    pub(crate) hosts: Vec<HostFunction>,
    /// Runs that are in progress, one inside of the other.
    pub(crate) depth: usize,
    /// The instance of functions of the host.
    host: Arena<InstanceRecord>,
}

// SAFETY: records refer to each other and to nothing outside of the store but modules, which are shared
// by reference counts.
unsafe impl Send for Store {}

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
            depth: 0,
            host,
        }
    }

    pub(crate) fn add_function(&mut self, record: FunctionRecord) -> Function {
        let number = self.functions.len() as u32;
        Function(self.functions.add(FunctionRecord { number, ..record }))
    }

    /// Makes a function of the host.
    pub fn host_function(&mut self, kind: FunctionType, body: HostBody) -> Function {
        let kind = types::intern(vec![kind]);
        let index = self.hosts.len() as u32;
        let mut code = Code::default();
        let place = code.put(Opcode::Runtime(Runtime::Host));
        code.set32(place, 8, index);
        code.set32(place, 16, kind);
        let code = code.finish();
        let record = FunctionRecord {
            code: code.as_ptr(),
            instance: self.host.address(0),
            kind,
            number: 0,
            index,
        };
        self.hosts.push(HostFunction {
            body: Some(body),
            _code: code,
        });
        self.add_function(record)
    }

    /// Makes a memory.
    pub fn memory(&mut self, kind: types::MemoryType) -> Result<u32, crate::Error> {
        Ok(self.memories.add(Memory::new(kind)?))
    }

    /// Makes a table of null references.
    pub fn table(&mut self, kind: types::TableType) -> Result<u32, crate::Error> {
        Ok(self.tables.add(Table::new(kind, 0)?))
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
    pub fn function_type(&self, function: Function) -> FunctionType {
        types::function_type(self.functions[function.0].kind)
    }

    /// The word that refers to a function.
    pub fn reference(&self, function: Function) -> u64 {
        self.functions.address(function.0) as u64
    }
}
