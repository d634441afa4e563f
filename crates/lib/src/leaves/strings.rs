//! Leaf functions that make strings, of strings, characters, lists, vectors and bytes, and those that take
//! strings apart. They decline what is long, and what another thread could change between the look that
//! finds the width and the copy.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::InPlace;
use canny_vm::strings::{string_data, string_length};

use super::{Row, Word, or_decline, with_ascii};
use crate::character_facts::{Case, Facts};
use crate::primitives::ports::heap_text;
use crate::primitives::string_comparison::Folded;
use crate::text::{Units, character, with_units};

/// Rows of a procedure that makes something of the whole of an object, of its part from a start, and of
/// one up to an end.
macro_rules! of_parts {
    ($name:literal, $make:ident) => {
        [
            (
                $name,
                1,
                leaf!(|thread, object, _, _| $make(thread, object, None, None)),
            ),
            (
                $name,
                2,
                leaf!(|thread, object, start, _| $make(thread, object, Some(start), None)),
            ),
            (
                $name,
                3,
                leaf!(|thread, object, start, end| $make(thread, object, Some(start), Some(end))),
            ),
        ]
    };
}

pub(super) const COPIES: [Row; 3] = of_parts!("string-copy", part);
pub(super) const LISTS: [Row; 3] = of_parts!("string->list", to_list);
pub(super) const VECTORS: [Row; 3] = of_parts!("string->vector", to_vector);
pub(super) const OF_VECTORS: [Row; 3] = of_parts!("vector->string", of_vector);
pub(super) const ENCODED: [Row; 3] = of_parts!("string->utf8", encoded);
pub(super) const DECODED: [Row; 3] = of_parts!("utf8->string", decoded);

/// A row of `string` or `string-append` for four arguments and more: those behind the three in registers
/// have names of their own.
macro_rules! of_many {
    ($name:literal, $make:ident, $count:literal, $($further:ident)*) => {
        (
            $name,
            $count,
            leaf!(|thread, x, y, z| {
                let [$($further),*] = thread.further();
                $make(thread, [x, y, z, $($further),*])
            }),
        )
    };
}

pub(super) const FUNCTIONS: &[Row] = &[
    (
        "substring",
        3,
        leaf!(|thread, string, start, end| part(thread, string, Some(start), Some(end))),
    ),
    (
        "string-append",
        2,
        leaf!(|thread, x, y, _| {
            let ascii = with_ascii(x, |x| with_ascii(y, |y| thread.ascii_string(&[x, y])));
            or_decline(ascii.or_else(|| joined(thread, [x, y])))
        }),
    ),
    (
        "string-append",
        3,
        leaf!(|thread, x, y, z| {
            let ascii = with_ascii(x, |x| {
                with_ascii(y, |y| with_ascii(z, |z| thread.ascii_string(&[x, y, z])))
            });
            or_decline(ascii.or_else(|| joined(thread, [x, y, z])))
        }),
    ),
    (
        "string-downcase",
        1,
        leaf!(|thread, string, _, _| mapped(thread, string, Case::Lower)),
    ),
    (
        "string-upcase",
        1,
        leaf!(|thread, string, _, _| mapped(thread, string, Case::Upper)),
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
        leaf!(|thread, string, start, _| part(thread, string, Some(start), None)),
    ),
    (
        "string-append",
        1,
        leaf!(|thread, string, _, _| part(thread, string, None, None)),
    ),
    (
        "string-reverse",
        1,
        leaf!(|thread, string, _, _| reversed(thread, string)),
    ),
    (
        "string-foldcase",
        1,
        leaf!(|thread, string, _, _| mapped(thread, string, Case::Folded)),
    ),
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
    (
        "list->string",
        1,
        leaf!(|thread, list, _, _| or_decline(of_list(thread, list, false))),
    ),
    (
        "%reverse-list->string",
        1,
        leaf!(|thread, list, _, _| or_decline(of_list(thread, list, true))),
    ),
    of_many!("string", of_characters, 4, a),
    of_many!("string", of_characters, 5, a b),
    of_many!("string", of_characters, 6, a b c),
    of_many!("string", of_characters, 7, a b c d),
    of_many!("string", of_characters, 8, a b c d e),
    of_many!("string-append", joined_or_not, 4, a),
    of_many!("string-append", joined_or_not, 5, a b),
    of_many!("string-append", joined_or_not, 6, a b c),
    (
        "string-concatenate",
        1,
        leaf!(|thread, list, _, _| or_decline(joined_list(thread, list, None))),
    ),
    (
        "string-join",
        2,
        leaf!(|thread, list, delimiter, _| {
            or_decline(joined_list(thread, list, Some(delimiter)))
        }),
    ),
];

