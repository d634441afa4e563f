//! Encodings and lines of text: generators and oracles.
//!
//! Characters are those of the crate `encoding_rs`, and lines those of a search that knows the whole
//! text. Neither depends on how the source was cut into pieces.

use std::sync::Arc;

use canny_io::Progress;
use canny_io::encoding::{Encoding, by_name};
use canny_io::{
    ByteOrderMark, CodingPolicy, DecodeOptions, IoError, LineSeparator, Pull, StreamingDecoder,
};

use crate::corpus::Corpus;
use crate::random::Random;

const ENCODINGS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "ibm866",
    "iso-8859-2",
    "iso-8859-7",
    "iso-8859-8-i",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1255",
    "x-mac-cyrillic",
    "gbk",
    "gb18030",
    "big5",
    "euc-jp",
    "iso-2022-jp",
    "shift_jis",
    "euc-kr",
    "x-user-defined",
];

/// The number of an encoding, and bytes that may be text in it.
pub fn encoded_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let which = random.below(ENCODINGS.len());
    let mut bytes = vec![which as u8];
    let characters = [
        'a', ' ', '\n', 'é', 'ß', 'Ж', 'λ', '中', '本', 'か', 'ﾊ', '한', '😀', '€', '\u{feff}',
    ];
    if let Some(encoding) = encoding_rs::Encoding::for_label(ENCODINGS[which].as_bytes()) {
        for _ in 0..random.below(12) {
            let character = random.choose(&characters).to_string();
            // Those of UTF-16 are decoded only.
            match ENCODINGS[which] {
                "utf-16le" => bytes.extend(character.encode_utf16().flat_map(u16::to_le_bytes)),
                "utf-16be" => bytes.extend(character.encode_utf16().flat_map(u16::to_be_bytes)),
                _ => bytes.extend_from_slice(&encoding.encode(&character).0),
            }
        }
    }
    for _ in 0..random.below(6) {
        let at = 1 + random.below(bytes.len());
        let byte = match random.below(3) {
            0 => *random.choose(b"\x1b$B(J\x0e\x80\x81\xff\xd8\xdc\x30"),
            _ => random.next() as u8,
        };
        match random.below(3) {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            _ if at < bytes.len() => bytes[at] = byte,
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// Malformed bytes are replaced as in `encoding_rs`, wherever the source is cut in two.
pub fn decoder(bytes: &[u8]) -> Result<(), String> {
    let Some((&which, bytes)) = bytes.split_first() else {
        return Ok(());
    };
    let name = ENCODINGS[usize::from(which) % ENCODINGS.len()];
    let reference = encoding_rs::Encoding::for_label(name.as_bytes());
    let (Some(encoding), Some(reference)) = (by_name(name), reference) else {
        return Err(format!("there is no encoding {name}"));
    };
    let (theirs, _) = reference.decode_without_bom_handling(bytes);
    let each: Vec<&[u8]> = bytes.chunks(1).collect();
    let cuts = (0..=bytes.len()).map(|cut| vec![&bytes[..cut], &bytes[cut..]]);
    for pieces in cuts.chain([each]) {
        let ours = decoded(&encoding, &pieces).map_err(|error| error.to_string())?;
        if ours != theirs {
            return Err(format!(
                "{name} {pieces:x?}: {ours:?}, the reference {theirs:?}"
            ));
        }
    }
    Ok(())
}

fn decoded(encoding: &Arc<dyn Encoding>, pieces: &[&[u8]]) -> Result<String, IoError> {
    let mut decoder = StreamingDecoder::new(options(encoding, LineSeparator::default()));
    let mut text = String::new();
    let mut left = pieces.iter();
    loop {
        match decoder.take_char()? {
            Pull::Item(character) => text.push(character),
            Pull::NeedsMore => match left.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            },
            Pull::End => return Ok(text),
        }
    }
}

fn options(encoding: &Arc<dyn Encoding>, line_separator: LineSeparator) -> DecodeOptions {
    DecodeOptions {
        encoding: encoding.clone(),
        malformed: CodingPolicy::Replace,
        byte_order_mark: ByteOrderMark::Keep,
        line_separator,
    }
}

/// Sets of separators, in order of their numbers; the first two have cases of their own.
const SEPARATORS: &[&[&str]] = &[
    &["\r\n", "\n", "\r"],
    &["\n"],
    &["\r\n", "\n"],
    &["ab", "abc", "c\n"],
    &["\u{2028}", "é", "aé"],
    &["aab"],
];

const LINE_ENCODINGS: &[&str] = &["utf-8", "latin-1", "utf-16le", "shift_jis"];

/// The numbers of separators, of an encoding and of what is done, and bytes of text with many separators.
pub fn lines_text(random: &mut Random, _: &Corpus) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "a",
        "b",
        "c",
        "aa",
        "\n",
        "\r",
        "\r\n",
        "\n\r",
        "é",
        "\u{2028}",
        "😀",
        "longer than a word of it",
    ];
    let encoding = random.below(LINE_ENCODINGS.len());
    let mut bytes = vec![
        random.below(SEPARATORS.len()) as u8,
        encoding as u8,
        random.next() as u8,
    ];
    for _ in 0..random.below(14) {
        let piece = *random.choose(PIECES);
        match LINE_ENCODINGS[encoding] {
            "utf-16le" => bytes.extend(piece.encode_utf16().flat_map(u16::to_le_bytes)),
            "latin-1" => bytes.extend(piece.chars().map(|character| u32::from(character) as u8)),
            _ => bytes.extend_from_slice(piece.as_bytes()),
        }
        if random.once_in(20) {
            bytes.push(random.next() as u8);
        }
    }
    bytes
}

