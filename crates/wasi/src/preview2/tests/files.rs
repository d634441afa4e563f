//! `wasi:filesystem`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use canny_component::Value;

use super::{Guest, bytes, closed, lent, number, text};

/// Codes of errors.
const BAD_DESCRIPTOR: Value = Value::Enum(3);
const EXIST: Value = Value::Enum(7);
const INVALID: Value = Value::Enum(12);
const IS_DIRECTORY: Value = Value::Enum(14);
const LOOP: Value = Value::Enum(15);
const NO_ENTRY: Value = Value::Enum(20);
const NOT_DIRECTORY: Value = Value::Enum(24);
const NOT_PERMITTED: Value = Value::Enum(31);
const READ_ONLY: Value = Value::Enum(33);

fn method(name: &str) -> String {
    format!("filesystem/types#[method]descriptor.{name}")
}

/// A guest with a directory, and its descriptor.
fn in_directory(path: &Path, read_only: bool) -> (Guest, Value) {
    let mut guest = Guest::in_directory(path, read_only);
    let Value::List(given) = guest.get("filesystem/preopens#get-directories", &[]) else {
        panic!("a list");
    };
    let [Value::Record(pair)] = &given[..] else {
        panic!("one directory");
    };
    assert_eq!(pair[1], text("/"));
    let folder = pair[0].clone();
    (guest, folder)
}

fn follow(follows: bool) -> Value {
    Value::Flags(vec![follows])
}

/// Arguments of `open-at`, with letters for what is set: create, directory, exclusive, truncate; read,
/// write, mutate-directory; follow links.
fn opening(folder: &Value, path: &str, letters: &str) -> [Value; 5] {
    let has = |letter| letters.contains(letter);
    [
        lent(folder),
        follow(has('f')),
        text(path),
        Value::Flags("cdet".chars().map(has).collect()),
        Value::Flags(vec![has('r'), has('w'), false, false, false, has('m')]),
    ]
}

fn open(guest: &mut Guest, folder: &Value, path: &str, letters: &str) -> Value {
    guest.ok(&method("open-at"), &opening(folder, path, letters))
}

fn cannot_open(guest: &mut Guest, folder: &Value, path: &str, letters: &str) -> Value {
    guest.error(&method("open-at"), &opening(folder, path, letters))
}

#[test]
fn files_are_written_and_read_at_offsets() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let file = open(&mut guest, &folder, "file", "crw");
    let wrote = guest.ok(
        &method("write"),
        &[lent(&file), bytes("hello"), Value::U64(2)],
    );
    assert_eq!(wrote, Value::U64(5));
    let read = |guest: &mut Guest, length, offset| {
        guest.ok(
            &method("read"),
            &[lent(&file), Value::U64(length), Value::U64(offset)],
        )
    };
    let pair = |text: &[u8], is_end| Value::Record(vec![bytes(text), Value::Bool(is_end)]);
    assert_eq!(read(&mut guest, u64::MAX, 0), pair(b"\0\0hello", false));
    assert_eq!(read(&mut guest, 10, 7), pair(b"", true));
    assert_eq!(read(&mut guest, 0, 0), pair(b"", false));
    let far = [lent(&file), Value::U64(1), Value::U64(u64::MAX)];
    assert_eq!(guest.error(&method("read"), &far), INVALID);
    guest.done(&method("set-size"), &[lent(&file), Value::U64(3)]);
    assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"\0\0h");
    assert_eq!(
        guest.ok(&method("get-type"), &[lent(&file)]),
        Value::Enum(6)
    );
    let flags = guest.ok(&method("get-flags"), &[lent(&file)]);
    assert_eq!(
        flags,
        Value::Flags(vec![true, true, false, false, false, false])
    );
    for name in ["sync", "sync-data"] {
        guest.done(&method(name), &[lent(&file)]);
    }
    let advice = [lent(&file), Value::U64(0), Value::U64(0), Value::Enum(3)];
    guest.done(&method("advise"), &advice);
    let reader = open(&mut guest, &folder, "file", "r");
    let write = [lent(&reader), bytes("no"), Value::U64(0)];
    assert_eq!(guest.error(&method("write"), &write), BAD_DESCRIPTOR);
    let same = guest.get(&method("is-same-object"), &[lent(&file), lent(&reader)]);
    assert_eq!(same, Value::Bool(true));
}

