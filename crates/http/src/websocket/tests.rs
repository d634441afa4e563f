use canny_formats::compression::{MessageDeflater, MessageWindow};

use super::*;

/// The events of some bytes for a server, given in parts of a size, and how they end.
fn read(bytes: &[u8], part: usize, bytes_max: usize) -> (Vec<Event>, Option<Fault>, Receiver) {
    let mut receiver = Receiver::new(false, bytes_max, None);
    let mut events = Vec::new();
    for mut part in bytes.chunks(part) {
        while !part.is_empty() {
            let mut used = 0;
            let outcome = receiver.take(part, &mut used);
            assert!(used <= part.len());
            part = &part[used..];
            match outcome {
                Ok(Some(event)) => events.push(event),
                Ok(None) => assert!(part.is_empty()),
                Err(fault) => return (events, Some(fault), receiver),
            }
        }
    }
    (events, None, receiver)
}

const KEY: Option<[u8; 4]> = Some([0xA5, 0, 0x17, 0xFF]);

/// A frame of a client with another first byte.
fn part(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(Opcode::Binary, false, payload, KEY);
    bytes[0] = first;
    bytes
}

#[test]
fn what_is_framed_is_read_however_it_is_cut() {
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for length in [0, 1, 7, 8, 125, 126, 127, 65_535, 65_536, 70_001] {
        let payload: Vec<u8> = (0..length).map(|index| index as u8).collect();
        bytes.extend(frame(Opcode::Binary, false, &payload, KEY));
        expected.push(Event::Binary(payload));
        bytes.extend(frame(
            Opcode::Text,
            false,
            "λ".repeat(length).as_bytes(),
            KEY,
        ));
        expected.push(Event::Text("λ".repeat(length)));
    }
    bytes.extend(part(0x01, &[0xCE]));
    bytes.extend(part(0x89, b"?"));
    bytes.extend(part(0x00, b""));
    bytes.extend(part(0x80, &[0xBB]));
    expected.extend([Event::Ping(b"?".into()), Event::Text("λ".into())]);
    for part in [1, 3, 8, 4096, bytes.len()] {
        let (events, fault, _) = read(&bytes, part, 200_000);
        assert_eq!(fault, None);
        assert!(events == expected, "in parts of {part} bytes");
    }
}

#[test]
fn fragments_take_no_more_memory_than_what_is_in_them() {
    let mut bytes = part(0x02, b"");
    bytes.extend(part(0x00, b"").repeat(100_000));
    bytes.extend(part(0x00, b"a").repeat(1000));
    let (events, fault, receiver) = read(&bytes, 1 << 16, 1000);
    assert_eq!((events.len(), fault), (0, None));
    assert_eq!(receiver.message.len(), 1000);
    assert!(receiver.message.capacity() <= 2000);
    bytes.extend(part(0x00, b"a"));
    assert_eq!(read(&bytes, 1 << 16, 1000).1, Some(TOO_LONG));
}

#[test]
fn an_announced_length_allocates_nothing() {
    let head = &frame(Opcode::Binary, false, &vec![0; 1 << 20], KEY)[..14];
    let (_, fault, receiver) = read(head, 14, 1 << 20);
    assert_eq!((fault, receiver.message.capacity()), (None, 0));
}

#[test]
fn faults_are_found_at_the_first_byte_that_tells_them() {
    for (bytes, code) in [
        (&b"\x81\x05"[..], 1002),
        (b"\xC1\x85", 1002),
        (b"\x83\x80", 1002),
        (b"\x09\x80", 1002),
        (b"\x89\xFE", 1002),
        (b"\x80\x80", 1002),
        (b"\x81\xFE\x00\x7D", 1002),
        (b"\x82\xFF\x00\x00\x00\x00\x00\x00\xFF\xFF", 1002),
        (b"\x82\xFF\x80\x00\x00\x00\x00\x00\x00\x00", 1002),
        (b"\x82\xFE\x03\xE9", 1009),
        (b"\x01\x81\0\0\0\0\xFF", 1007),
        (b"\x01\x82\0\0\0\0a\xC0", 1007),
        (b"\x81\x81\0\0\0\0\xC3", 1007),
        (b"\x88\x81\0\0\0\0\x03", 1002),
        (b"\x88\x82\0\0\0\0\x03\xED", 1002),
        (b"\x88\x83\0\0\0\0\x03\xE8\xFF", 1007),
    ] {
        let (events, fault, _) = read(bytes, 1, 1000);
        assert_eq!(fault.map(|fault| fault.code), Some(code), "{bytes:x?}");
        let before = &bytes[..bytes.len() - 1];
        assert_eq!(read(before, 1, 1000).1, None, "{bytes:x?}");
        assert!(events.is_empty());
    }
}

fn accepted(offers: &str) -> Option<String> {
    accept(offers, true).map(|(answer, _)| answer)
}

