//! Pairs: constructors, accessors and the compositions of `car` and `cdr`.

use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "cons" => |thread, call| Ok(thread.cons(call.at(0), call.at(1)));
    "xcons" => |thread, call| Ok(thread.cons(call.at(1), call.at(0)));
    "pair?" => |_, call| Ok(Value::boolean(call.at(0).is_pair()));
    "null?" => |_, call| Ok(Value::boolean(call.at(0).is_nil()));
    "set-car!" => set_car;
    "set-cdr!" => set_cdr;
    "car" => |thread, call| access(thread, call, b"a");
    "cdr" => |thread, call| access(thread, call, b"d");
    "caar" => |thread, call| access(thread, call, b"aa");
    "cadr" => |thread, call| access(thread, call, b"ad");
    "cdar" => |thread, call| access(thread, call, b"da");
    "cddr" => |thread, call| access(thread, call, b"dd");
    "caaar" => |thread, call| access(thread, call, b"aaa");
    "caadr" => |thread, call| access(thread, call, b"aad");
    "cadar" => |thread, call| access(thread, call, b"ada");
    "caddr" => |thread, call| access(thread, call, b"add");
    "cdaar" => |thread, call| access(thread, call, b"daa");
    "cdadr" => |thread, call| access(thread, call, b"dad");
    "cddar" => |thread, call| access(thread, call, b"dda");
    "cdddr" => |thread, call| access(thread, call, b"ddd");
    "caaaar" => |thread, call| access(thread, call, b"aaaa");
    "caaadr" => |thread, call| access(thread, call, b"aaad");
    "caadar" => |thread, call| access(thread, call, b"aada");
    "caaddr" => |thread, call| access(thread, call, b"aadd");
    "cadaar" => |thread, call| access(thread, call, b"adaa");
    "cadadr" => |thread, call| access(thread, call, b"adad");
    "caddar" => |thread, call| access(thread, call, b"adda");
    "cadddr" => |thread, call| access(thread, call, b"addd");
    "cdaaar" => |thread, call| access(thread, call, b"daaa");
    "cdaadr" => |thread, call| access(thread, call, b"daad");
    "cdadar" => |thread, call| access(thread, call, b"dada");
    "cdaddr" => |thread, call| access(thread, call, b"dadd");
    "cddaar" => |thread, call| access(thread, call, b"ddaa");
    "cddadr" => |thread, call| access(thread, call, b"ddad");
    "cdddar" => |thread, call| access(thread, call, b"ddda");
    "cddddr" => |thread, call| access(thread, call, b"dddd");
};

/// Follows a path of cars and cdrs, the last letter first. The whole argument is blamed when the
/// path leads out of it.
#[inline(always)]
fn access(thread: &mut Thread, call: Call, path: &[u8]) -> Result<Value, Raise> {
    let mut value = call.at(0);
    for &step in path.iter().rev() {
        let Some(pair) = value.as_pair() else {
            return Err(not_deep_enough(thread, call, path));
        };
        value = if step == b'a' { pair.car() } else { pair.cdr() };
    }
    Ok(value)
}

#[cold]
fn not_deep_enough(thread: &mut Thread, call: Call, path: &[u8]) -> Raise {
    if path.len() == 1 {
        return call.type_error(thread, 0, "pair");
    }
    let expected = format!("an object that has a {}", call.who);
    call.type_error(thread, 0, &expected)
}

fn set_car(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pair = call.pair(thread, 0)?.value();
    thread.set_car(pair, call.at(1));
    Ok(Value::UNSPECIFIED)
}

fn set_cdr(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pair = call.pair(thread, 0)?.value();
    thread.set_cdr(pair, call.at(1));
    Ok(Value::UNSPECIFIED)
}
