//! Conditions for texts that are not what they should be.

use canny_io::Location;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use crate::arguments::Call;

/// Raises a condition of that kind. The irritants say where.
pub(crate) fn raise_misplaced(
    thread: &mut Thread,
    call: Call,
    kind: &str,
    message: &str,
    location: &Location,
) -> Raise {
    let base = thread.protect(Value::NIL);
    let mut places = Vec::new();
    for (name, number) in [
        ("line", location.line),
        ("column", location.column),
        ("offset", location.byte_offset),
    ] {
        let name = thread.symbol(name);
        places.push(thread.protect(name));
        places.push(thread.protect(Value::fixnum(number as i64)));
    }
    let irritants: Vec<Value> = places
        .iter()
        .map(|&place| thread.protected(place))
        .collect();
    let message = format!("{message}, at");
    let condition = thread.condition(kind, &message, &irritants, Some(call.who));
    thread.release(base);
    thread.raise_object(condition)
}
