//! Leaf functions of characters, and those that compare strings and search them. They read strings in
//! place, whatever the widths, and make none.

use std::cmp::Ordering;

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::InPlace;
use canny_vm::strings::string_length;

use super::strings::range;
use super::{Row, Word, or_decline, strings, truth};
use crate::character_facts::Facts;
use crate::primitives::string_comparison::compare_folded_text;
use crate::primitives::string_search::find;
use crate::text::{Units, compare_text, same_text, with_both, with_units};
use crate::unicode;

pub(super) const FUNCTIONS: &[Row] = &[
    (
        "char=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, |c| c, Ordering::is_eq)),
    ),
    (
        "char<?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, |c| c, Ordering::is_lt)),
    ),
    (
        "char>?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, |c| c, Ordering::is_gt)),
    ),
    (
        "char<=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, |c| c, Ordering::is_le)),
    ),
    (
        "char>=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, |c| c, Ordering::is_ge)),
    ),
    (
        "char-ci=?",
        2,
        leaf!(|_, x, y, _| folded_in_order(x, y, Ordering::is_eq)),
    ),
    (
        "char-ci<?",
        2,
        leaf!(|_, x, y, _| folded_in_order(x, y, Ordering::is_lt)),
    ),
    (
        "char-ci>?",
        2,
        leaf!(|_, x, y, _| folded_in_order(x, y, Ordering::is_gt)),
    ),
    (
        "char-ci<=?",
        2,
        leaf!(|_, x, y, _| folded_in_order(x, y, Ordering::is_le)),
    ),
    (
        "char-ci>=?",
        2,
        leaf!(|_, x, y, _| folded_in_order(x, y, Ordering::is_ge)),
    ),
    (
        "char-foldcase",
        1,
        leaf!(|_, x, _, _| or_decline(
            x.as_character()
                .map(|x| Value::character(Facts::of(x).folded)),
        )),
    ),
    (
        "char-titlecase",
        1,
        leaf!(|_, x, _, _| or_decline(
            x.as_character()
                .map(|x| Value::character(unicode::titlecase(x))),
        )),
    ),
    ("digit-value", 1, digit_value),
    (
        "symbol=?",
        2,
        leaf!(|_, x, y, _| {
            let both = x.is_kind(Kind::Symbol) && y.is_kind(Kind::Symbol);
            truth(both.then_some(x == y))
        }),
    ),
    (
        "symbol=?",
        3,
        leaf!(|_, x, y, z| {
            let all = [x, y, z].iter().all(|x| x.is_kind(Kind::Symbol));
            truth(all.then_some(x == y && y == z))
        }),
    ),
    (
        "boolean=?",
        2,
        leaf!(|_, x, y, _| {
            let both = is_boolean(x) && is_boolean(y);
            truth(both.then_some(x == y))
        }),
    ),
    (
        "boolean=?",
        3,
        leaf!(|_, x, y, z| {
            let all = [x, y, z].into_iter().all(is_boolean);
            truth(all.then_some(x == y && y == z))
        }),
    ),
    (
        "string<=?",
        2,
        leaf!(|_, x, y, _| compared(x, y, Ordering::is_le)),
    ),
    (
        "string>=?",
        2,
        leaf!(|_, x, y, _| compared(x, y, Ordering::is_ge)),
    ),
    ("string=?", 3, string_equal_three),
    (
        "string<?",
        3,
        leaf!(|_, x, y, z| all_compared(x, y, z, Ordering::is_lt)),
    ),
    (
        "string>?",
        3,
        leaf!(|_, x, y, z| all_compared(x, y, z, Ordering::is_gt)),
    ),
    (
        "string<=?",
        3,
        leaf!(|_, x, y, z| all_compared(x, y, z, Ordering::is_le)),
    ),
    (
        "string>=?",
        3,
        leaf!(|_, x, y, z| all_compared(x, y, z, Ordering::is_ge)),
    ),
    (
        "char-ci=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, folded_character, Ordering::is_eq)),
    ),
    (
        "char-ci<?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, folded_character, Ordering::is_lt)),
    ),
    (
        "char-ci>?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, folded_character, Ordering::is_gt)),
    ),
    (
        "char-ci<=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, folded_character, Ordering::is_le)),
    ),
    (
        "char-ci>=?",
        3,
        leaf!(|_, x, y, z| in_order(x, y, z, folded_character, Ordering::is_ge)),
    ),
    (
        "string-ci=?",
        2,
        leaf!(|_, x, y, _| folded(x, y, Ordering::is_eq)),
    ),
    (
        "string-ci<?",
        2,
        leaf!(|_, x, y, _| folded(x, y, Ordering::is_lt)),
    ),
    (
        "string-ci>?",
        2,
        leaf!(|_, x, y, _| folded(x, y, Ordering::is_gt)),
    ),
    (
        "string-ci<=?",
        2,
        leaf!(|_, x, y, _| folded(x, y, Ordering::is_le)),
    ),
    (
        "string-ci>=?",
        2,
        leaf!(|_, x, y, _| folded(x, y, Ordering::is_ge)),
    ),
    (
        "string-null?",
        1,
        leaf!(|_, x, _, _| truth(x.as_kind(Kind::String).map(|x| string_length(x) == 0))),
    ),
    (
        "string-prefix?",
        2,
        leaf!(|_, x, y, _| truth(strings(x, y, |x, y| {
            with_both(x, y, |x, y| {
                x.length() <= y.length() && same_text(x, y.slice(0..x.length()))
            })
        }))),
    ),
    (
        "string-suffix?",
        2,
        leaf!(|_, x, y, _| truth(strings(x, y, |x, y| {
            with_both(x, y, |x, y| {
                let rest = y.length().checked_sub(x.length());
                rest.is_some_and(|rest| same_text(x, y.slice(rest..y.length())))
            })
        }))),
    ),
    (
        "%string-index",
        2,
        leaf!(|_, string, wanted, _| {
            position(string, wanted, |units, wanted| {
                units.iter().position(|unit| unit == wanted)
            })
        }),
    ),
    (
        "%string-rindex",
        2,
        leaf!(|_, string, wanted, _| {
            position(string, wanted, |units, wanted| {
                units.iter().rposition(|unit| unit == wanted)
            })
        }),
    ),
    (
        "string-search-forward",
        3,
        leaf!(|_, pattern, text, start| found(text, pattern, Some(start), None)),
    ),
    (
        "string-contains",
        2,
        leaf!(|_, text, pattern, _| found(text, pattern, None, None)),
    ),
    (
        "string-contains",
        3,
        leaf!(|_, text, pattern, start| found(text, pattern, Some(start), None)),
    ),
    (
        "string-contains",
        4,
        leaf!(|thread, text, pattern, start| {
            let [end] = thread.further();
            found(text, pattern, Some(start), Some(end))
        }),
    ),
];

