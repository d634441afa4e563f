;;; SRFI 181: custom and transcoded ports.

(import (scheme base) (scheme file) (scheme read) (scheme write) (srfi 181) (canny test)
        (only (canny fs) make-temporary-directory path-join))

;; Several runs at once must not meet.
(define file (path-join (make-temporary-directory) "test.txt"))

(define (source bytes size)
  (let ((place 0))
    (make-custom-binary-input-port
     "source"
     (lambda (target start count)
       (let ((count (min count size (- (bytevector-length bytes) place))))
         (bytevector-copy! target start bytes place (+ place count))
         (set! place (+ place count))
         count))
     #f #f #f)))

(define (text-source text size)
  (let ((place 0))
    (make-custom-textual-input-port
     "text"
     (lambda (target start count)
       (let ((count (min count size (- (string-length text) place))))
         (string-copy! target start text place (+ place count))
         (set! place (+ place count))
         count))
     #f #f #f)))

(test-group "binary input"
  (let ((port (source (bytevector 1 2 3 4 5) 2)))
    (test '(#t #t #f #f) (list (input-port? port) (binary-port? port) (output-port? port)
                               (textual-port? port)))
    (test 1 (peek-u8 port))
    (test 1 (read-u8 port))
    (test (bytevector 2 3 4) (read-bytevector 3 port))
    (let ((target (bytevector 0 0 0)))
      (test 1 (read-bytevector! target port))
      (test (bytevector 5 0 0) target))
    (test #t (eof-object? (read-u8 port)))
    (test #t (eof-object? (peek-u8 port)))))

(test-group "textual input"
  (do ((size 1 (+ size 1)))
      ((= size 9))
    (let ((port (text-source "aλ\r\n(b \"c d\" . e) #(1 2)\nlast" size)))
      (test #\a (read-char port))
      (test #\λ (peek-char port))
      (test "λ" (read-line port))
      (test '(b "c d" . e) (read port))
      (test '#(1 2) (read port))
      (test "" (read-line port))
      (test "la" (read-string 2 port))
      (test "st" (read-line port))
      (test #t (eof-object? (read-line port)))
      (test #t (eof-object? (read-char port)))))
  (test-error (read (text-source "(1 2" 1)))
  ;; Primitives that are called as procedures.
  (test '(#\x "y" #\z)
        (map (lambda (read text) (read (text-source text 1)))
             (list read-char read-line peek-char)
             '("x" "y" "z")))
  (test "ab" (apply read-string 2 (list (text-source "abc" 1)))))

(test-group "errors and continuations in the procedures"
  (let* ((calls 0)
         (port (make-custom-textual-input-port
                "failing"
                (lambda (target start count)
                  (set! calls (+ calls 1))
                  (if (odd? calls) (raise 'broken))
                  (string-set! target start #\a)
                  1)
                #f #f #f)))
    (test 'broken (guard (object (#t object)) (read-char port)))
    (test #\a (read-char port))
    (test 'broken (guard (object (#t object)) (read-line port))))
  (let ((port
         (make-custom-binary-input-port "liar" (lambda (target start count) (+ count 1)) #f #f #f)))
    (test-error (read-u8 port)))
  ;; A port that reads from another one.
  (let* ((inner (text-source "one\ntwo\n" 1))
         (outer (make-custom-textual-input-port
                 "upper"
                 (lambda (target start count)
                   (let ((char (read-char inner)))
                     (if (eof-object? char)
                         0
                         (begin
                           (string-set! target start (if (char=? char #\o) #\0 char))
                           1))))
                 #f #f #f)))
    (test "0ne" (read-line outer))
    (test "tw0" (read-line outer))
    (test #t (eof-object? (read-line outer)))))

(test-group "output"
  (let* ((taken '()) (events '())
         (port (make-custom-textual-output-port
                "sink"
                (lambda (text start count)
                  (let ((count (min count 3)))
                    (set! taken (cons (substring text start (+ start count)) taken))
                    count))
                #f #f
                (lambda () (set! events (cons 'close events)))
                (lambda () (set! events (cons 'flush events))))))
    (write '(1 "two") port)
    (write-char #\λ port)
    (write-string "three" port)
    (newline port)
    (flush-output-port port)
    (test "(1 \"two\")λthree\n" (apply string-append (reverse taken)))
    (test '(flush) events)
    (do ((i 0 (+ i 1)))
        ((= i 10000))
      (write-string "0123456789" port))
    (close-port port)
    (close-port port)
    (test '(close flush flush) events)
    (test 100016 (apply + (map string-length taken)))
    (test-error (write-char #\a port)))
  (let* ((sum 0)
         (port (make-custom-binary-output-port
                "sum"
                (lambda (bytes start count)
                  (set! sum (+ sum (bytevector-u8-ref bytes start)))
                  1)
                #f #f #f)))
    (write-u8 1 port)
    (write-bytevector (bytevector 2 3 4) port)
    (flush-output-port port)
    (test 10 sum)
    (write-u8 5 port)
    (close-port port)
    (test 15 sum)))

(test-group "closing"
  (let* ((closed 0)
         (port (make-custom-textual-input-port "p" (lambda (target start count) 0) #f #f
                                               (lambda () (set! closed (+ closed 1))))))
    (close-port port)
    (close-input-port port)
    (test 1 closed)
    (test #f (input-port-open? port))
    (test-error (read-char port))))

(test-group "transcoders"
  (define latin (make-transcoder (latin-1-codec) (native-eol-style) 'replace))
  (define crlf (make-transcoder (utf-8-codec) 'crlf 'raise))
  (test "é" (bytevector->string (bytevector 233) latin))
  (test (bytevector 233 63) (string->bytevector "éλ" latin))
  (test (bytevector 97 13 10 98) (string->bytevector "a\nb" crlf))
  (test "a\nb\nc\n" (bytevector->string (bytevector 97 13 10 98 13 99 10) crlf))
  (test "a\r\nb" (bytevector->string (bytevector 97 13 10 98) (native-transcoder)))
  (test #t (guard (object ((i/o-decoding-error? object) #t))
             (bytevector->string (bytevector 255) (make-transcoder (utf-8-codec) 'none 'raise))))
  (test #\λ (guard (object ((i/o-encoding-error? object) (i/o-encoding-error-char object)))
              (string->bytevector "aλ" (make-transcoder (latin-1-codec) 'none 'raise))))
  (test "no-such-codec"
        (guard (object ((unknown-encoding-error? object) (unknown-encoding-error-name object)))
          (make-codec "no-such-codec")))
  (test "aλ" (read-line (transcoded-port (source (bytevector 97 206 187 13 10) 1) crlf)))
  (let ((port (transcoded-port (open-binary-output-file file) crlf)))
    (write-string "a\nλ\n" port)
    (close-port port))
  (let ((port (open-binary-input-file file)))
    (test (bytevector 97 13 10 206 187 13 10) (read-bytevector 100 port))
    (close-port port))
  (delete-file file)
  (let* ((store (make-bytevector 9 32)) (place 0)
         (move (lambda (count copy!)
                 (let ((count (min count (- 9 place))))
                   (copy! count)
                   (set! place (+ place count))
                   count)))
         (custom (make-custom-binary-input/output-port
                  'store
                  (lambda (target start count)
                    (move count (lambda (count)
                                  (bytevector-copy! target start store place (+ place count)))))
                  (lambda (source start count)
                    (move count (lambda (count)
                                  (bytevector-copy! store place source start (+ start count)))))
                  (lambda () place)
                  (lambda (to) (set! place to))
                  #f))
         (port (transcoded-port custom crlf)))
    (test #t (and (input-port? port) (output-port? port) (textual-port? port)))
    (write-string "ab\nc\n" port)
    (close-output-port port)
    (test "ab\r\nc\r\n  " (utf8->string store)))
  (test #t (file-error? (make-file-error "x"))))

(test-finish)
