//! Programs run on the reference interpreter, with and without the optimizer.

mod support;

use canny_compiler::disassemble::disassemble_unit;
use canny_compiler::optimize;
use support::{compile, machine};

/// Compiles and runs a program; checks what it displays followed by its value.
#[track_caller]
fn check(text: &str, expected: &str) {
    for passes in [optimize::Options::none(), optimize::Options::default()] {
        let compilation = compile(text, passes.clone());
        let (output, result) = machine::run(&compilation.unit);
        let actual = match result {
            Ok(value) => format!("{output}{value}"),
            Err(message) => format!("{output}error: {message}"),
        };
        if actual != expected {
            let listing = disassemble_unit(&compilation.unit);
            panic!("{actual:?} is not {expected:?} with {passes:?}\n{listing}");
        }
    }
}

#[test]
fn literals_and_primitives() {
    check("42", "42");
    check("'(1 (2 . x) #(3))", "(1 (2 . x) #(3))");
    check("(+ 1 2)", "3");
    check("(- 10 1 2 3)", "4");
    check("(list 1 2 (cons 3 4))", "(1 2 (3 . 4))");
    check("(car (cdr '(1 2)))", "2");
    check("(caddr '(1 2 3))", "3");
    check("(begin (display 1) (display 2) 'x)", "12x");
    check("(car 5)", "error: not a pair: 5");
    check("(begin (car 5) 1)", "error: not a pair: 5");
    check("(let ((x (car 5))) 1)", "error: not a pair: 5");
    check("(vector-ref (vector 1 2 3) 1)", "2");
}

#[test]
fn tests_branch_in_every_context() {
    check("(if (< 1 2) 'a 'b)", "a");
    check("(if (if (< 2 1) 1 #f) 'a 'b)", "b");
    check("(if (not (< 1 2)) 'a 'b)", "b");
    check(
        "(list (< 1 2) (> 1 2) (<= 1 1) (>= 1 2) (= 1 1) (not 1) (null? '()) (pair? 1))",
        "(#t #f #t #f #t #f #t #f)",
    );
    check(
        "(define (f x y) (list (< x y) (> x y) (<= x y) (>= x y) (= x y) (< 3 x) (> 3 x) (<= 3 x) (>= 3 x))) \
         (f 3 4)",
        "(#t #f #t #f #f #f #f #t #t)",
    );
    check(
        "(define (f x) (and (pair? x) (or (eq? (car x) 'a) (eqv? (car x) 5)) 'yes)) (list (f 1) (f '(a)) (f \
         '(5)) (f '(6)))",
        "(#f yes yes #f)",
    );
    check(
        "(define (f x) (if (or (null? x) (pair? x)) (if (and (pair? x) (null? (cdr x))) 1 2) 3)) (list (f \
         '()) (f '(1)) (f '(1 2)) (f 5))",
        "(2 1 2 3)",
    );
    check(
        "(define (f x) (cond ((zero? x) 'zero) ((positive? x) 'more) (else 'less))) (list (f 0) (f 1) (f \
         -1))",
        "(zero more less)",
    );
    check(
        "(define (f x) (begin (if (begin (display x) (boolean? x)) 1 2))) (list (f #t) (f #f) (f 0))",
        "#t#f0(1 1 2)",
    );
}

