//! Numbers: the whole tower under the R7RS names, and the integers as bit strings as in SRFI 151.
//!
//! Arithmetic is foldable: numbers have no identity that a program could rely on.

use super::rows;

rows! {
    /// Predicates, comparison, the four operations and division.
    ARITHMETIC:
    "number?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a number.";
    "complex?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a number.";
    "real?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is a real number.";
    "rational?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is a finite real number.";
    "integer?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an integer, exact or not.";
    "exact?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number is exact.";
    "inexact?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number is inexact.";
    "exact-integer?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an exact integer.";
    "exact-rational?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an exact rational.";
    "exact-nonnegative-integer?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an exact integer not below zero.";
    "fixnum?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean"
        "Whether the object is an exact integer held in the word.";
    "flonum?" (1) [FOLDABLE PURE NEVER_RAISES] "any -> boolean" "Whether the object is an inexact real.";
    "finite?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number has no infinite or NaN part.";
    "infinite?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number has an infinite part.";
    "nan?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number has a NaN part.";
    "=" (1 ..) [FOLDABLE PURE] "number number ... -> boolean" "Whether the numbers are equal.";
    "<" (1 ..) [FOLDABLE PURE] "real real ... -> boolean" "Whether the numbers increase.";
    ">" (1 ..) [FOLDABLE PURE] "real real ... -> boolean" "Whether the numbers decrease.";
    "<=" (1 ..) [FOLDABLE PURE] "real real ... -> boolean" "Whether the numbers never decrease.";
    ">=" (1 ..) [FOLDABLE PURE] "real real ... -> boolean" "Whether the numbers never increase.";
    "zero?" (1) [FOLDABLE PURE] "number -> boolean" "Whether a number is zero.";
    "positive?" (1) [FOLDABLE PURE] "real -> boolean" "Whether a number is above zero.";
    "negative?" (1) [FOLDABLE PURE] "real -> boolean" "Whether a number is below zero.";
    "odd?" (1) [FOLDABLE PURE] "integer -> boolean" "Whether an integer is odd.";
    "even?" (1) [FOLDABLE PURE] "integer -> boolean" "Whether an integer is even.";
    "max" (1 ..) [FOLDABLE PURE] "real real ... -> real" "The greatest; inexact if any argument is.";
    "min" (1 ..) [FOLDABLE PURE] "real real ... -> real" "The least; inexact if any argument is.";
    "+" (0 ..) [FOLDABLE PURE] "number ... -> number" "The sum.";
    "*" (0 ..) [FOLDABLE PURE] "number ... -> number" "The product.";
    "-" (1 ..) [FOLDABLE PURE] "number number ... -> number" "The difference, or the negation of one number.";
    "/" (1 ..) [FOLDABLE PURE] "number number ... -> number" "The quotient, or the reciprocal of one number.";
    "abs" (1) [FOLDABLE PURE] "real -> real" "The absolute value.";
    "quotient" (2) [FOLDABLE PURE] "integer integer -> integer" "The quotient rounded to zero.";
    "remainder" (2) [FOLDABLE PURE] "integer integer -> integer"
        "The remainder with the sign of the dividend.";
    "modulo" (2) [FOLDABLE PURE] "integer integer -> integer" "The remainder with the sign of the divisor.";
    "floor/" (2) [PURE] "integer integer -> values(integer integer)" "floor-quotient and floor-remainder.";
    "floor-quotient" (2) [FOLDABLE PURE] "integer integer -> integer" "The quotient rounded down.";
    "floor-remainder" (2) [FOLDABLE PURE] "integer integer -> integer"
        "The remainder with the sign of the divisor.";
    "truncate/" (2) [PURE] "integer integer -> values(integer integer)"
        "truncate-quotient and truncate-remainder.";
    "truncate-quotient" (2) [FOLDABLE PURE] "integer integer -> integer" "The quotient rounded to zero.";
    "truncate-remainder" (2) [FOLDABLE PURE] "integer integer -> integer"
        "The remainder with the sign of the dividend.";
    "gcd" (0 ..) [FOLDABLE PURE] "integer ... -> integer" "The greatest common divisor.";
    "lcm" (0 ..) [FOLDABLE PURE] "integer ... -> integer" "The least common multiple.";
    "1+" (1) [FOLDABLE PURE] "number -> number" "The number plus one.";
    "-1+" (1) [FOLDABLE PURE] "number -> number" "The number minus one.";
}

