//! Text input: a streaming decoder fed from a handle, or text in memory.
//!
//! The handle is absent where all text is in the decoder already. Positions count bytes of the
//! source, not characters. An end of input is delivered once and reading may continue after it, as
//! on a terminal. Before a wait an output port can be flushed, so that a prompt is seen.

use std::io::SeekFrom;
use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::decoder::{DecodeOptions, Extent, Progress, Pull, StreamingDecoder};
use crate::error::{IoError, Operation};
use crate::handle::Handle;
use crate::lending::{Lender, Lent, SharedPort};
use crate::line_separator::LineSeparator;
use crate::port::{BinaryInput, READ_BYTES, TextOutput};
use crate::text::Text;
use crate::wait::Wait;
use crate::window::Location;

/// A source of characters.
pub struct TextInput {
    decoder: StreamingDecoder,
    /// `None`: everything is in the decoder already.
    handle: Option<Arc<Handle>>,
    /// Made when first needed, so that ports on text in memory stay small.
    buffer: Box<[u8]>,
    tied_output: Weak<SharedPort<TextOutput>>,
    name: Box<str>,
    closed: bool,
    /// It was read last by the character, so that characters beyond ASCII are lent too. A reader of lines
    /// only takes those of ASCII from a loan, and making one takes time.
    lends_wide: bool,
}

impl TextInput {
    /// Reads text from a handle.
    pub fn new(handle: Arc<Handle>, options: DecodeOptions) -> TextInput {
        let name = handle.name().into();
        TextInput::with_decoder(StreamingDecoder::new(options), Some(handle), name)
    }

    /// Continues where a binary port stops: reads its bytes as text from here on.
    pub fn from_binary(
        input: &mut BinaryInput,
        options: DecodeOptions,
    ) -> Result<TextInput, IoError> {
        let remains = input.surrender()?;
        let mut decoder = StreamingDecoder::new(options);
        decoder.begin_at(remains.offset);
        decoder.feed(&remains.bytes);
        if remains.handle.is_none() || remains.ended {
            decoder.finish();
        }
        Ok(TextInput::with_decoder(
            decoder,
            remains.handle,
            remains.name,
        ))
    }

    /// How bytes become text.
    pub fn options(&self) -> &DecodeOptions {
        self.decoder.options()
    }

    /// Reads text from memory.
    pub fn from_text(text: String) -> TextInput {
        TextInput::with_decoder(StreamingDecoder::from_text(text), None, "string".into())
    }

    fn with_decoder(
        decoder: StreamingDecoder,
        handle: Option<Arc<Handle>>,
        name: Box<str>,
    ) -> TextInput {
        TextInput {
            decoder,
            handle,
            buffer: Box::default(),
            tied_output: Weak::new(),
            name,
            closed: false,
            lends_wide: false,
        }
    }

    /// Flushes `output` before each wait for input, so that a prompt is seen.
    pub fn tie_output(&mut self, output: &Arc<SharedPort<TextOutput>>) {
        self.tied_output = Arc::downgrade(output);
    }

    /// The name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the buffers, without what the device behind the handle holds.
    pub fn memory_bytes(&self) -> usize {
        self.decoder.memory_bytes() + self.buffer.len()
    }

    /// The handle that is read, unless the text is in memory.
    pub fn handle(&self) -> Option<&Arc<Handle>> {
        self.handle.as_ref()
    }

    /// `close` was not called.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// The location of the next character.
    pub fn location(&mut self) -> Location {
        self.decoder.location()
    }

    /// Changes what ends a line from here on.
    pub fn set_line_separator(&mut self, separator: LineSeparator) {
        self.decoder.set_line_separator(separator);
    }

    /// Takes the next character; `None` at the end of input, which for a terminal may not be the last.
    #[inline]
    pub fn read_char(&mut self, wait: Wait<'_>) -> Result<Option<char>, IoError> {
        if let Some(character) = self.decoder.window.peek_ascii() {
            self.decoder.window.skip_ascii();
            return Ok(Some(character));
        }
        self.read_char_slowly(wait)
    }

