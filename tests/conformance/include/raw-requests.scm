;; For tests of servers: requests as bytes, and all that comes until the connection ends. Needs
;; `(scheme base)`, `(canny net)`, `(canny tasks)` and `server-addresses`.

;; All of a port as text.
(define (text-of port)
  (let loop ((parts '()))
    (let ((part (read-bytevector 4096 port)))
      (if (eof-object? part)
          (utf8->string (apply bytevector-append (reverse parts)))
          (loop (cons part parts))))))

;; Sends some texts or bytes, one after the other, and returns the answer of the server until it
;; closes the connection.
(define (exchange server . parts)
  (call-with-connection (connect (car (server-addresses server)) #:timeout 10)
    (lambda (input output)
      (for-each (lambda (part)
                  (write-bytevector (if (string? part) (string->utf8 part) part) output)
                  (flush-output-port output)
                  (if (pair? (cdr parts)) (sleep 0.01)))
                parts)
      (text-of input))))

;; The answer of the server to a GET with fields, each with its line end.
(define (get server target . fields)
  (exchange server
            (string-append "GET " target " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           (apply string-append fields)
                           "\r\n")))
