//! Strings that leaf functions make: of texts at hand, or filled in after they were made. Nothing here
//! collects, so the caller may hold the texts in the heap; long strings are refused.

use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_ASCII;
use canny_value::Value;

use super::{BYTES_MAX, CHARACTERS_MAX, InPlace, payload};
use crate::data::strings;

/// All bits of an ASCII character.
const ASCII: u8 = 0x7f;

/// The bits of a word that are in no byte of ASCII.
const WORD_NOT_ASCII: u64 = 0x8080_8080_8080_8080;

/// At most eight bytes as a word, the first of them lowest, with zeros behind them.
#[inline(always)]
fn word_of(bytes: &[u8]) -> Option<u64> {
    let count = bytes.len();
    if count > 8 {
        return None;
    }
    // Two parts that may overlap, with the same bytes where they do.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return Some(u64::from(first) | u64::from(last) << (8 * (count - 4)));
    }
    let byte = |at: usize| bytes.get(at).map_or(0, |byte| u64::from(*byte) << (8 * at));
    Some(byte(0) | byte(1) | byte(2))
}

impl InPlace {
    /// A fresh string of at most eight characters of ASCII: the bytes of a word, the first of them lowest,
    /// with zeros behind them.
    #[inline(always)]
    pub fn short_ascii_string(&mut self, word: u64, length: usize) -> Value {
        debug_assert!(word & WORD_NOT_ASCII == 0);
        let mutator = self.0.mutator();
        let data = mutator.word_in_place(Kind::String8, FLAG_ASCII, length, word);
        self.string_over(length, data)
    }

    /// A fresh string of so many equal characters. None for a long one.
    pub fn filled_string(&mut self, length: usize, character: char) -> Option<Value> {
        let unit = u32::from(character);
        let (kind, flags, length_max) = match unit {
            0..0x80 => (Kind::String8, FLAG_ASCII, BYTES_MAX),
            0x80..0x100 => (Kind::String8, 0, CHARACTERS_MAX),
            _ => (Kind::String32, 0, CHARACTERS_MAX),
        };
        if length > length_max {
            return None;
        }
        let mutator = self.0.mutator();
        let data = mutator.filled_in_place(kind, flags, length, unit);
        Some(self.string_over(length, data))
    }

    /// A fresh string of ASCII. None for a long one.
    #[inline]
    pub fn ascii_string_of(&mut self, text: &[u8]) -> Option<Value> {
        if let Some(word) = word_of(text) {
            return Some(self.short_ascii_string(word, text.len()));
        }
        if text.len() > BYTES_MAX {
            return None;
        }
        let mutator = self.0.mutator();
        let data = mutator.copy_in_place(Kind::String8, FLAG_ASCII, text);
        Some(self.string_over(text.len(), data))
    }

    /// A fresh string of pieces of ASCII. None for a long one, and if another thread changed a piece
    /// while it was copied.
    #[inline]
    pub fn ascii_string(&mut self, pieces: &[&[u8]]) -> Option<Value> {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length > BYTES_MAX {
            return None;
        }
        if let [piece] = pieces
            && let Some(word) = word_of(piece)
        {
            let is_ascii = word & WORD_NOT_ASCII == 0;
            return is_ascii.then(|| self.short_ascii_string(word, length));
        }
        let mutator = self.0.mutator();
        let data = match pieces {
            [piece] => mutator.copy_in_place(Kind::String8, FLAG_ASCII, piece),
            _ => mutator.bytes_in_place(Kind::String8, FLAG_ASCII, pieces),
        };
        if self.0.has_others()
            && let Some(object) = data.as_object()
            && !object.with_bytes(<[u8]>::is_ascii)
        {
            return None;
        }
        Some(self.string_over(length, data))
    }

    /// A fresh string of so many characters of ASCII, which `fill` puts in the place of zeros; what it
    /// puts there is cut to seven bits. None for a long one.
    #[inline]
    pub fn ascii_string_with(
        &mut self,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<Value> {
        if length > BYTES_MAX {
            return None;
        }
        self.narrow_string(FLAG_ASCII, length, |bytes| {
            fill(bytes);
            bytes.iter_mut().for_each(|byte| *byte &= ASCII);
        })
    }

    /// A fresh string of so many characters, all of them Latin-1 and not all of them ASCII, which
    /// `fill` puts in the place of zeros. None for a long one.
    #[inline]
    pub fn latin1_string(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Option<Value> {
        if length > CHARACTERS_MAX {
            return None;
        }
        self.narrow_string(0, length, fill)
    }

    #[inline]
    fn narrow_string(
        &mut self,
        flags: u8,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Option<Value> {
        let mutator = self.0.mutator();
        let data = mutator.leaf_in_place(Kind::String8, flags, length);
        // SAFETY: the object was just made, so that nobody else knows it, it has so many bytes, and
        // `fill` cannot collect.
        fill(unsafe { std::slice::from_raw_parts_mut(payload(data)?, length) });
        Some(self.string_over(length, data))
    }

    /// A fresh string of any characters, not all of them Latin-1, which `fill` puts in the place of
    /// zeros. None for a long one.
    #[inline]
    pub fn wide_string(&mut self, length: usize, fill: impl FnOnce(&mut [u32])) -> Option<Value> {
        if length > CHARACTERS_MAX {
            return None;
        }
        let data = self.0.mutator().leaf_in_place(Kind::String32, 0, length);
        // SAFETY: as above; the units have four bytes, and the payload is aligned for words.
        fill(unsafe { std::slice::from_raw_parts_mut(payload(data)?, length) });
        Some(self.string_over(length, data))
    }

    /// A fresh string of characters, not all of them Latin-1. None for a long one.
    #[inline]
    pub fn wide_string_of(&mut self, units: &[u32]) -> Option<Value> {
        if units.len() > CHARACTERS_MAX {
            return None;
        }
        let data = self.0.mutator().units_in_place(units);
        Some(self.string_over(units.len(), data))
    }

    #[inline(always)]
    fn string_over(&mut self, length: usize, data: Value) -> Value {
        let fields = strings::fields(Value::fixnum(length as i64), data);
        self.0.mutator().fields_in_place(Kind::String, fields)
    }
}
