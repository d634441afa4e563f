//! Limits and interruptions: nothing makes the command crash, and what was printed is kept.

mod support;

use std::io::Read;
use std::process::Stdio;

use support::{Canny, canny, program};

fn with_options(options: &[&str], text: &str) -> Canny {
    let words: Vec<&str> = options.iter().copied().chain(["program.scm"]).collect();
    canny(&words).file("program.scm", text)
}

const IMPORTS: &str = "(import (scheme base) (scheme write))\n";

#[test]
fn a_million_frames_are_nothing_special() {
    let text = "(define (depth n) (if (= n 0) 0 (+ 1 (depth (- n 1)))))\n(display (depth 1000000))";
    program(format!("{IMPORTS}{text}"))
        .run()
        .exits_with(0)
        .prints("1000000");
}

#[test]
fn runaway_recursion_is_a_condition() {
    let text =
        format!("{IMPORTS}(display \"before\")\n(define (run n) (+ 1 (run (+ n 1))))\n(run 0)");
    with_options(&["--stack-limit", "16M"], &text)
        .run()
        .exits_with(70)
        .prints("before")
        .complains("program.scm:3:")
        .complains("stack limit")
        .complains("in run at");
}

#[test]
fn a_program_can_handle_runaway_recursion() {
    let text = format!(
        "{IMPORTS}(define (run n) (+ 1 (run (+ n 1))))\n\
         (define (try) (guard (e (#t (error-object? e))) (run 0)))\n\
         (display (list (try) (try) (try)))"
    );
    with_options(&["--stack-limit", "16M"], &text)
        .run()
        .exits_with(0)
        .prints("(#t #t #t)");
    // The default limit, with its gigabyte of frames.
    program(text).run().exits_with(0).prints("(#t #t #t)");
}

/// Runs a program with little stack; `(run 0)` overflows it.
fn with_little_stack(text: &str) -> Canny {
    let text = format!(
        "{IMPORTS}(define (run n) (+ 1 (run (+ n 1))))\n\
         (define-syntax tried (syntax-rules () ((_ e) (display (guard (x (#t (error-object? x))) e)))))\n\
         {text}"
    );
    with_options(&["--stack-limit", "16M"], &text)
}

#[test]
fn recursion_that_captures_at_every_step_meets_the_limit() {
    with_little_stack(
        "(define (capture n) (call/cc (lambda (k) (+ 1 (capture (+ n 1))))))\n\
         (define (guarded n) (guard (e ((string? e) 1)) (+ 1 (guarded (+ n 1)))))\n\
         (tried (capture 0)) (tried (guarded 0)) (tried (capture 0)) (tried (run 0))",
    )
    .run()
    .exits_with(0)
    .prints("#t#t#t#t");
}

/// Nothing is captured for the case that no clause takes it, so the heap need not hold the stack.
#[test]
fn a_guard_without_else_takes_a_stack_that_the_heap_has_no_room_for() {
    canny(&["--heap-limit", "16M", "program.scm"])
        .file(
            "program.scm",
            "(import (scheme base) (scheme write))
(define (deep n) (+ 1 (deep (+ n 1))))
(write (guard (e ((string? e) 'string) ((error-object? e) 'condition)) (deep 0)))
",
        )
        .run()
        .prints("condition");
}

#[test]
fn handlers_of_the_stack_limit_may_overflow_too() {
    with_little_stack(
        "(tried (with-exception-handler (lambda (e) (run 0)) (lambda () (run 0))))\n\
         (tried (dynamic-wind (lambda () #f) (lambda () (run 0)) (lambda () (tried (run 0)))))\n\
         (define (layers n) (with-exception-handler raise (lambda () (+ 1 (layers (+ n 1))))))\n\
         (tried (layers 0))\n\
         (define (wound n) (dynamic-wind (lambda () #f) (lambda () (+ 1 (wound (+ n 1)))) (lambda () #f)))\n\
         (tried (wound 0)) (tried (run 0))",
    )
    .run()
    .exits_with(0)
    .prints("#t#t#t#t#t#t");
}

#[test]
fn handlers_that_overflow_without_end_end_the_program() {
    with_little_stack(
        "(display \"kept\")\n\
         (define (bad) (with-exception-handler (lambda (e) (bad)) (lambda () (run 0))))\n(bad)",
    )
    .run()
    .exits_with(70)
    .prints("kept")
    .complains("too deep");
}

#[test]
fn the_heap_limit_can_be_met_in_a_handler() {
    let text = format!(
        "{IMPORTS}(define (fill) (let loop ((list '())) (loop (cons 1 list))))\n\
         (display (guard (e (#t (error-object? e)))\n\
           (with-exception-handler (lambda (e) (display 1) (fill)) (lambda () (fill)))))\n\
         (display (guard (e (#t (error-object? e)))\n\
           (dynamic-wind (lambda () #f) fill (lambda () (display 2)))))\n\
         (display (length (make-list 100000 0)))"
    );
    with_options(&["--heap-limit", "64M"], &text)
        .run()
        .exits_with(0)
        .prints("1#t2#t100000");
}

