;;; The suite of SRFI 257's repository.
;;;
;;; The failure: it takes two boxes with the same content to be equal?.

(import (scheme base) (suite))

(run-suite "srfi-257/srfi-257-test.scm" '((scheme base) (scheme write) (scheme char) (srfi 111)
                                          (srfi 257) (srfi 257 misc) (srfi 257 box)))
(suite-finish)