    /// The next character, which stays where it is. An end of input seen here is also the next one read.
    #[inline]
    pub fn peek_char(&mut self, wait: Wait<'_>) -> Result<Option<char>, IoError> {
        if let Some(character) = self.decoder.window.peek_ascii() {
            return Ok(Some(character));
        }
        self.peek_char_slowly(wait)
    }

    /// Takes the next character, if it is known to be ASCII.
    #[inline(always)]
    pub fn read_ascii(&mut self) -> Option<char> {
        let character = self.decoder.window.peek_ascii()?;
        self.decoder.window.skip_ascii();
        Some(character)
    }

    /// The next character, which stays where it is, if it is known to be ASCII.
    #[inline(always)]
    pub fn peek_ascii(&self) -> Option<char> {
        self.decoder.window.peek_ascii()
    }

    /// Takes as much of the text that was decoded so far as `measure` says, in bytes.
    #[inline]
    pub fn take_decoded(&mut self, measure: impl FnOnce(&str) -> usize) -> &str {
        self.decoder.window.take_some(measure)
    }

    #[inline(never)]
    fn read_char_slowly(&mut self, wait: Wait<'_>) -> Result<Option<char>, IoError> {
        self.lends_wide = true;
        let answer = self.pull(wait, StreamingDecoder::take_char)?;
        Ok(self.deliver(answer))
    }

    #[inline(never)]
    fn peek_char_slowly(&mut self, wait: Wait<'_>) -> Result<Option<char>, IoError> {
        self.lends_wide = true;
        self.pull(wait, StreamingDecoder::peek_char)
    }

