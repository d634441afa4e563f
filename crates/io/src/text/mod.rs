//! A piece of decoded text, together with what is needed to build a string of the right width at once.
//!
//! The receiver looks at [`Text::width`] and [`Text::length`], allocates a narrow (one byte per
//! character) or wide (four bytes per character) string of exactly that size, and lets the text copy
//! itself into it. For ASCII, the common case, the measuring costs nothing beyond what decoding found
//! out, and the copy is a `memcpy`.

#[cfg(test)]
mod tests;

/// The narrowest storage that can hold a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// All characters are below U+0080.
    Ascii,
    /// All characters are below U+0100, and at least one is not ASCII.
    Latin1,
    /// At least one character is U+0100 or above.
    Wide,
}

/// Borrowed text with its length in characters and its width.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    utf8: &'a str,
    length: usize,
    width: Width,
}

impl<'a> Text<'a> {
    /// Measures any text.
    pub fn measure(utf8: &'a str) -> Text<'a> {
        if utf8.is_ascii() {
            return Text::ascii(utf8);
        }
        // Counts of blocks fit in a byte, as what is counted, so that the loop is vectorized well.
        let (mut continuations, mut largest) = (0, 0);
        for block in utf8.as_bytes().chunks(240) {
            let mut count = 0u8;
            for &byte in block {
                count += u8::from(byte & 0xC0 == 0x80);
                largest = largest.max(byte);
            }
            continuations += usize::from(count);
        }
        // U+00FF is the last character whose first byte is 0xC3.
        let width = if largest <= 0xC3 {
            Width::Latin1
        } else {
            Width::Wide
        };
        Text {
            utf8,
            length: utf8.len() - continuations,
            width,
        }
    }

    /// Text already known to be ASCII.
    pub(crate) fn ascii(utf8: &'a str) -> Text<'a> {
        debug_assert!(utf8.is_ascii());
        Text {
            utf8,
            length: utf8.len(),
            width: Width::Ascii,
        }
    }

    /// The text as UTF-8.
    pub fn as_str(&self) -> &'a str {
        self.utf8
    }

    /// The number of characters.
    pub fn length(&self) -> usize {
        self.length
    }

    /// There are no characters.
    pub fn is_empty(&self) -> bool {
        self.utf8.is_empty()
    }

    /// The narrowest storage.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The characters one at a time.
    pub fn chars(&self) -> std::str::Chars<'a> {
        self.utf8.chars()
    }

    /// Fills `target`, whose length is `self.length()`, with one byte per character. The width must
    /// not be `Wide`.
    pub fn copy_latin1(&self, target: &mut [u8]) {
        assert!(self.width != Width::Wide, "wide text in a narrow string");
        assert_eq!(target.len(), self.length, "string of the wrong length");
        if self.width == Width::Ascii {
            target.copy_from_slice(self.utf8.as_bytes());
            return;
        }
        for (slot, character) in target.iter_mut().zip(self.utf8.chars()) {
            *slot = u32::from(character) as u8;
        }
    }

    /// Fills `target`, whose length is `self.length()`, with one word per character.
    pub fn copy_utf32(&self, target: &mut [u32]) {
        assert_eq!(target.len(), self.length, "string of the wrong length");
        let (mut rest, mut slots) = (self.utf8, target);
        while !rest.is_empty() {
            // Most texts are ASCII for the most part, which is copied many bytes at once.
            let (read, written) = if widen_ascii::<32>(rest, slots) {
                (32, 32)
            } else if widen_ascii::<8>(rest, slots) {
                (8, 8)
            } else {
                let part = &rest[..rest.ceil_char_boundary(8.min(rest.len()))];
                let mut length = 0;
                for (slot, character) in slots.iter_mut().zip(part.chars()) {
                    *slot = u32::from(character);
                    length += 1;
                }
                (part.len(), length)
            };
            rest = &rest[read..];
            slots = &mut slots[written..];
        }
    }
}

/// Copies so many bytes to slots of their own if all of them are ASCII, and whether they are.
#[inline]
fn widen_ascii<const BYTES: usize>(text: &str, slots: &mut [u32]) -> bool {
    let (Some(block), Some(slots)) = (
        text.as_bytes().first_chunk::<BYTES>(),
        slots.first_chunk_mut::<BYTES>(),
    ) else {
        return false;
    };
    if !block.is_ascii() {
        return false;
    }
    for (slot, &byte) in slots.iter_mut().zip(block) {
        *slot = u32::from(byte);
    }
    true
}

/// The length of the longest ASCII prefix.
pub(crate) fn ascii_prefix_length(bytes: &[u8]) -> usize {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // Flat over a block, so that it takes the processor a few instructions.
    let (blocks, _) = bytes.as_chunks::<64>();
    let is_ascii = |block: &&[u8; 64]| {
        let (words, _) = block.as_chunks::<8>();
        let any = words
            .iter()
            .fold(0, |any, word| any | u64::from_ne_bytes(*word));
        any & HIGH_BITS == 0
    };
    let mut length = 64 * blocks.iter().take_while(is_ascii).count();
    let (words, _) = bytes[length..].as_chunks::<8>();
    for word in words {
        let high_bits = u64::from_le_bytes(*word) & HIGH_BITS;
        if high_bits != 0 {
            return length + high_bits.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let rest = &bytes[length..];
    length + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

/// Appends the longest ASCII prefix and returns its length.
#[expect(unsafe_code, reason = "the bytes have been looked at already")]
pub(crate) fn push_ascii_prefix(source: &[u8], target: &mut String) -> usize {
    let length = ascii_prefix_length(source);
    // SAFETY: each of these bytes is ASCII, as was just seen, and ASCII is UTF-8.
    target.push_str(unsafe { std::str::from_utf8_unchecked(&source[..length]) });
    length
}
