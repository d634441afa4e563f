//! Tests of the numeric rows beyond the numeric tower: unpacking, short cuts, conditions.

use canny_number::Number;
use canny_tables::primitives::lookup;
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::numbers::number_of;

use crate::testing::{call, failure, machine, read, written};

/// The written result of a call, with arguments as text.
fn result<const COUNT: usize>(thread: &mut Thread, name: &str, arguments: [&str; COUNT]) -> String {
    let arguments = arguments.map(|text| read(thread, text));
    let value = call(thread, name, arguments);
    written(thread, value)
}

#[track_caller]
fn check<const COUNT: usize>(name: &str, arguments: [&str; COUNT], expected: &str) {
    let mut thread = machine();
    assert_eq!(
        result(&mut thread, name, arguments),
        expected,
        "({name} {arguments:?})"
    );
}

#[test]
fn operations_of_any_number_of_arguments() {
    check("+", [], "0");
    check("+", ["7"], "7");
    check("+", ["1", "2", "3.5"], "6.5");
    check("+", ["2305843009213693951", "1"], "2305843009213693952");
    check(
        "+",
        ["9223372036854775807", "9223372036854775807", "-1"],
        "18446744073709551613",
    );
    check("*", ["4611686018427387904", "4"], "18446744073709551616");
    check("*", ["1/2", "2/3", "3/4"], "1/4");
    check("-", ["5"], "-5");
    check("-", ["-2305843009213693952"], "2305843009213693952");
    check("-", ["10", "1", "2"], "7");
    check("/", ["2"], "1/2");
    check("/", ["6", "4"], "3/2");
    check("/", ["1.0", "0.0"], "+inf.0");
    check("max", ["1", "2.0", "3/2"], "2.0");
    check("gcd", ["12", "18", "8"], "2");
    check("lcm", [], "1");
    check("bitwise-xor", ["5", "3", "1"], "7");
    check("bitwise-and", [], "-1");
    check(
        "bitwise-ior",
        ["18446744073709551616", "1"],
        "18446744073709551617",
    );
}

#[test]
fn comparisons_check_every_argument() {
    check("<", ["1", "2", "3"], "#t");
    check("<", ["1", "3", "2"], "#f");
    check("<", ["1", "1.5", "7/4", "100000000000000000000"], "#t");
    check("=", ["1", "1.0", "2/2"], "#t");
    check("<=", ["+nan.0", "+nan.0"], "#f");
    let mut thread = machine();
    let symbol = thread.symbol("a");
    let arguments = [Value::fixnum(2), Value::fixnum(1), symbol];
    let message = failure(&mut thread, "<", arguments);
    assert_eq!(message, "type <: argument 3 is not a real number");
    let complex = read(&mut thread, "1+i");
    let message = failure(&mut thread, "<", [Value::fixnum(2), complex]);
    assert_eq!(message, "type <: argument 2 is not a real number");
    assert_eq!(
        failure(&mut thread, "=", [symbol]),
        "type =: argument 1 is not a number"
    );
}

#[test]
fn divisions() {
    check("floor/", ["-7", "2"], "#<values -4 1>");
    check("truncate/", ["-7", "2"], "#<values -3 -1>");
    check("modulo", ["-7", "2"], "1");
    check(
        "quotient",
        ["-2305843009213693952", "-1"],
        "2305843009213693952",
    );
    check("floor-quotient", ["-7.0", "2"], "-4.0");
    check("exact-integer-sqrt", ["17"], "#<values 4 1>");
    let mut thread = machine();
    let (one, zero) = (Value::fixnum(1), Value::fixnum(0));
    for name in ["quotient", "modulo", "floor/", "/", "truncate-remainder"] {
        let message = failure(&mut thread, name, [one, zero]);
        assert_eq!(message, format!("arithmetic {name}: division by zero"));
    }
    let half = read(&mut thread, "1/2");
    let message = failure(&mut thread, "modulo", [one, half]);
    assert_eq!(message, "type modulo: argument 2 is not an integer");
}

#[test]
fn predicates_take_anything_or_numbers_only() {
    check("integer?", ["2.0"], "#t");
    check("rational?", ["+inf.0"], "#f");
    check("real?", ["1+i"], "#f");
    check(
        "exact-nonnegative-integer?",
        ["100000000000000000000"],
        "#t",
    );
    check(
        "exact-nonnegative-integer?",
        ["-100000000000000000000"],
        "#f",
    );
    check("number?", ["a"], "#f");
    check("nan?", ["+nan.0"], "#t");
    check("odd?", ["-3"], "#t");
    check("even?", ["4.0"], "#t");
    check("zero?", ["-0.0"], "#t");
    let mut thread = machine();
    let half = read(&mut thread, "0.5");
    assert_eq!(
        failure(&mut thread, "odd?", [half]),
        "type odd?: argument 1 is not an integer"
    );
    assert_eq!(
        failure(&mut thread, "exact?", [Value::TRUE]),
        "type exact?: argument 1 is not a number"
    );
}

