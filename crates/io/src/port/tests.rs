//! Tests of ports: the operations, that they can be repeated when interrupted, and that nothing is lost.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::decoder::DecodeOptions;
use crate::encoding::{Ascii, ByteOrderMark, CodingPolicy, Latin1, by_name};
use crate::error::IoError;
use crate::file::{OutputMode, open_input, open_output};
use crate::handle::ByteDevice;
use crate::handle::{Access, Handle};
use crate::line_separator::LineSeparator;
use crate::registry::flush_all;
use crate::text::Width;
use crate::wait::Wait;
use crate::window::Location;

const WAIT: Wait<'static> = Wait::Blocking;

fn text_input(bytes: &[u8]) -> TextInput {
    TextInput::new(Handle::memory(bytes.to_vec()), DecodeOptions::default())
}

fn line(input: &mut TextInput) -> Option<String> {
    input
        .read_line(WAIT)
        .unwrap()
        .map(|text| text.as_str().to_owned())
}

/// A device that delivers the given pieces, `None` being a moment at which it is not ready, and takes
/// writes piecemeal in the same manner.
struct Piecemeal {
    pieces: VecDeque<Option<Vec<u8>>>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl ByteDevice for Piecemeal {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.pieces.pop_front() {
            None => Ok(0),
            Some(None) => Err(io::ErrorKind::WouldBlock.into()),
            Some(Some(mut piece)) => {
                let count = piece.len().min(buffer.len());
                let rest = piece.split_off(count);
                buffer[..count].copy_from_slice(&piece);
                if !rest.is_empty() {
                    self.pieces.push_front(Some(rest));
                }
                if count == 0 {
                    self.read(buffer)
                } else {
                    Ok(count)
                }
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match self.pieces.pop_front() {
            None => bytes.len(),
            Some(None) => return Err(io::ErrorKind::WouldBlock.into()),
            Some(Some(piece)) => bytes.len().min(1 + piece.len()),
        };
        self.written
            .lock()
            .unwrap()
            .extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

fn piecemeal(pieces: Vec<Option<Vec<u8>>>) -> (Arc<Handle>, Arc<Mutex<Vec<u8>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let device = Piecemeal {
        pieces: pieces.into(),
        written: Arc::clone(&written),
    };
    (
        Handle::from_device(Box::new(device), "device", Access::ReadWrite),
        written,
    )
}

/// Repeats an operation until the device is ready.
fn retry<T>(mut operation: impl FnMut() -> Result<T, IoError>) -> T {
    loop {
        match operation() {
            Ok(value) => return value,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

fn pieces() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let piece = prop_oneof![
        3 => "[a-cé€\u{1F600}\r\n]{0,9}".prop_map(|text| Some(text.into_bytes())),
        1 => "x{60}".prop_map(|text| Some(text.into_bytes())),
        2 => Just(None),
    ];
    // The texts are cut again, inside of characters.
    (prop::collection::vec(piece, 0..12), 1..7_usize).prop_map(|(pieces, size)| {
        let cut = |piece: Option<Vec<u8>>| match piece {
            None => vec![None],
            Some(bytes) => bytes
                .chunks(size)
                .map(|chunk| Some(chunk.to_vec()))
                .collect(),
        };
        pieces.into_iter().flat_map(cut).collect()
    })
}

proptest! {
    #[test]
    fn text_operations_can_be_repeated(
        pieces in pieces(),
        operations in prop::collection::vec(0..7_usize, 1..20),
    ) {
        let whole: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
        let whole = String::from_utf8(whole).unwrap();
        let mut input = TextInput::new(piecemeal(pieces).0, DecodeOptions::default());
        let mut model = TextInput::from_text(whole);
        let input = &mut input;
        for operation in operations.into_iter().cycle().take(200) {
            match operation {
                0 => {
                    let character = retry(|| input.peek_char(Wait::NonBlocking));
                    prop_assert_eq!(character, model.peek_char(WAIT).unwrap());
                }
                1 | 2 => {
                    let character = retry(|| input.read_char(Wait::NonBlocking));
                    prop_assert_eq!(character, model.read_char(WAIT).unwrap());
                }
                3 => {
                    let line = retry(|| {
                        let line = input.read_line(Wait::NonBlocking)?;
                        Ok(line.map(|text| text.as_str().to_owned()))
                    });
                    let expected = model.read_line(WAIT).unwrap();
                    prop_assert_eq!(line.as_deref(), expected.map(|text| text.as_str()));
                }
                4 => {
                    let ready = input.char_ready().unwrap();
                    if ready {
                        let character = input.peek_char(Wait::NonBlocking).unwrap();
                        prop_assert_eq!(character, model.peek_char(WAIT).unwrap());
                    }
                }
                count => {
                    let text = retry(|| {
                        let text = input.read_chars(count, Wait::NonBlocking)?;
                        Ok(text.map(|text| text.as_str().to_owned()))
                    });
                    let expected = model.read_chars(count, WAIT).unwrap();
                    prop_assert_eq!(text.as_deref(), expected.map(|text| text.as_str()));
                }
            }
            // Behind a lone carriage return it is not known yet whether a line feed belongs to it.
            if input.char_ready().unwrap() {
                prop_assert_eq!(input.location(), model.location());
            }
        }
    }

    #[test]
    fn binary_operations_can_be_repeated(
        pieces in pieces(),
        operations in prop::collection::vec(0..7_usize, 1..20),
    ) {
        let whole: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
        let mut input = BinaryInput::new(piecemeal(pieces).0);
        let mut model = BinaryInput::from_bytes(whole);
        let input = &mut input;
        let mut delivered = 0;
        for operation in operations.into_iter().cycle().take(100) {
            match operation {
                0 => {
                    let byte = retry(|| input.peek_u8(Wait::NonBlocking));
                    prop_assert_eq!(byte, model.peek_u8(WAIT).unwrap());
                }
                1 | 2 => {
                    let byte = retry(|| input.read_u8(Wait::NonBlocking));
                    prop_assert_eq!(byte, model.read_u8(WAIT).unwrap());
                    delivered += usize::from(byte.is_some());
                }
                3 => {
                    let ready = input.u8_ready().unwrap();
                    if ready {
                        let byte = input.peek_u8(Wait::NonBlocking).unwrap();
                        prop_assert_eq!(byte, model.peek_u8(WAIT).unwrap());
                    }
                }
                4 => {
                    // Large enough to go past the buffer.
                    let size = if delivered % 2 == 0 { READ_BYTES + 5 } else { 5 };
                    let (mut found, mut expected) = (vec![0; size], vec![0; size]);
                    let count = retry(|| input.read_into(&mut found, Wait::NonBlocking));
                    prop_assert_eq!(count, model.read_into(&mut expected, WAIT).unwrap());
                    prop_assert_eq!(&found[..count], &expected[..count]);
                    delivered += count;
                }
                count => {
                    let bytes = retry(|| Ok(input.read_bytes(count, Wait::NonBlocking)?.map(<[u8]>::to_vec)));
                    prop_assert_eq!(bytes.as_deref(), model.read_bytes(count, WAIT).unwrap());
                    delivered += bytes.map_or(0, |bytes| bytes.len());
                }
            }
            prop_assert_eq!(input.byte_offset(), delivered as u64);
        }
    }

    #[test]
    fn writes_can_be_repeated(readiness in pieces(), texts in prop::collection::vec(
        "[aé€\n]{0,20}", 0..20), big in 0..20_usize) {
        let (handle, written) = piecemeal(readiness);
        let mut output = TextOutput::new(handle, EncodeOptions::default());
        let mut expected = String::new();
        for (index, text) in texts.iter().enumerate() {
            let text = if index == big { text.repeat(5000) } else { text.clone() };
            expected.push_str(&text);
            retry(|| output.write_str(&text, Wait::NonBlocking));
            if index % 5 == 4 {
                retry(|| output.flush(Wait::NonBlocking));
            }
        }
        let column = expected.rsplit('\n').next().map_or(0, |line| line.chars().count());
        prop_assert_eq!(output.column(), column as u64);
        retry(|| output.close(Wait::NonBlocking));
        prop_assert!(*written.lock().unwrap() == expected.as_bytes());
    }

    #[test]
    fn all_ways_of_writing_agree(narrow in "[\u{0}-\u{FF}]{0,40}", wide in any::<String>()) {
        let latin1: Vec<u8> = narrow.chars().map(|character| u32::from(character) as u8).collect();
        let words: Vec<u32> = wide.chars().map(u32::from).collect();
        let mut by_string = TextOutput::memory();
        by_string.write_str(&narrow, WAIT).unwrap();
        by_string.write_str(&wide, WAIT).unwrap();
        let mut by_array = TextOutput::memory();
        by_array.write_latin1(&latin1, WAIT).unwrap();
        by_array.write_utf32(&words, WAIT).unwrap();
        let mut by_character = TextOutput::memory();
        for character in narrow.chars().chain(wide.chars()) {
            by_character.write_char(character, WAIT).unwrap();
        }
        let expected = format!("{narrow}{wide}");
        for output in [&by_string, &by_array, &by_character] {
            prop_assert_eq!(output.text().as_str(), expected.as_str());
            prop_assert_eq!(output.column(), by_string.column());
        }
    }
}

#[test]
fn characters_and_lines() {
    let mut input = text_input("λx\nsecond\r\nthird\rlast".as_bytes());
    assert_eq!(input.peek_char(WAIT).unwrap(), Some('λ'));
    assert_eq!(input.read_char(WAIT).unwrap(), Some('λ'));
    assert_eq!(
        input.location(),
        Location {
            line: 1,
            column: 2,
            byte_offset: 2
        }
    );
    assert_eq!(line(&mut input).unwrap(), "x");
    assert_eq!(
        input.location(),
        Location {
            line: 2,
            column: 1,
            byte_offset: 4
        }
    );
    assert_eq!(line(&mut input).unwrap(), "second");
    assert_eq!(line(&mut input).unwrap(), "third");
    assert_eq!(input.read_chars(0, WAIT).unwrap().unwrap().length(), 0);
    assert_eq!(input.read_chars(2, WAIT).unwrap().unwrap().as_str(), "la");
    assert_eq!(input.read_chars(9, WAIT).unwrap().unwrap().as_str(), "st");
    assert!(input.read_chars(9, WAIT).unwrap().is_none());
    assert_eq!(input.read_chars(0, WAIT).unwrap().unwrap().length(), 0);
    assert_eq!(line(&mut input), None);
    assert_eq!(input.peek_char(WAIT).unwrap(), None);
    assert_eq!(input.read_char(WAIT).unwrap(), None);
    assert!(input.char_ready().unwrap());
}

#[test]
fn strings_are_sources_too() {
    let mut input = TextInput::from_text("a€\nb".to_owned());
    assert_eq!(input.read_char(WAIT).unwrap(), Some('a'));
    assert_eq!(line(&mut input).unwrap(), "€");
    assert_eq!(
        input.location(),
        Location {
            line: 2,
            column: 1,
            byte_offset: 5
        }
    );
    assert_eq!(input.read_to_end(WAIT).unwrap().as_str(), "b");
    assert_eq!(input.read_to_end(WAIT).unwrap().as_str(), "");
    assert_eq!(input.read_char(WAIT).unwrap(), None);
    // A character must begin there.
    assert!(matches!(input.seek(2), Err(IoError::Unsupported(_))));
    assert!(matches!(input.seek(9), Err(IoError::Unsupported(_))));
    input.seek(1).unwrap();
    assert_eq!(input.location().byte_offset, 1);
    assert_eq!(line(&mut input).unwrap(), "€");
}

proptest! {
    /// Lines that are taken quickly where that works are the lines.
    #[test]
    fn quick_lines_are_lines(
        pieces in proptest::collection::vec("[abé€\r\n]{0,9}", 0..9),
        linefeed_only in any::<bool>(),
        length_max in 0..6_usize,
    ) {
        let separator = || if linefeed_only { LineSeparator::LineFeed } else { LineSeparator::Any };
        let whole = pieces.concat();
        let mut plain = TextInput::from_text(whole.clone());
        plain.set_line_separator(separator());
        let mut expected = Vec::new();
        while let Some(line) = plain.read_line(WAIT).unwrap() {
            expected.push(line.as_str().to_owned());
        }
        let handle = Handle::channel("channel");
        let mut input = TextInput::new(Arc::clone(&handle), DecodeOptions::default());
        input.set_line_separator(separator());
        let mut lines = Vec::new();
        let mut pieces = pieces.iter();
        loop {
            if let Some(line) = input.read_short_line(length_max) {
                prop_assert!(line.as_str().len() <= length_max);
                lines.push(line.as_str().to_owned());
                continue;
            }
            match input.read_line(Wait::NonBlocking) {
                Ok(Some(line)) => lines.push(line.as_str().to_owned()),
                Ok(None) => break,
                Err(_) => match pieces.next() {
                    Some(piece) => drop(handle.write(piece.as_bytes(), WAIT).unwrap()),
                    None => handle.end_input(),
                },
            }
        }
        prop_assert_eq!(lines, expected);
    }
}

#[test]
fn what_was_read_can_be_given_back() {
    let handle = Handle::channel("channel");
    let mut input = TextInput::new(Arc::clone(&handle), DecodeOptions::default());
    handle.write("a€\nb".as_bytes(), WAIT).unwrap();
    assert_eq!(input.read_char(WAIT).unwrap(), Some('a'));
    input.hold();
    let start = input.location();
    assert_eq!(line(&mut input).unwrap(), "€");
    assert_eq!(input.read_char(WAIT).unwrap(), Some('b'));
    // More arrives meanwhile, and what is held stays.
    handle.write(b"cd", WAIT).unwrap();
    assert_eq!(input.read_char(WAIT).unwrap(), Some('c'));
    assert_ne!(input.location(), start);
    input.give_back();
    assert_eq!(input.location(), start);
    assert_eq!(line(&mut input).unwrap(), "€");
    input.hold();
    assert_eq!(input.read_char(WAIT).unwrap(), Some('b'));
    input.let_go();
    input.give_back();
    assert_eq!(input.read_char(WAIT).unwrap(), Some('c'));
    assert_eq!(input.location().byte_offset, 7);
}

#[test]
fn lines_with_their_ends_wait_for_the_linefeed() {
    let handle = Handle::channel("channel");
    let mut input = TextInput::new(Arc::clone(&handle), DecodeOptions::default());
    let mut next = |bytes: &[u8]| {
        handle.write(bytes, WAIT).unwrap();
        let line = input.read_whole_line(Wait::NonBlocking);
        line.map(|line| line.unwrap().as_str().to_owned())
    };
    assert!(matches!(next(b"one\r"), Err(IoError::WouldBlock)));
    assert_eq!(next(b"\ntwo\nthree\r").unwrap(), "one\r\n");
    assert_eq!(next(b"").unwrap(), "two\n");
    assert_eq!(next(b"x").unwrap(), "three\r");
    handle.end_input();
    assert_eq!(input.read_whole_line(WAIT).unwrap().unwrap().as_str(), "x");
    assert!(input.read_whole_line(WAIT).unwrap().is_none());
}

#[test]
fn text_takes_the_place_of_bytes() {
    let handle = Handle::memory(b"\x02\xE4\n".to_vec());
    let mut binary = BinaryInput::new(handle);
    assert_eq!(binary.read_u8(WAIT).unwrap(), Some(2));
    let options = DecodeOptions {
        encoding: by_name("latin-1").unwrap(),
        ..DecodeOptions::default()
    };
    let mut text = TextInput::from_binary(&mut binary, options.clone()).unwrap();
    assert_eq!(text.location().byte_offset, 1);
    assert_eq!(line(&mut text).unwrap(), "ä");
    assert!(matches!(binary.read_u8(WAIT), Err(IoError::Closed(_))));
    assert!(TextInput::from_binary(&mut binary, options.clone()).is_err());
    binary.close().unwrap();
    assert!(!text.handle().unwrap().is_closed());
    let mut memory = BinaryInput::from_bytes(vec![b'a', 0xE4]);
    let mut text = TextInput::from_binary(&mut memory, options).unwrap();
    assert_eq!(text.read_to_end(WAIT).unwrap().as_str(), "aä");

    let handle = Handle::memory(Vec::new());
    let mut binary = BinaryOutput::new(Arc::clone(&handle));
    binary.write_bytes(b"12", WAIT).unwrap();
    let mut text = TextOutput::from_binary(&mut binary, EncodeOptions::default()).unwrap();
    text.write_str("ä", WAIT).unwrap();
    assert_eq!(text.byte_offset().unwrap(), 4);
    assert!(matches!(binary.write_u8(1, WAIT), Err(IoError::Closed(_))));
    text.close(WAIT).unwrap();
    assert!(handle.is_closed());
}

#[test]
fn a_served_port_asks_to_be_served() {
    use crate::error::Service;
    let handle = Handle::served_channel("served");
    let mut input = TextInput::new(Arc::clone(&handle), DecodeOptions::default());
    let unserved = |error: IoError, service| {
        assert!(error.is_retryable());
        assert!(matches!(error, IoError::Unserved(asked) if asked == service));
    };
    unserved(input.read_char(WAIT).unwrap_err(), Service::Fill);
    handle.feed_channel(b"ab").unwrap();
    handle.end_input_for_now();
    handle.feed_channel(b"c").unwrap();
    assert_eq!(input.read_to_end(WAIT).unwrap().as_str(), "ab");
    assert_eq!(input.read_char(WAIT).unwrap(), None);
    assert_eq!(input.read_char(WAIT).unwrap(), Some('c'));
    unserved(input.read_line(WAIT).unwrap_err(), Service::Fill);
    assert!(handle.wants_close());
    handle.acknowledge();
    assert!(!handle.wants_close());

    let handle = Handle::served_channel("served");
    let mut output = TextOutput::new(Arc::clone(&handle), EncodeOptions::default());
    // Each write is accepted whole or not at all.
    let piece = "x".repeat(10_000);
    let mut written = 0;
    let error = loop {
        match output.write_str(&piece, WAIT) {
            Ok(()) => written += piece.len(),
            Err(error) => break error,
        }
    };
    unserved(error, Service::Drain);
    assert_eq!(output.take_accepted().len(), written);
    output.write_str("rest", WAIT).unwrap();
    unserved(output.flush(WAIT).unwrap_err(), Service::Flush);
    assert_eq!(output.take_accepted(), b"rest");
    handle.acknowledge();
    output.flush(WAIT).unwrap();
    unserved(output.close(WAIT).unwrap_err(), Service::Flush);
    assert!(output.is_open());
    handle.acknowledge();
    output.close(WAIT).unwrap();
    assert!(!output.is_open());
}

#[test]
fn a_carriage_return_does_not_wait_for_its_linefeed() {
    let handle = Handle::channel("channel");
    let mut input = TextInput::new(Arc::clone(&handle), DecodeOptions::default());
    handle.write(b"one\r", WAIT).unwrap();
    assert_eq!(
        input
            .read_line(Wait::NonBlocking)
            .unwrap()
            .unwrap()
            .as_str(),
        "one"
    );
    assert!(!input.char_ready().unwrap());
    handle.write(b"\n", WAIT).unwrap();
    assert!(!input.char_ready().unwrap());
    handle.write(b"\ntwo", WAIT).unwrap();
    assert_eq!(
        input
            .read_line(Wait::NonBlocking)
            .unwrap()
            .unwrap()
            .as_str(),
        ""
    );
    assert!(matches!(
        input.read_line(Wait::NonBlocking),
        Err(IoError::WouldBlock)
    ));
    assert_eq!(
        input
            .read_available(Wait::NonBlocking)
            .unwrap()
            .unwrap()
            .as_str(),
        "two"
    );
    handle.end_input();
    assert!(input.read_available(WAIT).unwrap().is_none());
}

#[test]
fn separators_can_be_changed_on_the_way() {
    let mut input = text_input(b"a\nb, c, d\r\n");
    assert_eq!(line(&mut input).unwrap(), "a");
    input.set_line_separator(LineSeparator::Strings(vec![", ".into()]));
    assert_eq!(line(&mut input).unwrap(), "b");
    input.set_line_separator(LineSeparator::LineFeed);
    assert_eq!(line(&mut input).unwrap(), "c, d\r");
    assert_eq!(line(&mut input), None);
}

#[test]
fn malformed_text_names_its_source() {
    let mut input = text_input(b"ab\xFFcd");
    assert_eq!(input.read_char(WAIT).unwrap(), Some('a'));
    assert_eq!(input.read_char(WAIT).unwrap(), Some('b'));
    let error = input.read_char(WAIT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read: malformed UTF-8 at byte 2 (FF): memory"
    );
    assert_eq!(line(&mut input).unwrap(), "cd");
}

#[test]
fn text_can_be_read_from_another_place() {
    let mut input = text_input("äöü\nzweite".as_bytes());
    assert_eq!(input.read_char(WAIT).unwrap(), Some('ä'));
    input.seek(4).unwrap();
    assert_eq!(input.read_char(WAIT).unwrap(), Some('ü'));
    assert_eq!(input.location().byte_offset, 6);
    input.seek(0).unwrap();
    assert_eq!(line(&mut input).unwrap(), "äöü");
}

#[test]
fn closed_ports_say_so() {
    let mut input = text_input(b"abc");
    input.read_char(WAIT).unwrap();
    input.close().unwrap();
    input.close().unwrap();
    assert!(!input.is_open());
    for error in [
        input.read_char(WAIT).unwrap_err(),
        input.peek_char(WAIT).unwrap_err(),
        input.read_line(WAIT).unwrap_err(),
        input.char_ready().unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "cannot read: port is closed: memory");
    }
    assert_eq!(input.location().column, 2);
    let mut input = BinaryInput::from_bytes(vec![1, 2]);
    input.close().unwrap();
    assert!(matches!(input.read_u8(WAIT), Err(IoError::Closed(_))));
    assert!(matches!(
        input.read_into(&mut [0], WAIT),
        Err(IoError::Closed(_))
    ));
    for mut output in [
        TextOutput::memory(),
        TextOutput::new(Handle::channel("c"), EncodeOptions::default()),
    ] {
        output.write_char('a', WAIT).unwrap();
        output.close(WAIT).unwrap();
        output.close(WAIT).unwrap();
        assert!(matches!(
            output.write_char('b', WAIT),
            Err(IoError::Closed(_))
        ));
        assert!(matches!(
            output.write_char('\n', WAIT),
            Err(IoError::Closed(_))
        ));
        assert!(matches!(
            output.write_latin1(b"b", WAIT),
            Err(IoError::Closed(_))
        ));
        assert!(matches!(output.flush(WAIT), Err(IoError::Closed(_))));
        assert_eq!(
            output.text().as_str(),
            if output.handle().is_none() { "a" } else { "" }
        );
    }
    let mut output = BinaryOutput::memory();
    output.write_u8(1, WAIT).unwrap();
    output.close(WAIT).unwrap();
    assert!(matches!(output.write_u8(2, WAIT), Err(IoError::Closed(_))));
    assert_eq!(output.bytes(), [1]);
}

#[test]
fn text_in_memory_knows_its_width() {
    let mut output = TextOutput::memory();
    output.write_str("abc", WAIT).unwrap();
    assert_eq!(output.text().width(), Width::Ascii);
    output.write_char('é', WAIT).unwrap();
    assert_eq!(
        (output.text().width(), output.text().length()),
        (Width::Latin1, 4)
    );
    output.write_utf32(&[0x20AC, 0xD800], WAIT).unwrap();
    assert_eq!(output.text().as_str(), "abcé€\u{FFFD}");
    output.clear_text();
    assert!(output.text().is_empty());
}

#[test]
fn fresh_line_ends_only_lines_with_something() {
    let mut output = TextOutput::memory();
    assert!(!output.fresh_line(WAIT).unwrap());
    output.write_char('x', WAIT).unwrap();
    assert!(output.fresh_line(WAIT).unwrap());
    output.write_latin1(b"ab\ncd", WAIT).unwrap();
    assert_eq!(output.column(), 2);
    assert!(output.fresh_line(WAIT).unwrap());
    assert!(!output.fresh_line(WAIT).unwrap());
    output.write_utf32(&[97, 10, 98, 99], WAIT).unwrap();
    assert_eq!(output.column(), 2);
    assert_eq!(output.text().as_str(), "x\nab\ncd\na\nbc");
}

#[test]
fn unencodable_characters() {
    let output = |unencodable| {
        let options = EncodeOptions {
            encoding: Arc::new(Latin1),
            unencodable,
            ..EncodeOptions::default()
        };
        let handle = Handle::channel("channel");
        (TextOutput::new(Arc::clone(&handle), options), handle)
    };
    let contents = |mut output: TextOutput, handle: Arc<Handle>| {
        output.flush(WAIT).unwrap();
        let mut buffer = [0; 64];
        let count = handle.read(&mut buffer, WAIT).unwrap();
        buffer[..count].to_vec()
    };
    let (mut raising, handle) = output(CodingPolicy::Raise);
    raising.write_str("é", WAIT).unwrap();
    let error = raising.write_str("a€b", WAIT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write: ISO-8859-1 has no character U+20AC: channel"
    );
    assert_eq!(raising.column(), 1);
    assert_eq!(contents(raising, handle), b"\xE9");
    for (policy, expected) in [
        (CodingPolicy::Replace, b"a?b".as_slice()),
        (CodingPolicy::Ignore, b"ab"),
    ] {
        let (mut lenient, handle) = output(policy);
        lenient.write_str("a€b", WAIT).unwrap();
        assert_eq!(contents(lenient, handle), expected);
    }
    let options = EncodeOptions {
        encoding: Arc::new(Ascii),
        unencodable: CodingPolicy::Replace,
        ..EncodeOptions::default()
    };
    let handle = Handle::channel("channel");
    let mut output = TextOutput::new(Arc::clone(&handle), options);
    output.write_latin1(b"a\xE9\xE8b\xFF", WAIT).unwrap();
    assert_eq!(contents(output, handle), b"a??b?");
}

#[test]
fn byte_order_marks_are_written_when_asked_for() {
    let handle = Handle::channel("channel");
    let options = EncodeOptions {
        byte_order_mark: ByteOrderMark::Keep,
        ..EncodeOptions::default()
    };
    TextOutput::new(Arc::clone(&handle), options)
        .write_str("a", WAIT)
        .unwrap();
    let mut buffer = [0; 64];
    assert_eq!(handle.read(&mut buffer, WAIT).unwrap(), 4);
    assert_eq!(&buffer[..4], b"\xEF\xBB\xBFa");
}

#[test]
fn encodings_have_names() {
    for (name, expected) in [
        ("UTF-8", "UTF-8"),
        ("utf8", "UTF-8"),
        ("Latin-1", "ISO-8859-1"),
        ("ascii", "US-ASCII"),
    ] {
        assert_eq!(by_name(name).unwrap().name(), expected);
    }
    assert!(by_name("EBCDIC").is_none());
}

#[test]
fn buffering_decides_when_text_is_handed_on() {
    let (handle, written) = piecemeal(Vec::new());
    let mut output = TextOutput::new(handle, EncodeOptions::default());
    let seen = || String::from_utf8(written.lock().unwrap().clone()).unwrap();
    assert_eq!(output.buffering(), Buffering::Block);
    output.write_str("a\n", WAIT).unwrap();
    assert_eq!(seen(), "");
    output.set_buffering(Buffering::Line);
    output.write_char('b', WAIT).unwrap();
    assert_eq!(seen(), "");
    output.write_char('\n', WAIT).unwrap();
    assert_eq!(seen(), "a\nb\n");
    output.set_buffering(Buffering::None);
    output.write_char('c', WAIT).unwrap();
    assert_eq!(seen(), "a\nb\nc");
    output.set_buffering(Buffering::Block);
    output.write_str("d", WAIT).unwrap();
    assert_eq!(output.pending(), 1);
    drop(output);
    assert_eq!(seen(), "a\nb\ncd");
}

#[test]
fn an_interrupted_write_keeps_what_it_accepted() {
    let (handle, written) = piecemeal(vec![None, None]);
    let mut output = TextOutput::new(handle, EncodeOptions::default());
    output.set_buffering(Buffering::None);
    // Accepted, since repeating it would write it twice.
    output.write_str("once", Wait::NonBlocking).unwrap();
    assert_eq!(output.pending(), 4);
    let flag = AtomicBool::new(true);
    assert!(matches!(
        output.close(Wait::Interruptible(&flag)),
        Err(IoError::Interrupted)
    ));
    assert!(output.is_open());
    output.close(WAIT).unwrap();
    assert_eq!(*written.lock().unwrap(), b"once");
}

#[test]
fn a_broken_pipe_is_reported_to_the_writer_and_then_dropped() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut output = TextOutput::new(
        Handle::from_descriptor(writer, "pipe"),
        EncodeOptions::default(),
    );
    output.write_str("lost", WAIT).unwrap();
    assert!(matches!(output.flush(WAIT), Err(IoError::BrokenPipe(_))));
    assert_eq!(output.pending(), 0);
    let big = "x".repeat(100_000);
    assert!(matches!(
        output.write_str(&big, WAIT),
        Err(IoError::BrokenPipe(_))
    ));
    output.close(WAIT).unwrap();
}

#[test]
fn a_full_device_is_an_error_that_keeps_the_buffer() {
    let Ok(full) = open_output("/dev/full".as_ref(), OutputMode::Overwrite, WAIT) else {
        return; // Not every system has this device.
    };
    let mut output = BinaryOutput::new(full);
    output.write_bytes(b"abc", WAIT).unwrap();
    let error = output.flush(WAIT).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write: No space left on device: /dev/full"
    );
    assert_eq!(output.pending(), 3);
    assert!(output.close(WAIT).is_err());
    assert!(!output.is_open());
}

#[test]
fn shared_outputs_are_flushed_at_exit_and_when_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let open =
        |name: &str| open_output(&directory.path().join(name), OutputMode::Truncate, WAIT).unwrap();
    let contents = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    let text = TextOutput::new(open("text"), EncodeOptions::default()).share();
    let binary = BinaryOutput::new(open("binary")).share();
    text.lock().write_str("text", WAIT).unwrap();
    binary.lock().write_bytes(b"binary", WAIT).unwrap();
    assert_eq!(contents("text"), "");
    flush_all(WAIT);
    assert_eq!(contents("text"), "text");
    assert_eq!(contents("binary"), "binary");
    text.lock().write_str("!", WAIT).unwrap();
    drop(text);
    assert_eq!(contents("text"), "text!");
    for number in 0..500 {
        TextOutput::new(open("text"), EncodeOptions::default()).share();
        assert!(number == 0 || binary.lock().is_open());
    }
    flush_all(WAIT);
}

#[test]
fn files_round_trip() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let mut output = TextOutput::new(
        open_output(&path, OutputMode::Truncate, WAIT).unwrap(),
        EncodeOptions::default(),
    );
    let lines: Vec<String> = (0..20_000)
        .map(|number| format!("line {number} é € {}", "-".repeat(number % 90)))
        .collect();
    for line in &lines {
        output.write_str(line, WAIT).unwrap();
        output.write_char('\n', WAIT).unwrap();
    }
    output.close(WAIT).unwrap();
    let mut input = TextInput::new(open_input(&path, WAIT).unwrap(), DecodeOptions::default());
    for expected in &lines {
        assert_eq!(line(&mut input).as_ref(), Some(expected));
    }
    assert_eq!(line(&mut input), None);
    assert_eq!(input.location().line, 20_001);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(input.location().byte_offset, bytes.len() as u64);
    let mut input = BinaryInput::new(open_input(&path, WAIT).unwrap());
    assert!(input.read_bytes(usize::MAX, WAIT).unwrap() == Some(bytes.as_slice()));
    assert_eq!(input.read_available(WAIT).unwrap(), None);
    input.seek(5).unwrap();
    assert_eq!(input.read_u8(WAIT).unwrap(), Some(b'0'));
    assert_eq!(input.byte_offset(), 6);
}

#[test]
fn handles_and_ports_can_move_between_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Handle>();
    is_sync::<Handle>();
    is_send::<TextInput>();
    is_send::<TextOutput>();
    is_send::<BinaryInput>();
    is_send::<BinaryOutput>();
    is_send::<IoError>();
    assert!(size_of::<IoError>() <= 16);
    // Borrowed text must not be tied to the port longer than it is used.
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut input = TextInput::from_text("a\nb".to_owned());
    while let Some(text) = input.read_line(WAIT).unwrap() {
        seen.borrow_mut().push(text.length());
    }
    assert_eq!(*seen.borrow(), [1, 1]);
}

#[test]
fn a_file_is_read_into_a_vector_of_its_own() {
    let path = std::env::temp_dir().join(format!("canny-vector-{}", std::process::id()));
    let content: Vec<u8> = (0..200_000u32).map(|index| (index % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    let open = || BinaryInput::new(crate::file::open_input(&path, WAIT).unwrap());
    for before in [0, 1, 40_000] {
        for count in [10, 100_000, 199_999, 200_000, 1 << 40] {
            let mut input = open();
            let first = input.read_vector(before, WAIT).unwrap();
            assert_eq!(first.unwrap_or_default(), content[..before]);
            let end = content.len().min(before + count);
            let found = input.read_vector(count, WAIT).unwrap().unwrap();
            assert_eq!(found, content[before..end]);
            assert_eq!(input.byte_offset(), end as u64);
            let rest = input.read_vector(1 << 20, WAIT).unwrap();
            assert_eq!(rest.unwrap_or_default(), content[end..]);
        }
    }
    std::fs::remove_file(&path).unwrap();
}
