//! Primitives on the file or socket behind a port: positions, length, truncation, locks, time
//! limits.
//!
//! An output port is flushed before its file is looked at, so that buffered text counts. Calls that
//! may block run outside of the heap. A port without a handle, such as a string port, raises.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use canny_io::file::{open_input, open_output};
use canny_io::{FileLock, Handle, IoError, Operation, Wait};
use canny_tables::layout::port_sides;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::open::open;
use super::sides::{for_direction, for_questions, sides};
use super::table::{is_open, port_over, unsupported, with_port};
use super::{
    flag, flags_of, id_of, on_binary_input, on_binary_output, on_text_input, on_text_output,
    output_mode, port_failure, required_port,
};
use crate::arguments::{Call, implementations};
use crate::primitives::tasks::resumable;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%open-input" => open_binary_input;
    "%open-output" => open_binary_output;
    "%port-position" => position;
    "%set-port-position!" => set_position;
    "%port-seekable?" => is_seekable;
    "%truncate-port" => truncate;
    "%sync-port" => sync;
    "%lock-port" => lock;
    "unlock-port" => unlock;
    "read-bytevector-at" => read_at;
    "port-file-length" => file_length;
    "port-timeout" => timeout;
    "%set-port-timeout!" => set_timeout;
};

fn open_binary_input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let handle = open(thread, call, open_input)?;
    port_over(thread, handle, flag::BINARY | flag::INPUT)
}

fn open_binary_output(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mode = output_mode(thread, call, 1)?;
    let handle = open(thread, call, move |path: &Path, wait: Wait<'_>| {
        open_output(path, mode, wait)
    })?;
    port_over(thread, handle, flag::BINARY | flag::OUTPUT)
}

/// The handle of a port. A port for both directions has one for each.
fn handle_of(
    thread: &mut Thread,
    call: Call,
    port: Value,
    operation: Operation,
) -> Result<Arc<Handle>, Raise> {
    let port = for_questions(port, thread);
    let id = id_of(thread, port);
    let handle = with_port(thread, id, |thread, host_port| {
        let handle = thread.outside_heap(|| host_port.handle());
        handle.ok_or_else(|| unsupported(operation))
    });
    handle.map_err(|error| port_failure(thread, call, port, &error))
}

/// Does something with the handle of a port, outside of the heap.
fn on_handle<R>(
    thread: &mut Thread,
    call: Call,
    port: Value,
    operation: Operation,
    work: impl FnOnce(&Handle) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let handle = handle_of(thread, call, port, operation)?;
    let outcome = thread.outside_heap(|| work(&handle));
    outcome.map_err(|error| port_failure(thread, call, port, &error))
}

/// The same with something that may take long.
fn long_on_handle<R>(
    thread: &mut Thread,
    call: Call,
    port: Value,
    operation: Operation,
    work: impl FnOnce(&Handle) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let handle = handle_of(thread, call, port, operation)?;
    let outcome = thread.block_outside_heap(|| work(&handle));
    outcome.map_err(|error| port_failure(thread, call, port, &error))
}

fn index(thread: &mut Thread, number: u64) -> Value {
    thread.integer(number.min(i64::MAX as u64) as i64)
}

/// The port of argument 0; where it reads, if it does both.
fn port_with_position(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    for_direction(thread, call, port, flag::INPUT)
}

fn position(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = port_with_position(thread, call)?;
    let flags = flags_of(port);
    let offset = match (flags & flag::INPUT != 0, flags & flag::BINARY != 0) {
        (true, true) => on_binary_input(thread, call, port, |input, _| Ok(input.byte_offset())),
        (true, false) => on_text_input(thread, call, port, |source, _| {
            Ok(source.text.location().byte_offset)
        }),
        (false, true) => on_binary_output(thread, call, port, |output, _| output.byte_offset()),
        (false, false) => on_text_output(thread, call, port, |output, _| output.byte_offset()),
    }?;
    Ok(index(thread, offset))
}

fn set_position(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let offset = call.index(thread, 1)? as u64;
    let port = port_with_position(thread, call)?;
    let flags = flags_of(port);
    match (flags & flag::INPUT != 0, flags & flag::BINARY != 0) {
        (true, true) => on_binary_input(thread, call, port, |input, _| input.seek(offset)),
        (true, false) => on_text_input(thread, call, port, |source, _| source.text.seek(offset)),
        (false, true) => {
            on_binary_output(thread, call, port, |output, wait| output.seek(offset, wait))
        }
        (false, false) => {
            on_text_output(thread, call, port, |output, wait| output.seek(offset, wait))
        }
    }?;
    Ok(Value::UNSPECIFIED)
}

