//! Conversions between words and the numbers of `canny_number`.
//!
//! A number has one representation: an integer in the range of fixnums is never a bignum, and a
//! ratio is always reduced. Operations on exact integers read the limbs in place and write the
//! result into a fresh object, without a copy through the tower.

use std::cmp::Ordering;

use canny_number::Number;
use canny_number::integers::{self, Integer, Workspace};
use canny_number::short_ratio::ShortRatio;
use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_NEGATIVE;
use canny_value::{ObjectRef, Value};

use crate::primitive::Raise;
use crate::thread::Thread;

const FLONUM: u8 = Kind::Flonum as u8;
const BIGNUM: u8 = Kind::Bignum as u8;
const RATNUM: u8 = Kind::Ratnum as u8;
const COMPNUM: u8 = Kind::Compnum as u8;

/// A number word, sorted by how it is held.
#[derive(Clone, Copy, Debug)]
pub enum Numeric {
    /// A fixnum.
    Fixnum(i64),
    /// A flonum, in the word or boxed.
    Flonum(f64),
    /// A bignum, ratnum or compnum object.
    Other(Value),
}

/// Sorts a word; `None` for a value that is not a number.
#[inline]
pub fn numeric(value: Value) -> Option<Numeric> {
    if let Some(n) = value.as_fixnum() {
        return Some(Numeric::Fixnum(n));
    }
    if let Some(f) = value.as_inline_flonum() {
        return Some(Numeric::Flonum(f));
    }
    let object = value.as_object()?;
    match object.header().kind_byte() {
        FLONUM => Some(Numeric::Flonum(f64::from_bits(object.raw_word(0)))),
        BIGNUM | RATNUM | COMPNUM => Some(Numeric::Other(value)),
        _ => None,
    }
}

/// A number as the heap holds it, without a copy. It holds until something collects.
#[derive(Clone, Copy, Debug)]
pub enum View {
    /// A fixnum.
    Fixnum(i64),
    /// A flonum, in the word or boxed.
    Flonum(f64),
    /// The limbs of an integer that is no fixnum.
    Bignum(ObjectRef),
    /// Numerator and denominator, in lowest terms.
    Ratio(Value, Value),
    /// Real and imaginary part, both exact or both flonums.
    Complex(Value, Value),
}

/// The number of a word; `None` for a value that is not a number.
#[inline]
pub fn view(value: Value) -> Option<View> {
    if let Some(n) = value.as_fixnum() {
        return Some(View::Fixnum(n));
    }
    if let Some(f) = value.as_inline_flonum() {
        return Some(View::Flonum(f));
    }
    let object = value.as_object()?;
    match object.header().kind_byte() {
        FLONUM => Some(View::Flonum(f64::from_bits(object.raw_word(0)))),
        BIGNUM => Some(View::Bignum(object)),
        RATNUM => Some(View::Ratio(object.field(0), object.field(1))),
        COMPNUM => Some(View::Complex(object.field(0), object.field(1))),
        _ => None,
    }
}

/// Runs `work` on the limbs of a bignum.
#[inline]
fn with_bignum<R>(object: ObjectRef, work: impl FnOnce(Integer) -> R) -> R {
    let is_negative = object.has_flag(FLAG_NEGATIVE);
    object.with_limbs(|limbs| work(Integer::new(is_negative, limbs)))
}

fn bignum_ordering(x: ObjectRef, y: ObjectRef) -> Ordering {
    let sign = bignum_sign(x);
    if sign != bignum_sign(y) {
        return sign;
    }
    // No limb above the others is zero.
    let magnitudes = x.length().cmp(&y.length()).then_with(|| {
        x.with_limbs(|left| y.with_limbs(|right| left.iter().rev().cmp(right.iter().rev())))
    });
    if sign.is_lt() {
        magnitudes.reverse()
    } else {
        magnitudes
    }
}