rows! {
    /// Rounding, transcendental functions, complex parts, conversion.
    FUNCTIONS:
    "numerator" (1) [FOLDABLE PURE] "rational -> integer" "The numerator in lowest terms.";
    "denominator" (1) [FOLDABLE PURE] "rational -> integer" "The denominator in lowest terms.";
    "floor" (1) [FOLDABLE PURE] "real -> real" "The greatest integer not above.";
    "ceiling" (1) [FOLDABLE PURE] "real -> real" "The least integer not below.";
    "truncate" (1) [FOLDABLE PURE] "real -> real" "The integer nearest to zero side.";
    "round" (1) [FOLDABLE PURE] "real -> real" "The nearest integer, ties to even.";
    "rationalize" (2) [FOLDABLE PURE] "real real -> real"
        "The simplest rational within a tolerance.";
    "exp" (1) [FOLDABLE PURE] "number -> number" "e to the power.";
    "log" (1, 2) [FOLDABLE PURE] "number [number] -> number" "The natural logarithm, or that to a base.";
    "sin" (1) [FOLDABLE PURE] "number -> number" "The sine.";
    "cos" (1) [FOLDABLE PURE] "number -> number" "The cosine.";
    "tan" (1) [FOLDABLE PURE] "number -> number" "The tangent.";
    "asin" (1) [FOLDABLE PURE] "number -> number" "The arc sine.";
    "acos" (1) [FOLDABLE PURE] "number -> number" "The arc cosine.";
    "atan" (1, 2) [FOLDABLE PURE] "number [real] -> number"
        "The arc tangent, of y over x with two arguments.";
    "square" (1) [FOLDABLE PURE] "number -> number" "The number times itself.";
    "sqrt" (1) [FOLDABLE PURE] "number -> number" "The square root, exact where it can be.";
    "exact-integer-sqrt" (1) [PURE] "integer -> values(integer integer)"
        "The integer square root and the rest.";
    "cube" (1) [FOLDABLE PURE] "number -> number" "The third power.";
    "expt" (2) [FOLDABLE PURE] "number number -> number" "The power.";
    "make-rectangular" (2) [FOLDABLE PURE] "real real -> number" "A complex number from its parts.";
    "make-polar" (2) [FOLDABLE PURE] "real real -> number"
        "A complex number from magnitude and angle.";
    "real-part" (1) [FOLDABLE PURE] "number -> real" "The real part.";
    "imag-part" (1) [FOLDABLE PURE] "number -> real" "The imaginary part.";
    "magnitude" (1) [FOLDABLE PURE] "number -> real" "The distance from zero.";
    "angle" (1) [FOLDABLE PURE] "number -> real" "The angle in the complex plane.";
    "exact" (1) [FOLDABLE PURE] "number -> number" "The exact number of the same value.";
    "inexact" (1) [FOLDABLE PURE] "number -> number" "The nearest inexact number.";
    "number->string" (1, 2) [PURE ALLOCATES] "number [radix] -> string"
        "The shortest text that reads as the number.";
    "string->number" (1, 2) [PURE] "string [radix] -> number-or-false"
        "The number that a text stands for, or #f.";
    "exact-floor" (1) [FOLDABLE PURE] "real -> integer" "floor as an exact integer.";
    "exact-ceiling" (1) [FOLDABLE PURE] "real -> integer" "ceiling as an exact integer.";
    "exact-round" (1) [FOLDABLE PURE] "real -> integer" "round as an exact integer.";
    "exact-truncate" (1) [FOLDABLE PURE] "real -> integer" "truncate as an exact integer.";
    "random-integer" (1) [] "integer -> integer"
        "A random exact integer from 0 to below the bound, as in SRFI 27." slow Changes;
    "random-real" (0) [NEVER_RAISES] "-> real"
        "A random inexact real between 0 and 1, as in SRFI 27." slow Changes;
    "%flonum-function" (2) [FOLDABLE PURE] "flonum-function flonum -> flonum"
        "A function of SRFI 144.";
    "%flonum-operation" (3) [FOLDABLE PURE] "flonum-operation flonum flonum -> flonum"
        "A function of SRFI 144 of two flonums.";
    "%flonum-multiply-add" (3) [FOLDABLE PURE] "flonum flonum flonum -> flonum"
        "The sum of the third and the product of the others, rounded once.";
    "%flonum->bits" (1) [FOLDABLE PURE] "flonum -> integer"
        "The 64 bits of a flonum, as an integer." slow Rare;
    "%bits->flonum" (1) [PURE] "integer -> flonum" "The flonum with these 64 bits." slow Rare;
    "random-seed!" (1) [] "integer -> unspecified"
        "Makes the sequence of random numbers repeatable." slow Administration;
}

rows! {
    /// Integers as bit strings.
    BITWISE:
    "bitwise-not" (1) [FOLDABLE PURE] "integer -> integer" "Every bit inverted.";
    "bitwise-and" (0 ..) [FOLDABLE PURE] "integer ... -> integer" "The bits set in all.";
    "bitwise-ior" (0 ..) [FOLDABLE PURE] "integer ... -> integer" "The bits set in any.";
    "bitwise-xor" (0 ..) [FOLDABLE PURE] "integer ... -> integer" "The bits set in an odd number.";
    "bitwise-if" (3) [FOLDABLE PURE] "integer integer integer -> integer"
        "Bits of the second where the mask is set, else of the third.";
    "arithmetic-shift" (2) [FOLDABLE PURE] "integer integer -> integer"
        "Shifted left, or right by a negative count.";
    "bit-count" (1) [FOLDABLE PURE] "integer -> integer" "The number of bits that differ from the sign.";
    "integer-length" (1) [FOLDABLE PURE] "integer -> integer" "The number of bits needed without the sign.";
    "first-set-bit" (1) [FOLDABLE PURE] "integer -> integer" "The index of the lowest set bit, or -1.";
    "bit-set?" (2) [FOLDABLE PURE] "index integer -> boolean" "Whether a bit is set.";
    "copy-bit" (3) [FOLDABLE PURE] "index integer boolean -> integer" "The integer with one bit replaced.";
    "bit-field" (3) [FOLDABLE PURE] "integer index index -> integer" "The bits from start to below end.";
}
