//! Handlers of guests: numbers, memories, globals, jumps.
//!
//! Numeric ones take operands from slots or from the instruction and leave the rest to `wasm-meaning`.

use canny_tables::guest::{
    Access, Binary, Compare, Load, Number, Opcode, Place, Plain, Reason, Runtime, Shape, Store,
    Unary, instance, memory,
};
use canny_wasm_meaning::{self as meaning, Meaning, type_of};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32, F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

use super::dsl::Handler;
use super::{atomics, calls, vectors};

/// Writes the handler of an instruction.
pub fn write(opcode: Opcode, h: &mut Handler) {
    let bytes = opcode.bytes();
    match opcode {
        Opcode::Unary(op, takes, gives) => unary(h, op, takes, gives),
        Opcode::Binary(op, shape, gives) => binary(h, op, shape, gives),
        Opcode::Compare(op, shape) => {
            let holds = compare(h, op, shape, 10, 12);
            let word = h.builder.ins().uextend(I32, holds);
            h.set_result(word);
            h.next(bytes);
        }
        Opcode::Branch(op, shape, wanted) => branch(h, op, shape, wanted, bytes),
        Opcode::Load(op, access, to) => load(h, op, (access, to), bytes),
        Opcode::Store(op, access, from) => store(h, op, (access, from), bytes),
        Opcode::Vector(op) => vectors::write(h, op, bytes),
        Opcode::Atomic(op) => atomics::write(h, op, bytes),
        Opcode::Plain(op) => plain(h, op, bytes),
        Opcode::Runtime(Runtime::NullTrap) => h.leave(Reason::NullReference),
        Opcode::Runtime(Runtime::NullI31Trap) => h.leave(Reason::NullI31),
        Opcode::Runtime(_) => h.leave(Reason::Operation),
    }
}

fn unary(h: &mut Handler, op: Unary, takes: bool, gives: bool) {
    let (from, to) = op.kinds();
    let x = if takes {
        h.kept(from)
    } else {
        h.operand(type_of(from), 10)
    };
    if from.is_integer() != to.is_integer() {
        // A conversion needs more registers.
        h.forget_integer();
    }
    let result = meaning::unary(h, op, x);
    give(h, to, result, gives);
    h.next(Opcode::Unary(op, takes, gives).bytes());
}

/// Leaves a result in the accumulator or in its slot.
pub fn give(h: &mut Handler, kind: Number, result: Value, keeps: bool) {
    if keeps {
        h.keep(kind, result);
    } else {
        h.set_result(result);
    }
}

/// Both operands of an operation: slots at `x` and `y`, or a constant at `constant`.
fn operands(h: &mut Handler, kind: Number, shape: Shape, places: [i32; 3]) -> (Value, Value) {
    let [x, y, constant] = places;
    let of = type_of(kind);
    match shape {
        Shape::Slots => (h.operand(of, x), h.operand(of, y)),
        Shape::Right => (h.operand(of, x), h.constant(kind, constant)),
        Shape::Left => (h.constant(kind, constant), h.operand(of, x)),
        Shape::KeptFirst => (h.kept(kind), h.operand(of, y)),
        Shape::KeptSecond => (h.operand(of, x), h.kept(kind)),
        Shape::KeptRight => (h.kept(kind), h.constant(kind, constant)),
        Shape::KeptLeft => (h.constant(kind, constant), h.kept(kind)),
    }
}

fn binary(h: &mut Handler, op: Binary, shape: Shape, gives: bool) {
    let kind = op.kind();
    let (x, y) = operands(h, kind, shape, [10, 12, 12]);
    if divides(op) || shifts(op) {
        // These need certain registers.
        h.forget_integer();
    }
    let result = meaning::binary(h, op, x, y);
    if divides(op) {
        // The division takes the register of the memory.
        h.set_instance(h.instance);
    }
    give(h, kind, result, gives);
    h.next(Opcode::Binary(op, shape, gives).bytes());
}

fn shifts(op: Binary) -> bool {
    use Binary::*;
    matches!(
        op,
        I32Shl
            | I32ShrS
            | I32ShrU
            | I32Rotl
            | I32Rotr
            | I64Shl
            | I64ShrS
            | I64ShrU
            | I64Rotl
            | I64Rotr
    )
}

fn divides(op: Binary) -> bool {
    use Binary::*;
    matches!(
        op,
        I32DivS | I32DivU | I32RemS | I32RemU | I64DivS | I64DivU | I64RemS | I64RemU
    )
}

