//! Tests of opening and deleting files.

use super::*;
use crate::handle::Access;

const WAIT: Wait<'static> = Wait::Blocking;

fn write_all(path: &Path, mode: OutputMode, bytes: &[u8]) {
    let handle = open_output(path, mode, WAIT).unwrap();
    assert_eq!(handle.write(bytes, WAIT).unwrap(), bytes.len());
    handle.close().unwrap();
}

#[test]
fn output_modes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let contents = || std::fs::read_to_string(&path).unwrap();
    assert!(!file_exists(&path));
    write_all(&path, OutputMode::CreateNew, b"first line");
    assert!(file_exists(&path));
    write_all(&path, OutputMode::Overwrite, b"FIRST");
    assert_eq!(contents(), "FIRST line");
    write_all(&path, OutputMode::Append, b"\n");
    assert_eq!(contents(), "FIRST line\n");
    write_all(&path, OutputMode::Truncate, b"new");
    assert_eq!(contents(), "new");
    let error = open_output(&path, OutputMode::CreateNew, WAIT).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot open file: File exists: "),
        "{error}"
    );
    delete_file(&path).unwrap();
    assert!(!file_exists(&path));
}

#[test]
fn errors_say_what_and_why() {
    let message = |path: &str| open_input(Path::new(path), WAIT).unwrap_err().to_string();
    assert_eq!(
        message("/nonexistent/foo.txt"),
        "cannot open file: No such file or directory: /nonexistent/foo.txt"
    );
    assert_eq!(message("/"), "cannot open file: Is a directory: /");
    assert_eq!(message("a\0b"), "cannot open file: Invalid argument: a\0b");
    let error = delete_file(Path::new("/nonexistent/foo.txt")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot delete file: No such file or directory: /nonexistent/foo.txt"
    );
    assert!(error.is_file_error());
    assert_eq!(error.os_code(), Some(2));
    assert_eq!(error.name(), Some("/nonexistent/foo.txt"));
    assert_eq!(
        error.message(),
        "cannot delete file: No such file or directory"
    );
}

#[test]
fn access_is_what_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let output = open_output(&path, OutputMode::Truncate, WAIT).unwrap();
    assert_eq!(output.access(), Access::Write);
    let error = output.read(&mut [0], WAIT).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read: not open for input: "),
        "{error}"
    );
    let input = open_input(&path, WAIT).unwrap();
    assert_eq!(input.access(), Access::Read);
    assert!(input.is_regular_file());
    let error = input.write(b"x", WAIT).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write: not open for output: "),
        "{error}"
    );
    let both = open_input_output(&path, OutputMode::Overwrite, WAIT).unwrap();
    assert_eq!(both.access(), Access::ReadWrite);
    both.write(b"abc", WAIT).unwrap();
    assert_eq!(both.tell().unwrap(), 3);
    both.seek(std::io::SeekFrom::Start(1)).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(both.read(&mut buffer, WAIT).unwrap(), 2);
    assert_eq!(&buffer[..2], b"bc");
}
