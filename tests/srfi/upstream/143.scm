;;; The suite of SRFI 143's repository.

(import (scheme base) (suites))

(run-suite "srfi-143/srfi-143/chibi-test.scm" '(scheme base) '(srfi 143) '(chibi test))
(finish-suites)
