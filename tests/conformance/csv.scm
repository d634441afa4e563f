;;; (canny csv): reading rows, dialects, headers, writing, errors.

(import (scheme base) (canny csv) (canny test) (canny test properties))

(define (rows text) (csv->list (open-input-string text)))
(define (written . arguments)
  (let ((port (open-output-string)))
    (csv-write (car arguments) port)
    (get-output-string port)))
(define (place thunk)
  (guard (e ((csv-error? e) (list (csv-error-line e) (csv-error-column e)))) (thunk)))

(test-group "rows"
  (test '() (rows ""))
  (test '(("a" "b") ("c" "d")) (rows "a,b\nc,d\n"))
  (test '(("a" "b") ("c" "d")) (rows "a,b\r\nc,d"))
  (test '(("a,\"b\"\n" "c→")) (rows "\"a,\"\"b\"\"\n\",c→"))
  (test '(("" "")) (rows ",\n\n"))
  (test '(("")) (rows "\"\"\n"))
  (test '(#("a" "b")) (csv->list (open-input-string "a,b\n") #:row 'vector))
  (test '("a" "b") (csv-read (open-input-string "a,b\nc")))
  (test-true (eof-object? (csv-read (open-input-string ""))))
  (test 50000 (length (rows (apply string-append (make-list 50000 "some,\"text\",3\n")))))
  (test '(("1" "2")) (let ((seen '()))
                       (csv-for-each (lambda (row) (set! seen (cons row seen)))
                                     (open-input-string "1,2"))
                       seen)))

(test-group "headers"
  (test '((("name" . "abc") ("size" . "3")))
        (csv->list (open-input-string "name,size\nabc,3\n") #:headers #t))
  (test '(((a . "1") (b . "2")) ((a . "3")))
        (csv->list (open-input-string "1,2\n3\n") #:headers '(a b)))
  (test '() (csv->list (open-input-string "") #:headers #t))
  (test '(("a") ("b")) (let ((next (csv-rows (open-input-string "a\nb"))))
                         (let* ((a (next)) (b (next))) (list a b)))))

(test-group "dialects"
  (test '(("a" "b,c")) (csv->list (open-input-string "a;b,c\n") #:delimiter #\;))
  (test '(("a" "b")) (csv->list (open-input-string "a\tb\n") #:delimiter #\tab))
  (test '(("'a" "b'")) (csv->list (open-input-string "'a,b'\n")))
  (test '(("a,b")) (csv->list (open-input-string "'a,b'\n") #:quote-char #\'))
  (test '(("\"a" "b\"")) (csv->list (open-input-string "\"a,b\"\n") #:quote-char #f))
  (test '(("a" " b ")) (csv->list (open-input-string " a , \" b \" \n") #:trim? #t))
  (test '(("a")) (csv->list (open-input-string "#no\na\n") #:comment #\#))
  (test '(("a\"b")) (csv->list (open-input-string "\"a\\\"b\"\n") #:escape #\\))
  (test '(("") ("a")) (csv->list (open-input-string "\na\n") #:skip-empty? #f))
  (test-error (csv-read (open-input-string "a") #:delimiter "x"))
  (test-error (csv-read (open-input-string "a") #:delimiter #\→))
  (test-error (csv-read (open-input-string "a") #:quote-char #\,))
  (test-error (csv-read (open-input-string "a") #:row 'string))
  (test-error (csv-read "a")))

(test-group "errors"
  (test '(2 4) (place (lambda () (rows "a\n\"b\"c\n"))))
  (test '(2 1) (place (lambda () (rows "a\nb,\"c\n\n")))))

(test-group "writing"
  (test "a,1,b\n" (written '("a" 1 b)))
  (test "\"a,b\",\"\"\"\",\"\n\",é\n" (written '("a,b" "\"" "\n" "é")))
  (test "\"\"\n" (written '("")))
  (test "1.5\n" (written '#(1.5)))
  (test "a;b\r\n" (let ((port (open-output-string)))
                    (csv-write '("a" "b") port #:delimiter #\; #:line-end "\r\n")
                    (get-output-string port)))
  (test "\"a\"\n\"b\"\n" (let ((port (open-output-string)))
                           (csv-write-all '(("a") ("b")) port #:quote-all? #t)
                           (get-output-string port)))
  (test-error (written '(())))
  (test-error (written 5))
  (test-error (csv-write '("a,b") (open-output-string) #:quote-char #f)))

(test-property "what is written is read"
               ((table (lists-of (mapped cons (strings) (lists-of (strings))))))
               (let ((port (open-output-string)))
                 (csv-write-all table port)
                 (equal? table (csv->list (open-input-string (get-output-string port))))))

(test-finish)
