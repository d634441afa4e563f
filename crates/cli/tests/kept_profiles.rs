//! Profiles that are kept in the cache: the next start of a program uses them, and nothing that is
//! wrong with a file changes a program's answers.

mod support;

use std::path::{Path, PathBuf};

use support::{Canny, Outcome, programs, root, scratch};

/// A program with hot code that runs long enough for a profile. Its argument, if any, is the number
/// that it adds up: flonums where earlier runs saw fixnums, or a rational.
const PROGRAM: &str = "(import (scheme base) (scheme write) (scheme process-context))
(define-record-type <point> (make-point x y) point? (x point-x) (y point-y))
(define step
  (let ((words (cdr (command-line))))
    (if (null? words) 1 (string->number (car words)))))
(define (add p n) (make-point (+ (point-x p) n) (* 1 (point-y p))))
(define (repeat i p) (if (= i 0) p (repeat (- i 1) (add p step))))
(define (sum v)
  (do ((i 0 (+ i 1)) (s 0 (+ s (vector-ref v i)))) ((= i (vector-length v)) s)))
(define v (make-vector 1000 step))
(define (work n) (if (= n 1) (sum v) (begin (sum v) (work (- n 1)))))
(let ((p (repeat 200000 (make-point 0 1))))
  (write (list (point-x p) (point-y p) (work 300)))
  (exit 0))
";

/// Runs the program of a directory, with a log that is given too.
fn run_in(directory: &Path, words: &[&str], variables: &[(&str, &str)]) -> (Outcome, String) {
    let log = directory.join("log");
    let _ = std::fs::remove_file(&log);
    let run = Canny::new(directory.to_owned(), words)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log");
    let run = variables
        .iter()
        .fold(run, |run, (name, value)| run.environment(name, value));
    let outcome = run.run();
    let log = std::fs::read(log).expect("there is a log");
    (outcome, String::from_utf8_lossy(&log).into_owned())
}

fn with_program(text: &str) -> PathBuf {
    let directory = scratch();
    std::fs::write(directory.join("program.scm"), text).expect("the program can be written");
    directory
}