/// Whether two objects that are both bignums, or both ratios of fixnums, are equal. Ratios are in lowest
/// terms.
#[inline]
pub(crate) fn alike_equal(x: ObjectRef, y: ObjectRef) -> Option<bool> {
    match (x.header().kind_byte(), y.header().kind_byte()) {
        (BIGNUM, BIGNUM) => Some(
            x.length() == y.length()
                && bignum_sign(x) == bignum_sign(y)
                && x.with_limbs(|left| y.with_limbs(|right| left == right)),
        ),
        (RATNUM, RATNUM) => {
            let parts = [x.field(0), x.field(1), y.field(0), y.field(1)];
            let is_short = parts.iter().all(|part| part.as_fixnum().is_some());
            is_short.then(|| parts[0] == parts[2] && parts[1] == parts[3])
        }
        _ => None,
    }
}

/// The order of two objects that are both bignums, or both ratios of fixnums.
#[inline]
pub(crate) fn alike_ordering(x: ObjectRef, y: ObjectRef) -> Option<Ordering> {
    match (x.header().kind_byte(), y.header().kind_byte()) {
        (BIGNUM, BIGNUM) => Some(bignum_ordering(x, y)),
        (RATNUM, RATNUM) => {
            let ((a, b), (c, d)) = (short_parts(x)?, short_parts(y)?);
            let (left, right) = (i128::from(a) * i128::from(d), i128::from(c) * i128::from(b));
            Some(left.cmp(&right))
        }
        _ => None,
    }
}

