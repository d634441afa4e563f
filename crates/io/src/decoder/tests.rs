//! Tests of the streaming decoder: any chunking gives the same as decoding the whole.

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::encoding::{Ascii, ByteOrderMarkRow, Decoded, Encoder, Latin1};
use crate::text::Width;

/// Little-endian UTF-16: shows that an encoding supplied from outside works like those built in.
#[derive(Debug)]
struct Utf16;

struct Utf16Decoder;

struct Utf16Encoder;

impl Encoding for Utf16 {
    fn name(&self) -> &str {
        "UTF-16LE"
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Utf16Decoder)
    }

    fn encoder(&self) -> Box<dyn Encoder> {
        Box::new(Utf16Encoder)
    }

    fn byte_order_marks(&self) -> Vec<ByteOrderMarkRow> {
        vec![(b"\xFF\xFE", None)]
    }
}

impl Decoder for Utf16Decoder {
    fn decode(&mut self, source: &[u8], end: bool, target: &mut String) -> Decoded {
        let unit = |at: usize| Some(u16::from_le_bytes([*source.get(at)?, *source.get(at + 1)?]));
        let mut consumed = 0;
        let incomplete = |consumed| match source.len() - consumed {
            0 => DecodeStop::NeedsMore,
            length if end => DecodeStop::Malformed { length },
            _ => DecodeStop::NeedsMore,
        };
        loop {
            let Some(first) = unit(consumed) else {
                return Decoded {
                    consumed,
                    stop: incomplete(consumed),
                };
            };
            let mut units = vec![first];
            if (0xD800..0xDC00).contains(&first) {
                match unit(consumed + 2) {
                    Some(second) => units.push(second),
                    None => {
                        return Decoded {
                            consumed,
                            stop: incomplete(consumed),
                        };
                    }
                }
            }
            match char::decode_utf16(units).next() {
                Some(Ok(character)) => target.push(character),
                _ => {
                    return Decoded {
                        consumed,
                        stop: DecodeStop::Malformed { length: 2 },
                    };
                }
            }
            consumed += 2 * usize::from(first >> 10 == 0x36) + 2;
        }
    }

    fn source_length(&self, text: &str) -> usize {
        2 * text.encode_utf16().count()
    }
}

impl Encoder for Utf16Encoder {
    fn encode(&mut self, text: &str, target: &mut Vec<u8>) -> usize {
        target.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        text.len()
    }
}

fn options(encoding: impl Encoding + 'static, malformed: CodingPolicy) -> DecodeOptions {
    let encoding = Arc::new(encoding);
    DecodeOptions {
        encoding,
        malformed,
        byte_order_mark: ByteOrderMark::Keep,
        ..DecodeOptions::default()
    }
}

/// The pieces between the given places.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place.index(bytes.len() + 1))
        .collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut start = 0;
    for place in places {
        pieces.push(&bytes[start..place]);
        start = place;
    }
    pieces.push(&bytes[start..]);
    pieces
}

/// Feeds the pieces when asked to and returns all characters, with the byte offset before each, and the
/// offsets of faults.
fn decode(options: DecodeOptions, pieces: &[&[u8]]) -> (String, Vec<u64>, Vec<u64>) {
    let mut decoder = StreamingDecoder::new(options);
    let (mut text, mut offsets, mut faults) = (String::new(), Vec::new(), Vec::new());
    let mut pieces = pieces.iter();
    loop {
        match decoder.peek_char() {
            Ok(Pull::Item(character)) => {
                offsets.push(decoder.location().byte_offset);
                text.push(character);
                assert_eq!(decoder.take_char().unwrap(), Pull::Item(character));
            }
            Ok(Pull::NeedsMore) => match pieces.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            },
            Ok(Pull::End) => return (text, offsets, faults),
            Err(IoError::Malformed(malformed)) => faults.push(malformed.byte_offset),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Feeds the pieces when asked to and returns all lines.
fn lines(options: DecodeOptions, pieces: &[&[u8]]) -> Vec<String> {
    let mut decoder = StreamingDecoder::new(options);
    let mut lines = Vec::new();
    let mut pieces = pieces.iter();
    let mut progress = Progress::default();
    loop {
        match decoder.find_line(&mut progress).unwrap() {
            Pull::Item(extent) => {
                lines.push(decoder.take(extent).as_str().to_owned());
                progress = Progress::default();
            }
            Pull::NeedsMore => match pieces.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            },
            Pull::End => return lines,
        }
    }
}

/// Bytes that are mostly UTF-8 but often broken.
fn doubtful_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => any::<String>().prop_map(String::into_bytes),
        3 => "[a-zäñ€\u{1F600}\r\n]{0,12}".prop_map(String::into_bytes),
        2 => prop::collection::vec(any::<u8>(), 0..4),
        1 => prop::sample::select(vec![
            b"\xED\xA0\x80".to_vec(), b"\xF4\x90\x80\x80".to_vec(), b"\xC0\x80".to_vec(),
                b"\xF0\x9F".to_vec(),
            b"\xE2\x82".to_vec(), b"\xE0\x80".to_vec(), b"\xF8\x88\x80\x80\x80".to_vec(),
        ]),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..10)
}

