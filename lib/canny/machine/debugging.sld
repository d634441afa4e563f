;;; A procedure that the machine's debugger calls in a task that stands still. It is loaded with the
;;; debugger, so that other programs do not pay for it.

(define-library (canny machine debugging)
  (import (scheme base))
  (export %run-for-debugger)
  (begin
    ;; Runs code that a debugger has compiled. The vector has a list of thunks, whose last one
    ;; gives a procedure of the vector, unless the third element has it already. The second
    ;; element gets a list of the object that is raised.
    (define (%run-for-debugger request)
      (guard (object (#t (vector-set! request 1 (list object))))
        (let ((known (vector-ref request 2)))
          (if known
              (known request)
              (let loop ((thunks (vector-ref request 0)) (value #f))
                (if (pair? thunks)
                    (loop (cdr thunks) ((car thunks)))
                    (begin
                      (vector-set! request 2 value)
                      (value request))))))))))
