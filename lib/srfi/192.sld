;;; (srfi 192): Port Positioning.
;;;
;;; Positions are counted in bytes, also those of textual ports; those of ports of procedures are
;;; what the procedures say.

(define-library (srfi 192)
  (export (rename port-has-position? port-has-port-position?) port-position
          (rename port-seekable? port-has-set-port-position!?) set-port-position!
          make-i/o-invalid-position-error i/o-invalid-position-error?)
  (import (only (canny primitives) %make-condition condition-kind error-object? eq? list)
          (canny syntax)
          (only (canny io) port-has-position? port-position port-seekable? set-port-position!))
  (begin

    (define (make-i/o-invalid-position-error position)
      (%make-condition 'invalid-position "there is no such position" (list position) #f))

    (define (i/o-invalid-position-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'invalid-position)))))