#[test]
fn procedures_and_closures() {
    check(
        "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 15)",
        "610",
    );
    check("(define (adder n) (lambda (x) (+ x n))) ((adder 3) 4)", "7");
    check(
        "(define (counter) (let ((n 0)) (lambda () (set! n (+ n 1)) n))) (define c (counter)) (c) (c) (list \
         (c) ((counter)))",
        "(3 1)",
    );
    check(
        "(define (even? n) (if (= n 0) #t (odd? (- n 1)))) (define (odd? n) (if (= n 0) #f (even? (- n 1)))) \
         (even? 1001)",
        "#f",
    );
    check(
        "(letrec ((e (lambda (n) (if (= n 0) #t (o (- n 1))))) (o (lambda (n) (if (= n 0) #f (e (- n 1)))))) \
         (list (e 10) (o 10)))",
        "(#t #f)",
    );
    check(
        "(define (f k) (letrec ((e (lambda (n) (if (= n 0) k (o (- n 1))))) (o (lambda (n) (if (= n 0) #f (e \
         (- n 1)))))) (list (e 10) (o 10) e))) (car (f 7))",
        "7",
    );
    check("((lambda (a b . c) (list a b c)) 1 2 3 4)", "(1 2 (3 4))");
    check(
        "(define (f a #:optional (b (+ a 1)) (c b)) (list a b c)) (list (f 1) (f 1 5) (f 1 5 6))",
        "((1 2 2) (1 5 5) (1 5 6))",
    );
    check(
        "(define (f a #:key (b a) (c 9)) (list a b c)) (list (f 1) (f 1 #:c 2) (f 1 #:c 2 #:b 3))",
        "((1 1 9) (1 1 2) (1 3 2))",
    );
    check(
        "(define f (case-lambda ((a) (list 'one a)) ((a b) (list 'two a b)) ((a . r) (list 'many a r)))) \
         (list (f 1) (f 1 2) (f 1 2 3))",
        "((one 1) (two 1 2) (many 1 (2 3)))",
    );
    check(
        "(define (f x) x) (f 1 2)",
        "error: wrong number of arguments",
    );
    check("((lambda (x) x))", "error: wrong number of arguments");
    check("(car 1 2)", "error: wrong number of arguments");
    check(
        "(define f (lambda args args)) (apply f 1 2 '(3 4))",
        "(1 2 3 4)",
    );
    check(
        "(define (g f) (f 1 2)) (list (g +) (g cons))",
        "(3 (1 . 2))",
    );
    check(
        "(define (f . r) (apply + r)) (cons (f 1 2 3) (apply list 1 '(2)))",
        "(6 1 2)",
    );
    check(
        "(define (f #:optional x) (set! x (if x x 5)) (lambda () x)) ((f))",
        "5",
    );
}

#[test]
fn loops() {
    check(
        "(let loop ((i 0) (acc '())) (if (= i 5) acc (loop (+ i 1) (cons i acc))))",
        "(4 3 2 1 0)",
    );
    check(
        "(define (f n) (let outer ((i 0) (s 0)) (if (= i n) s (let inner ((j 0) (s s)) (if (= j i) (outer (+ \
         i 1) s) (inner (+ j 1) (+ s j))))))) (f 6)",
        "20",
    );
    check(
        "(define (swap n a b) (if (= n 0) (list a b) (swap (- n 1) b a))) (swap 3 'x 'y)",
        "(y x)",
    );
    check(
        "(define (rot n a b c) (if (= n 0) (list a b c) (rot (- n 1) b c a))) (rot 4 1 2 3)",
        "(2 3 1)",
    );
    check(
        "(+ 1 (let loop ((i 0)) (if (= i 10) i (loop (+ i 1)))))",
        "11",
    );
    check(
        "(if (let loop ((i 0)) (if (= i 10) #f (loop (+ i 1)))) 'a 'b)",
        "b",
    );
    check(
        "(define (f l) (let loop ((l l) (fs '())) (if (null? l) fs (loop (cdr l) (cons (lambda () (car l)) \
         fs))))) (let ((fs (f '(1 2 3)))) (list ((car fs)) ((cadr fs)) ((caddr fs))))",
        "(3 2 1)",
    );
    check(
        "(define (count n) (let ((s 0)) (let loop ((i 0)) (if (< i n) (begin (set! s (+ s i)) (loop (+ i \
         1))))) s)) (count 10)",
        "45",
    );
    check(
        "(define (f n) (let loop ((n n)) (cond ((= n 0) 'done) ((even? n) (loop (- n 2))) (else (loop (- n \
         1)))))) (f 7)",
        "done",
    );
    check(
        "(define (f x) (let ((k (lambda (v) (display v) (list v v)))) (if (= x 0) (k 'zero) (if (= x 1) (k \
         'one) (k 'more))))) (list (f 0) (f 1) (f 2))",
        "zeroonemore((zero zero) (one one) (more more))",
    );
}

