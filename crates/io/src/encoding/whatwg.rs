//! The older encodings, of one byte and of several bytes per character, as the WHATWG Encoding Standard
//! defines them.
//!
//! The crate that decodes them keeps the beginning of a sequence to itself, while decoders here hand it back.
//! So each call begins anew and says that nothing follows. An error at the very end is then either a
//! malformed sequence or an incomplete one, and a second look at those few bytes shows which. ISO-2022-JP has
//! a state besides, which is the last escape sequence: it is put before what is decoded.
//!
//! Offsets of sequences that have another, more usual form, and those of ISO-2022-JP, are those of the
//! usual form; offsets in errors are exact.

use encoding_rs::{DecoderResult, EncoderResult};

use super::{DecodeStop, Decoded, Decoder, Encoder, Encoding};

/// An encoding of the WHATWG Encoding Standard.
#[derive(Clone, Copy, Debug)]
pub struct Whatwg(&'static encoding_rs::Encoding);

impl Whatwg {
    /// The encoding with a label of the standard, except for those that have a type of their own.
    pub fn for_label(label: &str) -> Option<Whatwg> {
        let encoding = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes())?;
        let is_own = encoding == encoding_rs::UTF_8
            || encoding == encoding_rs::UTF_16BE
            || encoding == encoding_rs::UTF_16LE;
        (!is_own).then_some(Whatwg(encoding))
    }

    /// The names of the encodings of the standard, without those that have a type of their own.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|encoding| encoding.name())
    }

    fn has_escapes(self) -> bool {
        self.0 == encoding_rs::ISO_2022_JP
    }
}

impl Encoding for Whatwg {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(WhatwgDecoder {
            encoding: *self,
            escape: None,
        })
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(WhatwgEncoder(self.0))
    }

    fn is_ascii_transparent(&self) -> bool {
        self.0.is_single_byte() || self.0 == encoding_rs::EUC_JP || self.0 == encoding_rs::EUC_KR
    }
}

/// The encodings of the standard, without those that have a type of their own.
const NAMED: &[&encoding_rs::Encoding] = &[
    encoding_rs::IBM866,
    encoding_rs::ISO_8859_2,
    encoding_rs::ISO_8859_3,
    encoding_rs::ISO_8859_4,
    encoding_rs::ISO_8859_5,
    encoding_rs::ISO_8859_6,
    encoding_rs::ISO_8859_7,
    encoding_rs::ISO_8859_8,
    encoding_rs::ISO_8859_8_I,
    encoding_rs::ISO_8859_10,
    encoding_rs::ISO_8859_13,
    encoding_rs::ISO_8859_14,
    encoding_rs::ISO_8859_15,
    encoding_rs::ISO_8859_16,
    encoding_rs::KOI8_R,
    encoding_rs::KOI8_U,
    encoding_rs::MACINTOSH,
    encoding_rs::WINDOWS_874,
    encoding_rs::WINDOWS_1250,
    encoding_rs::WINDOWS_1251,
    encoding_rs::WINDOWS_1252,
    encoding_rs::WINDOWS_1253,
    encoding_rs::WINDOWS_1254,
    encoding_rs::WINDOWS_1255,
    encoding_rs::WINDOWS_1256,
    encoding_rs::WINDOWS_1257,
    encoding_rs::WINDOWS_1258,
    encoding_rs::X_MAC_CYRILLIC,
    encoding_rs::GBK,
    encoding_rs::GB18030,
    encoding_rs::BIG5,
    encoding_rs::EUC_JP,
    encoding_rs::ISO_2022_JP,
    encoding_rs::SHIFT_JIS,
    encoding_rs::EUC_KR,
    encoding_rs::X_USER_DEFINED,
];

/// Length of the escape sequences of ISO-2022-JP.
const ESCAPE_BYTES: usize = 3;

/// Begins an escape sequence.
const ESCAPE: u8 = 0x1B;

struct WhatwgDecoder {
    encoding: Whatwg,
    /// The escape sequence whose state the source is in.
    escape: Option<[u8; ESCAPE_BYTES]>,
}

/// The outcome of a source that ends: bytes that were read, and how many of them at the end are wrong.
struct Attempt {
    read: usize,
    malformed: Option<usize>,
    /// Whether all of the source was looked at, perhaps beyond what is wrong.
    saw_end: bool,
}

