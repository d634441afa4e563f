//! Instructions that the runtime carries out: growth, bulk copies, tables, references.
//!
//! Operands have come from the frame; memories and tables are found by the instance's numbers.

use canny_tables::guest::{Reason, Runtime};

use crate::error::Trap;
use crate::link::range;
use crate::memory::{Memory, PAGE};
use crate::record::InstanceRecord;
use crate::store::{Function, Store};

/// Carries an operation out; gives the bits of its result, if it has one.
pub fn run(
    store: &mut Store,
    instance: &mut InstanceRecord,
    operation: Runtime,
    operands: [u64; 3],
    numbers: [u32; 2],
) -> Result<Option<u64>, Trap> {
    let [x, y, z] = operands;
    match operation {
        Runtime::MemoryGrow => {
            let number = instance.memory_numbers[numbers[0] as usize];
            let pages = width(x, store.memories[number].kind().is_wide);
            if !store.may_grow(pages.saturating_mul(PAGE)) {
                return Ok(Some(u64::MAX));
            }
            let memory = &mut store.memories[number];
            return Ok(Some(memory.grow(pages).unwrap_or(u64::MAX)));
        }
        Runtime::MemoryFill => {
            let memory = &mut store.memories[instance.memory_numbers[numbers[0] as usize]];
            let is_wide = memory.kind().is_wide;
            if !memory.fill(width(x, is_wide), y as u8, width(z, is_wide)) {
                return Err(Reason::OutOfBoundsMemory.into());
            }
        }
        Runtime::MemoryCopy => {
            let to = instance.memory_numbers[numbers[0] as usize];
            let from = instance.memory_numbers[numbers[1] as usize];
            copy_memory(store, [to, from], operands)?;
        }
        Runtime::MemoryInit => {
            let memory = &mut store.memories[instance.memory_numbers[numbers[0] as usize]];
            let segment = numbers[1] as usize;
            let data = match &instance.module {
                Some(module) if !instance.dropped_data[segment] => {
                    &module.bytes()[module.parts().data[segment].bytes.clone()]
                }
                // A dropped segment has no bytes.
                _ => &[],
            };
            let from = range(u64::from(y as u32), count(z, false), data.len());
            let is_wide = memory.kind().is_wide;
            if !from.is_some_and(|from| memory.write(width(x, is_wide), &data[from])) {
                return Err(Reason::OutOfBoundsMemory.into());
            }
        }
        Runtime::DataDrop => instance.dropped_data[numbers[0] as usize] = true,
        Runtime::ElementDrop => instance.elements[numbers[0] as usize].clear(),
        Runtime::ReferenceFunction => {
            let number = instance.functions[numbers[0] as usize];
            return Ok(Some(store.reference(Function(number))));
        }
        _ => return table(store, instance, operation, operands, numbers),
    }
    Ok(None)
}

fn table(
    store: &mut Store,
    instance: &mut InstanceRecord,
    operation: Runtime,
    operands: [u64; 3],
    numbers: [u32; 2],
) -> Result<Option<u64>, Trap> {
    let [x, y, z] = operands;
    let number = instance.table_numbers[numbers[0] as usize];
    if operation == Runtime::TableGrow {
        let more = width(y, store.tables[number].kind().is_wide);
        if !store.may_grow(more.saturating_mul(8)) {
            return Ok(Some(u64::MAX));
        }
    }
    let outside = Trap::Reason(Reason::OutOfBoundsTable);
    let table = &mut store.tables[number];
    let is_wide = table.kind().is_wide;
    match operation {
        Runtime::TableGet => {
            let index = count(x, is_wide);
            return table
                .elements()
                .get(index)
                .copied()
                .map(Some)
                .ok_or(outside);
        }
        Runtime::TableSet => {
            let index = count(x, is_wide);
            *table.elements_mut().get_mut(index).ok_or(outside)? = y;
        }
        Runtime::TableSize => return Ok(Some(table.kind().initial)),
        Runtime::TableGrow => {
            let more = width(y, is_wide);
            return Ok(Some(table.grow(more, x).unwrap_or(u64::MAX)));
        }
        Runtime::TableFill => {
            let elements = table.elements_mut();
            let place = range(width(x, is_wide), count(z, is_wide), elements.len());
            elements[place.ok_or(outside)?].fill(y);
        }
        Runtime::TableInit => {
            let items = &instance.elements[numbers[1] as usize];
            let elements = table.elements_mut();
            let length = count(z, false);
            let from = range(u64::from(y as u32), length, items.len());
            let to = range(width(x, is_wide), length, elements.len());
            let (Some(from), Some(to)) = (from, to) else {
                return Err(outside);
            };
            elements[to].copy_from_slice(&items[from]);
        }
        Runtime::TableCopy => {
            let source = instance.table_numbers[numbers[1] as usize];
            let from_wide = store.tables[source].kind().is_wide;
            let length = count(z, is_wide && from_wide);
            let from = range(
                width(y, from_wide),
                length,
                store.tables[source].elements().len(),
            );
            let to = range(
                width(x, is_wide),
                length,
                store.tables[number].elements().len(),
            );
            let (Some(from), Some(to)) = (from, to) else {
                return Err(outside);
            };
            if source == number {
                let elements = store.tables[number].elements_mut();
                elements.copy_within(from, to.start);
            } else {
                let items = store.tables[source].elements()[from].to_vec();
                store.tables[number].elements_mut()[to].copy_from_slice(&items);
            }
        }
        _ => return Err(Reason::Unreachable.into()),
    }
    Ok(None)
}

fn copy_memory(store: &mut Store, numbers: [u32; 2], operands: [u64; 3]) -> Result<(), Trap> {
    let [to, from] = numbers.map(|number| &store.memories[number]);
    let [x, y, z] = operands;
    let [to_wide, from_wide] = [to, from].map(|memory| memory.kind().is_wide);
    let length = width(z, to_wide && from_wide);
    let done = Memory::copy_between((to, width(x, to_wide)), (from, width(y, from_wide)), length);
    if done {
        Ok(())
    } else {
        Err(Reason::OutOfBoundsMemory.into())
    }
}

/// An address, an index or a count of as many bits as the memory or table says.
fn width(bits: u64, is_wide: bool) -> u64 {
    if is_wide {
        bits
    } else {
        u64::from(bits as u32)
    }
}

fn count(bits: u64, is_wide: bool) -> usize {
    width(bits, is_wide) as usize
}
