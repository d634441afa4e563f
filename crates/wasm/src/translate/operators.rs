//! The operators one by one.
//!
//! Each either has the name of a numeric operation, or an arm of its own.

use canny_tables::guest::{
    Binary as B, Compare as C, LINK_WORDS, Load as L, Number as N, Opcode, Plain, Runtime, Shape,
    Store as S, Unary as U, Vector, VectorPlain,
};
use wasmparser::Operator;

use super::control::Kind;
use super::values::Values;
use super::{Comparison, Entry, Translator, atomics};
use crate::definitions;
use crate::error::Error;
use crate::types::{FunctionType, ValueType};

/// Operators that have the name of an operation.
macro_rules! operations {
    ($operator:expr, $kind:ident: $($name:ident)*) => {
        match $operator {
            $(Operator::$name => Some($kind::$name),)*
            _ => None,
        }
    };
}

pub(super) use operations;

/// Where the function of a call comes from.
#[derive(Clone, Copy)]
enum Callee {
    Function(u32),
    /// The slot of the index, the table, the number of the type.
    Table(u16, u32, u32),
    /// The slot of the reference.
    Reference(u16),
}

impl Translator<'_> {
    pub(super) fn operator(&mut self, operator: Operator) -> Result<(), Error> {
        if let Some(depth) = self.unreachable {
            match operator {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::TryTable { .. } => {
                    self.unreachable = Some(depth + 1);
                    return Ok(());
                }
                Operator::End if depth > 0 => {
                    self.unreachable = Some(depth - 1);
                    return Ok(());
                }
                Operator::End => {}
                Operator::Else if depth == 0 => {}
                _ => return Ok(()),
            }
        }
        if self.number(&operator) {
            Ok(())
        } else {
            self.other(operator)
        }
    }

    /// Numbers and accesses to memory; gives whether the operator is one of these.
    fn number(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        match *operator {
            O::I32Const { value } => self.push(Entry::Constant(i64::from(value) as u64)),
            O::I64Const { value } => self.push(Entry::Constant(value as u64)),
            O::F32Const { value } => self.push(Entry::Constant(u64::from(value.bits()))),
            O::F64Const { value } => self.push(Entry::Constant(value.bits())),
            O::I32Load { memarg } | O::F32Load { memarg } => self.load(L::Bits32, memarg),
            O::I64Load { memarg } | O::F64Load { memarg } => self.load(L::Bits64, memarg),
            O::I32Load8S { memarg } => self.load(L::I32From8S, memarg),
            O::I32Load8U { memarg } => self.load(L::I32From8U, memarg),
            O::I32Load16S { memarg } => self.load(L::I32From16S, memarg),
            O::I32Load16U { memarg } => self.load(L::I32From16U, memarg),
            O::I64Load8S { memarg } => self.load(L::I64From8S, memarg),
            O::I64Load8U { memarg } => self.load(L::I64From8U, memarg),
            O::I64Load16S { memarg } => self.load(L::I64From16S, memarg),
            O::I64Load16U { memarg } => self.load(L::I64From16U, memarg),
            O::I64Load32S { memarg } => self.load(L::I64From32S, memarg),
            O::I64Load32U { memarg } => self.load(L::I64From32U, memarg),
            O::I32Store { memarg } => self.store(S::Bits32, memarg, N::I32),
            O::F32Store { memarg } => self.store(S::Bits32, memarg, N::F32),
            O::I64Store { memarg } => self.store(S::Bits64, memarg, N::I64),
            O::F64Store { memarg } => self.store(S::Bits64, memarg, N::F64),
            O::I32Store8 { memarg } => self.store(S::Bits8, memarg, N::I32),
            O::I64Store8 { memarg } => self.store(S::Bits8, memarg, N::I64),
            O::I32Store16 { memarg } => self.store(S::Bits16, memarg, N::I32),
            O::I64Store16 { memarg } => self.store(S::Bits16, memarg, N::I64),
            O::I64Store32 { memarg } => self.store(S::Bits32, memarg, N::I64),
            O::I32Eqz => self.is_zero(C::I32Eq),
            O::I64Eqz | O::RefIsNull => self.is_zero(C::I64Eq),
            // The bits of a slot are what they are.
            O::I32ReinterpretF32
            | O::I64ReinterpretF64
            | O::F32ReinterpretI32
            | O::F64ReinterpretI64 => {}
            _ => return self.arithmetic(operator),
        }
        true
    }

    fn arithmetic(&mut self, operator: &Operator) -> bool {
        if let Some(op) = binary_of(operator) {
            self.binary(op);
        } else if let Some(op) = compare_of(operator) {
            self.compare(op);
        } else if let Some(op) = unary_of(operator) {
            self.unary(op);
        } else {
            return self.atomic(operator) || self.vector(operator);
        }
        true
    }

    /// Control, variables, calls; the rest goes on in [`Self::bulk`].
    fn other(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        match operator {
            O::Nop => {}
            O::Unreachable => {
                self.code.put(Opcode::Plain(Plain::Unreachable));
                self.unreachable = Some(0);
                self.last = None;
            }
            O::Block { blockty } => self.open(Kind::Block, blockty),
            O::Loop { blockty } => self.open(Kind::Loop, blockty),
            O::TryTable { try_table } => self.open_try(&try_table),
            O::Throw { tag_index } => self.throw(tag_index),
            O::ThrowRef => self.throw_reference(),
            O::If { blockty } => self.open_if(blockty),
            O::Else => self.open_else(),
            O::End => self.close(),
            O::Br { relative_depth } => self.branch(relative_depth),
            O::BrIf { relative_depth } => self.branch_when(relative_depth),
            O::BrTable { targets } => self.branch_table(&targets)?,
            O::Return => {
                self.write_return();
                self.unreachable = Some(0);
            }
            O::Drop => {
                self.pop();
                self.last = None;
            }
            O::Select | O::TypedSelect { .. } => self.select(),
            O::LocalGet { local_index } => self.push(Entry::Local(local_index)),
            O::LocalSet { local_index } => self.set_local(local_index),
            O::LocalTee { local_index } => {
                self.set_local(local_index);
                self.push(Entry::Local(local_index));
            }
            O::GlobalGet { global_index } => self.global_get(global_index),
            O::GlobalSet { global_index } => self.global_set(global_index),
            O::MemorySize { mem } => {
                let place = self.code.put(Opcode::Plain(Plain::MemorySize));
                self.code.set32(place, 12, mem);
                self.result(place, Opcode::Plain(Plain::MemorySize));
            }
            O::AtomicFence { .. } => {
                self.code.put(Opcode::Plain(Plain::Fence));
                self.last = None;
            }
            O::RefNull { .. } => self.push(Entry::Constant(0)),
            O::RefFunc { function_index } => {
                let place = self.code.put(Opcode::Runtime(Runtime::ReferenceFunction));
                self.code.set32(place, 16, function_index);
                self.result(place, Opcode::Runtime(Runtime::ReferenceFunction));
            }
            O::RefAsNonNull => {
                let slot = self.pop_slot();
                self.expect_reference(slot);
                self.push_same(slot);
            }
            O::BrOnNull { relative_depth } => {
                let slot = self.pop_slot();
                self.branch_on(null_test(C::I64Eq, slot), true, relative_depth);
                self.push_same(slot);
            }
            O::BrOnNonNull { relative_depth } => {
                // The reference is the last value of the branch, and gone otherwise.
                let operand = self.pop();
                let slot = self.slot_of(operand);
                self.push(operand.entry);
                self.branch_on(null_test(C::I64Ne, slot), true, relative_depth);
                self.pop();
            }
            _ => return self.calls(operator),
        }
        Ok(())
    }

    fn is_vector_global(&self, index: u32) -> bool {
        self.module.parts().globals[index as usize].value == ValueType::V128
    }

    fn global_get(&mut self, index: u32) {
        let opcode = if self.is_vector_global(index) {
            Opcode::Vector(Vector::Plain(VectorPlain::GlobalGet))
        } else {
            Opcode::Plain(Plain::GlobalGet)
        };
        let place = self.code.put(opcode);
        self.code.set32(place, 12, index);
        self.result(place, opcode);
    }

    fn global_set(&mut self, index: u32) {
        let opcode = if self.is_vector_global(index) {
            Opcode::Vector(Vector::Plain(VectorPlain::GlobalSet))
        } else {
            Opcode::Plain(Plain::GlobalSet)
        };
        let value = self.pop_slot();
        let place = self.code.put(opcode);
        self.code.set16(place, 8, value);
        self.code.set32(place, 12, index);
        self.last = None;
    }

    /// Pushes what a slot has, which was the newest operand or a variable just before.
    fn push_same(&mut self, slot: u16) {
        let top = self.top();
        let own = self.own_slot(top, false);
        self.copy(own, slot, false);
        self.push(Entry::Own);
        self.last = None;
    }

    fn expect_reference(&mut self, slot: u16) {
        self.trap_if_null(slot, Runtime::NullTrap);
    }

    pub(super) fn trap_if_null(&mut self, slot: u16, trap: Runtime) {
        let around = self.branch_if(null_test(C::I64Ne, slot), true);
        self.code.put(Opcode::Runtime(trap));
        let distance = 8 * (self.code.len() - around);
        self.code.set32(around, 12, distance as u32);
        self.last = None;
    }

    fn calls(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        let parts = self.module.parts();
        match operator {
            O::Call { function_index } => {
                let kind = self.module.function_type(function_index);
                self.call(Callee::Function(function_index), kind);
            }
            O::ReturnCall { function_index } => {
                let kind = self.module.function_type(function_index);
                self.tail_call(Callee::Function(function_index), kind);
            }
            O::CallIndirect {
                type_index,
                table_index,
            } => {
                let number = parts.types[type_index as usize];
                let callee = self.pop_callee(table_index, number);
                self.call(callee, definitions::function_type(number));
            }
            O::ReturnCallIndirect {
                type_index,
                table_index,
            } => {
                let number = parts.types[type_index as usize];
                let callee = self.pop_callee(table_index, number);
                self.tail_call(callee, definitions::function_type(number));
            }
            O::CallRef { type_index } => {
                let kind = definitions::function_type(parts.types[type_index as usize]);
                let slot = self.pop_slot();
                self.call(Callee::Reference(slot), kind);
            }
            O::ReturnCallRef { type_index } => {
                let kind = definitions::function_type(parts.types[type_index as usize]);
                let slot = self.pop_slot();
                self.tail_call(Callee::Reference(slot), kind);
            }
            _ => return self.bulk(operator),
        }
        Ok(())
    }

    /// Takes the index of a function in a table.
    fn pop_callee(&mut self, table: u32, kind: u32) -> Callee {
        if self.module.parts().tables[table as usize].is_wide {
            self.narrow_index();
        }
        Callee::Table(self.pop_slot(), table, kind)
    }

    /// The callee's slot must not be among those that are settled or linked after it was taken: it is
    /// copied behind the arguments if it is an operand's own one.
    fn call(&mut self, callee: Callee, kind: &FunctionType) {
        let count = kind.parameters.len();
        let first = self.stack.len() - count;
        self.settle_top(count);
        let frame = self.place_of(first);
        let link = frame + kind.link() as u16;
        // The link may lie on the operand that says what to call, which is read before it is written.
        let opcode = match callee {
            Callee::Function(index) if (index as usize) < self.imported() => Plain::CallImport,
            Callee::Function(_) => Plain::Call,
            Callee::Table(..) => Plain::CallIndirect,
            Callee::Reference(_) => Plain::CallReference,
        };
        let place = self.code.put(Opcode::Plain(opcode));
        self.code.set16(place, 8, frame);
        self.code.set16(place, 10, link);
        self.set_callee(place, callee, 12);
        self.stack.truncate(first);
        self.push_own(&Values::of(&kind.results));
        self.frame = self.frame.max(self.top() as usize);
        self.last = None;
    }

    /// The slot of the operand at a place, or of the next operand.
    pub(super) fn place_of(&mut self, place: usize) -> u16 {
        let next = self.top();
        let slot = self.stack.get(place).map_or(next, |operand| operand.slot);
        self.own_slot(slot, false)
    }

    fn imported(&self) -> usize {
        self.module.parts().imported_functions
    }

    fn set_callee(&mut self, place: usize, callee: Callee, at: usize) {
        match callee {
            Callee::Function(index) => {
                let imported = self.imported() as u32;
                let number = index.checked_sub(imported).unwrap_or(index);
                self.code.set32(place, at, number);
            }
            Callee::Table(index, table, number) => {
                self.code.set16(place, at, index);
                self.code.set16(place, at + 2, table as u16);
                self.code.set32(place, at + 4, number);
                // Where the type is among supertypes of another one, in bytes.
                let depth = definitions::definition(number).depth();
                self.code.set32(place, at + 8, 4 * depth as u32);
            }
            Callee::Reference(slot) => self.code.set16(place, at, slot),
        }
    }

    fn tail_call(&mut self, callee: Callee, kind: &FunctionType) {
        let count = kind.parameters.len();
        let first = self.stack.len() - count;
        self.settle_top(count);
        let source = self.place_of(first);
        let opcode = match callee {
            Callee::Function(index) if (index as usize) < self.imported() => Plain::TailCallImport,
            Callee::Function(_) => Plain::TailCall,
            Callee::Table(..) => Plain::TailCallIndirect,
            Callee::Reference(_) => Plain::TailCallReference,
        };
        let place = self.code.put(Opcode::Plain(opcode));
        self.code.set16(place, 8, self.link);
        self.code.set16(place, 10, kind.link() as u16);
        self.code.set16(place, 12, source);
        self.code.set16(place, 14, kind.parameter_slots() as u16);
        self.set_callee(place, callee, 16);
        // The callee may have more parameters than this function.
        self.frame = self.frame.max(kind.link() + LINK_WORDS);
        self.unreachable = Some(0);
        self.last = None;
    }

    fn bulk(&mut self, operator: Operator) -> Result<(), Error> {
        use Operator as O;
        use Runtime as R;
        let (op, operands, has_result, numbers) = match operator {
            O::MemoryGrow { mem } => (R::MemoryGrow, 1, true, [mem, 0]),
            O::MemoryFill { mem } => (R::MemoryFill, 3, false, [mem, 0]),
            O::MemoryCopy { dst_mem, src_mem } => (R::MemoryCopy, 3, false, [dst_mem, src_mem]),
            O::MemoryInit { data_index, mem } => (R::MemoryInit, 3, false, [mem, data_index]),
            O::MemoryAtomicNotify { memarg } => {
                (R::MemoryNotify, 2, true, atomics::wait_numbers(&memarg))
            }
            O::MemoryAtomicWait32 { memarg } => {
                (R::MemoryWait32, 3, true, atomics::wait_numbers(&memarg))
            }
            O::MemoryAtomicWait64 { memarg } => {
                (R::MemoryWait64, 3, true, atomics::wait_numbers(&memarg))
            }
            O::DataDrop { data_index } => (R::DataDrop, 0, false, [data_index, 0]),
            O::TableGet { table } => (R::TableGet, 1, true, [table, 0]),
            O::TableSet { table } => (R::TableSet, 2, false, [table, 0]),
            O::TableSize { table } => (R::TableSize, 0, true, [table, 0]),
            O::TableGrow { table } => (R::TableGrow, 2, true, [table, 0]),
            O::TableFill { table } => (R::TableFill, 3, false, [table, 0]),
            O::TableCopy {
                dst_table,
                src_table,
            } => (R::TableCopy, 3, false, [dst_table, src_table]),
            O::TableInit { elem_index, table } => (R::TableInit, 3, false, [table, elem_index]),
            O::ElemDrop { elem_index } => (R::ElementDrop, 0, false, [elem_index, 0]),
            other => return self.aggregate(other),
        };
        self.runtime(op, operands, has_result, numbers);
        Ok(())
    }

    /// An instruction of the runtime: its result at 8, operands from 10 on, numbers from 16 on. Gives its
    /// place.
    pub(super) fn runtime(
        &mut self,
        op: Runtime,
        operands: usize,
        has_result: bool,
        numbers: [u32; 2],
    ) -> usize {
        let mut slots = [0; 3];
        for slot in slots[..operands].iter_mut().rev() {
            *slot = self.pop_slot();
        }
        let place = self.code.put(Opcode::Runtime(op));
        for (index, slot) in slots[..operands].iter().enumerate() {
            self.code.set16(place, 10 + 2 * index, *slot);
        }
        self.code.set32(place, 16, numbers[0]);
        self.code.set32(place, 20, numbers[1]);
        self.last = None;
        if has_result {
            self.result(place, Opcode::Runtime(op));
        }
        place
    }
}

