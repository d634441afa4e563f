//! Arithmetic in place: on numbers of any two kinds, without a collection and without an error.
//!
//! This is the one implementation for numbers of usual size. Handlers, primitives and leaf functions
//! try it first; `None` means that an operand is no number, that the operation is an error, or that
//! operands or result are so long that the work has to be interruptible. `canny_number` alone
//! defines the meaning of an operation: the fast paths here agree with it bit by bit.

mod bits;
mod complex;
mod functions;
mod ratios;

use std::cmp::Ordering;

use canny_number::integers::{Integer, Workspace};
use canny_number::short_ratio::{Parts as RatioParts, ShortRatio};
use canny_number::{self as number, Division, Number, NumberError};
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIXNUM_MIN, FLAG_NEGATIVE};
use canny_value::Value;

use super::{InPlace, WORDS_MAX, payload};
use crate::data::numbers::{
    Numeric, View, alike_equal, alike_ordering, exact_to_f64, limbs_of, number_of, numeric,
    object_and_fixnum, quick_equal, quick_ordering, short_ratios, small, view, view_equal,
    view_ordering, with_integer,
};

/// Limbs of the operands that are computed with through the tower here: the greatest common divisors of
/// ratios grow with the square.
const TOWER_LIMBS_MAX: usize = 64;

/// Fixnums up to here are the same numbers as doubles.
const EXACT_AS_DOUBLE: u64 = 1 << f64::MANTISSA_DIGITS;

/// How an operation treats each kind of operands that are not fixnums or flonums.
struct Ways {
    /// Of integers of less than 128 bits; none where the result has more.
    short: fn(i128, i128) -> Option<i128>,
    integers: fn(&mut Workspace, Integer, Integer) -> bool,
    ratios: fn(ShortRatio, ShortRatio) -> Option<RatioParts>,
    flonums: Option<fn(f64, f64) -> f64>,
    complex: Option<complex::Operation>,
    tower: fn(&Number, &Number) -> Result<Number, NumberError>,
}

const ADD: Ways = Ways {
    short: i128::checked_add,
    integers: Workspace::add,
    ratios: |left, right| Some(left.plus(right)),
    flonums: Some(|x, y| x + y),
    complex: Some(complex::Operation::Add),
    tower: number::add,
};

const SUBTRACT: Ways = Ways {
    short: i128::checked_sub,
    integers: Workspace::subtract,
    ratios: |left, right| Some(left.plus(right.negate())),
    flonums: Some(|x, y| x - y),
    complex: Some(complex::Operation::Subtract),
    tower: number::sub,
};

const MULTIPLY: Ways = Ways {
    short: |_, _| None,
    integers: Workspace::multiply,
    ratios: |left, right| Some(left.times(right)),
    flonums: Some(|x, y| x * y),
    complex: Some(complex::Operation::Multiply),
    tower: number::mul,
};

const DIVIDE: Ways = Ways {
    short: |_, _| None,
    integers: |_, _, _| false,
    ratios: |left, right| Some(left.times(right.invert()?)),
    flonums: Some(|x, y| x / y),
    complex: Some(complex::Operation::Divide),
    tower: number::div,
};

/// The ways of an operation on integers alone.
const fn of_integers(
    short: fn(i128, i128) -> Option<i128>,
    integers: fn(&mut Workspace, Integer, Integer) -> bool,
    tower: fn(&Number, &Number) -> Result<Number, NumberError>,
) -> Ways {
    Ways {
        short,
        integers,
        ratios: |_, _| None,
        flonums: None,
        complex: None,
        tower,
    }
}

