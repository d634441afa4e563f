//! The streaming decoder: bytes go in, cut anywhere; characters, counted pieces and lines come out.
//!
//! It does no I/O: when text runs out it answers [`Pull::NeedsMore`], and the caller feeds it. The two
//! steps of taking a line or a piece (find its extent, then take it) exist because a search can be
//! repeated with more input, while a taken [`Text`] borrows the window.
//!
//! Malformed input under [`CodingPolicy::Raise`]: text before the bad sequence is delivered first; the
//! sequence is then reported by the first operation that needs it and skipped. So each fault is reported
//! once, good text around it is never lost, and a program that catches the error makes progress.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use memchr::{memchr, memchr2};

use crate::encoding::{
    ByteOrderMark, ByteOrderMarkRow, CodingPolicy, DecodeStop, Decoder, Encoding, Utf8,
};
use crate::error::{IoError, MalformedInput};
use crate::line_separator::{LineSeparator, Search};
use crate::text::Text;
use crate::window::{Location, TextWindow};

/// How text is decoded.
#[derive(Clone, Debug)]
pub struct DecodeOptions {
    pub encoding: Arc<dyn Encoding>,
    pub malformed: CodingPolicy,
    pub byte_order_mark: ByteOrderMark,
    pub line_separator: LineSeparator,
}

impl Default for DecodeOptions {
    /// UTF-8; malformed input is an error, a byte order mark is skipped, lines end as R7RS says.
    fn default() -> DecodeOptions {
        DecodeOptions {
            encoding: Arc::new(Utf8),
            malformed: CodingPolicy::Raise,
            byte_order_mark: ByteOrderMark::Omit,
            line_separator: LineSeparator::Any,
        }
    }
}

/// The answer of a decoder that is asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull<T> {
    /// Here it is.
    Item(T),
    /// Feed more bytes, or say that there are none, and ask again.
    NeedsMore,
    /// The source has ended and everything was delivered.
    End,
}

/// The end of a line or piece that is ready to be taken, relative to the next character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    text_length: usize,
    length: usize,
    awaits_linefeed: bool,
}

/// How far a search came, so that repeating it with more input does not begin from the start. Valid
/// until something is taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    bytes: usize,
    characters: usize,
}

/// See the module's description.
pub struct StreamingDecoder {
    pub(crate) window: TextWindow,
    decoder: Box<dyn Decoder>,
    /// The encoding of the byte order mark, if there is a mark.
    found: Option<Arc<dyn Encoding>>,
    options: DecodeOptions,
    /// Bytes not decoded yet: the beginning of a sequence, or what follows a reported fault.
    raw: Vec<u8>,
    /// Offset in the source of `raw[0]`.
    raw_offset: u64,
    /// The length of the malformed sequence at the start of `raw`, which the next operation reports.
    fault: Option<usize>,
    /// Still waiting for enough bytes to know whether there is a byte order mark.
    at_start: bool,
    ended: bool,
    /// The last line ended with the carriage return that was last in the window.
    awaits_linefeed: bool,
}

impl StreamingDecoder {
    /// Bytes of the text that was decoded, and of those that are not decoded yet.
    pub fn memory_bytes(&self) -> usize {
        self.window.memory_bytes() + self.raw.capacity()
    }

    /// A decoder at the start of a source.
    pub fn new(options: DecodeOptions) -> StreamingDecoder {
        StreamingDecoder {
            window: TextWindow::new(),
            decoder: options.encoding.decoder(),
            found: None,
            options,
            raw: Vec::new(),
            raw_offset: 0,
            fault: None,
            at_start: true,
            ended: false,
            awaits_linefeed: false,
        }
    }

    /// A decoder that has already decoded all of a text.
    pub fn from_text(text: String) -> StreamingDecoder {
        let mut decoder = StreamingDecoder::new(DecodeOptions::default());
        decoder.raw_offset = text.len() as u64;
        decoder.window = TextWindow::with_text(text);
        decoder.at_start = false;
        decoder.ended = true;
        decoder
    }

