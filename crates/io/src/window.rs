//! The text that was decoded and not yet read, and where in the source it stands.
//!
//! ```text
//!   text:   ..........####################----------------
//!           mark      position            ascii_end       len
//! ```
//!
//! Invariants: `mark <= position <= text.len()`, `position <= ascii_end <= text.len()`,
//! `ascii_start <= ascii_end`, all on character boundaries, and both `text[position..ascii_end]` and
//! `text[ascii_start..ascii_end]` are ASCII, so that reading a character there is one load and one
//! addition. Nothing is counted while reading: the location is worked out when someone asks for it, and
//! for text that is about to be dropped, at the speed of a newline search.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use crate::encoding::Decoder;
use crate::text::{Text, ascii_prefix_length};

/// A place in a source, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Counted from 1; a line feed begins a new line.
    pub line: u64,
    /// Counted in characters from 1.
    pub column: u64,
    /// Counted in source bytes from 0.
    pub byte_offset: u64,
}

impl Location {
    pub(crate) const START: Location = Location {
        line: 1,
        column: 1,
        byte_offset: 0,
    };
}

/// A spot whose text did not come from its bytes in the regular way: a byte order mark or a malformed
/// sequence that was skipped or replaced.
struct Irregularity {
    /// The start of its text in the window.
    start: usize,
    text_length: usize,
    source_length: usize,
}

/// A window that became larger for a very long line is given back once it is empty.
const KEPT_BYTES_MAX: usize = 256 * 1024;

/// See the module's description.
pub(crate) struct TextWindow {
    text: String,
    position: usize,
    /// From here up to `ascii_end` all is ASCII.
    ascii_start: usize,
    ascii_end: usize,
    mark: usize,
    mark_location: Location,
    irregularities: VecDeque<Irregularity>,
    /// The start of the text that may be needed again, and its location; `mark` was there.
    held: Option<(usize, Location)>,
}

