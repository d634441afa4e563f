;;; The suite of SRFI 178's repository.

(import (scheme base) (scheme eval) (scheme repl) (suites))

(eval '(import (scheme base) (scheme write) (srfi 1) (srfi 151) (srfi 158) (srfi 178) (chibi test))
      (interaction-environment))
;; What the main file defines before it includes the others.
(eval '(begin
        (define-syntax check
          (syntax-rules (=>)
            ((_ expression => expected) (test expected expression))))
        (define (print-header message) #f)
        (define (proc-or a b) (or a b))
        (define (constantly x) (lambda (ignored) x))
        (define bitvector= bitvector=?))
      (interaction-environment))
(for-each
 (lambda (name)
   (run-suite (string-append "srfi-178/test/" name ".scm") '(srfi 178))
   (eval (list (string->symbol
                (string-append "check-"
                               (cond ((string=? name "quasi-string") "quasi-string-ops")
                                     ((string=? name "gen-accum") "generators-and-accumulators")
                                     ((string=? name "logic-ops") "bitwise-operations")
                                     ((string=? name "quasi-ints") "quasi-integer-operations")
                                     ((string=? name "fields") "bit-field-operations")
                                     ((string=? name "conversions") "bitvector-conversions")
                                     (else name)))))
         (interaction-environment)))
 '("constructors" "iterators" "selectors" "conversions" "mutators" "quasi-string" "gen-accum"
   "logic-ops" "quasi-ints" "fields"))
(finish-suites)
