;;; (canny machine ports): procedures that hand a port to a procedure.
;;;
;;; The port is closed when the procedure returns, not when it is left by a continuation, which
;;; might come back.

(define-library (canny machine ports)
  (export call-with-port call-with-input-file call-with-output-file
          with-input-from-file with-output-to-file
          call-with-output-string call-with-input-string
          with-output-to-string with-input-from-string
          write-line)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define (call-with-port port procedure)
      (if (not (port? port))
          (%type-error 'call-with-port 1 "port" port))
      (let ((result (procedure port)))
        (close-port port)
        result))

    (define (call-with-input-file name procedure)
      (call-with-port (open-input-file name) procedure))

    (define (call-with-output-file name procedure)
      (call-with-port (open-output-file name) procedure))

    (define (with-input-from-file name thunk)
      (call-with-port (open-input-file name)
        (lambda (port)
          (parameterize ((current-input-port port))
            (thunk)))))

    (define (with-output-to-file name thunk)
      (call-with-port (open-output-file name)
        (lambda (port)
          (parameterize ((current-output-port port))
            (thunk)))))

    (define (call-with-output-string procedure)
      (let ((port (open-output-string)))
        (procedure port)
        (get-output-string port)))

    (define (call-with-input-string string procedure)
      (procedure (open-input-string string)))

    (define (with-output-to-string thunk)
      (let ((port (open-output-string)))
        (parameterize ((current-output-port port))
          (thunk))
        (get-output-string port)))

    (define (with-input-from-string string thunk)
      (parameterize ((current-input-port (open-input-string string)))
        (thunk)))

    (define write-line
      (case-lambda
        ((object) (write-line object (current-output-port)))
        ((object port)
         (write object port)
         (newline port))))))
