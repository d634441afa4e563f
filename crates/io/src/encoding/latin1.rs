//! The encodings whose bytes are code points: Latin-1, and ASCII as its lower half.
//!
//! Every byte is valid Latin-1. In ASCII a byte from 0x80 on is malformed, and the port's error
//! mode decides about it. Encoders stop at the first character that the encoding does not have.
//! Positions map one to one, so a byte offset needs no search.

use super::{DecodeStop, Decoded, Decoder, Encoder, Encoding};
use crate::text::{ascii_prefix_length, push_ascii_prefix};

/// The encoding ISO-8859-1: each byte is the character with that number, and nothing is malformed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latin1;

/// The encoding US-ASCII: Latin-1 whose bytes from 0x80 on are malformed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ascii;

impl Encoding for Latin1 {
    fn name(&self) -> &str {
        "ISO-8859-1"
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Latin1Decoder)
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(ByteEncoder {
            character_max: '\u{FF}',
        })
    }

    fn is_ascii_transparent(&self) -> bool {
        true
    }
}

impl Encoding for Ascii {
    fn name(&self) -> &str {
        "US-ASCII"
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(AsciiDecoder)
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(ByteEncoder {
            character_max: '\u{7F}',
        })
    }

    fn is_ascii_transparent(&self) -> bool {
        true
    }
}

struct Latin1Decoder;

impl Decoder for Latin1Decoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        self.decode_measured(source, end, target).0
    }

    fn decode_measured(
        &mut self,
        source: &[u8],
        _end: bool,
        target: &mut String,
    ) -> (Decoded, usize) {
        let mut rest = source;
        let mut first_ascii = None;
        while !rest.is_empty() {
            let ascii = push_ascii_prefix(rest, target);
            first_ascii.get_or_insert(ascii);
            let high = rest[ascii..]
                .iter()
                .take_while(|byte| !byte.is_ascii())
                .count();
            target.extend(
                rest[ascii..ascii + high]
                    .iter()
                    .map(|byte| char::from(*byte)),
            );
            rest = &rest[ascii + high..];
        }
        let decoded = Decoded {
            consumed: source.len(),
            stop: DecodeStop::NeedsMore,
        };
        (decoded, first_ascii.unwrap_or(0))
    }

    fn source_length(&self, text: &str) -> usize {
        text.chars().count()
    }

    fn has_ascii_bytes(&self) -> bool {
        true
    }
}

struct AsciiDecoder;

impl Decoder for AsciiDecoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        self.decode_measured(source, end, target).0
    }

    fn decode_measured(
        &mut self,
        source: &[u8],
        _end: bool,
        target: &mut String,
    ) -> (Decoded, usize) {
        let consumed = push_ascii_prefix(source, target);
        let is_complete = consumed == source.len();
        let stop = if is_complete {
            DecodeStop::NeedsMore
        } else {
            DecodeStop::Malformed { length: 1 }
        };
        (Decoded { consumed, stop }, consumed)
    }

    fn source_length(&self, text: &str) -> usize {
        text.len()
    }

    fn has_ascii_bytes(&self) -> bool {
        true
    }
}

/// Writes the number of each character as a byte, up to the last character of the encoding.
struct ByteEncoder {
    character_max: char,
}

impl Encoder for ByteEncoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        let ascii = ascii_prefix_length(text.as_bytes());
        target.extend_from_slice(&text.as_bytes()[..ascii]);
        for (offset, character) in text[ascii..].char_indices() {
            if character > self.character_max {
                return ascii + offset;
            }
            target.push(u32::from(character) as u8);
        }
        text.len()
    }

    fn encode_latin1(&mut self, text: &[u8], target: &mut Vec<u8>) -> usize {
        let length = match self.character_max {
            '\u{FF}' => text.len(),
            _ => ascii_prefix_length(text),
        };
        target.extend_from_slice(&text[..length]);
        length
    }
}