/// The answers of a correct decoder, from the standard library's view of the whole: the valid characters with
/// their offsets, and the offsets of the malformed sequences.
fn model(bytes: &[u8]) -> (String, Vec<u64>, Vec<u64>) {
    let (mut text, mut offsets, mut faults) = (String::new(), Vec::new(), Vec::new());
    let mut offset = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            text.push(character);
            offsets.push(offset);
            offset += character.len_utf8() as u64;
        }
        if !chunk.invalid().is_empty() {
            faults.push(offset);
            offset += chunk.invalid().len() as u64;
        }
    }
    (text, offsets, faults)
}

proptest! {
    #[test]
    fn replacing_is_lossy_decoding(bytes in doubtful_bytes(), places in cuts()) {
        let (text, ..) = decode(options(Utf8, CodingPolicy::Replace), &cut(&bytes, &places));
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn ignoring_and_raising_deliver_what_is_valid(bytes in doubtful_bytes(), places in cuts()) {
        let (expected, offsets, faults) = model(&bytes);
        let pieces = cut(&bytes, &places);
        let (text, found, _) = decode(options(Utf8, CodingPolicy::Ignore), &pieces);
        prop_assert_eq!(&text, &expected);
        // A location asked for before a skipped sequence was seen does not include it.
        prop_assert!(found.iter().zip(&offsets).all(|(found, offset)| found <= offset));
        let (text, found, reported) = decode(options(Utf8, CodingPolicy::Raise), &pieces);
        prop_assert_eq!(text, expected);
        prop_assert_eq!(found, offsets);
        prop_assert_eq!(reported, faults);
    }

    #[test]
    fn latin1_is_the_identity(bytes in prop::collection::vec(any::<u8>(), 0..300), places in cuts()) {
        let (text, offsets, faults) = decode(options(Latin1, CodingPolicy::Raise), &cut(&bytes, &places));
        prop_assert!(text.chars().map(|character| character as u8).eq(bytes.iter().copied()));
        prop_assert!(offsets.into_iter().eq(0..bytes.len() as u64));
        prop_assert!(faults.is_empty());
    }

    #[test]
    fn ascii_reports_the_rest(bytes in prop::collection::vec(any::<u8>(), 0..50), places in cuts()) {
        let (text, _, faults) = decode(options(Ascii, CodingPolicy::Raise), &cut(&bytes, &places));
        prop_assert_eq!(text.len() + faults.len(), bytes.len());
        prop_assert!(faults.iter().all(|offset| bytes[*offset as usize] >= 0x80));
    }

    #[test]
    fn a_supplied_encoding_works(string in any::<String>(), places in cuts()) {
        let mut bytes = Vec::new();
        Utf16Encoder.encode(&string, &mut bytes);
        let (text, offsets, _) = decode(options(Utf16, CodingPolicy::Raise), &cut(&bytes, &places));
        prop_assert_eq!(text, string.as_str());
        let mut offset = 0;
        for (character, found) in string.chars().zip(offsets) {
            prop_assert_eq!(found, offset);
            offset += 2 * character.len_utf16() as u64;
        }
    }

    #[test]
    fn lines_do_not_depend_on_chunks(text in "[ab€é\r\n]{0,40}", places in cuts(), kind in 0..4) {
        let boxed = |separators: &[&str]| separators.iter().map(|separator| Box::from(*separator)).collect();
        let line_separator = match kind {
            0 => LineSeparator::Any,
            1 => LineSeparator::LineFeed,
            2 => LineSeparator::Strings(boxed(&["\r\n", "\n"])),
            _ => LineSeparator::Strings(boxed(&["€", "€a€", "ab"])),
        };
        let options = DecodeOptions { line_separator: line_separator.clone(), ..DecodeOptions::default() };
        let whole = lines(options.clone(), &[text.as_bytes()]);
        prop_assert_eq!(&lines(options, &cut(text.as_bytes(), &places)), &whole);
        let mut expected: Vec<&str> = match kind {
            1 => text.split('\n').collect(),
            2 => text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect(),
            _ => return Ok(()),
        };
        if kind == 2 && !text.ends_with('\n') && let Some(last) = expected.last_mut() {
            *last = &text[text.rfind('\n').map_or(0, |offset| offset + 1)..];
        }
        if expected.last() == Some(&"") {
            expected.pop();
        }
        prop_assert_eq!(whole, expected);
    }

    #[test]
    fn locations_are_those_of_the_text_before(text in "[aé€\n]{0,60}", places in cuts()) {
        let mut decoder = StreamingDecoder::new(DecodeOptions::default());
        let mut before = String::new();
        for piece in cut(text.as_bytes(), &places) {
            decoder.feed(piece);
            while let Pull::Item(character) = decoder.take_char().unwrap() {
                before.push(character);
                let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
                let expected = Location {
                    line: before.matches('\n').count() as u64 + 1,
                    column: column as u64 + 1,
                    byte_offset: before.len() as u64,
                };
                if character != 'a' {
                    prop_assert_eq!(decoder.location(), expected);
                }
            }
        }
        prop_assert_eq!(before, text);
    }
}

#[test]
fn a_byte_order_mark_is_skipped_only_at_the_start() {
    for cut_at in 0..=3 {
        let bytes = b"\xEF\xBB\xBFa\xEF\xBB\xBF";
        let pieces = [&bytes[..cut_at], &bytes[cut_at..]];
        let (text, offsets, _) = decode(DecodeOptions::default(), &pieces);
        assert_eq!(text, "a\u{FEFF}");
        assert_eq!(offsets, [3, 4]);
        let (text, ..) = decode(options(Utf8, CodingPolicy::Raise), &pieces);
        assert_eq!(text, "\u{FEFF}a\u{FEFF}");
    }
    // The beginning of a mark and nothing more.
    let (text, _, faults) = decode(DecodeOptions::default(), &[b"\xEF\xBB"]);
    assert_eq!((text.as_str(), faults.as_slice()), ("", [0].as_slice()));
}

#[test]
fn a_fault_is_described_and_skipped() {
    let mut decoder = StreamingDecoder::new(DecodeOptions::default());
    decoder.feed(b"ab\xE2\x82zcd\n\xF0\x9F");
    let mut progress = Progress::default();
    let error = decoder.find_line(&mut progress).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read: malformed UTF-8 at byte 2 (E2 82)"
    );
    let Pull::Item(extent) = decoder.find_line(&mut progress).unwrap() else {
        panic!("the line is complete");
    };
    assert_eq!(decoder.take(extent).as_str(), "abzcd");
    assert_eq!(
        decoder.location(),
        Location {
            line: 2,
            column: 1,
            byte_offset: 8
        }
    );
    assert_eq!(decoder.take_char().unwrap(), Pull::NeedsMore);
    decoder.finish();
    let error = decoder.take_char().unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read: malformed UTF-8 at byte 8 (F0 9F), cut short by the end of input"
    );
    assert_eq!(decoder.take_char().unwrap(), Pull::End);
}

