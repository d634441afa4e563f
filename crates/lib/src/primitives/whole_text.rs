//! What is left of a textual port as one string.
//!
//! The text is gathered as UTF-8 outside of the heap, and the string is made of it at once, so that a wide one, four times
//! as large, is there only once.

use canny_io::{IoError, Text, Width};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::primitives::ports::{flag, on_text_input, required_port};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%read-rest" => read_rest;
};

/// Other threads may have to wait until so many bytes are read.
const BYTES_MAX: usize = 128 << 20;

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
                // What was read is not in the port any more; the caller comes again.
                Err(IoError::Interrupted | IoError::Parked(_) | IoError::Unserved(_))
                    if gathered.length > 0 =>
                {
                    break;
                }
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
        let kind = match self.is_wide {
            true => Kind::String32,
            false => Kind::String8,
        };
        let data = thread.try_leaf(kind, 0, self.length)?;
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
