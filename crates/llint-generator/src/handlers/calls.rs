//! Fast handlers of calls, tail calls and procedure entry.
//!
//! The fast path takes closures whose code fits the number of arguments, while the stack has room.
//! All checks come before the first change of a frame, so that the slow path can do the whole
//! instruction. Handlers have no frame: a handler that spills does not build.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, FIELD0, code, frame, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Whether a handler expects the exact number of arguments or code that takes any.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arity {
    Exact,
    Variadic,
}

/// Checks that `callee` is a closure whose code takes the arguments of the call; gives the code.
fn guard_callee(h: &mut Handler, callee: Value, arity: Arity) -> Value {
    if arity == Arity::Variadic {
        // Stored early to free its register; only a variadic callee's entry reads it.
        let count = h.count_b();
        let count = h.builder.ins().uextend(I64, count);
        h.store(count, h.thread, thread::ARGUMENT_COUNT);
    }
    h.guard_kind(callee, Kind::Closure);
    let target = h.load(callee, FIELD0);
    let wanted = h.load_as(I32, target, code::ARITY);
    let other = match arity {
        Arity::Exact => {
            let count = h.count_b();
            h.builder.ins().icmp(IntCC::NotEqual, count, wanted)
        }
        Arity::Variadic => {
            h.builder
                .ins()
                .icmp_imm_s(IntCC::NotEqual, wanted, code::VARIADIC as i32 as i64)
        }
    };
    h.slow_if(other);
    target
}

/// Leaves if the caller's frame is beyond the limit: above it there is room for the frames of two small
/// procedures, and code with a larger frame never passes the arity check here.
fn guard_stack(h: &mut Handler) {
    let limit = h.load(h.thread, thread::LIMIT);
    let over = h.compare(IntCC::UnsignedGreaterThan, h.fp, limit);
    h.slow_if(over);
}

/// `call` of code with exactly this number of arguments.
pub fn write_call(_: Opcode, h: &mut Handler) {
    call(h, Arity::Exact);
}

/// `call` of code that looks at the number of arguments itself.
pub fn write_variadic_call(_: Opcode, h: &mut Handler) {
    call(h, Arity::Variadic);
}

fn call(h: &mut Handler, arity: Arity) {
    h.expect_plain_mode();
    let base = h.slot_a();
    let callee = h.load(base, 0);
    let target = guard_callee(h, callee, arity);
    guard_stack(h);
    let return_pc = h.return_address();
    h.store(return_pc, base, 8);
    h.fp = h.add_constant(base, 8 * frame::LINK_WORDS as i64);
    h.pc = h.load(target, code::ENTRY);
    h.next();
}

/// `tail-call` of code with exactly this number of arguments.
pub fn write_tail_call(_: Opcode, h: &mut Handler) {
    tail_call(h, Arity::Exact);
}

/// `tail-call` of code that looks at the number of arguments itself.
pub fn write_variadic_tail_call(_: Opcode, h: &mut Handler) {
    tail_call(h, Arity::Variadic);
}

fn tail_call(h: &mut Handler, arity: Arity) {
    h.expect_plain_mode();
    h.release_table();
    guard_stack(h);
    let base = h.slot_a();
    let callee = h.load(base, 0);
    let target = guard_callee(h, callee, arity);
    h.store(callee, h.fp, 8 * frame::CLOSURE);
    // The count is read again, so that no register held it over the checks.
    let count = match arity {
        Arity::Exact => h.load_u32(target, code::ARITY),
        Arity::Variadic => h.load(h.thread, thread::ARGUMENT_COUNT),
    };
    let source = h.add_constant(base, 8 * frame::LINK_WORDS as i64);
    h.copy_words(source, h.fp, count);
    h.pc = h.load(target, code::ENTRY);
    h.reload_table();
    h.next();
}

/// `entry` with every argument passed and no more, and `unpack` of the right number of values.
pub fn write_entry(opcode: Opcode, h: &mut Handler) {
    if opcode == Opcode::Unpack {
        return write_unpack(h);
    }
    let (required, optional, rest) = (h.a(), h.b(), h.c());
    let wanted = h.add(required, optional);
    let count = h.load(h.thread, thread::ARGUMENT_COUNT);
    let other = h.compare(IntCC::NotEqual, count, wanted);
    h.slow_if(other);
    let no_rest = h.compare_constant(IntCC::Equal, rest, 0);
    h.when(no_rest, |h| h.next());
    let nil = h.constant(layout::NIL);
    h.set_register(wanted, nil);
    h.next();
}

fn write_unpack(h: &mut Handler) {
    let (base, count, rest) = (h.a(), h.b(), h.c());
    h.slow_if(rest);
    let base = h.slot(base);
    let values = h.load(base, 0);
    let header = h.guard_kind_header(values, Kind::Values, 0);
    let length = h.shift_right(header, layout::HEADER_LENGTH_SHIFT as i64);
    let other = h.compare(IntCC::NotEqual, length, count);
    h.slow_if(other);
    let source = h.add_constant(values, FIELD0 as i64);
    h.copy_words(source, base, count);
    h.next();
}
