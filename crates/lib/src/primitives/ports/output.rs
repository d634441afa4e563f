//! Primitives that write text: characters, strings, and objects by the printer.
//!
//! Short texts go straight into the port's buffer or loan; others take the port's lock. Printed
//! objects are written in pieces, so that a large or endless object needs no memory for its whole
//! text. A repeated primitive never writes twice what was accepted.

use canny_number::write_number;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::{LONG_LIMBS, limbs_of, number_of};
use canny_vm::strings::{string_data, string_length};
use canny_vm::{InPlace, PrimitiveFunction, Raise, Thread};

use super::table::{HostPort, unknown_port, with_port};
use super::{
    at_once, flag, flags_of, id_of, is_served, key, on_binary_output, on_text_output,
    port_argument, port_failure, quick,
};
use crate::arguments::{Call, implementations};
use crate::printer::{Printer, Style};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "write-char" => write_char;
    "write-string" => write_string;
    "newline" => newline;
    "fresh-line" => fresh_line;
    "flush-output-port" => flush;
    "write" => |thread, call| print(thread, call, Style::Write);
    "write-shared" => |thread, call| print(thread, call, Style::WriteShared);
    "write-simple" => |thread, call| print(thread, call, Style::WriteSimple);
    "display" => display;
};

/// The textual output port of argument `position`, or the current output port.
#[inline]
fn target(thread: &mut Thread, call: Call, position: usize) -> Result<Value, Raise> {
    port_argument(
        thread,
        call,
        position,
        key::OUTPUT,
        flag::TEXTUAL | flag::OUTPUT,
    )
}

fn put_character(
    thread: &mut Thread,
    call: Call,
    port: Value,
    character: char,
) -> Result<Value, Raise> {
    if quick::put_character(InPlace::of(thread), port, character) {
        return Ok(Value::UNSPECIFIED);
    }
    on_text_output(thread, call, port, |output, wait| {
        output.write_char(character, wait)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn write_char(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let character = call.character(thread, 0)?;
    let port = target(thread, call, 1)?;
    if quick::put_character(InPlace::of(thread), port, character) {
        return Ok(Value::UNSPECIFIED);
    }
    on_text_output(thread, call, port, |output, wait| {
        output.provide_room();
        output.write_char(character, wait)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn newline(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = target(thread, call, 0)?;
    put_character(thread, call, port, '\n')
}

fn fresh_line(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = target(thread, call, 0)?;
    on_text_output(thread, call, port, |output, wait| output.fresh_line(wait))?;
    Ok(Value::UNSPECIFIED)
}

fn flush(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = port_argument(thread, call, 0, key::OUTPUT, flag::OUTPUT)?;
    if flags_of(port) & flag::BINARY != 0 {
        on_binary_output(thread, call, port, |output, wait| output.flush(wait))?;
    } else {
        on_text_output(thread, call, port, |output, wait| output.flush(wait))?;
    }
    Ok(Value::UNSPECIFIED)
}

fn write_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 2)?;
    let port = target(thread, call, 1)?;
    put_string(thread, call, port, string, range)
}

/// Writes part of a string object, straight from the heap if the port takes it at once.
fn put_string(
    thread: &mut Thread,
    call: Call,
    port: Value,
    string: ObjectRef,
    range: std::ops::Range<usize>,
) -> Result<Value, Raise> {
    let data = string_data(string);
    let is_narrow = data.kind() == Kind::String8;
    let done = with_units(string, |units| {
        quick::put_units(InPlace::of(thread), port, units.slice(range.clone()))
    });
    if done {
        return Ok(Value::UNSPECIFIED);
    }
    let id = id_of(thread, port);
    let direct = with_port(thread, id, |thread, host_port| match host_port {
        HostPort::TextOutput(shared) => Ok(at_once(thread, shared, |output, wait| {
            if is_narrow {
                data.with_bytes(|bytes| output.write_latin1(&bytes[range.clone()], wait))
            } else {
                data.with_utf32(|units| output.write_utf32(&units[range.clone()], wait))
            }
        })),
        _ => Err(unknown_port()),
    });
    match direct {
        Ok(Some(Ok(()))) => return Ok(Value::UNSPECIFIED),
        Ok(Some(Err(error))) | Err(error) => return Err(port_failure(thread, call, port, &error)),
        Ok(None) => {}
    }
    if is_narrow {
        let copy = data.with_bytes(|bytes| bytes[range].to_vec());
        on_text_output(thread, call, port, |output, wait| {
            output.write_latin1(&copy, wait)
        })?;
    } else {
        let copy = data.with_utf32(|units| units[range].to_vec());
        on_text_output(thread, call, port, |output, wait| {
            output.write_utf32(&copy, wait)
        })?;
    }
    Ok(Value::UNSPECIFIED)
}

/// Writes text made by the library.
pub(crate) fn put_text(
    thread: &mut Thread,
    call: Call,
    port: Value,
    text: &str,
) -> Result<(), Raise> {
    if quick::put_ascii(InPlace::of(thread), port, text.as_bytes()) {
        return Ok(());
    }
    on_text_output(thread, call, port, |output, wait| {
        output.write_str(text, wait)
    })
}

fn display(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let object = call.at(0);
    if let Some(character) = object.as_character() {
        let port = target(thread, call, 1)?;
        return put_character(thread, call, port, character);
    }
    if let Some(string) = object.as_kind(Kind::String) {
        let port = target(thread, call, 1)?;
        return put_string(thread, call, port, string, 0..string_length(string));
    }
    print(thread, call, Style::Display)
}

/// Prints argument 0. Long output goes out in pieces, so that neither a large object nor one without
/// an end takes memory for its whole text.
fn print(thread: &mut Thread, call: Call, style: Style) -> Result<Value, Raise> {
    let port = target(thread, call, 1)?;
    if limbs_of(call.at(0)) >= LONG_LIMBS
        && let Some(number) = number_of(call.at(0))
    {
        let text = call.compute_offloaded(thread, move || write_number(&number, 10))?;
        put_text(thread, call, port, &text)?;
        return Ok(Value::UNSPECIFIED);
    }
    if let Some(text) = crate::printer::text_of_atom(thread, call.at(0), style) {
        put_text(thread, call, port, &text)?;
        return Ok(Value::UNSPECIFIED);
    }
    let mut printer = Printer::new(thread.vm(), call.at(0), style);
    if is_served(port) {
        // A part that was written would be written again when the operation is repeated.
        while !printer.print_some() {}
        let text = printer.take_text();
        put_text(thread, call, port, &text)?;
        return Ok(Value::UNSPECIFIED);
    }
    loop {
        let is_done = printer.print_some();
        let text = printer.take_text();
        if is_done {
            put_text(thread, call, port, &text)?;
            return Ok(Value::UNSPECIFIED);
        }
        let parked = printer.park(thread);
        let written = put_text(thread, call, port, &text);
        if thread.safepoint() && written.is_ok() {
            thread.release(parked.place());
            return Err(super::failed(
                thread,
                call.who,
                None,
                &canny_io::IoError::Interrupted,
            ));
        }
        if let Err(raise) = written {
            thread.release(parked.place());
            return Err(raise);
        }
        printer.unpark(thread, parked);
    }
}
