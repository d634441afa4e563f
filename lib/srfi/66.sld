;;; (srfi 66): octet vectors.
;;;
;;; They are bytevectors; the order of arguments of `u8vector-copy!` is this SRFI's own.

(define-library (srfi 66)
  (export make-u8vector u8vector u8vector? u8vector-length u8vector-ref u8vector-set!
          u8vector->list list->u8vector
          (rename equal-u8vectors? u8vector=?) u8vector-compare u8vector-copy! u8vector-copy)
  (import (canny primitives) (canny syntax) (srfi 160 base))
  (begin

    (define (check who position object)
      (if (not (bytevector? object))
          (%type-error who position "bytevector" object)))

    (define (equal-u8vectors? left right)
      (check 'u8vector=? 1 left)
      (check 'u8vector=? 2 right)
      (equal? left right))

    ;; -1, 0 or 1: a shorter vector comes first, then the first different octet decides.
    (define (u8vector-compare left right)
      (check 'u8vector-compare 1 left)
      (check 'u8vector-compare 2 right)
      (let ((left-length (bytevector-length left))
            (right-length (bytevector-length right)))
        (cond ((< left-length right-length) -1)
              ((> left-length right-length) 1)
              (else
               (let loop ((index 0))
                 (if (= index left-length)
                     0
                     (let ((x (bytevector-u8-ref left index))
                           (y (bytevector-u8-ref right index)))
                       (cond ((< x y) -1)
                             ((> x y) 1)
                             (else (loop (+ index 1)))))))))))

    (define (u8vector-copy! source source-start target target-start count)
      (check 'u8vector-copy! 1 source)
      (check 'u8vector-copy! 3 target)
      (if (not (exact-nonnegative-integer? count))
          (%type-error 'u8vector-copy! 5 "index" count))
      (if (not (and (exact-nonnegative-integer? source-start)
                    (<= (+ source-start count) (bytevector-length source))))
          (%range-error 'u8vector-copy! 2 "an index with so many octets behind it" source-start))
      (if (not (and (exact-nonnegative-integer? target-start)
                    (<= (+ target-start count) (bytevector-length target))))
          (%range-error 'u8vector-copy! 4 "an index with room for the octets" target-start))
      (bytevector-copy! target target-start source source-start (+ source-start count)))

    (define (u8vector-copy vector)
      (check 'u8vector-copy 1 vector)
      (bytevector-copy vector))))
