;;; (srfi 154): first-class dynamic extents.
;;;
;;; A dynamic extent is the three registers of the dynamic state.

(define-library (srfi 154)
  (export dynamic-extent? current-dynamic-extent with-dynamic-extent dynamic-lambda)
  (import (canny syntax) (canny primitives) (only (canny machine control) %rewind))
  (begin

    (define-record-type dynamic-extent
      (make-dynamic-extent winders handlers parameters)
      dynamic-extent?
      (winders extent-winders)
      (handlers extent-handlers)
      (parameters extent-parameters))

    (define (current-dynamic-extent)
      (make-dynamic-extent (%winders) (%handlers) (%parameters)))

    (define (enter! extent)
      (%rewind (extent-winders extent))
      (%set-handlers! (extent-handlers extent))
      (%set-parameters! (extent-parameters extent)))

    (define (with-dynamic-extent extent thunk)
      (if (not (dynamic-extent? extent))
          (%type-error 'with-dynamic-extent 1 "dynamic extent" extent))
      (let ((outer (current-dynamic-extent)))
        (enter! extent)
        (let ((result (thunk)))
          (enter! outer)
          result)))

    ;; The arguments are received in the dynamic extent of the call, the body is evaluated in the
    ;; other.
    (define-syntax dynamic-lambda
      (syntax-rules ()
        ((_ formals body0 body ...)
         (let* ((extent (current-dynamic-extent))
                (procedure (lambda formals body0 body ...)))
           (lambda arguments
             (with-dynamic-extent extent (lambda () (%apply procedure arguments))))))))))
