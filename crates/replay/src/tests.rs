//! Recordings and their answers. The mode belongs to the process, so that one test does all of it.

use std::io;

use super::answer::{Answer, Reading};
use super::*;
use std::os::unix::fs::PermissionsExt;

fn kept<T: Answer + PartialEq + std::fmt::Debug>(value: T) {
    let mut bytes = Vec::new();
    value.write(&mut bytes);
    assert_eq!(T::read(&mut Reading::new(&bytes)), Some(value));
    for end in 0..bytes.len() {
        // A cut answer is no answer, or another one, but never a panic.
        let _ = T::read(&mut Reading::new(&bytes[..end]));
    }
}

#[test]
fn answers_come_back_as_they_were() {
    for number in [0, 1, 127, 128, 16_384, u64::MAX] {
        kept(number);
        kept(number as i64);
        kept(-(number as i64 >> 1));
    }
    kept("λ".to_owned());
    kept(vec![Some(1.5), None, Some(-0.0)]);
    kept((true, 7u8, -7i32, "x".to_owned()));
    kept(Duration::new(3, 999_999_999));
    kept(Result::<u64, rustix::io::Errno>::Err(
        rustix::io::Errno::AGAIN,
    ));
}

#[test]
fn errors_keep_their_numbers_and_kinds() {
    for error in [
        io::Error::from_raw_os_error(2),
        io::ErrorKind::WouldBlock.into(),
        io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"),
    ] {
        let mut bytes = Vec::new();
        error.write(&mut bytes);
        let read = io::Error::read(&mut Reading::new(&bytes)).unwrap();
        assert_eq!(read.kind(), error.kind());
        assert_eq!(read.raw_os_error(), error.raw_os_error());
        assert_eq!(read.to_string(), error.to_string());
    }
}

/// A program of this test: what it asks, as a text.
fn program() -> String {
    let mut buffer = [0; 8];
    let read = ask_for_bytes(Kind::Read, &mut buffer, |buffer| {
        buffer[..3].copy_from_slice(b"abc");
        Ok::<usize, io::Error>(3)
    });
    let number: u64 = ask(Kind::Random, || 4);
    let first = now();
    let refused = ask(Kind::File, || {
        Err::<(), _>(io::Error::from_raw_os_error(13))
    });
    let nested: u64 = ask(Kind::Process, || ask(Kind::Random, || 5u64) + 1);
    let written = ask_to_write(Kind::Write, b"xyz", |bytes| {
        Ok::<usize, io::Error>(bytes.len())
    });
    let opened = ask_for_descriptor(Kind::Open, || {
        Ok::<_, io::Error>(io::pipe().map(|(reader, _)| reader)?.into())
    });
    let beside: u64 = aside(|| ask(Kind::Random, || 9));
    let source = source(Path::new("a.scm"), || Ok(b"(display 1)".to_vec()));
    assert!(now() >= first);
    format!(
        "{:?} {:?} {number} {:?} {nested} {written:?} {} {beside} {:?}",
        read.unwrap(),
        &buffer[..3],
        refused.unwrap_err().raw_os_error(),
        opened.is_ok(),
        source.unwrap(),
    )
}

#[test]
fn a_program_gets_the_same_answers_again() {
    let directory = std::env::temp_dir().join(format!("canny-replay-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("a.recording");
    let beginning = Beginning {
        build: "1".to_owned(),
        program: "a.scm".to_owned(),
        command_line: vec!["a.scm".to_owned(), "b".to_owned()],
        directory: "/".to_owned(),
        settings: vec![("stack".to_owned(), "1".to_owned())],
    };
    let live = program();
    record(&file, &beginning).unwrap();
    let recorded = program();
    // Other threads are no part of it.
    std::thread::spawn(|| ask(Kind::Random, || 1u64))
        .join()
        .unwrap();
    let count = answers();
    flush().unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only its owner reads it");
    let bytes = std::fs::read(&file).unwrap();
    let recording = Recording::of_bytes(bytes.clone()).unwrap();
    assert_eq!(recording.beginning(), &beginning);
    assert_eq!(recording.answers(), count);
    assert_eq!(recording.sources().collect::<Vec<_>>(), ["a.scm"]);
    assert!(!recording.is_cut());
    replay(recording);
    let replayed = program();
    assert_eq!(recorded, live);
    assert_eq!(replayed, recorded);
    MODE.store(LIVE, Ordering::SeqCst);
    for end in 0..bytes.len() {
        // A recording that was cut off has fewer answers, or none.
        if let Ok(cut) = Recording::of_bytes(bytes[..end].to_vec()) {
            assert!(cut.answers() <= count);
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
