//! Tests of the encodings against the data of the crates and by cutting sources anywhere.

use proptest::prelude::*;

use super::*;
use crate::decoder::{DecodeOptions, Pull, StreamingDecoder};
use crate::error::IoError;

/// Every name of an encoding that has data of its own.
const NAMES: [&str; 44] = [
    "utf-8",
    "utf-16",
    "utf-16be",
    "utf-16le",
    "utf-32",
    "utf-32be",
    "utf-32le",
    "latin-1",
    "ascii",
    "ibm866",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
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

fn encoding(name: &str) -> Arc<dyn Encoding> {
    by_name(name).unwrap_or_else(|| panic!("no encoding {name}"))
}

/// Decodes a source that comes in pieces; malformed sequences count and are shown as `!` and their length.
fn decoded(encoding: &Arc<dyn Encoding>, pieces: &[&[u8]]) -> String {
    let mut decoder = StreamingDecoder::new(DecodeOptions {
        encoding: encoding.clone(),
        ..DecodeOptions::default()
    });
    let mut text = String::new();
    let mut left = pieces.iter();
    loop {
        match decoder.take_char() {
            Ok(Pull::Item(character)) => text.push(character),
            Ok(Pull::NeedsMore) => match left.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            },
            Ok(Pull::End) => return text,
            Err(IoError::Malformed(fault)) => text.push_str(&format!("!{}", fault.bytes.len())),
            Err(error) => panic!("{error}"),
        }
    }
}

fn encoded(encoding: &Arc<dyn Encoding>, text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = encoding.encoder().encode(text, &mut bytes);
    (length == text.len()).then_some(bytes)
}

#[test]
fn characters_come_back_and_have_the_length_of_their_bytes() {
    for name in NAMES {
        let encoding = encoding(name);
        let mut count = 0;
        for character in ('a'..='c').chain(('\u{80}'..='\u{2FFFF}').step_by(5)) {
            // Behind a letter, since U+FEFF at the start is a mark.
            let text = format!("a{character}");
            let Some(bytes) = encoded(&encoding, &text) else {
                continue;
            };
            count += 1;
            let back = decoded(&encoding, &[&bytes]);
            // Characters that share their bytes with another one, which is what they are decoded to.
            let is_twin = matches!(character, '\u{A5}' | '\u{203E}' | '\u{2212}')
                || (name.starts_with("gb") && ('\u{E000}'..='\u{F8FF}').contains(&character))
                || (name == "iso-2022-jp" && ('\u{FF61}'..='\u{FF9F}').contains(&character));
            assert!(back == text || is_twin, "{name}: {character:?} is {back:?}");
            if name != "iso-2022-jp" && !is_twin {
                let length = encoding.decoder().source_length(&text);
                assert_eq!(length, bytes.len(), "{name}: {character:?}");
            }
        }
        let least = if name == "ascii" { 3 } else { 15 };
        assert!(count >= least, "{name} has {count} characters");
    }
}

#[test]
fn byte_order_marks_decide_and_are_left_out() {
    let utf16 = encoding("utf-16");
    assert_eq!(decoded(&utf16, &[b"\xFF\xFEa\0"]), "a");
    assert_eq!(decoded(&utf16, &[b"\xFE\xFF\0a"]), "a");
    assert_eq!(decoded(&utf16, &[b"\0a"]), "a");
    assert_eq!(decoded(&utf16, &[b"\xFE", b"\xFF", b"\0", b"a"]), "a");
    assert_eq!(decoded(&utf16, &[b"\xFE"]), "!1");
    let utf32 = encoding("utf-32");
    assert_eq!(decoded(&utf32, &[b"\xFF\xFE\0\0a\0\0\0"]), "a");
    assert_eq!(decoded(&utf32, &[b"\0\0\xFE\xFF\0\0\0a"]), "a");
    // The mark of the other order is no mark when the order is fixed: U+FFFE.
    assert_eq!(decoded(&encoding("utf-16be"), &[b"\xFF\xFE"]), "\u{FFFE}");
}

