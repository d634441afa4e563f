//! Ports over channels, pipes in memory: what decoders, encoders, custom ports and encodings of a
//! program's own are made of, in Scheme.
//!
//! A channel that is served has a procedure in its port object. An operation that finds the channel
//! empty, or full, fails with `Unserved`; what it raises makes the machine call the procedure, which
//! runs like any other, and then do the operation again. The procedure uses the rows below; it gets the
//! number of a `canny_tables::protocols::Service`.

use canny_io::{Handle, IoError, Wait};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_tables::protocols::TryRead;
use canny_value::Value;
use canny_vm::strings::string_length;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread, string_text};

use super::input::{copy, string_or_end};
use super::table::{port_over, unsupported, with_port};
use super::{
    flag, flags_of, id_of, key, on_binary_input, on_binary_output, on_text_input, on_text_output,
    port_argument, port_failure, required_port,
};
use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%open-channel" => open_channel;
    "%port-twin" => port_twin;
    "%port-service" => port_service;
    "%feed-port!" => feed;
    "%end-port!" => end;
    "%take-port-bytes!" => take_bytes;
    "%acknowledge-port!" => acknowledge;
    "%try-read" => try_read;
    "read-available" => read_available;
};

fn open_channel(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let service = call.at(1);
    let handle = if service.is_true() {
        call.object(thread, 1, Kind::Closure, "procedure")?;
        Handle::served_channel(&name)
    } else {
        Handle::channel(&name)
    };
    let direction = if call.at(2).is_true() {
        flag::INPUT
    } else {
        flag::OUTPUT
    };
    let port = port_over(thread, handle, flag::BINARY | direction)?;
    thread.store(port, field::SERVICE, call.at(1));
    Ok(port)
}

fn port_service(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = call.object(thread, 0, Kind::Port, "port")?;
    Ok(port.field(field::SERVICE))
}

/// Does something with the channel under a port, which is not locked meanwhile.
fn on_channel<R>(
    thread: &mut Thread,
    call: Call,
    port: Value,
    work: impl FnOnce(&Handle) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let id = id_of(thread, port);
    let outcome = with_port(thread, id, |thread, host_port| {
        let handle = thread.outside_heap(|| host_port.handle());
        work(&*handle.ok_or_else(|| unsupported(canny_io::Operation::Write))?)
    });
    outcome.map_err(|error| port_failure(thread, call, port, &error))
}

fn port_twin(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::INPUT)?;
    let id = id_of(thread, port);
    let handle = with_port(thread, id, |thread, host_port| {
        let handle = thread.outside_heap(|| host_port.handle());
        handle.ok_or_else(|| unsupported(canny_io::Operation::Read))
    });
    let handle = handle.map_err(|error| port_failure(thread, call, port, &error))?;
    port_over(thread, handle, flag::BINARY | flag::INPUT)
}

fn feed(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::INPUT)?;
    let bytes = if call.at(1).is_kind(Kind::String) {
        let string = call.string(thread, 1)?;
        let range = call.range(thread, 2, string_length(string))?;
        let text = string_text(string.value()).unwrap_or_default();
        let mut bounds = text.char_indices().map(|(offset, _)| offset);
        let start = bounds.nth(range.start).unwrap_or(text.len());
        let mut bounds = text[start..].char_indices().map(|(offset, _)| offset);
        let length = bounds.nth(range.len()).unwrap_or(text.len() - start);
        text.as_bytes()[start..start + length].to_vec()
    } else {
        let bytes = call.bytevector(thread, 1)?;
        let range = call.range(thread, 2, bytes.length())?;
        bytes.with_bytes(|bytes| bytes[range].to_vec())
    };
    on_channel(thread, call, port, |handle| handle.feed_channel(&bytes))?;
    Ok(Value::UNSPECIFIED)
}

fn end(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::INPUT)?;
    let for_good = call.at(1).is_true();
    on_channel(thread, call, port, |handle| {
        if for_good {
            handle.end_input();
        } else {
            handle.end_input_for_now();
        }
        Ok(())
    })?;
    Ok(Value::UNSPECIFIED)
}

fn take_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::OUTPUT)?;
    let bytes = if flags_of(port) & flag::BINARY != 0 {
        on_binary_output(thread, call, port, |output, _| Ok(output.take_accepted()))?
    } else {
        on_text_output(thread, call, port, |output, _| Ok(output.take_accepted()))?
    };
    thread.bytevector(&bytes)
}

fn acknowledge(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, 0)?;
    on_channel(thread, call, port, |handle| {
        handle.acknowledge();
        Ok(())
    })?;
    Ok(Value::UNSPECIFIED)
}

/// The result of `%try-read`, taken before the port was released.
enum Found {
    Character(Option<char>),
    Text(Option<TextBuilder>),
}

fn try_read(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let what = call.case(thread, 1)?;
    let count = match call.optional(2) {
        Some(_) => call.index(thread, 2)?,
        None => 0,
    };
    let found = on_text_input(thread, call, port, |source, _| {
        let text = &mut source.text;
        let wait = Wait::NonBlocking;
        let found = match what {
            TryRead::Character => text.read_char(wait).map(Found::Character),
            TryRead::Peek => text.peek_char(wait).map(Found::Character),
            TryRead::Line => text.read_line(wait).map(|line| Found::Text(line.map(copy))),
            TryRead::WholeLine => text
                .read_whole_line(wait)
                .map(|line| Found::Text(line.map(copy))),
            TryRead::Characters => text
                .read_chars(count, wait)
                .map(|piece| Found::Text(piece.map(copy))),
            TryRead::Available => text
                .read_available(wait)
                .map(|piece| Found::Text(piece.map(copy))),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(IoError::WouldBlock) => Ok(None),
            Err(error) => Err(error),
        }
    })?;
    match found {
        Some(Found::Character(character)) => Ok(character.map_or(Value::EOF, Value::character)),
        Some(Found::Text(text)) => string_or_end(thread, text),
        None => Ok(Value::FALSE),
    }
}

fn read_available(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = port_argument(thread, call, 0, key::INPUT, flag::INPUT)?;
    if flags_of(port) & flag::BINARY == 0 {
        let text = on_text_input(thread, call, port, |source, wait| {
            Ok(source.text.read_available(wait)?.map(copy))
        })?;
        return string_or_end(thread, text);
    }
    let bytes = on_binary_input(thread, call, port, |input, wait| {
        Ok(input.read_available(wait)?.map(<[u8]>::to_vec))
    })?;
    match bytes {
        Some(bytes) => thread.bytevector(&bytes),
        None => Ok(Value::EOF),
    }
}
