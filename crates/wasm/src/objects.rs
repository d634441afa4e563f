//! The interface for embedders to memories, tables and functions of a store, by their numbers.
//!
//! A number that the store does not have gives nothing.

use crate::arena::Arena;
use crate::error::Error;
use crate::instance::Instance;
use crate::memory::{Memory, SharedMemory};
use crate::store::{Function, Global, Store};
use crate::table::Table;
use crate::types::GlobalType;

fn has<T>(arena: &Arena<T>, number: u32) -> bool {
    (number as usize) < arena.len()
}

impl Store {
    /// The function with a number.
    pub fn function(&self, number: u32) -> Option<Function> {
        has(&self.functions, number).then_some(Function(number))
    }

    /// The global variable with a number.
    pub fn global_with_number(&self, number: u32) -> Option<Global> {
        has(&self.globals, number).then_some(Global(number))
    }

    /// The memory with a number.
    pub fn memory_at(&self, number: u32) -> Option<&Memory> {
        has(&self.memories, number).then(|| &self.memories[number])
    }

    /// The memory with a number, to be changed.
    pub fn memory_at_mut(&mut self, number: u32) -> Option<&mut Memory> {
        has(&self.memories, number).then(|| &mut self.memories[number])
    }

    /// The bytes of a memory that is not shared, to be changed.
    pub fn memory_bytes_mut(&mut self, number: u32) -> Option<&mut [u8]> {
        self.memory_at_mut(number)?.bytes_mut()
    }

    /// The number of a shared memory in this store, which gets it if it does not have it yet.
    pub fn share_memory(&mut self, shared: &SharedMemory) -> Result<u32, Error> {
        let numbers = 0..self.memories.len() as u32;
        let known = numbers
            .into_iter()
            .find(|number| shared.is(&self.memories[*number]));
        if let Some(number) = known {
            return Ok(number);
        }
        self.check_room(shared.size())?;
        Ok(self.memories.add(Memory::of(shared.clone())))
    }

    /// Adds pages to a memory; gives how many there were.
    pub fn grow_memory(&mut self, number: u32, pages: u64) -> Option<u64> {
        let may = self.may_grow(pages.saturating_mul(crate::memory::PAGE));
        (may && has(&self.memories, number)).then(|| self.memories[number].grow(pages))?
    }

    /// The table with a number.
    pub fn table_at(&self, number: u32) -> Option<&Table> {
        has(&self.tables, number).then(|| &self.tables[number])
    }

    /// Sets an element of a table; whether there is such an element.
    pub fn set_element(&mut self, number: u32, index: usize, word: u64) -> bool {
        if !has(&self.tables, number) {
            return false;
        }
        let element = self.tables[number].elements_mut().get_mut(index);
        element.map(|element| *element = word).is_some()
    }

    /// Adds elements to a table; gives how many there were.
    pub fn grow_table(&mut self, number: u32, count: u64, word: u64) -> Option<u64> {
        let may = self.may_grow(count.saturating_mul(8));
        (may && has(&self.tables, number)).then(|| self.tables[number].grow(count, word))?
    }

    /// The type of a global variable.
    pub fn global_type(&self, global: Global) -> GlobalType {
        self.globals[global.0].kind
    }

    /// The instance with a number.
    pub fn instance(&self, number: u32) -> Option<Instance> {
        has(&self.instances, number).then_some(Instance(number))
    }

    /// Sets the bits of a global variable.
    pub fn set_global_value(&mut self, global: Global, value: u128) {
        self.globals[global.0].value = value;
    }

    /// The function that a word refers to.
    pub fn referred(&self, word: u64) -> Option<Function> {
        let numbers = 0..self.functions.len() as u32;
        // Functions are numbered as they were made.
        numbers
            .map(Function)
            .find(|function| self.reference(*function) == word)
    }

    /// The name of a function, from the module's names or its exports.
    pub fn function_name(&self, function: Function) -> Option<String> {
        let record = &self.functions[function.0];
        // SAFETY: instances live as long as their store.
        let module = unsafe { &(*record.instance).module }.as_ref()?;
        let index = module.parts().imported_functions as u32 + record.index;
        module.function_name(index).map(str::to_owned)
    }

    /// Gives the words with which a search for references begins: those in tables, global variables,
    /// segments and the frames of runs. Some of them are something else.
    pub(crate) fn each_root(&self, mut visit: &mut dyn FnMut(u64)) {
        for number in 0..self.tables.len() as u32 {
            self.tables[number]
                .elements()
                .iter()
                .copied()
                .for_each(&mut visit);
        }
        for number in 0..self.globals.len() as u32 {
            // A vector has no references.
            visit(self.globals[number].value as u64);
        }
        for number in 0..self.instances.len() as u32 {
            let elements = self.instances[number].elements.iter().flatten();
            elements.copied().for_each(&mut visit);
        }
        self.held.words().iter().copied().for_each(&mut visit);
        for run in &self.runs {
            run.each_word(&mut visit);
        }
        self.exchange.iter().copied().for_each(visit);
    }
}
