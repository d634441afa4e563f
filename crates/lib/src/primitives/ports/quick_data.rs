//! Reading of simple data in the text of a port that has it in the heap: fixnums and short flonums in
//! decimal, plain symbols that are known, strings and characters of ASCII, booleans, and lists of those.
//! Everything else, errors and the end of input too, is left
//! to the reader, and nothing is read then.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::InPlace;

use super::heap_source::advance;
use super::heap_text::{TEXT_INPUT, own_text_of};

/// Elements of lists that are not complete.
const ELEMENTS_MAX: usize = 64;
/// Lists around a datum.
const DEPTH_MAX: usize = 8;
/// Digits of a number that is a fixnum for sure.
const DIGITS_MAX: usize = 17;

/// The next datum.
pub(crate) fn read(thread: &mut InPlace, port: Value) -> Option<Value> {
    let (text, used) = own_text_of(thread, port, TEXT_INPUT)?;
    if text.kind() != Kind::String8 {
        return None;
    }
    text.with_bytes(|bytes| {
        let mut data = Data {
            rest: bytes.get(used..)?,
        };
        let datum = data.next(thread)?;
        advance(thread, port, bytes.len() - data.rest.len());
        Some(datum)
    })
}

struct Data<'a> {
    rest: &'a [u8],
}

impl<'a> Data<'a> {
    fn next(&mut self, thread: &mut InPlace) -> Option<Value> {
        let mut elements = [Value::ZERO; ELEMENTS_MAX];
        let mut starts = [0; DEPTH_MAX];
        let (mut count, mut depth) = (0, 0);
        loop {
            while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = self.rest {
                self.rest = rest;
            }
            let datum = match self.rest {
                [b'(', rest @ ..] => {
                    self.rest = rest;
                    *starts.get_mut(depth)? = count;
                    depth += 1;
                    continue;
                }
                [b')', rest @ ..] => {
                    self.rest = rest;
                    depth = usize::checked_sub(depth, 1)?;
                    let list = thread.list(elements[starts[depth]..count].iter().copied());
                    count = starts[depth];
                    list
                }
                _ => self.atom(thread)?,
            };
            if depth == 0 {
                return Some(datum);
            }
            *elements.get_mut(count)? = datum;
            count += 1;
        }
    }

    fn atom(&mut self, thread: &mut InPlace) -> Option<Value> {
        match self.rest {
            [b'"', rest @ ..] => return self.string(thread, rest),
            [b'#', b'\\', character, rest @ ..] if character.is_ascii_graphic() => {
                return self.ended(rest, Value::character(char::from(*character)));
            }
            [b'#', b't', rest @ ..] => return self.ended(rest, Value::TRUE),
            [b'#', b'f', rest @ ..] => return self.ended(rest, Value::FALSE),
            _ => {}
        }
        let length = self.rest.iter().position(|byte| !is_of_atom(*byte));
        let (atom, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        if !is_end(rest) {
            return None;
        }
        let datum = match atom {
            [b'0'..=b'9' | b'-', ..] if atom.contains(&b'.') => flonum(atom),
            [b'a'..=b'z', ..] if !atom.contains(&b'.') => {
                thread.find_symbol(std::str::from_utf8(atom).ok()?)
            }
            [b'-', digits @ ..] => Some(Value::fixnum(-number(digits)?)),
            digits => Some(Value::fixnum(number(digits)?)),
        };
        self.rest = rest;
        datum
    }

    /// A datum with nothing behind it that could belong to it.
    fn ended(&mut self, rest: &'a [u8], datum: Value) -> Option<Value> {
        self.rest = rest;
        is_end(rest).then_some(datum)
    }

    /// A string on one line without escapes, behind its quotation mark.
    fn string(&mut self, thread: &mut InPlace, rest: &'a [u8]) -> Option<Value> {
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\r' | b'\n' | 0x80..);
        let length = rest.iter().position(is_special)?;
        let (text, rest) = rest.split_at(length);
        let [b'"', rest @ ..] = rest else {
            return None;
        };
        self.rest = rest;
        thread.ascii_string_of(text)
    }
}

/// Whether a byte belongs to a number or symbol whatever stands around it.
fn is_of_atom(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'!' | b'?' | b'*' | b'<' | b'=' | b'>')
}

