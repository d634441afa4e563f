//! Order, numerical equality and `eqv?`.
//!
//! Exact and inexact numbers are compared by their exact values, so that `=` and `<` are
//! transitive. A NaN is unordered: every comparison with it is false.

use crate::convert::flonum_to_exact;
use crate::error::NumberError;
use crate::exactness::inexact;
use crate::number::Number;
use std::cmp::Ordering;

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        eqv(self, other)
    }
}

impl Eq for Number {}

/// The order of two real numbers; `None` if one of them is a NaN.
pub fn compare(left: &Number, right: &Number) -> Result<Option<Ordering>, NumberError> {
    for operand in [left, right] {
        if matches!(operand, Number::Complex(_)) {
            return Err(NumberError::NotReal(operand.clone()));
        }
    }
    Ok(compare_reals(left, right))
}

/// [`compare`] for operands known to be real.
pub(crate) fn compare_reals(left: &Number, right: &Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Fixnum(x), Number::Fixnum(y)) => Some(x.cmp(y)),
        (Number::Flonum(x), Number::Flonum(y)) => x.partial_cmp(y),
        (Number::Fixnum(x), Number::Flonum(y)) => compare_fixnum_flonum(*x, *y),
        (Number::Flonum(x), Number::Fixnum(y)) => {
            compare_fixnum_flonum(*y, *x).map(Ordering::reverse)
        }
        (exact, Number::Flonum(y)) => compare_exact_flonum(exact, *y),
        (Number::Flonum(x), exact) => compare_exact_flonum(exact, *x).map(Ordering::reverse),
        _ => compare_exact(left, right),
    }
}

fn compare_exact(left: &Number, right: &Number) -> Option<Ordering> {
    if let (Some(x), Some(y)) = (left.to_integer(), right.to_integer()) {
        return Some(x.cmp(&y));
    }
    Some(left.to_ratio()?.cmp(&right.to_ratio()?))
}

fn compare_fixnum_flonum(left: i64, right: f64) -> Option<Ordering> {
    const LIMIT: f64 = (1u64 << 63) as f64;
    if right.is_nan() {
        return None;
    }
    if right >= LIMIT {
        return Some(Ordering::Less);
    }
    if right < -LIMIT {
        return Some(Ordering::Greater);
    }
    let whole = right.trunc();
    let fraction = right - whole;
    Some(
        left.cmp(&(whole as i64))
            .then(0.0f64.partial_cmp(&fraction)?),
    )
}

/// A big integer or a ratio against a flonum.
fn compare_exact_flonum(left: &Number, right: f64) -> Option<Ordering> {
    if right.is_nan() {
        return None;
    }
    if right == f64::INFINITY {
        return Some(Ordering::Less);
    }
    if right == f64::NEG_INFINITY {
        return Some(Ordering::Greater);
    }
    compare_exact(left, &flonum_to_exact(right))
}

/// `(= left right)`
pub fn numeric_equal(left: &Number, right: &Number) -> bool {
    match (left, right) {
        (Number::Complex(x), Number::Complex(y)) => {
            numeric_equal(&x.0, &y.0) && numeric_equal(&x.1, &y.1)
        }
        (Number::Complex(parts), real) | (real, Number::Complex(parts)) => {
            numeric_equal(&parts.1, &Number::ZERO) && numeric_equal(&parts.0, real)
        }
        _ => compare_reals(left, right) == Some(Ordering::Equal),
    }
}

/// `(< left right)`
pub fn less(left: &Number, right: &Number) -> Result<bool, NumberError> {
    Ok(compare(left, right)? == Some(Ordering::Less))
}

/// `(> left right)`
pub fn greater(left: &Number, right: &Number) -> Result<bool, NumberError> {
    Ok(compare(left, right)? == Some(Ordering::Greater))
}

/// `(<= left right)`
pub fn less_or_equal(left: &Number, right: &Number) -> Result<bool, NumberError> {
    Ok(compare(left, right)?.is_some_and(Ordering::is_le))
}

/// `(>= left right)`
pub fn greater_or_equal(left: &Number, right: &Number) -> Result<bool, NumberError> {
    Ok(compare(left, right)?.is_some_and(Ordering::is_ge))
}

/// `(max left right)`; inexact if either operand is, and a NaN if either operand is one.
pub fn max(left: &Number, right: &Number) -> Result<Number, NumberError> {
    extreme(left, right, Ordering::Greater)
}

/// `(min left right)`; inexact if either operand is, and a NaN if either operand is one.
pub fn min(left: &Number, right: &Number) -> Result<Number, NumberError> {
    extreme(left, right, Ordering::Less)
}

fn extreme(left: &Number, right: &Number, wanted: Ordering) -> Result<Number, NumberError> {
    let chosen = match compare(left, right)? {
        None => return Ok(Number::Flonum(f64::NAN)),
        Some(order) if order == wanted => left,
        Some(_) => right,
    };
    if matches!(left, Number::Flonum(_)) || matches!(right, Number::Flonum(_)) {
        Ok(inexact(chosen))
    } else {
        Ok(chosen.clone())
    }
}

/// `(eqv? left right)`: same exactness and same value; `0.0` differs from `-0.0`, and all NaNs
/// are the same.
pub fn eqv(left: &Number, right: &Number) -> bool {
    match (left, right) {
        (Number::Fixnum(x), Number::Fixnum(y)) => x == y,
        (Number::Big(x), Number::Big(y)) => x == y,
        (Number::Ratio(x), Number::Ratio(y)) => x == y,
        (Number::Flonum(x), Number::Flonum(y)) => {
            x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
        }
        (Number::Complex(x), Number::Complex(y)) => eqv(&x.0, &y.0) && eqv(&x.1, &y.1),
        _ => false,
    }
}
