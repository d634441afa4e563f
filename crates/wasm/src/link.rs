//! Making an instance: imports are found and checked, memories and tables made and filled.
//!
//! All imports that are missing or of another type are told at once.

use std::sync::Arc;

use canny_tables::guest::Reason;

use crate::constant::{ArrayValues, Constant, Context};
use crate::definitions;
use crate::error::{Error, Trap};
use crate::heap::Heap;
use crate::instance::{Extern, Imports, Instance};
use crate::module::Module;
use crate::parts::{ExternType, Import};
use crate::record::{FunctionRecord, InstanceRecord, Lists};
use crate::store::{Function, Store};

impl Store {
    /// Makes an instance of a module, and runs its start function.
    pub fn instantiate(&mut self, module: &Module, imports: &Imports) -> Result<Instance, Error> {
        let found: Vec<Option<Extern>> = module
            .imports()
            .iter()
            .map(|import| imports.item(&import.module, &import.name))
            .collect();
        let (instance, start) = self.prepare(module, &found)?;
        if let Some(start) = start {
            self.call(start, &[])?;
        }
        Ok(instance)
    }

    /// Makes an instance of a module from its imports in their order; gives the start function, which is
    /// to be called next.
    pub fn prepare(
        &mut self,
        module: &Module,
        imports: &[Option<Extern>],
    ) -> Result<(Instance, Option<Function>), Error> {
        // Nothing is freed while values of the new instance are in no place that is searched.
        if self.heap.is_full(0) && self.depth == self.runs.len() {
            self.collect(&[]);
        }
        let instance = self.link(module, imports)?;
        self.fill(instance)?;
        let functions = &self.instances[instance.0].functions;
        let start = module.parts().start;
        Ok((
            instance,
            start.map(|start| Function(functions[start as usize])),
        ))
    }

    fn link(&mut self, module: &Module, imports: &[Option<Extern>]) -> Result<Instance, Error> {
        let parts = module.parts();
        let mut record = InstanceRecord::of_host();
        record.module = Some(module.clone());
        let mut wrong = Vec::new();
        for (index, import) in parts.imports.iter().enumerate() {
            match self.check(import, imports.get(index).copied().flatten()) {
                Ok(Extern::Function(function)) => record.functions.push(function.0),
                Ok(Extern::Table(number)) => record.table_numbers.push(number),
                Ok(Extern::Memory(number)) => record.memory_numbers.push(number),
                Ok(Extern::Global(global)) => record.global_numbers.push(global.0),
                Ok(Extern::Tag(tag)) => record.tag_numbers.push(tag.0),
                Err(text) => wrong.push(text),
            }
        }
        if !wrong.is_empty() {
            return Err(Error::Imports(wrong));
        }
        let number = self.instances.add(InstanceRecord::of_host());
        let owner = self.instances.address(number);
        for (index, kind) in parts.functions[parts.imported_functions..]
            .iter()
            .enumerate()
        {
            let code = module.stub(index as u32);
            let record_of_function = FunctionRecord::new(code, owner, *kind, index as u32);
            let function = self.add_function(record_of_function);
            record.functions.push(function.0);
        }
        let imported = record.memory_numbers.len();
        for kind in &parts.memories[imported..] {
            let number = self.memory(*kind)?;
            record.memory_numbers.push(number);
        }
        let imported = record.global_numbers.len();
        for (kind, value) in parts.globals[imported..].iter().zip(&parts.global_values) {
            let value = self.wide_constant(&record, value)?;
            let global = self.global(*kind, value);
            record.global_numbers.push(global.0);
        }
        let imported = record.table_numbers.len();
        for (kind, value) in parts.tables[imported..].iter().zip(&parts.table_values) {
            let value = match value {
                Some(value) => self.constant(&record, value)?,
                None => 0,
            };
            let number = self.table_of(*kind, value)?;
            record.table_numbers.push(number);
        }
        let imported = record.tag_numbers.len();
        for kind in &parts.tags[imported..] {
            let tag = self.exceptions.add_tag(*kind);
            record.tag_numbers.push(tag.0);
        }
        self.complete(&mut record);
        self.instances[number] = record;
        Ok(Instance(number))
    }

