//! Assumptions of compiled code about values that come across calls, when they stop being true.
//! Each test is one row of the table in `docs/decisions/specializer.md`, "Assumptions across calls".
//! A program warms up, changes something, and must continue as in the interpreter.

mod support;

use std::fmt::Write;

use support::canny;

/// Modes in which code is compiled at once or never left alone.
const MODES: &[&[(&str, &str)]] = &[
    &[("CANNY_SPESH_BLOCKING", "1")],
    &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_EAGER", "1")],
    &[
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_SPESH_DISABLE", "inline"),
    ],
    &[
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_SPESH_DISABLE", "floats,results"),
    ],
    &[("CANNY_SPESH_BLOCKING", "1"), ("CANNY_SPESH_STRESS", "7")],
    &[
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_GC_STRESS", "199"),
        ("CANNY_GC_POISON", "1"),
    ],
];

const HEAD: &str = "(import (scheme base) (scheme write) (scheme case-lambda))
(define (show . objects)
  (for-each (lambda (object) (write object) (write-char #\\space)) objects)
  (newline))
(define-syntax repeat
  (syntax-rules () ((_ (i count) body ...) (do ((i 0 (+ i 1))) ((= i count)) body ...))))
";

/// Checks that the program does in every mode what it does in the interpreter, and that it printed so
/// many lines there.
#[track_caller]
fn agrees(text: &str, lines: usize) {
    let run = |mode: &[(&str, &str)]| {
        let mut run = canny(&["program.scm"])
            .file("program.scm", format!("{HEAD}{text}"))
            .environment("CANNY_SPESH_VERIFY", "1");
        for (name, value) in mode {
            run = run.environment(name, value);
        }
        let outcome = run.run();
        (outcome.output, outcome.errors, outcome.code)
    };
    let wanted = run(&[("CANNY_JIT", "0")]);
    assert_eq!(wanted.2, Some(0), "{}", wanted.1);
    assert_eq!(wanted.0.lines().count(), lines, "{}", wanted.0);
    for mode in MODES {
        assert_eq!(run(mode), wanted, "{mode:?}");
    }
}

/// Values of every kind that arithmetic, questions and calls tell apart.
const VALUES: &[&str] = &[
    "#f",
    "'()",
    "'(1)",
    "7",
    "(expt 10 30)",
    "1/2",
    "\"text\"",
    "'symbol",
    "#\\c",
    "car",
    "2.5",
    "1e300",
    "(vector 1)",
    "(if #f #f)",
];

/// Programs of a recursion whose value was always `before`, each with one question about that value and
/// one later value.
fn asked(before: &str, questions: &[&str]) -> (String, usize) {
    let mut text = String::new();
    let mut count = 0;
    for question in questions {
        for after in VALUES {
            count += 1;
            let k = count;
            let _ = write!(
                text,
                "(define x{k} {before})
(define (g{k} n) (if (= n 0) x{k} (let ((r (g{k} (- n 1)))) r)))
(define (f{k} n) (let ((r (g{k} 3))) (if {question} n (+ n 1))))
(define (run{k} i n) (if (= i 0) n (run{k} (- i 1) (f{k} n))))
(show (run{k} 1500 0) (begin (set! x{k} {after}) (run{k} 100 0)))
"
            );
        }
    }
    (text, count)
}

#[test]
fn a_flonum_that_is_only_asked_for_its_type() {
    let (text, lines) = asked("1.5", &["r", "(number? r)", "(eqv? r 1.5)"]);
    agrees(&text, lines);
}

#[test]
fn a_flonum_that_is_only_asked_for_other_types() {
    let (text, lines) = asked("1.5", &["(not r)", "(pair? r)", "(exact-integer? r)"]);
    agrees(&text, lines);
}

#[test]
fn a_flonum_that_an_error_is_raised_without() {
    let (text, lines) = asked(
        "1.5",
        &[
            "(guard (e (#t 'caught)) (< r 2))",
            "(if (number? r) #t (guard (e (#t #f)) (error \"no number\" r)))",
        ],
    );
    agrees(&text, lines);
}

#[test]
fn a_fixnum_that_is_only_asked_for_its_type() {
    let (text, lines) = asked("3", &["r", "(number? r)", "(boolean? r)", "(eqv? r 3)"]);
    agrees(&text, lines);
}

#[test]
fn results_that_are_passed_on() {
    // Through tail calls, `apply`, `values`, `map` and escapes, where the flonum is neither boxed nor
    // asked for.
    let mut text = String::new();
    for (k, after) in VALUES.iter().enumerate() {
        let _ = write!(
            text,
            "(define x{k} 1.5)
(define (deep{k} n) (if (= n 0) x{k} (let ((r (deep{k} (- n 1)))) r)))
(define (tail{k} n) (if (> n 0) (tail{k} (- n 1)) (deep{k} 2)))
(define (several{k} n) (call-with-values (lambda () (values n (deep{k} 2))) (lambda (a b) b)))
(define (applied{k} n) (apply deep{k} (list n)))
(define (escaped{k} n) (call/cc (lambda (k) (k (deep{k} n)))))
(define (mapped{k} n) (car (map deep{k} (list n))))
(define (all{k} i yes)
  (if (= i 0)
      yes
      (all{k} (- i 1)
        (map (lambda (f n) (if (f 2) n (+ n 1)))
             (list tail{k} several{k} applied{k} escaped{k} mapped{k}) yes))))
(show (all{k} 600 '(0 0 0 0 0)) (begin (set! x{k} {after}) (all{k} 50 '(0 0 0 0 0))))
(show (tail{k} 3) (several{k} 3) (applied{k} 3) (escaped{k} 3) (mapped{k} 3))
"
        );
    }
    agrees(&text, 2 * VALUES.len());
}

#[test]
fn variables_that_change_while_their_readers_wait() {
    // A reader has read the variable before a call that changes it, and reads it again behind: in the
    // callee, in itself, and at depth.
    let mut text = String::new();
    for (k, after) in VALUES.iter().enumerate() {
        let _ = write!(
            text,
            "(define x{k} 1.5)
(define flips{k} #f)
(define (flip{k} n) (if (and flips{k} (= n 7)) (set! x{k} {after})) n)
(define (kind v) (cond ((and (number? v) (inexact? v)) 'flonum) ((exact-integer? v) 'integer) ((number? v) \
'number) ((pair? v) 'pair)
  ((null? v) 'null) ((not v) 'false) ((string? v) 'string) ((symbol? v) 'symbol) ((char? v) 'char) \
  ((procedure? v) 'procedure)
  ((vector? v) 'vector) (else 'other)))
(define (reader{k} n) (let* ((a (kind x{k})) (m (flip{k} n)) (b (and m (kind x{k})))) (if (eq? a b) a (list \
a b))))
(define (own{k} n) (let ((a (kind x{k}))) (if (and flips{k} (= n 7)) (set! x{k} {after})) (let ((b (kind \
x{k}))) (if (eq? a b) a (list a b)))))
(define (down{k} n) (if (= n 0) (begin (flip{k} 7) (kind x{k})) (let* ((a (kind x{k})) (r (down{k} (- n 1))) \
(b (kind x{k}))) (if (eq? a b) r (list a r b)))))
(repeat (i 1000) (reader{k} i) (own{k} i))
(repeat (i 200) (down{k} 5))
(set! flips{k} #t)
(show (reader{k} 7) (reader{k} 8))
(set! x{k} 1.5)
(show (own{k} 7) (own{k} 8))
(set! x{k} 1.5)
(show (down{k} 5) (down{k} 1))
"
        );
    }
    agrees(&text, 3 * VALUES.len());
}

#[test]
fn places_that_change_while_their_readers_wait() {
    // Fields, elements, parts of pairs, boxes of captured variables: nothing that was loaded holds
    // across a call.
    let mut text = String::from(
        "(define-record-type thing (make-thing a) thing? (a thing-a set-thing-a!))
(define (kind v) (cond ((and (number? v) (inexact? v)) 'flonum) ((number? v) 'number) ((pair? v) 'pair)
  ((not v) 'false) ((string? v) 'string) ((procedure? v) 'procedure) (else 'other)))
(define (two a b) (if (eq? a b) a (list a b)))
",
    );
    for (k, after) in VALUES.iter().enumerate() {
        let _ = write!(
            text,
            "(define t{k} (make-thing 1.5)) (define v{k} (vector 1.5 1)) (define p{k} (list 1.5 1)) (define \
             when{k} -1)
(define c{k} (let ((c 1.5)) (lambda (n) (if (= n when{k}) (set! c {after})) c)))
(define (change{k} n) (if (= n when{k}) (begin (set-thing-a! t{k} {after}) (vector-set! v{k} 0 {after}) \
(set-car! p{k} {after}))) n)
(define (read{k} n)
  (let* ((a (kind (thing-a t{k}))) (b (kind (vector-ref v{k} 0))) (c (kind (car p{k}))) (d (kind (c{k} -2)))
         (m (change{k} n)) (e (c{k} m)))
    (list (kind e) (two a (kind (thing-a t{k}))) (two b (kind (vector-ref v{k} 0))) (two c (kind (car \
    p{k}))) (two d (kind (c{k} -2))))))
(repeat (i 1000) (read{k} i))
(set! when{k} 5)
(show (read{k} 4) (read{k} 5) (read{k} 6))
"
        );
    }
    agrees(&text, VALUES.len());
}

#[test]
fn arguments_that_change_their_kinds() {
    // Links lead to candidates for the kinds that callers passed; a recursion passes its own argument on.
    let mut text = String::new();
    for (k, after) in VALUES.iter().enumerate() {
        let _ = write!(
            text,
            "(define (last{k} n a b) (if (= n 0) (if a b (list a b)) (last{k} (- n 1) b a)))
(define (optional{k} . rest) (if (pair? rest) (car rest) 'none))
(define cases{k} (case-lambda ((a) (if a 1 2)) ((a b) (if b a b)) ((a b . c) (list a b c))))
(define (all{k} a b) (list (last{k} 3 a b) (optional{k} a) (optional{k}) (cases{k} a) (cases{k} b a) \
(cases{k} a b a)))
(repeat (i 1000) (all{k} 1.5 2.5))
(show (all{k} 1.5 {after}) (all{k} {after} 1.5) (all{k} {after} {after}))
"
        );
    }
    agrees(&text, VALUES.len());
}

#[test]
fn procedures_that_are_replaced_while_they_are_called() {
    // The callee, its number of arguments and the kind of its value change below suspended frames.
    let text = "
(define flips #f)
(define (leaf n) (* n 0.5))
(define (middle n) (if (and flips (= n 2)) (set! leaf (lambda (n) (list n)))) (leaf n))
(define (top n) (if (= n 0) 0.0 (let* ((a (middle n)) (b (top (- n 1)))) (if (number? a) (+ a b) (list a \
b)))))
(define (add a b) (+ a b))
(define (sum l) (if (null? l) 0.0 (let ((rest (sum (cdr l)))) (add (car l) rest))))
(repeat (i 2000) (top 5) (sum '(1.5 2.5 3.5)))
(set! flips #t)
(show (top 2) (top 1))
(set! add (lambda (a b) (if (number? b) (list a b) (cons a b))))
(show (sum '(1.5 2.5 3.5)))
(set! add (lambda (a b . c) (vector a b c)))
(show (sum '(1.5 2.5 3.5)))
(set! add 7)
(show (call/cc (lambda (k) (with-exception-handler (lambda (e) (k (error-object? e))) (lambda () (sum '(1.5 \
2.5)))))))
";
    agrees(text, 4);
}

#[test]
fn frames_that_are_entered_again_with_something_else() {
    // Each frame waited for a flonum; continuations give it every kind, also after the code was retired.
    let mut text = String::from(
        "(define resume #f)
(define wants #f)
(define (leaf n) (if (and wants (= n 0)) (call/cc (lambda (k) (set! resume k) 1.5)) 1.5))
(define (walk n) (if (= n 0) (leaf n) (let ((r (walk (- n 1)))) r)))
(define (ask n) (let ((r (walk n))) (list (if r 'yes 'no) (number? r) (if (number? r) (* 2 r) r))))
(define values-left '())
(repeat (i 3000) (ask 4))
(set! wants #t)
(define (next) (if (pair? values-left) (let ((v (car values-left))) (set! values-left (cdr values-left)) \
(resume v))))
",
    );
    let _ = writeln!(text, "(set! values-left (list {}))", VALUES.join(" "));
    text.push_str("(show (ask 4))\n(next)\n");
    agrees(&text, 1 + VALUES.len());
}

#[test]
fn records_of_types_that_are_replaced() {
    // A record stays one of its type, but the value of the type's variable changes.
    let text = "
(define-record-type one (make-one a) one? (a one-a))
(define first-one (make-one 1.5))
(define swaps #f)
(define old-one? one?)
(define (touch n) (if (and swaps (= n 3)) (set! one? (lambda (x) 'replaced))) n)
(define (check x n) (let* ((a (one? x)) (m (touch n)) (b (and m (one? x)))) (list a b (if (old-one? x) \
(one-a x) 'none))))
(repeat (i 2000) (check first-one i) (check 5 i))
(set! swaps #t)
(show (check first-one 2) (check first-one 3) (check 5 3))
(define-record-type one (make-one a b) one? (b one-b) (a one-a))
(define (both x) (list (one-a x) (one-b x)))
(repeat (i 2000) (both (make-one 1 2.5)))
(show (both (make-one 'x 'y)))
(show (call/cc (lambda (k) (with-exception-handler (lambda (e) (k 'no)) (lambda () (both first-one))))))
";
    agrees(text, 3);
}
