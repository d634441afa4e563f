//! Text output: an encoder and a buffer before a handle, or text collected in memory.
//!
//! Keeps the column: the number of characters since the last line feed. Room of its buffer may be
//! lent to a thread (`lending`), which then writes characters without a call; they are counted when
//! the loan is taken back.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::{memchr, memrchr};

use crate::encoding::{ByteOrderMark, CodingPolicy, Encoder, Encoding, Utf8};
use crate::error::{IoError, UnencodableOutput};
use crate::handle::Handle;
use crate::lending::{Borrower, Lender, Lent, SharedPort};
use crate::port::BinaryOutput;
use crate::port::output_buffer::{Buffering, OutputBuffer};
use crate::port::room::LentRoom;
use crate::text::Text;
use crate::wait::Wait;

/// Wide text is encoded in pieces of this many characters.
const WIDE_PIECE_CHARACTERS: usize = 256;

/// How text is encoded.
#[derive(Clone, Debug)]
pub struct EncodeOptions {
    pub encoding: Arc<dyn Encoding>,
    pub unencodable: CodingPolicy,
    pub byte_order_mark: ByteOrderMark,
}

impl Default for EncodeOptions {
    /// UTF-8 without byte order mark.
    fn default() -> EncodeOptions {
        static ENCODING: OnceLock<Arc<dyn Encoding>> = OnceLock::new();
        EncodeOptions {
            encoding: ENCODING.get_or_init(|| Arc::new(Utf8)).clone(),
            unencodable: CodingPolicy::Raise,
            byte_order_mark: ByteOrderMark::Omit,
        }
    }
}

/// A sink for characters.
pub struct TextOutput {
    buffer: OutputBuffer,
    encoder: Box<dyn Encoder>,
    options: EncodeOptions,
    is_ascii_transparent: bool,
    is_utf8: bool,
    /// Characters since the last line feed.
    column: u64,
    /// The lent room.
    room: LentRoom,
}

impl TextOutput {
    /// Writes text to a handle, line by line to a terminal and in blocks elsewhere.
    pub fn new(handle: Arc<Handle>, options: EncodeOptions) -> TextOutput {
        let buffering = Buffering::for_handle(&handle);
        let mut output = TextOutput::with_buffer(OutputBuffer::new(handle, buffering), options);
        output.write_byte_order_mark();
        output
    }

    /// Continues where a binary port stops: from here on the output is text.
    pub fn from_binary(
        output: &mut BinaryOutput,
        options: EncodeOptions,
    ) -> Result<TextOutput, IoError> {
        let buffer = output.buffer.surrender()?;
        let is_start = buffer.position().is_ok_and(|position| position == 0);
        let mut output = TextOutput::with_buffer(buffer, options);
        if is_start {
            output.write_byte_order_mark();
        }
        Ok(output)
    }

    /// How text becomes bytes.
    pub fn options(&self) -> &EncodeOptions {
        &self.options
    }

    /// Takes everything that was accepted of a port on a channel or in memory.
    pub fn take_accepted(&mut self) -> Vec<u8> {
        self.buffer.take_accepted()
    }

    /// The position of the next byte, counted from the start of the target.
    pub fn byte_offset(&self) -> Result<u64, IoError> {
        self.buffer.position()
    }

    /// Flushes the buffer and continues at another position of the target.
    pub fn seek(&mut self, byte_offset: u64, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.seek(byte_offset, wait)
    }

    fn write_byte_order_mark(&mut self) {
        if self.options.byte_order_mark == ByteOrderMark::Keep
            && let Some((mark, _)) = self.options.encoding.byte_order_marks().first()
        {
            self.buffer.bytes.extend_from_slice(mark);
        }
    }

    /// Collects text in memory; see [`TextOutput::text`].
    pub fn memory() -> TextOutput {
        TextOutput::with_buffer(OutputBuffer::memory("string"), EncodeOptions::default())
    }

