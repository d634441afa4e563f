//! The programs: one test for each.

use super::{check, check_together};

/// A program with the common beginning: imports, and `(four make)`, a vector of the results of
/// `make` for 0 to 3.
fn program(text: &str) -> String {
    format!(
        "(import (scheme base) (scheme write) (scheme read) (scheme eval) (scheme char) (scheme inexact)
                 (scheme lazy) (srfi 1) (canny generic) (only (canny machine control) call/ec) (except \
                 (canny data hash-tables) string-hash string-ci-hash hash))
         (define (text-of . parts)
           (let ((port (open-output-string))) (write parts port) (get-output-string port)))
         (define (four make) (vector (make 0) (make 1) (make 2) (make 3)))
         (define (times n proc) (let loop ((i 0)) (if (< i n) (begin (proc i) (loop (+ i 1))))))
         {text}"
    )
}

#[test]
fn trees_and_lists() {
    check(&program(
        "(define (tree depth) (if (= depth 0) '() (cons (tree (- depth 1)) (tree (- depth 1)))))
         (define (size t) (if (null? t) 1 (+ (size (car t)) (size (cdr t)))))
         (define (work me)
           (let loop ((i 0) (sum 0) (kept '()))
             (if (< i 30)
                 (loop (+ i 1) (+ sum (size (tree (+ 8 (modulo (+ i me) 4))))) (cons (iota 100) kept))
                 (text-of sum (length kept) (apply + (map (lambda (l) (apply + l)) kept))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn closures_flonums_and_big_numbers() {
    check(&program(
        "(define (adder n) (lambda (x) (+ x n)))
         (define (compose . fs) (if (null? fs) (lambda (x) x) (lambda (x) ((car fs) ((apply compose (cdr \
         fs)) x)))))
         (define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1)))))
         (define (integrate f a b n)
           (let ((h (/ (- b a) n)))
             (let loop ((i 0) (sum 0.0))
               (if (= i n) (* h sum) (loop (+ i 1) (+ sum (f (+ a (* h (+ i 0.5))))))))))
         (define (work me)
           (let loop ((i 0) (sum 0))
             (if (< i 3000)
                 (loop (+ i 1) (+ sum ((compose (adder i) (adder me) (adder 1)) 5)))
                 (text-of sum
                          (round (* 1e6 (integrate (lambda (x) (* x (sin x))) 0.0 (+ 1.0 me) 20000)))
                          (quotient (factorial 120) (factorial (+ 110 me)))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn records_and_types_made_at_once() {
    check(&program(
        "(define-record-type point (make-point x y) point? (x point-x set-point-x!) (y point-y))
         (define (work me)
           (define-record-type <own> (make-own a) own? (a own-a set-own-a!))
           (let loop ((i 0) (points '()))
             (if (< i 5000)
                 (let ((p (make-point i me)) (o (make-own i)))
                   (set-point-x! p (+ 1 (point-x p)))
                   (set-own-a! o (+ 1 (own-a o)))
                   (if (or (point? o) (own? p)) (error \"mixed up\"))
                   (loop (+ i 1) (if (zero? (modulo i 50)) (cons p points) points)))
                 (text-of (apply + (map point-x points)) (apply + (map point-y points))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn strings_and_symbols() {
    check(&program(
        "(define (name i) (string->symbol (string-append \"name-\" (number->string i))))
         (define (work me)
           (let loop ((i 0) (ok 0))
             (if (< i 3000)
                 (let ((s (name i)))
                   (loop (+ i 1)
                         (if (and (eq? s (name i)) (string=? (symbol->string s) (string-append \"name-\" \
                         (number->string i))))
                             (+ ok 1)
                             ok)))
                 (let ((s (make-string 100 #\\a)))
                   (times 100 (lambda (i) (string-set! s i (integer->char (+ 900 i me)))))
                   (text-of ok s (string-upcase (list->string (map integer->char (iota 200 100)))))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn symbols_are_the_same_for_all() {
    check_together(
        &program(
            "(define arrived (make-vector 4 #f))
             (define made (make-vector 4 #f))
             (define (name i) (string->symbol (string-append \"shared-\" (number->string i))))
             (define (wait-for vector)
               (let loop () (if (not (and (vector-ref vector 0) (vector-ref vector 1) (vector-ref vector 2) \
               (vector-ref vector 3))) (loop))))
             (define (work me)
               (vector-set! arrived me #t)
               (wait-for arrived)
               (let ((own (map name (iota 3000))))
                 (vector-set! made me own)
                 (wait-for made)
                 (if (every (lambda (i) (every eq? own (vector-ref made i))) '(0 1 2 3)) \"ok\" \"differ\")))
             (four (lambda (me) (lambda () (work me))))",
        ),
        4,
    );
}

#[test]
fn tables_of_ones_own() {
    check(&program(
        "(define (work me)
           (let ((t (make-hash-table)) (by-name (make-hash-table)))
             (times 4000 (lambda (i)
               (hash-table-set! t (* i (+ me 1)) i)
               (hash-table-set! by-name (string->symbol (number->string i)) i)
               (if (odd? i) (hash-table-delete! t (* (- i 1) (+ me 1))))))
             (let ((l (map (lambda (i) (list i)) (iota 500))))
               (for-each (lambda (k) (hash-table-set! t k #t)) l)
               (text-of (hash-table-size t)
                        (apply + (filter number? (hash-table-keys t)))
                        (every (lambda (k) (hash-table-ref/default t k #f)) l)
                        (hash-table-ref/default by-name '|77| #f)))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn a_table_for_all() {
    check(&program(
        "(define t (make-hash-table))
         (define names (make-hash-table))
         (define (work me)
           (let loop ((i 0) (wrong 0))
             (if (< i 4000)
                 (let ((key (+ me (* 4 i))))
                   (hash-table-set! t key i)
                   (hash-table-set! t key (+ i 1))
                   (hash-table-set! names (string->symbol (number->string (modulo i 700))) (modulo i 700))
                   (if (= 3 (modulo i 7)) (hash-table-delete! t key))
                   (let* ((back (- i 1))
                          (found (hash-table-ref/default t (+ me (* 4 back)) 'none))
                          (name (modulo (* i 31) 700))
                          (number (hash-table-ref/default names (string->symbol (number->string name)) name)))
                     (loop (+ i 1)
                           (if (and (eqv? number name)
                                    (eqv? found (if (or (< back 0) (= 3 (modulo back 7))) 'none (+ back 1))))
                               wrong
                               (+ wrong 1)))))
                 (text-of wrong))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn a_table_that_all_count_in_and_clear() {
    check(&program(
        "(define t (make-hash-table))
         (define (work me)
           (let loop ((i 0) (wrong 0))
             (if (< i 3000)
                 (let ((key (modulo (* i 7) 97)))
                   (hash-table-set! t key (list key i me))
                   (if (zero? (modulo i 5)) (hash-table-delete! t (modulo (* i 3) 97)))
                   (if (= me 0) (if (zero? (modulo i 500)) (hash-table-clear! t)))
                   (if (zero? (modulo i 100)) (hash-table-copy t))
                   (let ((found (hash-table-ref/default t key #f)))
                     (loop (+ i 1)
                           (if (and (or (not found) (= (car found) key))
                                    (or (not (zero? (modulo i 50)))
                                        (every (lambda (entry) (and (pair? (cdr entry)) (= (car entry) (cadr \
                                        entry))))
                                               (hash-table->alist t))))
                               wrong
                               (+ wrong 1)))))
                 (text-of wrong))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn a_table_with_keys_by_address() {
    check(&program(
        "(define t (make-hash-table eq?))
         (define (work me)
           (let ((keys (map (lambda (i) (cons me i)) (iota 600))))
             (let loop ((round 0) (wrong 0))
               (if (< round 5)
                   (begin
                     (for-each (lambda (k) (hash-table-set! t k (+ (cdr k) round))) keys)
                     (loop (+ round 1)
                           (+ wrong (count (lambda (k) (not (eqv? (hash-table-ref/default t k #f) (+ (cdr k) \
                           round)))) keys))))
                   (text-of wrong)))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn variables_that_all_assign() {
    check(&program(
        "(define shared 'none)
         (define numbers 0)
         (define (set-it! v) (set! shared v))
         (define (get) shared)
         (define (work me)
           (let loop ((i 0) (wrong 0))
             (if (< i 20000)
                 (begin
                   (if (zero? (modulo i 100)) (set-it! (cons me me)))
                   (set! numbers (+ numbers 1))
                   (let ((v (get)))
                     (loop (+ i 1) (if (or (eq? v 'none) (eqv? (car v) (cdr v))) wrong (+ wrong 1)))))
                 (text-of wrong (integer? numbers)))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn a_procedure_that_changes_is_seen_by_all() {
    check_together(
        &program(
            "(define (f x) (+ x 0))
             (define seen (make-vector 4 0))
             (define (call n) (let loop ((i 0) (sum 0)) (if (< i n) (loop (+ i 1) (+ sum (f 1))) sum)))
             (define (everybody-at-least n)
               (let loop () (if (not (every (lambda (i) (>= (vector-ref seen i) n)) '(1 2 3))) (loop))))
             (define (work me)
               (if (= me 0)
                   (let loop ((n 1))
                     (if (<= n 5)
                         (begin
                           (set! f (let ((k n)) (lambda (x) (+ x k))))
                           (everybody-at-least n)
                           (loop (+ n 1)))
                         \"ok\"))
                   (let loop ((last 0))
                     (vector-set! seen me last)
                     (if (= last 5)
                         \"ok\"
                         (let ((now (- (f 1) 1)))
                           (call 100)
                           (if (< now last) \"backwards\" (loop now)))))))
             (four (lambda (me) (lambda () (work me))))",
        ),
        4,
    );
}

#[test]
fn a_flag_ends_a_loop() {
    check_together(
        &program(
            "(define go #f)
             (define stop 0)
             (define (spin) (let loop ((n 0)) (if go n (loop (+ n 1)))))
             (define (work me)
               (if (= me 0)
                   (begin
                     (times 300000 (lambda (i) (set! stop i)))
                     (set! go #t)
                     \"ok\")
                   (begin (spin) \"ok\")))
             (four (lambda (me) (lambda () (work me))))",
        ),
        4,
    );
}

#[test]
fn vectors_and_strings_that_all_write() {
    check(&program(
        "(define v (make-vector 64 '(0 . 0)))
         (define s (make-string 64 #\\a))
         (define b (make-bytevector 64 0))
         (define (work me)
           (let loop ((i 0) (wrong 0))
             (if (< i 10000)
                 (let ((at (modulo (* i 13) 64)))
                   (vector-set! v at (cons i i))
                   (string-set! s at (integer->char (+ 97 (modulo i 26))))
                   (if (zero? (modulo i 1000)) (string-set! s at (integer->char (+ 160 me))))
                   (if (and (= me 3) (= i 9000)) (string-set! s at #\\x3bb))
                   (bytevector-u8-set! b at (modulo i 256))
                   (if (zero? (modulo i 200)) (vector-fill! v (cons me me)))
                   (if (zero? (modulo i 300)) (vector-copy! v 0 v 16 48))
                   (if (zero? (modulo i 300)) (string-copy! s 0 s 16 48))
                   (if (zero? (modulo i 300)) (string-upcase (string-append s \"x\" (string-copy s 3))))
                   (let ((p (vector-ref v (modulo i 64))) (c (string-ref s (modulo i 64))))
                     (loop (+ i 1) (if (and (eqv? (car p) (cdr p)) (char? c) (= 64 (string-length s))) wrong \
                     (+ wrong 1)))))
                 (text-of wrong))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn continuations_go_from_thread_to_thread() {
    check_together(
        &program(
            "(define places (make-vector 4 #f))
             (define results (make-vector 4 #f))
             (define rounds 60)
             (define p (make-parameter 'outside))
             (define winds (make-vector 2 '()))
             ;; A recursion that resumes on another thread at each step. The resumer says how to leave that \
             thread again.
             (define (go i exit)
               (if (= i rounds)
                   (cons exit 0)
                   (let* ((next (call/cc (lambda (k)
                                  (vector-set! places (modulo (+ i 1) 4) (lambda (exit) (k exit)))
                                  (exit 'left))))
                          (rest (if (zero? (modulo i 10))
                                    (call/ec (lambda (return) (return (go (+ i 1) next))))
                                    (go (+ i 1) next))))
                     (cons (car rest) (+ i (cdr rest))))))
             (define (begin-here exit)
               (let ((r (parameterize ((p 'inside))
                          (dynamic-wind
                           (lambda () (vector-set! winds 0 (list (p))))
                           (lambda () (let ((r (go 0 exit))) (cons (car r) (cons (p) (cdr r)))))
                           (lambda () (vector-set! winds 1 (list (p))))))))
                 (times 4 (lambda (i) (vector-set! results i (cdr r))))
                 ((car r) 'done)))
             (define (work me)
               (if (= me 0) (call/cc begin-here))
               (let loop ()
                 (let ((next (vector-ref places me)) (result (vector-ref results me)))
                   (cond (result
                          (if (and (eq? (car result) 'inside) (= (cdr result) (quotient (* rounds (- rounds \
                          1)) 2))
                                   (eq? (p) 'outside) (equal? winds '#((inside) (inside))))
                              \"ok\"
                              (text-of result (p) winds)))
                         (next (vector-set! places me #f) (call/cc next) (loop))
                         (else (loop))))))
             (four (lambda (me) (lambda () (work me))))",
        ),
        4,
    );
}

#[test]
fn generic_functions_at_once() {
    check(&program(
        "(define-record-type circle (make-circle r) circle? (r circle-r))
         (define-record-type square (make-square a) square? (a square-a))
         (define-generic (area shape))
         (define-method (area (shape circle)) (* 3 (circle-r shape)))
         (define-method (area (shape square)) (* (square-a shape) (square-a shape)))
         (define-method (area (shape <string>)) (string-length shape))
         (define (work me)
           (let loop ((i 0) (sum 0))
             (if (< i 5000)
                 (loop (+ i 1)
                       (+ sum (area (case (modulo (+ i me) 3) ((0) (make-circle i)) ((1) (make-square me)) \
                       (else \"abc\")))))
                 (text-of sum))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn exceptions_winders_and_parameters() {
    check(&program(
        "(define p (make-parameter 0))
         (define (work me)
           (let ((log '()))
             (define (note x) (set! log (cons x log)))
             (let loop ((i 0) (sum 0))
               (if (< i 1500)
                   (loop (+ i 1)
                         (+ sum
                            (parameterize ((p (+ i me)))
                              (guard (e ((string? e) (string-length e)) ((error-object? e) (+ 1000 (p))))
                                (dynamic-wind
                                 (lambda () (if (zero? (modulo i 300)) (note 'in)))
                                 (lambda ()
                                   (cond ((= 0 (modulo i 3)) (raise \"four\"))
                                         ((= 1 (modulo i 3)) (vector-ref (vector) i))
                                         (else (with-exception-handler (lambda (e) 10) (lambda () (+ 1 \
                                         (raise-continuable 'c)))))))
                                 (lambda () (if (zero? (modulo i 300)) (note 'out))))))))
                   (text-of sum log (p))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn escapes_and_generators() {
    check(&program(
        "(define (find-first pred l)
           (call/cc (lambda (return) (for-each (lambda (x) (if (pred x) (return x))) l) #f)))
         (define (generator l)
           (define return #f)
           (define (next)
             (call/cc (lambda (r)
               (set! return r)
               (for-each (lambda (x) (call/cc (lambda (k) (set! next (lambda () (k #f))) (return x)))) l)
               (return 'done))))
           (lambda () (call/cc (lambda (r) (set! return r) (next)))))
         (define (work me)
           (let ((g (generator (iota 500 me))))
             (let loop ((sum 0))
               (let ((x (g)))
                 (if (eq? x 'done)
                     (text-of sum (find-first (lambda (x) (> x (+ 100 me))) (iota 1000)))
                     (loop (+ sum x)))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn evaluation_at_once() {
    check(&program(
        "(define env (environment '(scheme base)))
         (define (work me)
           (let loop ((i 0) (sum 0))
             (if (< i 40)
                 (loop (+ i 1)
                       (+ sum
                          (eval `(let-syntax ((twice (syntax-rules () ((_ e) (+ e e)))))
                                   (define (f x) (if (= x 0) 0 (+ 1 (f (- x 1)))))
                                   (twice (f ,(+ i me))))
                                env)
                          (eval '(begin (define-record-type r (make a) r? (a get)) (get (make 1)))
                                (environment '(scheme base)))))
                 (text-of sum (let ((p (open-input-string \"(a #(1 2.5) \\\"x\\\")\"))) (read p))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn ports_of_ones_own_and_for_all() {
    check(&program(
        "(define shared (open-output-string))
         (define (work me)
           (let ((own (open-output-string)))
             (times 2000 (lambda (i)
               (write i own)
               (write-char #\\space own)
               (write-char (integer->char (+ 97 me)) shared)
               (if (zero? (modulo i 500)) (get-output-string shared))))
             (let ((p (open-input-string (get-output-string own))))
               (let loop ((sum 0))
                 (let ((x (read p)))
                   (if (eof-object? x) (text-of sum) (loop (+ sum x))))))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}

#[test]
fn promises_and_sorting() {
    check(&program(
        "(define shared (delay (apply + (iota 1000))))
         (define (merge a b) (cond ((null? a) b) ((null? b) a) ((< (car a) (car b)) (cons (car a) (merge \
         (cdr a) b))) (else (cons (car b) (merge a (cdr b))))))
         (define (sort l) (if (or (null? l) (null? (cdr l))) l
            (let ((h (quotient (length l) 2))) (merge (sort (take l h)) (sort (drop l h))))))
         (define (work me)
           (let loop ((i 0) (sum 0))
             (if (< i 20)
                 (loop (+ i 1) (+ sum (force shared) (list-ref (sort (map (lambda (x) (modulo (* x 7919) \
                 1009)) (iota 500 i))) 250)))
                 (text-of sum))))
         (four (lambda (me) (lambda () (work me))))",
    ));
}
