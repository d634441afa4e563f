//! JSON and CSV beside the crates that others made for them: generators and oracles.
//!
//! Both sides read the same values, and the result does not depend on how the input was cut into
//! pieces.

use canny_formats::csv::{self, Dialect, RowReader};
use canny_formats::json::{self, Decimals, Event, Reader, Tape};
use serde_json::Value;

use crate::corpus::Corpus;
use crate::generate::mutated;
use crate::random::Random;

/// Texts of JSON, right ones and wrong ones.
pub fn json_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let mut text = Vec::new();
    json_value(random, 4, &mut text);
    if random.once_in(3) {
        text
    } else {
        mutated(random, text, JSON_PIECES)
    }
}

const JSON_PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\n",
    "\\x",
    "0",
    "-",
    "-0",
    "1",
    "12",
    ".",
    ".5",
    "e",
    "E+",
    "e-400",
    "1e400",
    "9007199254740993",
    "9223372036854775808",
    "-9223372036854775808",
    "0.1",
    "true",
    "false",
    "null",
    "nul",
    " ",
    "\n",
    "\t",
    "\r",
    "\u{b}",
    "\u{0}",
    "\u{7f}",
    "é",
    "\u{2028}",
    "😀",
    "\u{feff}",
    "//",
    "NaN",
];

fn json_value(random: &mut Random, depth: usize, text: &mut Vec<u8>) {
    let space = |random: &mut Random, text: &mut Vec<u8>| {
        if random.once_in(6) {
            text.extend_from_slice(random.choose(&[" ", "\n", "\t \r\n"]).as_bytes());
        }
    };
    space(random, text);
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => text.extend_from_slice(random.choose(&["null", "true", "false"]).as_bytes()),
        1 => text.extend_from_slice((random.next() as i64).to_string().as_bytes()),
        2 => {
            let number = f64::from_bits(random.next());
            let number = if number.is_finite() { number } else { 0.5 };
            let written = match random.below(3) {
                0 => format!("{number:?}"),
                1 => format!("{number:e}"),
                _ => format!(
                    "{}.{}E{}",
                    random.below(1000),
                    random.next(),
                    random.below(40)
                ),
            };
            text.extend_from_slice(written.as_bytes());
        }
        3 | 4 => json_string(random, text),
        kind => {
            let is_object = kind == 5;
            text.push(if is_object { b'{' } else { b'[' });
            for index in 0..random.below(5) {
                if index > 0 {
                    text.push(b',');
                }
                if is_object {
                    space(random, text);
                    json_string(random, text);
                    space(random, text);
                    text.push(b':');
                }
                json_value(random, depth - 1, text);
            }
            text.push(if is_object { b'}' } else { b']' });
        }
    }
    space(random, text);
}

fn json_string(random: &mut Random, text: &mut Vec<u8>) {
    const PARTS: &[&str] = &[
        "a",
        "key",
        "é",
        "λ",
        "😀",
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\u0041",
        "\\u00e9",
        "\\ud83d\\ude00",
        " ",
        "long enough to be copied at once",
    ];
    text.push(b'"');
    for _ in 0..random.below(6) {
        text.extend_from_slice(random.choose(PARTS).as_bytes());
    }
    text.push(b'"');
}

/// The reference gives up at 128 structures in one another.
const DEPTH_MAX: usize = 100;

/// A text is read, whole and in pieces, if `serde_json` reads it, and as the same value.
pub fn json(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    if bytes.iter().filter(|byte| b"[{".contains(byte)).count() > DEPTH_MAX {
        return Ok(());
    }
    let theirs = serde_json::from_str::<Value>(&text).ok().map(alike);
    for piece_bytes in [1, 2, 3, 7, 64, usize::MAX / 2] {
        let ours = json_whole(&text, piece_bytes).map(alike);
        if ours != theirs {
            return Err(format!(
                "{text:?} in pieces of {piece_bytes}: {ours:?}, the reference {theirs:?}"
            ));
        }
    }
    Ok(())
}

