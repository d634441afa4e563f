//! Textual ports in the place of binary ones, and the options that say how bytes and text correspond.
//!
//! An encoding is a name here. Encodings of a program's own are made in Scheme, of ports that a
//! procedure serves.

use std::sync::Arc;

use canny_io::encoding::{by_name, names};
use canny_io::port::EncodeOptions;
use canny_io::{
    Buffering, ByteOrderMark, CodingPolicy, DecodeOptions, Encoding, LineSeparator, TextInput,
    TextOutput,
};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use super::sides::for_questions;
use super::table::{HostPort, make_port};
use super::{
    flag, flags_of, name_of, on_binary_input, on_binary_output, on_text_input, on_text_output,
    required_port,
};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%transcode-input" => transcode_input;
    "%transcode-output" => transcode_output;
    "%set-port-buffering!" => set_buffering;
    "%set-port-lines!" => set_lines;
    "%port-encoding" => port_encoding;
    "%encoding-name" => encoding_name;
    "encoding-names" => encoding_names;
};

/// The encoding that an argument names.
fn encoding(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<dyn Encoding>, Raise> {
    let name = call.at(position);
    let text = string_text(name).or_else(|| symbol_name(name));
    let Some(text) = text else {
        return Err(call.type_error(thread, position, "name of an encoding"));
    };
    match by_name(&text) {
        Some(encoding) => Ok(encoding),
        None => Err(call.range_error(thread, position, "not a known encoding")),
    }
}

/// The symbol of an argument, as the value that a row of `choices` has for it.
fn choice<T: Copy>(
    thread: &mut Thread,
    call: Call,
    position: usize,
    expected: &str,
    choices: &[(&str, T)],
) -> Result<T, Raise> {
    let name = symbol_name(call.at(position));
    let row = name.and_then(|name| choices.iter().find(|(known, _)| *known == name));
    match row {
        Some((_, value)) => Ok(*value),
        None => Err(call.type_error(thread, position, expected)),
    }
}

fn policy(thread: &mut Thread, call: Call, position: usize) -> Result<CodingPolicy, Raise> {
    let choices = [
        ("raise", CodingPolicy::Raise),
        ("replace", CodingPolicy::Replace),
        ("ignore", CodingPolicy::Ignore),
    ];
    choice(
        thread,
        call,
        position,
        "one of raise, replace, ignore",
        &choices,
    )
}

fn byte_order_mark(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<ByteOrderMark, Raise> {
    let choices = [("omit", ByteOrderMark::Omit), ("keep", ByteOrderMark::Keep)];
    choice(thread, call, position, "one of omit, keep", &choices)
}

/// The line separators of an argument: `any`, `linefeed`, a string, or a list of strings.
fn line_separator(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<LineSeparator, Raise> {
    const EXPECTED: &str = "any, linefeed, string or list of strings";
    let value = call.at(position);
    if value.is_kind(Kind::Symbol) {
        let choices = [("any", 0), ("linefeed", 1)];
        return Ok(match choice(thread, call, position, EXPECTED, &choices)? {
            0 => LineSeparator::Any,
            _ => LineSeparator::LineFeed,
        });
    }
    let mut separators: Vec<Box<str>> = Vec::new();
    let mut rest = value;
    if let Some(only) = string_text(value) {
        separators.push(only.into());
        rest = Value::NIL;
    } else {
        call.list_length(thread, position)?;
    }
    while let Some(pair) = rest.as_pair() {
        match string_text(pair.car()) {
            Some(text) => separators.push(text.into()),
            None => return Err(call.type_error(thread, position, EXPECTED)),
        }
        rest = pair.cdr();
    }
    separators.retain(|separator| !separator.is_empty());
    if separators.is_empty() {
        return Err(call.type_error(thread, position, EXPECTED));
    }
    if separators.len() == 1 && &*separators[0] == "\n" {
        return Ok(LineSeparator::LineFeed);
    }
    Ok(LineSeparator::Strings(separators))
}

fn buffering(thread: &mut Thread, call: Call, position: usize) -> Result<Option<Buffering>, Raise> {
    let choices = [
        ("default", None),
        ("block", Some(Buffering::Block)),
        ("line", Some(Buffering::Line)),
        ("none", Some(Buffering::None)),
    ];
    choice(
        thread,
        call,
        position,
        "one of default, block, line, none",
        &choices,
    )
}

/// How text is decoded: encoding, malformed, lines and byte order mark from argument `position` on.
fn decode_options(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<DecodeOptions, Raise> {
    Ok(DecodeOptions {
        encoding: encoding(thread, call, position)?,
        malformed: policy(thread, call, position + 1)?,
        line_separator: line_separator(thread, call, position + 2)?,
        byte_order_mark: byte_order_mark(thread, call, position + 3)?,
    })
}

/// The port object that stands in the place of another one.
fn successor(
    thread: &mut Thread,
    before: Value,
    port: HostPort,
    flags: i64,
) -> Result<Value, Raise> {
    let name = string_text(name_of(thread, before)).unwrap_or_default();
    let before = thread.protect(before);
    let after = make_port(thread, port, flags, &name)?;
    let old = thread.protected(before);
    thread.release(before);
    if let Some(old) = old.as_kind(Kind::Port) {
        thread.store(after, field::SERVICE, old.field(field::SERVICE));
    }
    Ok(after)
}

fn transcode_input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::INPUT)?;
    let options = decode_options(thread, call, 1)?;
    let text = on_binary_input(thread, call, port, |input, _| {
        TextInput::from_binary(input, options.clone())
    })?;
    let flags = flag::TEXTUAL | flag::INPUT | flags_of(port) & flag::MEMORY;
    successor(thread, port, HostPort::text_input(text), flags)
}

fn transcode_output(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::OUTPUT)?;
    if flags_of(port) & flag::MEMORY != 0 {
        return Err(call.type_error(thread, 0, "binary output port that does not keep its bytes"));
    }
    let options = EncodeOptions {
        encoding: encoding(thread, call, 1)?,
        unencodable: policy(thread, call, 2)?,
        byte_order_mark: byte_order_mark(thread, call, 3)?,
    };
    let buffering = buffering(thread, call, 4)?;
    let text = on_binary_output(thread, call, port, |output, _| {
        let mut text = TextOutput::from_binary(output, options.clone())?;
        let usual = text
            .handle()
            .map_or(Buffering::Block, |handle| Buffering::for_handle(handle));
        text.set_buffering(buffering.unwrap_or(usual));
        Ok(text)
    })?;
    let flags = flag::TEXTUAL | flag::OUTPUT;
    successor(thread, port, HostPort::text_output(text), flags)
}

fn set_buffering(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::OUTPUT)?;
    let Some(buffering) = buffering(thread, call, 1)? else {
        return Ok(Value::UNSPECIFIED);
    };
    if flags_of(port) & flag::BINARY != 0 {
        on_binary_output(thread, call, port, |output, _| {
            output.set_buffering(buffering);
            Ok(())
        })?;
    } else {
        on_text_output(thread, call, port, |output, _| {
            output.set_buffering(buffering);
            Ok(())
        })?;
    }
    Ok(Value::UNSPECIFIED)
}

fn set_lines(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let separator = line_separator(thread, call, 1)?;
    on_text_input(thread, call, port, |source, _| {
        source.text.set_line_separator(separator.clone());
        Ok(())
    })?;
    Ok(Value::UNSPECIFIED)
}

fn port_encoding(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL)?;
    let port = for_questions(port, thread);
    let name = if flags_of(port) & flag::INPUT != 0 {
        on_text_input(thread, call, port, |source, _| {
            Ok(source.text.options().encoding.name().to_owned())
        })?
    } else {
        on_text_output(thread, call, port, |output, _| {
            Ok(output.options().encoding.name().to_owned())
        })?
    };
    Ok(thread.string(&name))
}

fn encoding_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = call.string(thread, 0)?.value();
    match string_text(name).and_then(|name| by_name(&name)) {
        Some(encoding) => Ok(thread.string(encoding.name())),
        None => Ok(Value::FALSE),
    }
}

fn encoding_names(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let first = thread.protect(Value::NIL);
    for name in names().into_iter().rev() {
        let name = thread.string(name);
        let list = thread.cons(name, thread.protected(first));
        thread.set_protected(first, list);
    }
    let list = thread.protected(first);
    thread.release(first);
    Ok(list)
}