#[test]
fn multiple_values() {
    check("(let-values (a b) (values 1 2) (list a b))", "(1 2)");
    check(
        "(let-values (a . r) (values 1 2 3) (list a r))",
        "(1 (2 3))",
    );
    check("(let-values r (values) r)", "()");
    check(
        "(define (f x) (if x (values 1 2) (values 3 4))) (let-values (a b) (f #f) (list a b))",
        "(3 4)",
    );
    check(
        "(define (f x) (let-values (a b) (if x (values 1 2) (let ((y 5)) (values y x))) (list b a))) (list \
         (f 1) (f #f))",
        "((2 1) (#f 5))",
    );
    check(
        "(let-values (a b) (values 1) a)",
        "error: wrong number of values",
    );
    check(
        "(let-values (a) (values 1 2) a)",
        "error: wrong number of values",
    );
    check(
        "(let-values (a b) (values 1 2 3) a)",
        "error: wrong number of values",
    );
    check(
        "(call-with-values (lambda () (values 1 2)) cons)",
        "(1 . 2)",
    );
    check(
        "(call-with-values (lambda () (values 1 2)) (lambda (a . b) (list a b)))",
        "(1 (2))",
    );
    check(
        "(define (p) (values 1 2 3)) (define (c . r) r) (call-with-values p c)",
        "(1 2 3)",
    );
    check(
        "(define (p) 5) (list (call-with-values p list) (call-with-values p (lambda (x) (+ x 1))))",
        "((5) 6)",
    );
    check(
        "(let-values (a b) (let loop ((i 0) (j 10)) (if (= i 3) (values j i) (loop (+ i 1) (- j 1)))) (list \
         a b))",
        "(7 3)",
    );
}

#[test]
fn recursive_bindings() {
    check(
        "(define (f) (define a 1) (define (g) (+ a b)) (define b (+ a 1)) (g)) (f)",
        "3",
    );
    check(
        "(define (f) (define b (g)) (define (g) (+ b 1)) b) (f)",
        "error: variable used before its definition",
    );
    check("(letrec ((a (lambda () b)) (b 2)) (a))", "2");
    check(
        "(letrec ((x (lambda () y)) (y (x))) y)",
        "error: variable used before its definition",
    );
    check(
        "(define (f) (define x 1) (define (g) (set! x (+ x 1)) x) (g) (g)) (f)",
        "3",
    );
    check(
        "(letrec* ((p (lambda (x) (+ 1 (q (- x 1))))) (q (lambda (y) (if (= 0 y) 0 (+ 1 (p (- y 1)))))) (x \
         (p 5)) (y x)) y)",
        "5",
    );
}

#[test]
fn globals() {
    check("(define x 1) (set! x (+ x 1)) x", "2");
    check("y", "error: unbound variable y");
    check("(define (f) y) (f)", "error: unbound variable y");
    check("(set! y 1)", "error: unbound variable y");
    check("(f) (define (f) 1)", "error: unbound variable f");
    check(
        "(define (f) (g)) (define r (f)) (define (g) 1)",
        "error: unbound variable g",
    );
}

