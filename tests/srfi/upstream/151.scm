;;; The suite of SRFI 151's repository.

(import (scheme base) (suites))

(run-suite "srfi-151/srfi-151/chibi-test.scm" '(scheme base) '(srfi 151) '(chibi test))
(finish-suites)
