//! Heads of requests and responses as bytevectors, which `(canny http …)` reads without parsing
//! again.
//!
//! A packed head has an index of fields before its bytes; `pack` writes this format and [`Head`]
//! reads it. Field names compare without case. Trailers lose the fields that say what a message is
//! or where it goes.

use canny_http::framing::{BodyLength, Framing};
use canny_http::head::{
    FIELD_BYTES, Field, HeadLimits, RequestHead, read_response as read, read_trailers,
};
use canny_http::server::Scratch;
use canny_tables::kinds::Kind;
use canny_tables::protocols::{self, ResponseFlag, request as request_field, response_head};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, Raise, Thread, string_text};

use super::request;
use crate::arguments::Call;
use crate::list::list_at;

/// Bytes before the index of fields: their number, where the target begins and ends.
const PREFIX_BYTES: usize = 6;

/// A request's head as Scheme has it.
pub(super) fn pack(
    thread: &mut Thread,
    head: &RequestHead,
    scratch: &Scratch,
) -> Result<Value, Raise> {
    let mut packed =
        Vec::with_capacity(PREFIX_BYTES + head.fields.len() * FIELD_BYTES + head.length);
    for word in [head.fields.len(), head.target.start, head.target.end] {
        packed.extend_from_slice(&(word as u16).to_le_bytes());
    }
    for field in &head.fields {
        packed.extend_from_slice(&field.to_bytes());
    }
    packed.extend_from_slice(scratch.bytes(0..head.length));
    thread.bytevector(&packed)
}

/// A head that was unpacked.
struct Head<'a> {
    index: &'a [u8],
    bytes: &'a [u8],
    target: &'a [u8],
}

impl<'a> Head<'a> {
    fn of(packed: &'a [u8]) -> Option<Head<'a>> {
        let word = |at: usize| {
            Some(usize::from(u16::from_le_bytes([
                *packed.get(at)?,
                *packed.get(at + 1)?,
            ])))
        };
        let count = word(0)?;
        let (index, bytes) = packed
            .get(PREFIX_BYTES..)?
            .split_at_checked(count * FIELD_BYTES)?;
        let target = bytes.get(word(2)?..word(4)?)?;
        Some(Head {
            index,
            bytes,
            target,
        })
    }

    fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let bytes = self.bytes;
        self.index.chunks_exact(FIELD_BYTES).map(move |chunk| {
            let mut field = [0; FIELD_BYTES];
            field.copy_from_slice(chunk);
            let field = Field::from_bytes(field);
            let part = |range| bytes.get(range).unwrap_or_default();
            (part(field.name()), part(field.value()))
        })
    }
}

