//! Leaf functions of numbers beside the tower: numbers of all kinds, at the limits of their
//! representations, in all pairs.

use canny_number::{self as number, Division, Number, NumberError};
use canny_vm::numbers::{View, number_of, view};
use canny_vm::{InPlace, Thread};

use super::*;
use crate::testing::{call, machine, read, written};

type One = fn(&Number) -> Result<Number, NumberError>;
type Two = fn(&Number, &Number) -> Result<Number, NumberError>;
type Test = fn(&Number) -> Result<bool, NumberError>;
type TestOfTwo = fn(&Number, &Number) -> Result<bool, NumberError>;

const NUMBERS: [&str; 44] = [
    "0",
    "1",
    "-1",
    "2",
    "-3",
    "10",
    "64",
    "2305843009213693951",
    "-2305843009213693952",
    "2305843009213693952",
    "-2305843009213693953",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "-18446744073709551616",
    "18446744073709551617",
    "-340282366920938463463374607431768211456",
    "340282366920938463463374607431768211455",
    "1/2",
    "-1/2",
    "7/3",
    "-22/7",
    "2305843009213693951/2",
    "-1/2305843009213693952",
    "3/18446744073709551617",
    "-18446744073709551617/3",
    "18446744073709551616/18446744073709551617",
    "0.0",
    "-0.0",
    "1.0",
    "-1.5",
    "0.5",
    "1e18",
    "2305843009213693952.0",
    "18446744073709551616.0",
    "1e300",
    "+inf.0",
    "+nan.0",
    "1+2i",
    "-1/2+18446744073709551617i",
    "1.5-2.5i",
    "0.0+1e300i",
    "+inf.0-0.0i",
];

const FUNCTIONS_OF_ONE: &[(&str, One)] = &[
    ("-", |x| Ok(number::negate(x))),
    ("/", |x| number::div(&Number::ONE, x)),
    ("abs", number::abs),
    ("magnitude", number::magnitude),
    ("cube", |x| number::mul(x, &number::square(x)?)),
    ("numerator", number::numerator),
    ("denominator", number::denominator),
    ("exact", number::exact),
    ("inexact", |x| Ok(number::inexact(x))),
    ("floor", number::floor),
    ("ceiling", number::ceiling),
    ("truncate", number::truncate),
    ("round", number::round),
    ("exact-floor", |x| number::exact(&number::floor(x)?)),
    ("exact-ceiling", |x| number::exact(&number::ceiling(x)?)),
    ("exact-truncate", |x| number::exact(&number::truncate(x)?)),
    ("exact-round", |x| number::exact(&number::round(x)?)),
    ("real-part", |x| Ok(number::real_part(x))),
    ("imag-part", |x| Ok(number::imag_part(x))),
    ("angle", number::angle),
    ("sqrt", number::sqrt),
    ("exp", number::exp),
    ("log", number::log),
    ("sin", number::sin),
    ("cos", number::cos),
    ("tan", number::tan),
    ("asin", number::asin),
    ("acos", number::acos),
    ("atan", number::atan),
    ("bitwise-not", number::bitwise_not),
    ("bit-count", number::bit_count),
    ("integer-length", number::integer_length),
    ("first-set-bit", number::first_set_bit),
];

const FUNCTIONS_OF_TWO: &[(&str, Two)] = &[
    ("+", number::add),
    ("-", number::sub),
    ("*", number::mul),
    ("/", number::div),
    ("quotient", number::quotient),
    ("remainder", number::remainder),
    ("modulo", number::modulo),
    ("floor-quotient", |x, y| {
        number::divide_quotient(Division::Floor, x, y)
    }),
    ("gcd", number::gcd),
    ("lcm", number::lcm),
    ("max", number::max),
    ("min", number::min),
    ("expt", number::expt),
    ("atan", number::atan2),
    ("make-rectangular", number::make_rectangular),
    ("make-polar", number::make_polar),
    ("bitwise-and", number::bitwise_and),
    ("bitwise-ior", number::bitwise_or),
    ("bitwise-xor", number::bitwise_xor),
    ("arithmetic-shift", number::arithmetic_shift),
];

