//! Elementary functions of inexact complex numbers.
//!
//! The algorithms and branch cuts follow W. Kahan, "Branch Cuts for Complex Elementary Functions;
//! or, Much Ado About Nothing's Sign Bit" (1987): a signed zero tells the sides of a cut apart, and
//! intermediate results neither overflow nor cancel where the result would not.

use crate::convert::{power_of_two, real_to_f64};
use crate::number::Number;
use std::f64::consts::{FRAC_PI_2, LN_2, PI};

/// A complex number with flonum parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComplexFlonum {
    pub re: f64,
    pub im: f64,
}

/// The quotient of inexact complex numbers, each as its real and its imaginary part.
pub fn divide_complex(dividend: (f64, f64), divisor: (f64, f64)) -> (f64, f64) {
    let number = |(re, im): (f64, f64)| ComplexFlonum::new(re, im);
    let quotient = number(dividend).div(number(divisor));
    (quotient.re, quotient.im)
}

impl ComplexFlonum {
    pub fn new(re: f64, im: f64) -> ComplexFlonum {
        ComplexFlonum { re, im }
    }

    /// Any number; the imaginary part of a real becomes `0.0`.
    pub fn from_number(value: &Number) -> ComplexFlonum {
        match value {
            Number::Complex(parts) => {
                ComplexFlonum::new(real_to_f64(&parts.0), real_to_f64(&parts.1))
            }
            real => ComplexFlonum::new(real_to_f64(real), 0.0),
        }
    }

    /// A complex [`Number`], also if the imaginary part is zero.
    pub fn into_number(self) -> Number {
        Number::Complex(Box::new((Number::Flonum(self.re), Number::Flonum(self.im))))
    }

    fn conjugate(self) -> ComplexFlonum {
        ComplexFlonum::new(self.re, -self.im)
    }

    fn times(self, other: ComplexFlonum) -> ComplexFlonum {
        ComplexFlonum::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }

    /// Multiplied by the imaginary unit.
    fn times_i(self) -> ComplexFlonum {
        ComplexFlonum::new(-self.im, self.re)
    }

    /// Smith's division, after scaling both operands away from overflow and underflow.
    pub fn div(self, divisor: ComplexFlonum) -> ComplexFlonum {
        let (mut numerator, mut denominator, mut factor) = (self, divisor, 1.0);
        let size = denominator.re.abs().max(denominator.im.abs());
        if size.is_finite() && size != 0.0 {
            if size > power_of_two(1000) {
                denominator = denominator.scaled(power_of_two(-100));
                factor *= power_of_two(-100);
            } else if size < power_of_two(-900) {
                denominator = denominator.scaled(power_of_two(120));
                factor *= power_of_two(120);
            }
        }
        let size = numerator.re.abs().max(numerator.im.abs());
        if size.is_finite() && size > power_of_two(1000) {
            numerator = numerator.scaled(power_of_two(-100));
            factor *= power_of_two(100);
        }
        let quotient = numerator.div_by_smith(denominator);
        ComplexFlonum::new(quotient.re * factor, quotient.im * factor)
    }

    fn div_by_smith(self, divisor: ComplexFlonum) -> ComplexFlonum {
        let ComplexFlonum { re: a, im: b } = self;
        let ComplexFlonum { re: c, im: d } = divisor;
        if c.is_infinite() || d.is_infinite() {
            if a.is_finite() && b.is_finite() && !c.is_nan() && !d.is_nan() {
                // A finite number over an infinity is a zero.
                let unit = |x: f64| {
                    if x.is_infinite() {
                        1.0f64.copysign(x)
                    } else {
                        0.0
                    }
                };
                let (c, d) = (unit(c), unit(d));
                return ComplexFlonum::new(0.0 * (a * c + b * d), 0.0 * (b * c - a * d));
            }
            return ComplexFlonum::new(f64::NAN, f64::NAN);
        }
        if c.abs() >= d.abs() {
            let ratio = d / c;
            if d == 0.0 {
                // The divisor is real or zero.
                return ComplexFlonum::new(a / c, b / c);
            }
            let scale = c + d * ratio;
            ComplexFlonum::new((a + b * ratio) / scale, (b - a * ratio) / scale)
        } else {
            let ratio = c / d;
            let scale = c * ratio + d;
            ComplexFlonum::new((a * ratio + b) / scale, (b * ratio - a) / scale)
        }
    }

    fn scaled(self, factor: f64) -> ComplexFlonum {
        ComplexFlonum::new(self.re * factor, self.im * factor)
    }

