//! The depths that the specializer's statistics say, held against those that the programs have.
//!
//! A program is run with a log. The greatest depth that the log says of a procedure may be below the
//! true one, since compiled code logs nothing, but never above it. Programs have a few frames below the
//! ones that a test is about: the program's body, and what runs that.

mod support;

use support::{program, root};

/// Frames that may be below a program's own, and machine procedures above.
const AROUND: u32 = 4;

/// Returns the specializer's log of a program.
fn log_of(text: &str, output: &str) -> String {
    let run = program(text)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log")
        .environment("CANNY_COMPILE_DISABLE", "inline");
    let path = run.directory.join("log");
    run.run().exits_with(0).prints(output);
    std::fs::read_to_string(path).expect("there is a log")
}

/// The greatest depths in a log: of a procedure, or of all.
fn depth_of(log: &str, name: Option<&str>) -> u32 {
    let mut is_wanted = name.is_none();
    let mut greatest = 0;
    for line in log.lines() {
        if let (Some(name), Some(title)) = (name, line.strip_prefix("Latest statistics for ")) {
            is_wanted = title.starts_with(&format!("'{name}'"));
        }
        if let Some(depth) = line.trim().strip_prefix("Maximum stack depth: ")
            && is_wanted
        {
            greatest = greatest.max(depth.parse().expect("a depth is a number"));
        }
    }
    greatest
}

#[test]
fn recursions_are_as_deep_as_they_are() {
    let log = log_of(
        "(import (scheme base) (scheme write))
         (define (down n) (if (= n 0) 0 (+ 1 (down (- n 1)))))
         (define (repeat i sum) (if (= i 0) sum (repeat (- i 1) (+ sum (down 40)))))
         (display (repeat 1000 0))",
        "40000",
    );
    let depth = depth_of(&log, Some("down"));
    assert!((41..=41 + AROUND).contains(&depth), "{depth}");
}

#[test]
fn deep_recursions_are_known_to_the_end() {
    let log = log_of(
        "(import (scheme base) (scheme write))
         (define (down n) (if (= n 0) 0 (+ 1 (down (- n 1)))))
         (display (down 1500))
         (display (down 1500))",
        "15001500",
    );
    let depth = depth_of(&log, Some("down"));
    assert!(depth <= 1501 + AROUND, "{depth}");
}

#[test]
fn tail_calls_do_not_deepen_the_stack() {
    let log = log_of(
        "(import (scheme base) (scheme write))
         (define (even n) (if (= n 0) #t (odd (- n 1))))
         (define (odd n) (if (= n 0) #f (even (- n 1))))
         (define (repeat i found)
           (if (= i 0) found (repeat (- i 1) (if (even i) (+ found 1) found))))
         (display (repeat 400 0))",
        "200",
    );
    let depth = depth_of(&log, Some("even"));
    assert!((1..=1 + AROUND).contains(&depth), "{depth}");
    assert!(depth_of(&log, Some("odd")) <= 1 + AROUND);
}

#[test]
fn escapes_and_errors_leave_no_frames_behind() {
    let log = log_of(
        "(import (scheme base) (scheme write))
         (define (deep n k) (if (= n 0) (k 1) (+ 1 (deep (- n 1) k))))
         (define (escape n) (call/cc (lambda (k) (deep n k))))
         (define (fail n) (if (= n 0) (raise 'there) (+ 1 (fail (- n 1)))))
         (define (guarded n) (guard (what (#t 1)) (fail n)))
         (define (repeat i sum)
           (if (= i 0) sum (repeat (- i 1) (+ sum (escape 5) (guarded 5)))))
         (display (repeat 3000 0))",
        "6000",
    );
    let deep = depth_of(&log, Some("deep"));
    assert!((6..=10 + AROUND).contains(&deep), "{deep}");
    let all = depth_of(&log, None);
    assert!(all <= 30, "{all}");
}

#[test]
fn continuations_that_are_entered_again_have_the_depth_that_they_had() {
    let log = log_of(
        "(import (scheme base) (scheme write))
         (define (walk n yield) (if (= n 0) (yield 1) (+ 0 (walk (- n 1) yield))))
         (define (generator)
           (define return #f)
           (define (yield x)
             (call/cc (lambda (k) (set! resume k) (return x))))
           (define (run x) (walk 5 yield) (run x))
           (define resume run)
           (lambda () (call/cc (lambda (k) (set! return k) (resume 0)))))
         (define next (generator))
         (define (repeat i sum) (if (= i 0) sum (repeat (- i 1) (+ sum (next)))))
         (display (repeat 2000 0))",
        "2000",
    );
    let all = depth_of(&log, None);
    assert!(all <= 30, "{all}");
}

#[test]
fn generic_functions_are_called_from_a_loop() {
    let text = std::fs::read_to_string(root().join("benches/generic.scm")).expect("it is there");
    let text = text
        .replace("40000000", "40000")
        .replace("20000000", "20000");
    let log = log_of(&text, "1190000\n");
    let all = depth_of(&log, None);
    assert!(all > 0 && all < 10, "{all}");
}
