;; SRFI 78: lightweight testing.

(import (scheme base) (srfi 78) (srfi 42) (canny test))

(define-syntax output
  (syntax-rules ()
    ((_ body ...)
     (let ((port (open-output-string)))
       (parameterize ((current-output-port port)) body ...)
       (get-output-string port)))))

(test-true (check-passed? 0))
(test "\n(+ 1 1) => 2 ; correct\n" (output (check (+ 1 1) => 2)))
(test-true (check-passed? 1))
(test-false (check-passed? 2))
(test "\n(+ 1 1) => 2 ; *** wrong ***\n  expected: 3\n" (output (check (+ 1 1) => 3)))
(test-false (check-passed? 1))
(test "\n; *** checks *** : 1 correct, 1 failed. First failed example:\n\n(+ 1 1) => 2 ; *** \
       wrong ***\n  expected: 3\n"
  (output (check-report)))
(check-reset!)
(test-true (check-passed? 0))
(output (check (vector 1) (=> equal?) (vector 1)))
(output (check (vector 1) (=> eq?) (vector 1)))
(test-false (check-passed? 1))
(check-reset!)
(test "\n(* x 2) => 8 ; 5 cases checked\n"
  (output (check-ec (:range x 5) (* x 2) => (+ x x) (x))))
(test "\n(+ 1 1) => 2 ; 1 case checked\n" (output (check-ec (+ 1 1) => 2)))
(output (check-ec (:range x 5) (* x 2) => (+ x x)))
(output (check-ec (:range x 5) (* x 2) (=> =) (+ x x)))
(output (check-ec (:range x 5) (:range y 5) (* x y) (=> =) (* y x) (x y)))
(test-true (check-passed? 5))
(test "\n(let ((x 3)) (* x x)) => 9 ; *** wrong ***\n  expected: 4\n"
  (output (check-ec (:range x 2 5) (if (> x 2)) (* x x) => 4 (x))))
(test "\n; *** checks *** : 5 correct, 1 failed. First failed example:\n\n(let ((x 3)) (* x x)) \
       => 9 ; *** wrong ***\n  expected: 4\n"
  (output (check-report)))
(check-reset!)
(check-set-mode! 'report-failed)
(test "" (output (check 1 => 1)))
(test "\n1 => 1 ; *** wrong ***\n  expected: 2\n" (output (check 1 => 2)))
(check-set-mode! 'summary)
(test "" (output (check 1 => 2)))
(check-set-mode! 'off)
(test 0 (let ((n 0)) (check (begin (set! n 1) n) => 1) (check-ec (begin (set! n 1) n) => 1) n))
(test "" (output (check-report)))
(check-set-mode! 'report)
(test-error (check-set-mode! 'loud))
(check-reset!)
(test "\n; *** checks *** : 0 correct, 0 failed.\n" (output (check-report)))

(test-finish)