const TESTS_OF_ONE: &[(&str, Test)] = &[
    ("real?", |x| Ok(number::is_real(x))),
    ("rational?", |x| Ok(number::is_rational(x))),
    ("integer?", |x| Ok(number::is_integer(x))),
    ("exact?", |x| Ok(number::is_exact(x))),
    ("inexact?", |x| Ok(number::is_inexact(x))),
    ("nan?", |x| Ok(number::is_nan(x))),
    ("finite?", |x| Ok(number::is_finite(x))),
    ("infinite?", |x| Ok(number::is_infinite(x))),
    ("even?", number::is_even),
    ("odd?", number::is_odd),
];

const TESTS_OF_TWO: &[(&str, TestOfTwo)] = &[
    ("=", |x, y| Ok(number::numeric_equal(x, y))),
    ("<", number::less),
    (">", number::greater),
    ("<=", number::less_or_equal),
    (">=", number::greater_or_equal),
    ("eqv?", |x, y| Ok(number::eqv(x, y))),
    ("equal?", |x, y| Ok(number::eqv(x, y))),
    ("bit-set?", number::bit_set),
];

fn leaf(name: &str, arguments: usize) -> LeafFunction {
    let id = canny_tables::leaves::lookup(name, arguments).expect(name);
    leaf_table()[usize::from(id.0)]
}

/// The numbers, where a collection finds them.
fn numbers(thread: &mut Thread) -> [Value; NUMBERS.len()] {
    let mut numbers = [Value::ZERO; NUMBERS.len()];
    for (number, text) in numbers.iter_mut().zip(NUMBERS) {
        *number = read(thread, text);
    }
    numbers
}

/// Whether a number is represented in the one way that there is for it.
fn is_normal(value: Value) -> bool {
    match view(value) {
        Some(View::Bignum(object)) => {
            let last = object.raw_word(object.length() - 1);
            let is_long = match number_of(value) {
                Some(Number::Fixnum(n)) => Value::try_fixnum(n).is_none(),
                other => other.is_some(),
            };
            last != 0 && is_long
        }
        Some(View::Ratio(numerator, denominator)) => {
            is_normal(numerator) && is_normal(denominator) && denominator != Value::fixnum(1)
        }
        Some(View::Complex(real, imaginary)) => {
            is_normal(real) && is_normal(imaginary) && imaginary != Value::ZERO
        }
        other => other.is_some(),
    }
}

/// Counts what was answered, and compares it.
#[derive(Default)]
struct Tally {
    answered: usize,
    declined: usize,
}

impl Tally {
    fn compare(&mut self, what: &str, answer: Value, expected: Result<Number, NumberError>) {
        match (answer == Value::DECLINED, expected) {
            (true, Ok(_)) => self.declined += 1,
            (true, Err(_)) => {}
            (false, Ok(expected)) => {
                self.answered += 1;
                assert_eq!(number_of(answer), Some(expected), "{what}");
                assert!(is_normal(answer), "{what}");
            }
            (false, Err(error)) => panic!("{what} is an error: {error}"),
        }
    }

    fn compare_test(&mut self, what: &str, answer: Value, expected: Result<bool, NumberError>) {
        match (answer == Value::DECLINED, expected) {
            (true, Ok(_)) => self.declined += 1,
            (true, Err(_)) => {}
            (false, Ok(expected)) => {
                self.answered += 1;
                assert_eq!(answer, Value::boolean(expected), "{what}");
            }
            (false, Err(error)) => panic!("{what} is an error: {error}"),
        }
    }
}

