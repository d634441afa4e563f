//! Versions of procedures by record type: the programs compute the same in every mode, whatever types
//! come after the code is hot; and what the log says of them.

mod support;

use support::program;

/// Related and unrelated types, one after the other and in turn, and at last what is no record.
const RELATED: &str = "
(import (scheme base) (scheme cxr) (scheme write) (canny generic))
(define-class <animal> () (make-animal weight) animal? (weight animal-weight))
(define-class <cat> (<animal>) (make-cat weight lives) cat? (lives cat-lives))
(define-class <kitten> (<cat>) (make-kitten weight lives age) kitten? (age kitten-age))
(define-record-type stone (make-stone weight) stone? (weight stone-weight set-stone-weight!))
(define-generic (sound thing))
(define-method (sound (thing <animal>)) 1)
(define-method (sound (thing <cat>)) 2)
(define (value thing)
  (cond ((kitten? thing) (+ 1000 (kitten-age thing) (cat-lives thing) (animal-weight thing)))
        ((cat? thing) (+ 100 (cat-lives thing) (animal-weight thing)))
        ((animal? thing) (+ 10 (animal-weight thing)))
        ((stone? thing) (set-stone-weight! thing (+ 1 (stone-weight thing))) (stone-weight thing))
        (else 0)))
(define (noise thing) (if (animal? thing) (sound thing) 0))
(define (deep thing n)
  (if (= n 0) (value thing) (+ (noise thing) (deep thing (- n 1)))))
(define (repeat things n)
  (let loop ((i 0) (sum 0))
    (if (= i n)
        sum
        (loop (+ i 1)
              (+ sum (deep (vector-ref things (remainder i (vector-length things))) 3))))))
(define things
  (list (make-cat 3 9) (make-kitten 1 9 2) (make-animal 7) (make-stone 100) 'none 4 '() 2.5 \"text\"))
(define (show . things) (write (repeat (list->vector things) 3000)) (newline))
(for-each show things)
(apply show things)
(apply show (reverse things))
(show (car things) (cadr things))
(show (cadr things) (car things) (caddr things))
(write (guard (what (#t 'wrong)) (cat-lives (caddr things))))
(newline)
";

/// A type that is defined again: records of the old one are of another type.
const AGAIN: &str = "
(import (scheme base) (scheme write))
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define (fields p)
  (cond ((point? p) (+ (point-x p) (point-y p))) ((pair? p) 1) ((not (point? p)) 5) (else 7)))
(define (repeat p n sum) (if (= n 0) sum (repeat p (- n 1) (+ sum (fields p)))))
(define old (make-point 1 2))
(write (repeat old 3000 0))
(define (make-types n)
  (define-record-type point (make-point x y) point? (x point-x) (y point-y))
  (define (fields p)
    (cond ((point? p) (+ (point-x p) (point-y p))) ((not (point? p)) 5) (else 7)))
  (let loop ((i 0) (sum 0))
    (if (= i n) sum (loop (+ i 1) (+ sum (fields (make-point i 1)) (fields old))))))
(write (list (make-types 3000) (make-types 3000) (repeat old 3000 0)))
(newline)
";

const MODES: &[&[(&str, &str)]] = &[
    &[("CANNY_SPESH_BLOCKING", "1")],
    &[
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_SPESH_DISABLE", "records"),
    ],
    &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_BLOCKING", "1")],
    &[("CANNY_SPESH_STRESS", "5"), ("CANNY_SPESH_BLOCKING", "1")],
    &[
        ("CANNY_COMPILE_DISABLE", "inline"),
        ("CANNY_SPESH_BLOCKING", "1"),
    ],
    &[
        ("CANNY_SPESH_DISABLE", "inline"),
        ("CANNY_SPESH_BLOCKING", "1"),
    ],
    &[("CANNY_GC_STRESS", "97"), ("CANNY_SPESH_BLOCKING", "1")],
];

#[track_caller]
fn prints_the_same_in_every_mode(text: &str) {
    let expected = program(text).environment("CANNY_JIT", "0").run();
    let expected = expected.exits_with(0).output;
    for mode in MODES {
        let mut run = program(text).environment("CANNY_SPESH_VERIFY", "1");
        for (name, value) in *mode {
            run = run.environment(name, value);
        }
        let output = run.run().exits_with(0).output;
        assert_eq!(output, expected, "{mode:?}");
    }
}

#[test]
fn related_types_are_told_apart_in_every_mode() {
    prints_the_same_in_every_mode(RELATED);
}

#[test]
fn types_of_one_name_are_told_apart_in_every_mode() {
    prints_the_same_in_every_mode(AGAIN);
}

#[test]
fn the_log_says_what_was_retired_and_where() {
    let text = "(import (scheme base) (scheme write))
(define step 1)
(define (grow n)
  (if (= n 0) 0 (+ step (grow (- n 1)))))
(define (repeat n sum) (if (= n 0) sum (repeat (- n 1) (+ sum (grow 50)))))
(display (repeat 2000 0))
(set! step 2)
(display (repeat 2000 0))
(set! step 2.5)
(display (repeat 4000 0))
";
    let run = program(text)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log");
    let path = run.directory.join("log");
    run.run().exits_with(0);
    let log = std::fs::read_to_string(path).expect("there is a log");
    let paragraphs = log.split("\n\n");
    let retired: String = paragraphs
        .filter(|it| it.starts_with("Retired: 'grow'"))
        .collect();
    for part in [
        ".scm:",
        "    Type 0: fixnum",
        "A global variable that it relied on changed.",
        "Its guesses failed too often:",
        " x at ",
    ] {
        assert!(retired.contains(part), "no {part} in {retired}");
    }
}
