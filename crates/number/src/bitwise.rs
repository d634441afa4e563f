//! Bit operations on exact integers of any size, as if in two's complement with infinitely many
//! sign bits.

use crate::arithmetic::check_size;
use crate::error::NumberError;
use crate::number::Number;
use crate::predicates::is_exact_nonnegative_integer;
use dashu_base::BitTest;
use dashu_int::IBig;
use std::borrow::Cow;

fn operand(value: &Number) -> Result<Cow<'_, IBig>, NumberError> {
    value
        .to_integer()
        .ok_or_else(|| NumberError::NotExactInteger(value.clone()))
}

fn combine(
    left: &Number,
    right: &Number,
    of_fixnums: fn(i64, i64) -> i64,
    of_integers: fn(&IBig, &IBig) -> IBig,
) -> Result<Number, NumberError> {
    if let (Number::Fixnum(x), Number::Fixnum(y)) = (left, right) {
        return Ok(Number::Fixnum(of_fixnums(*x, *y)));
    }
    Ok(Number::from_integer(of_integers(
        &*operand(left)?,
        &*operand(right)?,
    )))
}

/// `(bitwise-and left right)`
pub fn bitwise_and(left: &Number, right: &Number) -> Result<Number, NumberError> {
    combine(left, right, |x, y| x & y, |x, y| x & y)
}

/// `(bitwise-ior left right)`
pub fn bitwise_or(left: &Number, right: &Number) -> Result<Number, NumberError> {
    combine(left, right, |x, y| x | y, |x, y| x | y)
}

/// `(bitwise-xor left right)`
pub fn bitwise_xor(left: &Number, right: &Number) -> Result<Number, NumberError> {
    combine(left, right, |x, y| x ^ y, |x, y| x ^ y)
}

/// `(bitwise-not value)`
pub fn bitwise_not(value: &Number) -> Result<Number, NumberError> {
    match value {
        Number::Fixnum(small) => Ok(Number::Fixnum(!small)),
        _ => Ok(Number::from_integer(-&*operand(value)? - IBig::ONE)),
    }
}

/// `(arithmetic-shift value count)`: left if the count is positive, else right, rounding toward
/// negative infinity.
pub fn arithmetic_shift(value: &Number, count: &Number) -> Result<Number, NumberError> {
    let integer = operand(value)?;
    operand(count)?;
    if integer.is_zero() {
        return Ok(Number::ZERO);
    }
    let negative = *integer < IBig::ZERO;
    let Some(count) = count.to_i64() else {
        return if *operand(count)? > IBig::ZERO {
            Err(NumberError::TooLarge { bits: u64::MAX })
        } else {
            Ok(Number::Fixnum(if negative { -1 } else { 0 }))
        };
    };
    if count >= 0 {
        check_size(value.exact_bits().saturating_add(count.unsigned_abs()))?;
        if let Number::Fixnum(small) = value
            && count < 64
        {
            return Ok(Number::from_i128(i128::from(*small) << count));
        }
        return Ok(Number::from_integer(&*integer << count as usize));
    }
    let distance = count.unsigned_abs();
    match value {
        Number::Fixnum(small) => Ok(Number::Fixnum(small >> distance.min(63))),
        _ if distance > integer.bit_len() as u64 => {
            Ok(Number::Fixnum(if negative { -1 } else { 0 }))
        }
        _ => Ok(Number::from_integer(&*integer >> distance as usize)),
    }
}

/// `(bit-count value)`: the ones of a nonnegative number, the zeros of a negative one.
pub fn bit_count(value: &Number) -> Result<Number, NumberError> {
    let count = match value {
        Number::Fixnum(small) => u64::from(if *small < 0 {
            small.count_zeros()
        } else {
            small.count_ones()
        }),
        _ => {
            let integer = operand(value)?;
            let ones = if *integer < IBig::ZERO {
                -&*integer - IBig::ONE
            } else {
                integer.into_owned()
            };
            ones.into_parts().1.count_ones() as u64
        }
    };
    Ok(Number::from(count))
}

/// `(integer-length value)`: the bits that the number needs in two's complement, without the sign.
pub fn integer_length(value: &Number) -> Result<Number, NumberError> {
    let length = match value {
        Number::Fixnum(small) => {
            let magnitude = if *small < 0 { !small } else { *small };
            u64::from(64 - magnitude.leading_zeros())
        }
        _ => {
            let integer = operand(value)?;
            if *integer < IBig::ZERO {
                (&*integer + IBig::ONE).bit_len() as u64
            } else {
                integer.bit_len() as u64
            }
        }
    };
    Ok(Number::from(length))
}

/// `(bit-set? index value)`
pub fn bit_set(index: &Number, value: &Number) -> Result<bool, NumberError> {
    if !is_exact_nonnegative_integer(index) {
        return Err(NumberError::NotExactNonnegativeInteger(index.clone()));
    }
    let integer = operand(value)?;
    match index.to_i64() {
        Some(index) if index as u64 <= integer.bit_len() as u64 => Ok(integer.bit(index as usize)),
        _ => Ok(*integer < IBig::ZERO),
    }
}

/// `(first-set-bit value)`: the index of the least significant one, or -1 for zero.
pub fn first_set_bit(value: &Number) -> Result<Number, NumberError> {
    let zeros = match value {
        Number::Fixnum(0) => return Ok(Number::Fixnum(-1)),
        Number::Fixnum(small) => u64::from(small.trailing_zeros()),
        _ => operand(value)?.trailing_zeros().unwrap_or(0) as u64,
    };
    Ok(Number::from(zeros))
}