    fn with_buffer(buffer: OutputBuffer, options: EncodeOptions) -> TextOutput {
        let encoder = options.encoding.encoder();
        let is_ascii_transparent = options.encoding.is_ascii_transparent();
        let is_utf8 = options.encoding.is_utf8();
        TextOutput {
            buffer,
            encoder,
            options,
            is_ascii_transparent,
            is_utf8,
            column: 0,
            room: LentRoom::default(),
        }
    }

    /// The name of the target.
    pub fn name(&self) -> &str {
        self.buffer.name()
    }

    /// Bytes of the buffers, without what the device behind the handle holds.
    pub fn memory_bytes(&self) -> usize {
        self.buffer.memory_bytes()
    }

    /// The handle that is written, unless the text stays in memory.
    pub fn handle(&self) -> Option<&Arc<Handle>> {
        self.buffer.handle()
    }

    /// `close` was not called.
    pub fn is_open(&self) -> bool {
        self.buffer.is_open()
    }

    /// The number of characters since the last line feed, or since the start.
    pub fn column(&self) -> u64 {
        self.column
    }

    /// Notes that another port ended the line, if the target is shared.
    pub fn note_line_start(&mut self) {
        self.column = 0;
    }

    /// When text is handed on.
    pub fn buffering(&self) -> Buffering {
        self.buffer.buffering
    }

    /// Changes when text is handed on.
    pub fn set_buffering(&mut self, buffering: Buffering) {
        self.buffer.set_buffering(buffering);
    }

    /// The number of bytes that were accepted and are not out yet.
    pub fn pending(&self) -> usize {
        self.buffer.pending()
    }

