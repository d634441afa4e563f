//! Values as text, in the notation that tools for components share (WAVE): `{name: "a", at: (1, 2)}`.
//!
//! Types say what is expected, so that names of cases need no marks and an option may be written
//! without `some`.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::CharIndices;

use crate::types::{Shape, Type};
use crate::value::Value;

/// Values inside of each other that are read.
const DEPTH_MAX: usize = 100;

/// The value of a type that a text stands for; else what is wrong, with the column from 1.
pub fn parse(kind: &Type, text: &str) -> Result<Value, String> {
    let mut reader = Reader {
        text,
        rest: text.char_indices().peekable(),
        depth: 0,
    };
    let value = reader.value(kind)?;
    reader.skip();
    match reader.rest.peek() {
        None => Ok(value),
        Some(_) => Err(reader.wrong("nothing more is expected")),
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn place(&mut self) -> usize {
        self.rest
            .peek()
            .map_or(self.text.len(), |(place, _)| *place)
    }

    fn wrong(&mut self, text: &str) -> String {
        let place = self.place();
        let column = self.text[..place].chars().count() + 1;
        format!("column {column}: {text}")
    }

    fn expected<T>(&mut self, kind: &Type) -> Result<T, String> {
        Err(self.wrong(&format!("a value of type {} is expected", kind.text())))
    }

    fn skip(&mut self) {
        while self.rest.next_if(|(_, it)| it.is_whitespace()).is_some() {}
    }

    /// Whether the next character is this one, which is then taken.
    fn takes(&mut self, wanted: char) -> bool {
        self.skip();
        self.rest.next_if(|(_, it)| *it == wanted).is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.takes(wanted) {
            Ok(())
        } else {
            Err(self.wrong(&format!("'{wanted}' is expected")))
        }
    }

    /// A name or a number.
    fn word(&mut self) -> &'a str {
        self.skip();
        let start = self.place();
        let is_part = |it: char| it.is_alphanumeric() || matches!(it, '-' | '+' | '.' | '_' | '%');
        while self.rest.next_if(|(_, it)| is_part(*it)).is_some() {}
        let end = self.place();
        self.text[start..end].trim_start_matches('%')
    }

    /// Elements between a bracket that was read and its partner.
    fn elements(
        &mut self,
        end: char,
        mut read: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        loop {
            if self.takes(end) {
                return Ok(());
            }
            read(self)?;
            if !self.takes(',') {
                return self.expect(end);
            }
        }
    }

    fn number<T: std::str::FromStr>(&mut self, kind: &Type) -> Result<T, String> {
        let before = self.rest.clone();
        match self.word().parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                self.rest = before;
                self.skip();
                self.expected(kind)
            }
        }
    }

    fn value(&mut self, kind: &Type) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong("values are too deep inside of each other"));
        }
        let value = self.value_within(kind);
        self.depth -= 1;
        value
    }

    fn value_within(&mut self, kind: &Type) -> Result<Value, String> {
        Ok(match &kind.shape {
            Shape::Bool => Value::Bool(self.number(kind)?),
            Shape::S8 => Value::S8(self.number(kind)?),
            Shape::U8 => Value::U8(self.number(kind)?),
            Shape::S16 => Value::S16(self.number(kind)?),
            Shape::U16 => Value::U16(self.number(kind)?),
            Shape::S32 => Value::S32(self.number(kind)?),
            Shape::U32 => Value::U32(self.number(kind)?),
            Shape::S64 => Value::S64(self.number(kind)?),
            Shape::U64 => Value::U64(self.number(kind)?),
            Shape::F32 => Value::F32(self.number(kind)?),
            Shape::F64 => Value::F64(self.number(kind)?),
            Shape::Char => {
                self.expect('\'')?;
                let character = self.character(kind)?;
                self.expect('\'')?;
                Value::Char(character)
            }
            Shape::String => {
                self.expect('"')?;
                let mut text = String::new();
                while self.rest.next_if(|(_, it)| *it == '"').is_none() {
                    text.push(self.character(kind)?);
                }
                Value::String(text)
            }
            Shape::List(element) | Shape::FixedList(element, _) => {
                self.expect('[')?;
                let mut values = Vec::new();
                self.elements(']', |reader| {
                    values.push(reader.value(element)?);
                    Ok(())
                })?;
                if let Shape::FixedList(_, count) = &kind.shape
                    && values.len() != *count as usize
                {
                    return Err(self.wrong(&format!("the list has {count} elements")));
                }
                match &element.shape {
                    Shape::U8 => Value::Bytes(values.iter().map(byte).collect()),
                    _ => Value::List(values),
                }
            }
            Shape::Tuple(kinds) => {
                self.expect('(')?;
                let mut values = Vec::new();
                self.elements(')', |reader| match kinds.get(values.len()) {
                    Some(kind) => {
                        values.push(reader.value(kind)?);
                        Ok(())
                    }
                    None => Err(reader.wrong("the tuple has fewer elements")),
                })?;
                if values.len() < kinds.len() {
                    return Err(self.wrong("the tuple has more elements"));
                }
                Value::Record(values)
            }
            Shape::Record(_) => self.record(kind)?,
            Shape::Flags(names) => {
                self.expect('{')?;
                let mut flags = vec![false; names.len()];
                self.elements('}', |reader| {
                    let word = reader.word();
                    match names.iter().position(|name| name == word) {
                        Some(place) => flags[place] = true,
                        None => return Err(reader.wrong(&format!("there is no flag '{word}'"))),
                    }
                    Ok(())
                })?;
                Value::Flags(flags)
            }
            Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..) => {
                self.variant(kind)?
            }
            Shape::Own(_) | Shape::Borrow(_) => {
                return Err(self.wrong("resources have no text"));
            }
        })
    }

    fn record(&mut self, kind: &Type) -> Result<Value, String> {
        let Shape::Record(fields) = &kind.shape else {
            return self.expected(kind);
        };
        self.expect('{')?;
        let mut values: Vec<Option<Value>> = vec![None; fields.len()];
        self.elements('}', |reader| {
            let word = reader.word();
            let Some(place) = fields.iter().position(|(name, _)| name == word) else {
                return Err(reader.wrong(&format!("there is no field '{word}'")));
            };
            reader.expect(':')?;
            values[place] = Some(reader.value(&fields[place].1)?);
            Ok(())
        })?;
        let mut complete = Vec::new();
        for (value, (name, kind)) in values.into_iter().zip(fields) {
            match value {
                Some(value) => complete.push(value),
                None if matches!(kind.shape, Shape::Option(_)) => {
                    complete.push(Value::Option(None));
                }
                None => return Err(self.wrong(&format!("the field '{name}' is missing"))),
            }
        }
        Ok(Value::Record(complete))
    }

    fn variant(&mut self, kind: &Type) -> Result<Value, String> {
        let before = self.rest.clone();
        let word = self.word();
        let names: Vec<&str> = match &kind.shape {
            Shape::Variant(cases) => cases.iter().map(|(name, _)| name.as_str()).collect(),
            Shape::Enum(names) => names.iter().map(String::as_str).collect(),
            Shape::Option(_) => vec!["none", "some"],
            _ => vec!["ok", "err"],
        };
        let Some(number) = names.iter().position(|name| *name == word) else {
            self.rest = before;
            // The value in an option, without its name.
            if let Shape::Option(case) = &kind.shape {
                let held = Box::new(self.value(case)?);
                return Ok(Value::Option(Some(held)));
            }
            return self.expected(kind);
        };
        let held = match kind.case(number) {
            Some(case) => {
                self.expect('(')?;
                let held = self.value(case)?;
                self.expect(')')?;
                Some(Box::new(held))
            }
            None => None,
        };
        Ok(match &kind.shape {
            Shape::Enum(_) => Value::Enum(number as u32),
            Shape::Option(_) => Value::Option(held),
            Shape::Result(..) if number == 0 => Value::Result(Ok(held)),
            Shape::Result(..) => Value::Result(Err(held)),
            _ => Value::Variant(number as u32, held),
        })
    }

    /// A character of a string, which may be written by an escape.
    fn character(&mut self, kind: &Type) -> Result<char, String> {
        let Some((_, first)) = self.rest.next() else {
            return self.expected(kind);
        };
        if first != '\\' {
            return Ok(first);
        }
        let escape = self.rest.next().map(|(_, it)| it);
        match escape {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some(it @ ('\\' | '\'' | '"')) => Ok(it),
            Some('u') => {
                self.expect('{')?;
                let digits = self.word();
                self.expect('}')?;
                let number = u32::from_str_radix(digits, 16).ok();
                match number.and_then(char::from_u32) {
                    Some(character) => Ok(character),
                    None => Err(self.wrong("this is the number of no character")),
                }
            }
            _ => Err(self.wrong("there is no such escape")),
        }
    }
}

