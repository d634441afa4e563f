//! Ports for both directions: an object that stands for two ports, one that reads and one that writes.
//!
//! Such an object has nothing behind it of its own. A primitive with a port argument asks for a
//! direction, and gets the side that has it, so that no operation knows of this. Its loan is that
//! of nobody: generated code always takes the slow way.
//!
//! Where both sides have one position, that of a file opened for both, the side that is used next
//! continues where the other one stopped. Before a read the buffered output goes out; before a
//! write the bytes read in advance are forgotten. Where procedures make and take the bytes, the
//! port's service does that. Such a port is for one thread at a time.

use std::sync::Arc;

use canny_io::file::open_pair;
use canny_io::{BinaryInput, Handle, IoError};
use canny_tables::kinds::Kind;
use canny_tables::layout::{port as field, port_sides as side};
use canny_tables::protocols::Service;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use super::open::open;
use super::table::{HostPort, bare_object, is_open, make_port, port_over};
use super::{
    flag, flags_of, name_of, on_binary_input, on_binary_output, on_text_input, on_text_output,
    output_mode, port_failure, required_port,
};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%join-ports" => join;
    "%port-side" => side_of_port;
    "%port-turns" => turns;
    "%open-input/output" => open_both;
};

const BOTH: i64 = flag::INPUT | flag::OUTPUT;

/// The last use of the position.
const READING: Value = Value::fixnum(0);
const WRITING: Value = Value::fixnum(1);

fn service_of(port: Value) -> Value {
    port.as_kind(Kind::Port)
        .map(|port| port.field(field::SERVICE))
        .filter(|service| service.is_kind(Kind::Closure))
        .unwrap_or(Value::FALSE)
}

/// The sides of a port for both directions.
pub(super) fn sides(port: Value) -> Option<ObjectRef> {
    if flags_of(port) & BOTH != BOTH {
        return None;
    }
    port.as_kind(Kind::Port)?
        .field(field::SIDES)
        .as_kind(Kind::Vector)
}

/// The port that does what the flags say: the side of a port for both directions that has one of them,
/// else the port.
#[inline]
pub(super) fn for_direction(
    thread: &mut Thread,
    call: Call,
    port: Value,
    flags: i64,
) -> Result<Value, Raise> {
    if flags_of(port) & BOTH != BOTH {
        return Ok(port);
    }
    match flags & BOTH {
        flag::INPUT => side(thread, call, port, READING),
        flag::OUTPUT => side(thread, call, port, WRITING),
        _ => Ok(port),
    }
}

/// The side that tells about a port for both directions what both know: the input, or the output when
/// that is closed.
pub(crate) fn for_questions(port: Value, thread: &mut Thread) -> Value {
    let Some(sides) = sides(port) else {
        return port;
    };
    let input = sides.field(side::INPUT);
    if is_open(thread, input) {
        return input;
    }
    sides.field(side::OUTPUT)
}

#[cold]
#[inline(never)]
fn side(thread: &mut Thread, call: Call, port: Value, turn: Value) -> Result<Value, Raise> {
    let Some(sides) = sides(port) else {
        return Ok(port);
    };
    let last = sides.field(side::TURN);
    if last.is_true() && last != turn {
        let input = sides.field(side::INPUT);
        let output = sides.field(side::OUTPUT);
        let service = service_of(port);
        if !is_open(thread, input) || !is_open(thread, output) {
            // The side that is left continues alone.
        } else if service.is_true() {
            // The operation is repeated, and finds it done.
            thread.store(sides.value(), side::TURN, turn);
            let request = if turn == READING {
                Service::TurnToRead
            } else {
                Service::TurnToWrite
            };
            return Err(thread.repeat_after(service, request.number()));
        } else if turn == READING {
            begin_to_read(thread, call, input, output)?;
        } else {
            begin_to_write(thread, call, input)?;
        }
        thread.store(sides.value(), side::TURN, turn);
    }
    Ok(sides.field(if turn == READING {
        side::INPUT
    } else {
        side::OUTPUT
    }))
}

fn begin_to_read(
    thread: &mut Thread,
    call: Call,
    input: Value,
    output: Value,
) -> Result<(), Raise> {
    if flags_of(input) & flag::BINARY != 0 {
        let offset = on_binary_output(thread, call, output, |output, wait| {
            output.flush(wait)?;
            output.byte_offset()
        })?;
        on_binary_input(thread, call, input, |input, _| input.seek(offset))
    } else {
        let offset = on_text_output(thread, call, output, |output, wait| {
            output.flush(wait)?;
            output.byte_offset()
        })?;
        on_text_input(thread, call, input, |input, _| input.text.seek(offset))
    }
}

