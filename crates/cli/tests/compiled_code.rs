//! Compiled code in its dealings with everything else: the interpreter, the collector, continuations,
//! errors, interrupts, and variables that change. Programs compile chosen procedures themselves, so
//! nothing depends on what runs often; each program runs also with a collection at every allocation.

mod support;

use support::{Outcome, canny};

const HEAD: &str = "(import (scheme base) (scheme write) (scheme eval)
  (only (canny primitives) %specialize %specialized? %unspecialize))
(define (must-specialize . procedures)
  (for-each
   (lambda (procedure)
     (let ((answer (%specialize procedure)))
       (unless (eq? answer #t) (error \"not compiled\" procedure answer))))
   procedures))
(define (show . objects)
  (for-each (lambda (object) (write object) (write-char #\\space)) objects)
  (newline))
";

/// Runs a program without the worker, so that only what it names is compiled.
fn run(text: &str, every: &str) -> Outcome {
    canny(&["--no-jit", "program.scm"])
        .file("program.scm", format!("{HEAD}{text}"))
        .environment("CANNY_GC_STRESS", every)
        .environment("CANNY_GC_VERIFY", if every == "0" { "0" } else { "1" })
        .environment("CANNY_GC_POISON", "1")
        .run()
}

#[track_caller]
fn check(text: &str, output: &str) {
    for every in ["0", "1", "7"] {
        run(text, every).exits_with(0).prints(output);
    }
}

#[test]
fn calls_between_the_tiers() {
    check(
        "(define (each f n) (if (= n 0) '() (cons (f n) (each f (- n 1)))))
         (define (square n) (* n n))
         (define (back n) (each (lambda (m) (+ m n)) 2))
         (define (optional a . rest) (if (null? rest) (list a) rest))
         (must-specialize each)
         (show (each square 5) (each back 3) (each optional 2))
         (must-specialize square)
         (show (each square 5) (map square '(1 2.5 1/2 10000000000)))
         (show (each optional 2) (apply optional '(1 2 3)) (each (lambda (n) (optional n n)) 2))
         (show (each number->string 3) (each (each (lambda (n) car) 1) 0))",
        "(25 16 9 4 1) ((5 4) (4 3) (3 2)) ((2) (1)) \n\
         (25 16 9 4 1) (1 6.25 1/4 100000000000000000000) \n\
         ((2) (1)) (2 3) ((2) (1)) \n\
         (\"3\" \"2\" \"1\") () \n",
    );
}

#[test]
fn deep_recursion() {
    check(
        "(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
         (define (build n) (if (= n 0) '() (cons n (build (- n 1)))))
         (must-specialize deep build)
         (show (deep 5000) (apply + (build 1000)))",
        "5000 500500 \n",
    );
    run(
        "(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
         (define (build n) (if (= n 0) '() (cons n (build (- n 1)))))
         (must-specialize deep build)
         (show (deep 1000000) (length (build 1000000)))",
        "0",
    )
    .exits_with(0)
    .prints("1000000 1000000 \n");
}

#[test]
fn an_error_inside_has_its_backtrace() {
    let outcome = run(
        "(define (inner x) (+ 1 (car x)))
(define (outer x)
  (let ((y (inner x)))
    (+ y 1)))
(must-specialize inner outer)
(show (outer '(1)))
(show (guard (e (#t (error-object-message e))) (outer 5)))
(outer 7)",
        "0",
    )
    .exits_with(70)
    .prints("3 \n\"argument 1 is not a pair\" \n")
    .complains("car: argument 1 is not a pair: 7");
    let frames: Vec<&str> = outcome
        .errors
        .lines()
        .filter_map(|line| line.strip_prefix("  in "))
        .collect();
    assert_eq!(
        frames,
        [
            "inner at program.scm:12:24",
            "outer at program.scm:14:12",
            "the program at program.scm:19:1"
        ],
        "{outcome:#?}"
    );
}

#[test]
fn a_continuation_below_compiled_frames_is_entered_again() {
    check(
        "(define k #f)
         (define count 0)
         (define (grab n) (call/cc (lambda (c) (set! k c) n)))
         (define (sum n) (if (= n 0) (grab 100) (+ n (sum (- n 1)))))
         (must-specialize sum grab)
         (define (test)
           (let ((value (sum 200)))
             (show value)
             (set! count (+ count 1))
             (if (< count 4) (k (* 100000 count)) 'done)))
         (show (test))",
        "20200 \n120100 \n220100 \n320100 \ndone \n",
    );
}

#[test]
fn generators_stay_compiled() {
    check(
        "(define return #f)
         (define (walk tree visit)
           (cond ((null? tree) 'done)
                 ((pair? tree) (walk (car tree) visit) (walk (cdr tree) visit))
                 (else (visit tree))))
         (define (make tree)
           (define resume
             (lambda (ignored)
               (walk tree (lambda (leaf)
                            (call/cc (lambda (rest) (set! resume rest) (return leaf)))))
               (return 'end)))
           (lambda () (call/cc (lambda (back) (set! return back) (resume #f)))))
         (must-specialize walk)
         (define next (make '((1 (2)) (((3))) 4)))
         (define a (next)) (define b (next)) (define c (next)) (define d (next)) (define e (next))
         (show a b c d e (%specialized? walk))",
        "1 2 3 4 end #t \n",
    );
}

#[test]
fn code_is_retired_while_frames_of_it_are_suspended() {
    check(
        "(define (down n)
           (if (= n 0) (begin (%unspecialize down) (%unspecialize down-too) 0) (+ 1 (down-too (- n 1)))))
         (define (down-too n) (if (= n 0) 0 (+ 1 (down (- n 1)))))
         (must-specialize down down-too)
         (show (%specialized? down) (down 1000) (%specialized? down) (down 1000))",
        "#t 1000 #f 1000 \n",
    );
}

#[test]
fn code_that_relies_on_a_variable_is_retired_by_the_change() {
    check(
        "(define step 1)
         (define (next n) (+ n step))
         (define (bump! n) (set! step n))
         (define (sum i total)
           (if (= i 0) total (begin (if (= i 5) (bump! 100)) (sum (- i 1) (next total)))))
         (must-specialize next sum)
         (show (sum 10 0) (sum 10 0))",
        "505 1000 \n",
    );
    // The running code itself relies on what it changes.
    check(
        "(define step 1)
         (define (change n)
           (set! step n)
           (let ((first (+ step 1)))
             (set! step 7)
             (+ first step)))
         (must-specialize change)
         (show (change 1) step (change 2) step)
         (must-specialize change)
         (show (change 3) (change 4))",
        "9 7 10 7 \n11 12 \n",
    );
    // So does a frame below.
    check(
        "(define operation (lambda (x) (* x 2)))
         (define (use n)
           (if (= n 0)
               (begin (set! operation (lambda (x) (* x 3))) 0)
               (let ((rest (use (- n 1)))) (+ rest (operation n)))))
         (must-specialize use)
         (show (use 4) (use 4))",
        "30 30 \n",
    );
}

#[test]
fn calls_of_known_code_follow_it_when_it_comes_and_goes() {
    // Six arguments, of which four are in registers; too deep to be copied whole.
    check(
        "(define (ping n a b c d e)
           (if (= n 0) (list a b c d e) (pong (- n 1) b c d (cons n e) a)))
         (define (pong n a b c d e)
           (if (= n 0)
               (list 'pong e d c b a)
               (let ((rest (ping (- n 1) b c d e a))) (if (= n 38) (cons (list n a b c d e) rest) rest))))
         (define (run) (ping 101 '() (list 1.5) (list 'x) (list #\\y) (list \"z\")))
         (define wanted (run))
         (define (right?) (equal? (run) wanted))
         (must-specialize ping)
         (show (length wanted) (right?))
         (must-specialize pong)
         (show (right?))
         (%unspecialize ping)
         (show (%specialized? ping) (right?))
         (must-specialize ping)
         (show (%specialized? ping) (right?))
         (%unspecialize pong)
         (show (right?))
         (%unspecialize ping)
         (show (right?))",
        "7 #t \n#t \n#f #t \n#t #t \n#t \n#t \n",
    );
    // The callee is redefined below frames that called it directly.
    check(
        "(define (step n total)
           (cond ((= n 0) total)
                 ((= n 50) (set! other (lambda (n total) (list 'new n total))) (other (- n 1) (+ total 1000)))
                 (else (let ((value (other (- n 1) (+ total n)))) value))))
         (define (other n total)
           (if (odd? n) (step n (+ total 1)) (let ((value (step n total))) value)))
         (must-specialize step other)
         (show (step 90 0) (step 3 0))",
        "(new 49 3840) (new 2 3) \n",
    );
}

#[test]
fn a_definition_at_the_prompt_replaces_one_that_code_relies_on() {
    check(
        "(define world (environment '(scheme base) '(canny primitives)))
         (define (in-world form) (eval form (interaction)))
         (define interaction
           (let ((place (eval '(interaction-environment) world))) (lambda () place)))
         (in-world '(define (twice x) (* 2 x)))
         (in-world '(define (use x) (+ 1 (twice x))))
         (show ((in-world 'use) 5))
         (must-specialize (in-world 'use))
         (show ((in-world 'use) 5) (%specialized? (in-world 'use)))
         (in-world '(define (twice x) (* 20 x)))
         (show ((in-world 'use) 5))",
        "11 \n11 #t \n101 \n",
    );
}

#[test]
fn wrong_guesses_give_the_code_up() {
    check(
        "(define (add x y) (+ x y))
         (define table (list add))
         (define (repeat n x) (if (= n 0) 'done (begin ((car table) x x) (repeat (- n 1) x))))
         (must-specialize add)
         (repeat 150 1)
         (show (%specialized? add))
         (repeat 60 1/2)
         (show (%specialized? add))
         (repeat 60 1/2)
         (show (%specialized? add) ((car table) 1/2 1))
         (must-specialize add)
         (repeat 150 1/2)
         (show (%specialized? add) ((car table) 1/2 1))",
        "#t \n#t \n#f 3/2 \n#t 3/2 \n",
    );
}

#[test]
fn a_stack_overflow_in_compiled_code_is_a_condition() {
    run(
        "(define (forever n) (+ 1 (forever (+ n 1))))
         (must-specialize forever)
         (define (try) (guard (e (#t (error-object-message e))) (forever 0)))
         (show (try))
         (show (try) (%specialized? forever))",
        "0",
    )
    .exits_with(0)
    .prints(
        "\"recursion is too deep: the stack limit is exceeded\" \n\
         \"recursion is too deep: the stack limit is exceeded\" #t \n",
    );
}

#[test]
fn a_running_loop_is_entered() {
    check(
        "(define (sum-to n) (let loop ((i 0) (s 0)) (if (< i n) (loop (+ i 1) (+ s i)) s)))
         (define table (list sum-to))
         (show ((car table) 10) (%specialize sum-to 0) (%specialize sum-to 1))
         (show ((car table) 1000) ((car table) 1000.5) ((car table) 10))
         (define (nested n)
           (let outer ((i 0) (total 0))
             (if (= i n)
                 total
                 (let inner ((j 0) (total total))
                   (if (= j n) (outer (+ i 1) total) (inner (+ j 1) (+ total (* i j))))))))
         (show (%specialize nested 0) (%specialize nested 1))
         (show ((car (list nested)) 20))",
        "45 #t \"there are 1 loops\" \n499500 500500 45 \n#t #t \n36100 \n",
    );
}

#[test]
fn compiled_loops_can_be_interrupted() {
    for spin in [
        "(define (spin i) (if (< i 0) i (spin (+ i 1)))) (must-specialize spin) (define (start) (spin 0))",
        "(define (spin i) (let loop ((i i)) (if (< i 0) i (loop (+ i 1))))) (%specialize spin 0)
         (define (start) ((car (list spin)) 0))",
        "(define (ping i) (pong (+ i 1))) (define (pong i) (ping (+ i 1)))
         (must-specialize ping pong) (define (start) (ping 0))",
        "(define (fill l) (fill (cons 1 (if (null? (cdr l)) l (cdr l))))) (must-specialize fill)
         (define (start) (fill (list 1 2)))",
    ] {
        let mut running = canny(&["--no-jit", "program.scm"])
            .file(
                "program.scm",
                format!("{HEAD}{spin} (display \"ready\") (flush-output-port) (start)"),
            )
            .start();
        running.wait_for_output("ready");
        std::thread::sleep(std::time::Duration::from_millis(50));
        running.signal("INT");
        running.wait().exits_with(130).complains("interrupted");
    }
}

#[test]
fn allocation_in_compiled_code_is_collected() {
    run(
        "(define (churn n kept)
           (if (= n 0) kept (churn (- n 1) (if (= 0 (remainder n 1000)) (cons n kept) (cdr (cons n kept))))))
         (define (floats n x) (if (= n 0) x (floats (- n 1) (* x 0.5))))
         (must-specialize churn floats)
         (show (length (churn 3000000 '())) (floats 1000 1.0))",
        "0",
    )
    .exits_with(0)
    .prints("3000 9.332636185032189e-302 \n");
}

#[test]
fn many_ways_behind_calls_meet_in_pieces_that_are_compiled_once() {
    check(
        "(define (pick n) (if (odd? n) n (inexact n)))
         (define (many a b c)
           (let* ((x (if (> a 1) (pick a) b))
                  (y (if (> b 1) (pick b) (* x 1.5)))
                  (z (if (> c 1) (pick (+ c 1)) (+ x y)))
                  (all (list x y z a b c)))
             (let loop ((i 0) (sum 0) (float 0.5))
               (if (< i 5)
                   (let ((next (if (even? i) (pick i) (+ i 1))))
                     (loop (+ i 1) (+ sum next x) (* float 2.0)))
                   (list sum float x y z all)))))
         (must-specialize many)
         (show (many 0 0 0) (many 3 4 5) (many 2 1 9))
         (show (many 5 6 7))",
        "(12.0 16.0 0 0.0 0.0 (0 0.0 0.0 0 0 0)) (27.0 16.0 3 4.0 6.0 (3 4.0 6.0 3 4 5)) \
         (22.0 16.0 2.0 3.0 10.0 (2.0 3.0 10.0 2 1 9)) \n\
         (37.0 16.0 5 6.0 8.0 (5 6.0 8.0 5 6 7)) \n",
    );
}

/// A snapshot of such a loop holds until the variable changes, which is at once. It was made in vain
/// then, log after log, and the loop was interpreted.
#[test]
fn a_hot_loop_that_changes_a_variable_of_the_program_is_compiled() {
    let text = "(import (scheme base) (scheme write))
(define last 0)
(define (wait n) (let loop ((i 0) (r #f)) (if (< i n) (loop (+ i 1) i) r)))
(define (count n)
  (let outer ((k 0) (r #f))
    (if (< k n) (outer (+ k 1) (do ((i 0 (+ i 1))) ((= i 100) last) (set! last i))) r)))
(define (repeat procedure n k)
  (if (> k 0) (begin (procedure n) (repeat procedure n (- k 1)))))
(repeat wait 2000000 10)
(repeat count 100000 10)
(display last)";
    let run = canny(&["--spesh-report", "program.scm"]).file("program.scm", text);
    let outcome = run.run().exits_with(0).prints("99");
    let mut lines = outcome.errors.lines();
    let line = lines.find(|line| line.contains("loop in count"));
    let line = line.expect("it was compiled");
    assert!(
        line.contains("entered") && !line.contains("entered 0"),
        "{line}"
    );
}
