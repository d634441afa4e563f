//! Primitives of `(canny csv)`: rows from ports as lists or vectors of strings, and rows as text.
//!
//! `canny_formats` parses and quotes. The dialect is a vector of settings. A thread
//! keeps one parser and uses its buffers again for rows of the same dialect.

use std::cell::Cell;

use canny_formats::csv::{Dialect, Progress, RowReader, write_field};
use canny_tables::kinds::Kind;
use canny_tables::protocols::csv_dialect;
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, TextBuilder, Thread};

use crate::arguments::{Call, implementations};
use crate::list::Walk;
use crate::primitives::ports::{flag, on_text_input, output::put_text, required_port};
use crate::printer::{Style, text_of};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%csv-read" => read;
    "%csv-write" => write;
};

/// A dialect from a vector of `csv-dialect`, and the end of its lines.
fn dialect(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<(Dialect, &'static str), Raise> {
    let vector = call.vector(thread, position)?;
    if vector.length() != csv_dialect::COUNT {
        return Err(call.type_error(thread, position, "dialect of CSV"));
    }
    let is_set = |field| vector.field(field).is_true();
    let optional = |field| {
        let character = vector.field(field).as_character()?;
        u8::try_from(character).ok().filter(u8::is_ascii)
    };
    let Some(delimiter) = optional(csv_dialect::DELIMITER) else {
        return Err(call.type_error(thread, position, "dialect of CSV"));
    };
    let line_end = if is_set(csv_dialect::ENDS_WITH_RETURN) {
        "\r\n"
    } else {
        "\n"
    };
    let dialect = Dialect {
        delimiter,
        quote: optional(csv_dialect::QUOTE),
        escape: optional(csv_dialect::ESCAPE),
        comment: optional(csv_dialect::COMMENT),
        trims: is_set(csv_dialect::TRIMS),
        skips_empty: is_set(csv_dialect::SKIPS_EMPTY),
    };
    Ok((dialect, line_end))
}

/// `(%csv-read port dialect vector?)`.
fn read(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let dialect = dialect(thread, call, 1)?.0;
    let mut reader = READER
        .take()
        .filter(|reader| reader.dialect() == &dialect)
        .unwrap_or_else(|| Box::new(RowReader::new(dialect)));
    reader.clear();
    let outcome = read_row(thread, call, port, &mut reader);
    if reader.text.capacity() <= TEXT_BYTES_MAX {
        READER.set(Some(reader));
    }
    outcome
}

thread_local! {
    /// A reader whose room is used again.
    static READER: Cell<Option<Box<RowReader>>> = const { Cell::new(None) };
    /// The room of the last row that was written.
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

/// Most bytes of room that are kept.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Fields of a row for which there is room at first.
const FIELDS_USUAL: usize = 16;

fn read_row(
    thread: &mut Thread,
    call: Call,
    port: Value,
    reader: &mut RowReader,
) -> Result<Value, Raise> {
    loop {
        let (progress, location) = on_text_input(thread, call, port, |source, wait| {
            let is_last = source.text.peek_char(wait)?.is_none();
            let mut progress = Progress::NeedsMore;
            source.text.take_decoded(|text| {
                let (used, reached) = reader.feed(text, is_last);
                progress = reached;
                used
            });
            let location = match progress {
                Progress::Fault(_) => Some(source.text.location()),
                _ => None,
            };
            Ok((progress, location))
        })?;
        match progress {
            Progress::NeedsMore => {}
            Progress::Row => return row(thread, call, reader),
            Progress::End => return Ok(Value::EOF),
            Progress::Fault(fault) => {
                use canny_formats::csv::Fault;
                let (mut line, mut column) =
                    location.map_or((1, 1), |location| (location.line, location.column));
                let message = match fault {
                    Fault::OpenQuote => {
                        // A field that does not end is looked for from where its row begins.
                        line -= reader.text.iter().filter(|&&byte| byte == b'\n').count() as u64;
                        column = 1;
                        "the text ends inside of a quoted field of the row at"
                    }
                    Fault::AfterQuote => "a character behind the quote that ends a field, at",
                };
                let name = thread.symbol("line");
                let other = thread.symbol("column");
                let irritants = [
                    name,
                    Value::fixnum(line as i64),
                    other,
                    Value::fixnum(column as i64),
                ];
                let condition = thread.condition("csv", message, &irritants, Some(call.who));
                return Err(thread.raise_object(condition));
            }
        }
    }
}

fn row(thread: &mut Thread, call: Call, reader: &RowReader) -> Result<Value, Raise> {
    let base = thread.protect(Value::NIL);
    let outcome = row_of(thread, call, reader);
    thread.release(base);
    outcome
}

fn row_of(thread: &mut Thread, call: Call, reader: &RowReader) -> Result<Value, Raise> {
    let starts = std::iter::once(0).chain(reader.ends.iter().copied());
    let ranges = starts.zip(&reader.ends).map(|(start, &end)| start..end);
    if call.at(2).is_true() {
        let vector = thread.make_vector(reader.ends.len(), Value::FALSE)?;
        for (index, range) in ranges.enumerate() {
            let field = field(thread, &reader.text[range])?;
            thread.store(vector, index, field);
        }
        return Ok(vector);
    }
    let mut list = Value::NIL;
    let ends = &reader.ends;
    for index in (0..ends.len()).rev() {
        let start = if index == 0 { 0 } else { ends[index - 1] };
        let field = field(thread, &reader.text[start..ends[index]])?;
        list = thread.try_cons(field, list)?;
    }
    Ok(list)
}

fn field(thread: &mut Thread, text: &[u8]) -> Result<Value, Raise> {
    if text.is_ascii() {
        return thread.string_from_latin1(text);
    }
    let mut builder = TextBuilder::new();
    // The reader copied whole characters.
    builder.push_str(std::str::from_utf8(text).unwrap_or_default());
    builder.try_finish(thread)
}

/// `(%csv-write row port dialect always?)`.
fn write(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 1, flag::TEXTUAL | flag::OUTPUT)?;
    let (dialect, line_end) = dialect(thread, call, 2)?;
    let always = call.at(3).is_true();
    let mut fields = Vec::with_capacity(FIELDS_USUAL);
    match call.at(0).as_kind(Kind::Vector) {
        Some(vector) => fields.extend((0..vector.length()).map(|index| vector.field(index))),
        None => {
            call.list_length(thread, 0)?;
            fields.extend(Walk::new(call.at(0)));
        }
    }
    let mut text = TEXT.take();
    text.clear();
    let mut wrong = None;
    for (index, &value) in fields.iter().enumerate() {
        if index > 0 {
            text.push(char::from(dialect.delimiter));
        }
        let is_alone = fields.len() == 1;
        let mut put = |field: &str| write_field(field, &dialect, always, is_alone, &mut text);
        let (is_writable, is_written) = match value.as_kind(Kind::String) {
            Some(string) => {
                let done = with_units(string, |units| match units.to_ascii() {
                    Some(field) => put(&field),
                    None => put(&units.to_text()),
                });
                (true, done)
            }
            None if value.is_kind(Kind::Symbol)
                || canny_vm::numbers::number_of(value).is_some() =>
            {
                (true, put(&text_of(thread, value, Style::Display)))
            }
            None => (false, false),
        };
        if !is_written {
            wrong = Some((value, is_writable));
            break;
        }
    }
    match wrong {
        None => {
            text.push_str(line_end);
            let outcome = put_text(thread, call, port, &text);
            if text.capacity() <= TEXT_BYTES_MAX {
                TEXT.set(text);
            }
            outcome?;
            Ok(Value::UNSPECIFIED)
        }
        Some((value, false)) => {
            Err(call.type_error_of(thread, 0, "row of strings, symbols and numbers", value))
        }
        Some((value, true)) => {
            let message = "the dialect has no quotes, and a field needs them";
            Err(thread.raise(ConditionKind::Range, message, &[value], Some(call.who)))
        }
    }
}
