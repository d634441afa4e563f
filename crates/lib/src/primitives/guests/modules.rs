//! Modules and their instances.
//!
//! Items are described by vectors: names, kind and type, as the documentation of the rows says.

use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_tables::protocols::GuestItem;
use canny_value::Value;
use canny_vm::{Raise, Thread, string_text};
use canny_wasm::{Error, Extern, ExternType, Function, Module};

use super::values::{function_type_of, type_symbol};
use super::{GuestModule, current_task, free_stores, number, refused, store};
use crate::arguments::{Call, Effort};
use crate::evaluation::Evaluation;
use crate::host::{find, keep};
use crate::list::Builder;

/// Bytes whose validation takes some milliseconds.
pub(super) const LONG: usize = 1 << 18;

pub(super) fn make(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let file = match call.at(1) {
        Value::FALSE => None,
        _ => string_text(call.string(thread, 1)?.value()),
    };
    let effort = Effort::OutsideHeap.or_offloaded(bytes.len() >= LONG);
    let known = Evaluation::of(thread.vm()).valid_modules().cloned();
    let read = move || match known {
        Some(known) => known.read_from(bytes, file),
        None => Module::read_from(bytes, file),
    };
    match call.compute(thread, effort, read)? {
        Ok(module) => keep(thread, GuestModule(module), "module"),
        Err(error) => Err(refused(thread, call, &error)),
    }
}

pub(super) fn module(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Arc<GuestModule>, Raise> {
    let found = find::<GuestModule>(thread, call.at(position));
    found.ok_or_else(|| call.type_error(thread, position, "module"))
}

/// A vector of elements that are not moved while it is made.
pub(super) fn vector<const COUNT: usize>(
    thread: &mut Thread,
    elements: [Value; COUNT],
) -> Result<Value, Raise> {
    let vector = thread.try_object(Kind::Vector, 0, COUNT, Value::FALSE)?;
    for (index, element) in elements.into_iter().enumerate() {
        thread.store(vector, index, element);
    }
    Ok(vector)
}

/// The kind of an item, and its type for Scheme.
fn described(thread: &mut Thread, kind: &ExternType) -> Result<(Value, Value), Raise> {
    let maximum = |maximum: Option<u64>| maximum.map(|maximum| maximum as i64);
    let (item, described) = match kind {
        ExternType::Function(number) => {
            let kind = canny_wasm::function_type(*number);
            (GuestItem::Function, function_type_of(thread, kind)?)
        }
        ExternType::Table(kind) => {
            let element = type_symbol(thread, kind.element);
            let initial = thread.integer(kind.initial as i64);
            let maximum = maximum(kind.maximum);
            let maximum = maximum.map_or(Value::FALSE, |maximum| thread.integer(maximum));
            (
                GuestItem::Table,
                vector(thread, [element, initial, maximum])?,
            )
        }
        ExternType::Memory(kind) => {
            let initial = thread.integer(kind.initial as i64);
            let maximum = maximum(kind.maximum);
            let maximum = maximum.map_or(Value::FALSE, |maximum| thread.integer(maximum));
            let is_wide = Value::boolean(kind.is_wide);
            (
                GuestItem::Memory,
                vector(thread, [initial, maximum, is_wide])?,
            )
        }
        ExternType::Global(kind) => {
            let value = type_symbol(thread, kind.value);
            let pair = thread.try_cons(value, Value::boolean(kind.mutable))?;
            (GuestItem::Global, pair)
        }
        ExternType::Tag(number) => {
            let kind = canny_wasm::function_type(*number);
            (GuestItem::Tag, function_type_of(thread, kind)?)
        }
    };
    Ok((Value::fixnum(item.number()), described))
}

pub(super) fn imports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let module = module(thread, call, 0)?;
    let mut list = Builder::new();
    for import in module.0.imports() {
        let (kind, described) = described(thread, &import.kind)?;
        let from = thread.string(&import.module);
        let name = thread.string(&import.name);
        let row = vector(thread, [from, name, kind, described])?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

pub(super) fn exports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let module = module(thread, call, 0)?;
    let mut list = Builder::new();
    for (name, export) in module.0.exports() {
        let (kind, described) = described(thread, &module.0.export_type(*export))?;
        let name = thread.string(name);
        let row = vector(thread, [name, kind, described])?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

pub(super) fn section(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let module = module(thread, call, 0)?;
    let name = canny_vm::string_text(call.at(1)).unwrap_or_default();
    match module.0.custom_section(&name) {
        Some(bytes) => thread.bytevector(bytes),
        None => Ok(Value::FALSE),
    }
}

pub(super) fn instantiate(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let module = module(thread, call, 1)?;
    let given = call.vector(thread, 2)?;
    let imports = module
        .0
        .imports()
        .iter()
        .enumerate()
        .map(|(index, import)| {
            let number = (index < given.length()).then(|| given.field(index).as_index());
            let number = u32::try_from(number.flatten()?).ok()?;
            Some((&import.kind, number))
        });
    let imports: Vec<Option<(&ExternType, u32)>> = imports.collect();
    let task = current_task(thread);
    let shared = guests;
    let mut guests = shared.lock(thread);
    if guests.store.newest_run().is_none() {
        guests.owner = task;
    }
    let store = &guests.store;
    let items: Vec<Option<Extern>> = imports
        .into_iter()
        .map(|import| {
            let (kind, number) = import?;
            Some(match kind {
                ExternType::Function(_) => Extern::Function(store.function(number)?),
                ExternType::Table(_) => Extern::Table(store.table_at(number).map(|_| number)?),
                ExternType::Memory(_) => Extern::Memory(store.memory_at(number).map(|_| number)?),
                ExternType::Global(_) => Extern::Global(store.global_with_number(number)?),
                ExternType::Tag(_) => Extern::Tag(store.tag_with_number(number)?),
            })
        })
        .collect();
    let mut made = guests.store.prepare(&module.0, &items);
    drop(guests);
    if matches!(made, Err(Error::NoMemory(_))) {
        // Memories that nobody can reach any more may take the address space.
        free_stores(thread);
        made = shared.lock(thread).store.prepare(&module.0, &items);
    }
    match made {
        Ok((instance, start)) => {
            let start = start.map_or(Value::FALSE, function_number);
            thread.try_cons(Value::fixnum(i64::from(instance.number())), start)
        }
        Err(error) => Err(refused(thread, call, &error)),
    }
}

fn function_number(function: Function) -> Value {
    Value::fixnum(i64::from(function.number()))
}

pub(super) fn exports_of_instance(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let number = number(thread, call, 1)?;
    let exports: Option<Vec<(String, Extern, ExternType)>> = {
        let guests = guests.lock(thread);
        let store = &guests.store;
        store.instance(number).map(|instance| {
            let exports = instance.exports(store).into_iter();
            exports
                .map(|(name, item)| (name, item, store.extern_type(item)))
                .collect()
        })
    };
    let Some(exports) = exports else {
        return Err(super::unknown(thread, call, "instance"));
    };
    let mut list = Builder::new();
    for (name, item, kind) in exports {
        let number = match item {
            Extern::Function(function) => function.number(),
            Extern::Table(number) | Extern::Memory(number) => number,
            Extern::Global(global) => global.number(),
            Extern::Tag(tag) => tag.number(),
        };
        let (kind, described) = described(thread, &kind)?;
        let name = thread.string(&name);
        let row = vector(
            thread,
            [name, kind, Value::fixnum(i64::from(number)), described],
        )?;
        list.push(thread, row)?;
    }
    Ok(list.finish(thread, Value::NIL))
}
