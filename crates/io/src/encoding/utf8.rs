//! UTF-8. A malformed sequence is a maximal subpart in the sense of the Unicode standard, as in
//! `String::from_utf8_lossy`.

use super::{ByteOrderMarkRow, DecodeStop, Decoded, Decoder, Encoder, Encoding};
use crate::text::{ascii_prefix_length, push_ascii_prefix};

/// The encoding UTF-8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8;

impl Encoding for Utf8 {
    fn name(&self) -> &str {
        "UTF-8"
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Utf8Decoder { careful: false })
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(Utf8Encoder)
    }

    fn byte_order_marks(&self) -> Vec<ByteOrderMarkRow> {
        vec![(b"\xEF\xBB\xBF", None)]
    }

    fn is_ascii_transparent(&self) -> bool {
        true
    }

    fn is_utf8(&self) -> bool {
        true
    }
}

/// How much is validated at once after something malformed was seen.
const CAREFUL_BLOCK_BYTES: usize = 4096;

struct Utf8Decoder {
    /// Something malformed was seen lately. The fast validator looks at all of its input before it
    /// answers, so that a buffer full of garbage would take quadratic time.
    careful: bool,
}

impl Decoder for Utf8Decoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        if !self.careful {
            let complete = source.len() - incomplete_tail_length(source);
            if let Ok(text) = simdutf8::basic::from_utf8(&source[..complete]) {
                target.push_str(text);
                return Decoded {
                    consumed: complete,
                    stop: classify_tail(&source[complete..], end),
                };
            }
            self.careful = true;
        }
        let mut consumed = 0;
        loop {
            let rest = &source[consumed..];
            let block = &rest[..rest.len().min(CAREFUL_BLOCK_BYTES)];
            let Some(chunk) = block.utf8_chunks().next() else {
                return Decoded {
                    consumed,
                    stop: DecodeStop::NeedsMore,
                };
            };
            let (valid, invalid) = (chunk.valid(), chunk.invalid());
            target.push_str(valid);
            consumed += valid.len();
            let reaches_end = valid.len() + invalid.len() == block.len();
            if !reaches_end || classify_tail(invalid, false) != DecodeStop::NeedsMore {
                self.careful = true;
                let length = invalid.len();
                return Decoded {
                    consumed,
                    stop: DecodeStop::Malformed { length },
                };
            }
            if block.len() == rest.len() {
                return Decoded {
                    consumed,
                    stop: classify_tail(invalid, end),
                };
            }
            // A whole block without fault: trust the source again from the next call on.
            self.careful = false;
        }
    }

    /// ASCII is not validated another time.
    fn decode_measured(
        &mut self,
        source: &[u8],
        end: bool,
        target: &mut String,
    ) -> (Decoded, usize) {
        let ascii = push_ascii_prefix(source, target);
        let mut decoded = Decoded {
            consumed: 0,
            stop: DecodeStop::NeedsMore,
        };
        if ascii < source.len() {
            decoded = self.decode(&source[ascii..], end, target);
        }
        decoded.consumed += ascii;
        (decoded, ascii)
    }

    fn source_length(&self, text: &str) -> usize {
        text.len()
    }
}

/// The length of a sequence at the end of `source` that has too few bytes for its first one; 0 if the
/// last sequence is complete or something else is wrong with it.
fn incomplete_tail_length(source: &[u8]) -> usize {
    for length in 1..=source.len().min(3) {
        let byte = source[source.len() - length];
        let expected = match byte {
            0x80..=0xBF => continue,
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
            _ => 1,
        };
        return if expected > length { length } else { 0 };
    }
    0
}

/// The meaning of a rest of fewer bytes than its sequence needs.
fn classify_tail(tail: &[u8], end: bool) -> DecodeStop {
    match std::str::from_utf8(tail) {
        Ok(_) => DecodeStop::NeedsMore,
        Err(error) => match error.error_len() {
            Some(length) => DecodeStop::Malformed { length },
            None if end => DecodeStop::Malformed { length: tail.len() },
            None => DecodeStop::NeedsMore,
        },
    }
}

struct Utf8Encoder;

impl Encoder for Utf8Encoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        target.extend_from_slice(text.as_bytes());
        text.len()
    }

    fn encode_latin1(&mut self, text: &[u8], target: &mut Vec<u8>) -> usize {
        let mut rest = text;
        while !rest.is_empty() {
            let (ascii, others) = rest.split_at(ascii_prefix_length(rest));
            target.extend_from_slice(ascii);
            let high = others.iter().take_while(|byte| !byte.is_ascii()).count();
            for byte in &others[..high] {
                target.extend_from_slice(&[0xC0 | byte >> 6, 0x80 | byte & 0x3F]);
            }
            rest = &others[high..];
        }
        text.len()
    }
}
