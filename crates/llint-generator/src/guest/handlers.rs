//! Handlers of guests: numbers, memories, globals, jumps.
//!
//! Numeric ones take operands from slots or from the instruction and leave the rest to `wasm-meaning`.

use canny_tables::guest::{
    Access, Binary, Compare, Load, Opcode, Plain, Reason, Runtime, Shape, Store, Unary, instance,
    memory,
};
use canny_wasm_meaning::{self as meaning, Meaning, type_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

use super::calls;
use super::dsl::Handler;

/// Writes the handler of an instruction.
pub fn write(opcode: Opcode, h: &mut Handler) {
    let bytes = opcode.bytes();
    match opcode {
        Opcode::Unary(op) => unary(h, op),
        Opcode::Binary(op, shape) => binary(h, op, shape),
        Opcode::Compare(op, shape) => {
            let holds = compare(h, op, shape, 10, 12);
            let word = h.builder.ins().uextend(I32, holds);
            h.set_result(word);
            h.next(bytes);
        }
        Opcode::Branch(op, shape, wanted) => branch(h, op, shape, wanted, bytes),
        Opcode::Load(op, access) => load(h, op, access, bytes),
        Opcode::Store(op, access) => store(h, op, access, bytes),
        Opcode::Plain(op) => plain(h, op, bytes),
        Opcode::Runtime(Runtime::NullTrap) => h.leave(Reason::NullReference),
        Opcode::Runtime(_) => h.leave(Reason::Operation),
    }
}

fn unary(h: &mut Handler, op: Unary) {
    let x = h.operand(type_of(op.kinds().0), 10);
    let result = meaning::unary(h, op, x);
    h.set_result(result);
    h.next(Opcode::Unary(op).bytes());
}

fn binary(h: &mut Handler, op: Binary, shape: Shape) {
    let kind = op.kind();
    let (x, y) = match shape {
        Shape::Slots => (h.operand(type_of(kind), 10), h.operand(type_of(kind), 12)),
        Shape::Right => (h.operand(type_of(kind), 10), h.constant(kind, 12)),
        Shape::Left => (h.constant(kind, 12), h.operand(type_of(kind), 10)),
    };
    let result = meaning::binary(h, op, x, y);
    h.set_result(result);
    h.next(Opcode::Binary(op, shape).bytes());
}

/// Whether a comparison holds, whose operands are slots at `x` and `y`, or a constant at `constant`.
fn compare(h: &mut Handler, op: Compare, shape: Shape, x: i32, y: i32) -> Value {
    let kind = op.kind();
    let left = h.operand(type_of(kind), x);
    let right = match shape {
        Shape::Slots => h.operand(type_of(kind), y),
        _ => h.constant(kind, if y == 10 { 16 } else { y }),
    };
    meaning::compare(h.builder, op, left, right)
}

fn branch(h: &mut Handler, op: Compare, shape: Shape, wanted: bool, bytes: usize) {
    let holds = compare(h, op, shape, 8, 10);
    let jumps = h.builder.create_block();
    let stays = h.builder.create_block();
    let (yes, no) = if wanted {
        (jumps, stays)
    } else {
        (stays, jumps)
    };
    h.builder.ins().brif(holds, yes, &[], no, &[]);
    h.builder.switch_to_block(stays);
    h.next(bytes);
    h.builder.switch_to_block(jumps);
    let target = h.target(12);
    h.charge(target);
    h.dispatch(target);
}

/// The address of an access to memory of so many bytes, whose first operand is at `at`.
fn address(h: &mut Handler, access: Access, at: i32, bytes: i64) -> Value {
    match access {
        Access::Guarded => {
            let index = h.operand(I32, at);
            let index = h.builder.ins().uextend(I64, index);
            let offset = h.long(12);
            let place = h.builder.ins().iadd(index, offset);
            h.builder.ins().iadd(h.memory, place)
        }
        Access::Absolute => {
            let offset = h.long(12);
            h.builder.ins().iadd(h.memory, offset)
        }
        Access::Checked => {
            // Few registers are free, so that the order matters.
            let memories = h.load(h.instance, instance::MEMORIES);
            let number = h.short(12);
            let record = h.element(memories, number);
            let size = h.load(record, memory::BYTES);
            let none = h
                .builder
                .ins()
                .icmp_imm_u(IntCC::UnsignedLessThan, size, bytes);
            h.trap_if(none, Reason::OutOfBoundsMemory);
            let last = h.builder.ins().iadd_imm_s(size, -bytes);
            let offset = h.wide(16);
            let far = h
                .builder
                .ins()
                .icmp(IntCC::UnsignedGreaterThan, offset, last);
            h.trap_if(far, Reason::OutOfBoundsMemory);
            let room = h.builder.ins().isub(last, offset);
            let index = h.operand(I64, at);
            let far = h
                .builder
                .ins()
                .icmp(IntCC::UnsignedGreaterThan, index, room);
            h.trap_if(far, Reason::OutOfBoundsMemory);
            let base = h.load(record, memory::BASE);
            let place = h.builder.ins().iadd(index, offset);
            let place = h.builder.ins().iadd(base, place);
            h.set_instance(h.instance);
            place
        }
    }
}

fn load(h: &mut Handler, op: Load, access: Access, bytes: usize) {
    let size = match op {
        Load::I32From8S | Load::I32From8U | Load::I64From8S | Load::I64From8U => 1,
        Load::I32From16S | Load::I32From16U | Load::I64From16S | Load::I64From16U => 2,
        Load::Bits32 | Load::I64From32S | Load::I64From32U => 4,
        Load::Bits64 => 8,
    };
    let place = address(h, access, 10, size);
    // These may trap, so that they are neither moved nor dropped.
    let flags = MemFlagsData::new();
    let b = &mut h.builder;
    let value = match op {
        Load::Bits32 => b.ins().load(I32, flags, place, 0),
        Load::Bits64 => b.ins().load(I64, flags, place, 0),
        Load::I32From8S => b.ins().sload8(I32, flags, place, 0),
        Load::I32From8U => b.ins().uload8(I32, flags, place, 0),
        Load::I32From16S => b.ins().sload16(I32, flags, place, 0),
        Load::I32From16U => b.ins().uload16(I32, flags, place, 0),
        Load::I64From8S => b.ins().sload8(I64, flags, place, 0),
        Load::I64From8U => b.ins().uload8(I64, flags, place, 0),
        Load::I64From16S => b.ins().sload16(I64, flags, place, 0),
        Load::I64From16U => b.ins().uload16(I64, flags, place, 0),
        Load::I64From32S => b.ins().sload32(flags, place, 0),
        Load::I64From32U => b.ins().uload32(flags, place, 0),
    };
    h.set_result(value);
    h.next(bytes);
}

fn store(h: &mut Handler, op: Store, access: Access, bytes: usize) {
    let (size, kind) = match op {
        Store::Bits8 => (1, I8),
        Store::Bits16 => (2, I16),
        Store::Bits32 => (4, I32),
        Store::Bits64 => (8, I64),
    };
    let value = h.operand(kind, 10);
    let place = address(h, access, 8, size);
    h.builder.ins().store(MemFlagsData::new(), value, place, 0);
    h.next(bytes);
}

fn plain(h: &mut Handler, op: Plain, bytes: usize) {
    match op {
        Plain::Finish => h.leave(Reason::Finished),
        Plain::Unreachable => h.leave(Reason::Unreachable),
        Plain::Jump => {
            let target = h.target(12);
            h.charge(target);
            h.dispatch(target);
        }
        Plain::JumpTable => jump_table(h),
        Plain::Select => {
            let condition = h.operand(I32, 14);
            let (x, y) = (h.operand(I64, 10), h.operand(I64, 12));
            let chosen = h.builder.ins().select(condition, x, y);
            h.set_result(chosen);
            h.next(bytes);
        }
        Plain::Copy => {
            let value = h.operand(I64, 10);
            h.set_result(value);
            h.next(bytes);
        }
        Plain::Constant32 => {
            let value = h.long_signed(12);
            h.set_result(value);
            h.next(bytes);
        }
        Plain::Constant64 => {
            let value = h.wide(16);
            h.set_result(value);
            h.next(bytes);
        }
        Plain::GlobalGet => {
            let cell = global(h);
            let value = h.load(cell, 0);
            h.set_result(value);
            h.next(bytes);
        }
        Plain::GlobalSet => {
            let cell = global(h);
            let value = h.operand(I64, 8);
            h.store(value, cell, 0);
            h.next(bytes);
        }
        Plain::MemorySize => {
            let memories = h.load(h.instance, instance::MEMORIES);
            let number = h.long(12);
            let record = h.element(memories, number);
            let size = h.load(record, memory::BYTES);
            let pages = h
                .builder
                .ins()
                .ushr_imm_u(size, i64::from(memory::PAGE_SHIFT));
            h.set_result(pages);
            h.next(bytes);
        }
        Plain::Enter
        | Plain::Return
        | Plain::ReturnAcross
        | Plain::Call
        | Plain::CallImport
        | Plain::CallIndirect
        | Plain::CallReference
        | Plain::TailCall
        | Plain::TailCallImport
        | Plain::TailCallIndirect
        | Plain::TailCallReference => calls::write(h, op, bytes),
    }
}

/// The cell of the global variable that the operand at 12 numbers.
fn global(h: &mut Handler) -> Value {
    let globals = h.load(h.instance, instance::GLOBALS);
    let number = h.long(12);
    h.element(globals, number)
}

/// Index at 8, the number of distances but the last at 12, distances from 16 on.
fn jump_table(h: &mut Handler) {
    let index = h.operand(I32, 8);
    let count = h.load_as(I32, h.pc, 12);
    let index = h.builder.ins().umin(index, count);
    let index = h.builder.ins().uextend(I64, index);
    let offset = h.builder.ins().ishl_imm_u(index, 2);
    let place = h.builder.ins().iadd(h.pc, offset);
    let distance = h.builder.ins().sload32(MemFlagsData::trusted(), place, 16);
    let target = h.builder.ins().iadd(h.pc, distance);
    h.charge(target);
    h.dispatch(target);
}
