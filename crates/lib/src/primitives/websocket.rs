//! The rows of WebSockets: what `canny_http::websocket` makes of the bytes of a port, as values.
//!
//! A codec is the host's, since it continues where it was when an operation that had to wait is done again.

use std::sync::Arc;

use canny_formats::compression::{MessageDeflater, MessageInflater, MessageWindow};
use canny_http::websocket::{
    Agreement, Event, Fault, Opcode, Receiver, accept, agreed, frame, offer,
};
use canny_locks::{Mutex, MutexGuard};
use canny_secrets::codes::random_bytes;
use canny_tables::kinds::Kind;
use canny_tables::protocols::{Frame, WebSocketEvent, websocket_agreement as row};
use canny_value::{ObjectRef, Value};
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use super::ports::{flag, on_binary_input, required_port};
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%websocket-accept" => accept_offer;
    "%websocket-offer" => |thread, call: Call| Ok(thread.string(&offer(call.at(0).is_true())));
    "%websocket-agreed" => |thread, call: Call| {
        let answer = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
        match agreed(&answer, call.at(1).is_true()) {
            Some(agreement) => value_of_agreement(thread, agreement, true),
            None => Ok(Value::FALSE),
        }
    };
    "%websocket-codec" => make_codec;
    "%websocket-next!" => next;
    "%websocket-frame" => make_frame;
    "%websocket-release!" => |thread, call: Call| {
        let codec = codec(thread, call)?;
        *codec.receiver() = None;
        *codec.deflater() = None;
        Ok(Value::UNSPECIFIED)
    };
};

const NAME: &str = "WebSocket codec";

/// Shorter messages are not worth compressing: alone, and with those before at hand.
const COMPRESSED_BYTES_MIN: usize = 512;
const COMPRESSED_BYTES_MIN_IN_CONTEXT: usize = 64;

/// Longer messages are compressed outside of the heap, so that collections do not wait for them.
const LONG: usize = 1 << 13;

/// The state that reads and makes the frames of a WebSocket.
pub(crate) struct WebSocketCodec {
    is_client: bool,
    /// `None` when the WebSocket has ended.
    receiver: Mutex<Option<Receiver>>,
    /// `None` also while a message is compressed, which happens without the lock. Compression may
    /// be outside of the heap, and a thread that waits for a lock inside of the heap delays
    /// collections.
    deflater: Mutex<Option<MessageDeflater>>,
}

kept_in_table!(WebSocketCodec);

impl WebSocketCodec {
    fn receiver(&self) -> MutexGuard<'_, Option<Receiver>> {
        self.receiver.lock()
    }

    fn deflater(&self) -> MutexGuard<'_, Option<MessageDeflater>> {
        self.deflater.lock()
    }
}

/// The windows with which one side reads and writes, as a vector of `websocket-agreement`.
fn value_of_agreement(
    thread: &mut Thread,
    agreement: Agreement,
    is_client: bool,
) -> Result<Value, Raise> {
    let Agreement { server, client } = agreement;
    let (read, written) = if is_client {
        (server, client)
    } else {
        (client, server)
    };
    let vector = thread.make_vector(row::COUNT, Value::FALSE)?;
    let bits = |window: MessageWindow| Value::fixnum(i64::from(window.bits));
    let keeps = |window: MessageWindow| Value::boolean(window.keeps_context);
    thread.store(vector, row::READ_BITS, bits(read));
    thread.store(vector, row::READ_KEEPS_CONTEXT, keeps(read));
    thread.store(vector, row::WRITTEN_BITS, bits(written));
    thread.store(vector, row::WRITTEN_KEEPS_CONTEXT, keeps(written));
    Ok(vector)
}

/// The windows for reading and for writing of a vector of `websocket-agreement`.
fn windows(vector: ObjectRef) -> Option<[MessageWindow; 2]> {
    let window = |bits, keeps| {
        let bits = vector.field(bits).as_fixnum()?;
        Some(MessageWindow {
            bits: u8::try_from(bits).ok().filter(|bits| *bits < 16)?,
            keeps_context: vector.field(keeps).is_true(),
        })
    };
    if vector.length() != row::COUNT {
        return None;
    }
    Some([
        window(row::READ_BITS, row::READ_KEEPS_CONTEXT)?,
        window(row::WRITTEN_BITS, row::WRITTEN_KEEPS_CONTEXT)?,
    ])
}

fn accept_offer(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let offers = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let Some((answer, agreement)) = accept(&offers, call.at(1).is_true()) else {
        return Ok(Value::FALSE);
    };
    let answer = thread.string(&answer);
    let agreement = value_of_agreement(thread, agreement, false)?;
    Ok(thread.cons(answer, agreement))
}

