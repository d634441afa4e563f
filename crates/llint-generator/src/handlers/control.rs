//! Fast handlers of returns, jumps, tests, and the entry of compiled code.
//!
//! Tests here cannot raise. A test that needs a look into the object has a second stage, so that
//! the first one stays short. `native` and `retired` are the words through which the interpreter
//! and compiled code enter each other.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, descriptor, frame, thread};
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Writes the handler of an opcode of this group.
pub fn write(opcode: Opcode, h: &mut Handler) {
    match opcode {
        Opcode::Nop => h.next(),
        Opcode::Halt => {
            let value = h.ra();
            h.builder.ins().return_(&[value]);
        }
        Opcode::Return => write_return(h),
        Opcode::Jump => h.take_jump(),
        Opcode::Loop => h.take_loop(),
        Opcode::JumpRecord | Opcode::JumpNotRecord => write_record_test(opcode, h),
        Opcode::JumpKind | Opcode::JumpNotKind => write_kind_test(opcode, h),
        Opcode::CaseEntry => {
            let (wanted, open) = (h.a(), h.b());
            let count = h.load(h.thread, thread::ARGUMENT_COUNT);
            let equal = h.compare(IntCC::Equal, count, wanted);
            let more = h.compare(IntCC::UnsignedGreaterThan, count, wanted);
            let more = h
                .builder
                .ins()
                .uextend(cranelift_codegen::ir::types::I64, more);
            let more = h.builder.ins().band(more, open);
            let equal = h
                .builder
                .ins()
                .uextend(cranelift_codegen::ir::types::I64, equal);
            let fits = h.builder.ins().bor(equal, more);
            let other = h.compare_constant(IntCC::Equal, fits, 0);
            h.branch(other);
        }
        _ => {
            let x = h.ra();
            let condition = test(opcode, h, x);
            h.branch(condition);
        }
    }
}

/// The condition on which a one-word test branches.
fn test(opcode: Opcode, h: &mut Handler, x: Value) -> Value {
    use IntCC::{Equal, NotEqual};
    let pair = layout::TAG_PAIR as i64;
    let character = layout::CHARACTER_LOW_BYTE as i64;
    match opcode {
        Opcode::JumpFalse => h.compare_constant(Equal, x, layout::FALSE as i64),
        Opcode::JumpTrue => h.compare_constant(NotEqual, x, layout::FALSE as i64),
        Opcode::JumpEq | Opcode::JumpNotEq => {
            let y = h.rb();
            h.compare(
                if opcode == Opcode::JumpEq {
                    Equal
                } else {
                    NotEqual
                },
                x,
                y,
            )
        }
        Opcode::JumpEqImmediate | Opcode::JumpNotEqImmediate => {
            let y = h.wide_word();
            h.compare(
                if opcode == Opcode::JumpEqImmediate {
                    Equal
                } else {
                    NotEqual
                },
                x,
                y,
            )
        }
        Opcode::JumpPair => low_bits_test(h, x, layout::TAG_MASK, Equal, pair),
        Opcode::JumpNotPair => low_bits_test(h, x, layout::TAG_MASK, NotEqual, pair),
        Opcode::JumpFixnum => low_bits_test(h, x, 3, Equal, 0),
        Opcode::JumpNotFixnum => low_bits_test(h, x, 3, NotEqual, 0),
        Opcode::JumpCharacter => low_bits_test(h, x, 0xff, Equal, character),
        Opcode::JumpNotCharacter => low_bits_test(h, x, 0xff, NotEqual, character),
        Opcode::JumpFlonum | Opcode::JumpNotFlonum => {
            // A boxed flonum is an object; objects go to the second stage.
            let tag = h.and_constant(x, layout::TAG_MASK);
            let object = h.compare_constant(Equal, tag, layout::TAG_OBJECT as i64);
            h.slow_if(object);
            let is = h.is_flonum(x);
            h.builder.ins().icmp_imm_s(
                if opcode == Opcode::JumpFlonum {
                    NotEqual
                } else {
                    Equal
                },
                is,
                0,
            )
        }
        other => unreachable!("{} is not a one-word test", other.row().name),
    }
}

