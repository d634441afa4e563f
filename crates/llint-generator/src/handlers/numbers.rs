//! Fast handlers of arithmetic and comparison.
//!
//! A handler takes two fixnums; a second stage takes flonums; everything else, overflow included,
//! is the runtime's. A fast path gives exactly the result of the numeric tower, also for NaN and
//! signed zeros.

use canny_tables::layout::FIXNUM_SHIFT;
use canny_tables::opcodes::Opcode;
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::types::F64;
use cranelift_codegen::ir::{InstBuilder, Value};

use crate::dsl::Handler;

/// Second operand of an arithmetic opcode as a tagged word.
fn second(opcode: Opcode, h: &mut Handler) -> Value {
    if opcode == Opcode::AddImmediate {
        h.c_fixnum()
    } else {
        h.rc()
    }
}

/// Arithmetic of two fixnums or two flonums of usual magnitude.
pub fn write_arithmetic(opcode: Opcode, h: &mut Handler) {
    let (x, y) = (h.rb(), h.rc());
    let either = h.builder.ins().bor(x, y);
    let tag = h.and_constant(either, 3);
    h.unlikely(tag, |h| {
        let (x, y) = h.guard_usual_flonums(x, y);
        let result = flonum_operation(opcode, h, x, y);
        let word = h.encode_usual_flonum(result);
        h.set_a(word);
        h.next();
    });
    write_fixnum_operation(opcode, h, x, y);
}

/// Division of two flonums of usual magnitude.
pub fn write_division_of_flonums(opcode: Opcode, h: &mut Handler) {
    let (x, y) = (h.rb(), h.rc());
    let (x, y) = h.guard_usual_flonums(x, y);
    let result = flonum_operation(opcode, h, x, y);
    let word = h.encode_usual_flonum(result);
    h.set_a(word);
    h.next();
}

/// Fixnum arithmetic.
pub fn write_fixnum(opcode: Opcode, h: &mut Handler) {
    let x = h.rb();
    let y = second(opcode, h);
    if opcode == Opcode::AddImmediate {
        h.guard_fixnum(x)
    } else {
        h.guard_fixnums(x, y)
    }
    write_fixnum_operation(opcode, h, x, y);
}

fn write_fixnum_operation(opcode: Opcode, h: &mut Handler, x: Value, y: Value) {
    let result = match opcode {
        Opcode::Add | Opcode::AddImmediate => {
            let (sum, overflow) = h.builder.ins().sadd_overflow(x, y);
            h.slow_if(overflow);
            sum
        }
        Opcode::Subtract => {
            let (difference, overflow) = h.builder.ins().ssub_overflow(x, y);
            h.slow_if(overflow);
            difference
        }
        Opcode::Multiply => {
            let x = h.shift_right_signed(x, FIXNUM_SHIFT as i64);
            let (product, overflow) = h.builder.ins().smul_overflow(x, y);
            h.slow_if(overflow);
            product
        }
        Opcode::Quotient | Opcode::Remainder | Opcode::Modulo => write_division(opcode, h, x, y),
        Opcode::BitAnd => h.builder.ins().band(x, y),
        Opcode::BitOr => h.builder.ins().bor(x, y),
        Opcode::BitXor => h.builder.ins().bxor(x, y),
        Opcode::ShiftLeft => return write_shift(h, x, y),
        other => unreachable!("{} is not fixnum arithmetic", other.row().name),
    };
    h.set_a(result);
    h.next();
}

