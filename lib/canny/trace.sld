;;; (canny trace): procedures that print their calls and results.
;;;
;;; (traced name procedure) gives a procedure that does what the other does. It writes each call
;;; and each result to the current output port, indented by how many traced calls are under way. A
;;; call that is left by an escape has no result; the next line shows by its indentation where the
;;; program resumed.

(define-library (canny trace)
  (export traced)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    ;; The depth is a parameter, so that leaving a call in any way restores it.
    (define depth (make-parameter 0))

    (define width 79)

    (define (indent level)
      (let loop ((level level))
        (if (> level 0)
            (begin
              (write-string "|  ")
              (loop (- level 1))))))

    ;; The first line of the written form, cut where the window would end.
    (define (show level object)
      (indent level)
      (let* ((text (call-with-text object))
             (room (max 20 (- width (* 3 level)))))
        (if (> (string-length text) room)
            (begin
              (write-string (substring text 0 (- room 1)))
              (write-string "…"))
            (write-string text))
        (newline)))

    (define (call-with-text object)
      (let ((port (open-output-string)))
        (write object port)
        (get-output-string port)))

    (define (traced name procedure)
      (let ((wrapper
             (lambda arguments
               (let ((level (depth)))
                 (show level (cons name arguments))
                 (let ((result
                        (parameterize ((depth (+ level 1)))
                          (apply procedure arguments))))
                   (for-each-value (lambda (value) (show level value)) result)
                   result)))))
        (%set-procedure-name! wrapper name)
        wrapper))

    ;; Several values are one object.
    (define (for-each-value show result)
      (let loop ((values (%values->list result)))
        (if (pair? values)
            (begin
              (show (car values))
              (loop (cdr values))))))))