fn byte(value: &Value) -> u8 {
    match value {
        Value::U8(byte) => *byte,
        _ => 0,
    }
}

/// The text for a value of a type.
pub fn text(kind: &Type, value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, kind, value);
    text
}

// Writing to a string does not fail.
fn write(to: &mut String, kind: &Type, value: &Value) {
    match value {
        Value::Bool(it) => _ = write!(to, "{it}"),
        Value::S8(it) => _ = write!(to, "{it}"),
        Value::U8(it) => _ = write!(to, "{it}"),
        Value::S16(it) => _ = write!(to, "{it}"),
        Value::U16(it) => _ = write!(to, "{it}"),
        Value::S32(it) => _ = write!(to, "{it}"),
        Value::U32(it) => _ = write!(to, "{it}"),
        Value::S64(it) => _ = write!(to, "{it}"),
        Value::U64(it) => _ = write!(to, "{it}"),
        Value::F32(it) => write_float(to, &it.to_string()),
        Value::F64(it) => write_float(to, &it.to_string()),
        Value::Char(it) => quoted(to, '\'', &it.to_string()),
        Value::String(it) => quoted(to, '"', it),
        Value::Bytes(bytes) => {
            let texts: Vec<String> = bytes.iter().map(ToString::to_string).collect();
            _ = write!(to, "[{}]", texts.join(", "));
        }
        Value::List(values) => {
            let (Shape::List(element) | Shape::FixedList(element, _)) = &kind.shape else {
                return;
            };
            to.push('[');
            for (index, value) in values.iter().enumerate() {
                to.push_str(if index > 0 { ", " } else { "" });
                write(to, element, value);
            }
            to.push(']');
        }
        Value::Record(values) => {
            let names: Option<Vec<&str>> = match &kind.shape {
                Shape::Record(fields) => Some(fields.iter().map(|(it, _)| it.as_str()).collect()),
                _ => None,
            };
            to.push(if names.is_some() { '{' } else { '(' });
            for (index, (value, kind)) in values.iter().zip(kind.fields()).enumerate() {
                to.push_str(if index > 0 { ", " } else { "" });
                if let Some(names) = &names {
                    _ = write!(to, "{}: ", names[index]);
                }
                write(to, kind, value);
            }
            to.push(if names.is_some() { '}' } else { ')' });
        }
        Value::Flags(flags) => {
            let Shape::Flags(names) = &kind.shape else {
                return;
            };
            let set = names.iter().zip(flags).filter(|(_, flag)| **flag);
            let set: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
            _ = write!(to, "{{{}}}", set.join(", "));
        }
        Value::Enum(number) => write_case(to, kind, *number, None),
        Value::Variant(number, held) => write_case(to, kind, *number, held.as_deref()),
        Value::Option(held) => write_case(to, kind, u32::from(held.is_some()), held.as_deref()),
        Value::Result(Ok(held)) => write_case(to, kind, 0, held.as_deref()),
        Value::Result(Err(held)) => write_case(to, kind, 1, held.as_deref()),
        Value::Own(_) | Value::Borrow(_) => _ = write!(to, "<{}>", kind.text()),
    }
}

