//! Leaf functions of characters and strings of any width. Texts are copied to a buffer first, since
//! another thread may change a string at any time; longer ones are declined.

use std::cmp::Ordering;

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::InPlace;
use canny_vm::strings::string_length;

use super::{Row, Word, or_decline, strings, truth};
use crate::character_facts::Facts;
use crate::primitives::string_comparison::Folded;
use crate::text::{Units, compare_text, same_text, with_both, with_units};
use crate::unicode;

/// Characters of a text that is made.
const LENGTH_MAX: usize = 128;

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
        "make-string",
        1,
        leaf!(|thread, length, _, _| filled(thread, length, ' ')),
    ),
    (
        "make-string",
        2,
        leaf!(|thread, length, fill, _| match fill.as_character() {
            Some(fill) => filled(thread, length, fill),
            None => Value::DECLINED,
        }),
    ),
    (
        "string",
        1,
        leaf!(|thread, x, _, _| of_characters(thread, [x])),
    ),
    (
        "string",
        2,
        leaf!(|thread, x, y, _| of_characters(thread, [x, y])),
    ),
    (
        "string",
        3,
        leaf!(|thread, x, y, z| of_characters(thread, [x, y, z])),
    ),
    (
        "substring",
        2,
        leaf!(|thread, string, start, _| part(thread, string, start, None)),
    ),
    (
        "string-copy",
        2,
        leaf!(|thread, string, start, _| part(thread, string, start, None)),
    ),
    (
        "string-copy",
        3,
        leaf!(|thread, string, start, end| part(thread, string, start, Some(end))),
    ),
    (
        "string-append",
        1,
        leaf!(|thread, string, _, _| part(thread, string, Value::ZERO, None)),
    ),
    ("string-reverse", 1, string_reverse),
    ("string-foldcase", 1, string_foldcase),
    (
        "string-pad-left",
        2,
        leaf!(|thread, string, width, _| padded(thread, string, width, true)),
    ),
    (
        "string-pad-right",
        2,
        leaf!(|thread, string, width, _| padded(thread, string, width, false)),
    ),
    ("string->list", 1, string_to_list),
    ("string->vector", 1, string_to_vector),
    ("list->string", 1, list_to_string),
    ("%reverse-list->string", 1, reverse_list_to_string),
    ("vector->string", 1, vector_to_string),
    ("string->utf8", 1, string_to_utf8),
    ("utf8->string", 1, utf8_to_string),
];

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

fn compared(x: Value, y: Value, holds: fn(Ordering) -> bool) -> Value {
    truth(strings(x, y, |x, y| holds(with_both(x, y, compare_text))))
}