fn write_division(opcode: Opcode, h: &mut Handler, x: Value, y: Value) -> Value {
    let zero = h.compare_constant(IntCC::Equal, y, 0);
    h.slow_if(zero);
    // The least fixnum divided by -1 is no fixnum.
    let minus_one = h.compare_constant(IntCC::Equal, y, -1 << FIXNUM_SHIFT);
    h.slow_if(minus_one);
    match opcode {
        Opcode::Quotient => {
            let quotient = h.builder.ins().sdiv(x, y);
            h.shift_left(quotient, FIXNUM_SHIFT as i64)
        }
        Opcode::Remainder => h.builder.ins().srem(x, y),
        _ => {
            let remainder = h.builder.ins().srem(x, y);
            // Read the divisor again: the division leaves no register for it.
            let divisor = h.rc();
            let signs = h.builder.ins().bxor(remainder, divisor);
            let agree = h.compare_constant(IntCC::SignedGreaterThanOrEqual, signs, 0);
            h.when(agree, |h| {
                h.set_a(remainder);
                h.next();
            });
            let exact = h.compare_constant(IntCC::Equal, remainder, 0);
            h.when(exact, |h| {
                h.set_a(remainder);
                h.next();
            });
            let divisor = h.rc();
            h.add(remainder, divisor)
        }
    }
}

fn write_shift(h: &mut Handler, x: Value, y: Value) {
    let negative = h.compare_constant(IntCC::SignedLessThan, y, 0);
    h.when(negative, |h| {
        let count = h.builder.ins().ineg(y);
        let count = h.shift_right(count, FIXNUM_SHIFT as i64);
        let large = h.compare_constant(IntCC::UnsignedGreaterThan, count, 61);
        h.slow_if(large);
        let shifted = h.builder.ins().sshr(x, count);
        let cleared = h.and_constant(shifted, !3);
        h.set_a(cleared);
        h.next();
    });
    let count = h.shift_right(y, FIXNUM_SHIFT as i64);
    let large = h.compare_constant(IntCC::UnsignedGreaterThan, count, 61);
    h.slow_if(large);
    let shifted = h.builder.ins().ishl(x, count);
    let back = h.builder.ins().sshr(shifted, count);
    let lost = h.compare(IntCC::NotEqual, back, x);
    h.slow_if(lost);
    h.set_a(shifted);
    h.next();
}

fn flonum_operation(opcode: Opcode, h: &mut Handler, x: Value, y: Value) -> Value {
    match opcode {
        Opcode::Add | Opcode::AddImmediate => h.builder.ins().fadd(x, y),
        Opcode::Subtract => h.builder.ins().fsub(x, y),
        Opcode::Multiply => h.builder.ins().fmul(x, y),
        Opcode::Divide => h.builder.ins().fdiv(x, y),
        other => unreachable!("{} is not flonum arithmetic", other.row().name),
    }
}

/// Arithmetic of flonums of any magnitude; one operand may be a fixnum.
pub fn write_flonum(opcode: Opcode, h: &mut Handler) {
    let x = h.rb();
    let x = h.guard_flonum_or_fixnum_pair(x, opcode);
    let y = if opcode == Opcode::AddImmediate {
        let n = h.c_signed();
        h.builder.ins().fcvt_from_sint(F64, n)
    } else {
        let y = h.rc();
        h.guard_number(y)
    };
    let result = flonum_operation(opcode, h, x, y);
    let word = h.encode_flonum(result);
    h.set_a(word);
    h.next();
}

impl Handler<'_, '_> {
    /// First operand of staged arithmetic: a flonum, or a fixnum when the second is a flonum.
    /// Two fixnums get here when they overflowed and continue to the slow path.
    fn guard_flonum_or_fixnum_pair(&mut self, x: Value, opcode: Opcode) -> Value {
        if opcode == Opcode::AddImmediate {
            return self.guard_flonum(x);
        }
        let y = self.rc();
        let both = self.builder.ins().bor(x, y);
        let tag = self.and_constant(both, 3);
        let fixnums = self.compare_constant(IntCC::Equal, tag, 0);
        self.slow_if(fixnums);
        self.guard_number(x)
    }
}

