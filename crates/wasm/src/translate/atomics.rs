//! Atomic accesses to memory.
//!
//! Operands and results are in slots. Both types of integers have the same instructions.

use canny_tables::guest::{
    Access, Atomic, AtomicOperation as A, AtomicWidth as W, Number as N, Opcode, Unary,
};
use wasmparser::{MemArg, Operator};

use super::Translator;
use super::numeric::memory_of;
use crate::waits;

/// The access of an operator if it is an atomic one, from the names of an update with all its widths.
macro_rules! updates {
    (
        $operator:expr,
        $([
            $wide:ident $narrow:ident $i8:ident $i16:ident $l8:ident $l16:ident $l32:ident
        ] $op:expr;)*
    ) => {
        match $operator {
            $(
                Operator::$wide { memarg } => Some(($op, (W::Bits64, N::I64), *memarg)),
                Operator::$narrow { memarg } => Some(($op, (W::Bits32, N::I32), *memarg)),
                Operator::$i8 { memarg } => Some(($op, (W::Bits8, N::I32), *memarg)),
                Operator::$i16 { memarg } => Some(($op, (W::Bits16, N::I32), *memarg)),
                Operator::$l8 { memarg } => Some(($op, (W::Bits8, N::I64), *memarg)),
                Operator::$l16 { memarg } => Some(($op, (W::Bits16, N::I64), *memarg)),
                Operator::$l32 { memarg } => Some(($op, (W::Bits32, N::I64), *memarg)),
            )*
            _ => None,
        }
    };
}

impl Translator<'_> {
    /// Gives whether the operator is an atomic access.
    pub(super) fn atomic(&mut self, operator: &Operator) -> bool {
        let Some((operation, (width, _), argument)) = access(operator) else {
            return false;
        };
        let access = self.access(&argument);
        let mut operands = [0; 2];
        let operands = &mut operands[..operation.operands()];
        for operand in operands.iter_mut().rev() {
            *operand = self.pop_slot();
        }
        let memory = memory_of(&argument);
        let is_wide = self.module.parts().memories[memory as usize].is_wide;
        if access == Access::Checked && !is_wide {
            self.unary(Unary::I64ExtendI32U);
        }
        let address = self.pop_slot();
        let opcode = Opcode::Atomic(Atomic {
            operation,
            width,
            access,
        });
        let place = self.code.put(opcode);
        self.code.set16(place, 10, address);
        for (index, operand) in operands.iter().enumerate() {
            self.code.set16(place, 12 + 2 * index, *operand);
        }
        self.code.set64(place, 16, argument.offset);
        if access == Access::Checked {
            self.code.set16(place, 24, memory as u16);
        }
        self.last = None;
        if operation.has_result() {
            self.result(place, opcode);
        }
        true
    }
}

/// The numbers of an instruction that waits for an address or notifies it.
pub(crate) fn wait_numbers(argument: &MemArg) -> [u32; 2] {
    waits::pack(memory_of(argument), argument.offset)
}

/// The atomic access of an operator: its width, the kind of integers, and where it is.
pub(crate) fn access(operator: &Operator) -> Option<(A, (W, N), MemArg)> {
    updates!(operator,
        [I64AtomicLoad I32AtomicLoad I32AtomicLoad8U I32AtomicLoad16U I64AtomicLoad8U
            I64AtomicLoad16U I64AtomicLoad32U] A::Load;
        [I64AtomicStore I32AtomicStore I32AtomicStore8 I32AtomicStore16 I64AtomicStore8
            I64AtomicStore16 I64AtomicStore32] A::Store;
        [I64AtomicRmwAdd I32AtomicRmwAdd I32AtomicRmw8AddU I32AtomicRmw16AddU I64AtomicRmw8AddU
            I64AtomicRmw16AddU I64AtomicRmw32AddU] A::Add;
        [I64AtomicRmwSub I32AtomicRmwSub I32AtomicRmw8SubU I32AtomicRmw16SubU I64AtomicRmw8SubU
            I64AtomicRmw16SubU I64AtomicRmw32SubU] A::Sub;
        [I64AtomicRmwAnd I32AtomicRmwAnd I32AtomicRmw8AndU I32AtomicRmw16AndU I64AtomicRmw8AndU
            I64AtomicRmw16AndU I64AtomicRmw32AndU] A::And;
        [I64AtomicRmwOr I32AtomicRmwOr I32AtomicRmw8OrU I32AtomicRmw16OrU I64AtomicRmw8OrU
            I64AtomicRmw16OrU I64AtomicRmw32OrU] A::Or;
        [I64AtomicRmwXor I32AtomicRmwXor I32AtomicRmw8XorU I32AtomicRmw16XorU I64AtomicRmw8XorU
            I64AtomicRmw16XorU I64AtomicRmw32XorU] A::Xor;
        [I64AtomicRmwXchg I32AtomicRmwXchg I32AtomicRmw8XchgU I32AtomicRmw16XchgU
            I64AtomicRmw8XchgU I64AtomicRmw16XchgU I64AtomicRmw32XchgU] A::Exchange;
        [I64AtomicRmwCmpxchg I32AtomicRmwCmpxchg I32AtomicRmw8CmpxchgU I32AtomicRmw16CmpxchgU
            I64AtomicRmw8CmpxchgU I64AtomicRmw16CmpxchgU I64AtomicRmw32CmpxchgU]
            A::CompareExchange;
    )
}