    pub fn sqrt(self) -> ComplexFlonum {
        let ComplexFlonum { re, im } = self;
        if im.is_infinite() {
            return ComplexFlonum::new(f64::INFINITY, im);
        }
        if re.is_infinite() {
            let other = if im.is_nan() { im } else { 0.0 };
            return if re > 0.0 {
                ComplexFlonum::new(re, other.copysign(im))
            } else {
                ComplexFlonum::new(other.abs(), f64::INFINITY.copysign(im))
            };
        }
        if re == 0.0 && im == 0.0 {
            return ComplexFlonum::new(0.0, im);
        }
        let size = re.abs().max(im.abs());
        let (z, factor) = if size > power_of_two(1020) {
            (self.scaled(0.0625), 4.0)
        } else if size < power_of_two(-960) {
            (self.scaled(power_of_two(108)), power_of_two(-54))
        } else {
            (self, 1.0)
        };
        let root = ((z.re.abs() + z.re.hypot(z.im)) * 0.5).sqrt();
        let other = z.im / (root * 2.0);
        if z.re >= 0.0 {
            ComplexFlonum::new(root * factor, other * factor)
        } else {
            ComplexFlonum::new(other.abs() * factor, (root * factor).copysign(im))
        }
    }

    pub fn exp(self) -> ComplexFlonum {
        if self.im == 0.0 {
            return ComplexFlonum::new(self.re.exp(), self.im);
        }
        if self.re == f64::NEG_INFINITY {
            return ComplexFlonum::new(0.0, 0.0);
        }
        if self.re == f64::INFINITY && !self.im.is_finite() {
            return ComplexFlonum::new(f64::INFINITY, f64::NAN);
        }
        let (sine, cosine) = self.im.sin_cos();
        // In two factors, so that a huge exponential times a small cosine does not overflow.
        let root = if self.re > 700.0 {
            (self.re * 0.5).exp()
        } else {
            self.re.exp()
        };
        let rest = if self.re > 700.0 { root } else { 1.0 };
        ComplexFlonum::new(root * cosine * rest, root * sine * rest)
    }

    pub fn log(self) -> ComplexFlonum {
        ComplexFlonum::new(log_of_magnitude(self.re, self.im), self.im.atan2(self.re))
    }

    pub fn sin(self) -> ComplexFlonum {
        let (sine, cosine) = self.re.sin_cos();
        ComplexFlonum::new(times_cosh(sine, self.im), times_sinh(cosine, self.im))
    }

    pub fn cos(self) -> ComplexFlonum {
        let (sine, cosine) = self.re.sin_cos();
        ComplexFlonum::new(times_cosh(cosine, self.im), -times_sinh(sine, self.im))
    }

    pub fn tan(self) -> ComplexFlonum {
        // tan z = -i tanh iz
        let ComplexFlonum { re, im } = self.times_i().tanh();
        ComplexFlonum::new(im, -re)
    }

    fn tanh(self) -> ComplexFlonum {
        let ComplexFlonum { re: x, im: y } = self;
        if x.abs() > 22.0 {
            // The real part has reached ±1; the imaginary part is 4 sin y cos y / e^2|x|.
            let (sine, cosine) = y.sin_cos();
            let decay = (-2.0 * x.abs()).exp();
            let im = if y == 0.0 {
                y
            } else {
                4.0 * sine * cosine * decay
            };
            let im = if y.is_finite() { im } else { 0.0 };
            return ComplexFlonum::new(1.0f64.copysign(x), im);
        }
        let tangent = y.tan();
        let beta = 1.0 + tangent * tangent;
        let sinh = x.sinh();
        let rho = (1.0 + sinh * sinh).sqrt();
        if tangent.is_infinite() {
            return ComplexFlonum::new(rho / sinh, 1.0 / tangent);
        }
        let scale = 1.0 + beta * sinh * sinh;
        ComplexFlonum::new(beta * rho * sinh / scale, tangent / scale)
    }

    pub fn asin(self) -> ComplexFlonum {
        if self.re.is_infinite() || self.im.is_infinite() {
            let im = f64::INFINITY.copysign(self.im);
            return ComplexFlonum::new(self.re.atan2(self.im.abs()), im);
        }
        let below = ComplexFlonum::new(1.0 - self.re, -self.im).sqrt();
        let above = ComplexFlonum::new(1.0 + self.re, self.im).sqrt();
        ComplexFlonum::new(
            self.re.atan2(below.times(above).re),
            below.conjugate().times(above).im.asinh(),
        )
    }

