//! Reading numbers.
//!
//! The whole text must be a number; otherwise it is something else (a symbol), which is not an
//! error. Scanning splits a text into signed parts without computing anything, so that only texts
//! that are numbers cost arithmetic or can fail.
//!
//! All of the R7RS grammar is read, with these decisions:
//! - `1/0` is a number without a value: [`NumberError::DivisionByZero`]. So is `#e+inf.0`:
//!   [`NumberError::NoExactValue`].
//! - The exponent markers `s f d l` of older standards mean the same as `e`.
//! - Radices up to 36 are read if the caller asks for them. Outside radix 10 a point may appear,
//!   without an exponent (`#b0.1`); R7RS has no such literals, but its `number->string` promises
//!   that flonums written in any radix can be read back.
//! - `i` is a digit from radix 19 on: a text that can be read as a real number is one there.
//! - A decimal exponent of any size is read as a flonum; an exact one beyond
//!   [`READ_EXPONENT_MAX`] is [`NumberError::TooLarge`].
//! - `-nan.0` is read as the one NaN.
//! - One underscore may stand between two digits (SRFI 169).

use std::borrow::Cow;

use crate::complex::rectangular;
use crate::convert::{quotient_to_f64, real_to_f64};
use crate::error::NumberError;
use crate::exactness::{exact, inexact};
use crate::number::Number;
use crate::polar::make_polar;
use dashu_base::Sign;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The largest magnitude of the exponent of a decimal literal that is read as an exact number.
pub const READ_EXPONENT_MAX: i64 = 1_000_000;

/// Exponents saturate here while they are scanned; no text is long enough to bring such a number
/// back into range.
const EXPONENT_SATURATED: i64 = 1 << 60;

#[derive(Clone, Copy)]
struct Scanned<'a> {
    signed: bool,
    negative: bool,
    magnitude: Magnitude<'a>,
}

#[derive(Clone, Copy)]
enum Magnitude<'a> {
    Integer(&'a str),
    Ratio(&'a str, &'a str),
    /// Digits before and after the point, and the decimal exponent.
    Point {
        whole: &'a str,
        fraction: &'a str,
        exponent: i64,
    },
    Infinity,
    NotANumber,
}

/// Reads a number in the grammar of R7RS 7.1.1, with `default_radix` where no prefix says
/// otherwise. `Ok(None)` means that the text is not a number.
pub fn parse_number(text: &str, default_radix: u32) -> Result<Option<Number>, NumberError> {
    if !(2..=36).contains(&default_radix) {
        return Err(NumberError::BadRadix(default_radix));
    }
    if !text.is_ascii() {
        return Ok(None);
    }
    let (mut rest, mut radix, mut exactness) = (text, None, None);
    while let Some(after) = rest.strip_prefix('#') {
        let Some(letter) = after.bytes().next() else {
            return Ok(None);
        };
        match letter.to_ascii_lowercase() {
            b'b' if radix.is_none() => radix = Some(2),
            b'o' if radix.is_none() => radix = Some(8),
            b'd' if radix.is_none() => radix = Some(10),
            b'x' if radix.is_none() => radix = Some(16),
            mark @ (b'e' | b'i') if exactness.is_none() => exactness = Some(mark),
            _ => return Ok(None),
        }
        rest = &after[1..];
    }
    let radix = radix.unwrap_or(default_radix);
    let wants_exact = exactness == Some(b'e');
    let number = match without_underscores(rest, radix) {
        Some(rest) => parse_complex(&rest, radix, wants_exact)?,
        None => return Ok(None),
    };
    Ok(number.map(|number| {
        if exactness == Some(b'i') {
            inexact(&number)
        } else {
            number
        }
    }))
}

/// The text without its underscores, or `None` when one of them is not between two digits.
fn without_underscores(text: &str, radix: u32) -> Option<Cow<'_, str>> {
    if !text.contains('_') {
        return Some(Cow::Borrowed(text));
    }
    let bytes = text.as_bytes();
    let is_digit = |index: Option<usize>| {
        index
            .and_then(|index| bytes.get(index))
            .is_some_and(|&byte| char::from(byte).is_digit(radix))
    };
    let all_between_digits = (0..bytes.len())
        .filter(|&index| bytes[index] == b'_')
        .all(|index| is_digit(index.checked_sub(1)) && is_digit(Some(index + 1)));
    all_between_digits.then(|| Cow::Owned(text.replace('_', "")))
}

/// Reads a decimal real number as the nearest flonum.
pub fn parse_flonum(text: &str) -> Option<f64> {
    match scan_real(text, 10)? {
        (scanned, "") => evaluate(scanned, 10, false)
            .ok()
            .map(|number| real_to_f64(&number)),
        _ => None,
    }
}