/// The profiles in a run's cache.
fn profiles(directory: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(directory.join("cache/profiles"));
    let entries = found.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

const ANSWER: &str = "(200000 1 1000)";
const USED: &str = "A kept profile gives statistics";

#[test]
fn a_second_run_begins_with_what_the_first_one_learned() {
    let directory = with_program(PROGRAM);
    let (first, log) = run_in(&directory, &["program.scm"], &[]);
    first.exits_with(0).prints(ANSWER);
    assert!(!log.contains("kept"), "{log}");
    assert_eq!(profiles(&directory).len(), 1);
    let (second, log) = run_in(&directory, &["program.scm"], &[]);
    second.exits_with(0).prints(ANSWER);
    assert!(log.starts_with(USED), "{log}");
    // Plans are compiled with the first log, before anything is planned.
    let (before, _) = log.split_once("Log 1 of").expect("there is a log");
    for part in ["A kept plan", "'repeat'", "installed"] {
        assert!(before.contains(part), "no `{part}` in {before}");
    }
    assert_eq!(profiles(&directory).len(), 1);
}

#[test]
fn other_types_than_before_are_no_trouble() {
    let directory = with_program(PROGRAM);
    for (word, answer) in [
        ("1", ANSWER),
        ("0.5", "(100000.0 1 500.0)"),
        ("1/2", "(100000 1 500)"),
        (
            "100000000000000000000",
            "(20000000000000000000000000 1 100000000000000000000000)",
        ),
        ("1", ANSWER),
        ("0.5", "(100000.0 1 500.0)"),
    ] {
        for variables in [&[][..], &[("CANNY_SPESH_STRESS", "7")]] {
            let (run, _) = run_in(&directory, &["program.scm", word], variables);
            run.exits_with(0).prints(answer);
        }
    }
}

#[test]
fn a_changed_program_does_not_use_an_old_profile() {
    let directory = with_program(PROGRAM);
    let _ = run_in(&directory, &["program.scm"], &[]);
    let changed = PROGRAM.replace("(+ (point-x p) n)", "(+ (point-y p) n)");
    std::fs::write(directory.join("program.scm"), changed).expect("it can be changed");
    let (run, log) = run_in(&directory, &["program.scm"], &[]);
    run.exits_with(0).prints("(2 1 1000)");
    assert!(
        log.contains("is of other code than the program has now"),
        "{log}"
    );
    assert!(!log.contains(USED), "{log}");
    // The old profile was replaced.
    let (_, log) = run_in(&directory, &["program.scm"], &[]);
    assert!(log.starts_with(USED), "{log}");
}

#[test]
fn switches_turn_profiles_off() {
    let directory = with_program(PROGRAM);
    let off = [
        (
            &["--no-profiles", "program.scm"][..],
            ("CANNY_PROFILES", "1"),
        ),
        (&["--no-cache", "program.scm"], ("CANNY_PROFILES", "1")),
        (&["program.scm"], ("CANNY_PROFILES", "0")),
        (&["program.scm"], ("CANNY_SPESH_LIMIT", "100")),
        (&["-e", "(load \"program.scm\")"], ("CANNY_PROFILES", "1")),
    ];
    for _ in 0..2 {
        for (words, variable) in off {
            let (run, log) = run_in(&directory, words, &[variable]);
            run.exits_with(0);
            assert!(!log.contains(USED), "{words:?} {variable:?}");
        }
        // In the second round there is one that they do not read.
        assert!(profiles(&directory).len() <= 1);
        let _ = run_in(&directory, &["program.scm"], &[]);
        assert_eq!(profiles(&directory).len(), 1);
    }
}

#[test]
fn programs_that_end_early_or_fail_keep_nothing() {
    let directory = with_program("(display 1)");
    let run = Canny::new(directory.clone(), &["program.scm"]).run();
    run.exits_with(0).prints("1");
    assert_eq!(profiles(&directory), [] as [PathBuf; 0]);
    let failing = PROGRAM.replace("(exit 0)", "(car step)");
    let directory = with_program(&failing);
    let (run, _) = run_in(&directory, &["program.scm"], &[]);
    run.exits_with(70);
    assert_eq!(profiles(&directory), [] as [PathBuf; 0]);
}

/// The checksum of a file of the cache.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn damaged_files_are_ignored() {
    let directory = with_program(PROGRAM);
    let _ = run_in(&directory, &["program.scm"], &[]);
    let [file] = &profiles(&directory)[..] else {
        panic!("there is one profile");
    };
    let whole = std::fs::read(file).expect("it can be read");
    let lengths = [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1];
    let mut damaged: Vec<Vec<u8>> = lengths.iter().map(|at| whole[..*at].to_vec()).collect();
    for at in [0, 8, 20, whole.len() / 3, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        damaged.push(bytes);
    }
    for bytes in damaged {
        std::fs::write(file, bytes).expect("it can be written");
        let (run, log) = run_in(&directory, &["program.scm"], &[]);
        run.exits_with(0).prints(ANSWER);
        assert!(log.contains("is damaged"), "{log}");
    }
}

#[test]
fn wrong_contents_give_right_answers() {
    let directory = with_program(PROGRAM);
    let _ = run_in(&directory, &["program.scm"], &[]);
    let [file] = &profiles(&directory)[..] else {
        panic!("there is one profile");
    };
    let whole = std::fs::read(file).expect("it can be read");
    let mut state = 1_u64;
    let mut random = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut used = 0;
    for round in 0..100 {
        let mut content = whole[8..].to_vec();
        // Behind version, build and digest.
        for _ in 0..1 + round / 20 {
            let at = 24 + random(content.len() - 24);
            content[at] = match random(3) {
                0 => content[at] ^ 1 << random(8),
                1 => random(256) as u8,
                _ => content[24 + random(content.len() - 24)],
            };
        }
        let mut bytes = checksum(&content).to_le_bytes().to_vec();
        bytes.extend(content);
        std::fs::write(file, bytes).expect("it can be written");
        let (run, log) = run_in(&directory, &["program.scm"], &[]);
        run.exits_with(0).prints(ANSWER);
        assert!(!log.contains("The specializer is off"), "{log}");
        used += usize::from(log.contains(USED));
    }
    assert!(used > 5, "{used}");
}

#[test]
fn regressions_have_the_same_answers_with_profiles() {
    for path in programs(&root().join("tests/regress")) {
        let word = path.to_str().expect("paths of the project are UTF-8");
        let directory = scratch();
        for _ in 0..2 {
            let run = Canny::new(directory.clone(), &[word]).run();
            assert_eq!(run.code, Some(0), "{word}: {run:#?}");
        }
    }
}