const QUOTIENT: Ways = of_integers(
    i128::checked_div,
    |room, left, right| room.quotient(Division::Truncate, left, right),
    number::quotient,
);
const REMAINDER: Ways = of_integers(
    i128::checked_rem,
    |room, left, right| room.remainder(Division::Truncate, left, right),
    number::remainder,
);
const FLOOR_QUOTIENT: Ways = of_integers(
    |x, y| {
        let is_rounded_up = x.checked_rem(y)? != 0 && (x < 0) != (y < 0);
        Some(x.checked_div(y)? - i128::from(is_rounded_up))
    },
    |room, left, right| room.quotient(Division::Floor, left, right),
    |left, right| number::divide_quotient(Division::Floor, left, right),
);
const MODULO: Ways = of_integers(
    |x, y| {
        let rest = x.checked_rem(y)?;
        let is_off = rest != 0 && (rest < 0) != (y < 0);
        Some(if is_off { rest + y } else { rest })
    },
    |room, left, right| room.remainder(Division::Floor, left, right),
    number::modulo,
);
const BITWISE_AND: Ways = of_integers(
    |x, y| Some(x & y),
    |room, left, right| room.bitwise(left, right, |x, y| x & y),
    number::bitwise_and,
);
const BITWISE_OR: Ways = of_integers(
    |x, y| Some(x | y),
    |room, left, right| room.bitwise(left, right, |x, y| x | y),
    number::bitwise_or,
);
const BITWISE_XOR: Ways = of_integers(
    |x, y| Some(x ^ y),
    |room, left, right| room.bitwise(left, right, |x, y| x ^ y),
    number::bitwise_xor,
);

fn is_same_as_double(n: i64) -> bool {
    n.unsigned_abs() <= EXACT_AS_DOUBLE
}

/// The order of two real numbers, none if one is a NaN; no answer for other operands, and for long ones.
#[inline]
pub(crate) fn ordering(x: Value, y: Value) -> Option<Option<Ordering>> {
    use Numeric::{Fixnum, Flonum, Other};
    match (numeric(x)?, numeric(y)?) {
        (Fixnum(a), Fixnum(b)) => Some(Some(a.cmp(&b))),
        (Flonum(a), Flonum(b)) => Some(a.partial_cmp(&b)),
        (Fixnum(a), Flonum(b)) if is_same_as_double(a) => Some((a as f64).partial_cmp(&b)),
        (Flonum(a), Fixnum(b)) if is_same_as_double(b) => Some(a.partial_cmp(&(b as f64))),
        (Other(a), Fixnum(b)) if let Some(order) = object_and_fixnum(a.as_object()?, b) => {
            Some(Some(order))
        }
        (Fixnum(a), Other(b)) if let Some(order) = object_and_fixnum(b.as_object()?, a) => {
            Some(Some(order.reverse()))
        }
        (Other(a), Other(b))
            if let Some(order) = alike_ordering(a.as_object()?, b.as_object()?) =>
        {
            Some(Some(order))
        }
        _ => other_ordering(x, y),
    }
}

#[inline(never)]
fn other_ordering(x: Value, y: Value) -> Option<Option<Ordering>> {
    if let Some(order) = quick_ordering(x, y) {
        return Some(Some(order));
    }
    if let Some(order) = view_ordering(x, y) {
        return Some(order);
    }
    if limbs_of(x) + limbs_of(y) > TOWER_LIMBS_MAX {
        return None;
    }
    number::compare(&number_of(x)?, &number_of(y)?).ok()
}

/// Whether two numbers are equal; no answer for other operands, and for long ones.
#[inline]
pub(crate) fn equal(x: Value, y: Value) -> Option<bool> {
    use Numeric::{Fixnum, Flonum, Other};
    match (numeric(x)?, numeric(y)?) {
        (Fixnum(a), Fixnum(b)) => Some(a == b),
        (Flonum(a), Flonum(b)) => Some(a == b),
        (Fixnum(a), Flonum(b)) if is_same_as_double(a) => Some(a as f64 == b),
        (Flonum(a), Fixnum(b)) if is_same_as_double(b) => Some(a == b as f64),
        (Other(other), Fixnum(_)) | (Fixnum(_), Other(other)) if differs_from_fixnums(other) => {
            Some(false)
        }
        (Other(a), Other(b)) if let Some(answer) = alike_equal(a.as_object()?, b.as_object()?) => {
            Some(answer)
        }
        _ => other_equal(x, y),
    }
}

/// Whether a number that is an object is exact and real, or has an imaginary part that is not zero: it is
/// no fixnum's equal.
#[inline]
fn differs_from_fixnums(number: Value) -> bool {
    match number.as_kind(Kind::Compnum) {
        Some(parts) => parts.field(1).as_flonum() != Some(0.0),
        None => true,
    }
}