fn make_codec(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let is_client = call.at(0).is_true();
    let bytes_max = call.index(thread, 1)?;
    let (inflater, deflater) = match call.at(2) {
        Value::FALSE => (None, None),
        _ => {
            let Some([read, written]) = windows(call.vector(thread, 2)?) else {
                return Err(call.type_error(thread, 2, "agreement on compression"));
            };
            (
                Some(MessageInflater::new(read)),
                MessageDeflater::new(written),
            )
        }
    };
    let codec = WebSocketCodec {
        is_client,
        receiver: Mutex::new(Some(Receiver::new(is_client, bytes_max, inflater))),
        deflater: Mutex::new(deflater),
    };
    keep(thread, codec, NAME)
}

/// The codec that argument 0 is.
fn codec(thread: &mut Thread, call: Call) -> Result<Arc<WebSocketCodec>, Raise> {
    find(thread, call.at(0)).ok_or_else(|| call.type_error(thread, 0, NAME))
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
        Err(Fault { code, reason }) => Ok(ending(thread, WebSocketEvent::Fault, code, reason)),
    }
}

fn value_of_event(thread: &mut Thread, event: Event) -> Result<Value, Raise> {
    Ok(match event {
        Event::Text(text) if text.is_ascii() => thread.string_from_latin1(text.as_bytes())?,
        Event::Text(text) => thread.string(&text),
        Event::Binary(bytes) => thread.bytevector(&bytes)?,
        Event::Ping(bytes) => {
            let bytes = thread.bytevector(&bytes)?;
            thread.cons(Value::fixnum(WebSocketEvent::Ping.number()), bytes)
        }
        Event::Pong => Value::TRUE,
        Event::Goodbye(None) => {
            thread.cons(Value::fixnum(WebSocketEvent::Close.number()), Value::FALSE)
        }
        Event::Goodbye(Some((code, reason))) => {
            ending(thread, WebSocketEvent::Close, code, &reason)
        }
    })
}

fn ending(thread: &mut Thread, what: WebSocketEvent, code: u16, reason: &str) -> Value {
    let reason = thread.string(reason);
    let rest = thread.cons(Value::fixnum(code.into()), reason);
    thread.cons(Value::fixnum(what.number()), rest)
}

fn make_frame(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let codec = codec(thread, call)?;
    let opcode = match call.case(thread, 1)? {
        Frame::Continuation => Opcode::Continuation,
        Frame::Text => Opcode::Text,
        Frame::Binary => Opcode::Binary,
        Frame::Close => Opcode::Goodbye,
        Frame::Ping => Opcode::Ping,
        Frame::Pong => Opcode::Pong,
    };
    let key = if codec.is_client {
        let key = random_bytes(4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        if key.is_none() {
            let message = "the system has no random bytes";
            return Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)));
        }
        key
    } else {
        None
    };
    if matches!(opcode, Opcode::Text | Opcode::Binary)
        && let Some(compressed) = compressed(thread, call, &codec)?
    {
        return thread.bytevector(&frame(opcode, true, &compressed, key));
    }
    // It may have been moved meanwhile.
    let payload = call.at(2);
    let bytes = if let Some(bytes) = payload.as_kind(Kind::Bytevector) {
        bytes.with_bytes(|bytes| frame(opcode, false, bytes, key))
    } else if let Some(string) = payload.as_kind(Kind::String) {
        with_units(string, |units| {
            frame(opcode, false, units.to_text().as_bytes(), key)
        })
    } else {
        return Err(call.type_error(thread, 2, "string or bytevector"));
    };
    thread.bytevector(&bytes)
}

/// A message compressed, if that was agreed on and is worth it.
fn compressed(
    thread: &mut Thread,
    call: Call,
    codec: &WebSocketCodec,
) -> Result<Option<Vec<u8>>, Raise> {
    let Some(mut deflater) = codec.deflater().take() else {
        return Ok(None);
    };
    let payload = call.at(2);
    let message = match payload.as_kind(Kind::String) {
        Some(string) => with_units(string, |units| units.to_text()).into_bytes(),
        None => payload
            .as_kind(Kind::Bytevector)
            .map_or_else(Vec::new, |bytes| bytes.with_bytes(<[u8]>::to_vec)),
    };
    let keeps_context = deflater.keeps_context();
    let least = if keeps_context {
        COMPRESSED_BYTES_MIN_IN_CONTEXT
    } else {
        COMPRESSED_BYTES_MIN
    };
    let outcome = match message.len() {
        length if length < least => Ok(None),
        length if length < LONG => deflater.deflate(&message).map(Some),
        _ => thread.block_outside_heap(|| deflater.deflate(&message).map(Some)),
    };
    // A WebSocket that has ended meanwhile needs no deflater.
    if codec.receiver().is_some() {
        *codec.deflater() = Some(deflater);
    }
    match outcome {
        Ok(compressed) => {
            Ok(compressed.filter(|bytes| keeps_context || bytes.len() < message.len()))
        }
        Err(error) => Err(thread.raise(
            ConditionKind::System,
            &error.to_string(),
            &[],
            Some(call.who),
        )),
    }
}
