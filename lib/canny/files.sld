;;; (canny files): whole files at once.
;;;
;;; (port->string [port])                the rest of the characters
;;; (port->lines [port])                 the rest of the lines, without their ends
;;; (port->list [reader [port]])         what the reader gives until the end of the file; `read` unless given
;;; (port->bytevector [port])            the rest of the bytes
;;; (file->string name), file->lines, file->bytevector, (file->list name [reader])
;;; (string->file string name), (lines->file lines name), (bytevector->file bytevector name)
;;;
;;; A port is the current input port unless given, and stays open. A file that is written is replaced. The procedures
;;; rely on the ports to complain of arguments, but for lists, whose elements would be written before the mistake is
;;; found.

(define-library (canny files)
  (export port->string port->lines port->list port->bytevector
          file->string file->lines file->list file->bytevector
          string->file lines->file bytevector->file)
  (import (canny primitives) (canny syntax) (canny control) (canny lists) (canny ports))
  (begin

    (define piece-size 65536)

    (define (port->string . port)
      (let ((input (if (pair? port) (car port) (current-input-port)))
            (output (open-output-string)))
        (let next ()
          (let ((piece (read-string piece-size input)))
            (if (eof-object? piece)
                (get-output-string output)
                (begin
                  (write-string piece output)
                  (next)))))))

    (define (port->bytevector . port)
      (let ((input (if (pair? port) (car port) (current-input-port)))
            (output (open-output-bytevector)))
        (let next ()
          (let ((piece (read-bytevector piece-size input)))
            (if (eof-object? piece)
                (get-output-bytevector output)
                (begin
                  (write-bytevector piece output)
                  (next)))))))

    (define (port->list . arguments)
      (let ((reader (if (pair? arguments) (car arguments) read))
            (port (if (and (pair? arguments) (pair? (cdr arguments)))
                      (cadr arguments)
                      (current-input-port))))
        (if (not (procedure? reader))
            (%type-error 'port->list 1 "procedure" reader))
        (let next ((elements '()))
          (let ((element (reader port)))
            (if (eof-object? element)
                (reverse elements)
                (next (cons element elements)))))))

    (define (port->lines . port)
      (port->list read-line (if (pair? port) (car port) (current-input-port))))

    (define (file->string name)
      (call-with-input-file name port->string))

    (define (file->lines name)
      (call-with-input-file name port->lines))

    (define (file->list name . reader)
      (let ((reader (if (pair? reader) (car reader) read)))
        (call-with-input-file name (lambda (port) (port->list reader port)))))

    (define (file->bytevector name)
      (call-with-port (open-binary-input-file name) port->bytevector))

    (define (string->file string name)
      (if (not (string? string))
          (%type-error 'string->file 1 "string" string))
      (call-with-output-file name
        (lambda (port) (write-string string port))))

    (define (lines->file lines name)
      (if (not (list? lines))
          (%type-error 'lines->file 1 "list" lines))
      (for-each (lambda (line)
                  (if (not (string? line))
                      (%type-error 'lines->file 1 "list of strings" lines)))
                lines)
      (call-with-output-file name
        (lambda (port)
          (for-each (lambda (line)
                      (write-string line port)
                      (newline port))
                    lines))))

    (define (bytevector->file bytevector name)
      (if (not (bytevector? bytevector))
          (%type-error 'bytevector->file 1 "bytevector" bytevector))
      (call-with-port (open-binary-output-file name)
        (lambda (port) (write-bytevector bytevector port))))))
