//! Instances: a module's functions with memories, tables and global variables.

use std::collections::HashMap;
use std::sync::atomic::AtomicPtr;

use canny_tables::guest::instance;

use crate::memory::Memory;
use crate::module::{Export, ExternType, Module};
use crate::store::{Function, FunctionRecord, Global, Store};
use crate::table::Table;

/// Something that can be imported or exported, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extern {
    /// A function.
    Function(Function),
    /// A table.
    Table(u32),
    /// A memory.
    Memory(u32),
    /// A global variable.
    Global(Global),
}

/// What instances may import, by module and name.
#[derive(Clone, Default, Debug)]
pub struct Imports {
    items: HashMap<(String, String), Extern>,
}

impl Imports {
    /// Adds something; a second thing of that name takes its place.
    pub fn add(&mut self, module: &str, name: &str, item: Extern) {
        self.items
            .insert((module.to_owned(), name.to_owned()), item);
    }

    pub(crate) fn get(&self, module: &str, name: &str) -> Option<Extern> {
        self.items
            .get(&(module.to_owned(), name.to_owned()))
            .copied()
    }
}

/// An instance, as handlers see it.
#[repr(C)]
pub struct Record {
    pub memory: *mut u8,
    memories: *const *const Memory,
    codes: *const AtomicPtr<u64>,
    imports: *const *const FunctionRecord,
    tables: *const *const Table,
    globals: *const *const u64,
    /// None for the host's functions.
    pub module: Option<Module>,
    /// Numbers in the store.
    pub functions: Vec<u32>,
    pub memory_numbers: Vec<u32>,
    pub table_numbers: Vec<u32>,
    pub global_numbers: Vec<u32>,
    /// Segments that were dropped have nothing any more.
    pub elements: Vec<Vec<u64>>,
    pub dropped_data: Vec<bool>,
    /// What the addresses above are of.
    _lists: Lists,
}

#[derive(Default)]
struct Lists {
    memories: Vec<*const Memory>,
    imports: Vec<*const FunctionRecord>,
    tables: Vec<*const Table>,
    globals: Vec<*const u64>,
}

const _: () = assert!(std::mem::offset_of!(Record, memory) == instance::MEMORY as usize);
const _: () = assert!(std::mem::offset_of!(Record, memories) == instance::MEMORIES as usize);
const _: () = assert!(std::mem::offset_of!(Record, codes) == instance::CODES as usize);
const _: () = assert!(std::mem::offset_of!(Record, imports) == instance::IMPORTS as usize);
const _: () = assert!(std::mem::offset_of!(Record, tables) == instance::TABLES as usize);
const _: () = assert!(std::mem::offset_of!(Record, globals) == instance::GLOBALS as usize);

impl Record {
    /// The instance of functions of the host, which has nothing.
    pub fn of_host() -> Record {
        Record {
            memory: std::ptr::null_mut(),
            memories: std::ptr::null(),
            codes: std::ptr::null(),
            imports: std::ptr::null(),
            tables: std::ptr::null(),
            globals: std::ptr::null(),
            module: None,
            functions: Vec::new(),
            memory_numbers: Vec::new(),
            table_numbers: Vec::new(),
            global_numbers: Vec::new(),
            elements: Vec::new(),
            dropped_data: Vec::new(),
            _lists: Lists::default(),
        }
    }

    /// Fills the lists that code reads from the numbers in the store.
    pub fn complete(&mut self, store: &Store) {
        let Some(module) = &self.module else { return };
        let imported = module.parts().imported_functions;
        let lists = Lists {
            memories: pointers(&self.memory_numbers, |n| &raw const *store.memories[n]),
            imports: pointers(&self.functions[..imported], |n| {
                &raw const *store.functions[n]
            }),
            tables: pointers(&self.table_numbers, |n| &raw const *store.tables[n]),
            globals: pointers(&self.global_numbers, |n| &raw const store.globals[n].value),
        };
        let first = self.memory_numbers.first();
        self.memory = first.map_or(std::ptr::null_mut(), |n| store.memories[*n as usize].base());
        self.codes = module.code_entries().as_ptr();
        self.memories = lists.memories.as_ptr();
        self.imports = lists.imports.as_ptr();
        self.tables = lists.tables.as_ptr();
        self.globals = lists.globals.as_ptr();
        self._lists = lists;
    }
}

fn pointers<T>(numbers: &[u32], of: impl Fn(usize) -> *const T) -> Vec<*const T> {
    numbers.iter().map(|number| of(*number as usize)).collect()
}

/// An instance, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance(pub(crate) u32);

impl Instance {
    /// What an instance exports under a name.
    pub fn export(self, store: &Store, name: &str) -> Option<Extern> {
        let record = &store.instances[self.0 as usize];
        let module = record.module.as_ref()?;
        let mut exports = module.exports().iter();
        let (_, export) = exports.find(|(exported, _)| exported == name)?;
        Some(record.item(*export))
    }

    /// All that an instance exports.
    pub fn exports(self, store: &Store) -> Vec<(String, Extern)> {
        let record = &store.instances[self.0 as usize];
        let Some(module) = &record.module else {
            return Vec::new();
        };
        let exports = module.exports().iter();
        exports
            .map(|(name, export)| (name.clone(), record.item(*export)))
            .collect()
    }
}

impl Record {
    fn item(&self, export: Export) -> Extern {
        match export {
            Export::Function(index) => Extern::Function(Function(self.functions[index as usize])),
            Export::Table(index) => Extern::Table(self.table_numbers[index as usize]),
            Export::Memory(index) => Extern::Memory(self.memory_numbers[index as usize]),
            Export::Global(index) => Extern::Global(Global(self.global_numbers[index as usize])),
        }
    }
}

impl Store {
    /// The type of something.
    pub fn extern_type(&self, item: Extern) -> ExternType {
        match item {
            Extern::Function(function) => {
                ExternType::Function(self.functions[function.0 as usize].kind)
            }
            Extern::Table(number) => ExternType::Table(self.tables[number as usize].kind()),
            Extern::Memory(number) => ExternType::Memory(self.memories[number as usize].kind()),
            Extern::Global(global) => ExternType::Global(self.globals[global.0 as usize].kind),
        }
    }
}
