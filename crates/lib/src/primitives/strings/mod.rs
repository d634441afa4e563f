//! Strings: making, reading, changing, copying and converting them.
//!
//! Comparison, case, and search have modules of their own.

#[cfg(test)]
mod tests;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::{string_character, string_length};
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, TextBuilder, Thread};

use crate::arguments::{Call, implementations};
use crate::list::{Builder, Walk};
use crate::printer::{Style, text_of};
use crate::text::{Units, copy_range, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::String)));
    "make-string" => make_string;
    "string" => string;
    "string-length" => |thread, call| Ok(Value::fixnum(string_length(call.string(thread, 0)?) as i64));
    "string-ref" => string_ref;
    "string-set!" => string_set;
    "substring" => copy;
    "string-copy" => copy;
    "string-copy!" => copy_into;
    "string-fill!" => fill;
    "string-append" => append;
    "string-concatenate" => concatenate;
    "string->list" => string_to_list;
    "list->string" => list_to_string;
    "%reverse-list->string" => reverse_list_to_string;
    "string->vector" => string_to_vector;
    "vector->string" => vector_to_string;
    "string->utf8" => string_to_utf8;
    "utf8->string" => utf8_to_string;
    "string-null?" => |thread, call| Ok(Value::boolean(string_length(call.string(thread, 0)?) == 0));
    "string-reverse" => reverse;
    "string-repeat" => repeat;
};

fn make_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.index(thread, 0)?;
    let fill = call.character_or(thread, 1, ' ')?;
    thread.make_string(length, fill)
}

/// Characters, and the display text of other arguments.
fn string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut builder = TextBuilder::new();
    for position in 0..call.count() {
        let value = call.at(position);
        match value.as_character() {
            Some(character) => builder.push(character),
            None => append_display_text(thread, value, &mut builder),
        }
    }
    builder.try_finish(thread)
}

fn append_display_text(thread: &Thread, value: Value, builder: &mut TextBuilder) {
    match value.as_kind(Kind::String) {
        Some(string) => with_units(string, |units| units.append_to(builder)),
        None => builder.push_str(&text_of(thread, value, Style::Display)),
    }
}

fn string_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let index = call.index_below(thread, 1, string_length(string))?;
    Ok(Value::character(string_character(string, index)))
}

fn string_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.mutable_string(thread, 0)?;
    let index = call.index_below(thread, 1, string_length(string))?;
    let character = call.character(thread, 2)?;
    thread.set_string_character(string.value(), index, character)?;
    Ok(Value::UNSPECIFIED)
}

fn copy(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    copy_range(thread, string, range)
}

fn copy_into(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = call.mutable_string(thread, 0)?;
    let at = call.index_up_to(thread, 1, string_length(target))?;
    let (source, range) = call.string_range(thread, 2, 3)?;
    let room = string_length(target) - at;
    if range.len() > room {
        let expected = format!(
            "{} characters do not fit, there is room for {room}",
            range.len()
        );
        return Err(call.range_error(thread, 1, &expected));
    }
    let widest = with_units(source, |units| units.slice(range.clone()).iter().max());
    if let Some(widest) = widest {
        thread.widen_for(target, crate::text::character(widest))?;
        thread.copy_string_units(source, range, target, at);
    }
    Ok(Value::UNSPECIFIED)
}

fn fill(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.mutable_string(thread, 0)?;
    let character = call.character(thread, 1)?;
    let range = call.range(thread, 2, string_length(string))?;
    if !range.is_empty() {
        thread.widen_for(string, character)?;
        thread.fill_string(string, range, character);
    }
    Ok(Value::UNSPECIFIED)
}

/// The width and the length that a string needs that joins others.
#[derive(Default)]
struct Joined {
    length: usize,
    wide: bool,
}

impl Joined {
    fn add(&mut self, string: ObjectRef) {
        self.length += string_length(string);
        self.wide |= with_units(string, |units| match units {
            Units::Narrow(_) => false,
            Units::Wide(units) => units.iter().any(|&unit| unit > 0xff),
        });
    }

    /// A string to copy the parts into.
    fn allocate(&self, thread: &mut Thread) -> Result<Value, Raise> {
        let kind = if self.wide {
            Kind::String32
        } else {
            Kind::String8
        };
        let data = thread.try_leaf(kind, 0, self.length)?;
        Ok(thread.string_of_data(data, self.length, 0))
    }
}

fn append(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut joined = Joined::default();
    for position in 0..call.count() {
        joined.add(call.string(thread, position)?);
    }
    let result = joined.allocate(thread)?;
    let mut at = 0;
    for position in 0..call.count() {
        let string = call.string(thread, position)?;
        at = copy_whole(thread, string.value(), result, at);
    }
    Ok(result)
}

/// Copies a string into another at an index; gives the index after it.
fn copy_whole(thread: &mut Thread, source: Value, target: Value, at: usize) -> usize {
    match (source.as_kind(Kind::String), target.as_kind(Kind::String)) {
        (Some(source), Some(target)) => {
            let length = string_length(source);
            thread.copy_string_units(source, 0..length, target, at);
            at + length
        }
        _ => at,
    }
}

