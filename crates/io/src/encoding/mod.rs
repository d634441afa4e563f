//! Encodings: how bytes become text and text becomes bytes.
//!
//! The traits are the place where further encodings plug in, also ones supplied by a user. A decoder turns
//! bytes into UTF-8, the common currency of this crate; it is called once for each filled buffer, never for
//! each character, so that dynamic dispatch costs nothing. The treatment of malformed input is not the
//! decoder's business: it stops, says how long the bad sequence is, and is called again behind it.

mod latin1;
#[cfg(test)]
mod tests;
mod utf8;
mod whatwg;
mod wide;

use std::fmt::Debug;
use std::sync::Arc;

use crate::text::ascii_prefix_length;

pub use latin1::{Ascii, Latin1};
pub use utf8::Utf8;
pub use whatwg::Whatwg;
pub use wide::{ByteOrder, Utf16, Utf32};

/// A byte order mark, and the encoding of what follows it if that is another one.
pub type ByteOrderMarkRow = (&'static [u8], Option<Arc<dyn Encoding>>);

/// A way to represent text as bytes.
pub trait Encoding: Send + Sync + Debug {
    /// The name in messages, as registered by IANA where it is: "UTF-8".
    fn name(&self) -> &str;

    /// A decoder at the start of a source.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// An encoder at the start of a target.
    fn encoder(&self) -> Box<dyn Encoder>;

    /// The bytes of U+FEFF at the start of a text, if that is a custom of this encoding. The first one
    /// is what is written.
    fn byte_order_marks(&self) -> Vec<ByteOrderMarkRow> {
        Vec::new()
    }

    /// ASCII bytes stand for themselves wherever they occur, both ways, and there is no state.
    fn is_ascii_transparent(&self) -> bool {
        false
    }

    /// Text is encoded as it is in Rust, without state.
    fn is_utf8(&self) -> bool {
        false
    }
}

/// Turns bytes into text.
pub trait Decoder: Send {
    /// Decodes as much of `source` as forms complete, well-formed sequences and appends it to `target`.
    /// `end` says that nothing follows `source`. The caller passes unconsumed bytes again later, with
    /// more behind them.
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded;

    /// The same, and how many bytes at the start of what was appended are known to be ASCII.
    fn decode_measured(
        &mut self,
        source: &[u8],
        end: bool,
        target: &mut String,
    ) -> (Decoded, usize) {
        let start = target.len();
        let decoded = self.decode(source, end, target);
        let appended = target.as_bytes().get(start..).unwrap_or_default();
        (decoded, ascii_prefix_length(appended))
    }

    /// The number of source bytes that well-formed `text`, just decoded, came from.
    fn source_length(&self, text: &str) -> usize;

    /// Each ASCII character came from one byte, wherever it stood.
    fn has_ascii_bytes(&self) -> bool {
        false
    }
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
    /// The rest, if any, is the beginning of a sequence. Not returned at the end of the source unless nothing
    /// remains.
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

/// The treatment of malformed input and of output that cannot be encoded.
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

/// The treatment of a byte order mark at the start of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// Input: skip it. Output: write none.
    #[default]
    Omit,
    /// Input: deliver it as the character U+FEFF. Output: write one.
    Keep,
}

/// The encoding with a name, in any case, among those that are built in: the usual spellings of UTF-8,
/// UTF-16, UTF-32, ASCII and Latin-1, and the labels of the WHATWG Encoding Standard for all others.
pub fn by_name(name: &str) -> Option<Arc<dyn Encoding>> {
    let (big, little) = (Some(ByteOrder::Big), Some(ByteOrder::Little));
    Some(match name.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Arc::new(Utf8),
        "utf-16" | "utf16" => Arc::new(Utf16 { order: None }),
        "utf-16be" | "utf16be" => Arc::new(Utf16 { order: big }),
        "utf-16le" | "utf16le" => Arc::new(Utf16 { order: little }),
        "utf-32" | "utf32" | "ucs-4" => Arc::new(Utf32 { order: None }),
        "utf-32be" | "utf32be" => Arc::new(Utf32 { order: big }),
        "utf-32le" | "utf32le" => Arc::new(Utf32 { order: little }),
        // The standard of the web takes these for windows-1252.
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "iso88591" => {
            Arc::new(Latin1)
        }
        "ascii" | "us-ascii" | "ansi_x3.4-1968" => Arc::new(Ascii),
        label => Arc::new(Whatwg::for_label(label)?),
    })
}

/// The names of the encodings that are built in, those of Unicode first.
pub fn names() -> Vec<&'static str> {
    let mut names = vec![
        "UTF-8",
        "UTF-16",
        "UTF-16BE",
        "UTF-16LE",
        "UTF-32",
        "UTF-32BE",
        "UTF-32LE",
        "US-ASCII",
        "ISO-8859-1",
    ];
    names.extend(Whatwg::names());
    names
}