#[test]
fn files_are_streams() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let file = open(&mut guest, &folder, "file", "crw");
    let output = guest.ok(&method("write-via-stream"), &[lent(&file), Value::U64(1)]);
    let append = guest.ok(&method("append-via-stream"), &[lent(&file)]);
    let write = "io/streams#[method]output-stream.blocking-write-and-flush";
    guest.done(write, &[lent(&output), bytes("one")]);
    guest.done(write, &[lent(&append), bytes("two")]);
    guest.done(write, &[lent(&output), bytes("THREE")]);
    let input = guest.ok(&method("read-via-stream"), &[lent(&file), Value::U64(3)]);
    // Streams go on when their file is dropped.
    guest.drop("filesystem/types#descriptor", &file).unwrap();
    let read = "io/streams#[method]input-stream.blocking-read";
    let most = [lent(&input), Value::U64(u64::MAX)];
    assert_eq!(guest.ok(read, &most), bytes("eTHREE"));
    assert_eq!(guest.error(read, &most), closed());
    let contents = fs::read(directory.path().join("file")).unwrap();
    assert_eq!(contents, b"\0oneTHREE");
    guest.done(write, &[lent(&append), bytes("!")]);
    assert_eq!(
        fs::read(directory.path().join("file")).unwrap(),
        b"\0oneTHREE!"
    );
}

#[test]
fn failures_of_streams_have_a_code() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let file = open(&mut guest, &folder, "file", "crw");
    let far = Value::U64(u64::MAX - 1);
    let output = guest.ok(&method("write-via-stream"), &[lent(&file), far]);
    let write = "io/streams#[method]output-stream.blocking-write-and-flush";
    let Value::Variant(0, Some(error)) = guest.error(write, &[lent(&output), bytes("x")]) else {
        panic!("the write fails");
    };
    let code = guest.get("filesystem/types#filesystem-error-code", &[lent(&error)]);
    assert_eq!(code, super::some(INVALID));
    let words = guest.get("io/error#[method]error.to-debug-string", &[lent(&error)]);
    assert!(matches!(words, Value::String(words) if words.contains("nvalid")));
    assert_eq!(guest.error(write, &[lent(&output), bytes("x")]), closed());
    guest.drop("io/error#error", &error).unwrap();
}

