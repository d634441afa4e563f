//! The numeric rows. `canny_number` decides the meaning of numbers; here arguments are unpacked,
//! results made into objects, and refusals turned into conditions that name the argument.
//!
//! Fixnums and flonums have short cuts where they pay. Everything else is a [`Number`], a plain Rust
//! value that no collection disturbs, so that an n-ary operation allocates only its result.

pub(crate) mod arithmetic;
pub(crate) mod bitwise;
pub(crate) mod comparison;
pub(crate) mod conversion;
pub(crate) mod flonum_functions;
pub(crate) mod functions;
pub(crate) mod predicates;
pub(crate) mod random;
#[cfg(test)]
mod tests;

use canny_number::{self as number, Number, NumberError};
use canny_value::Value;
use canny_vm::numbers::{LONG_LIMBS, limbs_of, number_of};
use canny_vm::{ConditionKind, Numeric, Raise, Thread, numeric};

use crate::arguments::{Call, Effort};

type Unary = fn(&Number) -> Result<Number, NumberError>;
type Binary = fn(&Number, &Number) -> Result<Number, NumberError>;

/// Argument `position`, which must be a number.
fn number_at(thread: &mut Thread, call: Call, position: usize) -> Result<Number, Raise> {
    match number_of(call.at(position)) {
        Some(number) => Ok(number),
        None => Err(call.type_error(thread, position, "number")),
    }
}

/// Argument `position`, which must be a real number.
fn real_at(thread: &mut Thread, call: Call, position: usize) -> Result<Number, Raise> {
    match number_of(call.at(position)) {
        Some(number) if number::is_real(&number) => Ok(number),
        _ => Err(call.type_error(thread, position, "real number")),
    }
}

/// The value of a result.
fn give(
    thread: &mut Thread,
    call: Call,
    result: Result<Number, NumberError>,
) -> Result<Value, Raise> {
    match result {
        Ok(number) => thread.number(&number),
        Err(error) => Err(refused(thread, call, &error)),
    }
}

/// A function of one number.
fn unary(thread: &mut Thread, call: Call, operation: Unary) -> Result<Value, Raise> {
    let operand = number_at(thread, call, 0)?;
    let result = call.compute(thread, effort_of_arguments(call), move || {
        operation(&operand)
    })?;
    give(thread, call, result)
}

/// A function of two numbers.
fn binary(thread: &mut Thread, call: Call, operation: Binary) -> Result<Value, Raise> {
    let left = number_at(thread, call, 0)?;
    let right = number_at(thread, call, 1)?;
    let result = call.compute(thread, effort_of_arguments(call), move || {
        operation(&left, &right)
    })?;
    give(thread, call, result)
}

/// A function of any number of numbers, from left to right; `neutral` when there are none.
fn fold(
    thread: &mut Thread,
    call: Call,
    neutral: Number,
    operation: Binary,
) -> Result<Value, Raise> {
    fold_onto(thread, call, neutral, 0, operation)
}

/// A fixnum, or a sum of some that fits 64 bits, or a flonum.
#[derive(Clone, Copy)]
enum Short {
    Fixnum(i64),
    Flonum(f64),
}

impl Short {
    #[inline]
    fn of(value: Value) -> Option<Short> {
        match numeric(value)? {
            Numeric::Fixnum(n) => Some(Short::Fixnum(n)),
            Numeric::Flonum(f) => Some(Short::Flonum(f)),
            Numeric::Other(_) => None,
        }
    }

    fn number(self) -> Number {
        match self {
            Short::Fixnum(n) => Number::Fixnum(n),
            Short::Flonum(f) => Number::Flonum(f),
        }
    }

    /// The result of an operation that has one for fixnums, if that is not too large, and one for flonums.
    #[inline]
    fn with(
        self,
        other: Short,
        fixnums: impl FnOnce(i64, i64) -> Option<i64>,
        flonums: impl FnOnce(f64, f64) -> f64,
    ) -> Option<Short> {
        use Short::{Fixnum, Flonum};
        Some(match (self, other) {
            (Fixnum(x), Fixnum(y)) => Fixnum(fixnums(x, y)?),
            (Flonum(x), Flonum(y)) => Flonum(flonums(x, y)),
            (Fixnum(x), Flonum(y)) => Flonum(flonums(x as f64, y)),
            (Flonum(x), Fixnum(y)) => Flonum(flonums(x, y as f64)),
        })
    }
}