/// A way of taking text from a decoder.
#[derive(Clone, Copy)]
enum Step {
    Line,
    WholeLine,
    Characters(usize),
}

/// An endless sequence of steps, chosen by the bits of a number.
fn steps(number: u8) -> impl Iterator<Item = Step> {
    (0..).map(move |index| match number >> (2 * (index % 4)) & 3 {
        0 | 1 => Step::Line,
        2 => Step::WholeLine,
        _ => Step::Characters(1 + index % 3),
    })
}

/// The pieces that are taken in turn are those of a naive search in the whole text, wherever the
/// source is cut in two.
pub fn lines(bytes: &[u8]) -> Result<(), String> {
    let Some((&[separators, encoding, number], bytes)) = bytes.split_first_chunk() else {
        return Ok(());
    };
    let separators = usize::from(separators) % SEPARATORS.len();
    let strings = SEPARATORS[separators];
    let separator = match separators {
        0 => LineSeparator::Any,
        1 => LineSeparator::LineFeed,
        _ => LineSeparator::Strings(strings.iter().map(|&string| string.into()).collect()),
    };
    let name = LINE_ENCODINGS[usize::from(encoding) % LINE_ENCODINGS.len()];
    let Some(encoding) = by_name(name) else {
        return Err(format!("there is no encoding {name}"));
    };
    let text = decoded(&encoding, &[bytes]).map_err(|error| error.to_string())?;
    let expected = naively_taken(&text, strings, number);
    let each: Vec<&[u8]> = bytes.chunks(1).collect();
    let cuts = (0..=bytes.len()).map(|cut| vec![&bytes[..cut], &bytes[cut..]]);
    for pieces in cuts.chain([each]) {
        let found = taken(options(&encoding, separator.clone()), &pieces, number)
            .map_err(|error| error.to_string())?;
        if found != expected {
            return Err(format!(
                "{name}, {separator:?}, {number}, {pieces:x?}: {found:?}, not {expected:?}"
            ));
        }
    }
    Ok(())
}

fn naively_taken(text: &str, separators: &[&str], number: u8) -> Vec<String> {
    let mut taken = Vec::new();
    let mut rest = text;
    for step in steps(number) {
        if rest.is_empty() {
            break;
        }
        let end_of_line = rest.char_indices().find_map(|(start, _)| {
            let separators = separators.iter();
            let fitting = separators.filter(|separator| rest[start..].starts_with(**separator));
            let longest = fitting.map(|separator| separator.len()).max()?;
            Some((start, start + longest))
        });
        let (line_end, next) = end_of_line.unwrap_or((rest.len(), rest.len()));
        let (end, next) = match step {
            Step::Line => (line_end, next),
            Step::WholeLine => (next, next),
            Step::Characters(count) => {
                let end = rest.char_indices().nth(count).map(|(end, _)| end);
                let end = end.unwrap_or(rest.len());
                (end, end)
            }
        };
        taken.push(rest[..end].to_owned());
        rest = &rest[next..];
    }
    taken
}

fn taken(options: DecodeOptions, pieces: &[&[u8]], number: u8) -> Result<Vec<String>, IoError> {
    let mut decoder = StreamingDecoder::new(options);
    let mut taken = Vec::new();
    let mut left = pieces.iter();
    for step in steps(number) {
        let mut progress = Progress::default();
        loop {
            let found = match step {
                Step::Line => decoder.find_line(&mut progress)?,
                Step::WholeLine => decoder.find_whole_line(&mut progress)?,
                Step::Characters(count) => decoder.find_chars(count, &mut progress)?,
            };
            match found {
                Pull::Item(extent) => {
                    taken.push(decoder.take(extent).as_str().to_owned());
                    break;
                }
                Pull::NeedsMore => match left.next() {
                    Some(piece) => decoder.feed(piece),
                    None => decoder.finish(),
                },
                Pull::End => return Ok(taken),
            }
        }
    }
    Ok(taken)
}