pub(super) fn null_test(op: C, slot: u16) -> Comparison {
    Comparison {
        op,
        shape: Shape::Right,
        x: slot,
        y: 0,
        constant: 0,
        producer: None,
    }
}

/// The operation of an operator.
pub(crate) fn binary_of(operator: &Operator) -> Option<B> {
    operations!(operator, B:
        I32Add
        I32Sub
        I32Mul
        I32DivS
        I32DivU
        I32RemS
        I32RemU
        I32And
        I32Or
        I32Xor
        I32Shl
        I32ShrS
        I32ShrU
        I32Rotl
        I32Rotr
        I64Add
        I64Sub
        I64Mul
        I64DivS
        I64DivU
        I64RemS
        I64RemU
        I64And
        I64Or
        I64Xor
        I64Shl
        I64ShrS
        I64ShrU
        I64Rotl
        I64Rotr
        F32Add
        F32Sub
        F32Mul
        F32Div
        F32Min
        F32Max
        F32Copysign
        F64Add
        F64Sub
        F64Mul
        F64Div
        F64Min
        F64Max
        F64Copysign
    )
}

/// The operation of an operator.
pub(crate) fn compare_of(operator: &Operator) -> Option<C> {
    operations!(operator, C:
        I32Eq
        I32Ne
        I32LtS
        I32LtU
        I32GtS
        I32GtU
        I32LeS
        I32LeU
        I32GeS
        I32GeU
        I64Eq
        I64Ne
        I64LtS
        I64LtU
        I64GtS
        I64GtU
        I64LeS
        I64LeU
        I64GeS
        I64GeU
        F32Eq
        F32Ne
        F32Lt
        F32Gt
        F32Le
        F32Ge
        F64Eq
        F64Ne
        F64Lt
        F64Gt
        F64Le
        F64Ge
    )
}

