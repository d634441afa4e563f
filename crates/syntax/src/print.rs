//! Prints data so that the reader reads the same data back.
//!
//! Literals in messages, caches and listings come from here. Printing does not recurse, since data
//! may be nested to any depth. A symbol gets bars wherever its text alone would read as something
//! else, in other readers too.

use std::fmt::{self, Write};

use canny_number::elements::write_elements;

use crate::datum::Datum;
use crate::number;

/// The parts that remain to be printed, last first.
enum Work<'a> {
    Datum(&'a Datum),
    /// The rest of a list after its first element.
    Tail(&'a Datum),
    Text(&'static str),
}

impl fmt::Display for Datum {
    /// Writes like `write`. Symbols get bars where they need them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pending = vec![Work::Datum(self)];
        while let Some(work) = pending.pop() {
            match work {
                Work::Text(text) => formatter.write_str(text)?,
                Work::Datum(datum) => print_datum(datum, &mut pending, formatter)?,
                Work::Tail(datum) => match datum {
                    Datum::Nil => formatter.write_char(')')?,
                    Datum::Pair(pair) => {
                        formatter.write_char(' ')?;
                        pending.extend([Work::Tail(&pair.cdr), Work::Datum(&pair.car)]);
                    }
                    other => {
                        formatter.write_str(" . ")?;
                        pending.extend([Work::Text(")"), Work::Datum(other)]);
                    }
                },
            }
        }
        Ok(())
    }
}

fn print_datum<'a>(
    datum: &'a Datum,
    pending: &mut Vec<Work<'a>>,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match datum {
        Datum::Nil => out.write_str("()"),
        Datum::Boolean(true) => out.write_str("#t"),
        Datum::Boolean(false) => out.write_str("#f"),
        Datum::Character(character) => write_character(*character, out),
        Datum::Number(value) => out.write_str(&number::print(value)),
        Datum::String(text) => write_quoted(text, '"', out),
        Datum::Symbol(name) => write_symbol(name.as_str(), out),
        Datum::Keyword(name) => {
            out.write_str("#:")?;
            write_symbol(name.as_str(), out)
        }
        Datum::Bytevector(bytes) => {
            out.write_str("#u8(")?;
            for (index, byte) in bytes.iter().enumerate() {
                write!(out, "{}{byte}", if index > 0 { " " } else { "" })?;
            }
            out.write_char(')')
        }
        Datum::NumericVector(element, bytes) => out.write_str(&write_elements(*element, bytes)),
        Datum::Eof => out.write_str("#!eof"),
        Datum::Unspecified => out.write_str("#!unspecific"),
        Datum::DefaultObject => out.write_str("#!default"),
        Datum::LabelRef(label) => write!(out, "#{label}#"),
        Datum::Object(number) => write!(out, "#<object {number}>"),
        Datum::Labelled(label, labelled) => {
            pending.push(Work::Datum(labelled.content()));
            write!(out, "#{label}=")
        }
        Datum::Vector(elements) => {
            pending.push(Work::Text(")"));
            for (index, element) in elements.iter().enumerate().rev() {
                pending.push(Work::Datum(element));
                if index > 0 {
                    pending.push(Work::Text(" "));
                }
            }
            out.write_str("#(")
        }
        Datum::Pair(pair) => {
            if let Some((prefix, quoted)) = quotation(datum) {
                pending.push(Work::Datum(quoted));
                return out.write_str(prefix);
            }
            pending.extend([Work::Tail(&pair.cdr), Work::Datum(&pair.car)]);
            out.write_char('(')
        }
    }
}

/// The prefix and content of `(quote x)` and its kin.
fn quotation(datum: &Datum) -> Option<(&'static str, &Datum)> {
    let Datum::Pair(pair) = datum else {
        return None;
    };
    let (Datum::Symbol(head), Datum::Pair(rest)) = (&pair.car, &pair.cdr) else {
        return None;
    };
    let prefix = match head.as_str() {
        "quote" => "'",
        "quasiquote" => "`",
        "unquote" => ",",
        "unquote-splicing" => ",@",
        _ => return None,
    };
    // `,@x` must not be printed for (unquote @x).
    let ambiguous =
        prefix == "," && matches!(&rest.car, Datum::Symbol(name) if name.as_str().starts_with('@'));
    (matches!(rest.cdr, Datum::Nil) && !ambiguous).then_some((prefix, &rest.car))
}

/// The names of characters that R7RS gives, for reading and writing.
pub const CHARACTER_NAMES: [(&str, char); 9] = [
    ("alarm", '\u{7}'),
    ("backspace", '\u{8}'),
    ("delete", '\u{7F}'),
    ("escape", '\u{1B}'),
    ("newline", '\n'),
    ("null", '\0'),
    ("return", '\r'),
    ("space", ' '),
    ("tab", '\t'),
];

/// Writes a character as a literal.
pub fn write_character(character: char, out: &mut impl Write) -> fmt::Result {
    if let Some((name, _)) = CHARACTER_NAMES
        .iter()
        .find(|(_, value)| *value == character)
    {
        return write!(out, "#\\{name}");
    }
    if character.is_control() || character.is_whitespace() || is_invisible(character) {
        return write!(out, "#\\x{:x}", character as u32);
    }
    write!(out, "#\\{character}")
}

/// Characters that print nothing by themselves and would be lost in a listing.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(character, '\u{2060}'..='\u{206F}' | '\u{FEFF}')
        || matches!(character, '\u{E000}'..='\u{F8FF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{F0000}'..)
}

/// Writes text between quotes with the escapes of strings and of symbols in bars.
pub fn write_quoted(text: &str, quote: char, out: &mut impl Write) -> fmt::Result {
    out.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\u{7}' => out.write_str("\\a")?,
            '\u{8}' => out.write_str("\\b")?,
            _ if character == quote => write!(out, "\\{character}")?,
            _ if character.is_control() || is_invisible(character) => {
                write!(out, "\\x{:x};", character as u32)?
            }
            _ => out.write_char(character)?,
        }
    }
    out.write_char(quote)
}

/// Writes a symbol, with bars when its text alone would not read back as the same symbol.
pub fn write_symbol(text: &str, out: &mut impl Write) -> fmt::Result {
    if needs_bars(text) {
        write_quoted(text, '|', out)
    } else {
        out.write_str(text)
    }
}

/// Whether the text, read as a token, would be anything but the symbol of that name.
fn needs_bars(text: &str) -> bool {
    let plain = |character: char| {
        !(character.is_whitespace()
            || character.is_control()
            || is_invisible(character)
            || matches!(
                character,
                '(' | ')' | '[' | ']' | '"' | ';' | '\'' | '|' | '`' | ',' | '\\'
            ))
    };
    text.is_empty()
        || text == "."
        || text.starts_with('#')
        || text.contains(['{', '}'])
        || !text.chars().all(plain)
        || !matches!(number::parse(text, 10), Ok(None))
        || number::is_malformed(text)
        || begins_like_infinity(text)
}

/// Whether other readers may take the beginning of the text for an infinity or a NaN.
fn begins_like_infinity(text: &str) -> bool {
    let sign = text.starts_with(['+', '-']);
    let word = text.get(1..6).map(str::to_ascii_lowercase);
    sign && matches!(word.as_deref(), Some("inf.0" | "nan.0"))
}
