;;; (canny string-interpolation): string literals with expressions in them.
;;;
;;; The expander reads the literal, so that an error in an expression is shown where it stands.

(define-library (canny string-interpolation)
  (export string-interpolate)
  (import (canny primitives) (canny syntax))
  (begin

    ;; A value as `display` shows it.
    (define (%shown value)
      (cond ((string? value) value)
            ((symbol? value) (symbol->string value))
            ((number? value) (number->string value))
            ((char? value) (string value))
            (else
             (let ((port (open-output-string)))
               (display value port)
               (get-output-string port)))))

    (define-syntax string-interpolate
      (syntax-rules ()
        ((_ text) (%interpolate %shown text))))))