impl WhatwgDecoder {
    /// Decodes a source from its start, in the state that the escape sequence stands for.
    fn attempt(&self, source: &[u8], end: bool, target: &mut String) -> Attempt {
        let mut decoder = self.encoding.0.new_decoder_without_bom_handling();
        // Two escape sequences in a row are malformed, so that none is put before another one.
        let escape = self.escape.filter(|_| source.first() != Some(&ESCAPE));
        if let Some(escape) = escape {
            let mut nothing = [0; 16];
            let (_, read, _) =
                decoder.decode_to_utf8_without_replacement(&escape, &mut nothing, false);
            debug_assert_eq!(read, ESCAPE_BYTES);
        }
        let mut read = 0;
        loop {
            let rest = &source[read..];
            let room = decoder
                .max_utf8_buffer_length_without_replacement(rest.len())
                .unwrap_or(usize::MAX);
            target.reserve(room.clamp(16, 64 * 1024));
            let (result, more) = decoder.decode_to_string_without_replacement(rest, target, end);
            read += more;
            match result {
                DecoderResult::OutputFull => {}
                DecoderResult::InputEmpty => {
                    return Attempt {
                        read,
                        malformed: None,
                        saw_end: true,
                    };
                }
                DecoderResult::Malformed(length, behind) => {
                    let malformed_end = read.saturating_sub(usize::from(behind));
                    let length = usize::from(length).clamp(1, malformed_end.max(1));
                    return Attempt {
                        read: malformed_end,
                        malformed: Some(length),
                        saw_end: read == source.len(),
                    };
                }
            }
        }
    }

    /// Whether bytes are the beginning of a sequence, so that more of them may make sense.
    fn wants_more(&self, tail: &[u8]) -> bool {
        let mut text = String::new();
        let attempt = self.attempt(tail, false, &mut text);
        attempt.malformed.is_none() && text.is_empty()
    }

    fn ends_with_escape(&self, bytes: &[u8]) -> bool {
        self.encoding.has_escapes() && bytes.last_chunk().is_some_and(is_escape)
    }

    /// Remembers the last escape sequence of what was consumed.
    fn note_escapes(&mut self, consumed: &[u8]) {
        if !self.encoding.has_escapes() {
            return;
        }
        if let Some(at) = memchr::memrchr(ESCAPE, consumed)
            && let Some(escape) = consumed[at..].first_chunk()
        {
            self.escape = Some(*escape);
        }
    }
}

impl Decoder for WhatwgDecoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        if source.is_empty() {
            return Decoded {
                consumed: 0,
                stop: DecodeStop::NeedsMore,
            };
        }
        let attempt = self.attempt(source, true, target);
        let length = attempt.malformed.unwrap_or(0);
        let consumed = attempt.read - length.min(attempt.read);
        self.note_escapes(&source[..consumed]);
        let needs_more = attempt.malformed.is_none()
            || attempt.saw_end && !end && self.wants_more(&source[consumed..]);
        if !needs_more {
            let stop = DecodeStop::Malformed { length };
            return Decoded { consumed, stop };
        }
        // If another one follows, an escape sequence is malformed, so it is seen again.
        let held_back = if self.ends_with_escape(&source[..consumed]) && !end {
            ESCAPE_BYTES
        } else {
            0
        };
        Decoded {
            consumed: consumed - held_back,
            stop: DecodeStop::NeedsMore,
        }
    }

    fn source_length(&self, text: &str) -> usize {
        let encoding = self.encoding.0;
        if encoding.is_single_byte() {
            return text.chars().count();
        }
        let mut length = 0;
        let mut buffer = [0; 16];
        for character in text.chars() {
            if character.is_ascii() {
                length += 1;
                continue;
            }
            let mut encoder = encoding.new_encoder();
            let utf8 = character.encode_utf8(&mut [0; 4]).to_owned();
            let (result, _, written) =
                encoder.encode_from_utf8_without_replacement(&utf8, &mut buffer, false);
            length += match result {
                // Characters of JIS X 0212, which are read and not written.
                EncoderResult::Unmappable(_) if encoding == encoding_rs::EUC_JP => 3,
                // Four sequences of Big5 stand for a letter and one of these marks.
                EncoderResult::Unmappable('\u{304}' | '\u{30C}') => 0,
                EncoderResult::Unmappable(_) => 2,
                _ if self.encoding.has_escapes() => 2,
                _ => written,
            };
        }
        length
    }
}

/// Whether bytes are a whole escape sequence of ISO-2022-JP.
fn is_escape(bytes: &[u8; ESCAPE_BYTES]) -> bool {
    matches!(
        bytes,
        [ESCAPE, b'(', b'B' | b'J' | b'I'] | [ESCAPE, b'$', b'@' | b'B']
    )
}

/// Each text that is written begins and ends in the initial state.
struct WhatwgEncoder(&'static encoding_rs::Encoding);

impl Encoder for WhatwgEncoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        let mut encoder = self.0.new_encoder();
        let mut done = 0;
        loop {
            let rest = &text[done..];
            let room = encoder
                .max_buffer_length_from_utf8_without_replacement(rest.len())
                .unwrap_or(usize::MAX);
            target.reserve(room.clamp(16, 64 * 1024));
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, target, true);
            done += read;
            match result {
                EncoderResult::InputEmpty => return done,
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(character) => {
                    done -= character.len_utf8();
                    if self.0 == encoding_rs::ISO_2022_JP {
                        self.end_escapes(&mut encoder, target);
                    }
                    return done;
                }
            }
        }
    }
}

impl WhatwgEncoder {
    /// Goes back to the initial state behind a character that has no representation.
    fn end_escapes(&self, encoder: &mut encoding_rs::Encoder, target: &mut Vec<u8>) {
        target.reserve(16);
        let _ = encoder.encode_from_utf8_to_vec_without_replacement("", target, true);
    }
}
