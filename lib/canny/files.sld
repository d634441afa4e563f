;;; (canny files): whole files at once.
;;;
;;; The rest of a port, or a file, as a string, lines, data or bytes, and the other way round. A
;;; port is the current input port unless given, and stays open. A file that is written is replaced.
;;;
;;;     (lines->file '("one" "two") "numbers.txt")
;;;     (file->string "numbers.txt")              ; => "one\ntwo\n"

(define-library (canny files)
  (export port->string port->lines port->list port->bytevector
          file->string file->lines file->list file->bytevector
          string->file lines->file bytevector->file)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine ports))
  (begin

    ;; The rest of a port, made of the pieces that a procedure reads. It is one piece, unless the
    ;; read was interrupted or the rest is very long.
    (define (join read-piece input join-pieces)
      (let next ((pieces '()))
        (let ((piece (read-piece input)))
          (cond ((not (eof-object? piece)) (next (cons piece pieces)))
                ((and (pair? pieces) (null? (cdr pieces))) (car pieces))
                (else (join-pieces (reverse! pieces)))))))

    ;; The rest of the characters of a port.
    (define (port->string . port)
      (join %read-rest
            (if (pair? port) (car port) (current-input-port))
            string-concatenate))

    ;; The rest of the bytes of a binary port.
    (define (port->bytevector . port)
      (join %read-rest-bytes
            (if (pair? port) (car port) (current-input-port))
            bytevector-concatenate))

    (define (bytevector-concatenate pieces)
      (let ((whole (make-bytevector (apply + (map bytevector-length pieces)))))
        (let next ((at 0) (pieces pieces))
          (if (null? pieces)
              whole
              (begin
                (bytevector-copy! whole at (car pieces))
                (next (+ at (bytevector-length (car pieces))) (cdr pieces)))))))

    ;; `(port->list [reader [port]])`: what the reader gives until the end-of-file object. The
    ;; reader is `read` unless given.
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

    ;; The rest of the lines of a port, without their ends.
    (define (port->lines . port)
      (port->list read-line (if (pair? port) (car port) (current-input-port))))

    ;; The characters of a file.
    (define (file->string name)
      (call-with-input-file name port->string))

    ;; The lines of a file, without their ends.
    (define (file->lines name)
      (call-with-input-file name port->lines))

    ;; The results of a reader at the data of a file; the reader is `read` unless given.
    (define (file->list name . reader)
      (let ((reader (if (pair? reader) (car reader) read)))
        (call-with-input-file name (lambda (port) (port->list reader port)))))

    ;; The bytes of a file.
    (define (file->bytevector name)
      (call-with-port (open-binary-input-file name) port->bytevector))

    ;; Writes a string to a file.
    (define (string->file string name)
      (if (not (string? string))
          (%type-error 'string->file 1 "string" string))
      (call-with-output-file name
        (lambda (port) (write-string string port))))

    ;; Writes strings to a file, each with the end of a line behind it.
    (define (lines->file lines name)
      ;; The elements would be written before the mistake is found.
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

    ;; Writes bytes to a file.
    (define (bytevector->file bytevector name)
      (if (not (bytevector? bytevector))
          (%type-error 'bytevector->file 1 "bytevector" bytevector))
      (call-with-port (open-binary-output-file name)
        (lambda (port) (write-bytevector bytevector port))))))
