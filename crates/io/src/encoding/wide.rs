//! The encodings of Unicode in units of two and four bytes: UTF-16 and UTF-32.
//!
//! A lone surrogate is a malformed sequence of one unit, as is a number beyond U+10FFFF; with half a
//! unit behind it at the very end it is one sequence, as the WHATWG Encoding Standard has it. Without a
//! fixed byte order the byte order mark decides; without a mark the big end comes first, as the Unicode
//! standard says.

use std::sync::Arc;

use super::{ByteOrderMarkRow, DecodeStop, Decoded, Decoder, Encoder, Encoding};

/// The byte order of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The most significant one.
    Big,
    /// The least significant one.
    Little,
}

/// The encoding UTF-16.
#[derive(Clone, Copy, Debug)]
pub struct Utf16 {
    /// None if the byte order mark decides.
    pub order: Option<ByteOrder>,
}

/// The encoding UTF-32.
#[derive(Clone, Copy, Debug)]
pub struct Utf32 {
    /// None if the byte order mark decides.
    pub order: Option<ByteOrder>,
}

impl Encoding for Utf16 {
    fn name(&self) -> &str {
        match self.order {
            None => "UTF-16",
            Some(ByteOrder::Big) => "UTF-16BE",
            Some(ByteOrder::Little) => "UTF-16LE",
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        match self.order.unwrap_or(ByteOrder::Big) {
            ByteOrder::Big => Box::new(Utf16Decoder {
                unit: u16::from_be_bytes,
            }),
            ByteOrder::Little => Box::new(Utf16Decoder {
                unit: u16::from_le_bytes,
            }),
        }
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        match self.order.unwrap_or(ByteOrder::Big) {
            ByteOrder::Big => Box::new(Utf16Encoder {
                bytes: u16::to_be_bytes,
            }),
            ByteOrder::Little => Box::new(Utf16Encoder {
                bytes: u16::to_le_bytes,
            }),
        }
    }

    fn byte_order_marks(&self) -> Vec<ByteOrderMarkRow> {
        let row = |order| {
            let bytes: &[u8] = match order {
                ByteOrder::Big => b"\xFE\xFF",
                ByteOrder::Little => b"\xFF\xFE",
            };
            let means: Arc<dyn Encoding> = Arc::new(Utf16 { order: Some(order) });
            (bytes, self.order.is_none().then_some(means))
        };
        rows(self.order, row)
    }
}

impl Encoding for Utf32 {
    fn name(&self) -> &str {
        match self.order {
            None => "UTF-32",
            Some(ByteOrder::Big) => "UTF-32BE",
            Some(ByteOrder::Little) => "UTF-32LE",
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        match self.order.unwrap_or(ByteOrder::Big) {
            ByteOrder::Big => Box::new(Utf32Decoder {
                unit: u32::from_be_bytes,
            }),
            ByteOrder::Little => Box::new(Utf32Decoder {
                unit: u32::from_le_bytes,
            }),
        }
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        match self.order.unwrap_or(ByteOrder::Big) {
            ByteOrder::Big => Box::new(Utf32Encoder {
                bytes: u32::to_be_bytes,
            }),
            ByteOrder::Little => Box::new(Utf32Encoder {
                bytes: u32::to_le_bytes,
            }),
        }
    }

    fn byte_order_marks(&self) -> Vec<ByteOrderMarkRow> {
        let row = |order| {
            let bytes: &[u8] = match order {
                ByteOrder::Big => b"\0\0\xFE\xFF",
                ByteOrder::Little => b"\xFF\xFE\0\0",
            };
            let means: Arc<dyn Encoding> = Arc::new(Utf32 { order: Some(order) });
            (bytes, self.order.is_none().then_some(means))
        };
        rows(self.order, row)
    }
}

/// The mark of the order, or of both if none is fixed; that of the order in which text is written comes
/// first.
fn rows(
    order: Option<ByteOrder>,
    row: impl Fn(ByteOrder) -> ByteOrderMarkRow,
) -> Vec<ByteOrderMarkRow> {
    match order {
        Some(order) => vec![row(order)],
        None => vec![row(ByteOrder::Big), row(ByteOrder::Little)],
    }
}

struct Utf16Decoder {
    unit: fn([u8; 2]) -> u16,
}

impl Decoder for Utf16Decoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        let (pairs, _) = source.as_chunks::<2>();
        let mut consumed = 0;
        let mut units = pairs.iter().map(|pair| (self.unit)(*pair));
        let stop = loop {
            let Some(first) = units.next() else {
                break rest_of_unit(source.len() - consumed, end);
            };
            let character = match first {
                0xD800..=0xDBFF => match units.next() {
                    Some(second @ 0xDC00..=0xDFFF) => {
                        let high = u32::from(first - 0xD800) << 10;
                        char::from_u32(0x10000 + high + u32::from(second - 0xDC00))
                    }
                    Some(_) => None,
                    None => break rest_of_unit(source.len() - consumed, end),
                },
                0xDC00..=0xDFFF => None,
                unit => char::from_u32(u32::from(unit)),
            };
            let Some(character) = character else {
                break DecodeStop::Malformed { length: 2 };
            };
            target.push(character);
            consumed += 2 * character.len_utf16();
        };
        Decoded { consumed, stop }
    }

    fn source_length(&self, text: &str) -> usize {
        2 * text.encode_utf16().count()
    }
}

/// Fewer bytes than a character needs are left, if any.
fn rest_of_unit(length: usize, end: bool) -> DecodeStop {
    if end && length > 0 {
        DecodeStop::Malformed { length }
    } else {
        DecodeStop::NeedsMore
    }
}

struct Utf16Encoder {
    bytes: fn(u16) -> [u8; 2],
}

impl Encoder for Utf16Encoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        target.reserve(2 * text.len());
        target.extend(text.encode_utf16().flat_map(self.bytes));
        text.len()
    }

    fn encode_latin1(&mut self, text: &[u8], target: &mut Vec<u8>) -> usize {
        let units = text.iter().map(|byte| u16::from(*byte));
        target.extend(units.flat_map(self.bytes));
        text.len()
    }
}

struct Utf32Decoder {
    unit: fn([u8; 4]) -> u32,
}

impl Decoder for Utf32Decoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        let (quads, rest) = source.as_chunks::<4>();
        for (index, quad) in quads.iter().enumerate() {
            let Some(character) = char::from_u32((self.unit)(*quad)) else {
                return Decoded {
                    consumed: 4 * index,
                    stop: DecodeStop::Malformed { length: 4 },
                };
            };
            target.push(character);
        }
        Decoded {
            consumed: 4 * quads.len(),
            stop: rest_of_unit(rest.len(), end),
        }
    }

    fn source_length(&self, text: &str) -> usize {
        4 * text.chars().count()
    }
}

struct Utf32Encoder {
    bytes: fn(u32) -> [u8; 4],
}

impl Encoder for Utf32Encoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        target.extend(text.chars().map(u32::from).flat_map(self.bytes));
        text.len()
    }

    fn encode_latin1(&mut self, text: &[u8], target: &mut Vec<u8>) -> usize {
        let units = text.iter().map(|byte| u32::from(*byte));
        target.extend(units.flat_map(self.bytes));
        text.len()
    }
}