fn write_float(to: &mut String, text: &str) {
    to.push_str(&text.to_lowercase());
}

fn write_case(to: &mut String, kind: &Type, number: u32, held: Option<&Value>) {
    let place = number as usize;
    let name = match &kind.shape {
        Shape::Variant(cases) => cases.get(place).map_or("", |(name, _)| name),
        Shape::Enum(names) => names.get(place).map_or("", String::as_str),
        Shape::Option(_) => ["none", "some"][place.min(1)],
        _ => ["ok", "err"][place.min(1)],
    };
    to.push_str(name);
    if let (Some(case), Some(held)) = (kind.case(place), held) {
        to.push('(');
        write(to, case, held);
        to.push(')');
    }
}

fn quoted(to: &mut String, quote: char, text: &str) {
    to.push(quote);
    for character in text.chars() {
        match character {
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\\' => to.push_str("\\\\"),
            it if it == quote => {
                to.push('\\');
                to.push(it);
            }
            it if it.is_control() => _ = write!(to, "\\u{{{:x}}}", u32::from(it)),
            it => to.push(it),
        }
    }
    to.push(quote);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{parse, text};
    use crate::types::{Shape, Type};
    use crate::value::Value;

    fn kind(shape: Shape) -> Arc<Type> {
        Arc::new(Type::new(shape))
    }

    fn point() -> Arc<Type> {
        let number = kind(Shape::F64);
        let label = kind(Shape::Option(kind(Shape::String)));
        kind(Shape::Record(vec![
            ("x".to_owned(), number),
            ("label".to_owned(), label),
        ]))
    }

    #[test]
    fn texts_are_read_and_written() {
        let cases = [
            (kind(Shape::U8), "200", "200"),
            (kind(Shape::Bool), "true", "true"),
            (kind(Shape::F32), "nan", "nan"),
            (kind(Shape::F64), " -1.5 ", "-1.5"),
            (kind(Shape::Char), "'\\u{3bb}'", "'λ'"),
            (kind(Shape::String), r#""a\"b\n""#, r#""a\"b\n""#),
            (kind(Shape::List(kind(Shape::U8))), "[1,2,]", "[1, 2]"),
            (
                kind(Shape::Tuple(vec![kind(Shape::S8), kind(Shape::String)])),
                r#"(-1, "x")"#,
                r#"(-1, "x")"#,
            ),
            (point(), "{x: 1}", "{x: 1, label: none}"),
            (
                point(),
                r#"{label: "here", x: 2}"#,
                r#"{x: 2, label: some("here")}"#,
            ),
            (
                kind(Shape::Result(Some(kind(Shape::U32)), None)),
                "ok(3)",
                "ok(3)",
            ),
            (
                kind(Shape::Flags(vec!["read".to_owned(), "write".to_owned()])),
                "{write}",
                "{write}",
            ),
        ];
        for (kind, given, expected) in cases {
            let value = parse(&kind, given);
            let value = value.unwrap_or_else(|error| panic!("{given}: {error}"));
            assert_eq!(text(&kind, &value), expected);
        }
    }

    #[test]
    fn faults_are_told_with_their_columns() {
        let cases = [
            (
                kind(Shape::U8),
                "256",
                "column 1: a value of type u8 is expected",
            ),
            (point(), "{y: 1}", "column 3: there is no field 'y'"),
            (point(), "{}", "column 3: the field 'x' is missing"),
            (kind(Shape::U8), "1 2", "column 3: nothing more is expected"),
            (
                kind(Shape::FixedList(kind(Shape::U8), 3)),
                "[1, 2]",
                "column 7: the list has 3 elements",
            ),
            (
                kind(Shape::String),
                "\"a",
                "column 3: a value of type string is expected",
            ),
        ];
        for (kind, given, expected) in cases {
            assert_eq!(parse(&kind, given), Err(expected.to_owned()), "{given}");
        }
        let mut deep = kind(Shape::U8);
        for _ in 0..200 {
            deep = kind(Shape::List(deep));
        }
        let error = parse(&deep, &"[".repeat(200)).unwrap_err();
        assert!(error.contains("too deep"), "{error}");
        assert_eq!(parse(&kind(Shape::Bool), "false"), Ok(Value::Bool(false)));
    }
}
