;;; (srfi 141): integer division.
;;;
;;; A quotient is rounded down (floor), up (ceiling), to zero (truncate), or to the nearest integer
;;; and to even in the middle (round). Or it is rounded so that the remainder is not negative
;;; (euclidean). Or the remainder is at least minus half of the divisor's magnitude and below its
;;; half (balanced).

(define-library (srfi 141)
  (export floor/ floor-quotient floor-remainder
          ceiling/ ceiling-quotient ceiling-remainder
          truncate/ truncate-quotient truncate-remainder
          round/ round-quotient round-remainder
          euclidean/ euclidean-quotient euclidean-remainder
          balanced/ balanced-quotient balanced-remainder)
  (import (canny primitives) (canny syntax))
  (begin

    (define (check who n d)
      (if (not (and (number? n) (integer? n)))
          (%type-error who 1 "integer" n))
      (if (not (and (number? d) (integer? d)))
          (%type-error who 2 "integer" d))
      (if (zero? d)
          (%range-error who 2 "not zero" d)))

    ;; (define-division quotient/ quotient remainder) from a procedure of n and d that gives the
    ;; quotient; the remainder follows.
    (define-syntax define-division
      (syntax-rules ()
        ((_ divide quotient-name remainder-name (n d) body)
         (begin
           (define (find n d) body)
           (define (divide n d)
             (check 'divide n d)
             (let ((q (find n d)))
               (values q (- n (* q d)))))
           (define (quotient-name n d)
             (check 'quotient-name n d)
             (find n d))
           (define (remainder-name n d)
             (check 'remainder-name n d)
             (- n (* (find n d) d)))))))

    (define-division ceiling/ ceiling-quotient ceiling-remainder (n d)
      (- (floor-quotient (- n) d)))

    (define-division euclidean/ euclidean-quotient euclidean-remainder (n d)
      (if (positive? d)
          (floor-quotient n d)
          (- (floor-quotient n (- d)))))

    ;; Twice the remainder is compared with the divisor, both without signs.
    (define-division round/ round-quotient round-remainder (n d)
      (let* ((q (floor-quotient n d))
             (doubled (* 2 (abs (- n (* q d)))))
             (size (abs d)))
        (cond ((< doubled size) q)
              ((> doubled size) (+ q 1))
              ((even? q) q)
              (else (+ q 1)))))

    (define-division balanced/ balanced-quotient balanced-remainder (n d)
      (let* ((size (abs d))
             (q (floor-quotient n size))
             (q (if (>= (* 2 (- n (* q size))) size) (+ q 1) q)))
        (if (positive? d) q (- q))))))
