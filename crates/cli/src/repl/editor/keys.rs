//! Bytes of a terminal to keys.
//!
//! Bytes come in pieces that may end anywhere; what is not a whole key waits for the rest. Nothing that
//! a terminal sends is an error: bytes that are no UTF-8 are replacement characters, unknown sequences
//! are [`Key::Unknown`].

/// A key, or what a terminal tells by the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// With Ctrl held: the lower-case letter, or the character.
    Control(char),
    /// With Alt held, or after Escape.
    Meta(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    /// With Alt held.
    MetaBackspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
    PasteStart,
    PasteEnd,
    Unknown,
}

/// Bytes that were read and not yet used.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
}

/// A sequence longer than this is none.
const SEQUENCE_MAX: usize = 32;

impl Decoder {
    /// Adds bytes as they were read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether nothing waits, not even a part of a key.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next key. With `is_final` no more bytes will come soon, so that a lone Escape is a key.
    pub fn next(&mut self, is_final: bool) -> Option<Key> {
        let rest = &self.bytes[self.at..];
        let (key, length) = decode(rest, is_final)?;
        self.at += length;
        Some(key)
    }
}

/// The first key and its length; nothing if it is not whole yet.
fn decode(bytes: &[u8], is_final: bool) -> Option<(Key, usize)> {
    let first = *bytes.first()?;
    match first {
        0x1b => escape(bytes, is_final),
        b'\r' | b'\n' => Some((Key::Enter, 1)),
        b'\t' => Some((Key::Tab, 1)),
        0x08 | 0x7f => Some((Key::Backspace, 1)),
        0 => Some((Key::Control(' '), 1)),
        1..=26 => Some((Key::Control((b'a' + first - 1) as char), 1)),
        0x1c..=0x1f => Some((Key::Control((first + 0x40) as char), 1)),
        0x20..=0x7e => Some((Key::Char(first as char), 1)),
        _ => character(bytes, is_final),
    }
}

/// A character outside of ASCII.
fn character(bytes: &[u8], is_final: bool) -> Option<(Key, usize)> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some((Key::Char(char::REPLACEMENT_CHARACTER), 1)),
    };
    let sequence = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(sequence) {
        Ok(text) => text.chars().next().map(|found| (Key::Char(found), length)),
        Err(error) if error.error_len().is_none() && !is_final => None,
        Err(error) => {
            let length = error.error_len().unwrap_or(sequence.len());
            Some((Key::Char(char::REPLACEMENT_CHARACTER), length))
        }
    }
}

fn escape(bytes: &[u8], is_final: bool) -> Option<(Key, usize)> {
    let Some(second) = bytes.get(1) else {
        return is_final.then_some((Key::Unknown, 1));
    };
    match second {
        b'[' => control_sequence(bytes, is_final),
        b'O' => match bytes.get(2) {
            None => is_final.then_some((Key::Unknown, 2)),
            Some(last) => Some((letter(*last, ""), 3)),
        },
        0x7f | 0x08 => Some((Key::MetaBackspace, 2)),
        // Two of them: the first stands alone.
        0x1b => Some((Key::Unknown, 1)),
        b'\r' | b'\n' => Some((Key::Meta('\r'), 2)),
        _ => match decode(&bytes[1..], is_final)? {
            (Key::Char(found), length) => Some((Key::Meta(found), 1 + length)),
            (_, length) => Some((Key::Unknown, 1 + length)),
        },
    }
}

/// `ESC [ parameters letter`.
fn control_sequence(bytes: &[u8], is_final: bool) -> Option<(Key, usize)> {
    let end = bytes[2..]
        .iter()
        .position(|byte| (0x40..=0x7e).contains(byte));
    let Some(end) = end.filter(|end| *end <= SEQUENCE_MAX) else {
        if bytes.len() > SEQUENCE_MAX || is_final {
            return Some((Key::Unknown, 2));
        }
        return None;
    };
    let parameters = std::str::from_utf8(&bytes[2..2 + end]).unwrap_or("?");
    let key = match bytes[2 + end] {
        b'~' => match parameters.split(';').next().unwrap_or("") {
            "1" | "7" => Key::Home,
            "4" | "8" => Key::End,
            "3" => Key::Delete,
            "5" => Key::PageUp,
            "6" => Key::PageDown,
            "200" => Key::PasteStart,
            "201" => Key::PasteEnd,
            _ => Key::Unknown,
        },
        last => letter(last, parameters),
    };
    Some((key, 2 + end + 1))
}

fn letter(last: u8, parameters: &str) -> Key {
    let by_word = parameters.ends_with(";5") || parameters.ends_with(";3");
    match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if by_word => Key::WordRight,
        b'D' if by_word => Key::WordLeft,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        b'M' => Key::Enter,
        _ => Key::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pieces: &[&[u8]]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        let mut keys = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(key) = decoder.next(false) {
                keys.push(key);
            }
        }
        while let Some(key) = decoder.next(true) {
            keys.push(key);
        }
        assert!(decoder.is_empty());
        keys
    }

    #[test]
    fn keys_may_come_in_pieces() {
        let whole = keys(&["aé\u{1b}[1;5C\r".as_bytes()]);
        assert_eq!(
            whole,
            [Key::Char('a'), Key::Char('é'), Key::WordRight, Key::Enter]
        );
        let bytes = "aé\u{1b}[1;5C\r".as_bytes();
        let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(keys(&pieces), whole);
    }

    #[test]
    fn meta_and_control() {
        assert_eq!(
            keys(&[b"\x01\x1bf\x1b\x7f\x1b"]),
            [
                Key::Control('a'),
                Key::Meta('f'),
                Key::MetaBackspace,
                Key::Unknown
            ]
        );
    }

    #[test]
    fn every_byte_is_used() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let got = keys(&[&[0x1b, first, second, b'x']]);
                assert!(!got.is_empty());
                keys(&[&[first, second]]);
            }
        }
        keys(&[&[0x1b, b'['], &[b'0'; 100]]);
    }
}