fn is_seekable(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let port = for_questions(port, thread);
    let flags = flags_of(port);
    let in_memory = flags & flag::MEMORY != 0;
    if in_memory {
        return Ok(Value::boolean(flags & flag::INPUT != 0));
    }
    let outcome = on_handle(thread, call, port, Operation::Seek, |handle| {
        Ok(handle.seek(std::io::SeekFrom::Current(0)).is_ok())
    })?;
    Ok(Value::boolean(outcome))
}

/// Writes out what an output port holds, before something is done with its file.
fn flush_first(thread: &mut Thread, call: Call, port: Value) -> Result<(), Raise> {
    let mut port = port;
    if let Some(sides) = sides(port) {
        port = sides.field(port_sides::OUTPUT);
        if !is_open(thread, port) {
            return Ok(());
        }
    }
    let flags = flags_of(port);
    match (flags & flag::OUTPUT != 0, flags & flag::BINARY != 0) {
        (false, _) => Ok(()),
        (true, true) => on_binary_output(thread, call, port, |output, wait| output.flush(wait)),
        (true, false) => on_text_output(thread, call, port, |output, wait| output.flush(wait)),
    }
}

fn truncate(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::OUTPUT)?;
    let length = call.index(thread, 1)? as u64;
    flush_first(thread, call, port)?;
    long_on_handle(thread, call, port, Operation::Truncate, |handle| {
        handle.truncate(length)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn sync(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::OUTPUT)?;
    let data_only = call.at(1).is_true();
    flush_first(thread, call, port)?;
    long_on_handle(thread, call, port, Operation::Sync, |handle| {
        handle.sync(data_only)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn lock(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let kind = if call.at(1).is_true() {
        FileLock::Exclusive
    } else {
        FileLock::Shared
    };
    let waits = call.at(2).is_true();
    let handle = handle_of(thread, call, port, Operation::Lock)?;
    let deadline = handle
        .timeout()
        .and_then(|timeout| canny_replay::now().checked_add(timeout));
    let is_locked = resumable(
        thread,
        call,
        deadline,
        |()| true,
        || Ok(()),
        |(), wait| {
            let wait = if waits { wait } else { Wait::NonBlocking };
            match handle.lock_file(kind, wait) {
                Ok(()) => Ok(Ok(true)),
                Err(IoError::WouldBlock) => Ok(Ok(false)),
                Err(error @ IoError::Parked(_)) => Err(error),
                Err(error) => Ok(Err(error)),
            }
        },
    )?;
    match is_locked {
        Ok(is_locked) => Ok(Value::boolean(is_locked)),
        Err(error) => Err(port_failure(thread, call, port, &error)),
    }
}

fn unlock(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    flush_first(thread, call, port)?;
    on_handle(thread, call, port, Operation::Lock, |handle| {
        handle.unlock_file()
    })?;
    Ok(Value::UNSPECIFIED)
}

/// Bytes that are fetched for a file of unknown size.
const PIECE_BYTES: usize = 1 << 20;

fn read_at(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::INPUT)?;
    let offset = call.index(thread, 1)? as u64;
    let count = call.index(thread, 2)?;
    let bytes = long_on_handle(thread, call, port, Operation::Read, |handle| {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let start = bytes.len();
            bytes.resize(count.min(start + PIECE_BYTES), 0);
            let read = handle.read_at(&mut bytes[start..], offset + start as u64)?;
            let is_short = start + read < bytes.len();
            bytes.truncate(start + read);
            if is_short {
                break;
            }
        }
        Ok(bytes)
    })?;
    if bytes.is_empty() && count > 0 {
        return Ok(Value::EOF);
    }
    thread.bytevector(&bytes)
}

fn file_length(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    flush_first(thread, call, port)?;
    let length = on_handle(thread, call, port, Operation::Seek, |handle| {
        handle.length()
    })?;
    Ok(index(thread, length))
}

fn timeout(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let timeout = on_handle(thread, call, port, Operation::Read, |handle| {
        Ok(handle.timeout())
    })?;
    Ok(match timeout {
        Some(timeout) => thread.flonum(timeout.as_secs_f64()),
        None => Value::FALSE,
    })
}

fn set_timeout(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    let timeout = if call.at(1).is_true() {
        let milliseconds = call.index(thread, 1)? as u64;
        Some(Duration::from_millis(milliseconds))
    } else {
        None
    };
    let ports = match sides(port) {
        Some(sides) => [port_sides::INPUT, port_sides::OUTPUT].map(|side| sides.field(side)),
        None => [port; 2],
    };
    for port in ports {
        on_handle(thread, call, port, Operation::Read, |handle| {
            handle.set_timeout(timeout);
            Ok(())
        })?;
    }
    Ok(Value::UNSPECIFIED)
}