fn with_head<R>(
    thread: &mut Thread,
    call: Call,
    work: impl FnOnce(&Head<'_>) -> R,
) -> Result<R, Raise> {
    let packed = call.bytevector(thread, 0)?;
    let done = packed.with_bytes(|packed| Head::of(packed).map(|head| work(&head)));
    done.ok_or_else(|| call.type_error(thread, 0, "head of a request"))
}

/// Bytes as a string: UTF-8 where they are, else Latin-1.
fn text(thread: &mut Thread, bytes: &[u8]) -> Result<Value, Raise> {
    match str::from_utf8(bytes) {
        Ok(text) if !bytes.is_ascii() => Ok(thread.string(text)),
        _ => thread.string_from_latin1(bytes),
    }
}

/// `(%http-field head name)`.
pub(super) fn field(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = call.symbol(thread, 1)?;
    let name = symbol_name(name.value()).unwrap_or_default();
    let found = with_head(thread, call, |head| {
        let mut found: Option<Vec<u8>> = None;
        let named = head
            .fields()
            .filter(|(of, _)| of.eq_ignore_ascii_case(name.as_bytes()));
        for (_, value) in named {
            match &mut found {
                None => found = Some(value.to_vec()),
                Some(found) => {
                    let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
                    found.extend_from_slice(separator);
                    found.extend_from_slice(value);
                }
            }
        }
        found
    })?;
    match found {
        Some(value) => text(thread, &value),
        None => Ok(Value::FALSE),
    }
}

/// `(%http-client request)`.
pub(super) fn client(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let record = call.object(thread, 0, Kind::Record, "request")?;
    let head = record.field(request_field::HEAD).as_kind(Kind::Bytevector);
    let client = head.and_then(|head| {
        head.with_bytes(|packed| server.client(request.id.connection, Head::of(packed)?.fields()))
    });
    Ok(match client {
        Some(client) => thread.string(&client.to_string()),
        None => Value::FALSE,
    })
}

/// A list of names and values.
fn list_of_fields(thread: &mut Thread, fields: &[(String, Vec<u8>)]) -> Result<Value, Raise> {
    let mut list = Value::NIL;
    for (name, value) in fields.iter().rev() {
        let value = text(thread, value)?;
        let name = thread.symbol(name);
        let pair = thread.cons(name, value);
        list = thread.try_cons(pair, list)?;
    }
    Ok(list)
}

fn owned(name: &[u8], value: &[u8]) -> (String, Vec<u8>) {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    (name, value.to_vec())
}

/// `(%http-fields head)`.
pub(super) fn fields(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let fields = with_head(thread, call, |head| {
        let fields = head.fields().map(|(name, value)| owned(name, value));
        fields.collect::<Vec<_>>()
    })?;
    list_of_fields(thread, &fields)
}

/// Fields that say what a message is and where it goes: too late in a trailer, where they are left out.
const NOT_IN_TRAILERS: [&[u8]; 22] = [
    b"authorization",
    b"cache-control",
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-range",
    b"content-type",
    b"cookie",
    b"expect",
    b"host",
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
    b"max-forwards",
    b"proxy-authorization",
    b"range",
    b"set-cookie",
    b"te",
    b"trailer",
    b"transfer-encoding",
];

/// `(%http-trailers request)`.
pub(super) fn trailers(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let bytes = server.trailers(request.id);
    let fields = match read_trailers(&bytes, &HeadLimits::default()) {
        Ok(Some((_, fields))) => fields,
        _ => Vec::new(),
    };
    let fields: Vec<_> = fields
        .iter()
        .map(|field| owned(&bytes[field.name()], &bytes[field.value()]))
        .filter(|(name, _)| !NOT_IN_TRAILERS.contains(&name.as_bytes()))
        .collect();
    list_of_fields(thread, &fields)
}

/// `(%http-target head)`.
pub(super) fn target(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = with_head(thread, call, |head| head.target.to_vec())?;
    thread.string_from_latin1(&target)
}

/// `(%http-read-response bytes start end method)`.
pub(super) fn read_response(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (bytes, range) = call.bytevector_range(thread, 0, 1)?;
    let method = string_text(call.string(thread, 3)?.value()).unwrap_or_default();
    let limits = HeadLimits {
        bytes: canny_http::head::HEAD_BYTES_MAX,
        fields: 1000,
        ..HeadLimits::default()
    };
    let outcome = bytes.with_bytes(|bytes| {
        let bytes = &bytes[range];
        let Some(head) = read(bytes, &limits)? else {
            return Ok(None);
        };
        let framing = Framing::of_response(bytes, &head, &method)?;
        let reason = bytes[head.reason.clone()].to_vec();
        let fields: Vec<_> = head
            .fields
            .iter()
            .map(|field| owned(&bytes[field.name()], &bytes[field.value()]))
            .collect();
        Ok(Some((head, framing, reason, fields)))
    });
    let (head, framing, reason, fields) = match outcome {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Value::FALSE),
        Err(malformed) => {
            let malformed: canny_http::head::Malformed = malformed;
            let message = format!("the response is not HTTP: {malformed}");
            return Err(thread.raise(ConditionKind::System, &message, &[], Some(call.who)));
        }
    };
    let length = match framing.body {
        BodyLength::Known(length) => length as i64,
        BodyLength::Chunked => protocols::BodyLength::Chunked.number(),
        BodyLength::UntilEnd => protocols::BodyLength::UntilEnd.number(),
    };
    let mut flags = 0;
    if framing.keeps_alive {
        flags |= ResponseFlag::KeepsAlive.number();
    }
    if head.minor == 1 {
        flags |= ResponseFlag::IsNew.number();
    }
    let fields = list_of_fields(thread, &fields)?;
    let reason = text(thread, &reason)?;
    let parts = [
        (response_head::LENGTH, Value::fixnum(head.length as i64)),
        (response_head::STATUS, Value::fixnum(i64::from(head.status))),
        (response_head::REASON, reason),
        (response_head::FLAGS, Value::fixnum(flags)),
        (response_head::BODY, Value::fixnum(length)),
        (response_head::FIELDS, fields),
    ];
    Ok(list_at::<{ response_head::COUNT }>(thread, parts))
}
