;;; (canny files): whole files and the rest of ports.

(import (scheme base) (scheme file) (scheme read) (canny files) (canny test))

(define (kind-of-error thunk)
  (guard (e ((file-error? e) 'file)
            ((error-object? e) 'error))
    (thunk)))

(define long-text (make-string 200001 #\λ))

(test-group "ports"
  (test "" (port->string (open-input-string "")))
  (test "ab\ncd" (port->string (open-input-string "ab\ncd")))
  (test "rest" (let ((port (open-input-string "the rest")))
                 (read-string 4 port)
                 (port->string port)))
  (test #t (string=? long-text (port->string (open-input-string long-text))))
  ;; Latin-1 and wide texts, with parts of ASCII that are longer than a block and wider ones across
  ;; blocks.
  (for-each (lambda (part)
              (let ((text (string-append long-text part long-text part part)))
                (test #t (string=? text (port->string (open-input-string text))))))
            (list "\xe9;" "\x3bb;" "\x1f600;" (make-string 5000 #\xff) (make-string 5000 #\x20ac)))
  (test "given" (parameterize ((current-input-port (open-input-string "given")))
                  (port->string)))
  (test '() (port->lines (open-input-string "")))
  (test '("a" "" "b") (port->lines (open-input-string "a\n\nb")))
  (test '("a" "b") (port->lines (open-input-string "a\nb\n")))
  (test '(1 (2) "3") (port->list read (open-input-string "1 (2) \"3\"")))
  (test '(#\a #\b) (port->list read-char (open-input-string "ab")))
  (test '(1 2) (parameterize ((current-input-port (open-input-string "1 2")))
                 (port->list)))
  (test (bytevector) (port->bytevector (open-input-bytevector (bytevector))))
  (test (make-bytevector 200001 7)
        (port->bytevector (open-input-bytevector (make-bytevector 200001 7))))
  ;; The port stays open.
  (test #t
        (let ((port (open-input-string "x")))
          (port->string port)
          (input-port-open? port))))

(test-group "files"
  (string->file "one\ntwo" "a.txt")
  (test "one\ntwo" (file->string "a.txt"))
  (test '("one" "two") (file->lines "a.txt"))
  (test '(one two) (file->list "a.txt"))
  (test '(#\o #\n #\e #\newline #\t #\w #\o) (file->list "a.txt" read-char))
  (string->file "x" "a.txt")
  (test "x" (file->string "a.txt"))
  (lines->file '("a" "b") "a.txt")
  (test "a\nb\n" (file->string "a.txt"))
  (lines->file '() "a.txt")
  (test "" (file->string "a.txt"))
  (bytevector->file (bytevector 0 255 10) "a.bin")
  (test (bytevector 0 255 10) (file->bytevector "a.bin"))
  ;; Up to what is read at once, and beyond.
  (for-each (lambda (size)
              (let ((bytes (make-bytevector size 7)))
                (if (> size 0) (bytevector-u8-set! bytes (- size 1) 8))
                (bytevector->file bytes "a.bin")
                (test #t (equal? bytes (file->bytevector "a.bin")))
                (test #t (equal? bytes (port->bytevector (open-input-bytevector bytes))))))
            '(0 1 262143 262144 262145 5000000))
  (call-with-port (open-binary-input-file "a.bin")
    (lambda (port)
      (read-u8 port)
      (test 4999999 (bytevector-length (port->bytevector port)))
      (test (bytevector) (port->bytevector port)))))

(test-group "what is wrong"
  (test 'file (kind-of-error (lambda () (file->string "no such file"))))
  (test 'file (kind-of-error (lambda () (string->file "x" "no such directory/a.txt"))))
  (test 'error (kind-of-error (lambda () (port->string 5))))
  (test 'error (kind-of-error (lambda () (port->list 5 (open-input-string "1")))))
  (test 'error (kind-of-error (lambda () (port->lines (open-input-bytevector (bytevector 1))))))
  (string->file "kept" "a.txt")
  (test 'error (kind-of-error (lambda () (string->file 'kept "a.txt"))))
  (test 'error (kind-of-error (lambda () (lines->file '("a" b) "a.txt"))))
  (test 'error (kind-of-error (lambda () (lines->file "a" "a.txt"))))
  (test 'error (kind-of-error (lambda () (bytevector->file "a" "a.txt"))))
  ;; Nothing was written.
  (test "kept" (file->string "a.txt")))

(test-finish)