#[test]
fn paths_do_not_leave_the_directory() {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("inner");
    fs::create_dir_all(inner.join("sub")).unwrap();
    fs::write(outer.path().join("secret"), "secret").unwrap();
    symlink("../secret", inner.join("out")).unwrap();
    symlink("..", inner.join("up")).unwrap();
    symlink("/etc", inner.join("absolute")).unwrap();
    symlink("sub", inner.join("inside")).unwrap();
    let (mut guest, folder) = in_directory(&inner, false);
    for path in [
        "../secret",
        "sub/../../secret",
        "/etc/passwd",
        "out",
        "up/secret",
        "absolute/passwd",
    ] {
        assert_eq!(
            cannot_open(&mut guest, &folder, path, "rf"),
            NOT_PERMITTED,
            "{path}"
        );
        let stat = [lent(&folder), follow(true), text(path)];
        for name in ["stat-at", "metadata-hash-at"] {
            assert_eq!(guest.error(&method(name), &stat), NOT_PERMITTED, "{path}");
        }
        if path == "out" {
            continue;
        }
        let named = [lent(&folder), text(path)];
        for name in [
            "unlink-file-at",
            "create-directory-at",
            "remove-directory-at",
            "readlink-at",
        ] {
            assert_eq!(
                guest.error(&method(name), &named),
                NOT_PERMITTED,
                "{name} {path}"
            );
        }
        let rename = [lent(&folder), text("sub"), lent(&folder), text(path)];
        assert_eq!(guest.error(&method("rename-at"), &rename), NOT_PERMITTED);
        let link = [lent(&folder), text("x"), text(path)];
        assert_eq!(guest.error(&method("symlink-at"), &link), NOT_PERMITTED);
    }
    assert_eq!(cannot_open(&mut guest, &folder, "out", "r"), LOOP);
    assert_eq!(cannot_open(&mut guest, &folder, "", "r"), NO_ENTRY);
    assert_eq!(cannot_open(&mut guest, &folder, "a\0b", "r"), INVALID);
    assert_eq!(
        cannot_open(&mut guest, &folder, "out/x", "rf"),
        NOT_PERMITTED
    );
    let sub = open(&mut guest, &folder, "inside", "rfd");
    assert_eq!(cannot_open(&mut guest, &sub, "../out", "r"), NOT_PERMITTED);
    let link = [lent(&folder), text("/etc"), text("link")];
    assert_eq!(guest.error(&method("symlink-at"), &link), NOT_PERMITTED);
    let link = [lent(&folder), text("absolute")];
    assert_eq!(guest.error(&method("readlink-at"), &link), NOT_PERMITTED);
    assert_eq!(
        guest.ok(&method("readlink-at"), &[lent(&folder), text("up")]),
        text("..")
    );
    assert_eq!(fs::read(outer.path().join("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2);
}

#[test]
fn nothing_changes_in_read_only_directories() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(directory.path().join("sub/file"), "as it was").unwrap();
    let (mut guest, folder) = in_directory(directory.path(), true);
    let sub = open(&mut guest, &folder, "sub", "rd");
    for (folder, path) in [(&folder, "sub/file"), (&sub, "file")] {
        for letters in ["rw", "w", "rc", "rt", "rm"] {
            assert_eq!(cannot_open(&mut guest, folder, path, letters), READ_ONLY);
        }
        for name in [
            "unlink-file-at",
            "create-directory-at",
            "remove-directory-at",
        ] {
            let named = [lent(folder), text(path)];
            assert_eq!(guest.error(&method(name), &named), READ_ONLY, "{name}");
        }
        let rename = [lent(folder), text(path), lent(folder), text("other")];
        assert_eq!(guest.error(&method("rename-at"), &rename), READ_ONLY);
        let link = [
            lent(folder),
            follow(false),
            text(path),
            lent(folder),
            text("other"),
        ];
        assert_eq!(guest.error(&method("link-at"), &link), READ_ONLY);
        let link = [lent(folder), text("x"), text("other")];
        assert_eq!(guest.error(&method("symlink-at"), &link), READ_ONLY);
        let now = Value::Variant(1, None);
        let times = [
            lent(folder),
            follow(false),
            text(path),
            now.clone(),
            now.clone(),
        ];
        assert_eq!(guest.error(&method("set-times-at"), &times), READ_ONLY);
        let times = [lent(folder), now.clone(), now];
        assert_eq!(guest.error(&method("set-times"), &times), READ_ONLY);
        let flags = guest.ok(&method("get-flags"), &[lent(folder)]);
        assert_eq!(
            flags,
            Value::Flags(vec![true, false, false, false, false, false])
        );
    }
    let file = open(&mut guest, &sub, "file", "r");
    assert_eq!(
        guest.error(&method("set-size"), &[lent(&file), Value::U64(0)]),
        READ_ONLY
    );
    let stream = [lent(&file), Value::U64(0)];
    assert_eq!(guest.error(&method("write-via-stream"), &stream), READ_ONLY);
    assert_eq!(
        guest.error(&method("append-via-stream"), &[lent(&file)]),
        READ_ONLY
    );
    let write = [lent(&file), bytes("x"), Value::U64(0)];
    assert_eq!(guest.error(&method("write"), &write), READ_ONLY);
    assert_eq!(
        fs::read(directory.path().join("sub/file")).unwrap(),
        b"as it was"
    );
}

#[test]
fn directories_are_changed_and_listed() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    guest.done(
        &method("create-directory-at"),
        &[lent(&folder), text("sub")],
    );
    let named = [lent(&folder), text("sub")];
    assert_eq!(guest.error(&method("create-directory-at"), &named), EXIST);
    // A directory below may be changed as well.
    let sub = open(&mut guest, &folder, "sub", "r");
    let file = open(&mut guest, &sub, "file", "cwe");
    assert_eq!(cannot_open(&mut guest, &sub, "file", "cwe"), EXIST);
    assert_eq!(cannot_open(&mut guest, &folder, "sub", "rw"), IS_DIRECTORY);
    assert_eq!(
        cannot_open(&mut guest, &folder, "sub/file", "rd"),
        NOT_DIRECTORY
    );
    guest.done(
        &method("symlink-at"),
        &[lent(&sub), text("file"), text("link")],
    );
    let link = [
        lent(&sub),
        follow(false),
        text("file"),
        lent(&folder),
        text("hard"),
    ];
    guest.done(&method("link-at"), &link);
    let link = [
        lent(&folder),
        follow(false),
        text("sub"),
        lent(&folder),
        text("hard2"),
    ];
    assert_eq!(guest.error(&method("link-at"), &link), NOT_PERMITTED);
    let rename = [lent(&folder), text("hard"), lent(&sub), text("moved")];
    guest.done(&method("rename-at"), &rename);
    let entries = guest.ok(&method("read-directory"), &[lent(&sub)]);
    let next = "filesystem/types#[method]directory-entry-stream.read-directory-entry";
    let mut names = Vec::new();
    while let Value::Option(Some(entry)) = guest.ok(next, &[lent(&entries)]) {
        let Value::Record(fields) = *entry else {
            panic!("a record");
        };
        names.push(format!("{:?} {:?}", fields[1], fields[0]));
    }
    names.sort();
    let expected = [
        r#"String("file") Enum(6)"#,
        r#"String("link") Enum(5)"#,
        r#"String("moved") Enum(6)"#,
    ];
    assert_eq!(names, expected);
    guest
        .drop("filesystem/types#directory-entry-stream", &entries)
        .unwrap();
    assert_eq!(
        guest.error(&method("read-directory"), &[lent(&file)]),
        NOT_DIRECTORY
    );
    for name in ["file", "link", "moved"] {
        guest.done(&method("unlink-file-at"), &[lent(&sub), text(name)]);
    }
    assert_eq!(guest.error(&method("unlink-file-at"), &named), IS_DIRECTORY);
    guest.done(&method("remove-directory-at"), &named);
    assert_eq!(
        guest.error(&method("remove-directory-at"), &named),
        NO_ENTRY
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn properties_of_files_are_told_and_changed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "12345").unwrap();
    symlink("file", directory.path().join("link")).unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let time = |seconds| {
        let time = Value::Record(vec![Value::U64(seconds), Value::U32(5)]);
        Value::Variant(2, Some(Box::new(time)))
    };
    let times = [
        lent(&folder),
        follow(true),
        text("link"),
        time(1000),
        time(2000),
    ];
    guest.done(&method("set-times-at"), &times);
    let stat = [lent(&folder), follow(true), text("link")];
    let Value::Record(fields) = guest.ok(&method("stat-at"), &stat) else {
        panic!("a record");
    };
    assert_eq!(fields[..3], [Value::Enum(6), Value::U64(1), Value::U64(5)]);
    let shown = |seconds| super::some(Value::Record(vec![Value::U64(seconds), Value::U32(5)]));
    assert_eq!(fields[3..5], [shown(1000), shown(2000)]);
    let file = open(&mut guest, &folder, "file", "rw");
    let hash = guest.ok(&method("metadata-hash"), &[lent(&file)]);
    assert_eq!(guest.ok(&method("metadata-hash-at"), &stat), hash);
    guest.ok(
        &method("write"),
        &[lent(&file), bytes("abcdef"), Value::U64(0)],
    );
    assert_ne!(guest.ok(&method("metadata-hash"), &[lent(&file)]), hash);
    let times = [lent(&file), time(u64::MAX), Value::Variant(0, None)];
    assert_eq!(guest.error(&method("set-times"), &times), INVALID);
    let stat = [lent(&folder), follow(false), text("link")];
    let Value::Record(fields) = guest.ok(&method("stat-at"), &stat) else {
        panic!("a record");
    };
    assert_eq!(fields[0], Value::Enum(5));
}

#[test]
fn named_pipes_are_streams() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &path,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let reader = open(&mut guest, &folder, "pipe", "r");
    assert_eq!(
        guest.ok(&method("get-type"), &[lent(&reader)]),
        Value::Enum(4)
    );
    let input = guest.ok(&method("read-via-stream"), &[lent(&reader), Value::U64(0)]);
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|mut pipe| std::io::Write::write_all(&mut pipe, b"piped"))
        .unwrap();
    let read = "io/streams#[method]input-stream.blocking-read";
    let most = [lent(&input), Value::U64(100)];
    assert_eq!(guest.ok(read, &most), bytes("piped"));
    assert_eq!(guest.error(read, &most), closed());
}

#[test]
fn open_files_are_limited() {
    let directory = tempfile::tempdir().unwrap();
    let (mut guest, folder) = in_directory(directory.path(), false);
    let mut opened = Vec::new();
    let error = loop {
        match guest.get(&method("open-at"), &opening(&folder, ".", "rd")) {
            Value::Result(Ok(Some(descriptor))) => opened.push(*descriptor),
            Value::Result(Err(Some(error))) => break *error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(error, Value::Enum(22));
    let read = [lent(&folder)];
    assert_eq!(
        guest.error(&method("read-directory"), &read),
        Value::Enum(22)
    );
    guest
        .drop("filesystem/types#descriptor", &opened[0])
        .unwrap();
    let again = open(&mut guest, &folder, ".", "rd");
    assert_eq!(number(&again), number(&opened[0]));
}