    /// The text collected so far by a port in memory; empty for others. Closing does not discard it.
    pub fn text(&self) -> Text<'_> {
        let bytes = if self.handle().is_none() {
            self.buffer.bytes.as_slice()
        } else {
            b""
        };
        // Only the UTF-8 encoder has written here, so that the text is always valid.
        Text::measure(simdutf8::basic::from_utf8(bytes).unwrap_or_default())
    }

    /// Forgets the text collected so far by a port in memory.
    pub fn clear_text(&mut self) {
        if self.handle().is_none() {
            self.buffer.bytes.clear();
            self.column = 0;
        }
    }

    /// Writes a character.
    #[inline]
    pub fn write_char(&mut self, character: char, wait: Wait<'_>) -> Result<(), IoError> {
        if character.is_ascii()
            && character != '\n'
            && self.is_ascii_transparent
            && self.buffer.has_room()
        {
            self.buffer.bytes.push(character as u8);
            self.column += 1;
            return Ok(());
        }
        if character == '\n' && self.is_ascii_transparent && self.buffer.has_room() {
            self.buffer.bytes.push(b'\n');
            self.column = 0;
            return self.buffer.accepted(true, wait);
        }
        self.write_char_slowly(character, wait)
    }

    #[inline(never)]
    fn write_char_slowly(&mut self, character: char, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.make_room(wait)?;
        let start = self.buffer.bytes.len();
        self.encode(character.encode_utf8(&mut [0; 4]), start)?;
        let ends_line = character == '\n';
        self.column = if ends_line { 0 } else { self.column + 1 };
        self.buffer.accepted(ends_line, wait)
    }

    /// Writes text. If it returns an error that `is_retryable`, or `Unencodable`, nothing was accepted.
    pub fn write_str(&mut self, text: &str, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.make_room(wait)?;
        let start = self.buffer.bytes.len();
        self.encode(text, start)?;
        let ended_line = match memrchr(b'\n', text.as_bytes()) {
            Some(offset) => {
                self.column = text[offset + 1..].chars().count() as u64;
                true
            }
            None => {
                self.column += text.chars().count() as u64;
                false
            }
        };
        self.buffer.accepted(ended_line, wait)
    }

    /// Writes narrow text: each byte is the character with that number.
    pub fn write_latin1(&mut self, text: &[u8], wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.make_room(wait)?;
        let start = self.buffer.bytes.len();
        let mut rest = text;
        loop {
            let encoded = self.encoder.encode_latin1(rest, &mut self.buffer.bytes);
            let Some((bad, others)) = rest[encoded..].split_first() else {
                break;
            };
            self.encode_otherwise(char::from(*bad), start)?;
            rest = others;
        }
        let ended_line = self.advance(text);
        self.buffer.accepted(ended_line, wait)
    }

    /// Counts bytes that are a character each; says whether a line ended among them.
    fn advance(&mut self, text: &[u8]) -> bool {
        match memrchr(b'\n', text) {
            Some(offset) => {
                self.column = (text.len() - offset - 1) as u64;
                true
            }
            None => {
                self.column += text.len() as u64;
                false
            }
        }
    }

    /// Characters will be written one by one: from now on there is something to lend.
    #[inline]
    pub fn provide_room(&mut self) {
        if self.is_ascii_transparent && self.buffer.room() > 0 {
            self.room.provide();
        }
    }

    /// Writes ASCII if there is room for it, or can be made without waiting; else does nothing.
    pub(crate) fn put_ascii_at_once(&mut self, text: &[u8]) -> bool {
        if !self.is_ascii_transparent || !self.buffer.provide_room(text.len()) {
            return false;
        }
        self.buffer.bytes.extend_from_slice(text);
        self.advance(text);
        true
    }

    /// Writes text in UTF-8 if this port encodes text so and there is room for it, or can be made
    /// without waiting; else does nothing.
    pub(crate) fn put_text_at_once(&mut self, text: &[u8]) -> bool {
        if !self.is_utf8 || !self.buffer.provide_room(text.len()) {
            return false;
        }
        self.buffer.bytes.extend_from_slice(text);
        self.column = column_behind(self.column, text);
        true
    }

    /// Writes wide text: each word is a character. Words that are no characters become U+FFFD.
    pub fn write_utf32(&mut self, text: &[u32], wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.make_room(wait)?;
        let start = self.buffer.bytes.len();
        let old_column = self.column;
        let mut ended_line = false;
        let mut piece = String::with_capacity(4 * WIDE_PIECE_CHARACTERS);
        for words in text.chunks(WIDE_PIECE_CHARACTERS) {
            piece.clear();
            piece.extend(
                words
                    .iter()
                    .map(|word| char::from_u32(*word).unwrap_or(char::REPLACEMENT_CHARACTER)),
            );
            if let Err(error) = self.encode(&piece, start) {
                self.column = old_column;
                return Err(error);
            }
            if memchr(b'\n', piece.as_bytes()).is_some() {
                ended_line = true;
                self.column = 0;
            }
            self.column += words
                .iter()
                .rev()
                .take_while(|word| **word != u32::from('\n'))
                .count() as u64;
        }
        self.buffer.accepted(ended_line, wait)
    }

    /// Ends the line unless nothing stands on it. Returns whether it did.
    pub fn fresh_line(&mut self, wait: Wait<'_>) -> Result<bool, IoError> {
        if self.column == 0 {
            return Ok(false);
        }
        self.write_str("\n", wait)?;
        Ok(true)
    }

    /// Whether the port is open and flushing it would do nothing.
    pub fn is_flushed(&self) -> bool {
        self.buffer.is_flushed()
    }

    /// Hands on everything written so far.
    pub fn flush(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.flush(wait)
    }

    /// Flushes and closes the port and its handle. Closing twice is no error. Interrupted or put off,
    /// the port stays open; after any other error, that the time is over among them, it is closed.
    pub fn close(&mut self, wait: Wait<'_>) -> Result<(), IoError> {
        self.buffer.close(wait)
    }

    /// Closes the port and its handle without writing what is left.
    pub fn discard(&mut self) -> Result<(), IoError> {
        self.buffer.discard()
    }

    /// Encodes all of `text` behind what is there. On an error the buffer ends at `start` again.
    fn encode(&mut self, text: &str, start: usize) -> Result<(), IoError> {
        let mut rest = text;
        loop {
            let encoded = self.encoder.encode(rest, &mut self.buffer.bytes);
            let mut others = rest[encoded..].chars();
            let Some(bad) = others.next() else {
                return Ok(());
            };
            self.encode_otherwise(bad, start)?;
            rest = others.as_str();
        }
    }

    /// Applies the policy to a character that the encoding lacks.
    fn encode_otherwise(&mut self, bad: char, start: usize) -> Result<(), IoError> {
        match self.options.unencodable {
            CodingPolicy::Raise => {
                self.buffer.bytes.truncate(start);
                Err(IoError::Unencodable(Box::new(UnencodableOutput {
                    name: self.name().into(),
                    encoding: self.options.encoding.name().into(),
                    character: bad,
                })))
            }
            CodingPolicy::Replace => {
                self.encoder.encode("?", &mut self.buffer.bytes);
                Ok(())
            }
            CodingPolicy::Ignore => Ok(()),
        }
    }
}