#[test]
fn the_heap_limit_is_a_condition() {
    let text =
        format!("{IMPORTS}(display \"before\")\n(let loop ((list '()))\n  (loop (cons 1 list)))");
    with_options(&["--heap-limit", "64M"], &text)
        .run()
        .exits_with(70)
        .prints("before")
        .complains("program.scm:")
        .complains("heap limit");
}

#[test]
fn a_program_can_handle_the_heap_limit() {
    let text = format!(
        "{IMPORTS}(define (fill) (let loop ((list '())) (loop (cons 1 list))))\n\
         (define (try) (guard (e (#t (error-object? e))) (fill)))\n\
         (display (list (try) (try)))\n\
         (display (guard (e (#t 'refused)) (vector-length (make-vector 1000000000 0))))\n\
         (display (length (make-list 100000 0)))"
    );
    with_options(&["--heap-limit", "64M"], &text)
        .run()
        .exits_with(0)
        .prints("(#t #t)refused100000");
}

/// Data that ports hold in memory counts for the limit, and unreachable ports are freed.
#[test]
fn ports_in_memory_stop_at_the_heap_limit() {
    let text = format!(
        "{IMPORTS}(define (what thunk) (guard (e ((error-object? e) (error-object-message e))) (thunk)))
(define text (make-string 1000 #\\x))
(define (endless port) (let loop () (write-string text port) (loop)))
(write (what (lambda () (endless (open-output-string)))))
(newline)
(write (what (lambda ()
  (let ((port (open-output-string))) (let loop () (write-char #\\x port) (loop))))))
(newline)
(write (what (lambda ()
  (let ((port (open-output-bytevector))) (let loop () (write-u8 1 port) (loop))))))
(newline)
(write (what (lambda ()
  (let ((port (open-output-bytevector)) (bytes (make-bytevector 100000 1)))
    (let loop () (write-bytevector bytes port) (loop))))))
(newline)
;; A gigabyte in ports that are dropped.
(let loop ((n 0))
  (if (< n 1000)
      (let ((port (open-output-string)))
        (let fill ((n 0)) (if (< n 1000) (begin (write-string text port) (fill (+ n 1)))))
        (loop (+ n 1)))))
(let ((port (open-output-string)))
  (let fill ((n 0)) (if (< n 10000) (begin (write-string text port) (fill (+ n 1)))))
  (write (string-length (get-output-string port))))"
    );
    let full = "\"the heap limit does not allow a port to hold more\"\n";
    with_options(&["--heap-limit", "64M"], &text)
        .run()
        .exits_with(0)
        .prints(&format!("{}10000000", full.repeat(4)));
}

/// A limit that is met where something is locked does not leave it locked.
#[test]
fn the_stack_limit_leaves_nothing_locked() {
    let text = "(import (scheme base) (scheme write) (canny channels))
(define channel (make-channel 10))
(define (deep n)
  (channel-send! channel n)
  (channel-receive channel)
  (+ 1 (deep (+ n 1))))
(define (deeper k) (if (= k 0) (deep 0) (+ 1 (deeper (- k 1)))))
(let loop ((k 0))
  (if (< k 40)
      (begin
        (guard (object (#t #f)) (deeper k))
        (channel-try-receive channel)
        (channel-send! channel 1)
        (channel-receive channel)
        (loop (+ k 1)))))
(display \"done\")";
    with_options(&["--stack-limit", "1M"], text)
        .run()
        .exits_with(0)
        .prints("done");
}

#[test]
fn deeply_nested_data_can_be_read_written_and_compared() {
    let text = "(import (scheme base) (scheme read) (scheme write))\n\
         (define depth 200000)\n\
         (define text (string-append (make-string depth #\\() (make-string depth #\\))))\n\
         (define a (read (open-input-string text)))\n\
         (define b (read (open-input-string text)))\n\
         (display (equal? a b))\n\
         (define port (open-output-string))\n\
         (write a port)\n\
         (display (string=? (get-output-string port) text))";
    program(text).run().exits_with(0).prints("#t#t");
}

#[test]
fn two_hundred_thousand_open_parentheses_are_an_error() {
    let outcome = program("(".repeat(200_000)).run().exits_with(65);
    assert!(
        outcome.errors.contains("program.scm:1:"),
        "{}",
        &outcome.errors[..200]
    );
}

#[test]
fn two_hundred_thousand_nested_quotations_are_a_program() {
    let text = format!(
        "{IMPORTS}(define x '{}{})\n(display (pair? x))",
        "(".repeat(200_000),
        ")".repeat(200_000)
    );
    program(text).run().exits_with(0).prints("#t");
}

#[test]
fn deeply_nested_code_runs_or_is_refused() {
    let text = format!(
        "{IMPORTS}(display {}1{})",
        "(+ 1 ".repeat(200_000),
        ")".repeat(200_000)
    );
    let outcome = program(text).run();
    match outcome.code {
        Some(0) => assert_eq!(outcome.output, "200001"),
        Some(65) => assert!(
            outcome.errors.contains("program.scm:"),
            "{}",
            outcome.errors
        ),
        _ => panic!(
            "{:?}: {}",
            outcome.code,
            &outcome.errors[..outcome.errors.len().min(500)]
        ),
    }
}

#[test]
fn huge_literals_are_read() {
    let digits = "9".repeat(100_000);
    let text = format!("{IMPORTS}(define n {digits})\n(display (= (+ n 1) (expt 10 100000)))");
    program(text).run().exits_with(0).prints("#t");
    let string = "x".repeat(1_000_000);
    let text = format!("{IMPORTS}(display (string-length \"{string}\"))");
    program(text).run().exits_with(0).prints("1000000");
}

#[test]
fn a_closed_pipe_on_standard_output_ends_quietly() {
    let text = format!(
        "{IMPORTS}(let loop ((i 0))\n  (display \"line \")\n  (display i)\n  (newline)\n  (loop (+ i 1)))"
    );
    let mut command = program(text).command();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("canny starts");
    let mut first = [0; 7];
    let mut pipe = child.stdout.take().expect("it was piped");
    pipe.read_exact(&mut first).expect("the first line comes");
    assert_eq!(&first, b"line 0\n");
    drop(pipe);
    let status = support::wait(&mut child).expect("it ends when nobody reads");
    assert!(!status.success());
    let mut errors = String::new();
    child
        .stderr
        .take()
        .expect("it was piped")
        .read_to_string(&mut errors)
        .expect("messages are UTF-8");
    assert!(!errors.contains("panicked"), "{errors}");
}

/// Starts the program, waits for its `ready` and interrupts it.
fn interrupted(text: &str) -> support::Outcome {
    let text = format!("{IMPORTS}{text}");
    let mut running = program(text).start();
    running.wait_for_output("ready");
    running.signal("INT");
    running.wait()
}

/// Operations that take minutes and have no safepoint of their own.
#[test]
fn long_operations_can_be_interrupted() {
    let operations = [
        "(expt 7 100000000)",
        "(let loop ((n large)) (loop (* n n)))",
        "(quotient (* large large large) (- (* large large) 3))",
        "(exact-integer-sqrt (* large large large))",
        "(number->string (* large large))",
        "(write (* large large) (open-output-string))",
        "(string->number (make-string 100000000 #\\7))",
        "(pbkdf2 'sha-256 \"password\" (bytevector 1 2 3) 4000000000 32)",
    ];
    for operation in operations {
        let text = format!(
            "(import (canny base) (canny crypto))\n(define large (- (expt 2 100000000) 1))\n\
             (display \"ready\")\n(flush-output-port)\n{operation}\n(display \"ended\")"
        );
        interrupted(&text)
            .exits_with(130)
            .prints("ready")
            .complains("interrupted");
    }
}

#[test]
fn control_c_ends_a_loop() {
    interrupted("(display \"ready\")\n(flush-output-port)\n(let loop ((i 0)) (loop (+ i 1)))")
        .exits_with(130)
        .prints("ready");
}

#[test]
fn control_c_ends_a_loop_of_calls() {
    interrupted(
        "(define (even n) (if (= n 0) #t (odd (- n 1))))\n\
         (define (odd n) (if (= n 0) #f (even (- n 1))))\n\
         (display \"ready\")\n(flush-output-port)\n\
         (define (forever) (even 1000000) (forever))\n(forever)",
    )
    .exits_with(130);
}

#[test]
fn control_c_ends_a_primitive_that_waits() {
    let text = format!("{IMPORTS}(display \"ready\")\n(flush-output-port)\n(read-line)");
    let mut command = program(text).command();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("canny starts");
    let mut ready = [0; 5];
    let mut output = child.stdout.take().expect("it was piped");
    output.read_exact(&mut ready).expect("it gets ready");
    let kill = std::process::Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(kill.success());
    let status = support::wait(&mut child).expect("the interrupt ends the wait");
    assert_eq!(status.code(), Some(130));
}

#[test]
fn control_c_ends_a_long_primitive() {
    interrupted(
        "(display \"ready\")\n(flush-output-port)\n\
         (define big (expt 7 3000000))\n\
         (let loop ((n big)) (loop (quotient (* n n) big)))",
    )
    .exits_with(130);
}

#[test]
fn output_is_kept_when_control_c_comes() {
    interrupted(
        "(display \"ready\")\n(flush-output-port)\n(display \", and this too\")\n\
         (let loop ((i 0)) (loop (+ i 1)))",
    )
    .exits_with(130)
    .prints("ready, and this too");
}