#[test]
fn offers_are_accepted_or_passed_over() {
    for (offers, answer) in [
        ("permessage-deflate", Some("permessage-deflate")),
        (
            "permessage-deflate; client_max_window_bits",
            Some("permessage-deflate"),
        ),
        (
            "x, PerMessage-Deflate ;server_no_context_takeover",
            Some("permessage-deflate; server_no_context_takeover"),
        ),
        (
            "permessage-deflate; client_no_context_takeover; client_max_window_bits=8",
            Some("permessage-deflate; client_no_context_takeover"),
        ),
        (
            "permessage-deflate; server_max_window_bits=\"10\"",
            Some("permessage-deflate; server_max_window_bits=10"),
        ),
        (
            "permessage-deflate; server_max_window_bits=8, permessage-deflate",
            Some("permessage-deflate"),
        ),
        (
            "permessage-deflate; x=\"a, permessage-deflate; b\\\", permessage-deflate\"",
            None,
        ),
        ("permessage-deflate; server_max_window_bits", None),
        ("permessage-deflate; server_max_window_bits=16", None),
        ("permessage-deflate; server_max_window_bits=09", None),
        ("permessage-deflate; client_max_window_bits=7", None),
        ("permessage-deflate; client_max_window_bits=", None),
        ("permessage-deflate; server_no_context_takeover=1", None),
        (
            "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
            None,
        ),
        (
            "permessage-deflate; client_max_window_bits; client_max_window_bits=9",
            None,
        ),
        ("permessage-deflate;", None),
        ("x-webkit-deflate-frame", None),
        ("", None),
    ] {
        assert_eq!(accepted(offers).as_deref(), answer, "{offers}");
    }
    let (answer, agreement) = accept("permessage-deflate", false).expect("accepted");
    assert_eq!(
        answer,
        "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
    );
    assert!(!agreement.server.keeps_context && !agreement.client.keeps_context);
    // An accepted offer gives an answer to that offer.
    for keeps_context in [true, false] {
        let offered = offer(keeps_context);
        let (answer, agreement) = accept(&offered, keeps_context).expect("accepted");
        assert_eq!(agreed(&answer, keeps_context), Some(agreement));
    }
    for answer in [
        "x",
        "permessage-deflate, permessage-deflate",
        "permessage-deflate; client_max_window_bits",
        "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; y",
    ] {
        assert_eq!(agreed(answer, true), None, "{answer}");
    }
    assert_eq!(agreed("permessage-deflate", false), None);
}

const FULL: MessageWindow = MessageWindow {
    bits: 15,
    keeps_context: true,
};

fn inflating(bytes_max: usize, window: MessageWindow) -> Receiver {
    Receiver::new(false, bytes_max, Some(MessageInflater::new(window)))
}

fn event(receiver: &mut Receiver, bytes: &[u8]) -> Result<Option<Event>, Fault> {
    let mut used = 0;
    let event = receiver.take(bytes, &mut used);
    assert!(event.is_err() || used == bytes.len());
    event
}

#[test]
fn compressed_messages_are_decompressed() {
    // The examples of RFC 7692, 7.2.3.
    let mut receiver = inflating(100, FULL);
    let hello = Ok(Some(Event::Text("Hello".into())));
    for payload in [
        &b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
        b"\xf2\x00\x11\x00\x00",
        b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
        b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
        b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
    ] {
        assert_eq!(
            event(&mut receiver, &part(0xC1, payload)),
            hello,
            "{payload:x?}"
        );
    }
    // In fragments, of which only the first one says so.
    let whole = b"\xf2\x48\xcd\xc9\xc9\x07\x00";
    assert_eq!(event(&mut receiver, &part(0x41, &whole[..3])), Ok(None));
    assert_eq!(event(&mut receiver, &part(0x80, &whole[3..])), hello);
    assert_eq!(event(&mut receiver, &part(0x81, b"Hello")), hello);
    for wrong in [
        &[part(0x41, &whole[..3]), part(0xC0, &whole[3..])].concat(),
        &part(0xC9, b""),
        &part(0xE1, whole),
        &part(0xA1, b"Hello"),
    ] {
        let fault = event(&mut inflating(100, FULL), wrong).expect_err("a reserved bit");
        assert_eq!(fault.code, 1002);
    }
    let corrupt = part(0xC1, b"\xff\xff\xff");
    assert_eq!(event(&mut inflating(100, FULL), &corrupt), Err(CORRUPT));
}

#[test]
fn messages_come_back_with_contexts_and_without() {
    let text: String = (0..3000).map(|number| format!("{number} λ ")).collect();
    for keeps_context in [false, true] {
        for bits in 9..=15 {
            let window = MessageWindow {
                bits,
                keeps_context,
            };
            let mut deflater = MessageDeflater::new(window).expect("a window");
            let mut receiver = inflating(100_000, window);
            let mut lengths = Vec::new();
            for text in [&text[..], &text[..40_000 / 9], "", &text[..40_000 / 9]] {
                let payload = deflater.deflate(text.as_bytes()).expect("compressed");
                lengths.push(payload.len());
                let bytes = frame(Opcode::Text, true, &payload, KEY);
                assert_eq!(
                    event(&mut receiver, &bytes),
                    Ok(Some(Event::Text(text.into())))
                );
            }
            assert_eq!(lengths[3] < 100, keeps_context && bits > 12, "{lengths:?}");
        }
    }
}

#[test]
fn bombs_end_at_the_limit() {
    let mut deflater = MessageDeflater::new(FULL).expect("a window");
    let payload = deflater.deflate(&vec![0; 50_000_000]).expect("compressed");
    assert!(payload.len() < 60_000);
    let mut receiver = inflating(1_000_000, FULL);
    let bytes = part(0xC2, &payload);
    let mut used = 0;
    assert_eq!(receiver.take(&bytes, &mut used), Err(TOO_LONG));
    assert!(receiver.message.capacity() < 3_000_000);
    // Text is refused before it is whole.
    let payload = deflater.deflate(&[0xFF; 100]).expect("compressed");
    let fault = event(&mut inflating(100, FULL), &part(0x41, &payload));
    assert_eq!(fault, Err(NOT_UTF8));
}
