//! Programs that are hard on the specializer: code that is redefined, evaluated again and again,
//! huge, deep, or never twice the same. Results have to be right, memory bounded, and the log has
//! to tell.
//!
//! The programs are small here. By hand they were run larger, compiled and interpreted (time, peak
//! memory), with the same output:
//!
//! | program | size | compiled | interpreted |
//! |---|---|---|---|
//! | redefinitions | 100,000 | 7.6 s, 32 MB (25,000: 32 MB) | 6.4 s, 24 MB |
//! | evaluations of a loop | 100,000 | 3.2 s, 35 MB (25,000: 35 MB) | 4.0 s, 22 MB |
//! | the same, all compiled | 40,000 | 12.5 s, 86 MB (20,000: 85 MB) | |
//! | many callees, many types | 6,000,000 calls | 0.26 s, 29 MB | 0.39 s, 24 MB |
//! | types that flip | 9 times 1,000,000 | 0.39 s, 29 MB | 0.46 s, 24 MB |
//! | chains of 500 calls | 400,000 times | 0.52 s, 19 MB, 0.7 MB of code | 1.42 s, 12 MB |
//! | 107,083 words of bytecode, a `case` of 9,000 | 300 runs | 0.66 s, 87 MB | 0.65 s, 80 MB |
//! | 300 arguments | 20,000 calls | 0.34 s, 41 MB | 0.33 s, 26 MB |

mod support;

use std::fmt::Write;

use support::{Outcome, canny};

/// A program of which the figures of the report are wanted.
struct Report(Outcome);

impl Report {
    /// A number of bytes in the report's line about memory: the one before these words.
    fn memory(&self, words: &str) -> usize {
        let line = |line: &&str| line.trim_start().starts_with("memory ");
        let line = self.0.errors.lines().find(line);
        let line = line.unwrap_or_else(|| panic!("no memory in {:#?}", self.0));
        let before = line.split(words).next().expect("there is a first part");
        let mut words = before.split_whitespace().rev();
        let unit = words.next().expect("a unit");
        let number: f64 = words
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or_else(|| panic!("no number in `{line}`"));
        match unit {
            "kB" => (number * 1e3) as usize,
            "bytes" => number as usize,
            _ => panic!("no unit in `{line}`"),
        }
    }

    fn in_use(&self) -> usize {
        self.memory(" of both now")
    }

    fn retired(&self) -> usize {
        self.memory(" of that retired")
    }

    fn freed(&self) -> usize {
        self.memory(" freed in")
    }
}

