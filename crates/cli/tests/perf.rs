//! The files for Linux's `perf`, read by `perf` itself where it is installed and may record.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::scratch;

const PROGRAM: &str = "(import (scheme base))
(define (step x)
  (modulo (+ (* x 1103) 12345) 65536))
(define (burn n x)
  (if (= n 0) x (burn (- n 1) (step x))))
(let loop ((i 0))
  (if (< i 6000) (begin (burn 20000 1) (loop (+ i 1)))))
";

fn perf(directory: &Path, words: &[&str]) -> Option<Output> {
    let mut command = Command::new("perf");
    command.args(words).current_dir(directory);
    command
        .env("CANNY_JITDUMP", "1")
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        // Debugging data of others is kept below it.
        .env("HOME", directory);
    command.output().ok()
}

#[test]
fn perf_knows_compiled_code_and_its_lines() {
    let directory = scratch();
    std::fs::write(directory.join("program.scm"), PROGRAM).expect("a file can be written");
    let canny = env!("CARGO_BIN_EXE_canny");
    let words = [
        "record",
        "-k",
        "mono",
        "-o",
        "perf.data",
        canny,
        "program.scm",
    ];
    let recorded = perf(&directory, &words);
    let Some(recorded) = recorded.filter(|output| output.status.success()) else {
        eprintln!("skipped: perf is not installed, or may not record here");
        return;
    };
    let dumps = std::fs::read_dir(&directory)
        .expect("it is there")
        .flatten();
    let names: Vec<String> = dumps
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("jit-") && name.ends_with(".dump"))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let words = ["inject", "--jit", "-i", "perf.data", "-o", "jit.data"];
    let injected = perf(&directory, &words).expect("perf is there");
    let errors = String::from_utf8_lossy(&injected.stderr).into_owned();
    assert!(injected.status.success(), "{errors}");
    let words = [
        "report",
        "-i",
        "jit.data",
        "--stdio",
        "--sort",
        "dso,symbol",
    ];
    let report = perf(&directory, &words).expect("perf is there");
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    if !text.contains("canny") {
        eprintln!("skipped: perf has recorded no sample: {recorded:?}");
        return;
    }
    let is_known = |line: &str| line.contains("jitted-") && line.contains("burn");
    assert!(text.lines().any(is_known), "{text}");
    // Lines of the source stand in the files that `perf inject` has made.
    let made = std::fs::read_dir(&directory)
        .expect("it is there")
        .flatten();
    let mut made = made.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("jitted-")
    });
    let has_source = |path: std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(11).any(|window| window == b"program.scm")
    };
    assert!(made.any(has_source));
}
