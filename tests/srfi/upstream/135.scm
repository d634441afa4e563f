;;; The suite of SRFI 135's repository.
;;;
;;; Its tests are forms (or TEST (fail NAME)), which are counted here.

(import (scheme base) (scheme eval) (scheme repl) (suites))

(skip-forms 'define-syntax)
(eval '(import (scheme base) (chibi test)) (interaction-environment))
(eval '(define-syntax or
        (syntax-rules (fail)
          ((_ test (fail name)) (test-assert 'name test))
          ((_) #f)
          ((_ test) test)
          ((_ test more ...) (let ((value test)) (if value value (or more ...))))))
      (interaction-environment))
(run-suite "srfi-135/texts-test.sps" '(except (scheme base) or) '(scheme char) '(scheme write)
           '(srfi 135) '(chibi test))
(finish-suites)