    /// Fills the lists that code reads from the numbers of things.
    fn complete(&self, record: &mut InstanceRecord) {
        let imported = record.module.as_ref();
        let imported = imported.map_or(0, |module| module.parts().imported_functions);
        let functions = &record.functions[..imported];
        let lists = Lists {
            memories: pointers(&record.memory_numbers, |n| {
                Arc::as_ptr(self.memories[n].record())
            }),
            imports: pointers(functions, |n| self.functions.address(n).cast_const()),
            tables: pointers(&record.table_numbers, |n| {
                self.tables.address(n).cast_const()
            }),
            globals: pointers(&record.global_numbers, |n| {
                self.globals.address(n).cast::<u64>().cast_const()
            }),
        };
        let first = record.memory_numbers.first();
        let memory = first.map_or(std::ptr::null_mut(), |n| self.memories[*n].base());
        record.complete(lists, memory);
    }

    fn constant(&mut self, record: &InstanceRecord, value: &Constant) -> Result<u64, Trap> {
        Ok(self.wide_constant(record, value)? as u64)
    }

    fn wide_constant(&mut self, record: &InstanceRecord, value: &Constant) -> Result<u128, Trap> {
        value.evaluate(&mut Evaluation {
            store: self,
            record,
        })
    }

    /// Fills tables and memories; what was done before an error stays, as the standard says.
    fn fill(&mut self, instance: Instance) -> Result<(), Error> {
        let Some(module) = self.instances[instance.0].module.clone() else {
            return Ok(());
        };
        let parts = module.parts();
        for segment in &parts.elements {
            // SAFETY: the record stays where it is, and constants change objects only.
            let record = unsafe { &*self.instances.address(instance.0) };
            let mut items = Vec::new();
            if !segment.is_declared {
                for item in &segment.items {
                    items.push(self.constant(record, item)?);
                }
            }
            self.instances[instance.0].elements.push(items);
        }
        self.instances[instance.0].dropped_data = vec![false; parts.data.len()];
        for (index, segment) in parts.elements.iter().enumerate() {
            let Some((table, offset)) = &segment.active else {
                continue;
            };
            let record = &mut self.instances[instance.0];
            let items = std::mem::take(&mut record.elements[index]);
            // SAFETY: as above.
            let record = unsafe { &*self.instances.address(instance.0) };
            let offset = self.constant(record, offset)?;
            let number = record.table_numbers[*table as usize];
            let elements = self.tables[number].elements_mut();
            let place = range(offset, items.len(), elements.len());
            let place = place.ok_or(Trap::Reason(Reason::OutOfBoundsTable))?;
            elements[place].copy_from_slice(&items);
        }
        for (index, segment) in parts.data.iter().enumerate() {
            let Some((memory, offset)) = &segment.active else {
                continue;
            };
            let record = &mut self.instances[instance.0];
            record.dropped_data[index] = true;
            // SAFETY: as above.
            let record = unsafe { &*self.instances.address(instance.0) };
            let offset = self.constant(record, offset)?;
            let number = record.memory_numbers[*memory as usize];
            let data = &module.bytes()[segment.bytes.clone()];
            if !self.memories[number].write(offset, data) {
                return Err(Trap::Reason(Reason::OutOfBoundsMemory).into());
            }
        }
        Ok(())
    }

    /// The thing for an import if it is of the right type, or what is wrong.
    fn check(&self, import: &Import, item: Option<Extern>) -> Result<Extern, String> {
        let name = format!("\"{}\" \"{}\"", import.module, import.name);
        let item = item.ok_or_else(|| format!("unknown import {name}"))?;
        let found = self.extern_type(item);
        if fits(&found, &import.kind) {
            Ok(item)
        } else {
            Err(format!(
                "incompatible import type for {name}: it is {}, and must be {}",
                text(&found),
                text(&import.kind)
            ))
        }
    }
}

/// The evaluation of constant expressions of an instance that is being made.
struct Evaluation<'a> {
    store: &'a mut Store,
    record: &'a InstanceRecord,
}

impl Evaluation<'_> {
    fn object(&mut self, kind: u32, length: u32) -> Result<u64, Trap> {
        let definition = definitions::definition(kind);
        let bytes = Heap::bytes_for(definition, length).ok_or(Reason::HeapExhausted)?;
        self.store.add_object(definition, length, bytes)
    }
}

