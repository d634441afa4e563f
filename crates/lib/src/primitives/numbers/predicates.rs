//! Predicates of numbers: which sets of the tower an object is in.
//!
//! The predicates of sets take any object. Others, such as `even?`, raise for what is not in their
//! domain. Fixnums and flonums are decided here, the rest by the numeric tower.

use canny_number as number;
use canny_number::integers::Integer;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::numbers::with_integer;
use canny_vm::{Numeric, PrimitiveFunction, Raise, Thread, numeric};

use super::{number_at, refused};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "number?" => |_, call: Call| answer(numeric(call.at(0)).is_some());
    "complex?" => |_, call: Call| answer(numeric(call.at(0)).is_some());
    "real?" => |_, call: Call| answer(is_real(call.at(0)));
    "rational?" => |_, call: Call| answer(is_rational(call.at(0)));
    "integer?" => |_, call: Call| answer(is_integer(call.at(0)));
    "exact-integer?" => |_, call: Call| answer(is_exact_integer(call.at(0)));
    "exact-rational?" => |_, call: Call| answer(is_exact_rational(call.at(0)));
    "exact-nonnegative-integer?" => |_, call: Call| answer(is_exact_nonnegative_integer(call.at(0)));
    "fixnum?" => |_, call: Call| answer(call.at(0).is_fixnum());
    "flonum?" => |_, call: Call| answer(call.at(0).as_flonum().is_some());
    "exact?" => |thread, call| test(thread, call, |_| true, |_| false, number::is_exact);
    "inexact?" => |thread, call| test(thread, call, |_| false, |_| true, number::is_inexact);
    "finite?" => |thread, call| test(thread, call, |_| true, f64::is_finite, number::is_finite);
    "infinite?" => |thread, call| test(thread, call, |_| false, f64::is_infinite, number::is_infinite);
    "nan?" => |thread, call| test(thread, call, |_| false, f64::is_nan, number::is_nan);
    "zero?" => |thread, call| test(thread, call, |n| n == 0, |f| f == 0.0, number::is_zero);
    "positive?" => |thread, call| {
        judge(thread, call, |n| !n.is_negative() && !n.is_zero(), number::is_positive)
    };
    "negative?" => |thread, call| judge(thread, call, |n| n.is_negative(), number::is_negative);
    "odd?" => |thread, call| judge(thread, call, |n| n.is_odd(), number::is_odd);
    "even?" => |thread, call| judge(thread, call, |n| !n.is_odd(), number::is_even);
};

fn answer(holds: bool) -> Result<Value, Raise> {
    Ok(Value::boolean(holds))
}

fn kind_of(value: Value) -> Option<Kind> {
    value.as_object().map(|object| object.kind())
}

pub(crate) fn is_real(value: Value) -> bool {
    numeric(value).is_some() && kind_of(value) != Some(Kind::Compnum)
}

pub(crate) fn is_rational(value: Value) -> bool {
    match value.as_flonum() {
        Some(flonum) => flonum.is_finite(),
        None => is_real(value),
    }
}

/// Whether a value is an integer, exact or not.
pub(crate) fn is_integer(value: Value) -> bool {
    match numeric(value) {
        Some(Numeric::Fixnum(_)) => true,
        Some(Numeric::Flonum(flonum)) => flonum.is_finite() && flonum.trunc() == flonum,
        Some(Numeric::Other(object)) => object.is_kind(Kind::Bignum),
        None => false,
    }
}

/// Whether a value is an exact integer.
pub(crate) fn is_exact_integer(value: Value) -> bool {
    value.is_fixnum() || value.is_kind(Kind::Bignum)
}

pub(crate) fn is_exact_rational(value: Value) -> bool {
    is_exact_integer(value) || value.is_kind(Kind::Ratnum)
}

pub(crate) fn is_exact_nonnegative_integer(value: Value) -> bool {
    match value.as_fixnum() {
        Some(fixnum) => fixnum >= 0,
        None => {
            value.is_kind(Kind::Bignum)
                && with_integer(value, |big| !big.is_negative()).unwrap_or(false)
        }
    }
}

/// A predicate that any number answers.
fn test(
    thread: &mut Thread,
    call: Call,
    of_fixnum: fn(i64) -> bool,
    of_flonum: fn(f64) -> bool,
    of_number: fn(&number::Number) -> bool,
) -> Result<Value, Raise> {
    match numeric(call.at(0)) {
        Some(Numeric::Fixnum(fixnum)) => answer(of_fixnum(fixnum)),
        Some(Numeric::Flonum(flonum)) => answer(of_flonum(flonum)),
        _ => answer(of_number(&number_at(thread, call, 0)?)),
    }
}

/// A predicate that not every number answers.
fn judge(
    thread: &mut Thread,
    call: Call,
    of_integer: impl FnOnce(Integer) -> bool,
    of_number: fn(&number::Number) -> Result<bool, number::NumberError>,
) -> Result<Value, Raise> {
    if let Some(holds) = with_integer(call.at(0), of_integer) {
        return answer(holds);
    }
    match of_number(&number_at(thread, call, 0)?) {
        Ok(holds) => answer(holds),
        Err(error) => Err(refused(thread, call, &error)),
    }
}
