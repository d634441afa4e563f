;;; (srfi 145): assumptions.
;;;
;;; A false assumption is always reported.

(define-library (srfi 145)
  (export assume %assumption-failed)
  (import (canny primitives) (canny syntax) (only (canny machine control) raise))
  (begin

    (define-syntax assume
      (syntax-rules ()
        ((_ expression message ...)
         (or expression
             (%assumption-failed 'expression (list message ...))))))

    (define (%assumption-failed expression irritants)
      (raise (%make-condition 'assertion "invalid assumption"
                              (cons expression irritants) 'assume)))))
