;;; The suite in SRFI 115's repository, contributed by Duy Nguyen.

(import (scheme base) (suites))

(run-library-suite "srfi-115/contrib/duy-nguyen/srfi/115/test.sld"
                   '(scheme base) '(scheme char) '(scheme file) '(scheme write) '(srfi 115)
                   '(srfi 130) '(chibi test))
(finish-suites)
