//! Arithmetic and comparison beyond what handlers do with fixnums and flonums in words.

use canny_tables::opcodes::Opcode;
use canny_value::Value;

use super::{Next, Site};

pub(crate) fn binary(site: &mut Site) -> Next {
    let (x, y) = (site.rb(), site.rc());
    let opcode = site.opcode();
    let thread = &mut *site.thread;
    let result = match opcode {
        Opcode::Add => thread.add(x, y),
        Opcode::Subtract => thread.subtract(x, y),
        Opcode::Multiply => thread.multiply(x, y),
        Opcode::Divide => thread.divide(x, y),
        Opcode::Quotient => thread.quotient(x, y),
        Opcode::Remainder => thread.remainder(x, y),
        Opcode::Modulo => thread.modulo(x, y),
        Opcode::BitAnd => thread.bitwise_and(x, y),
        Opcode::BitOr => thread.bitwise_or(x, y),
        Opcode::BitXor => thread.bitwise_xor(x, y),
        _ => thread.arithmetic_shift(x, y),
    }?;
    site.set_a(result);
    Ok(site.next())
}

pub(crate) fn add_immediate(site: &mut Site) -> Next {
    let n = site.c_signed();
    let x = site.rb();
    let result = if n < 0 {
        site.thread.subtract(x, Value::fixnum(-n))
    } else {
        site.thread.add(x, Value::fixnum(n))
    }?;
    site.set_a(result);
    Ok(site.next())
}

pub(crate) fn comparison(site: &mut Site) -> Next {
    use Opcode::*;
    let opcode = site.opcode();
    let immediate = opcode as u8 >= JumpLessImmediate as u8;
    let x = site.ra();
    let y = if immediate {
        Value::fixnum(site.wide_signed())
    } else {
        site.rb()
    };
    let thread = &mut *site.thread;
    let (holds, negated) = match opcode {
        JumpLess | JumpLessImmediate => (thread.less(x, y)?, false),
        JumpNotLess | JumpNotLessImmediate => (thread.less(x, y)?, true),
        JumpLessEqual | JumpLessEqualImmediate => (thread.less_equal(x, y)?, false),
        JumpNotLessEqual | JumpNotLessEqualImmediate => (thread.less_equal(x, y)?, true),
        JumpGreaterImmediate => (thread.greater(x, y)?, false),
        JumpNotGreaterImmediate => (thread.greater(x, y)?, true),
        JumpGreaterEqualImmediate => (thread.greater_equal(x, y)?, false),
        JumpNotGreaterEqualImmediate => (thread.greater_equal(x, y)?, true),
        JumpNumberEqual | JumpNumberEqualImmediate => (thread.number_equal(x, y)?, false),
        _ => (thread.number_equal(x, y)?, true),
    };
    Ok(site.branch(holds != negated))
}
