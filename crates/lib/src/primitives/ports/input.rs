//! Primitives that read text: characters, lines, strings and what is available.
//!
//! The port's lock is held without an allocation that may collect: text is copied out first, and
//! the string is made after it. `line_in_place` is the exception for short lines; it allocates only
//! if that does not collect.

use canny_io::{SharedPort, Text, Width};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_value::Value;
use canny_vm::{InPlace, PrimitiveFunction, Raise, TextBuilder, Thread};

use super::table::{HostPort, TextSource, with_recent_port};
use super::{flag, heap_source, key, on_text_input, port_argument, quick, required_port};
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
    if let Some(answer) = quick::read_char(InPlace::of(thread), port, true) {
        return Ok(answer);
    }
    let character = on_text_input(thread, call, port, |source, wait| {
        source.text.read_char(wait)
    })?;
    character_or_end(character)
}

fn peek_char(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if let Some(answer) = quick::read_char(InPlace::of(thread), port, false) {
        return Ok(answer);
    }
    let character = on_text_input(thread, call, port, |source, wait| {
        source.text.peek_char(wait)
    })?;
    character_or_end(character)
}

/// A copy of text from a port's buffer, so that the port can be released before the string is made.
pub(super) fn copy(text: Text<'_>) -> TextBuilder {
    let mut builder = TextBuilder::new();
    match text.width() {
        Width::Ascii => builder.push_str(text.as_str()),
        Width::Latin1 => {
            let mut narrow = vec![0; text.length()];
            text.copy_latin1(&mut narrow);
            builder.push_latin1(&narrow);
        }
        Width::Wide => {
            let mut wide = vec![0; text.length()];
            text.copy_utf32(&mut wide);
            builder = TextBuilder::of_wide(wide);
        }
    }
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

/// Longer lines are made with a check of the heap limit.
const SHORT_LINE_BYTES: usize = 2048;

/// The next line of a port, if it is in the port's buffer as a whole and short, and the port is at
/// hand: copied from there straight into a string. Else nothing was done. The string is made, which
/// does not collect, while the line is lent to the thread, or while the port's lock is held, which then
/// lends the lines to come.
#[inline]
pub(crate) fn line_in_place(thread: &mut InPlace, port: Value) -> Option<Value> {
    const FLAGS: i64 = flag::TEXTUAL | flag::INPUT;
    if let Some(line) = thread.lent_line(port) {
        return Some(line);
    }
    if let Some(line) = heap_source::line(thread, port) {
        return Some(line);
    }
    let object = port.as_kind(Kind::Port)?;
    if object.field(field::FLAGS).as_fixnum()? & FLAGS != FLAGS {
        return None;
    }
    let id = object.field(field::ID).as_index()?;
    with_recent_port(id as u64, |host_port| {
        let HostPort::TextInput(shared) = host_port else {
            return None;
        };
        locked_line_in_place(thread, shared)
    })
}

#[inline(never)]
fn locked_line_in_place(thread: &mut InPlace, shared: &SharedPort<TextSource>) -> Option<Value> {
    let mut source = shared.try_lock()?;
    let line = source.text.read_short_line(SHORT_LINE_BYTES)?;
    let string = match line.width() {
        Width::Ascii => thread.ascii_string_of(line.as_str().as_bytes()),
        Width::Latin1 => thread.latin1_string(line.length(), |units| line.copy_latin1(units)),
        Width::Wide => thread.wide_string(line.length(), |units| line.copy_utf32(units)),
    };
    source.release_to(thread.loan_flag());
    string
}

fn read_line(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if let Some(line) = line_in_place(InPlace::of(thread), port) {
        return Ok(line);
    }
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
    if let Some(answer) = quick::read_string(InPlace::of(thread), port, count) {
        return Ok(answer);
    }
    let text = on_text_input(thread, call, port, |source, wait| {
        Ok(source.text.read_chars(count, wait)?.map(copy))
    })?;
    string_or_end(thread, text)
}

fn is_char_ready(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if quick::is_ready(InPlace::of(thread), port, false) {
        return Ok(Value::TRUE);
    }
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