    /// Whether `read_char` would answer without waiting, be it with a character, the end or an error.
    pub fn char_ready(&mut self) -> Result<bool, IoError> {
        self.check_open()?;
        while !self.decoder.has_answer() {
            match self.fill(Wait::NonBlocking) {
                Ok(()) => {}
                Err(error) if error.is_retryable() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes the next line, without its separator; `None` at the end of input.
    pub fn read_line(&mut self, wait: Wait<'_>) -> Result<Option<Text<'_>>, IoError> {
        let mut progress = Progress::default();
        let extent = self.pull(wait, |decoder| decoder.find_line(&mut progress))?;
        Ok(self.take(extent))
    }

    /// Takes the next line if it has arrived as a whole and is not longer than so many bytes; else does
    /// nothing.
    #[inline]
    pub fn read_short_line(&mut self, length_max: usize) -> Option<Text<'_>> {
        if self.closed {
            return None;
        }
        self.lends_wide = false;
        self.decoder.take_short_line(length_max)
    }

    /// As [`TextInput::read_line`], but the separator belongs to the line.
    pub fn read_whole_line(&mut self, wait: Wait<'_>) -> Result<Option<Text<'_>>, IoError> {
        let mut progress = Progress::default();
        let extent = self.pull(wait, |decoder| decoder.find_whole_line(&mut progress))?;
        Ok(self.take(extent))
    }

    /// From here on what is read can be read again: see [`TextInput::give_back`].
    pub fn hold(&mut self) {
        self.decoder.hold();
    }

    /// Text that is read after this is gone.
    pub fn let_go(&mut self) {
        self.decoder.let_go();
    }

    /// Makes everything that was read since `hold` the next text again.
    pub fn give_back(&mut self) {
        self.decoder.give_back();
    }

    /// Takes the next `count` characters, or as many as there are before the end; `None` if there are
    /// none (and `count` is not 0).
    pub fn read_chars(
        &mut self,
        count: usize,
        wait: Wait<'_>,
    ) -> Result<Option<Text<'_>>, IoError> {
        self.lends_wide = true;
        let mut progress = Progress::default();
        let extent = self.pull(wait, |decoder| decoder.find_chars(count, &mut progress))?;
        Ok(self.take(extent))
    }

    /// Takes all text that is there, waiting only if there is none; `None` at the end of input.
    pub fn read_available(&mut self, wait: Wait<'_>) -> Result<Option<Text<'_>>, IoError> {
        let extent = self.pull(wait, StreamingDecoder::find_available)?;
        Ok(self.take(extent))
    }

    /// Takes everything up to the end of input, which may be empty.
    pub fn read_to_end(&mut self, wait: Wait<'_>) -> Result<Text<'_>, IoError> {
        Ok(self
            .read_chars(usize::MAX, wait)?
            .unwrap_or(Text::measure("")))
    }

    /// Continues at a byte offset of the source, where a character must begin. Lines are counted from
    /// there.
    pub fn seek(&mut self, byte_offset: u64) -> Result<(), IoError> {
        self.check_open()?;
        let Some(handle) = &self.handle else {
            if self.decoder.go_to(byte_offset) {
                return Ok(());
            }
            return Err(IoError::unsupported(Operation::Seek, &self.name));
        };
        handle.seek(SeekFrom::Start(byte_offset))?;
        self.decoder.restart(byte_offset);
        Ok(())
    }

    /// Closes the port and its handle. Closing twice is no error.
    pub fn close(&mut self) -> Result<(), IoError> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        self.decoder.discard();
        self.buffer = Box::default();
        self.handle.as_ref().map_or(Ok(()), |handle| handle.close())
    }

    /// Asks the decoder, feeding it until it has an answer. `None` is the end of input.
    fn pull<T>(
        &mut self,
        wait: Wait<'_>,
        mut ask: impl FnMut(&mut StreamingDecoder) -> Result<Pull<T>, IoError>,
    ) -> Result<Option<T>, IoError> {
        self.check_open()?;
        loop {
            match ask(&mut self.decoder) {
                Ok(Pull::Item(item)) => return Ok(Some(item)),
                Ok(Pull::End) => return Ok(None),
                Ok(Pull::NeedsMore) => self.fill(wait)?,
                Err(error) => return Err(self.named(error)),
            }
        }
    }

    /// Passes an answer on; an end of input is used up by that.
    fn deliver<T>(&mut self, answer: Option<T>) -> Option<T> {
        if answer.is_none() && self.handle.is_some() {
            self.decoder.resume();
        }
        answer
    }

    fn take(&mut self, extent: Option<Extent>) -> Option<Text<'_>> {
        let extent = self.deliver(extent)?;
        Some(self.decoder.take(extent))
    }

    fn fill(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        let Some(handle) = &self.handle else {
            self.decoder.finish();
            return Ok(());
        };
        flush_tied(&self.tied_output, wait);
        if self.buffer.is_empty() {
            self.buffer = vec![0; READ_BYTES].into_boxed_slice();
        }
        match handle.read(&mut self.buffer, wait)? {
            0 => self.decoder.finish(),
            count => self.decoder.feed(&self.buffer[..count]),
        }
        Ok(())
    }

    fn check_open(&self) -> Result<(), IoError> {
        if self.closed {
            return Err(IoError::closed(Operation::Read, &self.name));
        }
        Ok(())
    }

    fn named(&self, error: IoError) -> IoError {
        match error {
            IoError::Malformed(mut malformed) => {
                malformed.name = self.name.clone();
                IoError::Malformed(malformed)
            }
            other => other,
        }
    }
}

impl Lender for TextInput {
    const LENT: Lent = Lent::TextInput;

    /// The ASCII characters that come next in the window.
    #[inline]
    fn lend(&mut self) -> Range<usize> {
        self.decoder.window.lend()
    }

    #[inline]
    fn take_back(&mut self, count: usize) {
        self.decoder.window.take_back(count);
    }

    #[inline]
    fn text_limit(&self, _lent: &Range<usize>) -> usize {
        if self.lends_wide {
            self.decoder.window.end_address()
        } else {
            0
        }
    }

    #[inline]
    fn has_plain_lines(&self) -> bool {
        self.decoder.has_plain_lines()
    }
}

/// Flushes the tied output as far as possible. Its errors belong to those who write to it, and if
/// someone is just writing, that one will flush.
fn flush_tied(output: &Weak<SharedPort<TextOutput>>, wait: Wait<'_>) {
    let Some(output) = output.upgrade() else {
        return;
    };
    if let Some(mut output) = output.try_lock() {
        let _ = output.flush(wait);
    }
}
