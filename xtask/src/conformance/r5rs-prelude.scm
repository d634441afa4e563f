;;; Names that chibi's R5RS tests use besides those of R5RS.
(import (scheme r5rs)
        (only (scheme base) open-output-string get-output-string flush-output-port when unless))
(define (call-with-output-string receiver)
  (let ((port (open-output-string)))
    (receiver port)
    (get-output-string port)))
(define (flush-output) (flush-output-port))
