//! Stores: the functions, memories, tables and global variables that instances share.
//!
//! Records never move while their store lives, since code of guests and other records have their
//! addresses. Handles are numbers in a store.

use canny_tables::guest::{Opcode, Runtime, function};

use crate::code::Code;
use crate::error::Trap;
use crate::instance::Record as InstanceRecord;
use crate::memory::Memory;
use crate::table::Table;
use crate::types::{self, FunctionType, GlobalType};

/// A function of an instance or of the host, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function(pub(crate) u32);

/// A global variable, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Global(pub(crate) u32);

/// What a function of the host does: it gets the bits of its arguments and sets those of its results.
pub type HostBody = Box<dyn FnMut(&mut Store, &[u64], &mut [u64]) -> Result<(), Trap> + Send>;

/// A function, as handlers see it.
#[repr(C)]
#[derive(Debug)]
pub struct FunctionRecord {
    pub code: *const u64,
    pub instance: *const InstanceRecord,
    pub kind: u32,
    /// Its number in the store.
    pub number: u32,
    /// Its index among the module's own functions, or that of the host's function.
    pub index: u32,
}

const _: () = assert!(std::mem::offset_of!(FunctionRecord, code) == function::CODE as usize);
const _: () =
    assert!(std::mem::offset_of!(FunctionRecord, instance) == function::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, kind) == function::TYPE as usize);

#[derive(Debug)]
pub struct GlobalRecord {
    /// Its value's bits; code has the address of this word.
    pub value: u64,
    pub kind: GlobalType,
}

pub(crate) struct HostFunction {
    /// Taken while it runs.
    pub body: Option<HostBody>,
    /// Its instruction.
    _code: Box<[u64]>,
}

/// Instances and what they share. All of it lives as long as the store.
pub struct Store {
    pub(crate) functions: Vec<Box<FunctionRecord>>,
    pub(crate) memories: Vec<Box<Memory>>,
    pub(crate) tables: Vec<Box<Table>>,
    pub(crate) globals: Vec<Box<GlobalRecord>>,
    pub(crate) instances: Vec<Box<InstanceRecord>>,
    pub(crate) hosts: Vec<HostFunction>,
    /// Runs that are in progress, one inside of the other.
    pub(crate) depth: usize,
    /// The instance of functions of the host.
    host: Box<InstanceRecord>,
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
        Store {
            functions: Vec::new(),
            memories: Vec::new(),
            tables: Vec::new(),
            globals: Vec::new(),
            instances: Vec::new(),
            hosts: Vec::new(),
            depth: 0,
            host: Box::new(InstanceRecord::of_host()),
        }
    }

    pub(crate) fn add_function(&mut self, record: FunctionRecord) -> Function {
        let number = self.functions.len() as u32;
        self.functions
            .push(Box::new(FunctionRecord { number, ..record }));
        Function(number)
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
            instance: &raw const *self.host,
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
        self.memories.push(Box::new(Memory::new(kind)?));
        Ok(self.memories.len() as u32 - 1)
    }

    /// Makes a table of null references.
    pub fn table(&mut self, kind: types::TableType) -> Result<u32, crate::Error> {
        self.tables.push(Box::new(Table::new(kind, 0)?));
        Ok(self.tables.len() as u32 - 1)
    }

    /// Makes a global variable whose value has the given bits.
    pub fn global(&mut self, kind: GlobalType, value: u64) -> Global {
        self.globals.push(Box::new(GlobalRecord { value, kind }));
        Global(self.globals.len() as u32 - 1)
    }

    /// The bits of a global variable's value.
    pub fn global_value(&self, global: Global) -> u64 {
        self.globals[global.0 as usize].value
    }

    /// The type of a function.
    pub fn function_type(&self, function: Function) -> FunctionType {
        types::function_type(self.functions[function.0 as usize].kind)
    }

    /// The word that refers to a function.
    pub fn reference(&self, function: Function) -> u64 {
        &raw const *self.functions[function.0 as usize] as u64
    }
}
