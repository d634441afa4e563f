//! Instances: a module's functions with memories, tables and global variables.
//!
//! An instance and what it exports are numbers in a store.

use std::collections::HashMap;

use crate::exceptions::Tag;
use crate::parts::{Export, ExternType};
use crate::record::InstanceRecord;
use crate::store::{Function, Global, Store};

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
    /// A tag of exceptions.
    Tag(Tag),
}

/// Things that instances may import, by module and name.
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

    /// The thing that was added under these names.
    pub fn item(&self, module: &str, name: &str) -> Option<Extern> {
        self.items
            .get(&(module.to_owned(), name.to_owned()))
            .copied()
    }
}

/// An instance, by its number in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance(pub(crate) u32);

impl Instance {
    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The export of an instance under a name.
    pub fn export(self, store: &Store, name: &str) -> Option<Extern> {
        let record = &store.instances[self.0];
        let module = record.module.as_ref()?;
        let mut exports = module.exports().iter();
        let (_, export) = exports.find(|(exported, _)| exported == name)?;
        Some(record.item(*export))
    }

    /// All that an instance exports.
    pub fn exports(self, store: &Store) -> Vec<(String, Extern)> {
        let record = &store.instances[self.0];
        let Some(module) = &record.module else {
            return Vec::new();
        };
        let exports = module.exports().iter();
        exports
            .map(|(name, export)| (name.clone(), record.item(*export)))
            .collect()
    }
}

impl InstanceRecord {
    fn item(&self, export: Export) -> Extern {
        match export {
            Export::Function(index) => Extern::Function(Function(self.functions[index as usize])),
            Export::Table(index) => Extern::Table(self.table_numbers[index as usize]),
            Export::Memory(index) => Extern::Memory(self.memory_numbers[index as usize]),
            Export::Global(index) => Extern::Global(Global(self.global_numbers[index as usize])),
            Export::Tag(index) => Extern::Tag(Tag(self.tag_numbers[index as usize])),
        }
    }
}

impl Store {
    /// The type of something.
    pub fn extern_type(&self, item: Extern) -> ExternType {
        match item {
            Extern::Function(function) => ExternType::Function(self.functions[function.0].kind),
            Extern::Table(number) => ExternType::Table(self.tables[number].kind()),
            Extern::Memory(number) => ExternType::Memory(self.memories[number].kind()),
            Extern::Global(global) => ExternType::Global(self.globals[global.0].kind),
            Extern::Tag(tag) => ExternType::Tag(self.exceptions.tag_type(tag)),
        }
    }
}
