//! Operands whose kinds vary: compiled code computes with all of them and is not retired for it.

mod support;

use support::{Outcome, canny};

const HEAD: &str =
    "(import (scheme base) (scheme write) (only (srfi 151) bitwise-and arithmetic-shift))
(define (show . objects)
  (for-each (lambda (object) (write object) (write-char #\\space)) objects)
  (newline))
";

fn run(text: &str, environment: &[(&str, &str)]) -> Outcome {
    let mut run =
        canny(&["--spesh-report", "program.scm"]).file("program.scm", format!("{HEAD}{text}"));
    for (name, value) in environment {
        run = run.environment(name, value);
    }
    run.run().exits_with(0)
}

/// Runs the program interpreted and compiled. The results have to be the same, and code may be retired
/// so often: where the logs had not yet seen all kinds.
#[track_caller]
fn stays_compiled(text: &str, retired_max: usize) {
    let wanted = run(text, &[("CANNY_JIT", "0")]).output;
    let outcome = run(
        text,
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_VERIFY", "1")],
    );
    assert_eq!(outcome.output, wanted);
    let compiled = outcome
        .errors
        .lines()
        .find(|line| line.trim_start().starts_with("compiled "));
    let compiled = compiled.unwrap_or_else(|| panic!("no such line in {}", outcome.errors));
    let retired = compiled
        .split_whitespace()
        .rev()
        .nth(1)
        .and_then(|number| number.parse::<usize>().ok());
    assert!(
        retired.is_some_and(|retired| retired <= retired_max),
        "{}",
        outcome.errors
    );
    assert!(!compiled.contains(" 0 loops"), "{}", outcome.errors);
    for mode in [
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_STRESS", "7")][..],
        &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_EAGER", "1")],
        &[
            ("CANNY_SPESH_BLOCKING", "1"),
            ("CANNY_GC_STRESS", "199"),
            ("CANNY_GC_POISON", "1"),
        ],
    ] {
        assert_eq!(run(text, mode).output, wanted, "{mode:?}");
    }
}

#[test]
fn arithmetic_on_numbers_of_every_kind() {
    stays_compiled(
        "(define numbers (vector 3 2.5 100000000000000000000 -2/3 -4 1e300 1/3 -0.0 4611686018427387903))
(define (run operation)
  (let loop ((i 0) (sum 0))
    (if (< i 2000)
        (loop (+ i 1)
              (let ((x (vector-ref numbers (modulo i 9))) (y (vector-ref numbers (modulo (quotient i 9) 9))))
                (let ((z (operation x y)))
                  (if (< -1e15 z 1e15) (+ sum z) (- sum 1)))))
        sum)))
(define-syntax operation
  (syntax-rules () ((_ operator) (show 'operator (run (lambda (x y) (operator x y)))))))
(operation +)
(operation -)
(operation *)
(define (divide x y) (if (eqv? y 0) 0 (/ x y)))
(operation divide)
(define (less x y) (if (< x y) 1 0))
(operation less)
(define (least x y) (if (<= x y) x y))
(operation least)
(define (same x y) (if (= x y) 1 0))
(operation same)
",
        0,
    );
}

#[test]
fn integers_short_and_long() {
    stays_compiled(
        "(define numbers (vector 3 100000000000000000000 -17 -100000000000000000001 4611686018427387903 1))
(define (run operation)
  (let loop ((i 0) (sum 0))
    (if (< i 2000)
        (loop (+ i 1)
              (modulo (+ sum
                         (operation (vector-ref numbers (modulo i 6))
                                    (vector-ref numbers (modulo (quotient i 6) 6))))
                      1000000007))
        sum)))
(define-syntax operation
  (syntax-rules () ((_ operator) (show 'operator (run (lambda (x y) (operator x y)))))))
(operation quotient)
(operation remainder)
(operation modulo)
(operation bitwise-and)
(operation *)
(define (shift x y) (arithmetic-shift x (if (even? y) 40 -3)))
(operation shift)
",
        1,
    );
}

#[test]
fn strings_narrow_and_wide() {
    stays_compiled(
        "(define (sum strings)
  (let loop ((i 0) (sum 0))
    (if (< i 4000)
        (let ((string (vector-ref strings (modulo i 4))))
          (string-set! string (modulo i 3) (string-ref string (modulo (+ i 1) 5)))
          (loop (+ i 1) (+ sum (char->integer (string-ref string (modulo i 5))))))
        sum)))
(define strings (map string-copy '(\"abcde\" \"\\x3bb;\\x1f600;xyz\" \"\\xe9;a\\xfc;bc\" \"hello\")))
(show (sum (list->vector strings)) strings)
(define (fill strings characters)
  (let loop ((i 0))
    (when (< i 3000)
      (string-set! (vector-ref strings (modulo i 4)) (modulo i 5) (vector-ref characters (modulo i 7)))
      (loop (+ i 1))))
  (show strings))
(fill (vector (make-string 5 #\\a) (make-string 5 #\\b) (make-string 5 #\\x3bb) (make-string 5 #\\c))
      (vector #\\a #\\xe9 #\\x3bb #\\x1f600 #\\z #\\xff #\\x100))
",
        0,
    );
}