fn folded(x: Value, y: Value, holds: fn(Ordering) -> bool) -> Value {
    truth(strings(x, y, |x, y| {
        holds(with_both(x, y, |x, y| Folded::of(x).cmp(Folded::of(y))))
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

/// Characters on their way to a string.
struct Copy {
    units: [u32; LENGTH_MAX],
    length: usize,
    /// All bits of all units.
    bits: u32,
}

impl Copy {
    #[inline(always)]
    fn new() -> Copy {
        Copy {
            units: [0; LENGTH_MAX],
            length: 0,
            bits: 0,
        }
    }

    /// Appends a unit. None if there is no room.
    #[inline(always)]
    fn push(&mut self, unit: u32) -> Option<()> {
        *self.units.get_mut(self.length)? = unit;
        self.length += 1;
        self.bits |= unit;
        Some(())
    }

    fn of(units: impl ExactSizeIterator<Item = u32>) -> Option<Copy> {
        if units.len() > LENGTH_MAX {
            return None;
        }
        let mut copy = Copy::new();
        for unit in units {
            copy.push(unit)?;
        }
        Some(copy)
    }

    /// A fresh string of the characters.
    fn string(&self, thread: &mut InPlace) -> Option<Value> {
        let units = &self.units[..self.length];
        let narrow = |to: &mut [u8]| {
            for (to, unit) in to.iter_mut().zip(units) {
                *to = *unit as u8;
            }
        };
        match self.bits {
            0..0x80 => {
                let mut bytes = [0; LENGTH_MAX];
                narrow(&mut bytes);
                thread.ascii_string_of(&bytes[..self.length])
            }
            0x80..0x100 => thread.latin1_string(self.length, narrow),
            _ => thread.wide_string(self.length, |to| to.copy_from_slice(units)),
        }
    }
}

fn made(thread: &mut InPlace, copy: Option<Copy>) -> Value {
    or_decline(copy.and_then(|copy| copy.string(thread)))
}

fn filled(thread: &mut InPlace, length: Value, fill: char) -> Value {
    let Some(length) = length.as_index().filter(|length| *length <= LENGTH_MAX) else {
        return Value::DECLINED;
    };
    let unit = u32::from(fill);
    or_decline(match unit {
        0..0x80 => thread.ascii_string_of(&[unit as u8; LENGTH_MAX][..length]),
        0x80..0x100 => thread.latin1_string(length, |to| to.fill(unit as u8)),
        _ => thread.wide_string(length, |to| to.fill(unit)),
    })
}

/// The string of a few characters.
fn of_characters<const COUNT: usize>(thread: &mut InPlace, characters: [Value; COUNT]) -> Value {
    let (mut units, mut bits) = ([0; COUNT], 0);
    for (unit, character) in units.iter_mut().zip(characters) {
        let Some(character) = character.as_character() else {
            return Value::DECLINED;
        };
        *unit = u32::from(character);
        bits |= *unit;
    }
    let bytes = units.map(|unit| unit as u8);
    or_decline(match bits {
        0..0x80 => thread.ascii_string_of(&bytes),
        0x80..0x100 => thread.latin1_string(COUNT, |to| to.copy_from_slice(&bytes)),
        _ => thread.wide_string(COUNT, |to| to.copy_from_slice(&units)),
    })
}

fn part(thread: &mut InPlace, string: Value, start: Value, end: Option<Value>) -> Value {
    let part = string.as_kind(Kind::String).and_then(|string| {
        let start = start.as_index()?;
        let end = end.map_or(Some(string_length(string)), Value::as_index)?;
        if start > end || end > string_length(string) {
            return None;
        }
        with_units(string, |units| copied(thread, &[units.slice(start..end)]))
    });
    or_decline(part)
}

/// The fewest bytes that the characters of a text need, in classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Ascii,
    Latin1,
    Wide,
}

fn width(units: Units<'_>) -> Width {
    match units {
        Units::Narrow(bytes) if bytes.is_ascii() => Width::Ascii,
        Units::Narrow(_) => Width::Latin1,
        Units::Wide(units) => match units.iter().fold(0, |bits, unit| bits | unit) {
            0..0x80 => Width::Ascii,
            0x80..0x100 => Width::Latin1,
            _ => Width::Wide,
        },
    }
}

/// A fresh string of pieces. None for a long one, and if another thread could change a piece meanwhile.
fn copied(thread: &mut InPlace, pieces: &[Units<'_>]) -> Option<Value> {
    if thread.has_others() {
        return None;
    }
    let length = pieces.iter().map(|piece| piece.length()).sum();
    let widest = pieces.iter().map(|piece| width(*piece)).max()?;
    match widest {
        Width::Wide => thread.wide_string(length, |to| fill(to, pieces, |unit| unit)),
        Width::Latin1 => thread.latin1_string(length, |to| fill(to, pieces, |unit| unit as u8)),
        Width::Ascii if let [Units::Narrow(bytes)] = pieces => thread.ascii_string_of(bytes),
        Width::Ascii if length <= LENGTH_MAX => {
            let mut bytes = [0; LENGTH_MAX];
            fill(&mut bytes, pieces, |unit| unit as u8);
            thread.ascii_string_of(&bytes[..length])
        }
        Width::Ascii => None,
    }
}

fn fill<Unit>(to: &mut [Unit], pieces: &[Units<'_>], narrow: impl Fn(u32) -> Unit) {
    let units = pieces.iter().flat_map(|piece| piece.iter());
    for (to, unit) in to.iter_mut().zip(units) {
        *to = narrow(unit);
    }
}

/// The characters of a range, which ends with the string if no end is given.
pub(super) fn copy_of_range(
    thread: &mut InPlace,
    string: Value,
    start: Value,
    end: Value,
) -> Value {
    part(thread, string, start, Some(end))
}

/// The characters of strings one after the other.
pub(super) fn joined(thread: &mut InPlace, strings: &[Value]) -> Value {
    let objects = strings.iter().map(|string| string.as_kind(Kind::String));
    let mut all = [None; 3];
    for (place, object) in all.iter_mut().zip(objects) {
        if object.is_none() {
            return Value::DECLINED;
        }
        *place = object;
    }
    or_decline(match all {
        [Some(x), None, None] => with_units(x, |x| copied(thread, &[x])),
        [Some(x), Some(y), None] => with_both(x, y, |x, y| copied(thread, &[x, y])),
        [Some(x), Some(y), Some(z)] => {
            with_both(x, y, |x, y| with_units(z, |z| copied(thread, &[x, y, z])))
        }
        _ => None,
    })
}

fn copy_of_all(string: Value, copy: impl FnOnce(Units<'_>) -> Option<Copy>) -> Option<Copy> {
    with_units(string.as_kind(Kind::String)?, copy)
}

extern "C" fn string_reverse(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let copy = copy_of_all(string, |units| Copy::of(units.iter().rev()));
    made(thread, copy)
}

extern "C" fn string_foldcase(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let copy = copy_of_all(string, |units| {
        let mut copy = Copy::new();
        Folded::of(units).try_for_each(|folded| copy.push(u32::from(folded)))?;
        Some(copy)
    });
    made(thread, copy)
}

/// The string in a field of spaces, cut on the other side if it is too long.
fn padded(thread: &mut InPlace, string: Value, width: Value, is_right: bool) -> Value {
    let width = width.as_index().filter(|width| *width <= LENGTH_MAX);
    let copy = width.and_then(|width| {
        copy_of_all(string, |units| {
            let length = units.length();
            let kept = length.min(width);
            let spaces = (kept..width).map(|_| u32::from(' '));
            let mut copy = Copy::new();
            if is_right {
                let text = units.slice(length - kept..length).iter();
                spaces.chain(text).try_for_each(|unit| copy.push(unit))?;
            } else {
                let text = units.slice(0..kept).iter();
                text.chain(spaces).try_for_each(|unit| copy.push(unit))?;
            }
            Some(copy)
        })
    });
    made(thread, copy)
}

/// Elements of a list or a vector that is made of a string.
const ELEMENTS_MAX: usize = 1 << 10;

fn characters(
    units: Units<'_>,
) -> Option<impl DoubleEndedIterator<Item = Value> + ExactSizeIterator> {
    let is_short = units.length() <= ELEMENTS_MAX;
    is_short.then(|| units.characters().map(Value::character))
}

extern "C" fn string_to_list(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let string = string.as_kind(Kind::String);
    or_decline(
        string.and_then(|string| with_units(string, |units| Some(thread.list(characters(units)?)))),
    )
}

extern "C" fn string_to_vector(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let string = string.as_kind(Kind::String);
    or_decline(
        string.and_then(|string| with_units(string, |units| thread.vector_of(characters(units)?))),
    )
}

/// The characters of a list, which is a short one of nothing else.
fn copy_of_list(list: Value) -> Option<Copy> {
    let (mut copy, mut rest) = (Copy::new(), list);
    while let Some(pair) = rest.as_pair() {
        copy.push(u32::from(pair.car().as_character()?))?;
        rest = pair.cdr();
    }
    rest.is_nil().then_some(copy)
}

extern "C" fn list_to_string(thread: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    made(thread, copy_of_list(list))
}

extern "C" fn reverse_list_to_string(thread: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    let copy = copy_of_list(list).map(|mut copy| {
        copy.units[..copy.length].reverse();
        copy
    });
    made(thread, copy)
}

extern "C" fn vector_to_string(thread: &mut InPlace, vector: Word, _: Word, _: Word) -> Word {
    let copy = vector.as_kind(Kind::Vector).and_then(|vector| {
        let mut copy = Copy::new();
        for index in 0..vector.length() {
            copy.push(u32::from(vector.field(index).as_character()?))?;
        }
        Some(copy)
    });
    made(thread, copy)
}

extern "C" fn string_to_utf8(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    if thread.has_others() {
        return Value::DECLINED;
    }
    or_decline(super::with_ascii(string, |bytes| thread.bytes(&[bytes])))
}

extern "C" fn utf8_to_string(thread: &mut InPlace, bytes: Word, _: Word, _: Word) -> Word {
    let bytes = bytes.as_kind(Kind::Bytevector);
    or_decline(bytes.and_then(|bytes| {
        bytes.with_bytes(|bytes| {
            if bytes.is_ascii() {
                thread.ascii_string(&[bytes])
            } else {
                None
            }
        })
    }))
}
