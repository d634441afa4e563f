//! Responses as bytes. A field's value here is a string, a symbol, an integer, or for the content
//! type a list of the type and its parameters. The library has to convert any other value.

use std::cell::RefCell;

use canny_http::date::date;
use canny_http::response::{
    BadField, has_no_body, is_value, push_date, push_length, push_number, push_status,
};
use canny_http::server::{BodyCoding, Server};
use canny_tables::kinds::Kind;
use canny_tables::protocols::RequestFlag;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::{string_data, string_length};
use canny_vm::{ConditionKind, Raise, Thread, string_text};

use super::{RequestFields, request};
use crate::arguments::Call;
use crate::primitives::ports::flag;
use crate::primitives::ports::table::port_over;

thread_local! {
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A buffer that grew beyond this is given back.
const KEPT_BYTES: usize = 256 * 1024;

/// Calls back with the bytes of a string in UTF-8.
fn with_utf8<R>(string: ObjectRef, work: impl FnOnce(&[u8]) -> R) -> R {
    let data = string_data(string);
    if data.kind() == Kind::String8 {
        let length = string_length(string);
        let mut work = Some(work);
        let done = data.with_bytes(|bytes| {
            let bytes = &bytes[..length];
            let work = work.take_if(|_| bytes.is_ascii())?;
            Some(work(bytes))
        });
        if let Some(done) = done {
            return done;
        }
        let text = string_text(string.value()).unwrap_or_default();
        return work.expect("it was not called")(text.as_bytes());
    }
    work(string_text(string.value()).unwrap_or_default().as_bytes())
}

/// The string of a string or symbol.
fn string_of(value: Value) -> Option<ObjectRef> {
    value
        .as_kind(Kind::String)
        .or_else(|| value.as_kind(Kind::Symbol)?.field(0).as_kind(Kind::String))
}

/// The facts in the fields that matter to the message itself.
#[derive(Default)]
struct Noted {
    has_date: bool,
    has_type: bool,
    closes: bool,
    upgrades: bool,
    length: Option<u64>,
}

/// Why fields could not be written.
enum Refused {
    /// The library is to convert this field.
    Field(Value),
    Bad(BadField, Value),
    NotAList,
}

/// Appends a name as it is usually written: `Content-Type`.
fn push_name(output: &mut Vec<u8>, name: &[u8]) -> Result<(), BadField> {
    if !canny_http::head::is_token(name) {
        return Err(BadField::Name);
    }
    let mut begins = true;
    output.extend(name.iter().map(|byte| {
        let byte = if begins {
            byte.to_ascii_uppercase()
        } else {
            *byte
        };
        begins = byte == b'-';
        byte
    }));
    output.extend_from_slice(b": ");
    Ok(())
}

/// Appends the value of a field; `false` if that is the library's business.
fn push_value(output: &mut Vec<u8>, value: Value) -> Result<bool, BadField> {
    if let Some(string) = string_of(value) {
        return with_utf8(string, |bytes| {
            if !is_value(bytes) {
                return Err(BadField::Value);
            }
            output.extend_from_slice(bytes);
            Ok(true)
        });
    }
    match value.as_index() {
        Some(number) => {
            push_number(output, number as u64);
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Appends a type with its parameters, as in `(text/html (charset . "utf-8"))`.
fn push_media_type(output: &mut Vec<u8>, value: Value) -> Result<bool, BadField> {
    let Some(pair) = value.as_pair() else {
        return push_value(output, value);
    };
    if string_of(pair.car()).is_none() || !push_value(output, pair.car())? {
        return Ok(false);
    }
    let mut rest = pair.cdr();
    while let Some(pair) = rest.as_pair() {
        let Some(parameter) = pair.car().as_pair() else {
            return Ok(false);
        };
        let (Some(name), Some(value)) = (string_of(parameter.car()), string_of(parameter.cdr()))
        else {
            return Ok(false);
        };
        output.extend_from_slice(b"; ");
        let is_token = |string| with_utf8(string, canny_http::head::is_token);
        // Others are to be quoted.
        if !is_token(name) || !is_token(value) {
            return Ok(false);
        }
        with_utf8(name, |bytes| output.extend_from_slice(bytes));
        output.push(b'=');
        with_utf8(value, |bytes| output.extend_from_slice(bytes));
        rest = pair.cdr();
    }
    Ok(rest == Value::NIL)
}

/// A field that matters to the message itself, or whose value may be an integer: the seconds of a date
/// since 1970.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    Type,
    Length,
    Connection,
    Coding,
    /// The date of the response itself.
    Date,
    OtherDate,
}

impl Special {
    /// The field of a name in any case. All of them have different lengths.
    fn of(name: &[u8]) -> Option<Special> {
        let (wanted, special): (&[u8], Special) = match name.len() {
            4 => (b"date", Special::Date),
            6 => (b"sunset", Special::OtherDate),
            7 => (b"expires", Special::OtherDate),
            10 => (b"connection", Special::Connection),
            12 => (b"content-type", Special::Type),
            13 => (b"last-modified", Special::OtherDate),
            14 => (b"content-length", Special::Length),
            17 => (b"transfer-encoding", Special::Coding),
            _ => return None,
        };
        name.eq_ignore_ascii_case(wanted).then_some(special)
    }
}

/// Appends the fields of a list.
fn push_fields(output: &mut Vec<u8>, fields: Value, has_text: bool) -> Result<Noted, Refused> {
    let mut noted = Noted::default();
    let mut rest = fields;
    while let Some(pair) = rest.as_pair() {
        let entry = pair.car();
        let Some(field) = entry.as_pair() else {
            return Err(Refused::NotAList);
        };
        let Some(name) = string_of(field.car()) else {
            return Err(Refused::NotAList);
        };
        let start = output.len();
        let value = field.cdr();
        let bad = |bad| Refused::Bad(bad, entry);
        with_utf8(name, |name| push_name(output, name)).map_err(bad)?;
        let value_start = output.len();
        let special = Special::of(&output[start..value_start - 2]);
        let is_type = special == Some(Special::Type);
        let is_length = special == Some(Special::Length);
        let is_connection = special == Some(Special::Connection);
        let is_coding = special == Some(Special::Coding);
        let is_date = matches!(special, Some(Special::Date | Special::OtherDate));
        noted.has_date |= special == Some(Special::Date);
        let is_written = if is_type {
            push_media_type(output, value)
        } else if let (true, Some(seconds)) = (is_date, value.as_fixnum()) {
            output.extend_from_slice(&date(seconds));
            Ok(true)
        } else {
            push_value(output, value)
        };
        if !is_written.map_err(bad)? {
            return Err(Refused::Field(entry));
        }
        let written = &output[value_start..];
        if is_type {
            noted.has_type = true;
            let is_text = written.starts_with(b"text/") && has_text;
            if is_text && memchr::memmem::find(written, b"charset=").is_none() {
                output.extend_from_slice(b"; charset=utf-8");
            }
        } else if is_connection {
            let has = |wanted: &[u8]| {
                written
                    .split(|byte| *byte == b',')
                    .any(|option| option.trim_ascii().eq_ignore_ascii_case(wanted))
            };
            noted.closes |= has(b"close");
            noted.upgrades |= has(b"upgrade");
        } else if is_length {
            noted.length = str::from_utf8(written)
                .ok()
                .and_then(|text| text.parse().ok());
        }
        // These say how the message is framed, which is known better here.
        if is_length || is_coding || is_connection {
            output.truncate(start);
        } else {
            output.extend_from_slice(b"\r\n");
        }
        rest = pair.cdr();
    }
    if rest == Value::NIL {
        Ok(noted)
    } else {
        Err(Refused::NotAList)
    }
}

/// The result for fields that were not written.
fn refused(thread: &mut Thread, call: Call, refused: Refused) -> Result<Value, Raise> {
    let (message, entry) = match refused {
        Refused::Field(entry) => return Ok(entry),
        Refused::NotAList => {
            return Err(call.type_error(thread, 2, "association list of fields"));
        }
        Refused::Bad(BadField::Name, entry) => ("malformed name of a field", entry),
        Refused::Bad(BadField::Value, entry) => {
            ("control character in the value of a field", entry)
        }
    };
    Err(thread.raise(ConditionKind::Error, message, &[entry], Some(call.who)))
}

fn status(thread: &mut Thread, call: Call) -> Result<u16, Raise> {
    let status = call.index(thread, 1)?;
    match u16::try_from(status) {
        Ok(status) if (100..=999).contains(&status) => Ok(status),
        _ => Err(call.range_error(thread, 1, "a status from 100 to 999")),
    }
}

/// Appends what ends the head; whether the connection ends with the response.
fn push_connection(
    output: &mut Vec<u8>,
    server: &Server,
    request: RequestFields,
    noted: &Noted,
) -> bool {
    let keeps = RequestFlag::KeepsAlive.is_in(request.flags);
    let closes = !keeps || noted.closes || server.is_stopping();
    let is_new = RequestFlag::IsNew.is_in(request.flags);
    if noted.upgrades {
        output.extend_from_slice(b"Connection: Upgrade\r\n");
    } else if closes && is_new {
        output.extend_from_slice(b"Connection: close\r\n");
    } else if !closes && !is_new {
        output.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    output.extend_from_slice(b"\r\n");
    closes
}

/// A buffer of this thread, which is empty; to be given back.
fn take_output() -> Vec<u8> {
    let mut output = OUTPUT.take();
    output.clear();
    output
}

fn give_back(output: Vec<u8>) {
    if output.capacity() <= KEPT_BYTES {
        OUTPUT.set(output);
    }
}

/// The body to send.
#[derive(Clone, Copy)]
enum Body {
    None,
    Text(ObjectRef),
    Bytes(ObjectRef),
}

impl Body {
    fn push(self, output: &mut Vec<u8>) {
        match self {
            Body::None => {}
            Body::Text(string) => with_utf8(string, |bytes| output.extend_from_slice(bytes)),
            Body::Bytes(bytes) => bytes.with_bytes(|bytes| output.extend_from_slice(bytes)),
        }
    }

    fn length(self) -> u64 {
        match self {
            Body::None => 0,
            Body::Text(string) => with_utf8(string, |bytes| bytes.len() as u64),
            Body::Bytes(bytes) => bytes.length() as u64,
        }
    }
}

/// `(%http-end-response! request trailers)`.
pub(super) fn end_response(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let mut output = take_output();
    if call.at(1) != Value::FALSE
        && let Err(why) = push_fields(&mut output, call.at(1), false)
    {
        give_back(output);
        return refused(thread, call, why);
    }
    let is_done = server.end_response(request.id, &output);
    give_back(output);
    Ok(Value::boolean(is_done))
}

/// `(%http-respond! request status fields body)`.
pub(super) fn respond(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let status = status(thread, call)?;
    let body = call.at(3);
    let body = if body == Value::FALSE {
        Body::None
    } else if let Some(string) = body.as_kind(Kind::String) {
        Body::Text(string)
    } else if let Some(bytes) = body.as_kind(Kind::Bytevector) {
        Body::Bytes(bytes)
    } else {
        return Err(call.type_error(thread, 3, "string, bytevector or #f"));
    };
    let mut output = take_output();
    push_status(&mut output, status);
    let noted = match push_fields(&mut output, call.at(2), matches!(body, Body::Text(_))) {
        Ok(noted) => noted,
        Err(why) => {
            give_back(output);
            return refused(thread, call, why);
        }
    };
    if !noted.has_date {
        push_date(&mut output);
    }
    let has_no_body = has_no_body(status);
    let is_head = RequestFlag::IsHead.is_in(request.flags);
    if !has_no_body {
        if !noted.has_type {
            match body {
                Body::None => {}
                Body::Text(_) => {
                    output.extend_from_slice(b"Content-Type: text/plain; charset=utf-8\r\n");
                }
                Body::Bytes(_) => {
                    output.extend_from_slice(b"Content-Type: application/octet-stream\r\n");
                }
            }
        }
        let length = match body {
            Body::None => noted.length.filter(|_| is_head).unwrap_or(0),
            body => body.length(),
        };
        push_length(&mut output, length);
    }
    let closes = push_connection(&mut output, &server, request, &noted);
    if !has_no_body && !is_head {
        body.push(&mut output);
    }
    let is_sent = server.respond(request.id, &output, closes);
    give_back(output);
    Ok(Value::boolean(is_sent))
}

/// `(%http-respond-in-parts! request status fields length text?)`.
pub(super) fn respond_in_parts(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let status = status(thread, call)?;
    let is_text = call.at(4).is_true();
    let length = match call.at(3) {
        Value::FALSE => None,
        _ => Some(call.index(thread, 3)? as u64),
    };
    let mut output = take_output();
    push_status(&mut output, status);
    let mut noted = match push_fields(&mut output, call.at(2), is_text) {
        Ok(noted) => noted,
        Err(why) => {
            give_back(output);
            return refused(thread, call, why);
        }
    };
    if !noted.has_date {
        push_date(&mut output);
    }
    let is_new = RequestFlag::IsNew.is_in(request.flags);
    let length = length.or(noted.length);
    let coding = if has_no_body(status) || RequestFlag::IsHead.is_in(request.flags) {
        BodyCoding::Ignored
    } else if let Some(length) = length {
        BodyCoding::Known(length)
    } else if is_new {
        BodyCoding::Chunked
    } else {
        BodyCoding::UntilEnd
    };
    match (coding, length) {
        _ if has_no_body(status) => {}
        (_, Some(length)) => push_length(&mut output, length),
        (BodyCoding::Chunked, _) | (BodyCoding::Ignored, None) if is_new => {
            output.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        _ => noted.closes = true,
    }
    let closes = push_connection(&mut output, &server, request, &noted);
    let handle = server.respond_with_body(request.id, &output, coding, closes);
    give_back(output);
    let kind = if is_text { flag::TEXTUAL } else { flag::BINARY };
    match handle {
        Some(handle) => port_over(thread, handle, kind | flag::OUTPUT),
        None => Ok(Value::FALSE),
    }
}
