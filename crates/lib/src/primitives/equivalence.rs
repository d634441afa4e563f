//! Equivalence and booleans, and the predicates of values that have no other home.

use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::equality::{is_equal, is_eqv};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "eq?" => |_, call| Ok(Value::boolean(call.at(0) == call.at(1)));
    "eqv?" => |_, call| Ok(Value::boolean(is_eqv(call.at(0), call.at(1))));
    "equal?" => |_, call| Ok(Value::boolean(is_equal(call.at(0), call.at(1))));
    "not" => |_, call| Ok(Value::boolean(!call.at(0).is_true()));
    "boolean?" => |_, call| Ok(Value::boolean(call.at(0).is_boolean()));
    "boolean=?" => |thread, call| call.neighbours(thread, boolean, |left, right| left == right);
    "void" => |_, _| Ok(Value::UNSPECIFIED);
    "%unspecified?" => |_, call| Ok(Value::boolean(call.at(0) == Value::UNSPECIFIED));
    "%default-object?" => is_default_object;
    "eof-object" => |_, _| Ok(Value::EOF);
    "eof-object?" => |_, call| Ok(Value::boolean(call.at(0) == Value::EOF));
};

fn boolean(call: Call, thread: &mut Thread, position: usize) -> Result<Value, Raise> {
    let value = call.at(position);
    if value.is_boolean() {
        return Ok(value);
    }
    Err(call.type_error(thread, position, "boolean"))
}

fn is_default_object(_: &mut Thread, call: Call) -> Result<Value, Raise> {
    let value = call.at(0);
    Ok(Value::boolean(
        value == Value::DEFAULT || value == Value::ABSENT,
    ))
}