/// Whether a comparison holds, whose operands are slots at `x` and `y`, or a constant.
fn compare(h: &mut Handler, op: Compare, shape: Shape, x: i32, y: i32) -> Value {
    let constant = if y == 10 { 16 } else { y };
    let (left, right) = operands(h, op.kind(), shape, [x, y, constant]);
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
pub fn address(h: &mut Handler, access: Access, at: i32, bytes: i64) -> Value {
    match access {
        Access::Guarded => {
            let index = h.operand(I32, at);
            let index = h.builder.ins().uextend(I64, index);
            let offset = h.long(12);
            let place = h.builder.ins().iadd(index, offset);
            h.builder.ins().iadd(h.memory, place)
        }
        Access::Kept => {
            let index = h.kept(Number::I32);
            let index = h.builder.ins().uextend(I64, index);
            let offset = h.long(12);
            let place = h.builder.ins().iadd(index, offset);
            h.builder.ins().iadd(h.memory, place)
        }
        Access::Sum => {
            let index = h.operand(I32, at);
            let constant = h.load_as(I32, h.pc, 12);
            let index = h.builder.ins().iadd(index, constant);
            let index = h.builder.ins().uextend(I64, index);
            h.builder.ins().iadd(h.memory, index)
        }
        Access::Absolute => {
            let offset = h.long(12);
            h.builder.ins().iadd(h.memory, offset)
        }
        Access::Frame => {
            let offset = h.long(12);
            h.builder.ins().iadd(h.frame, offset)
        }
        Access::Checked => {
            // Few registers are free, so that the order matters.
            h.forget_integer();
            let index = checked_index(h, [at, 12], bytes);
            let base = h.load(index.record, memory::BASE);
            let place = h.builder.ins().iadd(base, index.address);
            h.set_instance(h.instance);
            place
        }
    }
}

/// An address that lies inside of a memory, and the memory's record.
pub struct CheckedIndex {
    pub record: Value,
    pub address: Value,
}

/// Checks an access of so many bytes: slot of the address and number of the memory are operands, and an
/// offset of 64 bits is at 16.
pub fn checked_index(h: &mut Handler, [at, number]: [i32; 2], bytes: i64) -> CheckedIndex {
    let memories = h.load(h.instance, instance::MEMORIES);
    let number = h.short(number);
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
    let address = h.builder.ins().iadd(index, offset);
    CheckedIndex { record, address }
}

fn load(h: &mut Handler, op: Load, (access, to): (Access, Place), bytes: usize) {
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
    let (kind, value) = match op {
        Load::Bits32 if to == Place::Float => (Number::F32, b.ins().load(F32, flags, place, 0)),
        Load::Bits64 if to == Place::Float => (Number::F64, b.ins().load(F64, flags, place, 0)),
        Load::Bits32 => (Number::I32, b.ins().load(I32, flags, place, 0)),
        Load::Bits64 => (Number::I64, b.ins().load(I64, flags, place, 0)),
        Load::I32From8S => (Number::I32, b.ins().sload8(I32, flags, place, 0)),
        Load::I32From8U => (Number::I32, b.ins().uload8(I32, flags, place, 0)),
        Load::I32From16S => (Number::I32, b.ins().sload16(I32, flags, place, 0)),
        Load::I32From16U => (Number::I32, b.ins().uload16(I32, flags, place, 0)),
        Load::I64From8S => (Number::I64, b.ins().sload8(I64, flags, place, 0)),
        Load::I64From8U => (Number::I64, b.ins().uload8(I64, flags, place, 0)),
        Load::I64From16S => (Number::I64, b.ins().sload16(I64, flags, place, 0)),
        Load::I64From16U => (Number::I64, b.ins().uload16(I64, flags, place, 0)),
        Load::I64From32S => (Number::I64, b.ins().sload32(flags, place, 0)),
        Load::I64From32U => (Number::I64, b.ins().uload32(flags, place, 0)),
    };
    give(h, kind, value, to != Place::Slot);
    h.next(bytes);
}

fn store(h: &mut Handler, op: Store, (access, from): (Access, Place), bytes: usize) {
    let (size, kind, float) = match op {
        Store::Bits8 => (1, I8, Number::F32),
        Store::Bits16 => (2, I16, Number::F32),
        Store::Bits32 => (4, I32, Number::F32),
        Store::Bits64 => (8, I64, Number::F64),
    };
    let value = match from {
        Place::Slot | Place::Vector => h.operand(kind, 10),
        Place::Float => h.kept(float),
        Place::Integer if kind == I64 => h.kept(Number::I64),
        Place::Integer => {
            let value = h.kept(Number::I64);
            h.builder.ins().ireduce(kind, value)
        }
    };
    let place = address(h, access, 8, size);
    h.builder.ins().store(MemFlagsData::new(), value, place, 0);
    h.next(bytes);
}

fn plain(h: &mut Handler, op: Plain, bytes: usize) {
    // No operand is in an accumulator, and registers are few.
    h.forget_integer();
    match op {
        Plain::Finish => h.leave(Reason::Finished),
        Plain::ReturnNative => h.leave(Reason::Returned),
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
        Plain::Fence => {
            meaning::fence(h.builder);
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
pub fn global(h: &mut Handler) -> Value {
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
