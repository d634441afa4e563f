//! Strings: finding, splitting, joining, trimming and padding.
//!
//! Searches take time proportional to the lengths of text and pattern, whatever they contain: the
//! standard library's search for ASCII, Knuth, Morris and Pratt's for the rest.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::string_length;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread};

use super::strings::list_of_ranges;
use crate::arguments::{Call, implementations};
use crate::list::{Builder, Walk};
use crate::text::{Units, copy_range, same_text, with_both, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string-join" => join;
    "string-split" => split;
    "string-contains" => contains;
    "string-search-forward" => search_forward;
    "string-search-backward" => search_backward;
    "string-search-all" => search_all;
    "%string-index" => |thread, call| {
        index_of(thread, call, |units, unit| units.iter().position(|other| other == unit))
    };
    "%string-rindex" => |thread, call| {
        index_of(thread, call, |units, unit| units.iter().rposition(|other| other == unit))
    };
    "string-prefix?" => is_prefix;
    "string-suffix?" => is_suffix;
    "string-pad-left" => pad_left;
    "string-pad-right" => pad_right;
    "string-trim" => |thread, call| trim(thread, call, true, false);
    "string-trim-right" => |thread, call| trim(thread, call, false, true);
    "string-trim-both" => |thread, call| trim(thread, call, true, true);
};

fn index_or_false(index: Option<usize>) -> Value {
    index.map_or(Value::FALSE, |index| Value::fixnum(index as i64))
}

/// A pattern ready to be searched for: `borders[n]` is the length of the longest proper prefix of
/// the pattern's first n + 1 units that is a suffix of them too.
struct Pattern<'a> {
    units: Units<'a>,
    borders: Vec<usize>,
}