#[inline(never)]
fn other_equal(x: Value, y: Value) -> Option<bool> {
    if let Some(answer) = quick_equal(x, y) {
        return Some(answer);
    }
    if let Some(answer) = view_equal(x, y) {
        return Some(answer);
    }
    if limbs_of(x) + limbs_of(y) > TOWER_LIMBS_MAX {
        return None;
    }
    Some(number::numeric_equal(&number_of(x)?, &number_of(y)?))
}

/// An exact integer of less than 128 bits.
#[inline]
fn short_integer(x: Value) -> Option<i128> {
    if let Some(n) = x.as_fixnum() {
        return Some(i128::from(n));
    }
    let bignum = x.as_kind(Kind::Bignum)?;
    let magnitude = bignum.with_limbs(|limbs| match limbs {
        [low] => Some(i128::from(*low)),
        [low, high] if *high <= i64::MAX as u64 => Some(i128::from(*high) << 64 | i128::from(*low)),
        _ => None,
    })?;
    let is_negative = bignum.has_flag(FLAG_NEGATIVE);
    Some(if is_negative { -magnitude } else { magnitude })
}

/// Whether a fixnum is nearer to zero than the other operand, a bignum: the quotient is zero then, and the
/// remainder the fixnum.
#[inline]
fn is_fixnum_below(x: Value, y: Value) -> bool {
    x.as_fixnum().is_some_and(|n| n != FIXNUM_MIN) && y.is_kind(Kind::Bignum)
}

/// The remainder of a bignum and a fixnum that is not zero, with the sign of the bignum.
#[inline]
fn remainder_by_fixnum(x: Value, y: Value) -> Option<i64> {
    let divisor = y.as_fixnum().filter(|divisor| *divisor != 0)?;
    let bignum = x.as_kind(Kind::Bignum)?;
    let rest = with_integer(x, |x| x.magnitude_remainder(divisor.unsigned_abs()))? as i64;
    Some(if bignum.has_flag(FLAG_NEGATIVE) {
        -rest
    } else {
        rest
    })
}

/// Two integers of moderate size, at least one of them a flonum, and the second one not zero.
#[inline]
fn whole_flonums(x: Value, y: Value) -> Option<(i64, i64)> {
    let whole = |value: Value| match numeric(value)? {
        Numeric::Fixnum(n) => Some(n),
        Numeric::Flonum(f) => Some(f as i64).filter(|n| {
            let is_small = n.unsigned_abs() < 1 << 62;
            is_small && *n as f64 == f
        }),
        Numeric::Other(_) => None,
    };
    Some((whole(x)?, whole(y)?)).filter(|(_, divisor)| *divisor != 0)
}

impl InPlace {
    /// `(+ x y)`
    #[inline]
    pub fn add(&mut self, x: Value, y: Value) -> Option<Value> {
        self.arithmetic(x, y, i64::checked_add, |a, b| a + b, &ADD)
    }

    /// `(- x y)`
    #[inline]
    pub fn subtract(&mut self, x: Value, y: Value) -> Option<Value> {
        self.arithmetic(x, y, i64::checked_sub, |a, b| a - b, &SUBTRACT)
    }

    /// `(* x y)`
    #[inline]
    pub fn multiply(&mut self, x: Value, y: Value) -> Option<Value> {
        self.arithmetic(x, y, i64::checked_mul, |a, b| a * b, &MULTIPLY)
    }

    /// `(/ x y)`
    #[inline]
    pub fn divide(&mut self, x: Value, y: Value) -> Option<Value> {
        if y == Value::ZERO {
            return None;
        }
        let whole = |a: i64, b: i64| (a % b == 0).then(|| a / b);
        self.arithmetic(x, y, whole, |a, b| a / b, &DIVIDE)
    }

    /// `(truncate-quotient x y)`
    #[inline]
    pub fn quotient(&mut self, x: Value, y: Value) -> Option<Value> {
        if is_fixnum_below(x, y) {
            return Some(Value::ZERO);
        }
        self.division(x, y, |a, b| a / b, &QUOTIENT)
    }

    /// `(truncate-remainder x y)`
    #[inline]
    pub fn remainder(&mut self, x: Value, y: Value) -> Option<Value> {
        if is_fixnum_below(x, y) {
            return Some(x);
        }
        if let Some(rest) = remainder_by_fixnum(x, y) {
            return Some(Value::fixnum(rest));
        }
        self.division(x, y, |a, b| a % b, &REMAINDER)
    }

