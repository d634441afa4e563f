//! Memories, global variables, tables.
//!
//! An access to a memory with addresses of 32 bits is not checked: what lies outside is a guard page, and
//! the signal handler makes a trap of it.

use canny_tables::guest::{AtomicWidth, Reason, instance, memory};
use canny_wasm_meaning::{Meaning, atomic, atomic_check, fence};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};
use cranelift_codegen::isa::CallConv;
use wasmparser::{MemArg, Operator};

use super::{Compiler, FIXED, TRUSTED, kind_of, words_signature};
use crate::translate::atomics;
use crate::translate::numeric::memory_of;

/// Accesses to memories of guests, which may trap.
pub(super) const GUEST: MemFlagsData = MemFlagsData::new();

impl Compiler<'_, '_> {
    /// An element of a list of addresses that never changes, of the instance.
    pub(super) fn listed(&mut self, list: i32, index: u32) -> Value {
        let list = self.b.ins().load(I64, FIXED, self.instance, list);
        self.b.ins().load(I64, FIXED, list, 8 * index as i32)
    }

    /// The address of an access of so many bytes, whose index is the newest operand, and the offset from
    /// there.
    pub(super) fn address(&mut self, argument: MemArg, bytes: i64) -> (Value, i32) {
        let index = self.pop();
        let number = memory_of(&argument);
        let is_wide = self.module.parts().memories[number as usize].is_wide;
        if is_wide {
            return (self.checked_address(index, argument, bytes), 0);
        }
        let base = if number == 0 {
            self.b
                .ins()
                .load(I64, FIXED, self.instance, instance::MEMORY)
        } else {
            let record = self.listed(instance::MEMORIES, memory_of(&argument));
            self.b.ins().load(I64, FIXED, record, memory::BASE)
        };
        let index = self.b.ins().uextend(I64, index);
        let place = self.b.ins().iadd(base, index);
        match i32::try_from(argument.offset) {
            Ok(offset) => (place, offset),
            Err(_) => {
                let offset = self.b.ins().iconst(I64, argument.offset as i64);
                (self.b.ins().iadd(place, offset), 0)
            }
        }
    }

    fn checked_address(&mut self, index: Value, argument: MemArg, bytes: i64) -> Value {
        let record = self.listed(instance::MEMORIES, memory_of(&argument));
        let size = self.b.ins().load(I64, TRUSTED, record, memory::BYTES);
        let offset = self.b.ins().iconst(I64, argument.offset as i64);
        let wanted = self.b.ins().iconst(I64, bytes);
        let greater = IntCC::UnsignedGreaterThan;
        let none = self.b.ins().icmp(greater, wanted, size);
        self.trap_if(none, Reason::OutOfBoundsMemory);
        let last = self.b.ins().isub(size, wanted);
        let far = self.b.ins().icmp(greater, offset, last);
        self.trap_if(far, Reason::OutOfBoundsMemory);
        let room = self.b.ins().isub(last, offset);
        let far = self.b.ins().icmp(greater, index, room);
        self.trap_if(far, Reason::OutOfBoundsMemory);
        let base = self.b.ins().load(I64, FIXED, record, memory::BASE);
        let place = self.b.ins().iadd(index, offset);
        self.b.ins().iadd(base, place)
    }

    /// Accesses of numbers; gives whether the operator is one of these.
    pub(super) fn access(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        match *operator {
            O::I32Load { memarg } => self.load(I32, memarg),
            O::I64Load { memarg } => self.load(I64, memarg),
            O::F32Load { memarg } => self.load(F32, memarg),
            O::F64Load { memarg } => self.load(F64, memarg),
            O::I32Store { memarg } | O::F32Store { memarg } => self.store(memarg, 4),
            O::I64Store { memarg } | O::F64Store { memarg } => self.store(memarg, 8),
            _ => return self.narrow_access(operator),
        }
        true
    }

    fn load(&mut self, of: Type, argument: MemArg) {
        let (place, offset) = self.address(argument, i64::from(of.bytes()));
        let value = self.b.ins().load(of, GUEST, place, offset);
        self.push(value);
    }

    fn store(&mut self, argument: MemArg, bytes: i64) {
        let value = self.pop();
        let (place, offset) = self.address(argument, bytes);
        self.b.ins().store(GUEST, value, place, offset);
    }

    fn narrow_access(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        let (argument, bytes) = match *operator {
            O::I32Load8S { memarg }
            | O::I32Load8U { memarg }
            | O::I64Load8S { memarg }
            | O::I64Load8U { memarg }
            | O::I32Store8 { memarg }
            | O::I64Store8 { memarg } => (memarg, 1),
            O::I32Load16S { memarg }
            | O::I32Load16U { memarg }
            | O::I64Load16S { memarg }
            | O::I64Load16U { memarg }
            | O::I32Store16 { memarg }
            | O::I64Store16 { memarg } => (memarg, 2),
            O::I64Load32S { memarg } | O::I64Load32U { memarg } | O::I64Store32 { memarg } => {
                (memarg, 4)
            }
            _ => return false,
        };
        let stored = match operator {
            O::I32Store8 { .. }
            | O::I64Store8 { .. }
            | O::I32Store16 { .. }
            | O::I64Store16 { .. }
            | O::I64Store32 { .. } => Some(self.pop()),
            _ => None,
        };
        let (place, at) = self.address(argument, bytes);
        if let Some(value) = stored {
            match bytes {
                1 => self.b.ins().istore8(GUEST, value, place, at),
                2 => self.b.ins().istore16(GUEST, value, place, at),
                _ => self.b.ins().istore32(GUEST, value, place, at),
            };
            return true;
        }
        let value = match operator {
            O::I32Load8S { .. } => self.b.ins().sload8(I32, GUEST, place, at),
            O::I32Load8U { .. } => self.b.ins().uload8(I32, GUEST, place, at),
            O::I32Load16S { .. } => self.b.ins().sload16(I32, GUEST, place, at),
            O::I32Load16U { .. } => self.b.ins().uload16(I32, GUEST, place, at),
            O::I64Load8S { .. } => self.b.ins().sload8(I64, GUEST, place, at),
            O::I64Load8U { .. } => self.b.ins().uload8(I64, GUEST, place, at),
            O::I64Load16S { .. } => self.b.ins().sload16(I64, GUEST, place, at),
            O::I64Load16U { .. } => self.b.ins().uload16(I64, GUEST, place, at),
            O::I64Load32S { .. } => self.b.ins().sload32(GUEST, place, at),
            _ => self.b.ins().uload32(GUEST, place, at),
        };
        self.push(value);
        true
    }

