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

/// A directory with these files, which is removed in the end.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Files {
        let directory = format!("canny-wasm-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        std::fs::create_dir_all(directory.join("below")).unwrap();
        let files_of = Files(directory);
        for (file, text) in files {
            files_of.write(file, text);
        }
        files_of
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    /// Runs a program in another directory than its own.
    fn run(&self, program: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_canny"))
            .current_dir("/")
            .env("CANNY_CACHE_DIR", self.0.join("cache"))
            .arg(self.0.join(program))
            .output()
            .unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn modules_are_libraries() {
    let module = "(module (memory (export \"a memory\") 1)
        (global (export \"define\") (mut i32) (i32.const 0))
        (func (export \"add\") (param $first i32) (param i32) (result i32)
          (global.set 0 (i32.add (global.get 0) (i32.const 1)))
          (i32.add (local.get 0) (local.get 1)))
        (func (export \"two\") (result i64 f64) (i64.const 5) (f64.const 1.5)))";
    let program = "(import (scheme base) (scheme write) (below library)
                           (rename (wasm \"below/../guest.wat\") (define count))
                           (only (canny wasm) memory-pages global-ref))
        (write (list (add 3 4) (add-there 5 6) (global-ref count) (memory-pages |a memory|)))
        (call-with-values two (lambda (a b) (write (list a b))))
        (cond-expand ((library (wasm \"below/nothing.wat\")) (write 'wrong))
                     ((library (wasm \"guest.wat\")) (write 'there)))
        (define (call procedure) (procedure 1))
        (call add)";
    // Another file with the same instance, since it is the same module.
    let library = "(define-library (below library) (export add-there)
        (import (rename (wasm \"../guest.wat\") (add add-there))))";
    let files = Files::new(
        "library",
        &[
            ("guest.wat", module),
            ("program.scm", program),
            ("below/library.sld", library),
        ],
    );
    for _ in 0..2 {
        let output = files.run("program.scm");
        expect(&output, 70, "(7 11 2 1)(5 1.5)there");
        expect(&output, 70, "called as (add first p2)");
    }
    files.write(
        "guest.wat",
        &module.replace("i32.add (local", "i32.sub (local"),
    );
    expect(&files.run("program.scm"), 70, "(-1 -1 2 1)");
    files.write("guest.wat", &module.replace("two", "three"));
    expect(&files.run("program.scm"), 70, "`two` is not bound");
}

#[test]
fn libraries_of_programs_for_wasi_have_the_streams() {
    let module = "(module
        (import \"wasi_snapshot_preview1\" \"fd_write\"
          (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export \"memory\") 1)
        (data (i32.const 8) \"\\18\\00\\00\\00\\06\\00\\00\\00\")
        (data (i32.const 24) \"hello\\n\")
        (func $hello (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 0))))
        (export \"_initialize\" (func $hello))
        (export \"hello\" (func $hello)))";
    let program = "(import (wasm \"hello.wat\")) (hello)";
    let files = Files::new("wasi", &[("hello.wat", module), ("program.scm", program)]);
    let output = files.run("program.scm");
    expect(&output, 0, "hello\nhello\n");
}

#[test]
fn wrong_libraries_are_told_with_the_position() {
    let program = |file: &str| format!("(import (scheme base)\n        (wasm \"{file}\"))\n");
    let invalid = "(module (func (result i32)))";
    let needy = "(module (import \"env\" \"f\" (func)) (import \"env\" \"m\" (memory 1)))";
    let files = Files::new(
        "wrong",
        &[
            ("invalid.wat", invalid),
            ("needy.wat", needy),
            ("one.scm", &program("nothing.wasm")),
            ("two.scm", &program("invalid.wat")),
            ("three.scm", &program("needy.wat")),
            ("four.scm", "(import (wasm \"a\" \"b\"))"),
        ],
    );
    for (name, text) in [
        ("one.scm", "nothing.wasm\") was not found"),
        ("two.scm", "expected i32 but nothing on stack (at offset 0x"),
        ("three.scm", "imports \"env\" \"f\", \"env\" \"m\""),
    ] {
        let output = files.run(name);
        expect(&output, 65, text);
        expect(&output, 65, &format!("{name}:2:9: error["));
    }
    expect(
        &files.run("four.scm"),
        65,
        "cannot be part of a library name",
    );
}
