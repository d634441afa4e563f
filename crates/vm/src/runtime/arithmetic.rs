//! Arithmetic and comparison beyond what handlers do with fixnums and flonums in words.

use canny_tables::kinds::Kind;
use canny_tables::opcodes::Opcode;
use canny_value::Value;

use super::{Next, Site};
use crate::numbers::{Numeric, numeric};
use crate::primitive::Raise;
use crate::thread::Thread;

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
    if numeric(x).is_none() {
        let written = site.written();
        let who = match (n < 0) != written.is_opposite {
            true => "-",
            false => "+",
        };
        let position = if written.is_exchanged { 2 } else { 1 };
        return Err(site.thread.raise_type(who, position, "number", x));
    }
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
    let fails = !is_real(x) || !is_real(y);
    let relation = match opcode {
        JumpLess | JumpLessImmediate | JumpNotLess | JumpNotLessImmediate => Relation::Less,
        JumpLessEqual | JumpLessEqualImmediate | JumpNotLessEqual | JumpNotLessEqualImmediate => {
            Relation::LessEqual
        }
        JumpGreaterImmediate | JumpNotGreaterImmediate => Relation::Greater,
        JumpGreaterEqualImmediate | JumpNotGreaterEqualImmediate => Relation::GreaterEqual,
        _ => Relation::Equal,
    };
    let negated = matches!(
        opcode,
        JumpNotLess
            | JumpNotLessImmediate
            | JumpNotLessEqual
            | JumpNotLessEqualImmediate
            | JumpNotGreaterImmediate
            | JumpNotGreaterEqualImmediate
            | JumpNotNumberEqual
            | JumpNotNumberEqualImmediate
    );
    let holds = match fails && site.written().is_exchanged {
        // The message is about the call as it is written.
        true => relation.turned().holds(site.thread, y, x),
        false => relation.holds(site.thread, x, y),
    }?;
    Ok(site.branch(holds != negated))
}

/// Whether a value is a number that has an order. Few others come here.
fn is_real(value: Value) -> bool {
    match numeric(value) {
        Some(Numeric::Other(value)) => !value.is_kind(Kind::Compnum),
        found => found.is_some(),
    }
}

#[derive(Clone, Copy)]
enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
}

impl Relation {
    /// The same with the operands in the other order.
    fn turned(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessEqual => Relation::GreaterEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterEqual => Relation::LessEqual,
            Relation::Equal => Relation::Equal,
        }
    }

    fn holds(self, thread: &mut Thread, x: Value, y: Value) -> Result<bool, Raise> {
        match self {
            Relation::Less => thread.less(x, y),
            Relation::LessEqual => thread.less_equal(x, y),
            Relation::Greater => thread.greater(x, y),
            Relation::GreaterEqual => thread.greater_equal(x, y),
            Relation::Equal => thread.number_equal(x, y),
        }
    }
}
