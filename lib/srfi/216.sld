;;; (srfi 216): what the programs of SICP take for granted.
;;;
;;; `parallel-execute` runs its procedures one after the other, which is one of the orders that a
;;; concurrent run may have.

(define-library (srfi 216)
  (export false true nil runtime random parallel-execute test-and-set!
          cons-stream the-empty-stream stream-null?)
  (import (canny syntax) (canny primitives) (only (canny machine control) delay)
          (only (canny data lists) for-each))
  (begin

    (define false #f)
    (define true #t)
    (define nil '())

    ;; Microseconds since 1970.
    (define (runtime)
      (exact (round (* 1000000 (current-second)))))

    (define (random limit)
      (if (not (and (real? limit) (> limit 0)))
          (%type-error 'random 1 "positive number" limit))
      (if (exact-integer? limit)
          (random-integer limit)
          (* limit (random-real))))

    (define (parallel-execute . thunks)
      (for-each (lambda (thunk) (thunk)) thunks))

    ;; The cell is a pair, as in SICP.
    (define (test-and-set! cell)
      (if (car cell)
          #t
          (begin
            (set-car! cell #t)
            #f)))

    (define-syntax cons-stream
      (syntax-rules ()
        ((_ first rest) (cons first (delay rest)))))

    (define the-empty-stream '())

    (define (stream-null? object)
      (null? object))))