fn concatenate(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.list_length(thread, 0)?;
    let mut joined = Joined::default();
    for element in Walk::new(call.at(0)) {
        match element.as_kind(Kind::String) {
            Some(string) => joined.add(string),
            None => return Err(call.type_error_of(thread, 0, "list of strings", element)),
        }
    }
    let result = joined.allocate(thread)?;
    let mut at = 0;
    for element in Walk::new(call.at(0)) {
        at = copy_whole(thread, element, result, at);
    }
    Ok(result)
}

fn string_to_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let mut list = Value::NIL;
    for index in range.rev() {
        let character = Value::character(string_character(string, index));
        list = thread.try_cons(character, list)?;
    }
    Ok(list)
}

/// The characters of a list.
fn characters_of_list(thread: &mut Thread, call: Call) -> Result<Vec<char>, Raise> {
    let length = call.list_length(thread, 0)?;
    let mut characters = Vec::with_capacity(length);
    for element in Walk::new(call.at(0)) {
        match element.as_character() {
            Some(character) => characters.push(character),
            None => return Err(call.type_error_of(thread, 0, "list of characters", element)),
        }
    }
    Ok(characters)
}

/// A fresh string of characters.
pub(super) fn string_of(
    thread: &mut Thread,
    characters: impl Iterator<Item = char>,
) -> Result<Value, Raise> {
    let mut builder = TextBuilder::new();
    characters.for_each(|character| builder.push(character));
    builder.try_finish(thread)
}

fn list_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let characters = characters_of_list(thread, call)?;
    string_of(thread, characters.into_iter())
}

fn reverse_list_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let characters = characters_of_list(thread, call)?;
    string_of(thread, characters.into_iter().rev())
}

fn string_to_vector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let vector = thread.make_vector(range.len(), Value::UNSPECIFIED)?;
    for (at, index) in range.enumerate() {
        let character = Value::character(string_character(string, index));
        thread.store(vector, at, character);
    }
    Ok(vector)
}

fn vector_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (vector, range) = call.vector_range(thread, 0, 1)?;
    let mut builder = TextBuilder::new();
    for index in range {
        let element = vector.field(index);
        match element.as_character() {
            Some(character) => builder.push(character),
            None => return Err(call.type_error_of(thread, 0, "vector of characters", element)),
        }
    }
    builder.try_finish(thread)
}

fn string_to_utf8(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let text = with_units(string, |units| units.slice(range).to_text());
    thread.bytevector(text.as_bytes())
}

fn utf8_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (bytes, range) = call.bytevector_range(thread, 0, 1)?;
    // The decoder reads a copy, which no other thread changes meanwhile.
    let bytes = bytes.with_bytes(|bytes| bytes[range.clone()].to_vec());
    decode_utf8(thread, call, &bytes, range.start)
}

/// The text that bytes are, whose first one has an index for errors.
pub(crate) fn decode_utf8(
    thread: &mut Thread,
    call: Call,
    bytes: &[u8],
    start: usize,
) -> Result<Value, Raise> {
    let decoded = std::str::from_utf8(bytes).map(|text| {
        let mut builder = TextBuilder::new();
        builder.push_str(text);
        builder
    });
    match decoded {
        Ok(builder) => builder.try_finish(thread),
        Err(error) => Err(malformed_utf8(thread, call, start, error)),
    }
}

#[cold]
fn malformed_utf8(
    thread: &mut Thread,
    call: Call,
    start: usize,
    error: std::str::Utf8Error,
) -> Raise {
    let index = start + error.valid_up_to();
    let message = format!("the bytes from index {index} on are not UTF-8");
    let irritants = [call.at(0)];
    thread.raise(ConditionKind::Range, &message, &irritants, Some(call.who))
}

fn reverse(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let mut builder = TextBuilder::new();
    with_units(string, |units| {
        let part = units.slice(range);
        part.characters()
            .rev()
            .for_each(|character| builder.push(character));
    });
    builder.try_finish(thread)
}

fn repeat(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let count = call.index(thread, 1)?;
    let part = string_length(string);
    let mut joined = Joined::default();
    joined.add(string);
    joined.length = part.saturating_mul(count);
    let result = joined.allocate(thread)?;
    if part > 0 {
        let mut at = 0;
        for _ in 0..count {
            at = copy_whole(thread, call.at(0), result, at);
        }
    }
    Ok(result)
}

/// A list of fresh strings, each a range of one string.
pub(super) fn list_of_ranges(
    thread: &mut Thread,
    string: ObjectRef,
    ranges: &[std::ops::Range<usize>],
) -> Result<Value, Raise> {
    let mut list = Builder::new();
    for range in ranges {
        let part = copy_range(thread, string, range.clone())?;
        list.push(thread, part)?;
    }
    Ok(list.finish(thread, Value::NIL))
}
