;;; The suite of SRFI 133's repository.

(import (scheme base) (suites))

(run-suite "srfi-133/vectors/vectors-test.scm" '(scheme base) '(srfi 133) '(chibi test))
(finish-suites)