fn low_bits_test(h: &mut Handler, x: Value, mask: u64, condition: IntCC, wanted: i64) -> Value {
    let low = h.and_constant(x, mask);
    h.compare_constant(condition, low, wanted)
}

/// Second stage of the flonum tests: the word is an object.
pub fn write_boxed_flonum(opcode: Opcode, h: &mut Handler) {
    let x = h.ra();
    h.guard_object(x);
    let kind = h.load_u8(x, layout::HEADER + 1);
    let condition = if opcode == Opcode::JumpFlonum {
        IntCC::Equal
    } else {
        IntCC::NotEqual
    };
    let condition = h.compare_constant(condition, kind, Kind::Flonum as i64);
    h.branch(condition);
}

/// `return`: the value takes the closure's place, and the call instruction before the return
/// address says how far below the caller's frame is.
fn write_return(h: &mut Handler) {
    let value = h.ra();
    let pc = h.load(h.fp, 8 * frame::RETURN_PC);
    h.store(value, h.fp, 8 * frame::CLOSURE);
    let base = h.load_u8(pc, -7);
    let bytes = h.shift_left(base, 3);
    let fp = h.builder.ins().isub(h.fp, bytes);
    h.fp = h.add_constant(fp, -8 * frame::LINK_WORDS as i64);
    h.pc = pc;
    h.next();
}

/// `native`: goes to the machine address of the descriptor that begins with this word.
pub fn write_native(_: Opcode, h: &mut Handler) {
    let target = h.load(h.pc, descriptor::NATIVE as i32 - 4);
    h.go(target);
}

/// `retired`: goes to the bytecode that the descriptor stands for.
pub fn write_retired(_: Opcode, h: &mut Handler) {
    h.pc = h.load(h.pc, descriptor::BYTECODE as i32 - 4);
    h.next();
}

fn write_kind_test(opcode: Opcode, h: &mut Handler) {
    let x = h.ra();
    let on_kind = opcode == Opcode::JumpKind;
    let tag = h.and_constant(x, layout::TAG_MASK);
    let not_object = h.compare_constant(IntCC::NotEqual, tag, layout::TAG_OBJECT as i64);
    h.when(not_object, |h| {
        if on_kind {
            h.next_after(1)
        } else {
            h.take_branch()
        }
    });
    let kind = h.load_u8(x, layout::HEADER + 1);
    let wanted = h.b();
    let condition = h.compare(
        if on_kind {
            IntCC::Equal
        } else {
            IntCC::NotEqual
        },
        kind,
        wanted,
    );
    h.branch(condition);
}

/// Everything is decided here, unless what is wanted is not a record type.
fn write_record_test(opcode: Opcode, h: &mut Handler) {
    let (x, wanted) = (h.ra(), h.rb());
    let on_record = opcode == Opcode::JumpRecord;
    h.guard_kind(wanted, Kind::RecordType);
    let go = move |h: &mut Handler, branches: bool| {
        if branches {
            h.take_branch()
        } else {
            h.next_after(1)
        }
    };
    let yes = move |h: &mut Handler| go(h, on_record);
    let no = move |h: &mut Handler| go(h, !on_record);
    let tag = h.and_constant(x, layout::TAG_MASK);
    let not_object = h.compare_constant(IntCC::NotEqual, tag, layout::TAG_OBJECT as i64);
    h.when(not_object, no);
    let kind = h.load_u8(x, layout::HEADER + 1);
    let not_record = h.compare_constant(IntCC::NotEqual, kind, Kind::Record as i64);
    h.when(not_record, no);
    let type_of = h.load(x, layout::FIELD0);
    let other = h.compare(IntCC::NotEqual, type_of, wanted);
    h.when(other, |h| {
        let ancestor = super::objects::ancestor(h, type_of, wanted);
        let different = h.compare(IntCC::NotEqual, ancestor, wanted);
        h.when(different, no);
        yes(h);
    });
    yes(h);
}
