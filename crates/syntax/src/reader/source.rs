//! The characters that the reader consumes: a trait, and its implementation for text in memory.
//!
//! A source has one character of lookahead and counts bytes for positions. `take_run` is an
//! optimization: a reader gets the same characters without it. A source that cannot fail has the
//! error type `Infallible`.

use std::convert::Infallible;

/// A stream of characters with one character of lookahead.
pub trait CharSource {
    /// The errors that can occur besides the end, such as an input error of a port.
    type Error;

    /// The next character without taking it; `None` at the end.
    fn peek(&mut self) -> Result<Option<char>, Self::Error>;

    /// Takes the next character.
    fn next(&mut self) -> Result<Option<char>, Self::Error>;

    /// Takes ASCII characters as long as they are `in_run` and at hand, which may be none: a short cut
    /// for many calls of [`CharSource::next`]. No line end is in a run.
    fn take_run(&mut self, in_run: impl Fn(u8) -> bool) -> &str {
        let _ = in_run;
        ""
    }

    /// The position of the next character: bytes from the start, for spans.
    fn offset(&self) -> u32;
}

/// Text in memory.
#[derive(Debug)]
pub struct TextSource<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> TextSource<'a> {
    /// The text from its beginning.
    pub fn new(text: &'a str) -> TextSource<'a> {
        TextSource { text, position: 0 }
    }

    /// The text from byte `offset` on, which must begin a character.
    pub fn starting_at(text: &'a str, offset: u32) -> TextSource<'a> {
        TextSource {
            text,
            position: text.floor_char_boundary(offset as usize),
        }
    }
}

impl CharSource for TextSource<'_> {
    type Error = Infallible;

    fn peek(&mut self) -> Result<Option<char>, Infallible> {
        Ok(self.text[self.position..].chars().next())
    }

    fn next(&mut self) -> Result<Option<char>, Infallible> {
        let next = self.text[self.position..].chars().next();
        self.position += next.map_or(0, char::len_utf8);
        Ok(next)
    }

    #[inline]
    fn take_run(&mut self, in_run: impl Fn(u8) -> bool) -> &str {
        let rest = &self.text[self.position..];
        let run = ascii_run(rest, in_run);
        self.position += run;
        &rest[..run]
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.position).unwrap_or(u32::MAX)
    }
}

/// The length of the run of ASCII characters that a text begins with; see [`CharSource::take_run`].
#[inline]
pub fn ascii_run(text: &str, in_run: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let end = bytes
        .iter()
        .position(|byte| !byte.is_ascii() || !in_run(*byte));
    end.unwrap_or(bytes.len())
}