fn parse_complex(text: &str, radix: u32, wants_exact: bool) -> Result<Option<Number>, NumberError> {
    let first = scan_real(text, radix);
    if let Some((scanned, "")) = first {
        return evaluate(scanned, radix, wants_exact).map(Some);
    }
    if let Some(body) = text.strip_suffix(['i', 'I'])
        && let Some((re, im)) = scan_rectangular(body, radix)
    {
        let re = match re {
            Some(re) => evaluate(re, radix, wants_exact)?,
            None => Number::ZERO,
        };
        return Ok(Some(rectangular(re, evaluate(im, radix, wants_exact)?)));
    }
    if let Some((length, rest)) = first
        && let Some(rest) = rest.strip_prefix('@')
        && let Some((angle, "")) = scan_real(rest, radix)
    {
        let length = evaluate(length, radix, wants_exact)?;
        let angle = evaluate(angle, radix, wants_exact)?;
        let number = make_polar(&length, &angle)?;
        return if wants_exact {
            exact(&number).map(Some)
        } else {
            Ok(Some(number))
        };
    }
    Ok(None)
}

/// Scans `a+b`, `a+` or `+b` (what stands before the `i`).
fn scan_rectangular(body: &str, radix: u32) -> Option<(Option<Scanned<'_>>, Scanned<'_>)> {
    if let Some(unit) = scan_unit(body) {
        return Some((None, unit));
    }
    let (first, rest) = scan_real(body, radix)?;
    if rest.is_empty() {
        return first.signed.then_some((None, first));
    }
    if let Some(unit) = scan_unit(rest) {
        return Some((Some(first), unit));
    }
    match scan_real(rest, radix)? {
        (second, "") if second.signed => Some((Some(first), second)),
        _ => None,
    }
}

/// A sign alone, which stands for plus or minus one before an `i`.
fn scan_unit(text: &str) -> Option<Scanned<'static>> {
    let negative = match text {
        "+" => false,
        "-" => true,
        _ => return None,
    };
    Some(Scanned {
        signed: true,
        negative,
        magnitude: Magnitude::Integer("1"),
    })
}

/// Splits off the longest run of digits.
fn scan_digits(text: &str, radix: u32) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !char::from(byte).is_digit(radix))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Scans a real number at the start of an ASCII text, and yields what follows it.
fn scan_real(text: &str, radix: u32) -> Option<(Scanned<'_>, &str)> {
    let (signed, negative, body) = match text.as_bytes().first()? {
        b'+' => (true, false, &text[1..]),
        b'-' => (true, true, &text[1..]),
        _ => (false, false, text),
    };
    if signed && let Some((magnitude, rest)) = scan_special(body, radix) {
        return Some((
            Scanned {
                signed,
                negative,
                magnitude,
            },
            rest,
        ));
    }
    let (magnitude, rest) = scan_magnitude(body, radix)?;
    Some((
        Scanned {
            signed,
            negative,
            magnitude,
        },
        rest,
    ))
}

fn scan_special(body: &str, radix: u32) -> Option<(Magnitude<'static>, &str)> {
    let name = body.get(..5)?;
    let rest = &body[5..];
    let magnitude = if name.eq_ignore_ascii_case("inf.0") {
        Magnitude::Infinity
    } else if name.eq_ignore_ascii_case("nan.0") {
        Magnitude::NotANumber
    } else {
        return None;
    };
    // In a radix that has these letters as digits, one more digit makes it a plain number.
    let continues = rest
        .bytes()
        .next()
        .is_some_and(|byte| char::from(byte).is_digit(radix));
    (!continues).then_some((magnitude, rest))
}