#[test]
fn a_kept_mark_decides_too() {
    let mut decoder = StreamingDecoder::new(DecodeOptions {
        encoding: encoding("utf-16"),
        byte_order_mark: ByteOrderMark::Keep,
        ..DecodeOptions::default()
    });
    decoder.feed(b"\xFF\xFEa\0");
    assert_eq!(decoder.take_char().unwrap(), Pull::Item('\u{FEFF}'));
    assert_eq!(decoder.take_char().unwrap(), Pull::Item('a'));
    // The order is known behind a change of the position as well.
    decoder.restart(2);
    decoder.feed(b"b\0");
    assert_eq!(decoder.take_char().unwrap(), Pull::Item('b'));
}

#[test]
fn what_is_malformed_is_told_by_its_length() {
    for (name, bytes, text) in [
        ("utf-16le", &b"\x00\xD8a\0"[..], "!2a"),
        ("utf-16le", b"\x00\xDCa\0", "!2a"),
        ("utf-16le", b"\x00\xD8", "!2"),
        ("utf-16le", b"\x00\xD8\x00", "!3"),
        ("utf-16be", b"\xD8\x3D\xDE\x00", "\u{1F600}"),
        ("utf-16be", b"\xD8\x3D\xD8\x3D\xDE\x00", "!2\u{1F600}"),
        ("utf-32be", b"\0\x11\0\0\0\0\0a\0", "!4a!1"),
        ("windows-1252", b"\x80\x81", "\u{20AC}\u{81}"),
        ("windows-1253", b"a\xAAb", "a!1b"),
        ("shift_jis", b"\x82\xA0\x82", "あ!1"),
        ("shift_jis", b"\x82 ", "!1 "),
        ("euc-jp", b"\xA4\xA2\xA4", "あ!1"),
        ("gb18030", b"\x81\x30\x81\x30", "\u{80}"),
        ("gb18030", b"\x81\x30\x81", "!3"),
        ("big5", b"\x88\x62", "\u{CA}\u{304}"),
        ("iso-2022-jp", b"\x1B$B$\"\x1B(Ba", "あa"),
        ("iso-2022-jp", b"\x1B$B$", "!1"),
        ("iso-2022-jp", b"\x1B$B$\"\x1B(B\x1B$B$\"", "あ!3あ"),
    ] {
        let encoding = encoding(name);
        assert_eq!(decoded(&encoding, &[bytes]), text, "{name} {bytes:x?}");
    }
}

#[test]
fn an_escape_sequence_may_be_cut_and_two_in_a_row_are_malformed() {
    let encoding = encoding("iso-2022-jp");
    let source = b"\x1B$B$\"\x1B(B\x1B$B$\"\x1B(Ba";
    for cut in 0..=source.len() {
        let (start, rest) = source.split_at(cut);
        assert_eq!(decoded(&encoding, &[start, rest]), "あ!3あa", "{cut}");
    }
}

#[test]
fn what_has_no_representation_stops_the_encoder() {
    for (name, text, done, bytes) in [
        ("ascii", "aé", 1, &b"a"[..]),
        ("latin-1", "éx\u{20AC}", 3, b"\xE9x"),
        ("windows-1252", "\u{20AC}\u{20AC}あ", 6, b"\x80\x80"),
        ("shift_jis", "あ\u{1F600}", 3, b"\x82\xA0"),
        ("iso-2022-jp", "あ\u{1F600}", 3, b"\x1B$B$\"\x1B(B"),
    ] {
        let mut target = Vec::new();
        let length = encoding(name).encoder().encode(text, &mut target);
        assert_eq!((length, &target[..]), (done, bytes), "{name}");
    }
}

#[test]
fn unknown_names_are_unknown() {
    for name in ["", "utf-9", "utf-7", "replacement", "hz-gb-2312", "ebcdic"] {
        assert!(by_name(name).is_none(), "{name}");
    }
}

proptest! {
    /// Cutting a source gives the same characters and faults.
    #[test]
    fn cuts_do_not_matter(
        index in 0..NAMES.len(),
        bytes in proptest::collection::vec(prop_oneof![
            any::<u8>(), Just(0x1B), Just(b'$'), Just(b'B'), Just(b'('), Just(0xD8), Just(0x81),
            Just(0x30), Just(0),
        ], 0..40),
        cuts in proptest::collection::vec(0usize..40, 0..6),
    ) {
        let encoding = encoding(NAMES[index]);
        let whole = decoded(&encoding, &[&bytes]);
        let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        places.push(0);
        places.push(bytes.len());
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|two| &bytes[two[0]..two[1]]).collect();
        prop_assert_eq!(decoded(&encoding, &pieces), whole, "{}", NAMES[index]);
    }
}
