//! Primitives on port objects: predicates, closing, names and positions in source text.
//!
//! Closing a port twice is no error. If the wait of a close is cancelled or its time is over, the
//! port closes without what it holds.

use canny_io::{IoError, Service, Wait};
use canny_tables::kinds::Kind;
use canny_tables::layout::port_sides;
use canny_tables::protocols::PortKey;
use canny_value::Value;
use canny_vm::{InPlace, PrimitiveFunction, Raise, Thread};

use super::sides::{for_direction, sides};
use super::table::{is_open as is_open_one, with_port};
use super::{
    flag, flags_of, heap_text, id_of, name_of, on_text_input, port_failure, put_off, required_port,
};
use crate::arguments::{Call, implementations};
use crate::primitives::tasks::{OnCancel, Then, note_wait, suspend_or};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%current-port" => current_port;
    "%set-default-port!" => set_default_port;
    "port?" => |_, call: Call| Ok(Value::boolean(call.at(0).is_kind(Kind::Port)));
    "input-port?" => |_, call| has_flag(call, flag::INPUT);
    "output-port?" => |_, call| has_flag(call, flag::OUTPUT);
    "textual-port?" => |_, call| has_flag(call, flag::TEXTUAL);
    "binary-port?" => |_, call| has_flag(call, flag::BINARY);
    "input-port-open?" => |thread, call| is_open(thread, call, flag::INPUT);
    "output-port-open?" => |thread, call| is_open(thread, call, flag::OUTPUT);
    "close-port" => |thread, call| close(thread, call, 0);
    "close-input-port" => |thread, call| close(thread, call, flag::INPUT);
    "close-output-port" => |thread, call| close(thread, call, flag::OUTPUT);
    "port-name" => port_name;
    "port-line" => |thread, call| place(thread, call, |location| location.line);
    "port-column" => |thread, call| place(thread, call, |location| location.column);
};

fn has_flag(call: Call, flag: i64) -> Result<Value, Raise> {
    Ok(Value::boolean(flags_of(call.at(0)) & flag != 0))
}

fn key(thread: &mut Thread, call: Call) -> Result<usize, Raise> {
    let key: PortKey = call.case(thread, 0)?;
    Ok(key as usize)
}

fn current_port(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let key = key(thread, call)?;
    super::current_port(thread, key)
}

fn set_default_port(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let key = key(thread, call)?;
    required_port(thread, call, 1, 0)?;
    thread.set_default_port(key, call.at(1));
    Ok(Value::UNSPECIFIED)
}

fn is_open(thread: &mut Thread, call: Call, flags: i64) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    if flags_of(port) & flags == 0 {
        return Ok(Value::FALSE);
    }
    if let Some(is_open) = heap_text::is_open(InPlace::of(thread), port, flags) {
        return Ok(Value::boolean(is_open));
    }
    let port = match sides(port) {
        Some(sides) if flags == flag::INPUT => sides.field(port_sides::INPUT),
        Some(sides) => sides.field(port_sides::OUTPUT),
        None => port,
    };
    Ok(Value::boolean(is_open_one(thread, port)))
}

fn close(thread: &mut Thread, call: Call, flags: i64) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flags)?;
    if heap_text::close(InPlace::of(thread), port, flags) {
        return Ok(Value::UNSPECIFIED);
    }
    match sides(port) {
        Some(sides) => {
            let [input, output] =
                [port_sides::INPUT, port_sides::OUTPUT].map(|side| sides.field(side));
            let closed = close_one(thread, call, output, Some(input));
            if closed.is_ok() {
                return close_one(thread, call, input, None);
            }
            if !is_open_one(thread, output) {
                // It failed and will not be asked again; what the input has to say is not as interesting.
                close_silently(thread, input);
            }
            closed
        }
        None => close_one(thread, call, port, None),
    }
}

/// Closes a port of one direction. A task that has to wait until the port's output is taken does so
/// without its thread. If that wait times out or the task is cancelled, the port is closed without
/// the output, and so is `other`.
fn close_one(
    thread: &mut Thread,
    call: Call,
    port: Value,
    other: Option<Value>,
) -> Result<Value, Raise> {
    let id = id_of(thread, port);
    let outcome = with_port(thread, id, |thread, host_port| {
        let interrupts = thread.interrupts();
        let at_once = thread.outside_heap(|| {
            if host_port
                .handle()
                .is_some_and(|handle| handle.wants_close())
            {
                return Err(IoError::Unserved(Service::Close));
            }
            host_port.close(Wait::NonBlocking)
        });
        match at_once {
            Err(IoError::WouldBlock) => put_off(thread, || {
                host_port.close(Wait::Interruptible(interrupts.interrupt_waiting()))
            }),
            outcome => outcome,
        }
    });
    match outcome {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(error @ IoError::Parked(_)) => {
            let ticket = thread.take_ticket().unwrap_or_default();
            note_wait(thread, &error);
            let other = other.and_then(|other| id_of(thread, other));
            let on_cancel: OnCancel = Box::new(move |thread| {
                discard(thread, id);
                discard(thread, other);
            });
            let then = Then::Repeat(error.timed_out_later());
            Err(suspend_or(thread, call.who, ticket, then, Some(on_cancel)))
        }
        Err(error) => Err(port_failure(thread, call, port, &error)),
    }
}

fn discard(thread: &mut Thread, id: Option<u64>) {
    if id.is_some() {
        let _ = with_port(thread, id, |thread, host_port| {
            thread.outside_heap(|| host_port.discard())
        });
    }
}

fn close_silently(thread: &mut Thread, port: Value) {
    let id = id_of(thread, port);
    let _ = with_port(thread, id, |thread, host_port| {
        thread.outside_heap(|| host_port.close(Wait::NonBlocking))
    });
}

fn port_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    Ok(name_of(thread, port))
}

fn place(
    thread: &mut Thread,
    call: Call,
    number: fn(canny_io::Location) -> u64,
) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let port = for_direction(thread, call, port, flag::INPUT)?;
    if flags_of(port) & (flag::TEXTUAL | flag::INPUT) != flag::TEXTUAL | flag::INPUT {
        return Ok(Value::FALSE);
    }
    let number = on_text_input(thread, call, port, |source, _| {
        Ok(number(source.text.location()))
    })?;
    Ok(thread.integer(number.min(i64::MAX as u64) as i64))
}
