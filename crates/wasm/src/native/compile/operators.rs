//! The operators one by one: each becomes instructions of the code generator, or an operation of the
//! runtime. Values are taken from the operand stack, and results are put there.

use canny_tables::guest::{FieldPart, Reason, Runtime};
use canny_wasm_meaning::{self as meaning};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::types::{F32, F64, I8X16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use wasmparser::{HeapType, Operator};

use super::{Compiler, Refusal, kind_of};
use crate::binary_types::heap_type;
use crate::casts;
use crate::definitions::{self, Definition};
use crate::heap::{I31, I31_BITS};
use crate::translate::aggregates::{Sign, part};
use crate::translate::atomics::wait_numbers;
use crate::translate::operators::{binary_of, compare_of, unary_of};
use crate::types::{self, Storage};

impl Compiler<'_, '_> {
    pub(super) fn operator(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        if let Some(depth) = self.unreachable {
            match operator {
                O::Block { .. } | O::Loop { .. } | O::If { .. } | O::TryTable { .. } => {
                    self.unreachable = Some(depth + 1);
                    return Ok(());
                }
                O::End if depth > 0 => {
                    self.unreachable = Some(depth - 1);
                    return Ok(());
                }
                O::End => {}
                O::Else if depth == 0 => {}
                _ => return Ok(()),
            }
        }
        let is_done = self.number_operator(&operator)
            || self.access(&operator)
            || self.vector(&operator)
            || self.atomic(&operator)
            || self.bytes_operation(&operator);
        if is_done {
            return Ok(());
        }
        self.other(operator)
    }

    fn number_operator(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        let value = match *operator {
            O::I32Const { value } => self.b.ins().iconst(I32, i64::from(value as u32)),
            O::I64Const { value } => self.b.ins().iconst(I64, value),
            O::F32Const { value } => self.b.ins().f32const(Ieee32::with_bits(value.bits())),
            O::F64Const { value } => self.b.ins().f64const(Ieee64::with_bits(value.bits())),
            O::I32Eqz | O::I64Eqz | O::RefIsNull => {
                let x = self.pop();
                let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, x, 0);
                self.b.ins().uextend(I32, is_zero)
            }
            O::I32ReinterpretF32 => self.reinterpret(I32),
            O::I64ReinterpretF64 => self.reinterpret(I64),
            O::F32ReinterpretI32 => self.reinterpret(F32),
            O::F64ReinterpretI64 => self.reinterpret(F64),
            _ => return self.arithmetic(operator),
        };
        self.push(value);
        true
    }

    fn reinterpret(&mut self, to: Type) -> Value {
        let x = self.pop();
        self.b.ins().bitcast(to, MemFlagsData::new(), x)
    }

    fn arithmetic(&mut self, operator: &Operator) -> bool {
        let value = if let Some(op) = binary_of(operator) {
            let (y, x) = (self.pop(), self.pop());
            meaning::binary(self, op, x, y)
        } else if let Some(op) = compare_of(operator) {
            let (y, x) = (self.pop(), self.pop());
            let holds = meaning::compare(self.b, op, x, y);
            self.b.ins().uextend(I32, holds)
        } else if let Some(op) = unary_of(operator) {
            let x = self.pop();
            meaning::unary(self, op, x)
        } else {
            return false;
        };
        self.push(value);
        true
    }

    /// Control, variables, calls.
    fn other(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        match operator {
            O::Nop => {}
            O::Unreachable => {
                self.b.ins().trap(super::trap(Reason::Unreachable));
                self.unreachable = Some(0);
            }
            O::Block { blockty } => self.open_block(blockty),
            O::Loop { blockty } => self.open_loop(blockty),
            O::If { blockty } => self.open_if(blockty),
            O::Else => self.open_else(),
            O::End => self.close(),
            O::Br { relative_depth } => self.branch(relative_depth),
            O::BrIf { relative_depth } => {
                let condition = self.pop();
                self.branch_if(condition, true, relative_depth);
            }
            O::BrTable { targets } => self.branch_table(&targets)?,
            O::Return => self.give_results(),
            O::Drop => {
                self.pop();
            }
            O::Select | O::TypedSelect { .. } => {
                let condition = self.pop();
                let (y, x) = (self.pop(), self.pop());
                let value = self.b.ins().select(condition, x, y);
                self.push(value);
            }
            O::LocalGet { local_index } => {
                let value = self.b.use_var(self.locals[local_index as usize]);
                self.push(value);
            }
            O::LocalSet { local_index } => {
                let value = self.pop();
                self.b.def_var(self.locals[local_index as usize], value);
            }
            O::LocalTee { local_index } => {
                let value = self.pop();
                self.b.def_var(self.locals[local_index as usize], value);
                self.push(value);
            }
            O::GlobalGet { global_index } => self.global_get(global_index),
            O::GlobalSet { global_index } => self.global_set(global_index),
            O::MemorySize { mem } => self.memory_size(mem),
            O::RefNull { .. } => {
                let null = self.b.ins().iconst(I64, 0);
                self.push(null);
            }
            _ => return self.references(operator),
        }
        Ok(())
    }

    fn references(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        match operator {
            O::RefFunc { function_index } => {
                let numbers = [function_index, 0];
                self.operation(Runtime::ReferenceFunction, 0, Some(I64), numbers);
            }
            O::RefAsNonNull => {
                let reference = self.pop();
                self.b
                    .ins()
                    .trapz(reference, super::trap(Reason::NullReference));
                self.push(reference);
            }
            O::BrOnNull { relative_depth } => {
                let reference = self.pop();
                self.branch_if(reference, false, relative_depth);
                self.push(reference);
            }
            O::BrOnNonNull { relative_depth } => {
                // The reference is the last value of the branch, and gone otherwise.
                let reference = self.pop();
                self.push(reference);
                self.branch_if(reference, true, relative_depth);
                self.pop();
            }
            O::Call { function_index } => self.call(function_index, false)?,
            O::ReturnCall { function_index } => self.call(function_index, true)?,
            O::CallIndirect {
                type_index,
                table_index,
            } => self.call_indirect(type_index, table_index)?,
            O::CallRef { type_index } => self.call_reference(type_index)?,
            O::TryTable { try_table } => self.open_try(&try_table),
            O::Throw { tag_index } => self.throw(tag_index),
            O::ThrowRef => self.throw_reference(),
            _ => return self.bulk(operator),
        }
        Ok(())
    }

    /// Memories and tables as wholes.
    fn bulk(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        use Runtime as R;
        let parts = self.module.parts();
        let index_type = |is_wide: bool| if is_wide { I64 } else { I32 };
        let of_memory = |number: u32| index_type(parts.memories[number as usize].is_wide);
        let of_table = |number: u32| index_type(parts.tables[number as usize].is_wide);
        let (op, operands, result, numbers) = match operator {
            O::MemoryGrow { mem } => (R::MemoryGrow, 1, Some(of_memory(mem)), [mem, 0]),
            O::MemoryFill { mem } => (R::MemoryFill, 3, None, [mem, 0]),
            O::MemoryCopy { dst_mem, src_mem } => (R::MemoryCopy, 3, None, [dst_mem, src_mem]),
            O::MemoryInit { data_index, mem } => (R::MemoryInit, 3, None, [mem, data_index]),
            O::DataDrop { data_index } => (R::DataDrop, 0, None, [data_index, 0]),
            O::TableGet { table } => (R::TableGet, 1, Some(I64), [table, 0]),
            O::TableSet { table } => (R::TableSet, 2, None, [table, 0]),
            O::TableSize { table } => (R::TableSize, 0, Some(of_table(table)), [table, 0]),
            O::TableGrow { table } => (R::TableGrow, 2, Some(of_table(table)), [table, 0]),
            O::TableFill { table } => (R::TableFill, 3, None, [table, 0]),
            O::TableCopy {
                dst_table,
                src_table,
            } => (R::TableCopy, 3, None, [dst_table, src_table]),
            O::TableInit { elem_index, table } => (R::TableInit, 3, None, [table, elem_index]),
            O::ElemDrop { elem_index } => (R::ElementDrop, 0, None, [elem_index, 0]),
            O::MemoryAtomicNotify { memarg } => {
                (R::MemoryNotify, 2, Some(I32), wait_numbers(&memarg))
            }
            O::MemoryAtomicWait32 { memarg } => {
                (R::MemoryWait32, 3, Some(I32), wait_numbers(&memarg))
            }
            O::MemoryAtomicWait64 { memarg } => {
                (R::MemoryWait64, 3, Some(I32), wait_numbers(&memarg))
            }
            other => return self.structs(other),
        };
        self.operation(op, operands, result, numbers);
        Ok(())
    }

    fn structs(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        match operator {
            O::StructNew { struct_type_index } => {
                let count = self.definition(struct_type_index).fields().len();
                let numbers = [self.type_number(struct_type_index), 0];
                self.operation_on_row(Runtime::StructNew, count, numbers);
            }
            O::StructNewDefault { struct_type_index } => {
                let numbers = [self.type_number(struct_type_index), 0];
                self.operation(Runtime::StructNewDefault, 0, Some(I64), numbers);
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
                self.operation(Runtime::StructSet, 2, None, [place, part]);
            }
            O::RefI31 => {
                let x = self.pop();
                let bits = self.b.ins().iconst(I32, I31_BITS as i64);
                let x = self.b.ins().band(x, bits);
                let x = self.b.ins().uextend(I64, x);
                let tag = self.b.ins().iconst(I64, I31 as i64);
                let word = self.b.ins().bor(x, tag);
                self.push(word);
            }
            O::I31GetU => {
                let x = self.i31();
                self.push(x);
            }
            O::I31GetS => {
                let x = self.i31();
                let x = self.b.ins().ishl_imm_u(x, 1);
                let x = self.b.ins().sshr_imm_u(x, 1);
                self.push(x);
            }
            O::RefEq => {
                let (y, x) = (self.pop(), self.pop());
                let same = self.b.ins().icmp(IntCC::Equal, x, y);
                let same = self.b.ins().uextend(I32, same);
                self.push(same);
            }
            // A word stays what it is.
            O::AnyConvertExtern | O::ExternConvertAny => {}
            _ => return self.cast(operator),
        }
        Ok(())
    }

    fn i31(&mut self) -> Value {
        let word = self.pop();
        self.b.ins().trapz(word, super::trap(Reason::NullI31));
        self.b.ins().ireduce(I32, word)
    }

    fn cast(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        match operator {
            O::RefTestNonNull { hty } => self.test(hty, false)?,
            O::RefTestNullable { hty } => self.test(hty, true)?,
            O::RefCastNonNull { hty } => {
                let numbers = self.packed(hty, false)?;
                self.operation(Runtime::ReferenceCast, 1, Some(I64), numbers);
            }
            O::RefCastNullable { hty } => {
                let numbers = self.packed(hty, true)?;
                self.operation(Runtime::ReferenceCast, 1, Some(I64), numbers);
            }
            O::BrOnCast {
                relative_depth,
                to_ref_type,
                ..
            } => {
                let numbers = self.packed(to_ref_type.heap_type(), to_ref_type.is_nullable())?;
                self.branch_on_cast(relative_depth, numbers, true);
            }
            O::BrOnCastFail {
                relative_depth,
                to_ref_type,
                ..
            } => {
                let numbers = self.packed(to_ref_type.heap_type(), to_ref_type.is_nullable())?;
                self.branch_on_cast(relative_depth, numbers, false);
            }
            _ => return self.array(operator),
        }
        Ok(())
    }

    fn test(&mut self, heap: HeapType, nullable: bool) -> Result<(), Refusal> {
        let numbers = self.packed(heap, nullable)?;
        self.operation(Runtime::ReferenceTest, 1, Some(I32), numbers);
        Ok(())
    }

    fn packed(&self, kind: HeapType, nullable: bool) -> Result<[u32; 2], Refusal> {
        let heap = heap_type(kind, |index| types::HeapType::Type(self.type_number(index)));
        let heap = heap.map_err(|error| Refusal::Failed(error.to_string()))?;
        Ok(casts::pack(heap, nullable))
    }

    /// Branches if the newest operand passes a test, or if it does not. It stays in both cases.
    fn branch_on_cast(&mut self, depth: u32, numbers: [u32; 2], wanted: bool) {
        let Some(reference) = self.stack.last().copied() else {
            return;
        };
        let passes = self.operation_on(Runtime::ReferenceTest, &[reference], Some(I32), numbers);
        if let Some(passes) = passes {
            self.branch_if(passes, wanted, depth);
        }
    }

    fn array(&mut self, operator: Operator) -> Result<(), Refusal> {
        use Operator as O;
        use Runtime as R;
        match operator {
            O::ArrayNew { array_type_index } => {
                let number = self.type_number(array_type_index);
                self.operation(R::ArrayNew, 2, Some(I64), [number, 0]);
            }
            O::ArrayNewDefault { array_type_index } => {
                // The count is where it is with a value before it.
                let count = self.pop();
                let number = self.type_number(array_type_index);
                let operands = [count, count];
                let value =
                    self.operation_on(R::ArrayNewDefault, &operands, Some(I64), [number, 0]);
                self.stack.extend(value);
            }
            O::ArrayNewFixed {
                array_type_index,
                array_size,
            } => {
                let numbers = [self.type_number(array_type_index), array_size];
                self.operation_on_row(R::ArrayNewFixed, array_size as usize, numbers);
            }
            O::ArrayNewData {
                array_type_index,
                array_data_index,
            } => {
                let numbers = [self.type_number(array_type_index), array_data_index];
                self.operation(R::ArrayNewData, 2, Some(I64), numbers);
            }
            O::ArrayNewElem {
                array_type_index,
                array_elem_index,
            } => {
                let numbers = [self.type_number(array_type_index), array_elem_index];
                self.operation(R::ArrayNewElement, 2, Some(I64), numbers);
            }
            O::ArrayGet { array_type_index } => self.array_get(array_type_index, Sign::None),
            O::ArrayGetS { array_type_index } => self.array_get(array_type_index, Sign::Signed),
            O::ArrayGetU { array_type_index } => self.array_get(array_type_index, Sign::Unsigned),
            O::ArraySet { .. } => self.operation(R::ArraySet, 3, None, [0, 0]),
            O::ArrayLen => self.operation(R::ArrayLength, 1, Some(I32), [0, 0]),
            O::ArrayFill { .. } => self.bulk_of_array(R::ArrayFill, 4, 0),
            O::ArrayCopy { .. } => self.bulk_of_array(R::ArrayCopy, 5, 0),
            O::ArrayInitData {
                array_data_index, ..
            } => self.bulk_of_array(R::ArrayInitData, 4, array_data_index),
            O::ArrayInitElem {
                array_elem_index, ..
            } => self.bulk_of_array(R::ArrayInitElement, 4, array_elem_index),
            _ => return Err(Refusal::Unfit("it has an operator that is not compiled")),
        }
        Ok(())
    }

    /// Operands of these come up to where others have a number.
    fn bulk_of_array(&mut self, op: Runtime, count: usize, segment: u32) {
        self.operation(op, count, None, [0, segment]);
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

    fn struct_get(&mut self, index: u32, field: u32, sign: Sign) {
        let (place, storage) = self.field(index, field);
        self.get(Runtime::StructGet, 1, (storage, sign), place);
    }

    fn array_get(&mut self, index: u32, sign: Sign) {
        let storage = self.definition(index).element().unwrap_or(Storage::I8);
        self.get(Runtime::ArrayGet, 2, (storage, sign), 0);
    }

    fn get(&mut self, op: Runtime, operands: usize, (storage, sign): (Storage, Sign), place: u32) {
        let part = part(storage, sign);
        let of = match storage {
            Storage::I8 | Storage::I16 => I32,
            Storage::Value(kind) => kind_of(kind),
        };
        debug_assert_eq!(part == FieldPart::Vector, of == I8X16);
        self.operation(op, operands, Some(of), [place, part as u32]);
    }
}
