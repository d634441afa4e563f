;;; `fluid-let` of (canny base).

(import (scheme base) (only (canny base) fluid-let) (canny test))

(define x 1)
(define y 10)
(define (sum) (+ x y))

(test-group "values for a while"
  (test 12 (fluid-let ((x 2)) (sum)))
  (test 11 (sum))
  (test 5 (fluid-let ((x 2) (y 3)) (sum)))
  (test 11 (sum))
  (test 'nothing (fluid-let () 'nothing))
  (test 6 (fluid-let ((x 2) (y 3)) (define z 1) (+ z (sum))))
  (test '(10 1) (fluid-let ((x y) (y x)) (list x y)))
  (test 20 (let ((local 1))
             (define (twice) (* 2 local))
             (fluid-let ((local 10)) (twice)))))

(test-group "ways out and in"
  (test 11 (begin
             (guard (e (#t #f)) (fluid-let ((x 2)) (raise 'out)))
             (sum)))
  ;; A value that is assigned inside is kept for the next entry.
  (test '(5 1 5 1)
        (let ((again #f) (seen '()))
          (fluid-let ((x 2))
            (call/cc (lambda (k) (set! again k) (set! x 5)))
            (set! seen (cons x seen)))
          (set! seen (cons x seen))
          (if (< (length seen) 4) (again #f))
          (reverse seen))))

(test-finish)
