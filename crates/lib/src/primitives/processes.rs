//! Other programs: starting them, their streams, their ends.
//!
//! Every wait happens outside of the heap, and ends with an interrupt.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_io::exchange::{Exchanged, exchange};
use canny_io::process::{
    Ending, Group, Start, Started, Stream, end_with_program, name_of_signal, signal_of_name, start,
};
use canny_io::{Handle, IoError, Operation};
use canny_replay::Kind as Question;
use canny_tables::kinds::Kind;
use canny_tables::protocols::{self, Enumerated, PortKind, spawn_setting as setting, spawned};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use super::file_names::name_of_text;
use super::ports::open::{is_out_of_descriptors, with_descriptors};
use super::ports::standard::flush_standard_output;
use super::ports::table::port_over;
use super::ports::{failed, flag, flags_of, on_binary_output, on_text_output};
use super::posix::handle_of_port;
use super::system::variables;
use super::tasks::resumable;
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table, sweep_dead};
use crate::list::list_at;

pub(crate) use canny_io::process::Process;

kept_in_table!(Process);

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%spawn" => start_process;
    "%process-id" => id;
    "%process-ending" => ending;
    "%process-wait" => wait;
    "%end-with-program" => |thread, call| {
        let process = process(thread, call)?;
        end_with_program(&process);
        Ok(Value::UNSPECIFIED)
    };
    "%process-signal" => signal;
    "%signal-name" => signal_name;
    "%pipe" => pipe;
    "%port-duplicable?" => is_duplicable;
    "%exchange" => exchange_bytes;
};

/// The elements of a proper list.
fn elements(mut list: Value) -> Vec<Value> {
    let mut elements = Vec::new();
    while let Some(pair) = list.as_pair() {
        elements.push(pair.car());
        list = pair.cdr();
    }
    elements
}

fn name(value: Value) -> std::ffi::OsString {
    name_of_text(string_text(value).unwrap_or_default())
}

/// The settings in the vector, apart from the streams.
fn settings(thread: &mut Thread, call: Call) -> Result<Start, Raise> {
    let vector = call.vector(thread, 0)?;
    if vector.length() != setting::COUNT {
        return Err(call.type_error(thread, 0, "vector of settings"));
    }
    let at = |place: usize| vector.field(place);
    let arguments = elements(at(setting::ARGUMENTS))
        .into_iter()
        .map(name)
        .collect();
    let environment = match at(setting::ENVIRONMENT) {
        Value::FALSE => variables(thread)
            .into_iter()
            .map(|(variable, value)| (name_of_text(variable), name_of_text(value)))
            .collect(),
        list => elements(list)
            .into_iter()
            .filter_map(Value::as_pair)
            .map(|pair| (name(pair.car()), name(pair.cdr())))
            .collect(),
    };
    let group = match at(setting::GROUP) {
        Value::FALSE => Group::Same,
        Value::TRUE => Group::New,
        number => Group::Of(number.as_fixnum().unwrap_or(0) as i32),
    };
    let size = |value: Value| value.as_fixnum().unwrap_or(0).clamp(0, i64::from(u16::MAX)) as u16;
    Ok(Start {
        program: name(at(setting::PROGRAM)),
        arguments,
        environment: Some(environment),
        directory: string_text(at(setting::DIRECTORY)).map(|text| name_of_text(text).into()),
        input: Stream::Inherit,
        output: Stream::Inherit,
        error: Stream::Inherit,
        group,
        terminal: at(setting::TERMINAL)
            .as_pair()
            .map(|pair| (size(pair.car()), size(pair.cdr()))),
    })
}

/// The stream that a place of the vector says, and the kind of our port for it.
fn stream_at(
    thread: &mut Thread,
    call: Call,
    place: usize,
) -> Result<(Stream, Option<bool>), Raise> {
    let value = call.vector(thread, 0)?.field(place);
    let wanted = value.as_fixnum().and_then(protocols::Stream::from_number);
    let stream = match wanted {
        Some(protocols::Stream::Inherit) => Stream::Inherit,
        Some(protocols::Stream::Null) => Stream::Null,
        Some(protocols::Stream::BinaryPipe) => return Ok((Stream::Pipe, Some(false))),
        Some(protocols::Stream::TextualPipe) => return Ok((Stream::Pipe, Some(true))),
        Some(protocols::Stream::Output) => Stream::Output,
        None => Stream::Given(port_descriptor(thread, call, value)?),
    };
    Ok((stream, None))
}

