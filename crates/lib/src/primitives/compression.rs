//! Primitives of `(canny compression)`: compressing and decompressing ports, and whole bytevectors.
//!
//! A port reads or writes its inner port through a device of `canny_formats`; a decompressing port
//! takes the inner one over. Long bytevectors are worked on by another thread, so that collections
//! and interrupts need not wait. Decompression stops at the heap limit.

use std::sync::Arc;

use canny_formats::compression::{
    CompressingDevice, DecompressingDevice, Format, compress, decompress,
};
use canny_io::port::EncodeOptions;
use canny_io::{Access, BinaryInput, BinaryOutput, DecodeOptions, Handle, TextInput, TextOutput};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, Effort, implementations};
use crate::primitives::ports::table::{HostPort, make_port, unknown_port, with_port};
use crate::primitives::ports::{failed, flag, id_of, on_binary_input, required_port};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%open-decompressor" => open_decompressor;
    "%open-compressor" => open_compressor;
    "%compress" => compress_row;
    "%decompress" => decompress_row;
};

fn format(thread: &mut Thread, call: Call, position: usize) -> Result<Format, Raise> {
    let name = symbol_name(call.symbol(thread, position)?.value()).unwrap_or_default();
    match Format::named(&name) {
        Some(format) => Ok(format),
        None => Err(call.range_error(thread, position, "one of gzip, zlib, deflate and zstd")),
    }
}

fn level(
    thread: &mut Thread,
    call: Call,
    position: usize,
    format: Format,
) -> Result<Option<u32>, Raise> {
    if call.at(position) == Value::FALSE {
        return Ok(None);
    }
    let level = call.index(thread, position)?;
    match u32::try_from(level)
        .ok()
        .filter(|level| format.levels().contains(level))
    {
        Some(level) => Ok(Some(level)),
        None => {
            let levels = format.levels();
            let expected = format!("a level from {} to {}", levels.start(), levels.end());
            Err(call.range_error(thread, position, &expected))
        }
    }
}

/// `(%open-decompressor port format text?)`. The inner port is taken over.
fn open_decompressor(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::INPUT)?;
    let format = format(thread, call, 1)?;
    let source = on_binary_input(thread, call, port, |input, _| input.take_open())?;
    let name = source.name().to_owned();
    let device = DecompressingDevice::new(source, format);
    let handle = Handle::from_device(Box::new(device), &name, Access::Read);
    if call.at(2).is_true() {
        let port = HostPort::text_input(TextInput::new(handle, DecodeOptions::default()));
        return make_port(thread, port, flag::TEXTUAL | flag::INPUT, &name);
    }
    let port = HostPort::binary_input(BinaryInput::new(handle));
    make_port(thread, port, flag::BINARY | flag::INPUT, &name)
}

/// `(%open-compressor port format level text? close?)`.
fn open_compressor(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::OUTPUT)?;
    let format = format(thread, call, 1)?;
    let level = level(thread, call, 2, format)?;
    let closes_target = call.at(4).is_true();
    let id = id_of(thread, port);
    let target = with_port(thread, id, |_, host_port| match host_port {
        HostPort::BinaryOutput(shared) => Ok(Arc::clone(shared)),
        _ => Err(unknown_port()),
    });
    let target = target.map_err(|error| failed(thread, call.who, Some(port), &error))?;
    let name = target.lock().name().to_owned();
    let device = CompressingDevice::new(target, format, level, closes_target);
    let handle = Handle::from_device(Box::new(device), &name, Access::Write);
    if call.at(3).is_true() {
        let port = HostPort::text_output(TextOutput::new(handle, EncodeOptions::default()));
        return make_port(thread, port, flag::TEXTUAL | flag::OUTPUT, &name);
    }
    let port = HostPort::binary_output(BinaryOutput::new(handle));
    make_port(thread, port, flag::BINARY | flag::OUTPUT, &name)
}

/// Bytes whose compression takes some milliseconds.
const COMPRESSED_LONG: usize = 1 << 18;
/// The same for bytes that may become a thousand times as many.
const DECOMPRESSED_LONG: usize = 1 << 16;

fn compress_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let format = format(thread, call, 1)?;
    let level = level(thread, call, 2, format)?;
    let effort = Effort::OutsideHeap.or_offloaded(bytes.len() >= COMPRESSED_LONG);
    match call.compute(thread, effort, move || compress(&bytes, format, level))? {
        Ok(bytes) => thread.bytevector(&bytes),
        Err(error) => Err(refused(thread, call, &error.to_string())),
    }
}

fn decompress_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let format = format(thread, call, 1)?;
    // A result that the heap cannot hold need not be made.
    let heap_bytes = thread.vm().heap().limit_bytes();
    let bytes_max = match call.at(2) {
        Value::FALSE => heap_bytes,
        _ => call.index(thread, 2)?.min(heap_bytes),
    };
    let effort = Effort::OutsideHeap.or_offloaded(bytes.len() >= DECOMPRESSED_LONG);
    let work = move || decompress(&bytes, format, bytes_max);
    match call.compute(thread, effort, work)? {
        Ok(bytes) => thread.bytevector(&bytes),
        Err(message) => Err(refused(thread, call, &message)),
    }
}

fn refused(thread: &mut Thread, call: Call, message: &str) -> Raise {
    thread.raise(ConditionKind::File, message, &[], Some(call.who))
}
