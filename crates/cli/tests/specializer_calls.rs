//! Calls that enter several procedures, in code that the specializer compiled while the program ran.

mod support;

use support::{Outcome, canny};

const HEAD: &str = "(import (scheme base) (scheme write))
(define (show . objects)
  (for-each (lambda (object) (write object) (write-char #\\space)) objects)
  (newline))
";

/// Runs a program and gives what the specializer wrote down, too.
fn run(text: &str, variables: &[(&str, &str)]) -> (Outcome, String) {
    let mut run = canny(&["program.scm"])
        .file("program.scm", format!("{HEAD}{text}"))
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log");
    for (name, value) in variables {
        run = run.environment(name, value);
    }
    let path = run.directory.join("log");
    let outcome = run.run();
    let log = std::fs::read_to_string(path).expect("there is a log");
    (outcome, log)
}

/// Checks the output however code is compiled and left; gives the log of the plain run.
#[track_caller]
fn check(text: &str, output: &str) -> String {
    for variables in [
        &[("CANNY_SPESH_DISABLE", "polymorphic")][..],
        &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_STRESS", "3")],
        &[("CANNY_SPESH_EAGER", "1"), ("CANNY_GC_STRESS", "23")],
    ] {
        run(text, variables).0.exits_with(0).prints(output);
    }
    let (outcome, log) = run(text, &[]);
    outcome.exits_with(0).prints(output);
    log
}

/// Questions for a closure's code that branch.
fn questions(log: &str) -> usize {
    let asks = |line: &&str| line.trim_start().starts_with("if Test(ClosureOf(");
    log.lines().filter(asks).count()
}

#[test]
fn closures_of_two_codes_are_told_apart_where_they_are_called() {
    let text = "
(define (scale k) (lambda (x) (* k x)))
(define (shift k) (lambda (x) (+ k x)))
(define functions (vector (scale 3) (shift 4) (scale 5) (shift 6)))
(define (run n)
  (let loop ((i 0) (x 0))
    (if (= i n) x
        (loop (+ i 1) (modulo ((vector-ref functions (modulo i 4)) x) 1009)))))
(show (run 7) (run 8000))";
    let log = check(text, "410 801 \n");
    assert!(questions(&log) >= 2, "{log}");
    let (_, log) = run(text, &[("CANNY_SPESH_DISABLE", "polymorphic")]);
    assert_eq!(questions(&log), 0, "{log}");
}

#[test]
fn a_call_of_many_codes_asks_nothing() {
    let text = "
(define functions
  (vector (lambda (x) (+ x 1)) (lambda (x) (+ x 2)) (lambda (x) (+ x 3)) (lambda (x) (+ x 4))
          (lambda (x) (* x 3)) (lambda (x) (- x 6)) (lambda (x) (- x 7)) (lambda (x) (- x 8))
          (lambda (x) (- x 9)) (lambda (x) (* x 5)) (lambda (x) (- x 1)) (lambda (x) (* x 2))))
(define (run n)
  (let loop ((i 0) (x 0))
    (if (= i n) x
        (loop (+ i 1) (modulo ((vector-ref functions (modulo i 12)) x) 1009)))))
(show (run 12) (run 6000))";
    let log = check(text, "1007 554 \n");
    assert_eq!(questions(&log), 0, "{log}");
}

#[test]
fn what_comes_later_is_called_as_well() {
    // Two procedures at first, which is what is compiled; then one more, a primitive, and an error.
    let log = check(
        "
(define (step f x) (modulo (+ 1 (f x)) 1009))
(define (twice f x) (f (f x)))
(define (run fs n x)
  (if (= n 0) x
      (run (append (cdr fs) (list (car fs))) (- n 1) (twice (car fs) (step (car fs) x)))))
(define (one x) (+ x 1))
(define (two x) (* x 2))
(define (three x) (- x 3))
(show (run (list one two) 3000 1))
(show (run (list one three two) 3000 1))
(show (run (list one abs two -) 9 1))
(show (guard (e (#t 'no-procedure)) (run (list one 'two) 9 1)))",
        "628 \n1256 \n369 \nno-procedure \n",
    );
    assert!(questions(&log) >= 2, "{log}");
}

#[test]
fn continuations_and_errors_pass_through_what_was_copied() {
    check(
        "
(define saved #f)
(define (plain x) (+ x 1))
(define (capturing x) (call/cc (lambda (k) (set! saved k) (+ x 2))))
(define (failing x) (if (= (modulo x 50) 0) (raise x) (+ x 3)))
(define (run fs n)
  (let loop ((i 0) (fs fs) (all 0))
    (if (= i n) all
        (loop (+ i 1)
              (append (cdr fs) (list (car fs)))
              (+ all (guard (e (#t (- e))) ((car fs) i)))))))
(define again 3)
(define total (run (list plain failing capturing) 2000))
(show total)
(unless (= again 0)
  (set! again (- again 1))
  (saved (* again 1000)))",
        "1976961 \n1976962 \n1975962 \n1974962 \n",
    );
}

#[test]
fn literal_keywords_find_their_places_in_procedures_that_are_not_called_by_name() {
    let text = "
(import (only (canny base) define* lambda*))
(define* (area width #:optional (height 2) #:key (scale 1) (shift (* 2 scale)) . rest)
  (+ (* width height scale) shift (length rest)))
(define procedures (vector area))
(define (run n last)
  (let loop ((i 0) (sum 0))
    (if (= i n)
        (list sum ((vector-ref procedures 0) last #:scale i) ((vector-ref procedures 0) 3 last))
        (let ((area (vector-ref procedures 0)))
          (loop (+ i 1)
                (+ sum (area i) (area i 7) (area i 5 #:shift i) (area i #:shift 1 #:scale 3 #:shift 4)))))))
(show (run 10 2) (run 4000 1) (run 5 1/2))
(define key '#:scale)
(define (vary key)
  (let loop ((i 0) (sum 0))
    (if (= i 3000) sum (loop (+ i 1) (+ sum ((vector-ref procedures 0) i key 2))))))
(show (vary key) (vary 0.5) (vary 9))
(vector-set! procedures 0 (lambda* (#:key (scale 0)) scale))
(show (guard (e (#t (error-object-message e))) (run 3 2)))";
    let log = check(
        text,
        "(1105 62 8) (168022000 16002 5) (290 17 7/2) \n\
         18012000 2258250.0 40495500 \n\
         \"an argument where a keyword is expected\" \n",
    );
    let graph = log.split("graph of run").nth(1).expect("run was compiled");
    let graph = graph.split("\n\n").next().unwrap_or_default();
    assert!(!graph.contains("keyword-entry"), "{graph}");
}