#[test]
fn leaf_functions_of_numbers_are_the_towers() {
    let mut thread = machine();
    let thread = &mut *thread;
    let numbers = numbers(thread);
    let zero = Value::ZERO;
    let mut tally = Tally::default();
    for (x, text) in numbers.into_iter().zip(NUMBERS) {
        let long = number_of(x).expect("a number");
        for (name, tower) in FUNCTIONS_OF_ONE {
            let answer = leaf(name, 1)(InPlace::of(thread), x, zero, zero);
            tally.compare(&format!("({name} {text})"), answer, tower(&long));
        }
        for (name, tower) in TESTS_OF_ONE {
            let answer = leaf(name, 1)(InPlace::of(thread), x, zero, zero);
            tally.compare_test(&format!("({name} {text})"), answer, tower(&long));
        }
        for radix in [10, 2, 16, 7] {
            let text =
                leaf("number->string", 2)(InPlace::of(thread), x, Value::fixnum(radix), zero);
            let expected = number::write_number(&long, radix as u32);
            assert_eq!(written(thread, text), format!("{expected:?}"));
            let back = leaf("string->number", 2);
            let back = back(InPlace::of(thread), text, Value::fixnum(radix), zero);
            if back != Value::DECLINED {
                assert_eq!(number_of(back).as_ref(), Some(&long), "{expected}");
                assert!(is_normal(back), "{expected}");
            }
        }
    }
    assert!(
        tally.declined == 0,
        "{} answered, {} declined",
        tally.answered,
        tally.declined
    );
}

#[test]
fn leaf_functions_of_two_numbers_are_the_towers() {
    let mut thread = machine();
    let thread = &mut *thread;
    let numbers = numbers(thread);
    let zero = Value::ZERO;
    let mut tally = Tally::default();
    for (x, first) in numbers.into_iter().zip(NUMBERS) {
        for (y, second) in numbers.into_iter().zip(NUMBERS) {
            let (long_x, long_y) = (number_of(x).expect("a number"), number_of(y).expect("one"));
            for (name, tower) in FUNCTIONS_OF_TWO {
                // The tower works long on those.
                let is_long = matches!(*name, "expt" | "arithmetic-shift")
                    && y.as_fixnum().is_none_or(|y| y.abs() > 200)
                    && y.as_flonum().is_none();
                if is_long {
                    continue;
                }
                let answer = leaf(name, 2)(InPlace::of(thread), x, y, zero);
                let what = format!("({name} {first} {second})");
                if *name == "expt" && answer == Value::DECLINED {
                    continue;
                }
                tally.compare(&what, answer, tower(&long_x, &long_y));
            }
            for (name, tower) in TESTS_OF_TWO {
                let answer = leaf(name, 2)(InPlace::of(thread), x, y, zero);
                let what = format!("({name} {first} {second})");
                tally.compare_test(&what, answer, tower(&long_x, &long_y));
            }
            for (name, division) in [
                ("floor/", Division::Floor),
                ("truncate/", Division::Truncate),
            ] {
                let answer = leaf(name, 2)(InPlace::of(thread), x, y, zero);
                let expected = number::divide(division, &long_x, &long_y);
                let Some(values) = answer.as_kind(Kind::Values) else {
                    tally.declined += usize::from(expected.is_ok());
                    continue;
                };
                let (quotient, remainder) = expected.expect("no error");
                assert_eq!(
                    number_of(values.field(0)),
                    Some(quotient),
                    "{first} {second}"
                );
                assert_eq!(
                    number_of(values.field(1)),
                    Some(remainder),
                    "{first} {second}"
                );
            }
        }
    }
    assert!(
        tally.declined * 100 < tally.answered,
        "{} answered, {} declined",
        tally.answered,
        tally.declined
    );
}

#[test]
fn leaf_functions_of_bits_are_the_primitives() {
    let mut thread = machine();
    let thread = &mut *thread;
    let numbers = numbers(thread);
    let mut answered = 0;
    let further = [0, 1, 3, 59, 60, 61, 62, 63, 64, 65, 100, 127, 128, 200, -1].map(Value::fixnum);
    for x in numbers {
        for y in numbers.into_iter().take(20).chain(further) {
            for z in further {
                for (name, words) in [
                    ("bit-field", [x, y, z]),
                    ("bit-field", [x, z, y]),
                    ("copy-bit", [z, x, Value::boolean(y.is_fixnum())]),
                    ("bitwise-if", [x, y, z]),
                    ("bitwise-if", [z, x, y]),
                ] {
                    let [a, b, c] = words;
                    let answer = leaf(name, 3)(InPlace::of(thread), a, b, c);
                    if answer != Value::DECLINED {
                        answered += 1;
                        let expected = call(thread, name, words);
                        assert_eq!(number_of(answer), number_of(expected), "{name}");
                        assert!(is_normal(answer), "{name}");
                    }
                }
            }
        }
    }
    assert!(answered > 10_000, "{answered}");
}
