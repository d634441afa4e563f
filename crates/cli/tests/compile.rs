//! `canny compile`: programs as executable files.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Canny, canny, scratch};

const LIBRARY: &str = "(define-library (greeting)
  (export greet twice)
  (import (scheme base) (scheme write) (canny syntax-case))
  (begin
    (define (greet name) (display \"hello \") (display name) (newline))
    (define-syntax twice
      (lambda (form) (syntax-case form () ((_ e) #'(begin e e)))))))";

const PROGRAM: &str = "(import (scheme base) (scheme write) (scheme process-context) (scheme eval) (greeting) (srfi 1))
(twice (greet (last (command-line))))
(eval '(greet \"again\") (environment '(greeting)))
(exit (length (command-line)))";

/// Compiles a program with its library; gives where the executable file is, in a directory of its own.
fn compiled(program: &str) -> PathBuf {
    let run = canny(&["compile", "program.scm", "-o", "out/app"])
        .file("program.scm", program)
        .file("greeting.sld", LIBRARY)
        .file("out/empty", "");
    let made = run.directory.join("out/app");
    run.run().exits_with(0).complains("the program");
    let elsewhere = scratch().join("app");
    std::fs::rename(made, &elsewhere).expect("the executable file was made");
    elsewhere
}

fn start(app: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(app);
    command.args(words).stdin(Stdio::null());
    command.current_dir(app.parent().expect("it is in a directory"));
    command.output().expect("it starts")
}

#[test]
fn an_executable_file_needs_no_sources() {
    let app = compiled(PROGRAM);
    let outcome = start(&app, &["--help", "you"]);
    let text = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(text, "hello you\nhello you\nhello again\n", "{outcome:?}");
    assert_eq!(outcome.status.code(), Some(3), "{outcome:?}");
    assert!(outcome.stderr.is_empty(), "{outcome:?}");
    let size = |path: &Path| std::fs::metadata(path).map(|data| data.len()).unwrap_or(0);
    assert!(size(&app) < size(Path::new(env!("CARGO_BIN_EXE_canny"))));
}

#[test]
fn errors_have_their_positions() {
    let app = compiled("(import (scheme base))\n(define (f x)\n  (car x))\n(f 5)\n");
    let outcome = start(&app, &[]);
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(70), "{text}");
    assert!(text.contains("program.scm:3:3"), "{text}");
}

#[test]
fn a_damaged_program_is_refused() {
    let app = compiled(PROGRAM);
    let mut content = std::fs::read(&app).expect("it is there");
    let place = content.len() - 100;
    content[place] ^= 1;
    let damaged = app.with_file_name("damaged");
    std::fs::write(&damaged, content).expect("it can be written");
    let permissions = std::fs::metadata(&app).expect("it is there").permissions();
    std::fs::set_permissions(&damaged, permissions).expect("it is ours");
    let outcome = start(&damaged, &[]);
    let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(71), "{text}");
    assert!(text.contains("damaged"), "{text}");
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_written() {
    let refused = |run: Canny, code: i32, part: &str| {
        let directory = run.directory.clone();
        run.run().exits_with(code).complains(part);
        assert!(!directory.join("program").exists());
    };
    let bad = canny(&["compile", "program.scm"]).file("program.scm", "(car");
    refused(bad, 65, "program.scm:1:1");
    refused(
        canny(&["compile", "program.scm"]),
        66,
        "cannot read program.scm",
    );
    refused(canny(&["compile"]), 64, "which file?");
    let good = || canny(&["compile", "program.scm", "-o", "none/app"]).file("program.scm", "1");
    refused(good(), 71, "cannot write none/app");
    let directory = canny(&["compile", "program.scm", "-o", "out"]);
    refused(
        directory.file("program.scm", "1").file("out/x", ""),
        71,
        "cannot write out",
    );
}
