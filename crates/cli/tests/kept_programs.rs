//! Compiled programs that are kept in the cache: the next run behaves as the first one did, and what
//! a program was made from is compared with what is there now.

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use support::{Canny, Outcome, scratch};

/// A program with an include and a library; a warning is about each of the two texts, and its last
/// form fails.
const PROGRAM: &str = "(import (scheme base) (scheme write) (mine numbers))
(include \"included.scm\")
(define (same x) (let ((spare 1)) x))
(cond-expand ((library (mine more)) (display \"more \")) (else (display \"less \")))
(display (double (included 20)))
(newline)
(vector-ref (vector 1 2) (double 1))
";
const INCLUDED: &str = "(define (included n)
  (let ((nothing 0))
    (+ n 1)))
";
const LIBRARY: &str = "(define-library (mine numbers)
  (export double) (import (scheme base))
  (begin (define (double x) (* 2 x))))
";

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it can be made");
    std::fs::write(path, text).expect("a file can be written");
}

fn with_program() -> PathBuf {
    let directory = scratch();
    write(&directory, "program.scm", PROGRAM);
    write(&directory, "included.scm", INCLUDED);
    write(&directory, "mine/numbers.sld", LIBRARY);
    directory
}

fn run_in(directory: &Path, words: &[&str]) -> Outcome {
    Canny::new(directory.to_owned(), words).run()
}

/// The files of the cache that hold programs.
fn kept(directory: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(directory.join("cache/programs"));
    let entries = found.into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The only file of the cache that holds a program, and its number, which changes when the file is
/// written anew.
fn only(directory: &Path) -> (PathBuf, u64) {
    let paths = kept(directory);
    assert_eq!(paths.len(), 1, "{paths:?}");
    let number = std::fs::metadata(&paths[0]).expect("it is there").ino();
    (paths[0].clone(), number)
}

/// Whether a run took the program from the cache.
fn is_found(directory: &Path, words: &[&str], output: &str) -> bool {
    let before = only(directory);
    let errors = run_in(directory, words)
        .exits_with(70)
        .prints(output)
        .errors;
    assert!(errors.contains("program.scm:7:1"), "{errors}");
    only(directory) == before
}

#[test]
fn a_second_run_says_the_same() {
    let directory = with_program();
    // The library is compiled by the first run; it has no warnings of its own.
    let first = run_in(&directory, &["program.scm"]).exits_with(70);
    let first = first.prints("less 42\n");
    for part in [
        "program.scm:3:25: warning[unused-variable]",
        "included.scm:2:10: warning[unused-variable]",
        "(let ((nothing 0))",
        "program.scm:7:1: error",
        "(vector-ref (vector 1 2) (double 1))",
    ] {
        assert!(first.errors.contains(part), "no {part} in {first:#?}");
    }
    let before = only(&directory);
    let second = run_in(&directory, &["program.scm"]);
    assert_eq!(only(&directory), before, "it was compiled again");
    assert_eq!(second.code, first.code);
    assert_eq!(second.output, first.output);
    assert_eq!(second.errors, first.errors);
}

#[test]
fn what_changed_is_compiled_again() {
    let directory = with_program();
    let words = ["program.scm"];
    run_in(&directory, &words).exits_with(70);
    assert!(is_found(&directory, &words, "less 42\n"));
    let text = PROGRAM.replace("included 20", "included 30");
    write(&directory, "program.scm", &text);
    assert!(!is_found(&directory, &words, "less 62\n"));
    assert!(is_found(&directory, &words, "less 62\n"));
    write(&directory, "included.scm", &INCLUDED.replace("n 1", "n 2"));
    assert!(!is_found(&directory, &words, "less 64\n"));
    assert!(is_found(&directory, &words, "less 64\n"));
    let library = LIBRARY.replace("2 x", "3 x");
    write(&directory, "mine/numbers.sld", &library);
    assert!(!is_found(&directory, &words, "less 96\n"));
    assert!(is_found(&directory, &words, "less 96\n"));
    let more = "(define-library (mine more) (export) (import (scheme base)))";
    write(&directory, "mine/more.sld", more);
    assert!(!is_found(&directory, &words, "more 96\n"));
    assert!(is_found(&directory, &words, "more 96\n"));
}

#[test]
fn features_and_names_have_files_of_their_own() {
    let directory = with_program();
    run_in(&directory, &["program.scm"]).exits_with(70);
    run_in(&directory, &["-D", "extra", "program.scm"]).exits_with(70);
    assert_eq!(kept(&directory).len(), 2);
    let other = run_in(&directory, &["./program.scm"]).exits_with(70);
    other
        .complains("./program.scm:7:1")
        .complains("./included.scm:2:10");
    assert_eq!(kept(&directory).len(), 3);
}

#[test]
fn damaged_files_do_not_count() {
    let directory = with_program();
    let words = ["program.scm"];
    run_in(&directory, &words).exits_with(70);
    let (path, _) = only(&directory);
    let whole = std::fs::read(&path).expect("it can be read");
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    flipped[middle] ^= 1;
    for damaged in [&whole[..0], &whole[..7], &whole[..middle], &flipped] {
        std::fs::write(&path, damaged).expect("it can be written");
        assert!(!is_found(&directory, &words, "less 42\n"));
        assert!(is_found(&directory, &words, "less 42\n"));
    }
}

#[test]
fn some_programs_are_not_kept() {
    let transformer = "(import (scheme base) (scheme write) (canny syntax-case))
(define-syntax five (lambda (form) (datum->syntax form 5)))
(display five)";
    let library = "(define-library (own) (export a) (import (scheme base)) (begin (define a 5)))
(import (scheme write) (own))
(display a)";
    for text in [transformer, library] {
        let directory = scratch();
        write(&directory, "program.scm", text);
        for _ in 0..2 {
            run_in(&directory, &["program.scm"])
                .exits_with(0)
                .prints("5");
        }
        assert_eq!(kept(&directory), [] as [PathBuf; 0], "{text}");
    }
    let directory = with_program();
    run_in(&directory, &["--no-cache", "program.scm"]).exits_with(70);
    Canny::new(directory.clone(), &["-"])
        .input("(import (scheme base) (scheme write)) (display 1)")
        .run()
        .exits_with(0)
        .prints("1");
    assert_eq!(kept(&directory), [] as [PathBuf; 0]);
    assert!(directory.join("program.scm").exists());
}

#[test]
fn errors_are_told_each_time() {
    let directory = scratch();
    write(&directory, "program.scm", "(import (scheme base))\n(if)\n");
    for _ in 0..2 {
        let outcome = run_in(&directory, &["program.scm"]).exits_with(65);
        outcome.complains("program.scm:2:1: error");
    }
    assert_eq!(kept(&directory), [] as [PathBuf; 0]);
}