/// The value that a text is, if it is one and nothing else.
fn json_whole(text: &str, piece_bytes: usize) -> Option<Value> {
    let mut reader = Reader::new(Decimals::Text, 2 * DEPTH_MAX);
    let mut stack = Vec::new();
    let mut start = 0usize;
    loop {
        let end = text.ceil_char_boundary(start.saturating_add(piece_bytes).min(text.len()));
        let (used, progress) = reader.feed(&text[start..end], end == text.len());
        start += used;
        replay(&reader.tape, &mut stack)?;
        reader.empty_tape();
        match progress {
            json::Progress::NeedsMore | json::Progress::Full => {}
            json::Progress::Done => break,
            json::Progress::End | json::Progress::Fault { .. } => return None,
        }
    }
    let is_space = |character: char| " \n\r\t".contains(character);
    text[start..].chars().all(is_space).then(|| stack.pop())?
}

/// Makes values of what a tape says.
fn replay(tape: &Tape, stack: &mut Vec<Value>) -> Option<()> {
    let mut at = 0;
    let mut text = |length: usize| {
        at += length;
        String::from_utf8(tape.text.get(at - length..at)?.to_vec()).ok()
    };
    for event in &tape.events {
        let value = match *event {
            Event::Null => Value::Null,
            Event::True => Value::Bool(true),
            Event::False => Value::Bool(false),
            Event::Integer(integer) => Value::from(integer),
            Event::Flonum(flonum) => Value::from(flonum),
            Event::Number(length) => serde_json::from_str(&text(length)?).ok()?,
            Event::String(length) | Event::Key(length) => Value::from(text(length)?),
            Event::Start { .. } => continue,
            Event::Array(count) => Value::Array(stack.split_off(stack.len() - count)),
            Event::Object(count) => {
                let mut members = serde_json::Map::new();
                let mut parts = stack.split_off(stack.len() - 2 * count).into_iter();
                while let (Some(Value::String(key)), Some(value)) = (parts.next(), parts.next()) {
                    members.insert(key, value);
                }
                Value::Object(members)
            }
        };
        stack.push(value);
    }
    Some(())
}

/// The text of a value, with integers as what they are, not as they are written.
fn alike(value: Value) -> String {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            text.parse::<i64>()
                .map_or(text, |integer| integer.to_string())
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.into_iter().map(alike).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Object(members) => {
            let members = members
                .into_iter()
                .map(|(key, value)| format!("{key:?}:{}", alike(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Rows of fields, right ones and wrong ones.
pub fn csv_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "\"", "\"\"", ",", ",,", "\n", "\r\n", "\r", "\n\n", " ", "a", "field", "é", "😀", "'",
        ";", "#",
    ];
    let mut text = Vec::new();
    for _ in 0..random.below(30) {
        text.extend_from_slice(random.choose(PIECES).as_bytes());
    }
    text
}

/// Accepted text has the rows that the crate `csv` reads; refused text has a quote that is out of
/// place.
pub fn csv(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = ::csv::ReaderBuilder::new();
    let mut reader = reader
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let records: Result<Vec<Vec<String>>, _> = reader
        .records()
        .map(|record| record.map(|record| record.iter().map(str::to_owned).collect()))
        .collect();
    let theirs = records.map_err(|error| error.to_string())?;
    let whole = csv_rows(&text, usize::MAX / 2);
    for piece_bytes in [1, 2, 3, 7] {
        let pieces = csv_rows(&text, piece_bytes);
        if pieces != whole {
            return Err(format!(
                "{text:?}: {whole:?}, in pieces of {piece_bytes} {pieces:?}"
            ));
        }
    }
    match whole {
        Ok(ours) if ours != theirs => Err(format!("{text:?}: {ours:?}, the reference {theirs:?}")),
        Err(_) if !text.contains('"') => Err(format!("{text:?} is refused")),
        _ => Ok(()),
    }
}

fn csv_rows(text: &str, piece_bytes: usize) -> Result<Vec<Vec<String>>, csv::Fault> {
    let mut reader = RowReader::new(Dialect::default());
    let mut rows = Vec::new();
    let mut start = 0usize;
    loop {
        let end = text.ceil_char_boundary(start.saturating_add(piece_bytes).min(text.len()));
        let (used, progress) = reader.feed(&text[start..end], end == text.len());
        start += used;
        match progress {
            csv::Progress::NeedsMore => {}
            csv::Progress::Row => {
                let mut at = 0;
                let row = reader.ends.iter().map(|&end| {
                    let field = String::from_utf8_lossy(&reader.text[at..end]).into_owned();
                    at = end;
                    field
                });
                rows.push(row.collect());
                reader.clear();
            }
            csv::Progress::End => return Ok(rows),
            csv::Progress::Fault(fault) => return Err(fault),
        }
    }
}