/// A descriptor for the file behind a port. The buffered output of an output port goes out first.
fn port_descriptor(thread: &mut Thread, call: Call, port: Value) -> Result<OwnedFd, Raise> {
    if !port.is_kind(Kind::Port) {
        return Err(call.type_error_of(thread, 0, "port", port));
    }
    let flags = flags_of(port);
    if flags & flag::OUTPUT != 0 && flags & flag::TEXTUAL != 0 {
        on_text_output(thread, call, port, |output, wait| output.flush(wait))?;
    } else if flags & flag::OUTPUT != 0 {
        on_binary_output(thread, call, port, |output, wait| output.flush(wait))?;
    }
    let Some(handle) = handle_of_port(thread, call, port)? else {
        return Err(call.type_error_of(thread, 0, "port with a file behind it", port));
    };
    handle
        .duplicate()
        .map_err(|error| failed(thread, call.who, Some(port), &error))
}

/// The condition: the system refused to start the program.
fn not_started(thread: &mut Thread, call: Call, error: &io::Error) -> Raise {
    let vector = call.at(0).as_kind(Kind::Vector);
    let mut irritant = vector.map_or(Value::FALSE, |vector| vector.field(setting::PROGRAM));
    if let Some(vector) = vector {
        let directory = vector.field(setting::DIRECTORY);
        if string_text(directory)
            .is_some_and(|text| !std::path::Path::new(&name_of_text(text)).is_dir())
        {
            irritant = directory;
        }
    }
    let words = error.to_string();
    let words = words.split(" (os error ").next().unwrap_or_default();
    let message = format!("cannot start the program: {words}");
    thread.raise(ConditionKind::File, &message, &[irritant], Some(call.who))
}

fn start_process(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    sweep_dead(thread);
    flush_standard_output();
    let mut tried = false;
    let (started, kinds) = loop {
        let mut settings = settings(thread, call)?;
        let terminal = settings.terminal.is_some();
        let mut kinds = [None; 3];
        (settings.input, kinds[0]) = stream_at(thread, call, setting::INPUT)?;
        (settings.output, kinds[1]) = stream_at(thread, call, setting::OUTPUT)?;
        (settings.error, kinds[2]) = stream_at(thread, call, setting::ERROR)?;
        if terminal {
            kinds = [kinds[0].or(Some(true)), kinds[1].or(Some(true)), None];
        }
        match thread.block_outside_heap(|| start(settings)) {
            Ok(started) => break (started, kinds),
            // Descriptors of what nobody can reach any more are still open.
            Err(error) if !tried && is_out_of_descriptors(&error) => {
                tried = true;
                thread.collect_garbage(true);
                sweep_dead(thread);
            }
            Err(error) => return Err(not_started(thread, call, &error)),
        }
    };
    let Started {
        process,
        input,
        output,
        error,
    } = started;
    let ends = [
        (spawned::INPUT, input, true),
        (spawned::OUTPUT, output, false),
        (spawned::ERROR, error, false),
    ];
    let name = format!("process {}", process.id());
    let process = keep(thread, process, "process")?;
    let mut fields = [(spawned::PROCESS, process); spawned::COUNT];
    for (index, (at, end, writes)) in ends.into_iter().enumerate() {
        let port = match (end, kinds[index]) {
            (Some(descriptor), Some(textual)) => {
                let form = if textual { flag::TEXTUAL } else { flag::BINARY };
                let direction = if writes { flag::OUTPUT } else { flag::INPUT };
                let handle = Handle::from_descriptor(descriptor, &name);
                port_over(thread, handle, form | direction)?
            }
            _ => Value::FALSE,
        };
        fields[index + 1] = (at, port);
    }
    Ok(list_at(thread, fields))
}

fn process(thread: &mut Thread, call: Call) -> Result<Arc<Process>, Raise> {
    find(thread, call.at(0)).ok_or_else(|| call.type_error(thread, 0, "process"))
}

fn id(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let id = match call.optional(0) {
        Some(_) => i64::from(process(thread, call)?.id()),
        None => canny_replay::ask(Question::Process, || i64::from(std::process::id())),
    };
    Ok(thread.integer(id))
}

/// An exit code, or the negative number of a signal.
fn ending_value(ending: Option<Ending>) -> Value {
    match ending {
        Some(Ending::Code(code)) => Value::fixnum(i64::from(code)),
        Some(Ending::Signal(signal)) => Value::fixnum(-i64::from(signal)),
        None => Value::FALSE,
    }
}

fn system_failure(thread: &mut Thread, call: Call, what: &str, error: &io::Error) -> Raise {
    if error.kind() == io::ErrorKind::Interrupted {
        thread.interrupts().take_interrupt();
        return thread.raise(ConditionKind::Interrupt, "interrupted", &[], Some(call.who));
    }
    let words = error.to_string();
    let words = words.split(" (os error ").next().unwrap_or_default();
    let message = format!("cannot {what}: {words}");
    thread.raise(ConditionKind::System, &message, &[], Some(call.who))
}

fn ending(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match process(thread, call)?.ending() {
        Ok(ending) => Ok(ending_value(ending)),
        Err(error) => Err(system_failure(thread, call, "ask for the process", &error)),
    }
}