/// Conditions of a comparison: the fixnum one, the flonum one, and whether the branch is on failure.
fn conditions(opcode: Opcode) -> (IntCC, FloatCC, bool) {
    use Opcode::*;
    match opcode {
        JumpLess | JumpLessImmediate => (IntCC::SignedLessThan, FloatCC::LessThan, false),
        JumpNotLess | JumpNotLessImmediate => (IntCC::SignedLessThan, FloatCC::LessThan, true),
        JumpLessEqual | JumpLessEqualImmediate => (
            IntCC::SignedLessThanOrEqual,
            FloatCC::LessThanOrEqual,
            false,
        ),
        JumpNotLessEqual | JumpNotLessEqualImmediate => {
            (IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual, true)
        }
        JumpGreaterImmediate => (IntCC::SignedGreaterThan, FloatCC::GreaterThan, false),
        JumpNotGreaterImmediate => (IntCC::SignedGreaterThan, FloatCC::GreaterThan, true),
        JumpGreaterEqualImmediate => (
            IntCC::SignedGreaterThanOrEqual,
            FloatCC::GreaterThanOrEqual,
            false,
        ),
        JumpNotGreaterEqualImmediate => (
            IntCC::SignedGreaterThanOrEqual,
            FloatCC::GreaterThanOrEqual,
            true,
        ),
        JumpNumberEqual | JumpNumberEqualImmediate => (IntCC::Equal, FloatCC::Equal, false),
        JumpNotNumberEqual | JumpNotNumberEqualImmediate => (IntCC::Equal, FloatCC::Equal, true),
        other => unreachable!("{} is not a comparison", other.row().name),
    }
}

fn branch_integers(opcode: Opcode, h: &mut Handler, x: Value, y: Value) {
    let (condition, _, negated) = conditions(opcode);
    let condition = if negated {
        condition.complement()
    } else {
        condition
    };
    let holds = h.compare(condition, x, y);
    h.branch(holds);
}

fn branch_flonums(opcode: Opcode, h: &mut Handler, x: Value, y: Value) {
    let (_, condition, negated) = conditions(opcode);
    // The complement of an ordered comparison holds for NaN, as "unless" wants.
    let condition = if negated {
        condition.complement()
    } else {
        condition
    };
    let holds = h.builder.ins().fcmp(condition, x, y);
    h.branch(holds);
}

/// Comparison of two fixnums or of two flonums of usual magnitude.
pub fn write_comparison(opcode: Opcode, h: &mut Handler) {
    let (x, y) = (h.ra(), h.rb());
    let either = h.builder.ins().bor(x, y);
    let tag = h.and_constant(either, 3);
    h.unlikely(tag, |h| {
        let (x, y) = h.guard_usual_flonums(x, y);
        branch_flonums(opcode, h, x, y);
    });
    branch_integers(opcode, h, x, y);
}

/// Comparison of two flonums of any magnitude. A flonum and a fixnum compare exactly, which the runtime does.
pub fn write_flonum_comparison(opcode: Opcode, h: &mut Handler) {
    let (x, y) = (h.ra(), h.rb());
    let x = h.guard_flonum(x);
    let y = h.guard_flonum(y);
    branch_flonums(opcode, h, x, y);
}

/// Comparison of a fixnum with an immediate.
pub fn write_immediate_comparison(opcode: Opcode, h: &mut Handler) {
    let x = h.ra();
    h.guard_fixnum(x);
    let y = h.wide_fixnum();
    branch_integers(opcode, h, x, y);
}

/// Comparison of a flonum with an immediate, which a flonum holds exactly.
pub fn write_flonum_immediate_comparison(opcode: Opcode, h: &mut Handler) {
    let x = h.ra();
    let x = h.guard_flonum(x);
    let n = h.wide_signed();
    let y = h.builder.ins().fcvt_from_sint(F64, n);
    branch_flonums(opcode, h, x, y);
}

/// Comparison of two characters, whose words order as their code points do.
pub fn write_character_comparison(opcode: Opcode, h: &mut Handler) {
    let (x, y) = (h.ra(), h.rb());
    h.guard_character(x);
    h.guard_character(y);
    let condition = match opcode {
        Opcode::JumpCharacterEqual => IntCC::Equal,
        Opcode::JumpNotCharacterEqual => IntCC::NotEqual,
        Opcode::JumpCharacterLess => IntCC::UnsignedLessThan,
        Opcode::JumpNotCharacterLess => IntCC::UnsignedGreaterThanOrEqual,
        other => unreachable!("{} does not compare characters", other.row().name),
    };
    let holds = h.compare(condition, x, y);
    h.branch(holds);
}
