//! Fast handlers of moves, constants, globals, captured variables, closures and boxes.
//!
//! An assignment of a global that compiled code relies on is left to the runtime, which retires
//! that code first. A fresh closure is well formed before its captured values are stored.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, HEADER_LENGTH_SHIFT, frame, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::Move => {
            let value = h.rb();
            h.set_a(value);
            h.next();
        }
        Opcode::LoadImmediate => {
            let value = h.wide_word();
            h.set_a(value);
            h.next();
        }
        Opcode::LoadConstant => {
            let value = h.pool_wide();
            h.set_a(value);
            h.next();
        }
        Opcode::LoadConstantFar => {
            let value = h.pool_extension();
            h.set_a(value);
            h.next_after(1);
        }
        Opcode::Free => {
            let closure = h.load(h.fp, 8 * frame::CLOSURE);
            let value = h.payload_wide(closure, FIELD0 + 8);
            h.set_a(value);
            h.next();
        }
        Opcode::SelfRef => {
            let closure = h.load(h.fp, 8 * frame::CLOSURE);
            h.set_a(closure);
            h.next();
        }
        Opcode::MakeClosure => write_make_closure(h),
        Opcode::ClosureSet => {
            let (closure, value, index) = (h.ra(), h.rb(), h.c());
            let bytes = h.shift_left(index, 3);
            let slot = h.add(closure, bytes);
            h.store_with_barrier(value, slot, FIELD0 + 8);
            h.next();
        }
        Opcode::MakeBox => {
            let bytes = h.constant(16);
            let address = h.allocate(bytes);
            let value = h.rb();
            let header = h.constant(header_bits(Kind::Box, 1));
            h.store(header, address, 0);
            h.store(value, address, 8);
            let object = h.add_constant(address, layout::TAG_OBJECT as i64);
            h.set_a(object);
            h.next();
        }
        Opcode::BoxRef => {
            let cell = h.rb();
            let value = h.load(cell, FIELD0);
            h.set_a(value);
            h.next();
        }
        Opcode::BoxSet => {
            let (cell, value) = (h.ra(), h.rb());
            h.store_with_barrier(value, cell, FIELD0);
            h.next();
        }
        Opcode::CheckDefined => {
            let value = h.ra();
            guard_bound(h, value);
            h.next();
        }
        _ => write_global(opcode, h),
    }
}

fn write_global(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::GlobalRef | Opcode::CellRef => {
            let cell = if opcode == Opcode::GlobalRef {
                h.pool_wide()
            } else {
                h.rb()
            };
            let value = h.load(cell, FIELD0);
            guard_bound(h, value);
            h.set_a(value);
        }
        Opcode::GlobalSet | Opcode::CellSet => {
            let (cell, value) = global_and_value(opcode == Opcode::GlobalSet, h);
            guard_not_watched(h, cell);
            let old = h.load(cell, FIELD0);
            guard_bound(h, old);
            h.store_with_barrier(value, cell, FIELD0);
        }
        Opcode::GlobalDefine | Opcode::CellDefine => {
            let (cell, value) = global_and_value(opcode == Opcode::GlobalDefine, h);
            guard_not_watched(h, cell);
            h.store_with_barrier(value, cell, FIELD0);
        }
        other => unreachable!("{} is not a variable's opcode", other.row().name),
    }
    h.next();
}

fn global_and_value(in_pool: bool, h: &mut Handler) -> (Value, Value) {
    if in_pool {
        let value = h.ra();
        (h.pool_wide(), value)
    } else {
        (h.ra(), h.rb())
    }
}

fn guard_bound(h: &mut Handler, value: Value) {
    let unbound = h.compare_constant(IntCC::Equal, value, layout::UNBOUND as i64);
    h.slow_if(unbound);
}

/// Leaves if compiled code relies on the value of the cell; cells have no other flag.
fn guard_not_watched(h: &mut Handler, cell: Value) {
    let flags = h.load_u8(cell, layout::HEADER + 2);
    h.slow_if(flags);
}

/// The bits of a header without flags.
pub fn header_bits(kind: Kind, length: u64) -> u64 {
    layout::TAG_IMMEDIATE
        | (kind as u64) << layout::HEADER_KIND_SHIFT
        | length << HEADER_LENGTH_SHIFT
}

/// Every word after the code is zeroed, so that the closure is well formed whatever happens before its
/// captured values are set; registers are few here, hence the order.
fn write_make_closure(h: &mut Handler) {
    let captured = h.b();
    // Header, code and captured values, rounded up to the granule.
    let words = h.add_constant(captured, 3);
    let words = h.and_constant(words, !1);
    let bytes = h.shift_left(words, 3);
    let address = h.allocate(bytes);
    let captured = h.b();
    let length = h.shift_left(captured, HEADER_LENGTH_SHIFT as i64);
    let header = h.constant(header_bits(Kind::Closure, 1));
    let header = h.add(header, length);
    h.store(header, address, 0);
    let object = h
        .builder
        .ins()
        .iadd_imm_s(address, layout::TAG_OBJECT as i64);
    h.set_a(object);
    let code = h.pool_extension();
    let start = h.add_constant(address, 8);
    let end = h.load(h.thread, thread::SCAN_CURSOR);
    let zero = h.constant(0);
    h.fill_words(start, end, zero);
    h.store(code, start, 0);
    h.next_after(1);
}