/// Runs a program that compiles what it names, in so much memory for code.
fn compiled_by_hand(text: &str, code_bytes: usize, stress: &str) -> Report {
    let head = "(import (scheme base) (scheme write) (scheme eval)
      (only (canny primitives) %specialize %unspecialize collect-garbage))
    (define (must-specialize procedure)
      (let ((answer (%specialize procedure)))
        (unless (eq? answer #t) (error \"not compiled\" procedure answer))))
    (define (show . objects)
      (for-each (lambda (object) (write object) (write-char #\\space)) objects)
      (newline))
    ;; Fills freed memory with other code: whoever still goes there goes wrong.
    (define (fill)
      (do ((i 0 (+ i 1))) ((= i 20))
        (let ((f (eval '(lambda (a b c)
                          (list (vector a b c) (+ a 1) (* b 2) (- c 3)
                                (map (lambda (x) (+ x a)) (list a b c))
                                (vector-map (lambda (x) (* x x)) (vector a b c))))
                       (environment '(scheme base)))))
          (must-specialize f)
          (f 1 2 3)
          (%unspecialize f)))
      (collect-garbage))\n";
    let outcome = canny(&["--no-jit", "--spesh-report", "program.scm"])
        .file("program.scm", format!("{head}{text}"))
        .environment("CANNY_SPESH_CODE_BYTES", code_bytes.to_string())
        .environment("CANNY_GC_STRESS", stress)
        .environment("CANNY_GC_VERIFY", if stress == "0" { "0" } else { "1" })
        .environment("CANNY_GC_POISON", "1")
        .run();
    Report(outcome.exits_with(0))
}

#[test]
fn a_generator_in_retired_code_is_entered_again_and_again() {
    let text = "
(define (make tree)
  (define return #f)
  (define (walk tree)
    (cond ((null? tree) 'done)
          ((pair? tree) (walk (car tree)) (walk (cdr tree)))
          (else (call/cc (lambda (rest) (set! resume rest) (return tree))))))
  (define resume (lambda (ignored) (walk tree) (return 'end)))
  (must-specialize walk)
  (let ((next (lambda () (call/cc (lambda (back) (set! return back) (resume #f))))))
    (cons next (lambda () (%unspecialize walk)))))
(define generator (make '((1 (2)) (((3))) 4)))
(define next (car generator))
(define a (next))
((cdr generator))
(fill)
(define b (next))
(fill)
(define c (next))
(show a b c (next) (next))";
    for stress in ["0", "7"] {
        let report = compiled_by_hand(text, 64 << 10, stress);
        assert_eq!(report.0.output, "1 2 3 4 end \n", "{:#?}", report.0);
        assert!(report.freed() > 64 << 10, "{:#?}", report.0);
    }
}

#[test]
fn a_continuation_in_retired_code_is_entered_twice() {
    let text = "
(define k #f)
(define count 0)
(define (grab n) (call/cc (lambda (c) (set! k c) n)))
(define (sum n) (if (= n 0) (grab 100) (+ n (sum (- n 1)))))
(must-specialize sum)
(define (test)
  (let ((value (sum 200)))
    (%unspecialize sum)
    (fill)
    (show value)
    (set! count (+ count 1))
    (if (< count 4) (k (* 100000 count)) 'done)))
(show (test))
(set! k #f)
(fill)";
    for stress in ["0", "7"] {
        let report = compiled_by_hand(text, 64 << 10, stress);
        let output = "20200 \n120100 \n220100 \n320100 \ndone \n";
        assert_eq!(report.0.output, output, "{:#?}", report.0);
        assert!(report.freed() > 64 << 10, "{:#?}", report.0);
    }
}

#[test]
fn frames_on_the_stack_keep_their_retired_code() {
    let text = "
(define (deep n) (if (= n 0) (begin (%unspecialize deep) (fill) (fill) 0) (+ 1 (deep (- n 1)))))
(must-specialize deep)
(show (deep 5000))
(fill)";
    for stress in ["0", "7"] {
        let report = compiled_by_hand(text, 64 << 10, stress);
        assert_eq!(report.0.output, "5000 \n", "{:#?}", report.0);
        // A stale word on the native stack may keep one.
        assert!(report.retired() < 4096, "{:#?}", report.0);
        assert_eq!(report.in_use(), report.retired(), "{:#?}", report.0);
    }
}

/// Runs a program with the worker, whose log is given as well.
fn run(text: &str, environment: &[(&str, &str)]) -> (Report, String) {
    let mut run = canny(&["--spesh-report", "program.scm"])
        .file("program.scm", text)
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log");
    for (name, value) in environment {
        run = run.environment(name, value);
    }
    let path = run.directory.join("log");
    let outcome = run.run().exits_with(0);
    let log = std::fs::read_to_string(path).unwrap_or_default();
    (Report(outcome), log)
}

/// The same, and interpreted; the output has to be the same.
#[track_caller]
fn check(text: &str, environment: &[(&str, &str)], output: &str) -> (Report, String) {
    canny(&["--no-jit", "program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(0)
        .prints(output);
    let (report, log) = run(text, environment);
    assert_eq!(report.0.output, output, "{:#?}", report.0);
    (report, log)
}

/// A procedure is defined anew, compiled and run, so many times.
fn redefinitions(times: usize) -> String {
    format!(
        "(import (scheme base) (scheme write) (scheme eval) (scheme repl))
(define here (interaction-environment))
(define (run i)
  (eval `(define (f x) (if (< x 2) ,i (+ (f (- x 1)) 1))) here)
  (eval `(define (g k s) (if (= k 0) s (g (- k 1) (+ s (f 8))))) here)
  (eval '(g 40 0) here))
(let loop ((i 0) (sum 0))
  (if (< i {times}) (loop (+ i 1) (+ sum (run i))) (begin (display sum) (newline))))"
    )
}

#[test]
fn code_that_is_redefined_is_freed() {
    let (report, log) = check(
        &redefinitions(600),
        &[("CANNY_SPESH_CODE_BYTES", "65536")],
        "7356000\n",
    );
    assert!(report.freed() > 200_000, "{:#?}", report.0);
    assert!(report.in_use() <= 98_304, "{:#?}", report.0);
    assert!(!log.contains("used up"), "{:#?}", report.0);
}

#[test]
fn code_that_calls_what_is_redefined_goes_on_with_the_new_definition() {
    check(
        "(import (scheme base) (scheme write) (scheme eval) (scheme repl))
(define here (interaction-environment))
(eval '(define (step x) (+ x 1)) here)
(eval '(define (run n x) (if (= n 0) x (run (- n 1) (step x)))) here)
(let loop ((i 0) (sum 0))
  (if (= i 40)
      (begin (display sum) (newline))
      (begin
        (eval (if (even? i) '(define (step x) (+ x 2)) '(set! step (lambda (x) (- x 1)))) here)
        (loop (+ i 1) (+ sum (eval '(run 2000 0) here))))))",
        &[],
        "40000\n",
    );
}

#[test]
fn evaluating_in_a_loop_leaks_nothing() {
    // Each loop is compiled, and dies with the code around it.
    let text = |times: usize| {
        format!(
            "(import (scheme base) (scheme write) (scheme eval) (only (canny base) collect-garbage))
(define here (environment '(scheme base)))
(define (run i) (eval `(let loop ((k 0) (s 0)) (if (= k 300) s (loop (+ k 1) (+ s ,i)))) here))
(let loop ((i 0) (sum 0))
  (when (= (modulo i 500) 0) (collect-garbage))
  (if (< i {times}) (loop (+ i 1) (+ sum (run i))) (begin (display sum) (newline))))"
        )
    };
    let environment = [
        ("CANNY_SPESH_CODE_BYTES", "262144"),
        ("CANNY_SPESH_EAGER", "1"),
    ];
    let (report, log) = check(&text(3000), &environment, "1349550000\n");
    assert!(report.freed() > 400_000, "{:#?}", report.0);
    assert!(report.in_use() < 393_216, "{:#?}", report.0);
    assert!(!log.contains("used up"), "{log}");
}

#[test]
fn a_call_site_with_too_many_callees_and_an_operation_with_too_many_types() {
    let (_, log) = check(
        "(import (scheme base) (scheme write))
(define callees
  (let loop ((i 0) (all '()))
    (if (= i 64)
        (list->vector all)
        (loop (+ i 1)
              (cons (case (modulo i 4)
                      ((0) (lambda (x) (+ x i)))
                      ((1) (lambda (x) (list i)))
                      ((2) (lambda (x) (string-length (number->string i))))
                      (else (lambda (x) (* x 0.5))))
                    all)))))
(define (any x)
  (cond ((number? x) (if (exact? x) x (exact (truncate x)))) ((pair? x) (car x)) (else 0)))
(define (storm n)
  (let loop ((i 0) (sum 0))
    (if (= i n)
        sum
        (loop (+ i 1) (+ sum (any ((vector-ref callees (modulo (* i 7) 64)) i)))))))
(define-record-type thing (make-thing x) thing? (x thing-x))
(define things
  (vector 1 2.5 1/2 'a \"b\" #\\c '(1) (make-thing 1) (vector 1) #t '() (expt 10 20) car (bytevector 1)))
(define (kind x)
  (cond ((exact-integer? x) 1) ((pair? x) 2) ((string? x) 3) ((vector? x) 4) ((thing? x) (thing-x x))
        ((procedure? x) 6) ((number? x) 7) ((symbol? x) 8) (else 9)))
(define (kinds n)
  (let loop ((i 0) (sum 0))
    (if (= i n) sum (loop (+ i 1) (+ sum (kind (vector-ref things (modulo i 14))))))))
(write (list (storm 20000) (kinds 20000)))",
        &[],
        "(75304375 108566)",
    );
    assert!(log.contains("Plan of"), "{log}");
}

#[test]
fn types_that_flip() {
    let (report, log) = check(
        "(import (scheme base) (scheme write))
(define (step x y) (if (< x y) (+ x y) (- x y)))
(define (phase x y n)
  (let loop ((i 0) (last x))
    (if (= i n) last (loop (+ i 1) (step (if (< last y) y x) last)))))
(define (run i)
  (case (modulo i 3)
    ((0) (phase 1 2 3000))
    ((1) (phase 1.5 2.5 3000))
    (else (phase 1/2 5/2 3000))))
(let loop ((i 0) (all '()))
  (if (< i 30) (loop (+ i 1) (cons (run i) all)) (begin (write all) (newline))))",
        &[],
        &format!("({})\n", ["1/2 1.5 1"; 10].join(" ")),
    );
    // Every change of types may cost a candidate, but not without end.
    let compiled = log.matches("installed").count();
    assert!(compiled < 40, "{compiled} compiled, {:#?}", report.0);
}

#[test]
fn deep_chains_of_calls_are_inlined_within_bounds() {
    let mut text = String::from(
        "(import (scheme base) (scheme write))\n(define (f0 x) (+ x 1))\n(define (g0 x) (+ x 1))\n(define \
         (h0 x) (+ x 1))\n",
    );
    for (i, before) in (1..=120).zip(0..) {
        let _ = writeln!(text, "(define (f{i} x) (f{before} (+ x 1)))");
        let _ = writeln!(text, "(define (g{i} x) (+ 1 (g{before} x)))");
        if i <= 12 {
            let _ = writeln!(
                text,
                "(define (h{i} x) (+ (h{before} x) (h{before} (+ x 1))))"
            );
        }
    }
    text.push_str(
        "(define (repeat n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (f120 i) (g120 i))))))\n\
         (write (list (repeat 1500) (h12 1)))",
    );
    let (report, _) = check(&text, &[], "(2611500 32768)");
    // 250 procedures, each with a bounded part of what it calls.
    assert!(report.in_use() < 3_000_000, "{:#?}", report.0);
}

/// A procedure of so many sequential parts, and a `case` of so many clauses.
fn huge(parts: usize, clauses: usize) -> String {
    let mut text = String::from(
        "(import (scheme base) (scheme write))\n(define counter 0)\n\
         (define (bump! x) (set! counter (+ counter x)))\n(define v (vector 1 2 3 4 5 6 7 8))\n(define (flat \
         a b)\n",
    );
    for i in 1..=parts {
        let _ = match i % 4 {
            0 => writeln!(text, "  (bump! {i})"),
            1 => writeln!(text, "  (set! a (+ a {i}))"),
            2 => writeln!(text, "  (if (< a b) (set! b (- b 1)) (bump! a))"),
            _ => writeln!(text, "  (set! b (+ b (vector-ref v {})))", i % 8),
        };
    }
    text.push_str("  (list a b))\n(define (choose x)\n  (case x\n");
    for i in 1..=clauses {
        let _ = writeln!(text, "    (({i}) {})", 3 * i);
    }
    let _ = write!(
        text,
        "    (else 0)))
(define (run n) (let loop ((i 0) (last #f)) (if (= i n) last (loop (+ i 1) (flat i 0)))))
(write (run 20))
(write counter)
(write (let loop ((i 0) (s 0)) (if (= i {}) s (loop (+ i 1) (+ s (choose (modulo i {})))))))",
        20 * clauses,
        2 * clauses
    );
    text
}

#[test]
fn huge_procedures_are_compiled_or_refused() {
    // Bytecode above the limit is never compiled and below it, with little code, still is.
    let eager = [("CANNY_SPESH_EAGER", "1")];
    let (report, log) = check(
        &huge(16_000, 900),
        &eager,
        "(31996019 24000)85413424000012163500",
    );
    report.0.complains("too large");
    let chosen = |line: &&str| line.starts_with("Candidate") && line.contains("'choose'");
    let chosen = log.lines().find(chosen).expect("a line about `choose`");
    assert!(chosen.contains("installed"), "{chosen}");
    assert!(log.len() < 4_000_000, "{} bytes of log", log.len());
}

#[test]
fn three_hundred_arguments() {
    let names = |from: usize| -> String { (from..=300).map(|i| format!("p{i} ")).collect() };
    let numbers = |from: usize| -> String { (from..=300).map(|i| format!("{i} ")).collect() };
    let sums: String = (1..=300).map(|i| format!("(+ i {i}) ")).collect();
    let text = format!(
        "(import (scheme base) (scheme write))
(define (many {all}) (if (< p1 0) (list {all}) (+ p1 p300 p150)))
(define (rest a . more) (+ a (length more)))
(define (loop i s) (if (= i 2000) s (loop (+ i 1) (+ s (many {sums}) (rest {sums})))))
(define (self {all}) (if (= p1 0) (+ p2 p300) (self (- p1 1) {tail})))
(write (list (loop 0 0) (self 2000 {numbers}) (apply many (vector->list (make-vector 300 2)))))",
        all = names(1),
        tail = names(2),
        numbers = numbers(2),
    );
    check(&text, &[], "(9498000 302 6)");
}

#[test]
fn code_memory_that_is_used_up_is_told_and_nothing_else_changes() {
    let mut text = String::from("(import (scheme base) (scheme write))\n");
    for i in 0..100 {
        let _ = writeln!(
            text,
            "(define (f{i} x l) (if (null? l) (+ x {i}) (f{i} (+ x (* (car l) {i})) (cdr l))))"
        );
    }
    text.push_str(
        "(define numbers '(1 2 3 4 5 6 7 8))\n(define (run n s)\n  (if (= n 0) s (run (- n 1) (+ s",
    );
    for i in 0..100 {
        let _ = write!(text, " (f{i} n numbers)");
    }
    text.push_str("))))\n(write (run 300 0))");
    let small = [("CANNY_SPESH_CODE_BYTES", "16384")];
    let (report, log) = check(&text, &small, "59460000");
    assert!(report.in_use() <= 24_576, "{:#?}", report.0);
    assert!(
        log.contains("the memory for machine code is used up"),
        "{log}"
    );
    report.0.complains("the memory for machine code is used up");
}

#[test]
fn checks_that_fail_before_a_loop_go_back_into_it() {
    // With no iteration nothing asks what the table is.
    let text = "(import (scheme base) (scheme write))
(define table (vector 1 2 3 4 5 6 7 8))
(define sum-table #f)
(set! sum-table
  (lambda (from to)
    (do ((i from (+ i 1)) (sum 0 (+ sum (vector-ref table i)))) ((= i to) sum))))
(define (many n from to)
  (do ((i 0 (+ i 1)) (sum 0 (+ sum (sum-table from to)))) ((= i n) sum)))
(display (many 20000 0 8))
(newline)
(set! table 'none)
(display (many 20000 3 3))
(newline)
(set! table (vector 1 2 3 4 5 6 7 8))
(display (many 20000 0 8))
(newline)";
    let (report, log) = check(text, &[], "720000\n0\n720000\n");
    let graphs: Vec<&str> = log
        .split("graph of sum-table,")
        .skip(1)
        .map(|rest| {
            rest.split("Candidate")
                .next()
                .expect("there is a first part")
        })
        .collect();
    let is_asked_before = |graph: &str| {
        let guard = graph.find("Guard(Kind(Vector)").expect("the check");
        guard < graph.find(": loop").expect("the loop")
    };
    assert!(graphs.len() >= 2, "{:#?}", report.0);
    assert!(is_asked_before(graphs[0]), "{}", graphs[0]);
    let last = graphs[graphs.len() - 1];
    assert!(!is_asked_before(last), "{last}");
}
