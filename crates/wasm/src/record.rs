//! Functions, global variables and instances, as handlers see them.
//!
//! Records never move while their store lives, since code and other records have their addresses.

use std::sync::atomic::AtomicPtr;

use canny_tables::guest::{function, instance};

use crate::definitions::{self, Definition, Display};
use crate::memory::MemoryRecord;
use crate::module::Module;
use crate::table::Table;
use crate::types::{FunctionType, GlobalType};

/// A function, as handlers see it.
#[repr(C)]
#[derive(Debug)]
pub struct FunctionRecord {
    pub code: *const u64,
    pub instance: *const InstanceRecord,
    pub kind: u32,
    pub display: &'static Display,
    pub definition: &'static Definition,
    pub signature: &'static FunctionType,
    /// Words of all parameters and of all results.
    pub parameters: u32,
    pub results: u32,
    /// Its number in the store.
    pub number: u32,
    /// Its index among the module's own functions, or that of the host's function.
    pub index: u32,
    /// Its machine code, once that was called by way of this record.
    pub native: AtomicPtr<u8>,
}

impl FunctionRecord {
    /// A function without a number.
    pub fn new(
        code: *const u64,
        instance: *const InstanceRecord,
        kind: u32,
        index: u32,
    ) -> FunctionRecord {
        let definition = definitions::definition(kind);
        let signature = definitions::function_type(kind);
        FunctionRecord {
            code,
            instance,
            kind,
            display: definition.display,
            definition,
            signature,
            parameters: signature.parameter_slots() as u32,
            results: signature.result_slots() as u32,
            number: 0,
            index,
            native: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

const _: () = assert!(std::mem::offset_of!(GlobalRecord, value) == 0);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, code) == function::CODE as usize);
const _: () =
    assert!(std::mem::offset_of!(FunctionRecord, instance) == function::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, kind) == function::TYPE as usize);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, display) == function::DISPLAY as usize);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, index) == function::INDEX as usize);
const _: () = assert!(std::mem::offset_of!(FunctionRecord, native) == function::NATIVE as usize);

/// A global variable.
#[repr(C)]
#[derive(Debug)]
pub struct GlobalRecord {
    /// Its value's bits; code has their address.
    pub value: u128,
    pub kind: GlobalType,
}

/// An instance, as handlers see it.
#[repr(C)]
pub struct InstanceRecord {
    pub memory: *mut u8,
    memories: *const *const MemoryRecord,
    codes: *const AtomicPtr<u64>,
    imports: *const *const FunctionRecord,
    tables: *const *const Table,
    globals: *const *const u64,
    natives: *const AtomicPtr<u8>,
    /// None for the host's functions.
    pub module: Option<Module>,
    /// Numbers in the store.
    pub functions: Vec<u32>,
    pub memory_numbers: Vec<u32>,
    pub table_numbers: Vec<u32>,
    pub global_numbers: Vec<u32>,
    pub tag_numbers: Vec<u32>,
    /// Segments that were dropped have nothing any more.
    pub elements: Vec<Vec<u64>>,
    pub dropped_data: Vec<bool>,
    /// The lists whose addresses are above.
    lists: Lists,
}

/// Addresses that code reads.
#[derive(Default)]
pub struct Lists {
    pub memories: Vec<*const MemoryRecord>,
    pub imports: Vec<*const FunctionRecord>,
    pub tables: Vec<*const Table>,
    pub globals: Vec<*const u64>,
}

const _: () = assert!(std::mem::offset_of!(InstanceRecord, memory) == instance::MEMORY as usize);
const _: () =
    assert!(std::mem::offset_of!(InstanceRecord, memories) == instance::MEMORIES as usize);
const _: () = assert!(std::mem::offset_of!(InstanceRecord, codes) == instance::CODES as usize);
const _: () = assert!(std::mem::offset_of!(InstanceRecord, imports) == instance::IMPORTS as usize);
const _: () = assert!(std::mem::offset_of!(InstanceRecord, tables) == instance::TABLES as usize);
const _: () = assert!(std::mem::offset_of!(InstanceRecord, globals) == instance::GLOBALS as usize);
const _: () = assert!(std::mem::offset_of!(InstanceRecord, natives) == instance::NATIVES as usize);

impl InstanceRecord {
    /// The instance of functions of the host, which has nothing.
    pub fn of_host() -> InstanceRecord {
        InstanceRecord {
            memory: std::ptr::null_mut(),
            memories: std::ptr::null(),
            codes: std::ptr::null(),
            imports: std::ptr::null(),
            tables: std::ptr::null(),
            globals: std::ptr::null(),
            natives: std::ptr::null(),
            module: None,
            functions: Vec::new(),
            memory_numbers: Vec::new(),
            table_numbers: Vec::new(),
            global_numbers: Vec::new(),
            tag_numbers: Vec::new(),
            elements: Vec::new(),
            dropped_data: Vec::new(),
            lists: Lists::default(),
        }
    }

    /// Takes over the lists that code reads, and where the first memory begins.
    pub fn complete(&mut self, lists: Lists, memory: *mut u8) {
        self.memory = memory;
        self.codes = match &self.module {
            Some(module) => module.code_entries().as_ptr(),
            None => std::ptr::null(),
        };
        self.natives = match &self.module {
            Some(module) => module.machine_code().native_addresses(),
            None => std::ptr::null(),
        };
        self.memories = lists.memories.as_ptr();
        self.imports = lists.imports.as_ptr();
        self.tables = lists.tables.as_ptr();
        self.globals = lists.globals.as_ptr();
        self.lists = lists;
    }
}
