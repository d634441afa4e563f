//! Fields of messages: headers and trailers.
//!
//! Names and values are checked when they come from a guest. Fields that belong to the connection and not
//! to the message are forbidden to guests, and are left out of what guests get.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use canny_component::Value;

use super::super::Row;
use super::super::call::{Call, Stop, failure_with, success, success_with, trap};
use super::super::table::Resource;
use super::super::values::{self, Mistake};

/// Names and values of fields, in order. A name may be there several times.
pub type Headers = Vec<(String, Vec<u8>)>;

pub const ROWS: &[Row] = &[
    ("[constructor]fields", |call| {
        let fields = Fields::changeable(Headers::new(), &call.state.http.field_bytes);
        call.give(fields).map(Some)
    }),
    ("[static]fields.from-list", |call| {
        let mut headers = Headers::new();
        for entry in values::list(call.value(0)?)? {
            let [name, value] = values::fields(entry)?;
            let (name, value) = (values::text(name)?, values::bytes(value)?);
            check_name(name)?;
            check_value(&headers, name, value)?;
            headers.push((name.into(), value.into()));
        }
        let fields = Fields::changeable(headers, &call.state.http.field_bytes);
        fields.check_size()?;
        success_with(call.give(fields)?)
    }),
    ("[method]fields.get", |call| {
        let name = call.text(1)?;
        let fields = call.get::<Fields>(0)?;
        let values = named(fields.list(), name);
        let values = values.map(|value| Value::Bytes(value.into()));
        let values = values.collect();
        Ok(Some(Value::List(values)))
    }),
    ("[method]fields.has", |call| {
        let name = call.text(1)?;
        let has = named(call.get::<Fields>(0)?.list(), name).next().is_some();
        Ok(Some(Value::Bool(has)))
    }),
    ("[method]fields.set", |call| {
        let name = call.text(1)?;
        let given = values::list(call.value(2)?)?;
        let fields = changed(call, name)?;
        let mut entries = Headers::new();
        for value in given {
            let value = values::bytes(value)?;
            check_value(&entries, name, value)?;
            entries.push((name.into(), value.into()));
        }
        let stored = fields.change();
        stored.remove(name);
        for (name, value) in entries {
            stored.push(&name, &value);
        }
        fields.check_size()?;
        success()
    }),
    ("[method]fields.append", |call| {
        let name = call.text(1)?;
        let value = call.bytes(2)?;
        let fields = changed(call, name)?;
        check_value(fields.list(), name, value)?;
        fields.change().push(name, value);
        fields.check_size()?;
        success()
    }),
    ("[method]fields.delete", |call| {
        let name = call.text(1)?;
        changed(call, name)?.change().remove(name);
        success()
    }),
    ("[method]fields.entries", |call| {
        let fields = call.get::<Fields>(0)?;
        let entries = fields.list().iter().map(|(name, value)| {
            Value::Record(vec![
                Value::String(name.clone()),
                Value::Bytes(value.clone()),
            ])
        });
        let entries = entries.collect();
        Ok(Some(Value::List(entries)))
    }),
    ("[method]fields.clone", |call| {
        let fields = call.get::<Fields>(0)?;
        let copy = Fields {
            stored: Arc::clone(&fields.stored),
            is_changeable: true,
        };
        call.give(copy).map(Some)
    }),
];

/// Most bytes of all fields of a guest.
const BYTES_MAX: usize = 1 << 24;

/// The bytes that an entry takes besides its name and value.
const ENTRY_BYTES: usize = 64;