/// A range of so many elements; the arguments are missing at the end.
#[inline(always)]
pub(super) fn range(
    length: usize,
    start: Option<Value>,
    end: Option<Value>,
) -> Option<Range<usize>> {
    let start = start.map_or(Some(0), Value::as_index)?;
    let end = end.map_or(Some(length), Value::as_index)?;
    (start <= end && end <= length).then_some(start..end)
}

/// All bits of all units.
#[inline(always)]
pub(super) fn bits_of(units: Units<'_>) -> u32 {
    match units {
        Units::Narrow(bytes) if bytes.is_ascii() => 0x7f,
        Units::Narrow(_) => 0xff,
        Units::Wide(units) => units.iter().fold(0, |bits, unit| bits | unit),
    }
}

/// A fresh string of units that have these bits together.
#[inline(always)]
fn of_units(
    thread: &mut InPlace,
    length: usize,
    bits: u32,
    units: impl Iterator<Item = u32>,
) -> Option<Value> {
    match bits {
        0..0x80 => thread.ascii_string_with(length, |to| put(to, units, |unit| unit as u8)),
        0x80..0x100 => thread.latin1_string(length, |to| put(to, units, |unit| unit as u8)),
        _ => thread.wide_string(length, |to| put(to, units, |unit| unit)),
    }
}

#[inline(always)]
fn put<Unit>(to: &mut [Unit], units: impl Iterator<Item = u32>, narrow: impl Fn(u32) -> Unit) {
    for (to, unit) in to.iter_mut().zip(units) {
        *to = narrow(unit);
    }
}

/// A fresh string of the characters of a range.
#[inline(always)]
fn part(thread: &mut InPlace, string: Value, start: Option<Value>, end: Option<Value>) -> Value {
    let Some(string) = string.as_kind(Kind::String) else {
        return Value::DECLINED;
    };
    let Some(range) = range(string_length(string), start, end) else {
        return Value::DECLINED;
    };
    let is_ascii = string_data(string).is_ascii();
    or_decline(with_units(string, |units| match units.slice(range) {
        Units::Narrow(bytes) if is_ascii || bytes.is_ascii() => thread.ascii_string(&[bytes]),
        Units::Narrow(bytes) => thread.latin1_string(bytes.len(), |to| to.copy_from_slice(bytes)),
        Units::Wide(units) => wide_part(thread, units),
    }))
}

#[inline(never)]
fn wide_part(thread: &mut InPlace, units: &[u32]) -> Option<Value> {
    let bits = bits_of(Units::Wide(units));
    if bits > 0xff {
        return thread.wide_string_of(units);
    }
    if thread.has_others() {
        return None;
    }
    of_units(thread, units.len(), bits, units.iter().copied())
}

/// The characters of strings one after the other.
fn joined<const COUNT: usize>(thread: &mut InPlace, strings: [Value; COUNT]) -> Option<Value> {
    joined_all(thread, &strings)
}

fn joined_or_not<const COUNT: usize>(thread: &mut InPlace, strings: [Value; COUNT]) -> Value {
    or_decline(joined_all(thread, &strings))
}

fn joined_all(thread: &mut InPlace, strings: &[Value]) -> Option<Value> {
    let (mut length, mut bits) = (0, 0);
    for string in strings {
        let string = string.as_kind(Kind::String)?;
        length += string_length(string);
        bits |= if string_data(string).is_ascii() {
            0x7f
        } else {
            with_units(string, bits_of)
        };
    }
    if thread.has_others() {
        return None;
    }
    let objects = strings
        .iter()
        .filter_map(|string| string.as_kind(Kind::String));
    match bits {
        0..0x80 => thread.ascii_string_with(length, |to| put_all(to, objects, put_narrow)),
        0x80..0x100 => thread.latin1_string(length, |to| put_all(to, objects, put_narrow)),
        _ => thread.wide_string(length, |to| put_all(to, objects, put_wide)),
    }
}

