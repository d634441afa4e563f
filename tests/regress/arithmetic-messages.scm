;;; Integer division names the argument that is no integer, in calls that are instructions too.

(import (scheme base) (only (canny base) condition->string) (canny test))

(define-syntax message-of
  (syntax-rules ()
    ((_ expression)
     (guard (e (#t (condition->string e))) expression))))

(define half (string->number "7.5"))

(test-group "an instruction"
  (test "quotient: argument 1 is not an integer: 7.5" (message-of (quotient half 2)))
  (test "remainder: argument 2 is not an integer: 7.5" (message-of (remainder 2 half)))
  (test "modulo: argument 1 is not an integer: 7.5" (message-of (modulo half 2)))
  (test "modulo: argument 2 is not an integer: 7.5" (message-of (modulo (expt 10 30) half)))
  (test "quotient: argument 1 is not an integer: 15/2" (message-of (quotient (exact half) 2)))
  (test 3.0 (quotient (string->number "7.0") 2)))

(test-group "a procedure"
  (test "quotient: argument 1 is not an integer: 7.5" (message-of (apply quotient (list half 2))))
  (test "floor-quotient: argument 2 is not an integer: 7.5"
        (message-of (floor-quotient 2 half))))

(test-finish)
