//! `canny wasm`: functions of modules, and what is wrong with modules and command lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn guest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benches/wasm")
        .join(name)
}

fn canny(words: &[&str], file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_canny"))
        .arg("wasm")
        .args(words)
        .arg(file)
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn expect(output: &Output, code: i32, text: &str) {
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{out}{error}");
    assert!(out.contains(text) || error.contains(text), "{out}{error}");
}

#[test]
fn functions_are_called() {
    let invoke = ["--invoke", "run"];
    let output = canny(&invoke, &guest("fib.wasm"), &["25"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "75025\n");
    expect(&canny(&invoke, &guest("matmul.wasm"), &["30"]), 0, ".");
    // Arguments have signs.
    expect(&canny(&invoke, &guest("fib.wasm"), &["-3"]), 0, "-3");
}

/// A module whose function `add` adds two vectors of four integers.
const ADD_VECTORS: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x07\x01\x60\x02\x7b\x7b\x01\x7b\
    \x03\x02\x01\0\
    \x07\x07\x01\x03add\0\0\
    \x0a\x0b\x01\x09\0\x20\0\x20\x01\xfd\xae\x01\x0b";

#[test]
fn vectors_are_read_and_printed() {
    let directory = std::env::temp_dir().join(format!("canny-vectors-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("add.wasm");
    std::fs::write(&file, ADD_VECTORS).unwrap();
    let invoke = ["--invoke", "add"];
    let output = canny(
        &invoke,
        &file,
        &["i32x4:1,-2,3,4294967295", "i64x2:1,0x200000000"],
    );
    expect(
        &output,
        0,
        "i32x4:0x00000002,0xfffffffe,0x00000003,0x00000001\n",
    );
    let output = canny(
        &invoke,
        &file,
        &[
            "f32x4:1,0,-0.0,0",
            "i8x16:0,0,0,0,0,0,0,0,0,0,0,0,0,0,-1,255",
        ],
    );
    expect(
        &output,
        0,
        "i32x4:0x3f800000,0x00000000,0x80000000,0xffff0000\n",
    );
    for wrong in [
        "1",
        "i32x4:1,2,3",
        "i32x4:1,2,3,4,5",
        "i8x4:1,2,3,4",
        "i64x2:1,x",
        "i32x4:1,2,3,4294967296",
    ] {
        let output = canny(&invoke, &file, &[wrong, wrong]);
        expect(&output, 64, "is no value of type v128");
    }
    expect(
        &canny(&["--disassemble"], &file, &[]),
        0,
        "i32x4.add %0 %0 %2",
    );
    expect(&canny(&[], &file, &[]), 0, "function [v128 v128] -> [v128]");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn commands_are_run() {
    expect(&canny(&[], &guest("hello.wasm"), &[]), 0, "hello");
    let directory = guest("");
    let directory = format!("{}::/here", directory.display());
    let output = canny(
        &["--dir", &directory],
        &guest("count.wasm"),
        &["/here/fib.c"],
    );
    expect(&output, 0, "/here/fib.c");
    // Nothing but the directory is there.
    let output = canny(
        &["--dir", &directory],
        &guest("count.wasm"),
        &["/etc/passwd"],
    );
    expect(&output, 1, "count: /etc/passwd: No such file or directory");
    let output = canny(&["--fuel", "10"], &guest("hello.wasm"), &[]);
    expect(&output, 70, "all fuel is used up");
    let output = canny(&["--memory-limit", "1000"], &guest("hello.wasm"), &[]);
    expect(&output, 70, "the limit of 1000 bytes");
    let output = canny(&["--dir", "/nowhere/at/all"], &guest("hello.wasm"), &[]);
    expect(&output, 64, "cannot open the directory /nowhere/at/all");
    let output = canny(&["--listen", "somewhere"], &guest("hello.wasm"), &[]);
    expect(&output, 64, "'somewhere' is no address such as");
}

#[test]
fn modules_are_listed() {
    let output = canny(&[], &guest("fib.wasm"), &[]);
    expect(&output, 0, "export run: function [i32] -> [i64]");
    let output = canny(&["--list"], &guest("hello.wasm"), &[]);
    expect(
        &output,
        0,
        "import wasi_snapshot_preview1 fd_write: function",
    );
    let output = canny(&["--disassemble"], &guest("fib.wasm"), &[]);
    expect(&output, 0, "call");
}

#[test]
fn wrong_command_lines_are_refused() {
    let file = guest("fib.wasm");
    expect(
        &canny(&["--invoke", "walk"], &file, &["1"]),
        64,
        "the module exports no function 'walk'",
    );
    expect(
        &canny(&["--invoke", "run"], &file, &[]),
        64,
        "it was given 0 arguments",
    );
    expect(
        &canny(&["--invoke", "run"], &file, &["many"]),
        64,
        "'many' is no value of type i32",
    );
    expect(&canny(&[], &file, &["1"]), 64, "--invoke");
    expect(&canny(&["--fuel", "much"], &file, &[]), 64, "--fuel");
}

#[test]
fn runs_have_limits() {
    let output = canny(
        &["--fuel", "1000", "--invoke", "run"],
        &guest("fib.wasm"),
        &["30"],
    );
    expect(&output, 70, "all fuel is used up");
    let output = canny(&["--invoke", "_start"], &guest("hello.wasm"), &[]);
    expect(
        &output,
        70,
        "unknown import \"wasi_snapshot_preview1\" \"fd_write\"",
    );
}

#[test]
fn invalid_modules_are_told_with_the_offset() {
    let directory = std::env::temp_dir().join(format!("canny-wasm-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut bytes = std::fs::read(guest("fib.wasm")).unwrap();
    let file = directory.join("cut.wasm");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    expect(&canny(&["--validate"], &file, &[]), 65, "at offset 0x");
    std::fs::write(&file, "hello\n").unwrap();
    let output = canny(&["--validate"], &file, &[]);
    expect(&output, 65, "this is no WebAssembly module");
    assert_eq!(
        output.stderr.iter().filter(|byte| **byte == b'\n').count(),
        1
    );
    // The answer is one of these for any byte that is wrong.
    for place in 0..bytes.len() {
        bytes[place] ^= 0x55;
        std::fs::write(&file, &bytes).unwrap();
        let words = ["--fuel", "100000", "--invoke", "run"];
        let output = canny(&words, &file, &["5"]);
        let code = output.status.code();
        assert!(
            matches!(code, Some(0 | 64 | 65 | 70)),
            "byte {place}: {code:?} {}",
            String::from_utf8_lossy(&output.stderr)
        );
        bytes[place] ^= 0x55;
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
