//! The text of simple data, for ports that take it at once: numbers of a word, booleans, ASCII, and short
//! lists and vectors of those. Everything else is left to the printer, and nothing is written then.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::InPlace;
use canny_vm::strings::string_data;

use super::quick;
use crate::decimal::{DIGITS_MAX, digits};
use crate::primitives::symbols::field::NAME;
use crate::printer::{is_plain, quotation_prefix};

/// Longest text. It ends circular data as well.
const BYTES_MAX: usize = 256;
/// Lists and vectors around a datum.
const DEPTH_MAX: u32 = 16;

/// Writes an object as `write` does, or as `display` does, and whether it did.
pub(crate) fn put(thread: &mut InPlace, port: Value, object: Value, writes: bool) -> bool {
    let mut text = Text {
        bytes: [0; BYTES_MAX],
        used: 0,
        writes,
    };
    let is_short = text.datum(object, DEPTH_MAX).is_some();
    is_short && quick::put_ascii(thread, port, &text.bytes[..text.used])
}

struct Text {
    bytes: [u8; BYTES_MAX],
    used: usize,
    /// Strings and characters get the syntax that is read back.
    writes: bool,
}

impl Text {
    fn push(&mut self, text: &[u8]) -> Option<()> {
        let end = self.used + text.len();
        self.bytes.get_mut(self.used..end)?.copy_from_slice(text);
        self.used = end;
        Some(())
    }

    fn datum(&mut self, value: Value, depth: u32) -> Option<()> {
        if let Some(number) = value.as_fixnum() {
            return self.push(digits(number, &mut [0; DIGITS_MAX]));
        }
        if value.is_pair() {
            return self.list(value, depth.checked_sub(1)?);
        }
        if let Some(character) = value.as_character() {
            return self.character(character);
        }
        if let Some(flonum) = value.as_flonum() {
            return self.push(canny_number::flonum_to_string(flonum).as_bytes());
        }
        match value {
            Value::NIL => return self.push(b"()"),
            Value::TRUE => return self.push(b"#t"),
            Value::FALSE => return self.push(b"#f"),
            _ => {}
        }
        let object = value.as_object()?;
        match object.kind() {
            Kind::Symbol => self.symbol(object),
            Kind::String => self.string(object),
            Kind::Vector => self.vector(object, depth.checked_sub(1)?),
            _ => None,
        }
    }

    fn list(&mut self, list: Value, depth: u32) -> Option<()> {
        let mut pair = list.as_pair()?;
        // An abbreviation may be due.
        if quotation_prefix(pair.car()).is_some() {
            return None;
        }
        self.push(b"(")?;
        loop {
            self.datum(pair.car(), depth)?;
            let rest = pair.cdr();
            match rest.as_pair() {
                Some(next) => {
                    self.push(b" ")?;
                    pair = next;
                }
                None if rest.is_nil() => return self.push(b")"),
                None => {
                    self.push(b" . ")?;
                    self.datum(rest, depth)?;
                    return self.push(b")");
                }
            }
        }
    }

    fn vector(&mut self, vector: ObjectRef, depth: u32) -> Option<()> {
        self.push(b"#(")?;
        for index in 0..vector.length() {
            if index > 0 {
                self.push(b" ")?;
            }
            self.datum(vector.field(index), depth)?;
        }
        self.push(b")")
    }

    fn character(&mut self, character: char) -> Option<()> {
        let byte = u8::try_from(character).ok()?;
        match self.writes {
            true if byte.is_ascii_graphic() => self.push(&[b'#', b'\\', byte]),
            false if byte.is_ascii() => self.push(&[byte]),
            _ => None,
        }
    }

    fn symbol(&mut self, symbol: ObjectRef) -> Option<()> {
        let name = string_data(symbol.field(NAME).as_kind(Kind::String)?);
        if name.kind() != Kind::String8 {
            return None;
        }
        name.with_bytes(|name| {
            let name = std::str::from_utf8(name).ok()?;
            let is_right = name.is_ascii() && (!self.writes || is_plain(name));
            is_right.then(|| self.push(name.as_bytes()))?
        })
    }

    fn string(&mut self, string: ObjectRef) -> Option<()> {
        let data = string_data(string);
        if data.kind() != Kind::String8 {
            return None;
        }
        data.with_bytes(|bytes| {
            if !bytes.is_ascii() {
                return None;
            }
            if !self.writes {
                return self.push(bytes);
            }
            self.push(b"\"")?;
            for &byte in bytes {
                match byte {
                    b'"' | b'\\' => self.push(&[b'\\', byte])?,
                    b' ' => self.push(b" ")?,
                    _ if byte.is_ascii_graphic() => self.push(&[byte])?,
                    _ => return None,
                }
            }
            self.push(b"\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use canny_vm::InPlace;

    use crate::testing::{call, machine, read, written};

    /// The text is that of the printer, or nothing is written.
    #[test]
    fn simple_data_are_written_as_the_printer_does() {
        let mut thread = machine();
        let thread = &mut *thread;
        let mut quick = 0;
        for text in [
            "42",
            "-1",
            "1.5",
            "-0.0",
            "+inf.0",
            "123456789012345678901234567890",
            "1/2",
            "#t",
            "#f",
            "()",
            "#\\a",
            "#\\space",
            "#\\x7f",
            "#\\\"",
            "#\\λ",
            "symbol",
            "Symbol",
            "|a b|",
            "||",
            "+",
            "|1|",
            "\"text\"",
            "\"\"",
            "\"a\\\"b\\\\c\"",
            "\"a\\nb\"",
            "\"é\"",
            "\"λ\"",
            "(1 (2 . 3) #(a \"b\" #\\c) . d)",
            "#()",
            "'a",
            "(quote a b)",
            "(unquote . a)",
            "((((((((((((((((((1))))))))))))))))))",
            "#0=(1 . #0#)",
            "#u8(1 2)",
        ] {
            let datum = read(thread, text);
            for (name, writes) in [("write", true), ("display", false)] {
                let [port, plain] = [0, 0].map(|_| call(thread, "open-output-string", []));
                // It has something behind it from now on.
                call(thread, "port-line", [plain]);
                call(thread, name, [datum, plain]);
                let expected = call(thread, "get-output-string", [plain]);
                let expected = written(thread, expected);
                if super::put(InPlace::of(thread), port, datum, writes) {
                    quick += 1;
                    let given = call(thread, "get-output-string", [port]);
                    assert_eq!(written(thread, given), expected, "{text}");
                } else {
                    let given = call(thread, "get-output-string", [port]);
                    assert_eq!(written(thread, given), "\"\"", "{text}");
                }
            }
        }
        assert!(quick > 30, "{quick}");
    }
}