impl Context for Evaluation<'_> {
    fn global(&self, index: u32) -> u128 {
        self.store.globals[self.record.global_numbers[index as usize]].value
    }

    fn function(&self, index: u32) -> u64 {
        let number = self.record.functions[index as usize];
        self.store.reference(Function(number))
    }

    fn structure(&mut self, kind: u32, values: Option<&mut Vec<u128>>) -> Result<u64, Trap> {
        let word = self.object(kind, 0)?;
        let (Some(values), Some(object)) = (values, self.store.heap.get_mut(word)) else {
            return Ok(word);
        };
        let fields = object.definition.fields();
        let values = values.split_off(values.len() - fields.len());
        let mut words = object.words_mut().iter_mut();
        for (field, value) in fields.iter().zip(values) {
            for part in 0..field.storage.words() {
                if let Some(word) = words.next() {
                    *word = (value >> (64 * part)) as u64;
                }
            }
        }
        Ok(word)
    }

    fn array(&mut self, kind: u32, length: u32, values: ArrayValues) -> Result<u64, Trap> {
        let word = self.object(kind, length)?;
        let Some(array) = self.store.heap.get_mut(word) else {
            return Ok(word);
        };
        match values {
            ArrayValues::Zeros => {}
            ArrayValues::Same(value) => array.fill(0..length as usize, value),
            ArrayValues::Each(values) => {
                for (index, value) in values.into_iter().enumerate() {
                    array.set_element(index, value);
                }
            }
        }
        Ok(word)
    }
}

fn pointers<T>(numbers: &[u32], of: impl Fn(u32) -> *const T) -> Vec<*const T> {
    numbers.iter().map(|number| of(*number)).collect()
}

/// The range of so many places from an offset on, if it lies inside.
pub fn range(offset: u64, count: usize, length: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(count)?;
    (end <= length).then_some(start..end)
}

/// Whether something may be imported where something of another type is wanted.
fn fits(found: &ExternType, wanted: &ExternType) -> bool {
    let limits = |initial: u64, maximum: Option<u64>, least: u64, most: Option<u64>| {
        initial >= least && most.is_none_or(|most| maximum.is_some_and(|maximum| maximum <= most))
    };
    match (found, wanted) {
        (ExternType::Function(found), ExternType::Function(wanted)) => {
            definitions::is_below(*found, *wanted)
        }
        (ExternType::Tag(found), ExternType::Tag(wanted)) => found == wanted,
        (ExternType::Table(found), ExternType::Table(wanted)) => {
            found.element == wanted.element
                && found.is_wide == wanted.is_wide
                && limits(found.initial, found.maximum, wanted.initial, wanted.maximum)
        }
        (ExternType::Memory(found), ExternType::Memory(wanted)) => {
            found.is_wide == wanted.is_wide
                && found.is_shared == wanted.is_shared
                && limits(found.initial, found.maximum, wanted.initial, wanted.maximum)
        }
        (ExternType::Global(found), ExternType::Global(wanted)) => {
            found.mutable == wanted.mutable
                && if wanted.mutable {
                    found.value == wanted.value
                } else {
                    found.value.is_subtype_of(wanted.value)
                }
        }
        _ => false,
    }
}

/// How messages call a type.
fn text(kind: &ExternType) -> String {
    let limits = |initial: u64, maximum: Option<u64>| match maximum {
        Some(maximum) => format!("{initial} to {maximum}"),
        None => format!("{initial} or more"),
    };
    match kind {
        ExternType::Function(number) => {
            format!("a function {}", definitions::function_type(*number).text())
        }
        ExternType::Tag(number) => {
            format!("a tag {}", definitions::function_type(*number).text())
        }
        ExternType::Table(kind) => format!(
            "a table of {} elements {}",
            limits(kind.initial, kind.maximum),
            kind.element.text()
        ),
        ExternType::Memory(kind) => {
            let shared = if kind.is_shared { "shared " } else { "" };
            let pages = limits(kind.initial, kind.maximum);
            format!("a {shared}memory of {pages} pages")
        }
        ExternType::Global(kind) => format!(
            "a{} global variable of type {}",
            if kind.mutable {
                " mutable"
            } else {
                "n immutable"
            },
            kind.value.text()
        ),
    }
}
