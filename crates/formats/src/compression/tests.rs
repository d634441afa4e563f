use canny_io::Handle;
use proptest::prelude::*;

use super::*;

const FORMATS: [Format; 4] = [
    Format::Gzip,
    Format::Zlib,
    Format::Deflate,
    Format::Zstandard,
];

fn sample(length: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index * index / 7 % 251) as u8 ^ (index / 1000) as u8)
        .collect()
}

fn reader(compressed: Vec<u8>, format: Format) -> BinaryInput {
    let device = DecompressingDevice::new(BinaryInput::from_bytes(compressed), format);
    let access = canny_io::Access::Read;
    BinaryInput::new(Handle::from_device(Box::new(device), "test", access))
}

fn read_all(input: &mut BinaryInput) -> Result<Vec<u8>, IoError> {
    let mut all = Vec::new();
    while let Some(bytes) = input.read_available(Wait::Blocking)? {
        all.extend_from_slice(bytes);
    }
    Ok(all)
}

#[test]
fn bytes_come_back() {
    for format in FORMATS {
        for length in [0, 1, 1000, 300_000, 2_500_000] {
            let bytes = sample(length);
            let compressed = compress(&bytes, format, None).expect("compressed");
            assert_eq!(
                decompress(&compressed, format, usize::MAX).as_ref(),
                Ok(&bytes),
                "{format:?}"
            );
            let read = read_all(&mut reader(compressed, format)).expect("valid data");
            assert!(read == bytes, "{format:?} of {length} bytes through a port");
        }
    }
}

#[test]
fn written_through_a_port() {
    for format in FORMATS {
        let target = BinaryOutput::memory().share();
        let device = CompressingDevice::new(Arc::clone(&target), format, None, false);
        let access = canny_io::Access::Write;
        let handle = Handle::from_device(Box::new(device), "test", access);
        let mut output = BinaryOutput::new(handle);
        let bytes = sample(700_000);
        let (first, second) = bytes.split_at(123_456);
        output.write_bytes(first, Wait::Blocking).expect("written");
        output.flush(Wait::Blocking).expect("flushed");
        // Flushed data can be read already.
        let so_far = target.lock().bytes().to_vec();
        let mut input = reader(so_far, format);
        let mut start = vec![0; first.len()];
        assert_eq!(
            input.read_into(&mut start, Wait::Blocking).ok(),
            Some(first.len()),
            "{format:?}"
        );
        assert!(start == first);
        output.write_bytes(second, Wait::Blocking).expect("written");
        output.close(Wait::Blocking).expect("closed");
        let compressed = target.lock().bytes().to_vec();
        assert!(
            decompress(&compressed, format, usize::MAX).expect("valid") == bytes,
            "{format:?}"
        );
        assert!(target.lock().is_open());
    }
}

#[test]
fn what_is_not_closed_is_completed() {
    for format in [Format::Gzip, Format::Zstandard] {
        let target = BinaryOutput::memory().share();
        let open = || {
            let device = CompressingDevice::new(Arc::clone(&target), format, None, false);
            let handle =
                Handle::from_device(Box::new(device), "compressed", canny_io::Access::Write);
            let mut output = BinaryOutput::new(handle);
            output
                .write_bytes(b"text ", Wait::Blocking)
                .expect("written");
            output
        };
        drop(open());
        let output = open().share();
        let errors = canny_io::finish_all(Wait::Blocking);
        assert!(errors.is_empty() && !output.lock().is_open());
        let compressed = target.lock().bytes().to_vec();
        assert_eq!(
            decompress(&compressed, format, 100).as_deref(),
            Ok(&b"text text "[..])
        );
    }
}

#[test]
fn members_and_frames_follow_one_another() {
    for format in [Format::Gzip, Format::Zstandard] {
        let mut both = compress(b"one ", format, None).expect("compressed");
        both.extend(compress(b"two", format, None).expect("compressed"));
        assert_eq!(
            decompress(&both, format, 100).as_deref(),
            Ok(&b"one two"[..])
        );
        assert_eq!(
            read_all(&mut reader(both, format)).ok().as_deref(),
            Some(&b"one two"[..])
        );
    }
    let mut padded = compress(b"x", Format::Gzip, None).expect("compressed");
    padded.extend([0; 20]);
    assert_eq!(
        decompress(&padded, Format::Gzip, 100).as_deref(),
        Ok(&b"x"[..])
    );
    let mut skipped = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    skipped.extend(compress(b"x", Format::Zstandard, None).expect("compressed"));
    assert_eq!(
        decompress(&skipped, Format::Zstandard, 100).as_deref(),
        Ok(&b"x"[..])
    );
}

#[test]
fn truncated_and_corrupt_data_are_refused_with_a_place() {
    for format in FORMATS {
        let compressed = compress(&sample(200_000), format, None).expect("compressed");
        for length in [0, 1, 5, compressed.len() / 2, compressed.len() - 1] {
            let error =
                decompress(&compressed[..length], format, usize::MAX).expect_err("truncated");
            assert!(error.contains("at byte"), "{format:?}: {error}");
            let error = read_all(&mut reader(compressed[..length].to_vec(), format));
            let message = error.expect_err("truncated").to_string();
            assert!(message.contains("at byte"), "{format:?}: {message}");
        }
        if format != Format::Deflate {
            let error =
                decompress(b"this is no compressed data", format, 100).expect_err("no data");
            assert!(error.contains("corrupt"), "{format:?}: {error}");
            let mut trailing = compressed.clone();
            trailing[compressed.len() / 2] ^= 0x55;
            assert!(
                decompress(&trailing, format, usize::MAX).is_err(),
                "{format:?}"
            );
        }
    }
    for format in [Format::Gzip, Format::Zstandard] {
        let mut trailing = compress(b"x", format, None).expect("compressed");
        trailing.extend(b"junk");
        assert!(decompress(&trailing, format, 100).is_err(), "{format:?}");
    }
}

#[test]
fn bombs_are_bounded() {
    for format in FORMATS {
        let bomb = compress(&vec![0; 50_000_000], format, None).expect("compressed");
        assert!(bomb.len() < 100_000, "{format:?}: {}", bomb.len());
        assert!(decompress(&bomb, format, 1_000_000).is_err());
        let mut input = reader(bomb, format);
        let mut some = vec![0; 1000];
        assert_eq!(input.read_into(&mut some, Wait::Blocking).ok(), Some(1000));
    }
    // A window that nobody should have to make room for.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0, 0];
    let error = decompress(&window, Format::Zstandard, 100).expect_err("a large window");
    assert!(error.contains("window"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn anything_is_decompressed_or_refused(
        mut bytes in any::<Vec<u8>>(), flips in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4),
        from_valid in any::<bool>(), index in 0usize..4,
    ) {
        let format = FORMATS[index];
        if from_valid {
            bytes.extend_from_within(..);
            bytes = compress(&bytes, format, None).expect("compressed");
            for (place, value) in flips {
                let place = place % bytes.len();
                bytes[place] ^= value;
            }
        }
        let whole = decompress(&bytes, format, 1 << 20);
        let read = read_all(&mut reader(bytes, format));
        if let (Ok(whole), Ok(read)) = (&whole, &read) {
            prop_assert_eq!(whole, read);
        }
        prop_assert_eq!(whole.is_ok(), read.is_ok());
    }
}
