;;; (srfi 36): conditions of input and output.
;;;
;;; Conditions that the machine raises for files, closed ports and the reader have these types.

(define-library (srfi 36)
  (export &error error?
          &i/o-error i/o-error? &i/o-port-error i/o-port-error? i/o-error-port
          &i/o-read-error i/o-read-error? &i/o-write-error i/o-write-error?
          &i/o-closed-error i/o-closed-error?
          &i/o-filename-error i/o-filename-error? i/o-error-filename
          &i/o-malformed-filename-error i/o-malformed-filename-error?
          &i/o-file-protection-error i/o-file-protection-error?
          &i/o-file-is-read-only-error i/o-file-is-read-only-error?
          &i/o-file-already-exists-error i/o-file-already-exists-error?
          &i/o-no-such-file-error i/o-no-such-file-error?
          &read-error read-error? read-error-line read-error-column read-error-position
          read-error-span)
  (import (canny machine conditions)))
