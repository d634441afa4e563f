//! Frames and requests; `crates/cli/tests/attach.rs` asks real processes.

use super::frames::{Kind, Next, Reader, Request, write};

#[test]
fn frames_arrive_in_pieces() {
    let mut bytes = Vec::new();
    write(&mut bytes, Kind::Data, b"one").unwrap();
    write(&mut bytes, Kind::End, b"").unwrap();
    let mut reader = Reader::default();
    let mut frames = Vec::new();
    for piece in bytes.chunks(2) {
        let mut input = piece;
        while let Next::Frame(kind, content) = reader.next(&mut input).unwrap() {
            frames.push((kind, content));
        }
    }
    let expected = [(Kind::Data, b"one".to_vec()), (Kind::End, Vec::new())];
    assert_eq!(frames, expected);
}

#[test]
fn long_content_becomes_several_frames() {
    let content = vec![7; (1 << 20) + 5];
    let mut bytes = Vec::new();
    write(&mut bytes, Kind::Data, &content).unwrap();
    let mut input = &bytes[..];
    let mut reader = Reader::default();
    let mut all = Vec::new();
    let mut count = 0;
    while let Next::Frame(Kind::Data, part) = reader.next(&mut input).unwrap() {
        all.extend(part);
        count += 1;
    }
    assert_eq!((all, count), (content, 2));
}

#[test]
fn a_wrong_head_is_an_error() {
    for bytes in [b"x\0\0\0\0", b"d\xff\xff\xff\xff"] {
        assert!(Reader::default().next(&mut &bytes[..]).is_err());
    }
}

#[test]
fn requests_are_read_as_written() {
    let request = Request::new("profile").with("seconds", 2.5).with("x", "");
    assert_eq!(Request::of_bytes(&request.to_bytes()), Some(request));
    for wrong in [&b""[..], b"profile", b"profile\0name\0", b"\xff\0"] {
        assert_eq!(Request::of_bytes(wrong), None, "{wrong:?}");
    }
}
