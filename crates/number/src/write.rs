//! Writing numbers.
//!
//! A written number reads back as the same number, in the sense of `eqv?`. Flonums get the fewest
//! digits for which that holds, in every radix. In radix 10 they are written without an exponent
//! from 1e-6 up to but not including 1e21, and always show a point or an exponent; in other radices
//! there is no exponent, since its marker would be a digit.

use crate::convert::decode;
use crate::number::Number;
use dashu_base::DivRem;
use dashu_int::{IBig, UBig};
use std::fmt;

/// Writes the number in radix 10, as `number->string` does.
impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&write_number(self, 10))
    }
}

/// `(number->string value radix)`. The caller has checked the radix; one outside 2 to 36 is taken
/// as 10.
pub fn write_number(value: &Number, radix: u32) -> String {
    let radix = if (2..=36).contains(&radix) { radix } else { 10 };
    let mut out = String::new();
    write_any(&mut out, value, radix);
    out
}

/// A flonum in radix 10.
pub fn flonum_to_string(value: f64) -> String {
    let mut out = String::new();
    write_flonum(&mut out, value, 10);
    out
}

fn write_any(out: &mut String, value: &Number, radix: u32) {
    match value {
        Number::Fixnum(small) if radix == 10 => out.push_str(&small.to_string()),
        Number::Fixnum(small) => write_integer(out, &IBig::from(*small), radix),
        Number::Big(big) => write_integer(out, big, radix),
        Number::Ratio(ratio) => {
            write_integer(out, ratio.numerator(), radix);
            out.push('/');
            write_integer(out, ratio.denominator().as_ibig(), radix);
        }
        Number::Flonum(flonum) => write_flonum(out, *flonum, radix),
        Number::Complex(parts) => write_complex(out, &parts.0, &parts.1, radix),
    }
}

fn write_integer(out: &mut String, value: &IBig, radix: u32) {
    out.push_str(&value.in_radix(radix as u8).to_string());
}

fn write_complex(out: &mut String, re: &Number, im: &Number, radix: u32) {
    // From radix 19 on, `+2i` would be read as a real number; a real part prevents that.
    if !re.is_exact_zero() || radix > 18 {
        write_any(out, re, radix);
    }
    match im {
        Number::Fixnum(1) => out.push('+'),
        Number::Fixnum(-1) => out.push('-'),
        im => {
            let mut text = String::new();
            write_any(&mut text, im, radix);
            if !text.starts_with(['+', '-']) {
                out.push('+');
            }
            out.push_str(&text);
        }
    }
    out.push('i');
}

fn write_flonum(out: &mut String, value: f64, radix: u32) {
    if value.is_nan() {
        out.push_str("+nan.0");
        return;
    }
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "+inf.0" } else { "-inf.0" });
        return;
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value == 0.0 {
        out.push_str("0.0");
    } else if radix == 10 {
        write_decimal_flonum(out, value.abs());
    } else {
        let (digits, point) = shortest_digits(value.abs(), radix);
        let start = out.len();
        write_positional(out, &digits, point);
        if matches!(&out[start..], "inf.0" | "nan.0") {
            // These letters are digits here; one more digit tells the number from the name.
            out.push('0');
        }
    }
}

fn write_zeros(out: &mut String, count: i64) {
    out.extend((0..count).map(|_| '0'));
}

/// Writes 0.d₁d₂d₃… times the radix to the power of `point`, without an exponent.
fn write_positional(out: &mut String, digits: &str, point: i64) {
    let count = digits.len() as i64;
    if point <= 0 {
        out.push_str("0.");
        write_zeros(out, -point);
        out.push_str(digits);
    } else if point >= count {
        out.push_str(digits);
        write_zeros(out, point - count);
        out.push_str(".0");
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    }
}

/// Writes a positive flonum with the shortest digits that the zmij library finds, laid out as
/// this module's header says.
fn write_decimal_flonum(out: &mut String, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let printed = buffer.format_finite(value);
    let (mantissa, exponent) = match printed.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(0)),
        None => (printed, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let leading_zeros = digits.len() - digits.trim_start_matches('0').len();
    let point = whole.len() as i64 + exponent - leading_zeros as i64;
    let digits = digits.trim_matches('0');
    if (-5..=21).contains(&point) {
        write_positional(out, digits, point);
        return;
    }
    let (first, rest) = digits.split_at(1);
    out.push_str(first);
    out.push('.');
    out.push_str(if rest.is_empty() { "0" } else { rest });
    out.push_str(if point > 0 { "e+" } else { "e" });
    out.push_str(&(point - 1).to_string());
}

/// The fewest digits in any radix that identify a positive flonum, and the position of the point
/// before them, after Steele and White, "How to Print Floating-Point Numbers Accurately" (1990).
///
/// The value is `rest / scale`; every number closer to it than `above / scale` upward and
/// `below / scale` downward is read back as the same flonum, and the two ends themselves are if
/// the mantissa is even.
fn shortest_digits(value: f64, radix: u32) -> (String, i64) {
    let (_, mantissa, exponent) = decode(value);
    let inclusive = mantissa & 1 == 0;
    // Just above a power of two, the gap below is half of the gap above.
    let uneven = mantissa == 1 << 52 && exponent > -1074;
    let shift = if uneven { 2 } else { 1 };
    let up = exponent.max(0) as usize;
    let mut rest = UBig::from(mantissa) << (up + shift);
    let mut scale = UBig::ONE << (shift + (-exponent).max(0) as usize);
    let mut below = UBig::ONE << up;
    let mut above = &below << (shift - 1);

    let exceeds = |sum: &UBig, limit: &UBig| sum > limit || (inclusive && sum == limit);
    let mut point = (value.ln() / f64::from(radix).ln()).floor() as i64;
    let power = UBig::from(radix).pow(point.unsigned_abs() as usize);
    if point >= 0 {
        scale *= power;
    } else {
        rest *= &power;
        below *= &power;
        above *= power;
    }
    // The estimate is one too small as a rule, and may be off by one more through rounding.
    while exceeds(&(&rest + &above), &scale) {
        scale *= radix;
        point += 1;
    }
    while !exceeds(&((&rest + &above) * radix), &scale) {
        rest *= radix;
        below *= radix;
        above *= radix;
        point -= 1;
    }

    let mut digits = String::new();
    loop {
        rest *= radix;
        below *= radix;
        above *= radix;
        let (digit, next) = (&rest).div_rem(&scale);
        rest = next;
        let mut digit = u32::try_from(&digit).unwrap_or(0);
        let low = exceeds(&below, &rest);
        let high = exceeds(&(&rest + &above), &scale);
        if low || high {
            if high && (!low || &rest << 1usize >= scale) {
                digit += 1;
            }
            digits.extend(char::from_digit(digit, radix));
            return (digits, point);
        }
        digits.extend(char::from_digit(digit, radix));
    }
}
