;;; The suite of SRFI 160's repository, for s16vectors.
;;;
;;; One test wants the hash of the sample implementation, the sum of the elements; any hash will do.

(import (scheme base) (scheme eval) (scheme repl) (suites))

(eval '(define (sub1 x) (- x 1)) (interaction-environment))
(run-suite "srfi-160/shared-tests.scm" '(scheme base) '(scheme write) '(srfi 128) '(srfi 160 s16)
           '(chibi test))
(finish-suites)
