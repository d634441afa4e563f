//! Encodings: how bytes become text and text becomes bytes.
//!
//! The traits are the place where further encodings plug in, also ones supplied by a user. A decoder
//! turns bytes into UTF-8, the common currency of this crate; it is called once for each filled buffer,
//! never for each character, so that dynamic dispatch costs nothing. What to do about malformed input
//! is not the decoder's business: it stops, says how long the bad sequence is, and is called again
//! behind it.

mod latin1;
mod utf8;

use std::fmt::Debug;
use std::sync::Arc;

pub use latin1::{Ascii, Latin1};
pub use utf8::Utf8;

/// A way to represent text as bytes.
pub trait Encoding: Send + Sync + Debug {
    /// The name in messages, as registered by IANA where it is: "UTF-8".
    fn name(&self) -> &str;

    /// A decoder at the start of a source.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// An encoder at the start of a target.
    fn encoder(&self) -> Box<dyn Encoder>;

    /// The bytes of U+FEFF at the start of a text, if that is a custom of this encoding.
    fn byte_order_mark(&self) -> Option<&'static [u8]> {
        None
    }

    /// ASCII bytes stand for themselves wherever they occur, both ways, and there is no state.
    fn is_ascii_transparent(&self) -> bool {
        false
    }
}

/// Turns bytes into text.
pub trait Decoder: Send {
    /// Decodes as much of `source` as forms complete, well-formed sequences and appends it to `target`.
    /// `end` says that nothing follows `source`. The caller passes unconsumed bytes again later, with
    /// more behind them.
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded;

    /// The number of source bytes that well-formed `text`, just decoded, came from.
    fn source_length(&self, text: &str) -> usize;
}

/// How far a call of [`Decoder::decode`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The well-formed bytes that were decoded.
    pub consumed: usize,
    pub stop: DecodeStop,
}

/// Why a decoder stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeStop {
    /// What remains, if anything, is the beginning of a sequence. Not returned at the end of the
    /// source unless nothing remains.
    NeedsMore,
    /// The next `length` bytes, at least 1, are malformed. The caller skips them.
    Malformed { length: usize },
}

/// Turns text into bytes.
pub trait Encoder: Send {
    /// Appends the bytes of `text` to `target` and returns how much of `text` was encoded. If that is not
    /// all, the next character has no representation.
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize;

    /// The same for narrow text, one byte per character.
    fn encode_latin1(&mut self, text: &[u8], target: &mut Vec<u8>) -> usize {
        let mut buffer = [0; 4];
        for (index, byte) in text.iter().enumerate() {
            let utf8 = char::from(*byte).encode_utf8(&mut buffer);
            if self.encode(utf8, target) < utf8.len() {
                return index;
            }
        }
        text.len()
    }
}

/// What happens to input that is malformed and to output that cannot be expressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodingPolicy {
    /// Report an error.
    #[default]
    Raise,
    /// Input: U+FFFD for each malformed sequence. Output: a question mark for each character.
    Replace,
    /// Leave it out.
    Ignore,
}

/// What happens with a byte order mark at the start of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// Input: skip it. Output: write none.
    #[default]
    Omit,
    /// Input: deliver it as the character U+FEFF. Output: write one.
    Keep,
}

/// The encoding with a name, in any case and with the usual spellings, among those that are built in.
pub fn by_name(name: &str) -> Option<Arc<dyn Encoding>> {
    match name.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Some(Arc::new(Utf8)),
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" => Some(Arc::new(Latin1)),
        "ascii" | "us-ascii" => Some(Arc::new(Ascii)),
        _ => None,
    }
}
