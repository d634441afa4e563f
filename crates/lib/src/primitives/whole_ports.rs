//! Reads the rest of a port as one string or one bytevector.
//!
//! Text is gathered as UTF-8 outside of the heap, and the string is made of it at once, so that a wide
//! one, four times as large, is there only once. The bytes of a file go into a bytevector of the right
//! length by way of a small buffer.

use canny_io::{IoError, Text, Width};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::primitives::ports::{flag, on_binary_input, on_text_input, required_port};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%read-rest" => read_rest;
    "%read-rest-bytes" => read_rest_bytes;
};

/// Other threads may have to wait until so many bytes are read.
const BYTES_MAX: usize = 128 << 20;

/// Bytes of a file that are read at once.
const PIECE: usize = 256 << 10;

/// Whether an operation that has read something already stops there because of this error: the caller
/// comes again, and what was read is not in the port any more.
fn is_a_pause(error: &IoError) -> bool {
    matches!(
        error,
        IoError::Interrupted | IoError::Parked(_) | IoError::Unserved(_)
    )
}

#[derive(Default)]
struct Gathered {
    utf8: String,
    length: usize,
    is_wide: bool,
    is_ascii: bool,
}

/// `(%read-rest port)`.
fn read_rest(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::TEXTUAL | flag::INPUT)?;
    let mut gathered = Gathered {
        is_ascii: true,
        ..Gathered::default()
    };
    on_text_input(thread, call, port, |source, wait| {
        while gathered.utf8.len() < BYTES_MAX {
            match source.text.read_available(wait) {
                Ok(Some(text)) => gathered.add(text),
                Ok(None) => break,
                Err(error) if gathered.length > 0 && is_a_pause(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })?;
    if gathered.length == 0 {
        return Ok(Value::EOF);
    }
    gathered.string(thread)
}

/// `(%read-rest-bytes port)`.
fn read_rest_bytes(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 0, flag::BINARY | flag::INPUT)?;
    let rest = on_binary_input(thread, call, port, |input, _| Ok(input.rest_of_file()))?;
    if let Some(length) = rest.filter(|length| *length > PIECE) {
        return read_file(thread, call, port, length);
    }
    let mut gathered = Vec::new();
    on_binary_input(thread, call, port, |input, wait| {
        while gathered.len() < BYTES_MAX {
            match input.read_available(wait) {
                Ok(Some(bytes)) => gathered.extend_from_slice(bytes),
                Ok(None) => break,
                Err(error) if !gathered.is_empty() && is_a_pause(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })?;
    if gathered.is_empty() {
        Ok(Value::EOF)
    } else {
        thread.bytevector(&gathered)
    }
}

/// So many bytes of a file, or those that there are.
fn read_file(thread: &mut Thread, call: Call, port: Value, length: usize) -> Result<Value, Raise> {
    let bytes = thread.try_leaf_to_fill(Kind::Bytevector, 0, length)?;
    let Some(object) = bytes.as_object() else {
        return Ok(Value::EOF);
    };
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < length {
        let room = PIECE.min(length - at);
        let count = on_binary_input(thread, call, port, |input, wait| {
            match input.read_into(&mut piece[..room], wait) {
                Err(error) if at > 0 && is_a_pause(&error) => Ok(0),
                outcome => outcome,
            }
        })?;
        if count == 0 {
            break;
        }
        object.copy_bytes_in(at, &piece[..count]);
        at += count;
    }
    match at {
        0 => Ok(Value::EOF),
        _ if at == length => Ok(bytes),
        _ => thread.bytevector(&object.with_bytes(|bytes| bytes[..at].to_vec())),
    }
}

/// Bytes of UTF-8 that become characters of a string at once.
const BLOCK: usize = 4096;

impl Gathered {
    fn add(&mut self, text: Text<'_>) {
        self.utf8.push_str(text.as_str());
        self.length += text.length();
        self.is_wide |= text.width() == Width::Wide;
        self.is_ascii &= text.width() == Width::Ascii;
    }

    fn string(&self, thread: &mut Thread) -> Result<Value, Raise> {
        if self.is_ascii {
            return thread.string_from_latin1(self.utf8.as_bytes());
        }
        let kind = if self.is_wide {
            Kind::String32
        } else {
            Kind::String8
        };
        let data = thread.try_leaf_to_fill(kind, 0, self.length)?;
        if let Some(object) = data.as_object() {
            let (mut narrow, mut wide) = ([0; BLOCK], [0; BLOCK]);
            let (mut rest, mut at) = (self.utf8.as_str(), 0);
            while !rest.is_empty() {
                let (block, others) = rest.split_at(rest.floor_char_boundary(BLOCK));
                let text = Text::measure(block);
                if self.is_wide {
                    let units = &mut wide[..text.length()];
                    text.copy_utf32(units);
                    object.copy_utf32_in(at, units);
                } else {
                    let units = &mut narrow[..text.length()];
                    text.copy_latin1(units);
                    object.copy_bytes_in(at, units);
                }
                (rest, at) = (others, at + text.length());
            }
        }
        Ok(thread.string_of_data(data, self.length, 0))
    }
}