/// Nothing is held back by the output, which continues where the descriptor is.
fn begin_to_write(thread: &mut Thread, call: Call, input: Value) -> Result<(), Raise> {
    if flags_of(input) & flag::BINARY != 0 {
        on_binary_input(thread, call, input, |input, _| {
            input.seek(input.byte_offset())
        })
    } else {
        on_text_input(thread, call, input, |input, _| {
            let offset = input.text.location().byte_offset;
            input.text.seek(offset)
        })
    }
}

/// The port for both directions of two ports of one kind, binary or textual.
fn join(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let is_binary = flags_of(call.at(0)) & flag::BINARY != 0;
    let content = if is_binary {
        flag::BINARY
    } else {
        flag::TEXTUAL
    };
    let input = required_port(thread, call, 0, content | flag::INPUT)?;
    let output = required_port(thread, call, 1, content | flag::OUTPUT)?;
    if flags_of(output) & flag::MEMORY != 0 {
        return Err(call.type_error(thread, 1, "output port that does not keep what is written"));
    }
    let port = joined(thread, input, output, call.at(2).is_true())?;
    if call.at(2).is_kind(Kind::Closure) {
        thread.store(port, field::SERVICE, call.at(2));
    }
    Ok(port)
}

fn joined(
    thread: &mut Thread,
    input: Value,
    output: Value,
    shares_position: bool,
) -> Result<Value, Raise> {
    let input = thread.protect(input);
    let output = thread.protect(output);
    let made = joined_protected(thread, |thread, sides| {
        let (input, output) = (thread.protected(input), thread.protected(output));
        thread.store(sides, side::INPUT, input);
        thread.store(sides, side::OUTPUT, output);
        let turn = if shares_position {
            READING
        } else {
            Value::FALSE
        };
        thread.store(sides, side::TURN, turn);
        input
    });
    thread.release(input);
    made
}

/// `fill` puts the sides into their vector and gives the input.
fn joined_protected(
    thread: &mut Thread,
    fill: impl FnOnce(&mut Thread, Value) -> Value,
) -> Result<Value, Raise> {
    let sides = thread.make_vector(side::COUNT, Value::FALSE)?;
    let input = fill(thread, sides);
    let content = flags_of(input) & (flag::BINARY | flag::TEXTUAL);
    let name = string_text(name_of(thread, input)).unwrap_or_default();
    let object = bare_object(thread, BOTH | content, &name)?;
    // No port has this number.
    thread.store(object, field::ID, Value::fixnum(-1));
    thread.store(object, field::SIDES, sides);
    Ok(object)
}

fn side_of_port(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let wanted = if call.at(1).is_true() {
        flag::OUTPUT
    } else {
        flag::INPUT
    };
    required_port(thread, call, 0, wanted)
}

/// How the sides of a port take turns, as `%join-ports` wants to know it.
fn turns(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let service = service_of(port);
    if service.is_true() {
        return Ok(service);
    }
    let turn = sides(port).map(|sides| sides.field(side::TURN));
    Ok(Value::boolean(turn.is_some_and(Value::is_true)))
}

fn open_both(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mode = output_mode(thread, call, 1)?;
    let handles = open(thread, call, move |path, wait| open_pair(path, mode, wait))?;
    port_of_both(thread, call, handles)
}

/// The binary port for both directions over the two handles of a descriptor.
pub(crate) fn port_of_both(
    thread: &mut Thread,
    call: Call,
    (input, output): (Arc<Handle>, Arc<Handle>),
) -> Result<Value, Raise> {
    let name = input.name().to_owned();
    let mut reader = BinaryInput::new(Arc::clone(&input));
    // It begins where the descriptor is, which somebody may have used before.
    let place = thread.outside_heap(|| {
        let place = input.seek(std::io::SeekFrom::Current(0))?;
        reader.seek(place)
    });
    let shares_position = match place {
        Ok(()) => true,
        Err(IoError::Unsupported(_)) => false,
        Err(error) => return Err(port_failure(thread, call, Value::FALSE, &error)),
    };
    let input = HostPort::binary_input(reader);
    let input = make_port(thread, input, flag::BINARY | flag::INPUT, &name)?;
    let input = thread.protect(input);
    let output = port_over(thread, output, flag::BINARY | flag::OUTPUT);
    let reader = thread.protected(input);
    thread.release(input);
    joined(thread, reader, output?, shares_position)
}
