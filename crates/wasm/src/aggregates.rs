//! Instructions that make structs and arrays, and that read and change them.
//!
//! Operands stay in the frame until an object is there, since a search for references may come before.

use std::ops::Range;

use canny_tables::guest::{FieldPart, Reason, Runtime};

use crate::activation::Activation;
use crate::code::{read16, read32};
use crate::definitions::{Definition, definition};
use crate::error::Trap;
use crate::heap::Object;
use crate::link::range;
use crate::record::InstanceRecord;
use crate::store::Store;
use crate::types::Storage;

/// The operands of an instruction.
#[derive(Clone, Copy)]
struct Operands<'a> {
    words: &'a [u64],
    frame: *mut u64,
    instance: *const InstanceRecord,
}

impl<'a> Operands<'a> {
    /// The word in the slot that the operand at an offset names.
    fn word(self, at: usize) -> u64 {
        let slot = read16(self.words, at) as usize;
        // SAFETY: translated code names slots of its frame only.
        unsafe { self.frame.add(slot).read() }
    }

    /// An index or a count there.
    fn count(self, at: usize) -> usize {
        self.word(at) as u32 as usize
    }

    /// The value there that goes to a field.
    fn value(self, at: usize, storage: Storage) -> u128 {
        let slot = read16(self.words, at) as usize;
        let upper = if storage.words() == 2 {
            // SAFETY: as above; a vector has two slots.
            unsafe { self.frame.add(slot + 1).read() }
        } else {
            0
        };
        u128::from(self.word(at)) | u128::from(upper) << 64
    }

    /// So many slots from the one at an offset on.
    fn slots(self, at: usize, count: usize) -> &'a [u64] {
        let slot = read16(self.words, at) as usize;
        // SAFETY: as above; the values lie there in order, and nothing changes the frame meanwhile.
        unsafe { std::slice::from_raw_parts(self.frame.add(slot), count) }
    }

    fn number(self, at: usize) -> u32 {
        read32(self.words, at)
    }

    fn definition(self) -> &'static Definition {
        definition(self.number(16))
    }

    /// Sets the result.
    fn give(self, word: u64) {
        let slot = read16(self.words, 8) as usize;
        // SAFETY: as above.
        unsafe { self.frame.add(slot).write(word) };
    }

    /// Sets the result to a part of a field.
    fn give_part(self, value: u128, part: u32) {
        let bits = value as u64;
        self.give(match FieldPart::of(part) {
            FieldPart::Signed8 => bits as i8 as i32 as u32 as u64,
            FieldPart::Unsigned8 => u64::from(bits as u8),
            FieldPart::Signed16 => bits as i16 as i32 as u32 as u64,
            FieldPart::Unsigned16 => u64::from(bits as u16),
            FieldPart::Word | FieldPart::Vector => bits,
        });
        if FieldPart::of(part) == FieldPart::Vector {
            let slot = read16(self.words, 8) as usize + 1;
            // SAFETY: as above; a vector has two slots.
            unsafe { self.frame.add(slot).write((value >> 64) as u64) };
        }
    }

    /// The bytes of a segment of data, of which a dropped one has none.
    fn data(self, segment: u32) -> &'a [u8] {
        // SAFETY: the instance belongs to the store, and its module's bytes live as long.
        let instance = unsafe { &*self.instance };
        match &instance.module {
            Some(module) if !instance.dropped_data[segment as usize] => {
                &module.bytes()[module.parts().data[segment as usize].bytes.clone()]
            }
            _ => &[],
        }
    }

    /// The words of a segment of elements.
    fn elements(self, segment: u32) -> &'a [u64] {
        // SAFETY: the instance belongs to the store; nothing changes its segments meanwhile.
        let instance = unsafe { &*self.instance };
        &instance.elements[segment as usize]
    }
}