#[test]
fn assignments_survive_reentry() {
    // The continuation of `(capture)` is entered twice; the assigned variable is shared.
    check(
        "(define k #f) (define n 0) (define (capture) (call-with-current-continuation (lambda (c) (set! k c) \
         0)))
         (define (f) (let ((x 0)) (capture) (set! x (+ x 1)) x))
         (define r (f)) (set! n (+ n 1)) (if (< n 3) (k 0) r)",
        "3",
    );
    check(
        "(define k #f) (define n 0) (define (capture) (call-with-current-continuation (lambda (c) (set! k c) \
         0)))
         (define (f) (let loop ((i 0) (l '())) (if (< i 3) (begin (if (= i 1) (capture) 0) (loop (+ i 1) \
         (cons i l))) l)))
         (define r (f)) (set! n (+ n 1)) (display r) (if (< n 3) (k 0) 'end)",
        "(2 1 0)(2 1 0)(2 1 0)end",
    );
    check(
        "(let ((cont #f)) (letrec ((x (call-with-current-continuation (lambda (c) (set! cont c) 0))) (y \
         (call-with-current-continuation (lambda (c) (set! cont c) 0)))) (if cont (let ((c cont)) (set! cont \
         #f) (set! x 1) (set! y 1) (c 0)) (+ x y))))",
        "0",
    );
}

#[test]
fn operands_are_evaluated_in_order() {
    check(
        "(list (begin (display 1) 1) (begin (display 2) 2) (begin (display 3) 3))",
        "123(1 2 3)",
    );
    check(
        "((begin (display 0) +) (begin (display 1) 1) (begin (display 2) 2))",
        "0123",
    );
    check("(define (f x) (+ x (begin (set! x 10) x))) (f 1)", "11");
    check(
        "(define (f x y) (let loop ((a x) (b (begin (set! x 5) x))) (list a b))) (f 1 2)",
        "(1 5)",
    );
    check(
        "(define (f n) (let loop ((i n) (j 0)) (if (= i 0) j (loop (- i 1) (+ j i))))) (f 4)",
        "10",
    );
}

#[test]
fn records() {
    check(
        "(define t (%make-record-type 'p '#(x y) #f)) (define (make x y) (%record t x y))
         (define (x p) (%record-ref p t 0 'x)) (define (set-y! p v) (%record-set! p t 1 v 'y))
         (define p (make 1 2)) (set-y! p 5) (list (x p) p (%record? p t) (%record? 1 t))",
        "(1 record(1 5) #t #f)",
    );
    check(
        "(define t (%make-record-type 'p '#(x) #f)) (%record-ref 5 t 0 'x)",
        "error: not a record",
    );
}

#[test]
fn many_variables_operands_and_captures() {
    let names: Vec<String> = (0..400).map(|n| format!("v{n}")).collect();
    let bindings: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("({name} (begin (display \"\") {n}))"))
        .collect();
    let sum = format!("(+ {})", names.join(" "));
    check(
        &format!(
            "(define (id x) x) (let ({}) (id 0) {sum})",
            bindings.join(" ")
        ),
        "79800",
    );
    check(
        &format!(
            "(define (id x) x) (let* ({}) (id 0) {sum})",
            bindings.join(" ")
        ),
        "79800",
    );
    let numbers: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    let all = numbers.join(" ");
    check(&format!("(length (list {all}))"), "400");
    check(&format!("(define (f . r) (length r)) (f {all})"), "400");
    check(
        &format!("(define (f {}) {sum}) (f {all})", names.join(" ")),
        "79800",
    );
    check(
        &format!(
            "(define (f {}) (lambda () {sum})) ((f {all}))",
            names.join(" ")
        ),
        "79800",
    );
    let sets: Vec<String> = names
        .iter()
        .map(|name| format!("(set! {name} (+ {name} 1))"))
        .collect();
    check(
        &format!(
            "(define (f {}) (let ((g (lambda () {} {sum}))) (g) (g))) (f {all})",
            names.join(" "),
            sets.join(" ")
        ),
        "80600",
    );
    check(
        &format!(
            "(define (f {}) (let ((g (lambda () {} (lambda () (set! v7 (+ v7 v390)) v7)))) ((g)))) (f {all})",
            names.join(" "),
            sets.join(" ")
        ),
        "399",
    );
}

#[test]
fn many_values_loop_variables_and_mutual_procedures() {
    let names: Vec<String> = (0..300).map(|n| format!("v{n}")).collect();
    let all = names.join(" ");
    let sum = format!("(+ {all})");
    let numbers: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let numbers = numbers.join(" ");
    check(
        &format!("(call-with-values (lambda () (values {numbers})) (lambda ({all}) {sum}))"),
        "44850",
    );
    let rest = format!("({all} . r) (cons (car r) {sum})");
    check(
        &format!("(call-with-values (lambda () (values {numbers} 1 2)) (lambda {rest}))"),
        "(1 . 44850)",
    );
    let bindings: Vec<String> = (0..300).map(|n| format!("(v{n} {n})")).collect();
    let steps: Vec<String> = names.iter().map(|name| format!("(+ {name} 1)")).collect();
    check(
        &format!(
            "(define (f n) (let loop ((i n) {}) (if (= i 0) {sum} (loop (- i 1) {})))) (f 10)",
            bindings.join(" "),
            steps.join(" ")
        ),
        "47850",
    );
    let procedures: Vec<String> = (0..300)
        .map(|n| {
            let next = (n + 1) % 300;
            format!("(define (v{n} y) (if (= y 0) (list x {n}) (v{next} (- y 1))))")
        })
        .collect();
    let procedures = procedures.join(" ");
    check(
        &format!("(define (f x) {procedures} (v0 1000)) (f 'a)"),
        "(a 100)",
    );
    check(
        &format!("(define (f x) {procedures} ((vector-ref (vector {all}) 7) 1000)) (f 'a)"),
        "(a 107)",
    );
    check(
        &format!(
            "(define (f x) {procedures} (define w (vector v0 (lambda () w) {all})) \
             (list (eq? w ((vector-ref w 1))) (v0 1000))) (f 'a)"
        ),
        "(#t (a 100))",
    );
}

#[test]
fn deep_nesting() {
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(|| {
            let depth = 3000;
            let nested = format!("{}0{}", "(+ 1 ".repeat(depth), ")".repeat(depth));
            check(&nested, "3000");
            let nested = format!("{}0{}", "(car (list ".repeat(depth), "))".repeat(depth));
            check(&nested, "0");
            let nested = format!(
                "{}'(){}",
                "(cons (car '(1)) ".repeat(depth),
                ")".repeat(depth)
            );
            check(&format!("(length {nested})"), "3000");
            let nested = format!(
                "{}0{}",
                "(let ((x 1)) (if (car '(#t)) ".repeat(depth),
                " 1))".repeat(depth)
            );
            check(&nested, "0");
            let nested = format!("{}0{}", "((lambda (x) ".repeat(depth), ") 1)".repeat(depth));
            check(&nested, "0");
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn conditionals_for_effect() {
    check(
        "(define (f x) (if (car x) 0 (display 1)) (if (car x) (display 2)) (if (cadr x) 1 2) 'end) (list (f \
         '(#t 1)) (f '(#f 1)))",
        "21(end end)",
    );
    check(
        "(define (f x) (if (if (car x) (cadr x) (caddr x)) (display 'y) 0) (when (car x) (when (cadr x) \
         (display 'z))) x) (f '(#t #t #f)) (f '(#f #t #f)) (f '(#f #f #t))",
        "yzy(#f #f #t)",
    );
    check(
        "(define (f n) (let loop ((i 0)) (if (< i n) (begin (if (odd? i) (if (= i 3) (display 'three) \
         (display i))) (loop (+ i 1)))))) (f 6) 'x",
        "1three5x",
    );
}

/// The expander lets code nest ten thousand levels deep.
#[test]
fn nesting_to_the_limit() {
    let run = || {
        let depth = 9_990;
        for (open, middle, close) in [
            ("(cons 1 ", "'()", ")"),
            ("(let ((x (car '(1)))) ", "x", ")"),
            ("(if (car '(#t)) ", "1", " 2)"),
            ("(begin (display \"\") ", "1", ")"),
            ("(lambda () ", "1", ")"),
            ("((lambda (x) ", "1", ") 1)"),
            ("(car (cons ", "1", " 2))"),
        ] {
            let text = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            for passes in [optimize::Options::none(), optimize::Options::default()] {
                compile(&text, passes);
            }
        }
    };
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}
