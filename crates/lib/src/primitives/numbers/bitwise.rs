//! Primitives of bits: exact integers as infinite strings of bits in two's complement, as in SRFI
//! 151.
//!
//! Arguments are exact integers; indexes are not negative. Fixnums are combined directly; other
//! integers go through the numeric tower.

use canny_number::{self as number, Number, NumberError};
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::{binary, fold, give, number_at, unary};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "bitwise-not" => |thread, call| unary(thread, call, number::bitwise_not);
    "bitwise-and" => |thread, call| combine(thread, call, -1, |x, y| x & y, number::bitwise_and);
    "bitwise-ior" => |thread, call| combine(thread, call, 0, |x, y| x | y, number::bitwise_or);
    "bitwise-xor" => |thread, call| combine(thread, call, 0, |x, y| x ^ y, number::bitwise_xor);
    "bitwise-if" => bitwise_if;
    "arithmetic-shift" => |thread, call| binary(thread, call, number::arithmetic_shift);
    "bit-count" => |thread, call| unary(thread, call, number::bit_count);
    "integer-length" => |thread, call| unary(thread, call, number::integer_length);
    "first-set-bit" => |thread, call| unary(thread, call, number::first_set_bit);
    "bit-set?" => is_bit_set;
    "copy-bit" => copy_bit;
    "bit-field" => bit_field;
};

fn combine(
    thread: &mut Thread,
    call: Call,
    neutral: i64,
    of_fixnums: fn(i64, i64) -> i64,
    operation: super::Binary,
) -> Result<Value, Raise> {
    let fixnums = (0..call.count()).map(|position| call.at(position).as_fixnum());
    let result = fixnums.into_iter().try_fold(neutral, |result, fixnum| {
        fixnum.map(|fixnum| of_fixnums(result, fixnum))
    });
    match result {
        Some(result) => Ok(thread.integer(result)),
        None => fold(thread, call, Number::Fixnum(neutral), operation),
    }
}

fn bitwise_if(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mask = number_at(thread, call, 0)?;
    let chosen = number_at(thread, call, 1)?;
    let other = number_at(thread, call, 2)?;
    give(thread, call, select(&mask, &chosen, &other))
}

/// Bits of `chosen` where the mask is set, else of `other`.
fn select(mask: &Number, chosen: &Number, other: &Number) -> Result<Number, NumberError> {
    number::bitwise_or(
        &number::bitwise_and(mask, chosen)?,
        &number::bitwise_and(&number::bitwise_not(mask)?, other)?,
    )
}

/// An argument that counts bits.
fn bit_index(thread: &mut Thread, call: Call, position: usize) -> Result<Number, Raise> {
    let index = number_at(thread, call, position)?;
    if number::is_exact_nonnegative_integer(&index) {
        Ok(index)
    } else {
        Err(call.type_error(thread, position, "exact non-negative integer"))
    }
}

fn exact_integer(thread: &mut Thread, call: Call, position: usize) -> Result<Number, Raise> {
    let integer = number_at(thread, call, position)?;
    if number::is_exact_integer(&integer) {
        Ok(integer)
    } else {
        Err(call.type_error(thread, position, "exact integer"))
    }
}

fn is_bit_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = bit_index(thread, call, 0)?;
    let integer = exact_integer(thread, call, 1)?;
    match number::bit_set(&index, &integer) {
        Ok(is_set) => Ok(Value::boolean(is_set)),
        Err(error) => Err(super::refused(thread, call, &error)),
    }
}

fn copy_bit(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = bit_index(thread, call, 0)?;
    let integer = exact_integer(thread, call, 1)?;
    let bit = if call.at(2).is_true() {
        Number::Fixnum(-1)
    } else {
        Number::ZERO
    };
    let result = number::arithmetic_shift(&Number::ONE, &index)
        .and_then(|mask| select(&mask, &bit, &integer));
    give(thread, call, result)
}

fn bit_field(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let integer = exact_integer(thread, call, 0)?;
    let start = bit_index(thread, call, 1)?;
    let end = bit_index(thread, call, 2)?;
    if number::less(&end, &start).unwrap_or(false) {
        return Err(call.range_error(thread, 1, "the start is above the end"));
    }
    give(thread, call, field(&integer, &start, &end))
}

fn field(integer: &Number, start: &Number, end: &Number) -> Result<Number, NumberError> {
    let shifted = number::arithmetic_shift(integer, &number::negate(start))?;
    let width = number::sub(end, start)?;
    let is_negative = number::is_negative(integer)?;
    // A field that reaches beyond the digits of a number that is not negative holds all of them.
    if !is_negative && number::less_or_equal(&number::integer_length(&shifted)?, &width)? {
        return Ok(shifted);
    }
    let mask = number::decrement(&number::arithmetic_shift(&Number::ONE, &width)?)?;
    number::bitwise_and(&shifted, &mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_out() {
        let cut = |integer: i64, start: i64, end: i64| {
            field(&integer.into(), &start.into(), &end.into()).expect("small enough")
        };
        assert_eq!(cut(0b1101_0110, 1, 4), Number::Fixnum(0b011));
        assert_eq!(cut(-1, 3, 8), Number::Fixnum(0b11111));
        assert_eq!(cut(5, 0, 1 << 40), Number::Fixnum(5));
        assert_eq!(cut(5, 70, 90), Number::Fixnum(0));
    }

    #[test]
    fn bits_are_selected() {
        let selected = select(&0b1100i64.into(), &0b1010i64.into(), &0b0101i64.into());
        assert_eq!(selected.expect("exact integers"), Number::Fixnum(0b1001));
    }
}