fn put_all<Unit>(
    mut to: &mut [Unit],
    strings: impl Iterator<Item = ObjectRef>,
    put: fn(&mut [Unit], Units<'_>),
) {
    for string in strings {
        let length = string_length(string).min(to.len());
        let (first, rest) = to.split_at_mut(length);
        with_units(string, |units| put(first, units));
        to = rest;
    }
}

fn put_narrow(to: &mut [u8], units: Units<'_>) {
    match units {
        Units::Narrow(bytes) => to.copy_from_slice(bytes),
        Units::Wide(units) => put(to, units.iter().copied(), |unit| unit as u8),
    }
}

fn put_wide(to: &mut [u32], units: Units<'_>) {
    match units {
        Units::Narrow(bytes) => put(to, bytes.iter().map(|byte| u32::from(*byte)), |unit| unit),
        Units::Wide(units) => to.copy_from_slice(units),
    }
}

/// The strings of a list joined, with a delimiter in between if there is one.
fn joined_list(thread: &mut InPlace, list: Value, delimiter: Option<Value>) -> Option<Value> {
    const STRINGS_MAX: usize = 64;
    let mut strings = [Value::ZERO; STRINGS_MAX];
    let (mut count, mut rest) = (0, list);
    // Refused as the primitive does even if it comes between no strings.
    delimiter.map_or(Some(()), |delimiter| {
        delimiter.as_kind(Kind::String).map(drop)
    })?;
    while let Some(pair) = rest.as_pair() {
        if let Some(delimiter) = delimiter.filter(|_| count > 0) {
            *strings.get_mut(count)? = delimiter;
            count += 1;
        }
        *strings.get_mut(count)? = pair.car();
        count += 1;
        rest = pair.cdr();
    }
    rest.is_nil()
        .then(|| joined_all(thread, &strings[..count]))?
}

fn filled(thread: &mut InPlace, length: Value, fill: char) -> Value {
    let Some(length) = length.as_index() else {
        return Value::DECLINED;
    };
    if fill.is_ascii() && length <= 8 {
        let bytes = u64::MAX.checked_shr(64 - 8 * length as u32).unwrap_or(0);
        let word = (u64::from(u32::from(fill)) * 0x0101_0101_0101_0101) & bytes;
        return thread.short_ascii_string(word, length);
    }
    or_decline(thread.filled_string(length, fill))
}

/// The string of a few characters.
#[inline(always)]
fn of_characters<const COUNT: usize>(thread: &mut InPlace, characters: [Value; COUNT]) -> Value {
    let (mut units, mut bytes, mut bits) = ([0; COUNT], [0; COUNT], 0);
    for index in 0..COUNT {
        let Some(character) = characters[index].as_character() else {
            return Value::DECLINED;
        };
        let unit = u32::from(character);
        units[index] = unit;
        bytes[index] = unit as u8;
        bits |= unit;
    }
    or_decline(match bits {
        0..0x80 if COUNT <= 8 => {
            let shifted = bytes.iter().rev();
            let word = shifted.fold(0, |word, byte| word << 8 | u64::from(*byte));
            Some(thread.short_ascii_string(word, COUNT))
        }
        0..0x80 => thread.ascii_string_of(&bytes),
        0x80..0x100 => thread.latin1_string(COUNT, |to| to.copy_from_slice(&bytes)),
        _ => thread.wide_string_of(&units),
    })
}

/// The string in a case, in full.
fn mapped(thread: &mut InPlace, string: Value, case: Case) -> Value {
    let ascii = with_ascii(string, |bytes| {
        thread.ascii_string_with(bytes.len(), |to| {
            to.copy_from_slice(bytes);
            match case {
                Case::Upper => to.make_ascii_uppercase(),
                Case::Lower | Case::Folded => to.make_ascii_lowercase(),
            }
        })
    });
    if let Some(ascii) = ascii {
        return ascii;
    }
    let Some(string) = string.as_kind(Kind::String) else {
        return Value::DECLINED;
    };
    if thread.has_others() {
        return Value::DECLINED;
    }
    or_decline(with_units(string, |units| {
        match units {
            Units::Narrow(bytes) => {
                let units = bytes.iter().map(|byte| u32::from(*byte));
                mapped_units(thread, units, case)
            }
            Units::Wide(wide) => mapped_units(thread, wide.iter().copied(), case),
        }
        .or_else(|| with_units(string, |units| mapped_text(thread, units, case)))
    }))
}

/// The same of characters each of which becomes one, whatever stands around it.
#[inline(always)]
fn mapped_units(
    thread: &mut InPlace,
    units: impl ExactSizeIterator<Item = u32> + Clone,
    case: Case,
) -> Option<Value> {
    const FEW: usize = 64;
    let map = |unit| Some(u32::from(Facts::of(character(unit)).mapped(case)?));
    let length = units.len();
    let mut bits = 0;
    if length <= FEW {
        let mut room = [0; FEW];
        for (place, unit) in room.iter_mut().zip(units) {
            *place = map(unit)?;
            bits |= *place;
        }
        let mapped = &room[..length];
        if bits > 0xff {
            return thread.wide_string_of(mapped);
        }
        return of_units(thread, length, bits, mapped.iter().copied());
    }
    for unit in units.clone() {
        bits |= map(unit)?;
    }
    let mapped = units.map(|unit| map(unit).unwrap_or(unit));
    of_units(thread, length, bits, mapped)
}

/// The same of any text that is not long.
#[cold]
#[inline(never)]
fn mapped_text(thread: &mut InPlace, units: Units<'_>, case: Case) -> Option<Value> {
    const LENGTH_MAX: usize = 1 << 10;
    if units.length() > LENGTH_MAX {
        return None;
    }
    let text: String = match case {
        Case::Upper => units.to_text().to_uppercase(),
        // The standard library knows the final sigma.
        Case::Lower => units.to_text().to_lowercase(),
        Case::Folded => Folded::of(units).collect(),
    };
    of_text(thread, &text)
}

fn of_text(thread: &mut InPlace, text: &str) -> Option<Value> {
    if text.is_ascii() {
        return thread.ascii_string(&[text.as_bytes()]);
    }
    heap_text::string_of_text(thread, text)
}

fn reversed(thread: &mut InPlace, string: Value) -> Value {
    let string = string
        .as_kind(Kind::String)
        .filter(|_| !thread.has_others());
    or_decline(string.and_then(|string| {
        with_units(string, |units| {
            let (length, bits) = (units.length(), bits_of(units));
            of_units(thread, length, bits, units.iter().rev())
        })
    }))
}

/// The string in a field of spaces, cut on the other side if it is too long.
fn padded(thread: &mut InPlace, string: Value, width: Value, is_right: bool) -> Value {
    let string = string
        .as_kind(Kind::String)
        .filter(|_| !thread.has_others());
    or_decline(string.zip(width.as_index()).and_then(|(string, width)| {
        with_units(string, |units| {
            let length = units.length();
            let kept = length.min(width);
            let spaces = std::iter::repeat_n(u32::from(' '), width - kept);
            let text = if is_right {
                units.slice(length - kept..length)
            } else {
                units.slice(0..kept)
            };
            let bits = bits_of(text) | u32::from(' ');
            if is_right {
                of_units(thread, width, bits, spaces.chain(text.iter()))
            } else {
                of_units(thread, width, bits, text.iter().chain(spaces))
            }
        })
    }))
}

/// Elements of a list or a vector that is made of a string.
const ELEMENTS_MAX: usize = 1 << 10;

/// Runs `narrow` or `wide` on the characters of a range that is not long.
#[inline(always)]
fn with_part<R>(
    string: Value,
    start: Option<Value>,
    end: Option<Value>,
    work: impl FnOnce(Units<'_>) -> Option<R>,
) -> Option<R> {
    let string = string.as_kind(Kind::String)?;
    let range = range(string_length(string), start, end)?;
    if range.len() > ELEMENTS_MAX {
        return None;
    }
    with_units(string, |units| work(units.slice(range)))
}

fn to_list(thread: &mut InPlace, string: Value, start: Option<Value>, end: Option<Value>) -> Value {
    or_decline(with_part(string, start, end, |units| {
        Some(match units {
            Units::Narrow(bytes) => {
                let characters = bytes.iter().map(|byte| Value::character(char::from(*byte)));
                thread.list(characters)
            }
            Units::Wide(units) => {
                let characters = units.iter().map(|unit| Value::character(character(*unit)));
                thread.list(characters)
            }
        })
    }))
}

fn to_vector(
    thread: &mut InPlace,
    string: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    or_decline(with_part(string, start, end, |units| match units {
        Units::Narrow(bytes) => {
            let characters = bytes.iter().map(|byte| Value::character(char::from(*byte)));
            thread.vector_of(characters)
        }
        Units::Wide(units) => {
            let characters = units.iter().map(|unit| Value::character(character(*unit)));
            thread.vector_of(characters)
        }
    }))
}

/// The elements of a list, up to what is no pair.
#[derive(Clone)]
struct Elements(Value);

impl Iterator for Elements {
    type Item = Value;

    #[inline]
    fn next(&mut self) -> Option<Value> {
        let pair = self.0.as_pair()?;
        self.0 = pair.cdr();
        Some(pair.car())
    }
}

fn unit_of(element: Value) -> u32 {
    element.as_character().map_or(0, u32::from)
}

fn of_list(thread: &mut InPlace, list: Value, is_reversed: bool) -> Option<Value> {
    const LENGTH_MAX: usize = 1 << 11;
    let (mut length, mut bits) = (0, 0);
    let mut elements = Elements(list);
    for element in elements.by_ref() {
        bits |= u32::from(element.as_character()?);
        length += 1;
        if length > LENGTH_MAX {
            return None;
        }
    }
    if !elements.0.is_nil() || thread.has_others() {
        return None;
    }
    let units = Elements(list).map(unit_of);
    if !is_reversed {
        return of_units(thread, length, bits, units);
    }
    match bits {
        0..0x80 => thread.ascii_string_with(length, |to| put_back(to, units, |unit| unit as u8)),
        0x80..0x100 => thread.latin1_string(length, |to| put_back(to, units, |unit| unit as u8)),
        _ => thread.wide_string(length, |to| put_back(to, units, |unit| unit)),
    }
}

fn put_back<Unit>(to: &mut [Unit], units: impl Iterator<Item = u32>, narrow: impl Fn(u32) -> Unit) {
    for (to, unit) in to.iter_mut().rev().zip(units) {
        *to = narrow(unit);
    }
}

fn of_vector(
    thread: &mut InPlace,
    vector: Value,
    start: Option<Value>,
    end: Option<Value>,
) -> Value {
    let string = vector.as_kind(Kind::Vector).and_then(|vector| {
        let range = range(vector.length(), start, end)?;
        if range.len() > ELEMENTS_MAX || thread.has_others() {
            return None;
        }
        let mut bits = 0;
        for index in range.clone() {
            bits |= u32::from(vector.field(index).as_character()?);
        }
        let length = range.len();
        let units = range.map(|index| unit_of(vector.field(index)));
        of_units(thread, length, bits, units)
    });
    or_decline(string)
}

/// The bytes of a range in UTF-8.
fn encoded(thread: &mut InPlace, string: Value, start: Option<Value>, end: Option<Value>) -> Value {
    let is_ascii = string
        .as_kind(Kind::String)
        .is_some_and(|string| string_data(string).is_ascii());
    if thread.has_others() {
        return Value::DECLINED;
    }
    or_decline(with_range(string, start, end, |units| match units {
        Units::Narrow(bytes) if is_ascii || bytes.is_ascii() => thread.bytes(&[bytes]),
        Units::Narrow(bytes) => {
            let characters = bytes.iter().map(|byte| char::from(*byte));
            encoded_characters(thread, characters)
        }
        Units::Wide(units) => {
            let characters = units.iter().map(|unit| character(*unit));
            encoded_characters(thread, characters)
        }
    }))
}

/// Runs `work` on the characters of a range.
#[inline(always)]
fn with_range<R>(
    string: Value,
    start: Option<Value>,
    end: Option<Value>,
    work: impl FnOnce(Units<'_>) -> Option<R>,
) -> Option<R> {
    let string = string.as_kind(Kind::String)?;
    let range = range(string_length(string), start, end)?;
    with_units(string, |units| work(units.slice(range)))
}

#[inline(always)]
fn encoded_characters(
    thread: &mut InPlace,
    characters: impl Iterator<Item = char> + Clone,
) -> Option<Value> {
    let length = characters.clone().map(char::len_utf8).sum();
    thread.bytes_with(length, |mut to| {
        for character in characters {
            let count = character.len_utf8();
            if count > to.len() {
                return;
            }
            let (place, rest) = to.split_at_mut(count);
            character.encode_utf8(place);
            to = rest;
        }
    })
}

/// The string of bytes in UTF-8; malformed ones are declined.
fn decoded(thread: &mut InPlace, bytes: Value, start: Option<Value>, end: Option<Value>) -> Value {
    const BYTES_MAX: usize = 1 << 12;
    or_decline(bytes.as_kind(Kind::Bytevector).and_then(|bytes| {
        let range = range(bytes.length(), start, end)?;
        bytes.with_bytes(|bytes| {
            let part = &bytes[range];
            if part.is_ascii() {
                return thread.ascii_string(&[part]);
            }
            if part.len() > BYTES_MAX || thread.has_others() {
                return None;
            }
            heap_text::string_of_text(thread, std::str::from_utf8(part).ok()?)
        })
    }))
}
