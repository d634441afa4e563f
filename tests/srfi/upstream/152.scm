;;; The suite of SRFI 152's repository.
;;;
;;; One test calls string=? and its like without arguments, which neither R7RS nor the SRFI allows.

(import (scheme base) (suites))

(run-suite "srfi-152/chibi-test.scm" '(scheme base) '(scheme char) '(srfi 152) '(chibi test))
(finish-suites)
