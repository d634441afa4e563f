;;; Questions that any port can be asked, and ports that are read and written by character.

(import (scheme base) (scheme file) (scheme read) (scheme time) (scheme write)
        (only (canny base) fresh-line port-column port-line) (canny test))

(test-group "a port of the other direction is not open for this one"
  (test #f (input-port-open? (open-output-string)))
  (test #f (output-port-open? (open-input-string "")))
  (test #f (input-port-open? (open-output-bytevector)))
  (test #f (output-port-open? (open-input-bytevector (bytevector)))))

;; Ports that are lent to a thread's generated code, and everything else that may happen to them
;; meanwhile. The loops are long enough to be compiled.

(define (repeat-string text count)
  (let ((out (open-output-string)))
    (do ((i 0 (+ i 1))) ((= i count) (get-output-string out))
      (write-string text out))))

(define (count-characters port)
  (let loop ((n 0) (lines 0))
    (let ((c (read-char port)))
      (cond ((eof-object? c) (list n lines))
            ((char=? c #\newline) (loop (+ n 1) (+ lines 1)))
            (else (loop (+ n 1) lines))))))

(define (copy-characters in out)
  (let loop ()
    (let ((c (read-char in)))
      (unless (eof-object? c)
        (write-char c out)
        (loop)))))

(define (copy-rest port)
  (let ((out (open-output-string)))
    (copy-characters port out)
    (get-output-string out)))

(define (copy text)
  (let ((in (open-input-string text))
        (out (open-output-string)))
    (copy-characters in out)
    (get-output-string out)))

(define (kind-of-error thunk)
  (call/cc
   (lambda (k)
     (with-exception-handler
       (lambda (e)
         (k (cond ((file-error? e) 'file)
                  ((read-error? e) 'read)
                  ((error-object? e) 'error)
                  (else e))))
       thunk))))

(define (with-file text procedure)
  (let ((name (string-append "canny-regress-ports-"
                             (number->string (exact (floor (* 1e6 (current-second)))))
                             ".txt")))
    (call-with-port (open-binary-output-file name)
      (lambda (out) (write-bytevector (if (string? text) (string->utf8 text) text) out)))
    (let ((result (procedure name)))
      (delete-file name)
      result)))

(define ascii (repeat-string "some text, and a line end\n" 4000))
(define mixed (repeat-string "abc λμ\n→ ü defghi" 4000))

(test-group "characters one by one"
  (test '(104000 4000) (count-characters (open-input-string ascii)))
  (test '(0 0) (count-characters (open-input-string "")))
  (test '(68000 4000) (count-characters (open-input-string mixed)))
  (test '(104000 4000)
        (with-file ascii (lambda (name) (call-with-input-file name count-characters))))
  (test '(68000 4000)
        (with-file mixed (lambda (name) (call-with-input-file name count-characters))))
  (test #t (string=? ascii (copy ascii)))
  (test #t (string=? mixed (copy mixed)))
  (test "" (copy "")))

(test-group "files are copied"
  (for-each
   (lambda (text)
     (test #t
       (with-file ""
         (lambda (name)
           (call-with-output-file name
             (lambda (out) (copy-characters (open-input-string text) out)))
           (call-with-input-file name
             (lambda (in) (equal? text (read-string 200000 in))))))))
   (list ascii mixed "x")))

(test-group "a peek leaves the character"
  (test 104000
    (let ((port (open-input-string ascii)))
      (let loop ((n 0))
        (let ((c (peek-char port)))
          (cond ((eof-object? c) n)
                ((eqv? c (read-char port)) (loop (+ n 1)))
                (else (list 'differs n)))))))
  (test '(#t #t)
    (let ((port (open-input-string "a")))
      (read-char port)
      (list (eof-object? (peek-char port)) (eof-object? (read-char port))))))

(test-group "characters, lines and strings in turns"
  (test 4000
    (let ((port (open-input-string ascii)))
      (let loop ((n 0))
        (let ((first (read-char port)))
          (if (eof-object? first)
              n
              (let* ((more (read-string 3 port))
                     (ready (char-ready? port))
                     (next (peek-char port))
                     (rest (read-line port)))
                (if (and ready
                         (eqv? first #\s) (string=? more "ome") (eqv? next #\space)
                         (string=? rest " text, and a line end"))
                    (loop (+ n 1))
                    (list n first more next rest))))))))
  (test '(2000 (a "b" 3))
    (let ((port (open-input-string (repeat-string "x (a \"b\" 3) " 2000))))
      (let loop ((n 0) (last #f))
        (let ((c (read-char port)))
          (if (eof-object? c)
              (list n last)
              (let ((datum (read port)))
                (read-char port)
                (loop (+ n 1) datum)))))))
  (test "a\nb\r\nc"
    (let ((port (open-input-string "1a\nb\r\nc")))
      (read-char port)
      (copy-rest port))))

(test-group "places are those of the characters that were read"
  (test '((1 . 1) (1 . 2) (2 . 1) (2 . 2) (3 . 1))
    (let ((port (open-input-string "a\nb\n")))
      (let loop ((places '()))
        (let ((place (cons (port-line port) (port-column port))))
          (if (eof-object? (read-char port))
              (reverse (cons place places))
              (loop (cons place places)))))))
  (test '(4001 1)
    (let ((port (open-input-string ascii)))
      (count-characters port)
      (list (port-line port) (port-column port)))))

(test-group "output of all kinds in turns"
  (test #t
    (let ((out (open-output-string)))
      (do ((i 0 (+ i 1)))
          ((= i 3000)
           (string=? (get-output-string out) (repeat-string "ab1\"é\"\nλ\n" 3000)))
        (write-char #\a out)
        (write-string "b" out)
        (write 1 out)
        (write "é" out)
        (fresh-line out)
        (write-char #\λ out)
        (write-char #\newline out)
        (fresh-line out))))
  (test '("abc" "abcd")
    (let* ((out (open-output-string)))
      (write-char #\a out)
      (write-char #\b out)
      (write-char #\c out)
      (let ((before (get-output-string out)))
        (write-char #\d out)
        (list before (get-output-string out))))))

(define (write-many port n)
  (do ((i 0 (+ i 1))) ((= i n)) (write-char #\x port)))

(define (read-many port n)
  (do ((i 0 (+ i 1))) ((= i n)) (read-char port)))

(test-group "a port that is closed in the middle"
  (test 'error
    (let ((port (open-input-string ascii)))
      (read-many port 5000)
      (close-port port)
      (kind-of-error (lambda () (read-many port 1)))))
  (test 'error
    (let ((port (open-input-string ascii)))
      (peek-char port)
      (close-input-port port)
      (kind-of-error (lambda () (peek-char port)))))
  (test '(error "xxxxx")
    (with-file ""
      (lambda (name)
        (let ((port (open-output-file name)))
          (write-many port 5)
          (close-port port)
          (let ((error (kind-of-error (lambda () (write-many port 1)))))
            (list error (call-with-input-file name (lambda (in) (read-string 10 in)))))))))
  (test "xxxxx"
    (with-file ""
      (lambda (name)
        (let ((port (open-output-file name)))
          (write-many port 5)
          (flush-output-port port)
          (let ((there (call-with-input-file name (lambda (in) (read-string 10 in)))))
            (close-port port)
            there))))))

(test-group "what is no such port"
  (for-each
   (lambda (port)
     (test 'error (kind-of-error (lambda () (read-many port 1))))
     (test 'error (kind-of-error (lambda () (peek-char port)))))
   (list 1 #f "text" '(a) #\a (open-output-string) (open-input-bytevector (bytevector 65)) car))
  (for-each
   (lambda (port) (test 'error (kind-of-error (lambda () (write-many port 1)))))
   (list 1 #f "text" '(a) #\a (open-input-string "a") (open-output-bytevector) car))
  (for-each
   (lambda (what)
     (test 'error (kind-of-error (lambda () (write-char what (open-output-string))))))
   (list 65 "a" 'a #f #t '() (eof-object))))

(test-group "a malformed sequence is reported once, and what is around it is read"
  (test '(50000 read 50001)
    (with-file (bytevector-append (make-bytevector 50000 97) (bytevector #xFF)
                                  (make-bytevector 50001 98))
      (lambda (name)
        (call-with-input-file name
          (lambda (port)
            (let* ((read-run
                    (lambda (wanted)
                      (let loop ((n 0))
                        (let ((c (kind-of-error (lambda () (peek-char port)))))
                          (if (eqv? c wanted)
                              (begin (read-char port) (loop (+ n 1)))
                              (if (eof-object? c) n (list n c)))))))
                   (before (read-run #\a))
                   (after (read-run #\b)))
              (list (car before) (cadr before) after))))))))

(define (read-from ports n)
  (let loop ((i 0) (read '()))
    (if (= i n)
        (reverse read)
        (loop (+ i 1)
              (cons (map read-char ports) read)))))

(test-group "many ports at once"
  (test '((#\a #\1 #\α) (#\b #\2 #\β) (#\c #\3 #\γ))
    (read-from (map open-input-string '("abc" "123" "αβγ")) 3))
  (test #t
    (let ((outs (list (open-output-string) (open-output-string))))
      (let loop ((i 0))
        (when (< i 10000)
          (for-each (lambda (out) (write-char #\z out)) outs)
          (loop (+ i 1))))
      (string=? (get-output-string (car outs)) (get-output-string (cadr outs))
                (make-string 10000 #\z)))))

(test-finish)