    /// The options in use.
    pub fn options(&self) -> &DecodeOptions {
        &self.options
    }

    /// Changes what ends a line from here on.
    pub fn set_line_separator(&mut self, separator: LineSeparator) {
        self.options.line_separator = separator;
    }

    /// Accepts the next bytes of the source.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.ended = false;
        self.window.compact(&*self.decoder);
        if self.raw.is_empty() && !self.at_start && self.fault.is_none() {
            let consumed = self.decode(bytes);
            self.raw.extend_from_slice(&bytes[consumed..]);
        } else {
            self.raw.extend_from_slice(bytes);
            self.decode_raw();
        }
        self.absorb_linefeed();
    }

    /// The decoder begins in the middle of a source.
    pub(crate) fn begin_at(&mut self, byte_offset: u64) {
        if byte_offset > 0 {
            self.restart(byte_offset);
        }
    }

    /// Says that the source has ended. More may still be fed afterwards, as terminals do.
    pub fn finish(&mut self) {
        self.ended = true;
        self.decode_raw();
        self.absorb_linefeed();
        self.awaits_linefeed = false;
    }

    /// The source was said to have ended.
    pub fn is_finished(&self) -> bool {
        self.ended
    }

    /// Takes back `finish`, once the end was delivered: the next operation asks the source again.
    pub(crate) fn resume(&mut self) {
        self.ended = false;
    }

    /// An operation for one character would not answer `NeedsMore`.
    pub fn has_answer(&self) -> bool {
        !self.window.is_empty() || self.fault.is_some() || self.ended
    }

    /// The next character, which stays where it is.
    pub fn peek_char(&mut self) -> Result<Pull<char>, IoError> {
        match self.window.peek_char() {
            Some(character) => Ok(Pull::Item(character)),
            None => self.answer_without_text(),
        }
    }

    /// Takes the next character.
    pub fn take_char(&mut self) -> Result<Pull<char>, IoError> {
        let answer = self.peek_char()?;
        if let Pull::Item(character) = answer {
            self.window.skip(character.len_utf8());
        }
        Ok(answer)
    }

    /// Whether each line feed that is in the window ends a line, and nothing else does but perhaps a
    /// carriage return.
    #[inline]
    pub(crate) fn has_plain_lines(&self) -> bool {
        !self.awaits_linefeed
            && matches!(
                self.options.line_separator,
                LineSeparator::Any | LineSeparator::LineFeed
            )
    }

    /// Takes the next line if it is there as a whole with what ends it and is not longer than so many bytes.
    #[inline]
    pub(crate) fn take_short_line(&mut self, length_max: usize) -> Option<Text<'_>> {
        if self.awaits_linefeed {
            return None;
        }
        let unread = self.window.unread().as_bytes();
        let (start, end) = match self.options.line_separator {
            LineSeparator::Any => {
                let start = memchr2(b'\n', b'\r', unread)?;
                match (unread[start], unread.get(start + 1)) {
                    (b'\n', _) => (start, start + 1),
                    (_, None) => return None,
                    (_, Some(b'\n')) => (start, start + 2),
                    (_, Some(_)) => (start, start + 1),
                }
            }
            LineSeparator::LineFeed => {
                let start = memchr(b'\n', unread)?;
                (start, start + 1)
            }
            LineSeparator::Strings(_) => return None,
        };
        if start > length_max {
            return None;
        }
        Some(self.window.take(start, end))
    }

    /// As [`StreamingDecoder::find_line`], but the separator belongs to the line. So a carriage return
    /// that is the last character there waits for what follows it.
    pub fn find_whole_line(&mut self, progress: &mut Progress) -> Result<Pull<Extent>, IoError> {
        let extent = match self.find_line(progress)? {
            Pull::Item(extent) => extent,
            other => return Ok(other),
        };
        if extent.awaits_linefeed && !self.ended && self.fault.is_none() {
            return Ok(Pull::NeedsMore);
        }
        Ok(Pull::Item(Extent::new(extent.length, extent.length)))
    }

    /// Finds the end of the next line. The last line may lack a separator.
    pub fn find_line(&mut self, progress: &mut Progress) -> Result<Pull<Extent>, IoError> {
        let is_last = self.ended && self.fault.is_none();
        let unread = self.window.unread();
        match self
            .options
            .line_separator
            .search(unread, progress.bytes.min(unread.len()), is_last)
        {
            Search::Found { start, end } => Ok(Pull::Item(Extent::new(start, end))),
            Search::FoundCarriageReturn { start } => Ok(Pull::Item(Extent {
                awaits_linefeed: true,
                ..Extent::new(start, start + 1)
            })),
            Search::NotFound { resume } => {
                progress.bytes = resume;
                let length = unread.len();
                if is_last && length > 0 {
                    return Ok(Pull::Item(Extent::new(length, length)));
                }
                self.answer_without_text()
            }
        }
    }

    /// Finds the end of the next `count` characters, or of as many as there are before the end.
    pub fn find_chars(
        &mut self,
        count: usize,
        progress: &mut Progress,
    ) -> Result<Pull<Extent>, IoError> {
        let unread = self.window.unread();
        let rest = &unread[progress.bytes.min(unread.len())..];
        let missing = count.saturating_sub(progress.characters);
        // No text has more characters than bytes, so that this never counts more than it must by much.
        let reach = rest.floor_char_boundary(missing);
        progress.bytes += reach;
        progress.characters += rest[..reach].chars().count();
        let mut others = rest[reach..].chars();
        while progress.characters < count
            && let Some(character) = others.next()
        {
            progress.bytes += character.len_utf8();
            progress.characters += 1;
        }
        let is_last = self.ended && self.fault.is_none();
        if progress.characters >= count || (is_last && progress.bytes > 0) {
            return Ok(Pull::Item(Extent::new(progress.bytes, progress.bytes)));
        }
        self.answer_without_text()
    }

    /// Finds the end of all text that was decoded so far; never empty.
    pub fn find_available(&mut self) -> Result<Pull<Extent>, IoError> {
        match self.window.unread().len() {
            0 => self.answer_without_text(),
            length => Ok(Pull::Item(Extent::new(length, length))),
        }
    }

    /// Takes what was found. Nothing else may have been taken or fed in between.
    pub fn take(&mut self, extent: Extent) -> Text<'_> {
        self.awaits_linefeed = extent.awaits_linefeed;
        self.window.take(extent.text_length, extent.length)
    }

    /// From here on what is taken can be given back: see [`StreamingDecoder::give_back`].
    pub fn hold(&mut self) {
        self.window.hold(&*self.decoder);
    }

    /// Text that is taken after this is gone.
    pub fn let_go(&mut self) {
        self.window.let_go();
    }

    /// Makes everything that was taken since `hold` the next text again.
    pub fn give_back(&mut self) {
        self.window.give_back();
    }

    /// Goes to a byte offset of a text in memory. Says whether a character begins there.
    pub(crate) fn go_to(&mut self, byte_offset: u64) -> bool {
        self.ended = true;
        self.window.go_to(byte_offset)
    }

    /// The location of the next character.
    pub fn location(&mut self) -> Location {
        self.window.location(&*self.decoder)
    }

    /// Forgets everything and begins anew behind a change of the source's position.
    pub fn restart(&mut self, byte_offset: u64) {
        self.window.restart(byte_offset);
        // The encoding of the mark at the start holds for the following bytes.
        self.found = self.found.take().filter(|_| byte_offset > 0);
        let encoding = self.found.as_ref().unwrap_or(&self.options.encoding);
        self.decoder = encoding.decoder();
        self.raw.clear();
        self.raw_offset = byte_offset;
        self.fault = None;
        self.at_start = byte_offset == 0;
        self.ended = false;
        self.awaits_linefeed = false;
    }

    /// Forgets what was not read, when a port is closed.
    pub(crate) fn discard(&mut self) {
        self.window.discard(&*self.decoder);
        self.raw = Vec::new();
        self.fault = None;
    }

    /// The window has not what was asked for: says why.
    fn answer_without_text<T>(&mut self) -> Result<Pull<T>, IoError> {
        if let Some(length) = self.fault.take() {
            return Err(self.report_fault(length));
        }
        Ok(if self.ended {
            Pull::End
        } else {
            Pull::NeedsMore
        })
    }

    fn report_fault(&mut self, length: usize) -> IoError {
        let error = IoError::Malformed(Box::new(MalformedInput {
            name: "".into(),
            encoding: self.options.encoding.name().into(),
            byte_offset: self.raw_offset,
            bytes: self.raw[..length].into(),
            truncated: self.ended && length == self.raw.len(),
        }));
        self.raw.drain(..length);
        self.raw_offset += length as u64;
        self.window.append_irregular("", length);
        self.awaits_linefeed = false;
        self.decode_raw();
        error
    }

    fn decode_raw(&mut self) {
        if self.fault.is_some() || !self.skip_byte_order_mark() {
            return;
        }
        let raw = std::mem::take(&mut self.raw);
        let consumed = self.decode(&raw);
        self.raw = raw;
        self.raw.drain(..consumed);
    }

    /// Decodes from the start of `bytes`, which stand at `raw_offset`, and applies the policy. Returns
    /// how many were consumed; the rest belongs into `raw`.
    fn decode(&mut self, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        loop {
            let source = &bytes[consumed..];
            let decoder = &mut self.decoder;
            let ended = self.ended;
            let decoded = self
                .window
                .append(|text| decoder.decode_measured(source, ended, text));
            consumed += decoded.consumed;
            self.raw_offset += decoded.consumed as u64;
            // A decoder that is wrong about lengths must not break the bookkeeping.
            let rest = bytes.len() - consumed;
            let length = match decoded.stop {
                DecodeStop::Malformed { length } => length.clamp(rest.min(1), rest),
                DecodeStop::NeedsMore if ended => rest,
                DecodeStop::NeedsMore => 0,
            };
            if length == 0 {
                return consumed;
            }
            match self.options.malformed {
                CodingPolicy::Raise => {
                    self.fault = Some(length);
                    return consumed;
                }
                CodingPolicy::Replace => self.window.append_irregular("\u{FFFD}", length),
                CodingPolicy::Ignore => self.window.append_irregular("", length),
            }
            consumed += length;
            self.raw_offset += length as u64;
        }
    }

    /// Returns false if more bytes are needed to know whether there is a byte order mark.
    fn skip_byte_order_mark(&mut self) -> bool {
        if !self.at_start {
            return true;
        }
        let marks = self.options.encoding.byte_order_marks();
        let may_come = |(mark, _): &ByteOrderMarkRow| {
            self.raw.len() < mark.len() && mark.starts_with(&self.raw)
        };
        if !self.ended && marks.iter().any(may_come) {
            return false;
        }
        let mark = marks
            .into_iter()
            .find(|(mark, _)| self.raw.starts_with(mark));
        if let Some((mark, means)) = mark {
            if let Some(encoding) = means {
                self.decoder = encoding.decoder();
                self.found = Some(encoding);
            }
            if self.options.byte_order_mark == ByteOrderMark::Omit {
                self.raw.drain(..mark.len());
                self.raw_offset += mark.len() as u64;
                self.window.append_irregular("", mark.len());
            }
        }
        self.at_start = false;
        true
    }

    /// Completes a separator of carriage return and line feed whose halves arrived apart.
    fn absorb_linefeed(&mut self) {
        if self.awaits_linefeed && !self.window.is_empty() {
            self.awaits_linefeed = false;
            if self.window.unread().starts_with('\n') {
                self.window.skip(1);
            }
        }
    }
}

impl Extent {
    fn new(text_length: usize, length: usize) -> Extent {
        Extent {
            text_length,
            length,
            awaits_linefeed: false,
        }
    }
}
