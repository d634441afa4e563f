//! Effects of `--spesh-report`, `CANNY_STATISTICS` and the specializer's switches on the whole
//! command.

mod support;

use support::{Outcome, canny};

const PROGRAM: &str = "(import (scheme base) (scheme write))
(define (square x) (* x x))
(define (fib n)
  (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (norms points sum)
  (if (null? points)
      sum
      (norms (cdr points) (+ sum (square (car points))))))
(define (repeat times)
  (unless (= times 0)
    (norms '(1 2 3 4 5) 0)
    (repeat (- times 1))))
(repeat 3000)
(display (fib 24))
(newline)
";

fn run(words: &[&str]) -> Outcome {
    canny(words)
        .file("program.scm", PROGRAM)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .run()
}

#[test]
fn the_report_names_what_was_compiled_and_where_it_is() {
    let outcome = run(&["run", "--spesh-report", "program.scm"])
        .exits_with(0)
        .prints("46368\n")
        .complains("Specializer report")
        .complains("% inlined")
        .complains("bytes of machine code in")
        .complains("program.scm:3")
        .complains("handing logs over");
    let compiled = outcome.errors.lines().find(|line| line.contains("fib"));
    let compiled = compiled.expect("a line about fib");
    assert!(
        compiled.contains("fixnum") && compiled.contains("in use"),
        "{compiled}"
    );
    for line in outcome.errors.lines() {
        assert!(line.chars().count() <= 120, "{line}");
    }
}

#[test]
fn the_report_comes_on_every_way_out() {
    canny(&["--spesh-report", "-e", "(exit 3)"])
        .run()
        .exits_with(3)
        .complains("ended before it had filled a log");
    canny(&["--spesh-report", "-e", "(car 1)"])
        .run()
        .exits_with(70)
        .complains("ended before it had filled a log");
    run(&["--spesh-report", "--no-jit", "program.scm"])
        .exits_with(0)
        .complains("The specializer is off");
}

#[test]
fn nothing_is_told_unless_asked_for() {
    let outcome = run(&["run", "program.scm"]).exits_with(0);
    assert_eq!(outcome.errors, "");
}

#[test]
fn plans_beyond_the_limit_are_told() {
    canny(&["--spesh-report", "program.scm"])
        .file("program.scm", PROGRAM)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LIMIT", "0")
        .run()
        .exits_with(0)
        .prints("46368\n")
        .complains("Compiled: nothing")
        .complains("CANNY_SPESH_LIMIT is reached");
}

#[test]
fn passes_are_turned_off_by_name() {
    let run = |passes: &str| {
        canny(&["--spesh-report", "program.scm"])
            .file("program.scm", PROGRAM)
            .environment("CANNY_SPESH_BLOCKING", "1")
            .environment("CANNY_SPESH_DISABLE", passes)
            .run()
    };
    run("inline,number")
        .exits_with(0)
        .prints("46368\n")
        .complains("0 calls in them inlined");
    run("inline,nonsense").exits_with(64).complains(
        "CANNY_SPESH_DISABLE: there is no pass 'nonsense'; the passes are inline, number",
    );
}

#[test]
fn statistics_go_to_a_file() {
    let text = |program: &str| {
        let run = canny(&["-e", program]).environment("CANNY_STATISTICS", "statistics");
        let path = run.directory.join("statistics");
        run.run().exits_with(0);
        std::fs::read_to_string(path).expect("the file was written")
    };
    let allocated = |program: &str| {
        let text = text(program);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("bytes-allocated "));
        let number = line.expect("the line is there").parse::<u64>();
        number.expect("it is a number")
    };
    let more = allocated("(vector-length (make-vector 1000000 0))");
    let less = allocated("(vector-length (make-vector 1000 0))");
    assert!(more > less + 7_900_000, "{more} against {less}");
    assert!(text("1").contains("\ncollections 0\n"));
}
