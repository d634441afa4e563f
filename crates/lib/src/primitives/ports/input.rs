//! Reading text.

use canny_io::Text;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread};

use super::{flag, key, on_text_input, port_argument, required_port};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "read-char" => read_char;
    "peek-char" => peek_char;
    "read-line" => read_line;
    "%read-whole-line" => read_whole_line;
    "read-string" => read_string;
    "char-ready?" => is_char_ready;
    "%read-fold-case!" => set_fold_case;
};

/// The textual input port of argument `position`, or the current input port.
#[inline]
pub(crate) fn source(thread: &mut Thread, call: Call, position: usize) -> Result<Value, Raise> {
    port_argument(
        thread,
        call,
        position,
        key::INPUT,
        flag::TEXTUAL | flag::INPUT,
    )
}

fn character_or_end(character: Option<char>) -> Result<Value, Raise> {
    Ok(character.map_or(Value::EOF, Value::character))
}

fn read_char(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    let character = on_text_input(thread, call, port, |source, wait| {
        source.text.read_char(wait)
    })?;
    character_or_end(character)
}

fn peek_char(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    let character = on_text_input(thread, call, port, |source, wait| {
        source.text.peek_char(wait)
    })?;
    character_or_end(character)
}

/// A copy of text from a port's buffer, so that the port can be released before the string is made.
pub(super) fn copy(text: Text<'_>) -> TextBuilder {
    let mut builder = TextBuilder::new();
    builder.push_str(text.as_str());
    builder
}

pub(super) fn string_or_end(
    thread: &mut Thread,
    text: Option<TextBuilder>,
) -> Result<Value, Raise> {
    match text {
        Some(text) => text.try_finish(thread),
        None => Ok(Value::EOF),
    }
}

fn read_line(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    let line = on_text_input(thread, call, port, |source, wait| {
        Ok(source.text.read_line(wait)?.map(copy))
    })?;
    string_or_end(thread, line)
}

fn read_whole_line(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    let line = on_text_input(thread, call, port, |source, wait| {
        Ok(source.text.read_whole_line(wait)?.map(copy))
    })?;
    string_or_end(thread, line)
}

fn read_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 0)?;
    let port = source(thread, call, 1)?;
    let text = on_text_input(thread, call, port, |source, wait| {
        Ok(source.text.read_chars(count, wait)?.map(copy))
    })?;
    string_or_end(thread, text)
}

fn is_char_ready(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    let is_ready = on_text_input(thread, call, port, |source, _| source.text.char_ready())?;
    Ok(Value::boolean(is_ready))
}

fn set_fold_case(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let folds_case = call.at(1).is_true();
    on_text_input(thread, call, port, |source, _| {
        source.folds_case = folds_case;
        Ok(())
    })?;
    Ok(Value::UNSPECIFIED)
}