impl Store {
    /// Carries an operation on structs and arrays out; gives whether it is one.
    pub(crate) fn aggregate(
        &mut self,
        activation: &mut Activation,
        operation: Runtime,
        words: &[u64],
    ) -> Result<bool, Trap> {
        let operands = Operands {
            words,
            frame: activation.frame,
            instance: activation.instance,
        };
        match operation {
            Runtime::StructNew | Runtime::StructNewDefault => {
                let definition = operands.definition();
                let word = self.allocate(activation, definition, 0)?;
                if operation == Runtime::StructNew {
                    let fields = self.struct_mut(word)?.words_mut();
                    fields.copy_from_slice(operands.slots(10, definition.words));
                }
                operands.give(word);
            }
            Runtime::StructGet => {
                let fields = self.heap.get(operands.word(10)).ok_or(Reason::NullStruct)?;
                let place = operands.number(16) as usize;
                let part = operands.number(20);
                let upper = match FieldPart::of(part) {
                    FieldPart::Vector => word_at(fields, place + 1)?,
                    _ => 0,
                };
                let value = u128::from(word_at(fields, place)?) | u128::from(upper) << 64;
                operands.give_part(value, part);
            }
            Runtime::StructSet => {
                let place = operands.number(16) as usize;
                let count = match FieldPart::of(operands.number(20)) {
                    FieldPart::Vector => 2,
                    _ => 1,
                };
                let value = operands.slots(12, count);
                let fields = self.struct_mut(operands.word(10))?.words_mut();
                let field = fields.get_mut(place..place + count);
                field.ok_or(Reason::NullStruct)?.copy_from_slice(value);
            }
            Runtime::ReferenceTest | Runtime::ReferenceCast => {
                let numbers = [operands.number(16), operands.number(20)];
                operands.give(self.cast(operation, operands.word(10), numbers)?);
            }
            Runtime::ArrayNew
            | Runtime::ArrayNewDefault
            | Runtime::ArrayNewFixed
            | Runtime::ArrayNewData
            | Runtime::ArrayNewElement => self.make_array(activation, operation, operands)?,
            Runtime::ArrayGet
            | Runtime::ArraySet
            | Runtime::ArrayLength
            | Runtime::ArrayFill
            | Runtime::ArrayCopy
            | Runtime::ArrayInitData
            | Runtime::ArrayInitElement => self.array(operation, operands)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn struct_mut(&mut self, word: u64) -> Result<&mut Object, Trap> {
        self.heap.get_mut(word).ok_or(Reason::NullStruct.into())
    }

    fn array_mut(&mut self, word: u64) -> Result<&mut Object, Trap> {
        self.heap.get_mut(word).ok_or(Reason::NullArray.into())
    }

    fn make_array(
        &mut self,
        activation: &mut Activation,
        operation: Runtime,
        operands: Operands,
    ) -> Result<(), Trap> {
        let definition = operands.definition();
        let storage = element(definition)?;
        let segment = operands.number(20);
        let length = match operation {
            Runtime::ArrayNewFixed => segment as usize,
            _ => operands.count(12),
        };
        // The segment is checked first: an object may be too large as well.
        let offset = || u64::from(operands.word(10) as u32);
        let bytes = match operation {
            Runtime::ArrayNewData => {
                let data = operands.data(segment);
                let place = range(offset(), length * storage.bytes(), data.len());
                &data[place.ok_or(Reason::OutOfBoundsMemory)?]
            }
            _ => &[],
        };
        let elements = match operation {
            Runtime::ArrayNewElement => {
                let elements = operands.elements(segment);
                let place = range(offset(), length, elements.len());
                &elements[place.ok_or(Reason::OutOfBoundsTable)?]
            }
            Runtime::ArrayNewFixed => operands.slots(10, length * storage.words()),
            _ => &[],
        };
        let word = self.allocate(activation, definition, length as u32)?;
        let array = self.array_mut(word)?;
        match operation {
            Runtime::ArrayNew => array.fill(0..length, operands.value(10, storage)),
            Runtime::ArrayNewData => array.set_bytes(0, bytes),
            _ => set_elements(array, 0, elements, storage.words()),
        }
        operands.give(word);
        Ok(())
    }

    fn array(&mut self, operation: Runtime, operands: Operands) -> Result<(), Trap> {
        let word = operands.word(10);
        if operation == Runtime::ArrayCopy {
            return self.copy_array(word, operands);
        }
        let segment = operands.number(20);
        let array = self.array_mut(word)?;
        let storage = element(array.definition)?;
        let length = array.length as usize;
        let first = operands.count(12);
        let room = |count: usize| {
            let place = range(first as u64, count, length);
            place.ok_or(Trap::Reason(Reason::OutOfBoundsArray))
        };
        match operation {
            Runtime::ArrayGet => {
                let value = array.element(room(1)?.start);
                operands.give_part(value, segment);
            }
            Runtime::ArraySet => array.set_element(room(1)?.start, operands.value(14, storage)),
            Runtime::ArrayLength => operands.give(length as u64),
            Runtime::ArrayFill => {
                let place = room(operands.count(16))?;
                array.fill(place, operands.value(14, storage));
            }
            Runtime::ArrayInitData => {
                let count = operands.count(16);
                let place = room(count)?;
                let data = operands.data(segment);
                let from = range(
                    u64::from(operands.word(14) as u32),
                    count * storage.bytes(),
                    data.len(),
                );
                let from = from.ok_or(Reason::OutOfBoundsMemory)?;
                array.set_bytes(place.start, &data[from]);
            }
            _ => {
                let count = operands.count(16);
                let place = room(count)?;
                let elements = operands.elements(segment);
                let from = range(u64::from(operands.word(14) as u32), count, elements.len());
                let from = from.ok_or(Reason::OutOfBoundsTable)?;
                set_elements(array, place.start, &elements[from], 1);
            }
        }
        Ok(())
    }

    /// Operands are the array, the index in it, the other array and the index there, and how many.
    fn copy_array(&mut self, word: u64, operands: Operands) -> Result<(), Trap> {
        let other = operands.word(14);
        let count = operands.count(18);
        let place = |array: Option<&Object>, first: usize| -> Result<Range<usize>, Trap> {
            let length = array.ok_or(Reason::NullArray)?.length as usize;
            let place = range(first as u64, count, length);
            place.ok_or(Trap::Reason(Reason::OutOfBoundsArray))
        };
        let both = [word, other].map(|word| self.heap.get(word));
        if both.iter().any(Option::is_none) {
            return Err(Reason::NullArray.into());
        }
        let to = place(both[0], operands.count(12))?;
        let from = place(both[1], operands.count(16))?;
        if word == other {
            self.array_mut(word)?.copy_within(from, to.start);
        } else if let Some((array, other)) = self.heap.two_mut(word, other) {
            for (to, from) in to.zip(from) {
                array.set_element(to, other.element(from));
            }
        }
        Ok(())
    }
}

/// The kind of elements that arrays of a type have.
pub fn element(definition: &Definition) -> Result<Storage, Trap> {
    definition.element().ok_or(Reason::Unreachable.into())
}

/// Sets elements from words, of which each has one or two.
pub fn set_elements(array: &mut Object, first: usize, words: &[u64], width: usize) {
    for (index, value) in words.chunks_exact(width).enumerate() {
        let upper = value.get(1).copied().unwrap_or(0);
        array.set_element(
            first + index,
            u128::from(value[0]) | u128::from(upper) << 64,
        );
    }
}

fn word_at(object: &Object, place: usize) -> Result<u64, Trap> {
    let word = object.words().get(place).copied();
    word.ok_or(Trap::Reason(Reason::NullStruct))
}