    /// `(floor-quotient x y)`
    #[inline]
    pub fn floor_quotient(&mut self, x: Value, y: Value) -> Option<Value> {
        let floor = |a: i64, b: i64| a / b - i64::from(a % b != 0 && (a < 0) != (b < 0));
        self.division(x, y, floor, &FLOOR_QUOTIENT)
    }

    /// `(floor-remainder x y)`
    #[inline]
    pub fn modulo(&mut self, x: Value, y: Value) -> Option<Value> {
        if let Some((rest, divisor)) = remainder_by_fixnum(x, y).zip(y.as_fixnum()) {
            let is_off = rest != 0 && (rest < 0) != (divisor < 0);
            return Some(Value::fixnum(if is_off { rest + divisor } else { rest }));
        }
        let floor = |a: i64, b: i64| {
            let rest = a % b;
            if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }
        };
        self.division(x, y, floor, &MODULO)
    }

    /// `(bitwise-and x y)`
    #[inline]
    pub fn bitwise_and(&mut self, x: Value, y: Value) -> Option<Value> {
        self.bits(x, y, |a, b| a & b, &BITWISE_AND)
    }

    /// `(bitwise-ior x y)`
    #[inline]
    pub fn bitwise_or(&mut self, x: Value, y: Value) -> Option<Value> {
        self.bits(x, y, |a, b| a | b, &BITWISE_OR)
    }

    /// `(bitwise-xor x y)`
    #[inline]
    pub fn bitwise_xor(&mut self, x: Value, y: Value) -> Option<Value> {
        self.bits(x, y, |a, b| a ^ b, &BITWISE_XOR)
    }

    /// `(arithmetic-shift x y)`
    #[inline]
    pub fn arithmetic_shift(&mut self, x: Value, y: Value) -> Option<Value> {
        const BITS_MAX: i64 = 64 * WORDS_MAX as i64;
        let bits = y.as_fixnum().filter(|bits| *bits < BITS_MAX)?;
        if let Some(n) = x.as_fixnum() {
            match bits {
                ..=-63 => return Some(Value::fixnum(n >> 63)),
                -62..=0 => return Some(Value::fixnum(n >> -bits)),
                1..=61 if n << bits >> bits == n => return Some(self.integer(n << bits)),
                _ => {}
            }
        }
        self.of_integer(x, |room, operand| room.shift(operand, bits))
    }

    /// An operation that fixnums and flonums have operations of the machine for; without a value for
    /// two fixnums it is one of exact numbers.
    #[inline(always)]
    fn arithmetic(
        &mut self,
        x: Value,
        y: Value,
        fixnums: impl FnOnce(i64, i64) -> Option<i64>,
        flonums: impl FnOnce(f64, f64) -> f64,
        ways: &Ways,
    ) -> Option<Value> {
        use Numeric::{Fixnum, Flonum};
        match (numeric(x)?, numeric(y)?) {
            (Fixnum(a), Fixnum(b)) => match fixnums(a, b) {
                Some(result) => Some(self.integer(result)),
                None => self.others(x, y, ways),
            },
            (Flonum(a), Flonum(b)) => Some(self.flonum(flonums(a, b))),
            (Fixnum(a), Flonum(b)) => Some(self.flonum(flonums(a as f64, b))),
            (Flonum(a), Fixnum(b)) => Some(self.flonum(flonums(a, b as f64))),
            _ => self.others(x, y, ways),
        }
    }

    #[inline(always)]
    fn division(
        &mut self,
        x: Value,
        y: Value,
        fixnums: impl Fn(i64, i64) -> i64,
        ways: &Ways,
    ) -> Option<Value> {
        match (x.as_fixnum(), y.as_fixnum()) {
            (_, Some(0)) => None,
            (Some(a), Some(b)) => Some(self.integer(fixnums(a, b))),
            _ => match whole_flonums(x, y) {
                Some((a, b)) => Some(self.flonum(fixnums(a, b) as f64)),
                None => self.others(x, y, ways),
            },
        }
    }

    #[inline(always)]
    fn bits(
        &mut self,
        x: Value,
        y: Value,
        fixnums: impl FnOnce(i64, i64) -> i64,
        ways: &Ways,
    ) -> Option<Value> {
        match (x.as_fixnum(), y.as_fixnum()) {
            (Some(a), Some(b)) => Some(Value::fixnum(fixnums(a, b))),
            _ => self.others(x, y, ways),
        }
    }

    /// An operation on any two numbers.
    #[inline(never)]
    fn others(&mut self, x: Value, y: Value, ways: &Ways) -> Option<Value> {
        use View::{Bignum, Complex, Fixnum, Flonum, Ratio};
        match (view(x)?, view(y)?) {
            (Fixnum(_) | Bignum(_), Fixnum(_) | Bignum(_)) => {
                if let (Some(left), Some(right)) = (short_integer(x), short_integer(y))
                    && let Some(result) = (ways.short)(left, right)
                {
                    return self.long_integer(result);
                }
                if limbs_of(x) + limbs_of(y) > WORDS_MAX {
                    return None;
                }
                let room = &mut self.0.integers;
                let is_done = with_integer(x, |left| {
                    with_integer(y, |right| (ways.integers)(room, left, right))
                });
                if is_done.flatten() == Some(true) {
                    return self.integer_result();
                }
                if ways.complex == Some(complex::Operation::Divide) {
                    return self.divide_integers(x, y);
                }
            }
            (Ratio(..), Fixnum(_) | Bignum(_) | Ratio(..)) | (Fixnum(_) | Bignum(_), Ratio(..)) => {
                if let Some((left, right)) = short_ratios(x, y)
                    && let Some(parts) = (ways.ratios)(left, right)
                {
                    return self.ratio(parts);
                }
                if let Some(operation) = ways.complex
                    && limbs_of(x) + limbs_of(y) <= TOWER_LIMBS_MAX
                {
                    return self.long_ratios(operation, x, y);
                }
            }
            (Flonum(left), Bignum(_) | Ratio(..)) => {
                if let Some((function, right)) = ways.flonums.zip(exact_to_f64(y)) {
                    return Some(self.flonum(function(left, right)));
                }
            }
            (Bignum(_) | Ratio(..), Flonum(right)) => {
                if let Some((function, left)) = ways.flonums.zip(exact_to_f64(x)) {
                    return Some(self.flonum(function(left, right)));
                }
            }
            (Complex(..), _) | (_, Complex(..)) => {
                if let Some(operation) = ways.complex {
                    return self.complex(operation, x, y);
                }
            }
            _ => {}
        }
        self.of_tower2(x, y, ways.tower)
    }

    /// The quotient of two integers, the second of which is not zero, as an integer or a ratio.
    fn divide_integers(&mut self, x: Value, y: Value) -> Option<Value> {
        if let Some((left, right)) = short_ratios(x, y) {
            return self.ratio(left.times(right.invert()?));
        }
        let (above, below) = self.without_common_factor(x, y)?;
        self.quotient_of(above, below)
    }

    /// A function of the tower. None where it refuses, and for long numbers.
    pub fn of_tower(
        &mut self,
        x: Value,
        function: impl FnOnce(&Number) -> Result<Number, NumberError>,
    ) -> Option<Value> {
        if limbs_of(x) > TOWER_LIMBS_MAX {
            return None;
        }
        let result = function(&number_of(x)?).ok()?;
        self.number(&result)
    }

    /// The same of two numbers.
    pub fn of_tower2(
        &mut self,
        x: Value,
        y: Value,
        function: impl FnOnce(&Number, &Number) -> Result<Number, NumberError>,
    ) -> Option<Value> {
        if limbs_of(x) + limbs_of(y) > TOWER_LIMBS_MAX {
            return None;
        }
        let result = function(&number_of(x)?, &number_of(y)?).ok()?;
        self.number(&result)
    }

    /// The result of an operation on an integer. None for other numbers, and for long ones.
    fn of_integer(
        &mut self,
        x: Value,
        operation: impl FnOnce(&mut Workspace, Integer) -> bool,
    ) -> Option<Value> {
        if limbs_of(x) > WORDS_MAX {
            return None;
        }
        let room = &mut self.0.integers;
        with_integer(x, |operand| operation(room, operand))?
            .then(|| self.integer_result())
            .flatten()
    }

    /// The word of the last result of the workspace. None for a long one.
    fn integer_result(&mut self) -> Option<Value> {
        let (is_negative, limbs) = self.0.integers.result();
        if limbs.is_empty() {
            return Some(Value::ZERO);
        }
        if let [only] = limbs
            && let Some(fixnum) = small(is_negative, *only)
        {
            return Some(fixnum);
        }
        let length = limbs.len();
        let object = self.new_bignum(is_negative, length)?;
        let (_, limbs) = self.0.integers.result();
        // SAFETY: the fresh bignum has this many limbs.
        unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), payload(object)?, length) };
        Some(object)
    }

    /// A bignum whose limbs are to be filled. None for a long one.
    fn new_bignum(&mut self, is_negative: bool, limbs: usize) -> Option<Value> {
        let flags = if is_negative { FLAG_NEGATIVE } else { 0 };
        (limbs <= WORDS_MAX).then(|| self.0.mutator().leaf_in_place(Kind::Bignum, flags, limbs))
    }

    fn bignum(&mut self, is_negative: bool, limbs: &[u64]) -> Option<Value> {
        let object = self.new_bignum(is_negative, limbs.len())?;
        // SAFETY: the fresh bignum has this many limbs.
        unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), payload(object)?, limbs.len()) };
        Some(object)
    }

    /// An exact integer.
    #[inline]
    pub fn integer(&mut self, n: i64) -> Value {
        match Value::try_fixnum(n) {
            Some(fixnum) => fixnum,
            None => self
                .bignum(n < 0, &[n.unsigned_abs()])
                .expect("one limb is not many"),
        }
    }

    /// A flonum.
    #[inline]
    pub fn flonum(&mut self, f: f64) -> Value {
        match Value::try_inline_flonum(f) {
            Some(word) => word,
            None => self.flonum_object(f),
        }
    }

    #[cold]
    fn flonum_object(&mut self, f: f64) -> Value {
        let object = self.0.mutator().leaf_in_place(Kind::Flonum, 0, 1);
        let place: *mut u64 = payload(object).expect("an object");
        // SAFETY: the payload of the fresh flonum is one word.
        unsafe { *place = f.to_bits() };
        object
    }

    fn ratio(&mut self, (numerator, denominator): RatioParts) -> Option<Value> {
        let numerator = self.long_integer(numerator)?;
        if denominator == 1 {
            return Some(numerator);
        }
        let parts = [numerator, self.long_integer(denominator)?];
        Some(self.0.mutator().fields_in_place(Kind::Ratnum, parts))
    }

    fn long_integer(&mut self, n: i128) -> Option<Value> {
        match i64::try_from(n) {
            Ok(n) => Some(self.integer(n)),
            Err(_) => {
                let magnitude = n.unsigned_abs();
                let limbs = [magnitude as u64, (magnitude >> 64) as u64];
                let length = if limbs[1] == 0 { 1 } else { 2 };
                self.bignum(n < 0, &limbs[..length])
            }
        }
    }

    /// The word of a number of any kind. None for a long one.
    pub fn number(&mut self, number: &Number) -> Option<Value> {
        Some(match number {
            Number::Fixnum(n) => self.integer(*n),
            Number::Flonum(f) => self.flonum(*f),
            Number::Big(_) => {
                let (is_negative, limbs) = number.limbs()?;
                self.bignum(is_negative, limbs)?
            }
            Number::Ratio(_) => {
                let numerator = self.number(&number::numerator(number).ok()?)?;
                let denominator = self.number(&number::denominator(number).ok()?)?;
                let parts = [numerator, denominator];
                self.0.mutator().fields_in_place(Kind::Ratnum, parts)
            }
            Number::Complex(parts) => {
                let parts = [self.number(&parts.0)?, self.number(&parts.1)?];
                self.0.mutator().fields_in_place(Kind::Compnum, parts)
            }
        })
    }

    /// The order of two real numbers, none if one is a NaN. No answer for other operands.
    #[inline]
    pub fn order(&self, x: Value, y: Value) -> Option<Option<Ordering>> {
        ordering(x, y)
    }

    /// Whether the order of two real numbers is one of those. None for other operands.
    #[inline]
    pub fn compare(
        &self,
        x: Value,
        y: Value,
        holds: impl FnOnce(Ordering) -> bool,
    ) -> Option<bool> {
        Some(ordering(x, y)?.is_some_and(holds))
    }

    /// `(= x y)`
    #[inline]
    pub fn number_equal(&self, x: Value, y: Value) -> Option<bool> {
        equal(x, y)
    }
}
