use super::*;

/// The events of some bytes for a server, given in parts of a size, and how they end.
fn read(bytes: &[u8], part: usize, bytes_max: usize) -> (Vec<Event>, Option<Fault>, Receiver) {
    let mut receiver = Receiver::new(false, bytes_max);
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
    let mut bytes = frame(Opcode::Binary, payload, KEY);
    bytes[0] = first;
    bytes
}

#[test]
fn what_is_framed_is_read_however_it_is_cut() {
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for length in [0, 1, 7, 8, 125, 126, 127, 65_535, 65_536, 70_001] {
        let payload: Vec<u8> = (0..length).map(|index| index as u8).collect();
        bytes.extend(frame(Opcode::Binary, &payload, KEY));
        expected.push(Event::Binary(payload));
        bytes.extend(frame(Opcode::Text, "λ".repeat(length).as_bytes(), KEY));
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
    let head = &frame(Opcode::Binary, &vec![0; 1 << 20], KEY)[..14];
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
