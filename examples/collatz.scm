#!/usr/bin/env canny
;;; Collatz: a guest computes, Scheme makes lists, and a profile shows both in one picture.
;;;
;;;     canny examples/collatz.scm
;;;     canny profile --flame examples/collatz.scm
;;;
;;; The guest follows a number n: to n/2 if n is even, else to 3n+1, until it is 1. Its functions
;;; stand in the profile below the procedure that called them. Lists of Scheme let the collector
;;; run, which stands there too.

(import (canny base) (canny wasm) (scheme write))

(define collatz
  (compile-module
   "(module $collatz
      (func $next (param $n i64) (result i64)
        (if (result i64) (i64.eqz (i64.and (local.get $n) (i64.const 1)))
          (then (i64.shr_u (local.get $n) (i64.const 1)))
          (else (i64.add (i64.mul (local.get $n) (i64.const 3)) (i64.const 1)))))
      (func $steps (param $n i64) (result i32)
        (local $count i32)
        (block $done
          (loop $again
            (br_if $done (i64.eq (local.get $n) (i64.const 1)))
            (local.set $n (call $next (local.get $n)))
            (local.set $count (i32.add (local.get $count) (i32.const 1)))
            (br $again)))
        (local.get $count))
      (func (export \"steps-below\") (param $limit i64) (result i32)
        (local $n i64) (local $sum i32)
        (local.set $n (i64.const 1))
        (loop $again
          (local.set $sum (i32.add (local.get $sum) (call $steps (local.get $n))))
          (local.set $n (i64.add (local.get $n) (i64.const 1)))
          (br_if $again (i64.lt_u (local.get $n) (local.get $limit))))
        (local.get $sum)))"))

(define steps-below (instance-export (instantiate collatz) "steps-below"))

;; All steps of the numbers below the limit.
(define (count-steps limit)
  (let ((sum (steps-below limit)))
    (+ sum 0)))

;; A list with a row for each number, made anew and turned round: work for the collector.
(define (make-rows count sum)
  (let loop ((i 0) (rows '()))
    (if (= i count)
        (length (reverse rows))
        (loop (+ i 1) (cons (list i (* i sum) (number->string i)) rows)))))

(define (work rounds)
  (let loop ((i 0) (sum 0) (rows 0))
    (if (= i rounds)
        (list sum rows)
        (let* ((sum (+ sum (count-steps (* 1000 (+ i 1)))))
               (count (make-rows 20000 sum)))
          (loop (+ i 1) sum (+ rows count))))))

(display (work 20))
(newline)
