//! Fast handlers of counters. Each thread has counters of its own, so that a plain addition loses no
//! count.

use canny_tables::kinds::Kind;
use canny_tables::layout::{FIELD0, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::IntCC;

use crate::dsl::Handler;

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    if opcode == Opcode::CountCall {
        let callee = h.ra();
        h.guard_kind(callee, Kind::Closure);
        let code = h.load(callee, FIELD0);
        let counter = counter(h);
        let known = h.load(counter, 0);
        let other = h.compare(IntCC::NotEqual, code, known);
        h.slow_if(other);
        increment(h, counter, 8);
    } else {
        let counter = counter(h);
        increment(h, counter, 0);
    }
    h.next_after(1);
}

/// The address of the counter that extension word 0 numbers.
fn counter(h: &mut Handler) -> Value {
    let number = h.load_u32(h.pc, 0);
    let counters = h.load(h.thread, thread::COUNTERS);
    let bytes = h.shift_left(number, 3);
    h.add(counters, bytes)
}

fn increment(h: &mut Handler, counter: Value, offset: i32) {
    let count = h.load(counter, offset);
    let count = h.add_constant(count, 1);
    h.store(count, counter, offset);
}