#[test]
fn garbage_takes_linear_time() {
    // Quadratic work would need minutes for this.
    let bytes = vec![0xFF; 4 << 20];
    let mut decoder = StreamingDecoder::new(options(Utf8, CodingPolicy::Replace));
    bytes.chunks(1 << 20).for_each(|piece| decoder.feed(piece));
    decoder.finish();
    let Pull::Item(extent) = decoder.find_available().unwrap() else {
        panic!("there is text");
    };
    assert_eq!(decoder.take(extent).length(), bytes.len());
}

#[test]
fn counted_pieces() {
    let mut bytes = Vec::new();
    for number in 0..10_000 {
        writeln!(bytes, "{number}é€").unwrap();
    }
    let whole: Vec<char> = std::str::from_utf8(&bytes).unwrap().chars().collect();
    let mut decoder = StreamingDecoder::new(DecodeOptions::default());
    let mut pieces = bytes.chunks(1001);
    let mut taken = 0;
    for count in [0, 1, 2, 1000, 7, 20_000, 0, usize::MAX] {
        let mut progress = Progress::default();
        let extent = loop {
            match decoder.find_chars(count, &mut progress).unwrap() {
                Pull::Item(extent) => break extent,
                Pull::NeedsMore => {}
                Pull::End => panic!("too few"),
            }
            match pieces.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            }
        };
        let text = decoder.take(extent);
        let expected: String = whole[taken..].iter().take(count).collect();
        assert_eq!(text.as_str(), expected);
        assert_eq!(text.length(), expected.chars().count());
        taken += text.length();
    }
    assert_eq!(
        decoder.find_chars(1, &mut Progress::default()).unwrap(),
        Pull::End
    );
}

#[test]
fn the_width_is_that_of_each_line() {
    let mut decoder = StreamingDecoder::new(DecodeOptions::default());
    decoder.feed("plain\nnaïve\n€\nplain again\n".as_bytes());
    for expected in [Width::Ascii, Width::Latin1, Width::Wide, Width::Ascii] {
        let Pull::Item(extent) = decoder.find_line(&mut Progress::default()).unwrap() else {
            panic!("the line is complete");
        };
        assert_eq!(decoder.take(extent).width(), expected);
    }
}