fn wait(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let process = process(thread, call)?;
    let deadline = call.deadline(thread, 1)?;
    let outcome = resumable(
        thread,
        call,
        deadline,
        |()| true,
        || Ok(()),
        |(), wait| match process.wait(wait.deadline(), wait) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(IoError::parked(Operation::Read, "process"))
            }
            outcome => Ok(outcome),
        },
    )?;
    match outcome {
        Ok(ending) => Ok(ending_value(ending)),
        Err(error) => Err(system_failure(thread, call, "wait for the process", &error)),
    }
}

fn signal(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let process = process(thread, call)?;
    let wanted = call.at(1);
    let name = match wanted.as_fixnum() {
        Some(number) => i32::try_from(number).ok().and_then(name_of_signal),
        None => symbol_name(wanted),
    };
    let Some(signal) = name.as_deref().and_then(signal_of_name) else {
        return Err(call.range_error(thread, 1, "a signal, such as sigterm"));
    };
    let group = call.at(2) != Value::FALSE;
    match process.signal(signal, group) {
        Ok(sent) => Ok(Value::boolean(sent)),
        Err(error) => Err(system_failure(thread, call, "send the signal", &error)),
    }
}

fn signal_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = call.index(thread, 0)?;
    match i32::try_from(number).ok().and_then(name_of_signal) {
        Some(name) => Ok(thread.symbol(&name)),
        None => Ok(Value::FALSE),
    }
}

/// The ends of a new pipe: to read from, and to write to.
fn pipe_ends() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut writer = None;
    let reader = canny_replay::ask_for_descriptor(Question::Open, || {
        let (reader, other) = io::pipe()?;
        writer = Some(other);
        Ok::<_, io::Error>(reader.into())
    })?;
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let writer = canny_replay::ask_for_descriptor(Question::Open, || {
        writer.map(OwnedFd::from).ok_or_else(missing)
    })?;
    Ok((reader, writer))
}

fn pipe(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let form = match call.case(thread, 0)? {
        PortKind::BinaryInput => flag::BINARY,
        PortKind::TextualInput => flag::TEXTUAL,
        _ => return Err(call.range_error(thread, 0, "the kind of an input port")),
    };
    match with_descriptors(thread, is_out_of_descriptors, pipe_ends) {
        Ok((reader, writer)) => {
            let handle = Handle::from_descriptor(reader, "pipe");
            let input = port_over(thread, handle, form | flag::INPUT)?;
            let handle = Handle::from_descriptor(writer, "pipe");
            let output = port_over(thread, handle, flag::BINARY | flag::OUTPUT)?;
            Ok(thread.cons(input, output))
        }
        Err(error) => Err(system_failure(thread, call, "make a pipe", &error)),
    }
}

fn is_duplicable(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = call.object(thread, 0, Kind::Port, "port")?;
    let handle = handle_of_port(thread, call, port.value())?;
    let copy = handle.map(|handle| handle.duplicate());
    Ok(Value::boolean(matches!(copy, Some(Ok(_)))))
}

/// The handle of the port that an argument is; `None` for `#f`.
fn handle_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<Arc<Handle>>, Raise> {
    let port = call.at(position);
    if port == Value::FALSE {
        return Ok(None);
    }
    if !port.is_kind(Kind::Port) {
        return Err(call.type_error(thread, position, "port"));
    }
    handle_of_port(thread, call, port)
}

fn exchange_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    /// Bytes that are handed over at once.
    const PART_BYTES: usize = 64 * 1024;
    let target = handle_at(thread, call, 0)?;
    let bytes = call.bytevector(thread, 1)?;
    let start = call.index_up_to(thread, 2, bytes.length())?;
    let part = bytes.with_bytes(|bytes| {
        let rest = &bytes[start..];
        rest[..rest.len().min(PART_BYTES)].to_vec()
    });
    let output = handle_at(thread, call, 3)?;
    let error = handle_at(thread, call, 4)?;
    let deadline = call.deadline(thread, 5)?;
    let outcome = resumable(
        thread,
        call,
        deadline,
        |()| true,
        || Ok(()),
        |(), wait| {
            exchange(
                target.as_ref().map(|target| (target, part.as_slice())),
                &[output.as_ref(), error.as_ref()],
                wait.deadline(),
                wait,
            )
        },
    )?;
    let (which, what) = match outcome {
        Exchanged::Written(count) => (protocols::Exchange::Input, Value::fixnum(count as i64)),
        Exchanged::Refused => (protocols::Exchange::Input, Value::FALSE),
        Exchanged::Read(index, bytes) => {
            let which = match index {
                0 => protocols::Exchange::Output,
                _ => protocols::Exchange::Error,
            };
            let what = if bytes.is_empty() {
                Value::EOF
            } else {
                thread.bytevector(&bytes)?
            };
            (which, what)
        }
        Exchanged::TimedOut => return Ok(Value::FALSE),
    };
    Ok(thread.cons(Value::fixnum(which.number()), what))
}