#[test]
fn numbers_and_text() {
    check("number->string", ["255", "16"], "\"ff\"");
    check("number->string", ["1e21"], "\"1.0e+21\"");
    check("string->number", ["\"#xff\""], "255");
    check("string->number", ["\"ff\"", "16"], "255");
    check("string->number", ["\"1/0\""], "#f");
    check("string->number", ["\"abc\""], "#f");
    check("string->number", ["\"\""], "#f");
    let mut thread = machine();
    let message = failure(
        &mut thread,
        "number->string",
        [Value::fixnum(1), Value::fixnum(1)],
    );
    assert_eq!(
        message,
        "range number->string: argument 2 is out of range: a radix is from 2 to 36"
    );
}

#[test]
fn refusals_name_the_argument() {
    let mut thread = machine();
    let infinite = read(&mut thread, "+inf.0");
    let message = failure(&mut thread, "exact", [infinite]);
    assert_eq!(
        message,
        "range exact: argument 1 is out of range: it has no exact value"
    );
    let message = failure(
        &mut thread,
        "arithmetic-shift",
        [Value::fixnum(1), infinite],
    );
    assert_eq!(
        message,
        "type arithmetic-shift: argument 2 is not an exact integer"
    );
    let message = failure(
        &mut thread,
        "arithmetic-shift",
        [Value::fixnum(1), Value::fixnum(1 << 60)],
    );
    assert!(message.starts_with("arithmetic arithmetic-shift: the exact result is too large"));
    let message = failure(&mut thread, "log", [Value::fixnum(0)]);
    assert!(message.starts_with("arithmetic log: "), "{message}");
}

/// Every row of numbers, called with objects of all kinds in all places, answers or raises.
#[test]
fn no_argument_breaks_a_row() {
    let mut thread = machine();
    let texts = [
        "0",
        "-1",
        "7",
        "2305843009213693951",
        "100000000000000000000",
        "-1/3",
        "0.0",
        "-2.5",
        "+nan.0",
        "+inf.0",
        "1+2i",
        "1.5-0.5i",
        "#t",
        "a",
        "\"12\"",
        "()",
        "#\\a",
        "#(1)",
    ];
    let rows = super::arithmetic::IMPLEMENTATIONS
        .iter()
        .chain(super::bitwise::IMPLEMENTATIONS)
        .chain(super::comparison::IMPLEMENTATIONS)
        .chain(super::conversion::IMPLEMENTATIONS)
        .chain(super::functions::IMPLEMENTATIONS)
        .chain(super::predicates::IMPLEMENTATIONS)
        .chain(super::random::IMPLEMENTATIONS);
    let mut answers = 0;
    for (name, _) in rows {
        let id = lookup(name).expect("a row");
        for first in texts {
            let x = read(&mut thread, first);
            if id.row().accepts(1) {
                answers += outcome(&mut thread, |thread| thread.apply_primitive(id, [x]));
            }
            for second in texts {
                let (x, y) = (read(&mut thread, first), read(&mut thread, second));
                if id.row().accepts(2) {
                    answers += outcome(&mut thread, |thread| thread.apply_primitive(id, [x, y]));
                }
                if id.row().accepts(3) {
                    answers += outcome(&mut thread, |thread| thread.apply_primitive(id, [x, y, x]));
                }
            }
        }
    }
    assert!(answers > 1000);
}

fn outcome(
    thread: &mut Thread,
    work: impl FnOnce(&mut Thread) -> Result<Value, canny_vm::Raise>,
) -> usize {
    match work(thread) {
        Ok(_) => 1,
        Err(raise) => {
            thread.take_raised(raise);
            0
        }
    }
}

#[test]
fn random_numbers_of_any_size() {
    let mut thread = machine();
    call(&mut thread, "random-seed!", [Value::fixnum(42)]);
    let bound = read(&mut thread, "1000000000000000000000000000000");
    let first = call(&mut thread, "random-integer", [bound]);
    call(&mut thread, "random-seed!", [Value::fixnum(42)]);
    let second = call(&mut thread, "random-integer", [bound]);
    assert_eq!(number_of(first), number_of(second));
    let one = call(&mut thread, "random-integer", [Value::fixnum(1)]);
    assert_eq!(number_of(one), Some(Number::ZERO));
    let message = failure(&mut thread, "random-integer", [Value::fixnum(0)]);
    assert!(message.starts_with("range random-integer"), "{message}");
}