/// Where a pattern first occurs in a range of a text.
fn found(text: Value, pattern: Value, start: Option<Value>, end: Option<Value>) -> Value {
    let index = strings(text, pattern, |text, pattern| {
        let range = range(string_length(text), start, end)?;
        let first = range.start;
        let found = with_both(text, pattern, |text, pattern| {
            find(text.slice(range), pattern)
        });
        Some(found.map_or(Value::FALSE, |index| Value::fixnum((first + index) as i64)))
    });
    or_decline(index.flatten())
}

fn is_boolean(x: Value) -> bool {
    x == Value::TRUE || x == Value::FALSE
}

fn in_order(
    x: Value,
    y: Value,
    z: Value,
    map: fn(char) -> char,
    holds: fn(Ordering) -> bool,
) -> Value {
    let character = |value: Value| value.as_character().map(map);
    let (Some(x), Some(y), Some(z)) = (character(x), character(y), character(z)) else {
        return Value::DECLINED;
    };
    Value::boolean(holds(x.cmp(&y)) && holds(y.cmp(&z)))
}

fn folded_in_order(x: Value, y: Value, holds: fn(Ordering) -> bool) -> Value {
    let both = x.as_character().zip(y.as_character());
    truth(both.map(|(x, y)| holds(Facts::of(x).folded.cmp(&Facts::of(y).folded))))
}

extern "C" fn digit_value(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    or_decline(x.as_character().map(|x| {
        let digit = Facts::of(x).digit();
        digit.map_or(Value::FALSE, |digit| Value::fixnum(i64::from(digit)))
    }))
}

fn folded_character(x: char) -> char {
    Facts::of(x).folded
}

/// All operands must be strings, whatever the first two are.
fn all_compared(x: Value, y: Value, z: Value, holds: fn(Ordering) -> bool) -> Value {
    let both = |x, y| strings(x, y, |x, y| holds(with_both(x, y, compare_text)));
    truth(
        both(x, y)
            .zip(both(y, z))
            .map(|(first, second)| first && second),
    )
}

fn compared(x: Value, y: Value, holds: fn(Ordering) -> bool) -> Value {
    truth(strings(x, y, |x, y| holds(with_both(x, y, compare_text))))
}

fn folded(x: Value, y: Value, holds: fn(Ordering) -> bool) -> Value {
    truth(strings(x, y, |x, y| {
        holds(with_both(x, y, compare_folded_text))
    }))
}

extern "C" fn string_equal_three(_: &mut InPlace, x: Word, y: Word, z: Word) -> Word {
    let same = |x, y| strings(x, y, |x, y| x == y || with_both(x, y, same_text));
    truth(
        same(x, y)
            .zip(same(y, z))
            .map(|(first, second)| first && second),
    )
}

fn position(
    string: Value,
    wanted: Value,
    find: impl FnOnce(Units<'_>, u32) -> Option<usize>,
) -> Value {
    let (Some(string), Some(wanted)) = (string.as_kind(Kind::String), wanted.as_character()) else {
        return Value::DECLINED;
    };
    match with_units(string, |units| find(units, u32::from(wanted))) {
        Some(index) => Value::fixnum(index as i64),
        None => Value::FALSE,
    }
}
