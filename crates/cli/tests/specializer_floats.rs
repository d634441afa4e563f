//! Flonums passed and returned unboxed, and fixnums returned, between procedures that the specializer
//! compiled while the program ran.

mod support;

use support::canny;

const HEAD: &str = "(import (scheme base) (scheme write))
(define (show . objects)
  (for-each (lambda (object) (write object) (write-char #\\space)) objects)
  (newline))
";

/// Checks the output however code is compiled and left; gives the log of the plain run.
#[track_caller]
fn check(text: &str, output: &str) -> String {
    let run = |variables: &[(&str, &str)]| {
        let mut run = canny(&["program.scm"])
            .file("program.scm", format!("{HEAD}{text}"))
            .environment("CANNY_SPESH_BLOCKING", "1")
            .environment("CANNY_SPESH_VERIFY", "1")
            .environment("CANNY_SPESH_LOG", "log");
        for (name, value) in variables {
            run = run.environment(name, value);
        }
        let path = run.directory.join("log");
        run.run().exits_with(0).prints(output);
        std::fs::read_to_string(path).expect("there is a log")
    };
    for variables in [
        &[("CANNY_SPESH_DISABLE", "floats")][..],
        &[
            ("CANNY_SPESH_DISABLE", "inline"),
            ("CANNY_SPESH_EAGER", "1"),
        ],
        &[("CANNY_SPESH_EAGER", "1"), ("CANNY_SPESH_STRESS", "3")],
        &[
            ("CANNY_SPESH_EAGER", "1"),
            ("CANNY_GC_STRESS", "23"),
            ("CANNY_GC_POISON", "1"),
        ],
    ] {
        let log = run(variables);
        assert!(!log.contains("internal error"), "{log}");
        assert!(!log.contains("the graph is wrong"), "{log}");
    }
    run(&[])
}

#[test]
fn flonums_go_through_a_recursion_that_gets_other_numbers_too() {
    // Some results are fixnums, and some arguments; large flonums are objects.
    let text = "
(define (sum n x)
  (if (< n 1)
      x
      (let ((left (sum (- n 1) (* x 0.5))) (right (sum (- n 2) (+ x 1.0))))
        (if (< left right) (- (+ left right) x) (+ (* left 0.25) right)))))
(show (sum 16 0.5))
(show (sum 10 1) (sum 9 3/2) (sum 4 1e300) (sum 12 -0.0))
(define (count-down n x) (if (< n 1) (if (> x 0.5) x 7) (+ (count-down (- n 1) (- x 0.001)) 0.5)))
(show (count-down 400 100.0))
(do ((i 0 (+ i 1))) ((= i 300)) (count-down 40 (* i 1.0)))
(show (count-down 400 100.0) (count-down 400 0.7))";
    let output = "8.112654994969944 \n\
         5.385936975479126 5.192248344421387 -9.375e+299 7.115108966827393 \n\
         299.5999999999981 \n\
         299.5999999999981 207.0 \n";
    let log = check(text, output);
    assert!(log.contains("FloatSlot("), "{log}");
    assert!(log.contains("FloatResult("), "{log}");
}

#[test]
fn callees_that_change_return_something_else() {
    // The link leads elsewhere each time, and callers that expected flonums get other numbers.
    let text = "
(define (step x) (let loop ((i 0) (s x)) (if (< i 3) (loop (+ i 1) (+ (* s 0.5) 1.0)) s)))
(define (run n x)
  (let loop ((i 0) (s 0.0))
    (if (< i n) (loop (+ i 1) (+ s (step (+ x s)))) s)))
(define (spread n x) (if (< n 1) (run 3 x) (+ (spread (- n 1) (* x 0.5)) (spread (- n 1) (* x 0.25)))))
(show (spread 10 1.0))
(set! step (lambda (x) (if (vector? x) x (exact (floor x)))))
(show (spread 10 1.0))
(set! step (lambda (x) (* x 1/2)))
(show (spread 10 1.0))
(set! step (lambda (x) (string->number \"1e300\")))
(show (spread 10 1.0))";
    let output = "6076.0238672513515 \n\
         0.0 \n\
         0.13374459743499756 \n\
         3.072e+303 \n";
    let log = check(text, output);
    assert!(log.contains("FloatSlot("), "{log}");
    assert!(log.contains("FloatResult("), "{log}");
}

#[test]
fn a_continuation_brings_another_value_back() {
    // Frames that wait for a double are entered again with words.
    let text = "
(define resume #f)
(define (leaf n x)
  (if (and (= n 0) (> x 90.0))
      (call-with-current-continuation (lambda (k) (set! resume k) x))
      (* x 0.5)))
(define (walk n x y)
  (if (< n 1)
      (leaf n x)
      (+ (walk (- n 1) (+ x 1.0) y) (* (walk (- n 1) x (+ y 2.0)) y))))
(define total 0.0)
(do ((i 0 (+ i 1))) ((= i 200)) (set! total (+ total (walk 5 (* i 0.25) 1e-3))))
(show total)
(define times 0)
(show (walk 4 95.0 0.25))
(set! times (+ times 1))
(cond ((= times 1) (resume 1.5))
      ((= times 2) (resume 10))
      ((= times 3) (resume 1e300))
      ((= times 4) (resume 1/3)))
(show times)";
    let output = "4850.64140543769 \n\
         2861.80859375 \n\
         1464.787109375 \n\
         1591.7890625 \n\
         1.494140625e+301 \n\
         1447.35546875 \n\
         5 \n";
    let log = check(text, output);
    assert!(log.contains("FloatSlot("), "{log}");
    assert!(log.contains("FloatResult("), "{log}");
}

#[test]
fn arguments_of_several_kinds_keep_their_places() {
    // More arguments than registers, of which some are doubles for some calls.
    let text = "
(define (mix a b c d e f)
  (if (< a 1)
      (vector b c d e f)
      (let ((inner (mix (- a 1) (+ b 1.0) (+ c 1) (* d 0.5) (list e) (* f 2.0))))
        (vector-set! inner 0 (+ (vector-ref inner 0) b))
        inner)))
(define (weigh a b c d e f)
  (if (< c 1) (+ (* a 1.0) (* b 2.0) (* d 3.0) (* e 4.0) f)
      (- (weigh (* a 0.5) (+ b 1.0) (- c 1) d (+ e 0.25) (- f 1.0))
         (weigh b a (- c 2) e d f))))
(show (mix 5 0.5 1 1e300 'x 0.125))
(do ((i 0 (+ i 1))) ((= i 500)) (mix 4 (* i 0.5) i 0.5 i (* i 1e299)))
(show (mix 5 0.5 1 1e300 'x 0.125) (mix 3 1 2 3 4 5))
(show (weigh 1.0 2.0 14 3.0 4.0 5.0))
(show (weigh 1.0 2.0 14 3.0 4.0 5.0) (weigh 1 2 14 3 4 5) (weigh 1.0 2 9 3.0 4 5))";
    let output = "#(18.0 6 3.125e+298 (((((x))))) 4.0) \n\
         #(18.0 6 3.125e+298 (((((x))))) 4.0) #(10.0 5 0.375 (((4))) 40.0) \n\
         923.8132934570312 \n\
         923.8132934570312 923.8132934570312 72.556640625 \n";
    let log = check(text, output);
    assert!(log.contains("FloatSlot("), "{log}");
    assert!(log.contains("FloatResult("), "{log}");
}

#[test]
fn tail_calls_pass_doubles_on() {
    // In frames of their callers, and to procedures that only look at them.
    let text = "
(define (ping n x y) (if (= n 0) (- x y) (pong (- n 1) (+ y 1.0) x)))
(define (pong n x y) (if (= n 0) (list x y) (ping (- n 1) (* y 0.999) (+ x 0.5))))
(show (ping 200000 1.0 2.0))
(show (ping 200001 1.0 2.0) (ping 7 1 2) (pong 100001 1 2.0))
(define (identity x) (if (eq? x 'never) (identity 'never) x))
(define (sum l) (let loop ((l l) (s 0.0)) (if (pair? l) (loop (cdr l) (+ s (identity (car l)))) s)))
(define numbers (let loop ((i 0) (l '())) (if (= i 1000) l (loop (+ i 1) (cons (* i 0.5) l)))))
(do ((i 0 (+ i 1))) ((= i 50)) (sum numbers))
(show (sum numbers) (sum '(1 2 3.5)) (sum '(1e300 1/2)))";
    let output = "-150002.0 \n\
         (150003.0 3.538527688343134e-44) (7.5 0.997002999) -75001.5 \n\
         249750.0 6.5 1.0e+300 \n";
    let log = check(text, output);
    assert!(log.contains("FloatSlot("), "{log}");
}

#[test]
fn results_that_are_fixnums_are_asked_behind_their_calls() {
    // Others are a symbol, flonums and large integers.
    let text = "
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (tak x y z) (if (not (< y x)) z (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))))
(define (odd-result n) (if (< n 1) (if (= n 0) 1 'end) (+ 1 (odd-result (- n 2)))))
(show (list (fib 24) (tak 14 9 4) (odd-result 400)))
(show (list (guard (e (#t 'caught)) (odd-result 401)) (fib 20) (tak 12 8. 3) (fib 10.)))
(define (big n) (if (< n 1) 1 (* n (big (- n 1)))))
(show (list (big 10) (big 30)))
(do ((i 0 (+ i 1))) ((= i 300)) (big 12) (guard (e (#t 0)) (odd-result (+ 60 i))))
(show (list (big 12) (big 40)))";
    let output = "(46368 9 201) \n\
         (caught 6765 4.0 55.0) \n\
         (3628800 265252859812191058636308480000000) \n\
         (479001600 815915283247897734345611269596115894272000000000) \n";
    let log = check(text, output);
    assert!(
        log.contains("graph of fib, called with r0: fixnum"),
        "{log}"
    );
}

#[test]
fn a_sum_of_two_numbers_that_are_likely_flonums_is_exact_if_both_are_fixnums() {
    let text = "
(define (f n a b)
  (if (< n 1)
      (+ b b)
      (f (- n 1) n (letrec ((g (lambda (n) (if (> n 0) (g (- n 1)) a)))) (g 3)))))
(do ((i 0 (+ i 1))) ((= i 300)) (f 4 1.5 1e300))
(show (f 4 1.5 1e300))";
    check(text, "4 \n");
}