/// The order of a bignum and zero, which is that of the bignum and any fixnum.
#[inline]
fn bignum_sign(object: ObjectRef) -> Ordering {
    if object.has_flag(FLAG_NEGATIVE) {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

/// The order of an exact real number and zero; `None` for other words.
#[inline]
pub fn exact_sign(value: Value) -> Option<Ordering> {
    match view(value)? {
        View::Fixnum(n) => Some(n.cmp(&0)),
        View::Bignum(object) => Some(bignum_sign(object)),
        View::Ratio(numerator, _) => exact_sign(numerator),
        View::Flonum(_) | View::Complex(..) => None,
    }
}

/// Whether two words are the same number, which is `eqv?`; `false` for values that are no numbers.
pub fn same_number(x: Value, y: Value) -> bool {
    let (Some(left), Some(right)) = (x.as_object(), y.as_object()) else {
        return x == y && numeric(x).is_some();
    };
    let kind = left.header().kind_byte();
    if kind != right.header().kind_byte() {
        return false;
    }
    match Kind::ALL[usize::from(kind)] {
        Kind::Bignum => {
            left == right
                || with_bignum(left, |left| with_bignum(right, |right| left.equals(right)))
        }
        Kind::Ratnum | Kind::Compnum => {
            let same_part = |index: usize| {
                let (x, y) = (left.field(index), right.field(index));
                x == y || x.is_object() && same_number(x, y)
            };
            same_part(0) && same_part(1)
        }
        Kind::Flonum => {
            let (x, y) = (left.raw_word(0), right.raw_word(0));
            x == y || f64::from_bits(x).is_nan() && f64::from_bits(y).is_nan()
        }
        _ => false,
    }
}

/// The parts of a ratio of fixnums.
#[inline]
fn short_parts(object: ObjectRef) -> Option<(i64, i64)> {
    if object.header().kind_byte() != Kind::Ratnum as u8 {
        return None;
    }
    Some((object.field(0).as_fixnum()?, object.field(1).as_fixnum()?))
}

/// The order of an exact number that is an object and a fixnum, if it is no complex number and not long.
#[inline]
pub(crate) fn object_and_fixnum(object: ObjectRef, fixnum: i64) -> Option<Ordering> {
    if object.header().kind_byte() == Kind::Bignum as u8 {
        return Some(bignum_sign(object));
    }
    let (numerator, denominator) = short_parts(object)?;
    if fixnum == 0 {
        return Some(numerator.cmp(&0));
    }
    Some(i128::from(numerator).cmp(&(i128::from(fixnum) * i128::from(denominator))))
}

/// The order of two exact numbers in the usual cases: bignums, fixnums and ratios of fixnums.
#[inline]
pub(crate) fn quick_ordering(x: Value, y: Value) -> Option<Ordering> {
    if let Some(y) = y.as_fixnum() {
        return object_and_fixnum(x.as_object()?, y);
    }
    let y = y.as_object()?;
    if let Some(x) = x.as_fixnum() {
        return Some(object_and_fixnum(y, x)?.reverse());
    }
    alike_ordering(x.as_object()?, y)
}

/// Whether two exact real numbers, not both fixnums, are equal.
#[inline]
pub(crate) fn quick_equal(x: Value, y: Value) -> Option<bool> {
    let is_exact = |object: ObjectRef| matches!(object.kind(), Kind::Bignum | Kind::Ratnum);
    match (x.as_object(), y.as_object()) {
        (Some(left), Some(right)) if is_exact(left) && is_exact(right) => Some(same_number(x, y)),
        (Some(left), None) if is_exact(left) && y.is_fixnum() => Some(false),
        (None, Some(right)) if is_exact(right) && x.is_fixnum() => Some(false),
        _ => None,
    }
}

/// The order of two real numbers, none if one is a NaN; no answer for other operands, and where the
/// numbers are so near that it takes products of many limbs.
pub(crate) fn view_ordering(x: Value, y: Value) -> Option<Option<Ordering>> {
    use View::{Bignum, Fixnum, Flonum, Ratio};
    let order = match (view(x)?, view(y)?) {
        (Fixnum(x), Fixnum(y)) => x.cmp(&y),
        (Flonum(x), Flonum(y)) => return Some(x.partial_cmp(&y)),
        (Bignum(x), Fixnum(_)) => bignum_sign(x),
        (Fixnum(_), Bignum(y)) => bignum_sign(y).reverse(),
        (Bignum(x), Bignum(y)) => bignum_ordering(x, y),
        (_, Flonum(y)) => return exact_and_flonum(x, y),
        (Flonum(x), _) => return Some(exact_and_flonum(y, x)?.map(Ordering::reverse)),
        (Ratio(numerator, _), Fixnum(0)) => exact_sign(numerator)?,
        (Ratio(..), _) | (_, Ratio(..)) => match short_ratios(x, y) {
            Some((left, right)) => left.compare(right),
            None => long_ratio_ordering(x, y)?,
        },
        _ => return None,
    };
    Some(Some(order))
}

/// The order of an exact real number and a flonum.
fn exact_and_flonum(exact: Value, flonum: f64) -> Option<Option<Ordering>> {
    if let Some(order) = with_integer(exact, |integer| integer.compare_with_flonum(flonum)) {
        return Some(order);
    }
    short_ratio(exact)?.compare_with_flonum(flonum)
}

/// The order of exact real numbers, at least one of them a ratio, by their signs and the numbers of their
/// bits.
fn long_ratio_ordering(x: Value, y: Value) -> Option<Ordering> {
    let (left, right) = (exact_sign(x)?, exact_sign(y)?);
    if left != right {
        return Some(left.cmp(&right));
    }
    // A ratio is above 2 to the power of this less one, and below that of this and one.
    let size = |value: Value| {
        let bits = |part| with_integer(part, |part| part.magnitude_bits() as i64);
        Some(match view(value)? {
            View::Ratio(numerator, denominator) => bits(numerator)? - bits(denominator)?,
            _ => bits(value)? - 1,
        })
    };
    let (x_size, y_size) = (size(x)?, size(y)?);
    let order = (x_size - y_size).abs() >= 2;
    let order = order.then(|| x_size.cmp(&y_size))?;
    Some(if left.is_lt() { order.reverse() } else { order })
}

/// Whether two numbers are equal; no answer for other operands, and where they are so near that it takes long
/// numbers.
pub(crate) fn view_equal(x: Value, y: Value) -> Option<bool> {
    use View::{Bignum, Complex, Fixnum, Flonum, Ratio};
    // An exact imaginary part is not zero.
    let is_real = |imaginary: Value| imaginary.as_flonum() == Some(0.0);
    match (view(x)?, view(y)?) {
        (Complex(a, b), Complex(c, d)) => Some(view_equal(a, c)? && view_equal(b, d)?),
        (Complex(real, imaginary), _) => Some(is_real(imaginary) && view_equal(real, y)?),
        (_, Complex(real, imaginary)) => Some(is_real(imaginary) && view_equal(real, x)?),
        (Fixnum(_) | Bignum(_) | Ratio(..), Fixnum(_) | Bignum(_) | Ratio(..)) => {
            Some(same_number(x, y))
        }
        (Flonum(_), _) | (_, Flonum(_)) => Some(view_ordering(x, y)? == Some(Ordering::Equal)),
    }
}

/// The nearest flonum to an exact real number; `None` for other words, and for ratios with long parts.
pub fn exact_to_f64(value: Value) -> Option<f64> {
    match view(value)? {
        View::Fixnum(n) => Some(n as f64),
        View::Bignum(object) => Some(with_bignum(object, |integer| integer.to_f64())),
        View::Ratio(..) => short_ratio_to_f64(value),
        View::Flonum(_) | View::Complex(..) => None,
    }
}

/// The number that a word stands for; `None` for a value that is not a number.
pub fn number_of(value: Value) -> Option<Number> {
    match numeric(value)? {
        Numeric::Fixnum(n) => Some(Number::Fixnum(n)),
        Numeric::Flonum(f) => Some(Number::Flonum(f)),
        Numeric::Other(value) => number_of_object(value),
    }
}

/// The fixnum with this sign and magnitude, if there is one.
#[inline]
pub(crate) fn small(negative: bool, magnitude: u64) -> Option<Value> {
    let magnitude = i64::try_from(magnitude).ok()?;
    Value::try_fixnum(if negative { -magnitude } else { magnitude })
}

fn number_of_object(value: Value) -> Option<Number> {
    let object = value.as_object()?;
    match object.kind() {
        Kind::Bignum => Some(
            object.with_limbs(|limbs| Number::from_limbs(object.has_flag(FLAG_NEGATIVE), limbs)),
        ),
        Kind::Ratnum => {
            let numerator = number_of(object.field(0))?;
            let denominator = number_of(object.field(1))?;
            canny_number::div(&numerator, &denominator).ok()
        }
        Kind::Compnum => {
            let real = number_of(object.field(0))?;
            let imaginary = number_of(object.field(1))?;
            Some(Number::Complex(Box::new((real, imaginary))))
        }
        _ => None,
    }
}

/// Runs `work` on the exact integer that a word stands for; `None` for any other word.
#[inline]
pub fn with_integer<R>(value: Value, work: impl FnOnce(Integer) -> R) -> Option<R> {
    if let Some(n) = value.as_fixnum() {
        return Some(work(Integer::new(n < 0, &[n.unsigned_abs()])));
    }
    let object = value.as_kind(Kind::Bignum)?;
    let negative = object.has_flag(FLAG_NEGATIVE);
    Some(object.with_limbs(|limbs| work(Integer::new(negative, limbs))))
}

/// The order of two exact integers; `None` for other words.
pub fn integer_ordering(x: Value, y: Value) -> Option<Ordering> {
    with_integer(x, |left| {
        with_integer(y, |right| integers::compare(left, right))
    })?
}

/// The ratio of fixnums that a word stands for, or an integer as one; `None` for other words.
fn short_ratio(value: Value) -> Option<ShortRatio> {
    if let Some(n) = value.as_fixnum() {
        return ShortRatio::new(n, 1);
    }
    let object = value.as_kind(Kind::Ratnum)?;
    ShortRatio::new(object.field(0).as_fixnum()?, object.field(1).as_fixnum()?)
}

/// Two words as ratios of fixnums; `None` for other words.
pub(crate) fn short_ratios(x: Value, y: Value) -> Option<(ShortRatio, ShortRatio)> {
    Some((short_ratio(x)?, short_ratio(y)?))
}

/// The nearest flonum to a ratio of fixnums; `None` for other words and for long parts.
pub fn short_ratio_to_f64(value: Value) -> Option<f64> {
    short_ratio(value)?.to_f64()
}

/// Limbs of exact numbers with which products, quotients and texts take milliseconds.
pub const LONG_LIMBS: usize = 1 << 14;

/// Limbs of the exact integers that a word stands for or consists of.
pub fn limbs_of(value: Value) -> usize {
    let Some(object) = value.as_object() else {
        return 0;
    };
    match object.kind() {
        Kind::Bignum => object.length(),
        Kind::Ratnum | Kind::Compnum => limbs_of(object.field(0)) + limbs_of(object.field(1)),
        _ => 0,
    }
}

impl Thread {
    /// The result of an operation on two exact integers, made without the tower; `None` for other words, and
    /// where the operation leaves the work to the tower. Operands are not looked at any more once the result
    /// is allocated.
    #[inline]
    pub fn of_integers(
        &mut self,
        x: Value,
        y: Value,
        operation: impl FnOnce(&mut Workspace, Integer, Integer) -> bool,
    ) -> Option<Result<Value, Raise>> {
        let integers = &mut self.integers;
        let is_done = with_integer(x, |left| {
            with_integer(y, |right| operation(integers, left, right))
        })??;
        is_done.then(|| self.integer_result())
    }

    /// The word of the last result of the workspace.
    fn integer_result(&mut self) -> Result<Value, Raise> {
        let (negative, limbs) = self.integers.result();
        match limbs {
            [] => return Ok(Value::ZERO),
            [only] => {
                if let Some(fixnum) = small(negative, *only) {
                    return Ok(fixnum);
                }
            }
            _ => {}
        }
        let flags = if negative { FLAG_NEGATIVE } else { 0 };
        let length = limbs.len();
        let object = self.try_leaf(Kind::Bignum, flags, length)?;
        let payload = object.as_object().expect("a leaf").payload_address() as *mut u64;
        let (_, limbs) = self.integers.result();
        // SAFETY: the payload of the fresh bignum has this many limbs.
        unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), payload, length) };
        Ok(object)
    }

    /// An exact integer.
    #[inline]
    pub fn integer(&mut self, n: i64) -> Value {
        match Value::try_fixnum(n) {
            Some(fixnum) => fixnum,
            None => self.bignum(n < 0, &[n.unsigned_abs()]),
        }
    }

    /// An exact integer that is not negative.
    pub fn unsigned_integer(&mut self, n: u64) -> Value {
        match i64::try_from(n) {
            Ok(n) => self.integer(n),
            Err(_) => self.bignum(false, &[n]),
        }
    }

    fn bignum(&mut self, negative: bool, limbs: &[u64]) -> Value {
        let flags = if negative { FLAG_NEGATIVE } else { 0 };
        let object = self.leaf(Kind::Bignum, flags, limbs.len());
        let payload = object.as_object().expect("a leaf").payload_address() as *mut u64;
        // SAFETY: the payload of the fresh bignum has this many limbs.
        unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), payload, limbs.len()) };
        object
    }

    /// A flonum.
    #[inline]
    pub fn flonum(&mut self, f: f64) -> Value {
        if let Some(word) = Value::try_inline_flonum(f) {
            return word;
        }
        let object = self.leaf(Kind::Flonum, 0, 1);
        let payload = object.as_object().expect("a leaf").payload_address() as *mut u64;
        // SAFETY: the payload of the fresh flonum is one word.
        unsafe { *payload = f.to_bits() };
        object
    }

    /// The word of a number of any kind.
    pub fn number(&mut self, number: &Number) -> Result<Value, Raise> {
        Ok(match number {
            Number::Fixnum(n) => self.integer(*n),
            Number::Flonum(f) => self.flonum(*f),
            Number::Big(_) => {
                let (negative, limbs) = number.limbs().expect("a big integer has limbs");
                let flags = if negative { FLAG_NEGATIVE } else { 0 };
                let object = self.try_leaf(Kind::Bignum, flags, limbs.len())?;
                let payload = object.as_object().expect("a leaf").payload_address() as *mut u64;
                // SAFETY: the payload of the fresh bignum has this many limbs.
                unsafe { std::ptr::copy_nonoverlapping(limbs.as_ptr(), payload, limbs.len()) };
                object
            }
            Number::Ratio(_) => {
                let numerator = canny_number::numerator(number).unwrap_or(Number::ZERO);
                let denominator = canny_number::denominator(number).unwrap_or(Number::ONE);
                self.two_part_number(Kind::Ratnum, &numerator, &denominator)?
            }
            Number::Complex(parts) => self.two_part_number(Kind::Compnum, &parts.0, &parts.1)?,
        })
    }

    fn two_part_number(
        &mut self,
        kind: Kind,
        first: &Number,
        second: &Number,
    ) -> Result<Value, Raise> {
        let first = self.number(first)?;
        let first = self.protect(first);
        let second = self.number(second)?;
        let second = self.protect(second);
        let object = self.try_object(kind, 0, 2, Value::ZERO)?;
        self.store(object, 0, self.protected(first));
        self.store(object, 1, self.protected(second));
        self.release(first);
        Ok(object)
    }
}