impl<'a> Pattern<'a> {
    fn new(units: Units<'a>) -> Pattern<'a> {
        let mut borders = vec![0; units.length()];
        let mut matched = 0;
        for index in 1..units.length() {
            while matched > 0 && units.at(index) != units.at(matched) {
                matched = borders[matched - 1];
            }
            if units.at(index) == units.at(matched) {
                matched += 1;
            }
            borders[index] = matched;
        }
        Pattern { units, borders }
    }

    /// Gives the start of each occurrence to `found`, overlapping ones too, until it says to stop.
    fn search(&self, text: Units<'_>, mut found: impl FnMut(usize) -> bool) {
        let length = self.units.length();
        let mut matched = 0;
        for index in 0..text.length() {
            while matched > 0 && (matched == length || text.at(index) != self.units.at(matched)) {
                matched = self.borders[matched - 1];
            }
            if text.at(index) == self.units.at(matched) {
                matched += 1;
            }
            if matched == length && !found(index + 1 - length) {
                return;
            }
        }
    }
}

/// ASCII bytes as a text, to be searched only: that compares bytes, which another thread may change
/// meanwhile.
fn as_ascii(units: Units<'_>) -> Option<&str> {
    match units {
        Units::Narrow(bytes) if bytes.is_ascii() => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// Length of a text in which a pattern is tried at each place.
const SHORT_MAX: usize = 64;

/// Where units first occur among others, of which there are at least as many.
fn find_plainly<Unit: PartialEq>(text: &[Unit], pattern: &[Unit]) -> Option<usize> {
    let (first, rest) = pattern.split_first()?;
    let starts = &text[..=text.len() - pattern.len()];
    starts.iter().enumerate().position(|(start, unit)| {
        let behind = &text[start + 1..];
        unit == first && rest.iter().zip(behind).all(|(unit, other)| unit == other)
    })
}

/// Where a pattern first occurs in a text.
pub(crate) fn find(text: Units<'_>, pattern: Units<'_>) -> Option<usize> {
    if pattern.length() > text.length() {
        return None;
    }
    match pattern.length() {
        0 => return Some(0),
        1 => return text.iter().position(|unit| unit == pattern.at(0)),
        _ => {}
    }
    match (text, pattern) {
        (Units::Narrow(text), Units::Narrow(pattern)) if text.len() <= SHORT_MAX => {
            return find_plainly(text, pattern);
        }
        (Units::Wide(text), Units::Wide(pattern)) if text.len() <= SHORT_MAX => {
            return find_plainly(text, pattern);
        }
        _ => {}
    }
    if let (Some(text), Some(pattern)) = (as_ascii(text), as_ascii(pattern)) {
        return text.find(pattern);
    }
    let mut first = None;
    Pattern::new(pattern).search(text, |start| {
        first = Some(start);
        false
    });
    first
}

fn contains(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (text, range) = call.string_range(thread, 0, 2)?;
    let pattern = call.string(thread, 1)?;
    let found = with_both(text, pattern, |text, pattern| {
        find(text.slice(range.clone()), pattern)
    });
    Ok(index_or_false(found.map(|index| range.start + index)))
}

fn search_forward(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pattern = call.string(thread, 0)?;
    let text = call.string(thread, 1)?;
    let length = string_length(text);
    let start = call.index_up_to(thread, 2, length)?;
    let found = with_both(text, pattern, |text, pattern| {
        find(text.slice(start..length), pattern)
    });
    Ok(index_or_false(found.map(|index| start + index)))
}

fn search_backward(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pattern = call.string(thread, 0)?;
    let text = call.string(thread, 1)?;
    let end = call.index_up_to(thread, 2, string_length(text))?;
    let found = with_both(text, pattern, |text, pattern| {
        let text = text.slice(0..end);
        if pattern.length() == 0 {
            return Some(end);
        }
        let mut last = None;
        Pattern::new(pattern).search(text, |start| {
            last = Some(start + pattern.length());
            true
        });
        last
    });
    Ok(index_or_false(found))
}

fn search_all(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pattern = call.string(thread, 0)?;
    let text = call.string(thread, 1)?;
    let mut found = Vec::new();
    with_both(text, pattern, |text, pattern| {
        if pattern.length() == 0 {
            found.extend(0..=text.length());
        } else {
            Pattern::new(pattern).search(text, |start| {
                found.push(start);
                true
            });
        }
    });
    let mut list = Value::NIL;
    for &start in found.iter().rev() {
        list = thread.try_cons(Value::fixnum(start as i64), list)?;
    }
    Ok(list)
}

fn index_of(
    thread: &mut Thread,
    call: Call,
    find: impl Fn(Units<'_>, u32) -> Option<usize>,
) -> Result<Value, Raise> {
    let wanted = call.character(thread, 1)? as u32;
    let (string, range) = call.string_range(thread, 0, 2)?;
    let found = with_units(string, |units| find(units.slice(range.clone()), wanted));
    Ok(index_or_false(found.map(|index| range.start + index)))
}

fn is_prefix(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let prefix = call.string(thread, 0)?;
    let string = call.string(thread, 1)?;
    Ok(Value::boolean(with_both(
        prefix,
        string,
        |prefix, string| {
            let length = prefix.length();
            length <= string.length() && same_text(prefix, string.slice(0..length))
        },
    )))
}

fn is_suffix(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let suffix = call.string(thread, 0)?;
    let string = call.string(thread, 1)?;
    Ok(Value::boolean(with_both(
        suffix,
        string,
        |suffix, string| {
            let length = string.length();
            match length.checked_sub(suffix.length()) {
                Some(start) => same_text(suffix, string.slice(start..length)),
                None => false,
            }
        },
    )))
}

fn join(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.list_length(thread, 0)?;
    let delimiter = match call.optional(1) {
        Some(_) => Some(call.string(thread, 1)?),
        None => None,
    };
    let mut builder = TextBuilder::new();
    for (position, element) in Walk::new(call.at(0)).enumerate() {
        let Some(string) = element.as_kind(Kind::String) else {
            return Err(call.type_error_of(thread, 0, "list of strings", element));
        };
        if position > 0 {
            match delimiter {
                Some(delimiter) => with_units(delimiter, |units| units.append_to(&mut builder)),
                None => builder.push(' '),
            }
        }
        with_units(string, |units| units.append_to(&mut builder));
    }
    builder.try_finish(thread)
}

fn split(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let ranges = match call.optional(1) {
        None => with_units(string, split_at_white_space),
        Some(delimiter) => {
            if let Some(character) = delimiter.as_character() {
                let unit = [character as u32];
                with_units(string, |units| split_at_pattern(units, Units::Wide(&unit)))
            } else if let Some(delimiter) = delimiter.as_kind(Kind::String) {
                if string_length(delimiter) == 0 {
                    return split_into_characters(thread, string);
                }
                with_both(string, delimiter, split_at_pattern)
            } else {
                return Err(call.type_error(thread, 1, "character or string"));
            }
        }
    };
    list_of_ranges(thread, string, &ranges)
}

/// The parts between white space, none of them empty.
fn split_at_white_space(units: Units<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = None;
    for (index, character) in units.characters().enumerate() {
        match (character.is_whitespace(), start) {
            (true, Some(begin)) => {
                ranges.push(begin..index);
                start = None;
            }
            (false, None) => start = Some(index),
            _ => {}
        }
    }
    ranges.extend(start.map(|begin| begin..units.length()));
    ranges
}

/// The parts between occurrences, which do not overlap, of a pattern that is not empty.
fn split_at_pattern(units: Units<'_>, pattern: Units<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    Pattern::new(pattern).search(units, |found| {
        if found >= start {
            ranges.push(start..found);
            start = found + pattern.length();
        }
        true
    });
    ranges.push(start..units.length());
    ranges
}

fn split_into_characters(thread: &mut Thread, string: ObjectRef) -> Result<Value, Raise> {
    let mut list = Builder::new();
    for index in 0..string_length(string) {
        let part = copy_range(thread, string, index..index + 1)?;
        list.push(thread, part)?;
    }
    Ok(list.finish(thread, Value::NIL))
}

fn trim(thread: &mut Thread, call: Call, at_start: bool, at_end: bool) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let range = with_units(string, |units| {
        let is_kept = |character: char| !character.is_whitespace();
        let Some(first) = units.characters().position(is_kept) else {
            return 0..0;
        };
        let last = units.characters().rposition(is_kept).unwrap_or(first);
        let start = if at_start { first } else { 0 };
        let end = if at_end { last + 1 } else { units.length() };
        start..end
    });
    copy_range(thread, string, range)
}

fn pad_left(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let width = call.index(thread, 1)?;
    let fill = call.character_or(thread, 2, ' ')?;
    let length = string_length(string);
    if width <= length {
        return copy_range(thread, string, length - width..length);
    }
    padded(thread, string, width, width - length, fill)
}

fn pad_right(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let width = call.index(thread, 1)?;
    let fill = call.character_or(thread, 2, ' ')?;
    if width <= string_length(string) {
        return copy_range(thread, string, 0..width);
    }
    padded(thread, string, width, 0, fill)
}

/// A string of `fill` with another string in it from index `at` on.
fn padded(
    thread: &mut Thread,
    string: ObjectRef,
    width: usize,
    at: usize,
    fill: char,
) -> Result<Value, Raise> {
    let result = thread.make_string(width, fill)?;
    let widest = with_units(string, |units| units.iter().max());
    if let (Some(widest), Some(target)) = (widest, result.as_object()) {
        thread.widen_for(target, crate::text::character(widest))?;
        thread.copy_string_units(string, 0..string_length(string), target, at);
    }
    Ok(result)
}
