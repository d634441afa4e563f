use proptest::prelude::*;

use super::*;

/// Reads a body that comes in pieces of these sizes; the body, and what is left.
fn read(bytes: &[u8], step: usize, room: usize) -> Result<(Vec<u8>, Vec<u8>), Malformed> {
    let mut reader = ChunkReader::default();
    let (mut body, mut pending, mut given) = (Vec::new(), Vec::new(), 0);
    loop {
        match reader.next(&pending, room, &HeadLimits::default())? {
            Piece::More if given == bytes.len() => panic!("the body has no end: {bytes:?}"),
            Piece::More => {
                let end = (given + step).min(bytes.len());
                pending.extend_from_slice(&bytes[given..end]);
                given = end;
            }
            Piece::Skip(count) => drop(pending.drain(..count)),
            Piece::Data(count) => body.extend(pending.drain(..count)),
            Piece::End(count) => {
                pending.drain(..count);
                pending.extend_from_slice(&bytes[given..]);
                return Ok((body, pending));
            }
        }
    }
}

#[test]
fn chunks_with_extensions_and_trailers() {
    let bytes =
        b"5\r\nhello\r\n00001;a=b;c=\"d\"\r\n \r\nA \r\n0123456789\r\n0\r\nX: y\r\n\r\nnext";
    let wrong = read(bytes, 1, 100);
    assert!(wrong.is_ok(), "{wrong:?}");
    for step in 1..20 {
        for room in [1, 3, 100] {
            let (body, rest) = read(bytes, step, room).unwrap();
            assert_eq!(body, b"hello 0123456789", "{step}");
            assert_eq!(rest, b"next");
        }
    }
}

#[test]
fn malformed_chunks_are_refused() {
    for text in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1\n",
        "1\r\r\n",
        "5\r\nhello6\r\n",
        "5\r\nhello\n",
        "1000000000000000\r\n",
        "1 x\r\n",
        "1;\0\r\n",
        "0\r\nbad trailer\r\n\r\n",
        "0\r\n a: b\r\n\r\n",
    ] {
        for step in [1, 100] {
            assert!(read(text.as_bytes(), step, 100).is_err(), "{text:?}");
        }
    }
    let long = format!("1;{}", "a".repeat(LINE_BYTES_MAX));
    assert!(read(long.as_bytes(), 64, 100).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
        step in 1..200usize,
        room in 1..400usize,
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            push_chunk(&mut bytes, chunk);
        }
        bytes.extend_from_slice(LAST_CHUNK);
        bytes.extend_from_slice(b"rest");
        let (body, rest) = read(&bytes, step, room).unwrap();
        prop_assert_eq!(body, chunks.concat());
        prop_assert_eq!(rest, b"rest");
    }

    #[test]
    fn any_bytes_end_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut reader = ChunkReader::default();
        let mut rest = &bytes[..];
        while let Ok(piece) = reader.next(rest, 10, &HeadLimits::default()) {
            match piece {
                Piece::Skip(count) | Piece::Data(count) if count > 0 => rest = &rest[count..],
                _ => break,
            }
        }
    }
}
