//! Primitives that read and write bytes through binary ports.
//!
//! Arguments are checked before the port is touched. A write goes straight from the bytevector to
//! the port if the port takes it at once. Otherwise the bytes are copied first, since a write that
//! waits runs while other threads collect.

use canny_value::Value;
use canny_vm::{InPlace, PrimitiveFunction, Raise, Thread};

use super::table::{HostPort, with_port};
use super::{
    at_once, flag, id_of, key, on_binary_input, on_binary_output, port_argument, port_failure,
    quick,
};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "read-u8" => read_u8;
    "peek-u8" => peek_u8;
    "u8-ready?" => is_u8_ready;
    "read-bytevector" => read_bytevector;
    "read-bytevector!" => read_bytevector_into;
    "write-u8" => write_u8;
    "write-bytevector" => write_bytevector;
};

fn source(thread: &mut Thread, call: Call, position: usize) -> Result<Value, Raise> {
    port_argument(
        thread,
        call,
        position,
        key::INPUT,
        flag::BINARY | flag::INPUT,
    )
}

fn target(thread: &mut Thread, call: Call, position: usize) -> Result<Value, Raise> {
    port_argument(
        thread,
        call,
        position,
        key::OUTPUT,
        flag::BINARY | flag::OUTPUT,
    )
}

fn byte_or_end(byte: Option<u8>) -> Result<Value, Raise> {
    Ok(byte.map_or(Value::EOF, |byte| Value::fixnum(i64::from(byte))))
}

fn read_u8(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if let Some(answer) = quick::read_u8(InPlace::of(thread), port, true) {
        return Ok(answer);
    }
    byte_or_end(on_binary_input(thread, call, port, |input, wait| {
        input.read_u8(wait)
    })?)
}

fn peek_u8(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if let Some(answer) = quick::read_u8(InPlace::of(thread), port, false) {
        return Ok(answer);
    }
    byte_or_end(on_binary_input(thread, call, port, |input, wait| {
        input.peek_u8(wait)
    })?)
}

fn is_u8_ready(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = source(thread, call, 0)?;
    if quick::is_ready(InPlace::of(thread), port, true) {
        return Ok(Value::TRUE);
    }
    let is_ready = on_binary_input(thread, call, port, |input, _| input.u8_ready())?;
    Ok(Value::boolean(is_ready))
}

fn read_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 0)?;
    let port = source(thread, call, 1)?;
    if let Some(answer) = quick::read_bytes(InPlace::of(thread), port, count) {
        return Ok(answer);
    }
    let bytes = read_bytes(thread, call, port, count)?;
    match bytes {
        Some(bytes) => thread.bytevector(&bytes),
        None => Ok(Value::EOF),
    }
}

fn read_bytes(
    thread: &mut Thread,
    call: Call,
    port: Value,
    count: usize,
) -> Result<Option<Vec<u8>>, Raise> {
    on_binary_input(thread, call, port, |input, wait| {
        input.read_vector(count, wait)
    })
}

fn read_bytevector_into(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = call.mutable_bytevector(thread, 0)?.length();
    let port = source(thread, call, 1)?;
    let range = call.range(thread, 2, length)?;
    let target = call.bytevector(thread, 0)?;
    if let Some(answer) = quick::fill(InPlace::of(thread), port, target, range.clone()) {
        return Ok(answer);
    }
    match read_bytes(thread, call, port, range.len())? {
        Some(bytes) => {
            call.bytevector(thread, 0)?
                .copy_bytes_in(range.start, &bytes);
            Ok(Value::fixnum(bytes.len() as i64))
        }
        None => Ok(Value::EOF),
    }
}

fn write_u8(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let byte = call.byte(thread, 0)?;
    let port = target(thread, call, 1)?;
    if quick::put_bytes(InPlace::of(thread), port, &[byte]) {
        return Ok(Value::UNSPECIFIED);
    }
    on_binary_output(thread, call, port, |output, wait| {
        output.provide_room();
        output.write_u8(byte, wait)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn write_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (bytes, range) = call.bytevector_range(thread, 0, 2)?;
    let port = target(thread, call, 1)?;
    if bytes.with_bytes(|bytes| quick::put_bytes(InPlace::of(thread), port, &bytes[range.clone()]))
    {
        return Ok(Value::UNSPECIFIED);
    }
    let id = id_of(thread, port);
    let direct = with_port(thread, id, |thread, host_port| match host_port {
        HostPort::BinaryOutput(shared) => Ok(at_once(thread, shared, |output, wait| {
            bytes.with_bytes(|bytes| output.write_bytes(&bytes[range.clone()], wait))
        })),
        _ => Err(super::table::unknown_port()),
    });
    match direct {
        Ok(Some(Ok(()))) => return Ok(Value::UNSPECIFIED),
        Ok(Some(Err(error))) | Err(error) => return Err(port_failure(thread, call, port, &error)),
        Ok(None) => {}
    }
    let copy = bytes.with_bytes(|bytes| bytes[range].to_vec());
    on_binary_output(thread, call, port, |output, wait| {
        output.write_bytes(&copy, wait)
    })?;
    Ok(Value::UNSPECIFIED)
}
