;; A web server for the test of examples/concurrent/check-links.scm: says its port on the first
;; line, and serves.

(import (scheme base) (scheme write) (canny net) (canny tasks))

(define flaky-requests 0)

(define (page . links)
  (string-append
   "<html><body>"
   (apply string-append
          (map (lambda (link) (string-append "<a class=x href=\"" link "\">link</a>\n")) links))
   "</body></html>"))

(define (respond status headers body)
  (string-append "HTTP/1.1 " status "\r\n" headers
                 "Content-Length: " (number->string (string-length body)) "\r\n\r\n" body))

(define html "Content-Type: text/html; charset=utf-8\r\n")

(define (answer path)
  (cond ((string=? path "/site/")
         (respond "200 OK" html
                  (page "a.html" "sub/" "missing" "flaky" "moved" "/outside.html" "#here"
                        "mailto:nobody@example.org" "a.html?x=1")))
        ((string=? path "/site/a.html") (respond "200 OK" html (page "./" "../site/sub/b.html")))
        ((string=? path "/site/a.html?x=1") (respond "200 OK" html "no links"))
        ((string=? path "/site/sub/")
         (string-append "HTTP/1.1 200 OK\r\n" html "Transfer-Encoding: chunked\r\n\r\n"
                        "13\r\n<img src='pic.png'>\r\n0\r\n\r\n"))
        ((string=? path "/site/sub/b.html") (respond "200 OK" html (page "/site/missing" "gone")))
        ((string=? path "/site/sub/pic.png")
         (respond "200 OK" "Content-Type: image/png\r\n" "picture"))
        ((string=? path "/site/flaky")
         (set! flaky-requests (+ flaky-requests 1))
         (if (= flaky-requests 1)
             (respond "503 Busy" "" "")
             (respond "200 OK" html "at last")))
        ((string=? path "/site/moved") (respond "302 Found" "Location: /site/a.html\r\n" ""))
        ;; Its links are of no interest.
        ((string=? path "/outside.html") (respond "200 OK" html (page "/nowhere")))
        ((string=? path "/nonsense") "this is no HTTP\r\n")
        (else (respond "404 Not Found" "" "nothing"))))

(define (read-line-of-bytes port)
  (let loop ((chars '()))
    (let ((byte (read-u8 port)))
      (cond ((or (eof-object? byte) (= byte 10)) (list->string (reverse chars)))
            ((= byte 13) (loop chars))
            (else (loop (cons (integer->char byte) chars)))))))

;; The word between the first two blanks.
(define (path-of line)
  (let* ((chars (string->list line))
         (rest (let skip ((chars chars))
                 (cond ((null? chars) '())
                       ((char=? (car chars) #\space) (cdr chars))
                       (else (skip (cdr chars)))))))
    (let take ((chars rest) (path '()))
      (if (or (null? chars) (char=? (car chars) #\space))
          (list->string (reverse path))
          (take (cdr chars) (cons (car chars) path))))))

(define (serve connection)
  (call-with-connection
    connection
    (lambda (input output)
      (let ((path (path-of (read-line-of-bytes input))))
        (let skip ()
          (if (not (string=? (read-line-of-bytes input) "")) (skip)))
        (write-bytevector (string->utf8 (answer path)) output)
        (flush-output-port output)))))

(define listener (tcp-listen "127.0.0.1" 0))

(write-string (listener-address listener))
(newline)
(flush-output-port)

(let loop ()
  (let ((connection (accept-connection listener)))
    (start (guard (e (#t #f)) (serve connection)))
    (loop)))
