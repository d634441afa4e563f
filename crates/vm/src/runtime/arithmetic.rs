//! Runtime entries of arithmetic and comparison, for operands that the handlers do not take.
//!
//! An entry reads its registers, calls [`crate::data::arithmetic`] and writes the result or branches. An
//! error names the operation and the operand order of the source, where code generation changed
//! them.

use canny_tables::kinds::Kind;
use canny_value::Value;

use super::{Next, Site};
use crate::data::numbers::{Numeric, numeric};
use crate::primitive::Raise;
use crate::thread::Thread;

/// An operation of the runtime on two numbers.
type Operation = fn(&mut Thread, Value, Value) -> Result<Value, Raise>;

pub(crate) fn binary(site: &mut Site, operation: Operation) -> Next {
    let (x, y) = (site.rb(), site.rc());
    let result = operation(site.thread, x, y)?;
    site.set_a(result);
    Ok(site.next())
}

pub(crate) fn add_immediate(site: &mut Site) -> Next {
    let n = site.c_signed();
    let x = site.rb();
    if numeric(x).is_none() {
        let written = site.written();
        let who = if (n < 0) != written.is_opposite {
            "-"
        } else {
            "+"
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

pub(crate) fn comparison(site: &mut Site, relation: Relation, negated: bool) -> Next {
    let x = site.ra();
    let y = if site.opcode().row().operands[1].is_read() {
        site.rb()
    } else {
        Value::fixnum(site.wide_signed())
    };
    let fails = !is_real(x) || !is_real(y);
    let holds = if fails && site.written().is_exchanged {
        // The message is about the call as it is written.
        relation.turned().holds(site.thread, y, x)
    } else {
        relation.holds(site.thread, x, y)
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

/// How two numbers are compared.
#[derive(Clone, Copy)]
pub(crate) enum Relation {
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
