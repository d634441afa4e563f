//! Exact integers as strings of bits, in place. Each function gives none for other numbers, and for long
//! ones.

use canny_value::Value;

use super::InPlace;
use crate::data::numbers::with_integer;

/// Bits of a field that is a fixnum in any case.
const FIELD_MAX: usize = 60;
/// Bits from here on are left to the tower.
const INDEX_MAX: usize = 1 << 16;

impl InPlace {
    /// `(bitwise-not x)`
    #[inline]
    pub fn bitwise_not(&mut self, x: Value) -> Option<Value> {
        match x.as_fixnum() {
            Some(n) => Some(Value::fixnum(!n)),
            None => self.of_integer(x, |room, operand| room.invert(operand)),
        }
    }

    /// `(bit-count x)`
    #[inline]
    pub fn bit_count(&self, x: Value) -> Option<Value> {
        if let Some(n) = x.as_fixnum() {
            return Some(Value::fixnum(i64::from((n ^ n >> 63).count_ones())));
        }
        let count = with_integer(x, |integer| integer.bit_count())?;
        Some(Value::fixnum(count as i64))
    }

    /// `(integer-length x)`
    #[inline]
    pub fn integer_length(&self, x: Value) -> Option<Value> {
        if let Some(n) = x.as_fixnum() {
            return Some(Value::fixnum(64 - i64::from((n ^ n >> 63).leading_zeros())));
        }
        let length = with_integer(x, |integer| integer.integer_length())?;
        Some(Value::fixnum(length as i64))
    }

    /// `(first-set-bit x)`
    #[inline]
    pub fn first_set_bit(&self, x: Value) -> Option<Value> {
        if let Some(n) = x.as_fixnum().filter(|n| *n != 0) {
            return Some(Value::fixnum(i64::from(n.trailing_zeros())));
        }
        let zeros = with_integer(x, |integer| integer.trailing_zeros())?;
        Some(Value::fixnum(zeros.map_or(-1, |zeros| zeros as i64)))
    }

    /// `(bit-set? index x)`
    #[inline]
    pub fn is_bit_set(&self, index: Value, x: Value) -> Option<bool> {
        let index = index.as_index()?;
        if let Some(n) = x.as_fixnum() {
            return Some(n >> index.min(63) & 1 == 1);
        }
        with_integer(x, |integer| integer.is_bit_set(index))
    }

    /// `(copy-bit index x bit)`
    #[inline]
    pub fn copy_bit(&mut self, index: Value, x: Value, bit: bool) -> Option<Value> {
        let index = index.as_index().filter(|index| *index < INDEX_MAX)?;
        if index < FIELD_MAX
            && let Some(n) = x.as_fixnum()
        {
            let mask = 1 << index;
            return Some(Value::fixnum(if bit { n | mask } else { n & !mask }));
        }
        if self.is_bit_set(Value::fixnum(index as i64), x)? == bit {
            return Some(x);
        }
        self.of_integer(x, |room, operand| room.copy_bit(operand, index, bit))
    }

    /// `(bit-field x start end)`
    #[inline]
    pub fn bit_field(&mut self, x: Value, start: Value, end: Value) -> Option<Value> {
        let (start, end) = (start.as_index()?, end.as_index()?);
        let width = end.checked_sub(start)?;
        if width <= FIELD_MAX {
            let mask = (1 << width) - 1;
            if let Some(n) = x.as_fixnum() {
                return Some(Value::fixnum(n >> start.min(63) & mask));
            }
            let bits = with_integer(x, |integer| integer.bits_from(start))?;
            return Some(Value::fixnum(bits as i64 & mask));
        }
        if end > INDEX_MAX {
            return None;
        }
        let shifted = self.arithmetic_shift(x, Value::fixnum(-(start as i64)))?;
        let above = self.arithmetic_shift(Value::fixnum(1), Value::fixnum(width as i64))?;
        let mask = self.subtract(above, Value::fixnum(1))?;
        self.bitwise_and(shifted, mask)
    }

    /// `(bitwise-if mask x y)`
    #[inline]
    pub fn bitwise_if(&mut self, mask: Value, x: Value, y: Value) -> Option<Value> {
        if let (Some(mask), Some(x), Some(y)) = (mask.as_fixnum(), x.as_fixnum(), y.as_fixnum()) {
            return Some(Value::fixnum(mask & x | !mask & y));
        }
        let chosen = self.bitwise_and(mask, x)?;
        let inverted = self.bitwise_not(mask)?;
        let others = self.bitwise_and(inverted, y)?;
        self.bitwise_or(chosen, others)
    }
}