    /// Atomic accesses; gives whether the operator is one of these.
    pub(super) fn atomic(&mut self, operator: &Operator) -> bool {
        if let Operator::AtomicFence { .. } = operator {
            fence(self.b);
            return true;
        }
        let Some((operation, (width, kind), argument)) = atomics::access(operator) else {
            return false;
        };
        let operands = self.take(operation.operands());
        let number = memory_of(&argument);
        let is_wide = self.module.parts().memories[number as usize].is_wide;
        let index = self.pop();
        let index = if is_wide {
            index
        } else {
            self.b.ins().uextend(I64, index)
        };
        let bytes = width.bytes() as i64;
        // The interpreter has the same order of checks.
        let place = if is_wide || number != 0 {
            let place = self.checked_address(index, argument, bytes);
            self.check_alignment(index, &argument, width);
            place
        } else {
            self.check_alignment(index, &argument, width);
            let base = self
                .b
                .ins()
                .load(I64, FIXED, self.instance, instance::MEMORY);
            let place = self.b.ins().iadd(base, index);
            self.b.ins().iadd_imm_s(place, argument.offset as i64)
        };
        let value = atomic(self.b, operation, (width, kind), place, &operands);
        self.stack.extend(value);
        true
    }

    /// Traps if an atomic access is not aligned to its width. One that overflows was checked before.
    fn check_alignment(&mut self, index: Value, argument: &MemArg, width: AtomicWidth) {
        let address = self.b.ins().iadd_imm_s(index, argument.offset as i64);
        atomic_check(self, width, address);
    }

    pub(super) fn memory_size(&mut self, number: u32) {
        let record = self.listed(instance::MEMORIES, number);
        let size = self.b.ins().load(I64, TRUSTED, record, memory::BYTES);
        let pages = self.b.ins().ushr_imm_u(size, i64::from(memory::PAGE_SHIFT));
        let is_wide = self.module.parts().memories[number as usize].is_wide;
        let pages = if is_wide {
            pages
        } else {
            self.b.ins().ireduce(I32, pages)
        };
        self.push(pages);
    }

    pub(super) fn global_get(&mut self, index: u32) {
        let of = kind_of(self.module.parts().globals[index as usize].value);
        let cell = self.listed(instance::GLOBALS, index);
        let value = self.b.ins().load(of, TRUSTED, cell, 0);
        self.push(value);
    }

    pub(super) fn global_set(&mut self, index: u32) {
        let value = self.pop();
        let cell = self.listed(instance::GLOBALS, index);
        self.b.ins().store(TRUSTED, value, cell, 0);
    }

    /// `memory.fill` and `memory.copy` by functions of the platform, for addresses of 32 bits.
    pub(super) fn bytes_operation(&mut self, operator: &Operator) -> bool {
        use Operator as O;
        let memories = &self.module.parts().memories;
        let is_wide = |number: u32| memories[number as usize].is_wide;
        match *operator {
            O::MemoryFill { mem } if !is_wide(mem) => {
                let operands = self.take(3);
                let count = self.b.ins().uextend(I64, operands[2]);
                let to = self.checked_range(mem, operands[0], count);
                let byte = self.b.ins().uextend(I64, operands[1]);
                self.call_platform(libc::memset as *const () as usize, &[to, byte, count]);
            }
            O::MemoryCopy { dst_mem, src_mem } if !is_wide(dst_mem) && !is_wide(src_mem) => {
                let operands = self.take(3);
                let count = self.b.ins().uextend(I64, operands[2]);
                let to = self.checked_range(dst_mem, operands[0], count);
                let from = self.checked_range(src_mem, operands[1], count);
                self.call_platform(libc::memmove as *const () as usize, &[to, from, count]);
            }
            _ => return false,
        }
        true
    }

    /// The address of a range of bytes, which must be inside of its memory.
    fn checked_range(&mut self, number: u32, index: Value, count: Value) -> Value {
        let record = self.listed(instance::MEMORIES, number);
        let size = self.b.ins().load(I64, TRUSTED, record, memory::BYTES);
        let index = self.b.ins().uextend(I64, index);
        // Both have 32 bits.
        let end = self.b.ins().iadd(index, count);
        let far = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, size);
        self.trap_if(far, Reason::OutOfBoundsMemory);
        let base = self.b.ins().load(I64, FIXED, record, memory::BASE);
        self.b.ins().iadd(base, index)
    }

    /// Calls a function of the platform, which needs little of the stack.
    fn call_platform(&mut self, address: usize, arguments: &[Value]) {
        let signature = words_signature(CallConv::SystemV, arguments.len());
        let signature = self.b.import_signature(signature);
        let entry = self.b.ins().iconst(I64, address as i64);
        self.b.ins().call_indirect(signature, entry, arguments);
    }
}