impl TextWindow {
    /// Bytes of the text's room.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.text.capacity()
    }

    pub(crate) fn new() -> TextWindow {
        TextWindow::with_text(String::new())
    }

    pub(crate) fn with_text(text: String) -> TextWindow {
        let ascii_end = ascii_prefix_length(text.as_bytes());
        TextWindow {
            text,
            position: 0,
            ascii_start: 0,
            ascii_end,
            mark: 0,
            mark_location: Location::START,
            irregularities: VecDeque::new(),
            held: None,
        }
    }

    /// Keeps what is taken from here on.
    pub(crate) fn hold(&mut self, decoder: &dyn Decoder) {
        self.advance_mark(decoder);
        self.held = Some((self.position, self.mark_location));
    }

    /// Keeps nothing any more.
    pub(crate) fn let_go(&mut self) {
        self.held = None;
    }

    /// Goes back to where `hold` was called.
    pub(crate) fn give_back(&mut self) {
        if let Some((position, location)) = self.held.take() {
            self.position = position;
            (self.ascii_start, self.ascii_end) = (position, position);
            self.mark = position;
            self.mark_location = location;
        }
    }

    /// Goes to an offset of a text that is here as a whole, whose line counts as the first one. Says
    /// whether a character begins there.
    pub(crate) fn go_to(&mut self, byte_offset: u64) -> bool {
        let Ok(position) = usize::try_from(byte_offset) else {
            return false;
        };
        if !self.text.is_char_boundary(position) {
            return false;
        }
        self.position = position;
        (self.ascii_start, self.ascii_end) = (position, position);
        self.mark = position;
        self.mark_location = Location {
            byte_offset,
            ..Location::START
        };
        true
    }

    /// The next character if it is known to be ASCII.
    #[inline(always)]
    pub(crate) fn peek_ascii(&self) -> Option<char> {
        if self.position < self.ascii_end {
            self.text
                .as_bytes()
                .get(self.position)
                .map(|byte| char::from(*byte))
        } else {
            None
        }
    }

    /// Steps over the character that `peek_ascii` delivered.
    #[inline(always)]
    pub(crate) fn skip_ascii(&mut self) {
        self.position += 1;
    }

    /// The next character, if any.
    pub(crate) fn peek_char(&mut self) -> Option<char> {
        let first = *self.text.as_bytes().get(self.position)?;
        if !first.is_ascii() {
            return self.text[self.position..].chars().next();
        }
        if self.position == self.ascii_end {
            self.ascii_end += ascii_prefix_length(&self.text.as_bytes()[self.position..]);
        }
        Some(char::from(first))
    }

    /// The addresses of the ASCII characters that come next, valid until the window is changed.
    #[inline]
    pub(crate) fn lend(&mut self) -> Range<usize> {
        let unread = &self.text.as_bytes()[self.position..];
        if self.position == self.ascii_end && unread.first().is_some_and(u8::is_ascii) {
            self.ascii_end += ascii_prefix_length(unread);
        }
        let start = unread.as_ptr().expose_provenance();
        start..start + (self.ascii_end - self.position)
    }

    /// The address behind the text.
    #[inline]
    pub(crate) fn end_address(&self) -> usize {
        self.text.as_ptr().addr() + self.text.len()
    }

    /// Steps over characters that were lent.
    #[inline]
    pub(crate) fn take_back(&mut self, count: usize) {
        debug_assert!(count <= self.text.len() - self.position);
        self.skip(count);
    }

    /// The text that was not read yet.
    #[inline]
    pub(crate) fn unread(&self) -> &str {
        &self.text[self.position..]
    }

    /// Nothing is left to be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.position == self.text.len()
    }

    /// Steps over the next `length` bytes of `unread`.
    #[inline]
    pub(crate) fn skip(&mut self, length: usize) {
        self.position += length;
        debug_assert!(self.text.is_char_boundary(self.position));
        if self.position > self.ascii_end {
            (self.ascii_start, self.ascii_end) = (self.position, self.position);
        }
    }

    /// Takes as many bytes of `unread` as `measure` says.
    #[inline]
    pub(crate) fn take_some(&mut self, measure: impl FnOnce(&str) -> usize) -> &str {
        let start = self.position;
        let length = measure(self.unread());
        self.skip(length);
        &self.text[start..start + length]
    }

    /// Takes `text_length` bytes as text and steps over `length` of them and what follows.
    pub(crate) fn take(&mut self, text_length: usize, length: usize) -> Text<'_> {
        let start = self.position;
        let is_ascii = start + text_length <= self.ascii_end;
        self.skip(length);
        let text = &self.text[start..start + text_length];
        if is_ascii {
            Text::ascii(text)
        } else {
            Text::measure(text)
        }
    }

    /// Makes room: forgets what was read, so that `append` does not grow without need.
    pub(crate) fn compact(&mut self, decoder: &dyn Decoder) {
        if self.position == 0 {
            return;
        }
        self.advance_mark(decoder);
        let removed = match &mut self.held {
            Some((position, _)) => std::mem::take(position),
            None => self.position,
        };
        if removed == self.text.len() {
            self.text.clear();
            self.text.shrink_to(KEPT_BYTES_MAX);
        } else {
            self.text.drain(..removed);
        }
        self.position -= removed;
        self.mark -= removed;
        self.ascii_start = self.ascii_start.saturating_sub(removed);
        self.ascii_end -= removed;
        for irregularity in &mut self.irregularities {
            irregularity.start -= removed;
        }
    }

    /// Lets `decode` append text and return how much of it, from its start, is known to be ASCII.
    pub(crate) fn append<R>(&mut self, decode: impl FnOnce(&mut String) -> (R, usize)) -> R {
        let old_length = self.text.len();
        let (result, ascii) = decode(&mut self.text);
        debug_assert!(self.text.len() >= old_length, "a decoder removed text");
        if self.ascii_end == old_length {
            self.ascii_end = (old_length + ascii).min(self.text.len());
            debug_assert!(self.text.as_bytes()[old_length..self.ascii_end].is_ascii());
        }
        result
    }

    /// Appends the replacement of `source_length` bytes.
    pub(crate) fn append_irregular(&mut self, replacement: &str, source_length: usize) {
        let start = self.text.len();
        self.append(|text| {
            text.push_str(replacement);
            ((), ascii_prefix_length(replacement.as_bytes()))
        });
        let text_length = replacement.len();
        self.irregularities.push_back(Irregularity {
            start,
            text_length,
            source_length,
        });
    }

    /// The location of the next character.
    pub(crate) fn location(&mut self, decoder: &dyn Decoder) -> Location {
        self.advance_mark(decoder);
        self.mark_location
    }

    /// Forgets the text and begins anew at a byte offset, whose line is not known and counted as 1.
    pub(crate) fn restart(&mut self, byte_offset: u64) {
        *self = TextWindow::new();
        self.mark_location.byte_offset = byte_offset;
    }

    /// Forgets the unread text but not the location.
    pub(crate) fn discard(&mut self, decoder: &dyn Decoder) {
        self.advance_mark(decoder);
        self.text = String::new();
        self.irregularities.clear();
        self.held = None;
        self.position = 0;
        (self.ascii_start, self.ascii_end) = (0, 0);
        self.mark = 0;
    }

    /// Moves `mark` to `position`, counting what is between them.
    fn advance_mark(&mut self, decoder: &dyn Decoder) {
        while let Some(next) = self.irregularities.front() {
            let irregular_end = next.start + next.text_length;
            if irregular_end > self.position {
                break;
            }
            let (start, source_length) = (next.start, next.source_length);
            self.count_regular(start, decoder);
            self.count_text(irregular_end);
            self.mark_location.byte_offset += source_length as u64;
            self.irregularities.pop_front();
        }
        self.count_regular(self.position, decoder);
    }

    fn count_regular(&mut self, end: usize, decoder: &dyn Decoder) {
        let is_ascii = self.mark >= self.ascii_start && end <= self.ascii_end;
        let length = if is_ascii && decoder.has_ascii_bytes() {
            end - self.mark
        } else {
            decoder.source_length(&self.text[self.mark..end])
        };
        self.mark_location.byte_offset += length as u64;
        self.count_text(end);
    }

    fn count_text(&mut self, end: usize) {
        let text = &self.text[self.mark..end];
        let bytes = text.as_bytes();
        self.mark = end;
        let last_line = match memrchr(b'\n', bytes) {
            Some(offset) => {
                self.mark_location.line += memchr_iter(b'\n', bytes).count() as u64;
                self.mark_location.column = 1;
                &text[offset + 1..]
            }
            None => text,
        };
        self.mark_location.column += last_line.chars().count() as u64;
    }
}
