//! Primitives that make ports, of files, strings and bytevectors, and that work on files by name.
//!
//! When the process is out of descriptors, unreachable ports are collected and the operation is
//! tried once more. Opening a named pipe parks the task and does not block its thread.

use std::path::{Path, PathBuf};

use canny_io::file::{Opening, delete_file, file_exists, is_named_pipe, open_input, open_output};
use canny_io::{BinaryInput, IoError, OutputMode, TextInput, Wait};
use canny_value::Value;
use canny_vm::{InPlace, PrimitiveFunction, Raise, TextBuilder, Thread, string_text};

use super::table::{HostPort, make_port, port_over};
use super::{
    failed, flag, heap_source, heap_text, on_binary_output, on_text_output, required_port,
};
use crate::arguments::{Call, implementations};
use crate::host::sweep_dead;
use crate::primitives::tasks::resumable;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "open-input-file" => open_text_input;
    "open-binary-input-file" => open_binary_input;
    "open-output-file" => |thread, call| open_text_output(thread, call, OutputMode::Truncate);
    "open-append-file" => |thread, call| open_text_output(thread, call, OutputMode::Append);
    "open-binary-output-file" => open_binary_output;
    "open-input-string" => open_input_string;
    "open-output-string" => open_output_string;
    "get-output-string" => get_output_string;
    "open-input-bytevector" => open_input_bytevector;
    "open-output-bytevector" => open_output_bytevector;
    "get-output-bytevector" => get_output_bytevector;
    "file-exists?" => file_exists_row;
    "delete-file" => delete_file_row;
};

fn path(thread: &mut Thread, call: Call) -> Result<PathBuf, Raise> {
    crate::primitives::file_names::path(thread, call, 0)
}

/// Does outside of the heap what takes descriptors. When there are none left, those of what nobody can
/// reach any more are given back, and it is tried once more.
pub(crate) fn with_descriptors<R, E>(
    thread: &mut Thread,
    is_out_of_descriptors: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<R, E>,
) -> Result<R, E> {
    collecting_descriptors(thread, is_out_of_descriptors, |thread| {
        thread.outside_heap(&mut attempt)
    })
}

/// The same for what leaves the heap by itself.
pub(crate) fn collecting_descriptors<R, E>(
    thread: &mut Thread,
    is_out_of_descriptors: impl Fn(&E) -> bool,
    mut attempt: impl FnMut(&mut Thread) -> Result<R, E>,
) -> Result<R, E> {
    let outcome = attempt(thread);
    if !outcome.as_ref().is_err_and(is_out_of_descriptors) {
        return outcome;
    }
    free_descriptors(thread);
    attempt(thread)
}

/// The same for operations that may block their system thread for long.
pub(crate) fn with_descriptors_for_long<R, E>(
    thread: &mut Thread,
    is_out_of_descriptors: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> Result<R, E>,
) -> Result<R, E> {
    collecting_descriptors(thread, is_out_of_descriptors, |thread| {
        thread.block_outside_heap(&mut attempt)
    })
}

/// Closes what nobody can reach any more.
pub(crate) fn free_descriptors(thread: &mut Thread) {
    thread.collect_garbage(true);
    sweep_dead(thread);
}

/// Whether the system has no more descriptors to give.
pub(crate) fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Opens the file that argument 0 names, a named pipe without holding up other tasks. When there are
/// too many open files, those that nobody can reach any more are closed first.
pub(super) fn open<R: Send + 'static>(
    thread: &mut Thread,
    call: Call,
    open: impl Fn(&Path, Wait<'_>) -> Result<R, IoError> + Copy + Send + 'static,
) -> Result<R, Raise> {
    let name = path(thread, call)?;
    let interrupts = thread.interrupts();
    if thread.has_other_tasks() && thread.outside_heap(|| is_named_pipe(&name)) {
        return resumable(
            thread,
            call,
            None,
            |opening: &Opening<R>| opening.is_of(&name),
            || Opening::begin(&name, open),
            Opening::proceed,
        );
    }
    let outcome = with_descriptors(thread, IoError::is_out_of_descriptors, || {
        open(&name, Wait::Interruptible(interrupts.interrupt_waiting()))
    });
    outcome.map_err(|error| failed(thread, call.who, None, &error))
}

fn open_text_input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let handle = open(thread, call, open_input)?;
    port_over(thread, handle, flag::TEXTUAL | flag::INPUT)
}

fn open_binary_input(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let handle = open(thread, call, open_input)?;
    port_over(thread, handle, flag::BINARY | flag::INPUT)
}

fn open_text_output(thread: &mut Thread, call: Call, mode: OutputMode) -> Result<Value, Raise> {
    let handle = open(thread, call, move |path, wait| {
        open_output(path, mode, wait)
    })?;
    port_over(thread, handle, flag::TEXTUAL | flag::OUTPUT)
}

fn open_binary_output(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let handle = open(thread, call, |path, wait| {
        open_output(path, OutputMode::Truncate, wait)
    })?;
    port_over(thread, handle, flag::BINARY | flag::OUTPUT)
}

fn open_input_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if let Some(port) = heap_source::open_string(InPlace::of(thread), call.at(0)) {
        return Ok(port);
    }
    if let Some(port) = heap_source::open_long_string(thread, call)? {
        return Ok(port);
    }
    let text = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let port = HostPort::text_input(TextInput::from_text(text));
    make_port(
        thread,
        port,
        flag::TEXTUAL | flag::INPUT | flag::MEMORY,
        "string",
    )
}

fn open_output_string(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    Ok(heap_text::open(InPlace::of(thread)))
}

fn get_output_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let flags = flag::TEXTUAL | flag::OUTPUT | flag::MEMORY;
    let port = required_port(thread, call, 0, flags)?;
    if let Some(text) = heap_text::string(InPlace::of(thread), port) {
        return Ok(text);
    }
    let text = on_text_output(thread, call, port, |output, _| {
        let mut builder = TextBuilder::new();
        builder.push_str(output.text().as_str());
        Ok(builder)
    })?;
    text.try_finish(thread)
}

fn open_input_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if let Some(port) = heap_source::open_bytes(InPlace::of(thread), call.at(0)) {
        return Ok(port);
    }
    if let Some(port) = heap_source::open_long_bytes(thread, call)? {
        return Ok(port);
    }
    let bytes = call.bytevector(thread, 0)?.with_bytes(<[u8]>::to_vec);
    let port = HostPort::binary_input(BinaryInput::from_bytes(bytes));
    make_port(
        thread,
        port,
        flag::BINARY | flag::INPUT | flag::MEMORY,
        "bytevector",
    )
}

fn open_output_bytevector(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    Ok(heap_text::open_bytes(InPlace::of(thread)))
}

fn get_output_bytevector(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let flags = flag::BINARY | flag::OUTPUT | flag::MEMORY;
    let port = required_port(thread, call, 0, flags)?;
    if let Some(bytes) = heap_text::bytes(InPlace::of(thread), port) {
        return Ok(bytes);
    }
    let bytes = on_binary_output(thread, call, port, |output, _| Ok(output.bytes().to_vec()))?;
    thread.bytevector(&bytes)
}

fn file_exists_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = path(thread, call)?;
    let exists = thread.outside_heap(|| file_exists(&name));
    Ok(Value::boolean(exists))
}

fn delete_file_row(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = path(thread, call)?;
    match thread.outside_heap(|| delete_file(&name)) {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(error) => Err(failed(thread, call.who, None, &error)),
    }
}
