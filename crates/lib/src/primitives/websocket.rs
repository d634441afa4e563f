//! The rows of WebSockets: what `canny_http::websocket` makes of the bytes of a port, as values.
//!
//! A codec is the host's, since it goes on where it was when an operation that had to wait is done again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canny_http::websocket::{Event, Fault, Opcode, Receiver, frame};
use canny_secrets::codes::random_bytes;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread};

use super::host_objects::{make_object, number_of};
use super::ports::{flag, on_binary_input, required_port};
use crate::arguments::{Call, implementations};
use crate::host::{Host, external};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%websocket-codec" => make_codec;
    "%websocket-next!" => next;
    "%websocket-frame" => make_frame;
    "%websocket-release!" => |thread, call: Call| {
        *codec(thread, call)?.receiver() = None;
        Ok(Value::UNSPECIFIED)
    };
};

const NAME: &str = "WebSocket codec";

/// What reads and writes the frames of a WebSocket.
pub(crate) struct WebSocketCodec {
    is_client: bool,
    /// `None` when the WebSocket has ended.
    receiver: Mutex<Option<Receiver>>,
}

impl WebSocketCodec {
    fn receiver(&self) -> MutexGuard<'_, Option<Receiver>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_codec(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let is_client = call.at(0).is_true();
    let bytes_max = call.index(thread, 1)?;
    let number = Host::of(thread).websockets.insert(WebSocketCodec {
        is_client,
        receiver: Mutex::new(Some(Receiver::new(is_client, bytes_max))),
    });
    make_object(thread, external::WEBSOCKET, number, NAME)
}

/// The codec that argument 0 is.
fn codec(thread: &mut Thread, call: Call) -> Result<Arc<WebSocketCodec>, Raise> {
    let number = number_of(thread, call, 0, NAME)?;
    match Host::of(thread).websockets.find(number) {
        Some(codec) => Ok(codec),
        None => Err(call.type_error(thread, 0, NAME)),
    }
}

fn next(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let codec = codec(thread, call)?;
    let port = required_port(thread, call, 1, flag::BINARY | flag::INPUT)?;
    let event = on_binary_input(thread, call, port, |input, wait| {
        loop {
            let bytes = input.peek_available(wait)?;
            if bytes.is_empty() {
                return Ok(Ok(None));
            }
            let Some(receiver) = &mut *codec.receiver() else {
                return Ok(Ok(None));
            };
            let mut used = 0;
            let event = receiver.take(bytes, &mut used);
            input.skip(used);
            if !matches!(event, Ok(None)) {
                return Ok(event);
            }
        }
    })?;
    match event {
        Ok(Some(event)) => value_of_event(thread, event),
        Ok(None) => Ok(Value::EOF),
        Err(Fault { code, reason }) => Ok(ending(thread, 0, code, reason)),
    }
}

fn value_of_event(thread: &mut Thread, event: Event) -> Result<Value, Raise> {
    Ok(match event {
        Event::Text(text) if text.is_ascii() => thread.string_from_latin1(text.as_bytes())?,
        Event::Text(text) => thread.string(&text),
        Event::Binary(bytes) => thread.bytevector(&bytes)?,
        Event::Ping(bytes) => {
            let bytes = thread.bytevector(&bytes)?;
            thread.cons(Value::fixnum(Opcode::Ping as i64), bytes)
        }
        Event::Pong => Value::TRUE,
        Event::Goodbye(None) => thread.cons(Value::fixnum(Opcode::Goodbye as i64), Value::FALSE),
        Event::Goodbye(Some((code, reason))) => {
            ending(thread, Opcode::Goodbye as i64, code, &reason)
        }
    })
}

fn ending(thread: &mut Thread, what: i64, code: u16, reason: &str) -> Value {
    let reason = thread.string(reason);
    let rest = thread.cons(Value::fixnum(code.into()), reason);
    thread.cons(Value::fixnum(what), rest)
}

fn make_frame(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let codec = codec(thread, call)?;
    let number = call.index(thread, 1)?;
    let opcode = u8::try_from(number).ok().and_then(Opcode::numbered);
    let opcode = opcode.ok_or_else(|| call.range_error(thread, 1, "a kind of frame"))?;
    let key = match codec.is_client {
        false => None,
        true => {
            let key = random_bytes(4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            if key.is_none() {
                let message = "the system has no random bytes";
                return Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)));
            }
            key
        }
    };
    let payload = call.at(2);
    let bytes = if let Some(bytes) = payload.as_kind(Kind::Bytevector) {
        bytes.with_bytes(|bytes| frame(opcode, bytes, key))
    } else if let Some(string) = payload.as_kind(Kind::String) {
        with_units(string, |units| {
            frame(opcode, units.to_text().as_bytes(), key)
        })
    } else {
        return Err(call.type_error(thread, 2, "string or bytevector"));
    };
    thread.bytevector(&bytes)
}