/// Whether a datum has surely ended in front of this.
fn is_end(rest: &[u8]) -> bool {
    matches!(
        rest.first(),
        None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'(' | b')')
    )
}

/// Digits with a point between them and perhaps a sign before, if the flonum fits a word.
fn flonum(text: &[u8]) -> Option<Value> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let point = digits.iter().position(|byte| *byte == b'.')?;
    let (whole, fraction) = (&digits[..point], &digits[point + 1..]);
    let is_plain = [whole, fraction]
        .iter()
        .all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    let text = std::str::from_utf8(text).ok().filter(|_| is_plain)?;
    Value::try_inline_flonum(text.parse().ok()?)
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| 10 * value + i64::from(*digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use canny_vm::InPlace;

    use crate::testing::{call, machine, written};

    /// The data read here are those of the reader, and the port continues at the same place.
    #[test]
    fn simple_data_are_those_of_the_reader() {
        let mut thread = machine();
        let thread = &mut *thread;
        for name in ["symbol", "a-b!", "b"] {
            thread.symbol(name);
        }
        let mut quick = 0;
        for text in [
            "42",
            "-17 x",
            " symbol)",
            "(1 2 3)(4)",
            "(a-b! (symbol) () 5 (b (b)))rest",
            "()",
            "99999999999999999",
            "123456789012345678901234567890",
            "-",
            "-a",
            "1+",
            "1.5",
            "1/2",
            "1e3",
            "unheard-of",
            "Symbol",
            "b:",
            "b.c",
            "b|c|",
            "b;c",
            "b\"c\"",
            "(1 . 2)",
            "'a",
            "#t",
            "\"text\"",
            "; comment\n7",
            "#;a 7",
            "[1]",
            "(1 #| |# 2)",
            "((((((((((1))))))))))",
            "1.25 x",
            "-0.5)",
            "(0.1 123456789.123456789 1.)",
            "1.2.3",
            "-.5",
            "1.",
            "...",
            "(a . b)",
            "0.0",
            "-0.0",
            "1000000000000000000000.5",
            "\"\"x",
            "\"a b;(c\"(1)",
            "(\"a\" \"b\")",
            "\"a\\nb\"",
            "\"a\nb\"",
            "\"\u{e9}\"",
            "\"open",
            "#\\a)",
            "(#\\( #\\))",
            "#\\space",
            "#\\x41",
            "#true",
            "#f)",
            "(#t #f)",
            "#fx",
            "#;1 2",
            "#d1.5",
        ] {
            let source = thread.string(text);
            let [port, plain] = [0, 0].map(|_| call(thread, "open-input-string", [source]));
            // It has something behind it from now on.
            call(thread, "port-line", [plain]);
            let Some(datum) = super::read(InPlace::of(thread), port) else {
                let next = call(thread, "peek-char", [port]);
                let expected = call(thread, "peek-char", [plain]);
                assert_eq!(next, expected, "{text}");
                continue;
            };
            quick += 1;
            let expected = call(thread, "read", [plain]);
            let shown = (written(thread, datum), written(thread, expected));
            assert_eq!(shown.0, shown.1, "{text}");
            let rest = [port, plain].map(|port| {
                let line = call(thread, "read-line", [port]);
                written(thread, line)
            });
            assert_eq!(rest[0], rest[1], "{text}");
        }
        assert_eq!(quick, 22);
        for text in ["", ")", "(1 2", "(1 2 . ", "("] {
            let source = thread.string(text);
            let port = call(thread, "open-input-string", [source]);
            assert_eq!(super::read(InPlace::of(thread), port), None, "{text}");
        }
    }
}