/// Fields of the connection.
const FORBIDDEN: &[&str] = &[
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// A field that tells the length of the body.
const LENGTH: &str = "content-length";

/// Fields as a guest has them. Copies share what is stored until one of them is changed.
pub struct Fields {
    stored: Arc<Stored>,
    is_changeable: bool,
}

impl Resource for Fields {
    const NAME: &'static str = "fields";
}

/// Fields whose bytes count as a guest's.
struct Stored {
    headers: Headers,
    bytes: usize,
    total: Arc<AtomicUsize>,
}

impl Stored {
    fn new(headers: Headers, total: Arc<AtomicUsize>) -> Stored {
        let bytes = headers.iter().map(entry_bytes).sum();
        total.fetch_add(bytes, Ordering::Relaxed);
        Stored {
            headers,
            bytes,
            total,
        }
    }

    fn push(&mut self, name: &str, value: &[u8]) {
        let entry = (name.into(), value.into());
        let bytes = entry_bytes(&entry);
        self.headers.push(entry);
        self.bytes += bytes;
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    fn remove(&mut self, name: &str) {
        let mut bytes = 0;
        self.headers.retain(|entry| {
            let stays = !entry.0.eq_ignore_ascii_case(name);
            bytes += if stays { 0 } else { entry_bytes(entry) };
            stays
        });
        self.bytes -= bytes;
        self.total.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Clone for Stored {
    fn clone(&self) -> Stored {
        Stored::new(self.headers.clone(), Arc::clone(&self.total))
    }
}

fn entry_bytes((name, value): &(String, Vec<u8>)) -> usize {
    name.len() + value.len() + ENTRY_BYTES
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Fields {
    fn changeable(headers: Headers, total: &Arc<AtomicUsize>) -> Fields {
        Fields {
            stored: Arc::new(Stored::new(headers, Arc::clone(total))),
            is_changeable: true,
        }
    }

    /// Fields of a message that a guest gets.
    pub fn received(mut headers: Headers, total: &Arc<AtomicUsize>) -> Fields {
        headers.retain(|(name, _)| !is_forbidden(name));
        let mut fields = Fields::changeable(headers, total);
        fields.is_changeable = false;
        fields
    }

    /// The same fields, which cannot be changed.
    pub fn fixed(&self) -> Fields {
        Fields {
            stored: Arc::clone(&self.stored),
            is_changeable: false,
        }
    }

    pub fn list(&self) -> &Headers {
        &self.stored.headers
    }

    /// It to be changed: a copy if others have the same.
    fn change(&mut self) -> &mut Stored {
        Arc::make_mut(&mut self.stored)
    }

    /// The length of the body, if they tell it.
    pub fn content_length(&self) -> Option<u64> {
        let value = named(self.list(), LENGTH).next()?;
        std::str::from_utf8(value).ok()?.parse().ok()
    }

    fn check_size(&self) -> Result<(), Stop> {
        if self.stored.total.load(Ordering::Relaxed) > BYTES_MAX {
            return Err(trap(format!(
                "fields of a guest's messages take more than {BYTES_MAX} bytes"
            )));
        }
        Ok(())
    }
}

fn named<'a>(headers: &'a Headers, name: &str) -> impl Iterator<Item = &'a [u8]> {
    let named = headers
        .iter()
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, value)| &**value)
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN
        .iter()
        .any(|forbidden| forbidden.eq_ignore_ascii_case(name))
}

/// Errors of fields.
fn invalid() -> Stop {
    failure_with(Value::Variant(0, None))
}

fn forbidden() -> Stop {
    failure_with(Value::Variant(1, None))
}

fn immutable() -> Stop {
    failure_with(Value::Variant(2, None))
}

/// Whether a text is a token of HTTP: the name of a field or a method.
pub fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn check_name(name: &str) -> Result<(), Stop> {
    if !is_token(name) {
        return Err(invalid());
    }
    if is_forbidden(name) {
        return Err(forbidden());
    }
    Ok(())
}

/// Refuses a value that cannot be sent, and a length that is none or the second one.
fn check_value(before: &Headers, name: &str, value: &[u8]) -> Result<(), Stop> {
    let is_part = |byte: &u8| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f;
    if !value.iter().all(is_part) {
        return Err(invalid());
    }
    if name.eq_ignore_ascii_case(LENGTH) {
        let is_number = value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).unwrap_or_default();
        let is_second = named(before, name).next().is_some();
        if !is_number || is_second || text.parse::<u64>().is_err() {
            return Err(invalid());
        }
    }
    Ok(())
}

/// The fields of the first argument, to change those with a name.
fn changed<'a>(call: &'a mut Call<'_>, name: &str) -> Result<&'a mut Fields, Stop> {
    let fields = call.get::<Fields>(0)?;
    if !fields.is_changeable {
        return Err(immutable());
    }
    check_name(name)?;
    Ok(fields)
}

/// Fields that an argument passes on, if it does.
pub fn passed(call: &mut Call<'_>, value: Option<&Value>) -> Result<Option<Headers>, Stop> {
    match value {
        None => Ok(None),
        Some(Value::Own(number)) => {
            let fields: Fields = call.state.table.take(*number)?;
            Ok(Some(fields.list().clone()))
        }
        Some(_) => Err(Mistake.into()),
    }
}