    pub fn acos(self) -> ComplexFlonum {
        if self.re.is_infinite() || self.im.is_infinite() {
            let im = -f64::INFINITY.copysign(self.im);
            return ComplexFlonum::new(self.im.abs().atan2(self.re), im);
        }
        let below = ComplexFlonum::new(1.0 - self.re, -self.im).sqrt();
        let above = ComplexFlonum::new(1.0 + self.re, self.im).sqrt();
        ComplexFlonum::new(
            2.0 * below.re.atan2(above.re),
            above.conjugate().times(below).im.asinh(),
        )
    }

    pub fn atan(self) -> ComplexFlonum {
        // atan z = -i atanh iz
        let ComplexFlonum { re, im } = self.times_i().atanh();
        ComplexFlonum::new(im, -re)
    }

    fn atanh(self) -> ComplexFlonum {
        // Work in the right half plane, on the conjugate.
        let flip = 1.0f64.copysign(self.re);
        let (x, y) = (self.re * flip, -self.im * flip);
        let theta = power_of_two(510);
        let size = y.abs();
        let (xi, eta) = if x > theta || y.abs() > theta {
            let reciprocal = ComplexFlonum::new(1.0, 0.0).div(ComplexFlonum::new(x, y));
            (reciprocal.re.abs(), FRAC_PI_2.copysign(y))
        } else if x == 1.0 {
            let xi = if y == 0.0 {
                f64::INFINITY
            } else {
                ((4.0 + y * y).sqrt().sqrt() / size.sqrt()).ln()
            };
            (xi, (FRAC_PI_2 + (size * 0.5).atan()).copysign(y) * 0.5)
        } else {
            let below = 1.0 - x;
            let xi = (4.0 * x / (below * below + size * size)).ln_1p() * 0.25;
            let eta = (2.0 * y).atan2(below * (1.0 + x) - size * size) * 0.5;
            (xi, eta)
        };
        ComplexFlonum::new(xi * flip, -eta * flip)
    }
}

/// The natural logarithm of the magnitude of `re + im i`.
fn log_of_magnitude(re: f64, im: f64) -> f64 {
    if re.is_infinite() || im.is_infinite() {
        return f64::INFINITY;
    }
    let (large, small) = if re.abs() >= im.abs() {
        (re.abs(), im.abs())
    } else {
        (im.abs(), re.abs())
    };
    if large == 0.0 {
        return f64::NEG_INFINITY;
    }
    if (0.5..=1.5).contains(&large) {
        // Near the unit circle: |z|^2 - 1 without cancellation, each square as an exact sum.
        let (square, tail) = exact_square(large);
        let (other, other_tail) = exact_square(small);
        let excess = (square - 1.0) + other + (tail + other_tail);
        return 0.5 * excess.ln_1p();
    }
    let ratio = small / large;
    large.ln() + 0.5 * (ratio * ratio).ln_1p()
}

/// The square of a flonum as the sum of the rounded square and its error.
fn exact_square(value: f64) -> (f64, f64) {
    let square = value * value;
    (square, value.mul_add(value, -square))
}

/// `factor * cosh y`, without overflow unless the product overflows.
fn times_cosh(factor: f64, y: f64) -> f64 {
    if y.abs() < 700.0 || !y.is_finite() {
        return factor * y.cosh();
    }
    let root = (y.abs() * 0.5).exp();
    factor * (0.5 * root) * root
}

/// `factor * sinh y`, without overflow unless the product overflows; a zero `y` wins over an
/// infinite or undefined factor.
fn times_sinh(factor: f64, y: f64) -> f64 {
    if y == 0.0 {
        return if factor.is_nan() { y } else { factor * y };
    }
    if y.abs() < 700.0 || !y.is_finite() {
        return factor * y.sinh();
    }
    let root = (y.abs() * 0.5).exp();
    (factor * (0.5 * root) * root).copysign(factor * y.signum())
}

/// `base` to a real power through polar coordinates, for a negative real base.
pub(crate) fn negative_power(base: f64, power: f64) -> ComplexFlonum {
    let size = base.abs().powf(power);
    let (sine, cosine) = (PI * power.rem_euclid(2.0)).sin_cos();
    ComplexFlonum::new(size * cosine, size * sine)
}

/// `mantissa * 2^exponent`, logarithm thereof.
pub(crate) fn log_scaled(mantissa: f64, exponent: i64) -> f64 {
    mantissa.ln() + exponent as f64 * LN_2
}
