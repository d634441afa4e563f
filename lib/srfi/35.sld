;;; (srfi 35): conditions.
;;;
;;; Objects that `error` and the machine raise count as conditions with a message.

(define-library (srfi 35)
  (export make-condition-type condition-type? make-condition condition? condition-has-type?
          condition-ref make-compound-condition extract-condition
          define-condition-type condition
          &condition &message message-condition? condition-message
          &serious serious-condition? &error error?)
  (import (canny machine conditions)))