/// A function of one number or more, from left to right: by `step` as long as it has a result, and from
/// there on by the operation of the tower.
#[inline(always)]
fn fold_quickly(
    thread: &mut Thread,
    call: Call,
    step: impl Fn(Short, Short) -> Option<Short>,
    operation: Binary,
) -> Result<Value, Raise> {
    let Some(mut result) = Short::of(call.at(0)) else {
        let first = number_at(thread, call, 0)?;
        return fold_onto(thread, call, first, 1, operation);
    };
    for position in 1..call.count() {
        let next = Short::of(call.at(position)).and_then(|operand| step(result, operand));
        match next {
            Some(next) => result = next,
            None => return fold_onto(thread, call, result.number(), position, operation),
        }
    }
    match result {
        Short::Fixnum(n) => Ok(thread.integer(n)),
        Short::Flonum(f) => Ok(thread.flonum(f)),
    }
}

/// The same from an argument on.
fn fold_onto(
    thread: &mut Thread,
    call: Call,
    start: Number,
    first: usize,
    operation: Binary,
) -> Result<Value, Raise> {
    let arguments = first..call.count();
    let words: usize = arguments
        .clone()
        .map(|position| limbs_of(call.at(position)).max(1))
        .sum();
    if words < LONG_LIMBS {
        let mut result = start;
        for position in arguments {
            let operand = number_at(thread, call, position)?;
            result = match operation(&result, &operand) {
                Ok(next) => next,
                Err(error) => return Err(refused(thread, call, &error)),
            };
        }
        return thread.number(&result);
    }
    let mut operands = Vec::new();
    for position in arguments {
        operands.push(number_at(thread, call, position)?);
    }
    let result = call.compute_offloaded(thread, move || {
        let mut operands = operands.iter();
        operands.try_fold(start, |result, operand| operation(&result, operand))
    })?;
    give(thread, call, result)
}

fn is_long(value: Value) -> bool {
    limbs_of(value) >= LONG_LIMBS
}

/// The effort of an operation, which may take long if an argument is large.
fn effort_of_arguments(call: Call) -> Effort {
    Effort::Short.or_offloaded((0..call.count()).any(|position| is_long(call.at(position))))
}

/// The condition for what the tower refused. Where the tower disliked the type of a number, the first
/// argument of a wrong type is named.
#[cold]
fn refused(thread: &mut Thread, call: Call, error: &NumberError) -> Raise {
    let is_integer = |value: &Number| number::is_integer(value);
    match error {
        NumberError::NotReal(_) => wrong(thread, call, "real number", number::is_real),
        NumberError::NotRational(_) => wrong(thread, call, "rational number", number::is_rational),
        NumberError::NotInteger(_) => wrong(thread, call, "integer", is_integer),
        NumberError::NotExactInteger(_) => {
            wrong(thread, call, "exact integer", number::is_exact_integer)
        }
        NumberError::NotExactNonnegativeInteger(_) => {
            let is_right = number::is_exact_nonnegative_integer;
            wrong(thread, call, "exact non-negative integer", is_right)
        }
        NumberError::NoExactValue(_) => call.range_error(thread, 0, "it has no exact value"),
        NumberError::DivisionByZero => arithmetic_condition(thread, call, "division by zero"),
        NumberError::Undefined(_) => arithmetic_condition(
            thread,
            call,
            "the result is not defined for these arguments",
        ),
        NumberError::TooLarge { bits } => {
            let message = format!("the exact result is too large: it would take about {bits} bits");
            arithmetic_condition(thread, call, &message)
        }
        NumberError::BadRadix(_) => {
            let position = call.count().saturating_sub(1);
            call.range_error(thread, position, "a radix is from 2 to 36")
        }
    }
}

fn wrong(
    thread: &mut Thread,
    call: Call,
    expected: &str,
    is_right: impl Fn(&Number) -> bool,
) -> Raise {
    let is_wrong = |position: &usize| {
        number_of(call.at(*position)).is_none_or(|argument| !is_right(&argument))
    };
    let position = (0..call.count()).find(is_wrong).unwrap_or(0);
    call.type_error(thread, position, expected)
}

/// A condition of kind `arithmetic` about all arguments.
fn arithmetic_condition(thread: &mut Thread, call: Call, message: &str) -> Raise {
    let arguments: Vec<Value> = (0..call.count())
        .map(|position| call.at(position))
        .collect();
    thread.raise(
        ConditionKind::Arithmetic,
        message,
        &arguments,
        Some(call.who),
    )
}
