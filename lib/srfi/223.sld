;;; (srfi 223): generalized binary search procedures.

(define-library (srfi 223)
  (export bisect-left bisect-right bisection vector-bisect-left vector-bisect-right)
  (import (canny primitives) (canny syntax) (canny machine arguments))
  (begin

    (define (check who ref less? low high)
      (check-procedure who 3 ref)
      (check-procedure who 4 less?)
      (check-exact-integer who 5 low)
      (check-exact-integer who 6 high))

    ;; The least index from `low` on, below `high`, where `from-here?` holds of the element; else
    ;; `high`.  The indices may be negative.
    (define (bisect sequence ref low high from-here?)
      (let loop ((low low) (high high))
        (if (< low high)
            (let ((middle (floor-quotient (+ low high) 2)))
              (if (from-here? (ref sequence middle))
                  (loop low middle)
                  (loop (+ middle 1) high)))
            low)))

    (define (bisect-left sequence value ref less? low high)
      (check 'bisect-left ref less? low high)
      (bisect sequence ref low high (lambda (element) (not (less? element value)))))

    (define (bisect-right sequence value ref less? low high)
      (check 'bisect-right ref less? low high)
      (bisect sequence ref low high (lambda (element) (less? value element))))

    (define bisection
      (case-lambda
        ((ref)
         (check-procedure 'bisection 1 ref)
         (values (lambda (sequence value less? low high)
                   (bisect-left sequence value ref less? low high))
                 (lambda (sequence value less? low high)
                   (bisect-right sequence value ref less? low high))))
        ((ref bounds)
         (check-procedure 'bisection 1 ref)
         (check-procedure 'bisection 2 bounds)
         (values (with-bounds bisect-left ref bounds)
                 (with-bounds bisect-right ref bounds)))))

    (define (with-bounds bisect ref bounds)
      (case-lambda
        ((sequence value less?)
         (let-values (((low high) (bounds sequence)))
           (bisect sequence value ref less? low high)))
        ((sequence value less? low high)
         (bisect sequence value ref less? low high))))

    (define (vector-bounds vector)
      (values 0 (vector-length vector)))

    (define vector-bisect-left (with-bounds bisect-left vector-ref vector-bounds))
    (define vector-bisect-right (with-bounds bisect-right vector-ref vector-bounds))))