/// The operation of an operator.
pub(crate) fn unary_of(operator: &Operator) -> Option<U> {
    operations!(operator, U:
        I32Clz
        I32Ctz
        I32Popcnt
        I32Extend8S
        I32Extend16S
        I64Clz
        I64Ctz
        I64Popcnt
        I64Extend8S
        I64Extend16S
        I64Extend32S
        I32WrapI64
        I64ExtendI32S
        I64ExtendI32U
        F32Abs
        F32Neg
        F32Ceil
        F32Floor
        F32Trunc
        F32Nearest
        F32Sqrt
        F64Abs
        F64Neg
        F64Ceil
        F64Floor
        F64Trunc
        F64Nearest
        F64Sqrt
        I32TruncF32S
        I32TruncF32U
        I32TruncF64S
        I32TruncF64U
        I64TruncF32S
        I64TruncF32U
        I64TruncF64S
        I64TruncF64U
        I32TruncSatF32S
        I32TruncSatF32U
        I32TruncSatF64S
        I32TruncSatF64U
        I64TruncSatF32S
        I64TruncSatF32U
        I64TruncSatF64S
        I64TruncSatF64U
        F32ConvertI32S
        F32ConvertI32U
        F32ConvertI64S
        F32ConvertI64U
        F64ConvertI32S
        F64ConvertI32U
        F64ConvertI64S
        F64ConvertI64U
        F32DemoteF64
        F64PromoteF32
    )
}