/// The column behind text in UTF-8, counted from the last line feed.
fn column_behind(column: u64, text: &[u8]) -> u64 {
    let characters = |bytes: &[u8]| {
        if bytes.is_ascii() {
            bytes.len() as u64
        } else {
            // Each character has one byte that continues no other.
            bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
        }
    };
    match memrchr(b'\n', text) {
        Some(offset) => characters(&text[offset + 1..]),
        None => column + characters(text),
    }
}

impl Lender for TextOutput {
    const LENT: Lent = Lent::TextOutput;

    /// Room for ASCII characters, which are encoded as themselves; line feeds are among them, so that
    /// only ports that wait until the buffer is full lend any.
    #[inline]
    fn lend(&mut self) -> Range<usize> {
        self.room.lend(self.buffer.room())
    }

    fn take_back(&mut self, count: usize) {
        self.room.take_back(count, |text| {
            self.buffer.bytes.extend_from_slice(text);
            self.column = column_behind(self.column, text);
        });
    }

    #[inline]
    fn text_limit(&self, lent: &Range<usize>) -> usize {
        if self.is_utf8 { lent.end } else { 0 }
    }
}

impl SharedPort<TextOutput> {
    /// Puts ASCII where the port lends room to the borrower, as generated code on its thread does with
    /// one character, and whether it did. To be called on the borrower's system thread.
    #[inline]
    pub fn put_through_loan(&self, borrower: &Borrower, text: &[u8]) -> bool {
        debug_assert!(text.is_ascii());
        self.put_bytes_through_loan(borrower, text, false)
    }

    /// Puts text in UTF-8 where the port lends room that takes it, and whether it did. To be called on
    /// the borrower's system thread.
    #[inline]
    pub fn put_text_through_loan(&self, borrower: &Borrower, text: &[u8]) -> bool {
        debug_assert!(std::str::from_utf8(text).is_ok());
        self.put_bytes_through_loan(borrower, text, true)
    }

    /// Writes text in UTF-8 if the port is free, encodes text so and has room for it, or can make room
    /// without waiting, and lends room for more; whether it did. An error has no effect but that it did
    /// not.
    #[inline(never)]
    pub fn put_text_at_once(&self, borrower: &Borrower, text: &[u8]) -> bool {
        debug_assert!(std::str::from_utf8(text).is_ok());
        let Some(mut port) = self.try_lock() else {
            return false;
        };
        port.provide_room();
        let done = port.put_text_at_once(text);
        port.release_to(borrower);
        done
    }

    /// Writes ASCII if the port is free and has room for it, or can make room without waiting, and
    /// lends room for more; whether it did. An error has no effect but that it did not.
    #[inline(never)]
    pub fn put_at_once(&self, borrower: &Borrower, text: &[u8]) -> bool {
        debug_assert!(text.is_ascii());
        let Some(mut port) = self.try_lock() else {
            return false;
        };
        port.provide_room();
        let done = port.put_ascii_at_once(text);
        port.release_to(borrower);
        done
    }

    /// Whether the port is free and open, and flushing it would do nothing.
    pub fn is_flushed(&self, borrower: &Borrower) -> bool {
        self.try_lock().is_some_and(|port| {
            let is_flushed = port.is_flushed();
            port.release_to(borrower);
            is_flushed
        })
    }
}