fn scan_magnitude(body: &str, radix: u32) -> Option<(Magnitude<'_>, &str)> {
    let (whole, rest) = scan_digits(body, radix);
    if !whole.is_empty()
        && let Some(below) = rest.strip_prefix('/')
    {
        let (denominator, rest) = scan_digits(below, radix);
        return (!denominator.is_empty()).then_some((Magnitude::Ratio(whole, denominator), rest));
    }
    let point = rest.strip_prefix('.');
    let (fraction, rest) = match point {
        Some(after) => scan_digits(after, radix),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = if radix == 10 {
        scan_exponent(rest)
    } else {
        None
    };
    match (point, exponent) {
        (None, None) => Some((Magnitude::Integer(whole), rest)),
        (Some(_), None) => Some((
            Magnitude::Point {
                whole,
                fraction,
                exponent: 0,
            },
            rest,
        )),
        (_, Some((exponent, rest))) => Some((
            Magnitude::Point {
                whole,
                fraction,
                exponent,
            },
            rest,
        )),
    }
}

fn scan_exponent(text: &str) -> Option<(i64, &str)> {
    let after = text.strip_prefix(|letter: char| "esfdlESFDL".contains(letter))?;
    let (negative, after) = match after.as_bytes().first()? {
        b'+' => (false, &after[1..]),
        b'-' => (true, &after[1..]),
        _ => (false, after),
    };
    let (digits, rest) = scan_digits(after, 10);
    if digits.is_empty() {
        return None;
    }
    let magnitude = digits.bytes().fold(0i64, |value, digit| {
        (value
            .saturating_mul(10)
            .saturating_add(i64::from(digit - b'0')))
        .min(EXPONENT_SATURATED)
    });
    Some((if negative { -magnitude } else { magnitude }, rest))
}

fn evaluate(scanned: Scanned<'_>, radix: u32, wants_exact: bool) -> Result<Number, NumberError> {
    let negative = scanned.negative;
    let flonum = |magnitude: f64| {
        let value = Number::Flonum(if negative { -magnitude } else { magnitude });
        if wants_exact {
            exact(&value)
        } else {
            Ok(value)
        }
    };
    match scanned.magnitude {
        Magnitude::Integer(digits) => Ok(integer(negative, digits, radix)),
        Magnitude::Ratio(numerator, denominator) => {
            let denominator = magnitude(denominator, radix);
            if denominator.is_zero() {
                return Err(NumberError::DivisionByZero);
            }
            let numerator = signed(negative, magnitude(numerator, radix));
            Ok(Number::from_ratio(RBig::from_parts(numerator, denominator)))
        }
        Magnitude::Infinity => flonum(f64::INFINITY),
        Magnitude::NotANumber if wants_exact => flonum(f64::NAN),
        Magnitude::NotANumber => Ok(Number::Flonum(f64::NAN)),
        Magnitude::Point {
            whole,
            fraction,
            exponent,
        } if wants_exact => exact_point(negative, whole, fraction, exponent, radix),
        Magnitude::Point {
            whole,
            fraction,
            exponent,
        } if radix == 10 => flonum(decimal_to_f64(whole, fraction, exponent)),
        Magnitude::Point {
            whole, fraction, ..
        } => {
            let numerator = magnitude(&[whole, fraction].concat(), radix);
            flonum(quotient_to_f64(
                &numerator,
                &UBig::from(radix).pow(fraction.len()),
            ))
        }
    }
}

fn signed(negative: bool, magnitude: UBig) -> IBig {
    IBig::from_parts(
        if negative {
            Sign::Negative
        } else {
            Sign::Positive
        },
        magnitude,
    )
}

fn integer(negative: bool, digits: &str, radix: u32) -> Number {
    match i64::from_str_radix(digits, radix) {
        Ok(value) => Number::Fixnum(if negative { -value } else { value }),
        Err(_) => Number::from_integer(signed(negative, magnitude(digits, radix))),
    }
}

/// The value of a text that consists of digits only; none at all are zero.
fn magnitude(digits: &str, radix: u32) -> UBig {
    UBig::from_str_radix(digits, radix).unwrap_or(UBig::ZERO)
}

/// The exact value of `whole.fraction * 10^exponent`; the exponent is zero outside radix 10.
fn exact_point(
    negative: bool,
    whole: &str,
    fraction: &str,
    exponent: i64,
    radix: u32,
) -> Result<Number, NumberError> {
    let digits = signed(negative, magnitude(&[whole, fraction].concat(), radix));
    if digits.is_zero() {
        return Ok(Number::ZERO);
    }
    if exponent.abs() > READ_EXPONENT_MAX {
        return Err(NumberError::TooLarge {
            bits: exponent.unsigned_abs().saturating_mul(4),
        });
    }
    let power = exponent - fraction.len() as i64;
    let factor = UBig::from(radix).pow(power.unsigned_abs() as usize);
    Ok(if power >= 0 {
        Number::from_integer(digits * factor)
    } else {
        Number::from_ratio(RBig::from_parts(digits, factor))
    })
}

/// The nearest flonum to `whole.fraction * 10^exponent`.
fn decimal_to_f64(whole: &str, fraction: &str, exponent: i64) -> f64 {
    if let Some(value) = short_decimal_to_f64(whole, fraction, exponent) {
        return value;
    }
    let whole = whole.trim_start_matches('0');
    let (digits, leading) = if whole.is_empty() {
        let digits = fraction.trim_start_matches('0');
        ([digits, ""], digits.len() as i64 - fraction.len() as i64)
    } else {
        ([whole, fraction], whole.len() as i64)
    };
    if digits[0].is_empty() {
        return 0.0;
    }
    // The value is 0.d₁d₂d₃… times ten to this power. Far outside the range of flonums nothing
    // else matters; inside it, the host's reader rounds correctly for any number of digits.
    let power = leading + exponent;
    if power > 400 {
        return f64::INFINITY;
    }
    if power < -400 {
        return 0.0;
    }
    format!("0.{}{}e{power}", digits[0], digits[1])
        .parse()
        .unwrap_or(f64::NAN)
}

/// Decimals of at most 15 digits and a small exponent: digits and power of ten are exact flonums,
/// so that one multiplication or division rounds correctly.
fn short_decimal_to_f64(whole: &str, fraction: &str, exponent: i64) -> Option<f64> {
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if whole.len() + fraction.len() > 15 {
        return None;
    }
    let power = exponent - fraction.len() as i64;
    let scale = *POWERS.get(usize::try_from(power.unsigned_abs()).ok()?)?;
    let digits = whole
        .bytes()
        .chain(fraction.bytes())
        .fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0')) as f64;
    Some(if power < 0 {
        digits / scale
    } else {
        digits * scale
    })
}
