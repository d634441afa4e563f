//! Structs, arrays, small integers, and casts.
//!
//! Small integers are numbers with a tag. Everything else here is carried out by the runtime.

use canny_tables::guest::{Binary, Compare, FieldPart, Opcode, Runtime, Shape, Unary};
use wasmparser::{HeapType, Operator, RefType};

use super::{Comparison, Entry, Translator};
use crate::binary_types::heap_type;
use crate::casts;
use crate::definitions::{self, Definition};
use crate::error::Error;
use crate::heap::{I31, I31_BITS};
use crate::types::{self, Storage};

/// How an integer of few bits becomes one of 32.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    None,
    Signed,
    Unsigned,
}

impl Translator<'_> {
    /// Operators on structs.
    pub(super) fn aggregate(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        match operator {
            O::StructNew { struct_type_index } => {
                let count = self.definition(struct_type_index).fields().len();
                self.make_of_values(Runtime::StructNew, struct_type_index, count, 0);
            }
            O::StructNewDefault { struct_type_index } => {
                let number = self.type_number(struct_type_index);
                self.runtime(Runtime::StructNewDefault, 0, true, [number, 0]);
            }
            O::StructGet {
                struct_type_index,
                field_index,
            } => self.struct_get(struct_type_index, field_index, Sign::None),
            O::StructGetS {
                struct_type_index,
                field_index,
            } => self.struct_get(struct_type_index, field_index, Sign::Signed),
            O::StructGetU {
                struct_type_index,
                field_index,
            } => self.struct_get(struct_type_index, field_index, Sign::Unsigned),
            O::StructSet {
                struct_type_index,
                field_index,
            } => {
                let (place, storage) = self.field(struct_type_index, field_index);
                let part = part(storage, Sign::None) as u32;
                self.runtime(Runtime::StructSet, 2, false, [place, part]);
            }
            O::RefI31 => {
                self.push(Entry::Constant(I31_BITS));
                self.binary(Binary::I32And);
                self.unary(Unary::I64ExtendI32U);
                self.push(Entry::Constant(I31));
                self.binary(Binary::I64Or);
            }
            // The lower half of the word is the integer.
            O::I31GetU => self.i31_word(),
            O::I31GetS => {
                self.i31_word();
                self.push(Entry::Constant(1));
                self.binary(Binary::I32Shl);
                self.push(Entry::Constant(1));
                self.binary(Binary::I32ShrS);
            }
            O::RefEq => self.compare(Compare::I64Eq),
            // A word stays what it is.
            O::AnyConvertExtern | O::ExternConvertAny => {}
            _ => return self.cast(operator),
        }
        Ok(())
    }

    fn cast(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        match operator {
            O::RefTestNonNull { hty } => self.test(Runtime::ReferenceTest, hty, false)?,
            O::RefTestNullable { hty } => self.test(Runtime::ReferenceTest, hty, true)?,
            O::RefCastNonNull { hty } => self.test(Runtime::ReferenceCast, hty, false)?,
            O::RefCastNullable { hty } => self.test(Runtime::ReferenceCast, hty, true)?,
            O::BrOnCast {
                relative_depth,
                to_ref_type,
                ..
            } => self.branch_on_cast(relative_depth, to_ref_type, true)?,
            O::BrOnCastFail {
                relative_depth,
                to_ref_type,
                ..
            } => self.branch_on_cast(relative_depth, to_ref_type, false)?,
            _ => return self.array(operator),
        }
        Ok(())
    }

    fn array(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        match operator {
            O::ArrayNew { array_type_index } => {
                let number = self.type_number(array_type_index);
                self.runtime(Runtime::ArrayNew, 2, true, [number, 0]);
            }
            O::ArrayNewDefault { array_type_index } => {
                // The count is where it is with a value before it.
                let count = self.pop_slot();
                let number = self.type_number(array_type_index);
                let op = Opcode::Runtime(Runtime::ArrayNewDefault);
                let place = self.code.put(op);
                self.code.set16(place, 12, count);
                self.code.set32(place, 16, number);
                self.result(place, op);
            }
            O::ArrayNewFixed {
                array_type_index,
                array_size,
            } => {
                let count = array_size as usize;
                self.make_of_values(Runtime::ArrayNewFixed, array_type_index, count, array_size);
            }
            O::ArrayNewData {
                array_type_index,
                array_data_index,
            } => {
                let number = self.type_number(array_type_index);
                self.runtime(Runtime::ArrayNewData, 2, true, [number, array_data_index]);
            }
            O::ArrayNewElem {
                array_type_index,
                array_elem_index,
            } => {
                let number = self.type_number(array_type_index);
                self.runtime(
                    Runtime::ArrayNewElement,
                    2,
                    true,
                    [number, array_elem_index],
                );
            }
            O::ArrayGet { array_type_index } => self.array_get(array_type_index, Sign::None),
            O::ArrayGetS { array_type_index } => self.array_get(array_type_index, Sign::Signed),
            O::ArrayGetU { array_type_index } => self.array_get(array_type_index, Sign::Unsigned),
            O::ArraySet { .. } => {
                self.runtime(Runtime::ArraySet, 3, false, [0, 0]);
            }
            O::ArrayLen => {
                self.runtime(Runtime::ArrayLength, 1, true, [0, 0]);
            }
            O::ArrayFill { .. } => self.array_bulk(Runtime::ArrayFill, 4, 0),
            O::ArrayCopy { .. } => self.array_bulk(Runtime::ArrayCopy, 5, 0),
            O::ArrayInitData {
                array_data_index, ..
            } => self.array_bulk(Runtime::ArrayInitData, 4, array_data_index),
            O::ArrayInitElem {
                array_elem_index, ..
            } => self.array_bulk(Runtime::ArrayInitElement, 4, array_elem_index),
            other => {
                return Err(Error::Invalid {
                    text: format!("the instruction {other:?} is not supported yet"),
                    offset: self.offset,
                });
            }
        }
        Ok(())
    }

    fn type_number(&self, index: u32) -> u32 {
        self.module.parts().types[index as usize]
    }

    fn definition(&self, index: u32) -> &'static Definition {
        definitions::definition(self.type_number(index))
    }

    /// The first word of a struct's field, and what it has.
    fn field(&self, index: u32, field: u32) -> (u32, Storage) {
        let definition = self.definition(index);
        let storage = definition.fields()[field as usize].storage;
        (definition.places[field as usize], storage)
    }

    /// Makes an object of the newest operands.
    fn make_of_values(&mut self, op: Runtime, index: u32, count: usize, number: u32) {
        self.settle_top(count);
        let first = self.stack.len() - count;
        let slot = self.place_of(first);
        let kind = self.type_number(index);
        let place = self.code.put(Opcode::Runtime(op));
        self.code.set16(place, 10, slot);
        self.code.set32(place, 16, kind);
        self.code.set32(place, 20, number);
        self.stack.truncate(first);
        self.last = None;
        self.result(place, Opcode::Runtime(op));
    }

    fn struct_get(&mut self, index: u32, field: u32, sign: Sign) {
        let (place, storage) = self.field(index, field);
        self.get(Runtime::StructGet, 1, storage, sign, place);
    }

    fn array_get(&mut self, index: u32, sign: Sign) {
        let storage = self.definition(index).element().unwrap_or(Storage::I8);
        self.get(Runtime::ArrayGet, 2, storage, sign, 0);
    }

    fn get(&mut self, op: Runtime, operands: usize, storage: Storage, sign: Sign, place: u32) {
        let part = part(storage, sign);
        if part != FieldPart::Vector {
            self.runtime(op, operands, true, [place, part as u32]);
            return;
        }
        let instruction = self.runtime(op, operands, false, [place, part as u32]);
        let slot = self.top();
        let slot = self.own_slot(slot, true);
        self.code.set16(instruction, 8, slot);
        self.push_operand(Entry::Own, true);
    }

    /// An instruction with more operands than others: from 10 on, and a segment.
    fn array_bulk(&mut self, op: Runtime, operands: usize, segment: u32) {
        let mut slots = [0; 5];
        for slot in slots[..operands].iter_mut().rev() {
            *slot = self.pop_slot();
        }
        let place = self.code.put(Opcode::Runtime(op));
        self.code.set32(place, 20, segment);
        for (index, slot) in slots[..operands].iter().enumerate() {
            self.code.set16(place, 10 + 2 * index, *slot);
        }
        self.last = None;
    }

    /// Lets the newest operand, a reference, be a number.
    fn i31_word(&mut self) {
        let operand = self.pop();
        let slot = self.slot_of(operand);
        self.trap_if_null(slot, Runtime::NullI31Trap);
        self.push(operand.entry);
    }

    fn heap_type(&self, kind: HeapType) -> Result<types::HeapType, Error> {
        heap_type(kind, |index| types::HeapType::Type(self.type_number(index)))
    }

    fn test(&mut self, op: Runtime, kind: HeapType, nullable: bool) -> Result<(), Error> {
        let numbers = casts::pack(self.heap_type(kind)?, nullable);
        self.runtime(op, 1, true, numbers);
        Ok(())
    }

    /// Branches if the newest operand passes a test, or if it does not. It stays in both cases.
    fn branch_on_cast(&mut self, depth: u32, kind: RefType, wanted: bool) -> Result<(), Error> {
        let heap = self.heap_type(kind.heap_type())?;
        let [number, flags] = casts::pack(heap, kind.is_nullable());
        let operand = self.pop();
        let slot = self.slot_of(operand);
        self.push(operand.entry);
        let above = self.top();
        let outcome = self.own_slot(above, false);
        let place = self.code.put(Opcode::Runtime(Runtime::ReferenceTest));
        self.code.set16(place, 8, outcome);
        self.code.set16(place, 10, slot);
        self.code.set32(place, 16, number);
        self.code.set32(place, 20, flags);
        self.last = None;
        let passes = Comparison {
            op: Compare::I32Ne,
            shape: Shape::Right,
            x: outcome,
            y: 0,
            constant: 0,
            producer: None,
        };
        self.branch_on(passes, wanted, depth);
        Ok(())
    }
}

/// The part of a field that an instruction reads or sets.
pub(crate) fn part(storage: Storage, sign: Sign) -> FieldPart {
    match (storage, sign) {
        (Storage::I8, Sign::Signed) => FieldPart::Signed8,
        (Storage::I8, Sign::Unsigned) => FieldPart::Unsigned8,
        (Storage::I16, Sign::Signed) => FieldPart::Signed16,
        (Storage::I16, Sign::Unsigned) => FieldPart::Unsigned16,
        _ if storage.words() == 2 => FieldPart::Vector,
        _ => FieldPart::Word,
    }
}
