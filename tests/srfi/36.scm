;; SRFI 36: conditions of input and output.

(import (except (scheme base) read-error?) (scheme file) (scheme read) (srfi 35) (srfi 36)
        (canny test))

(define-syntax raised
  (syntax-rules ()
    ((_ expression) (guard (object (#t object)) expression 'nothing))))

(define missing (raised (open-input-file "/no/such/file")))
(test '(#t #t #t #t #f #f)
  (list (error? missing) (i/o-error? missing) (i/o-filename-error? missing)
        (i/o-no-such-file-error? missing) (i/o-file-already-exists-error? missing)
        (i/o-port-error? missing)))
(test "/no/such/file" (i/o-error-filename missing))
(test-true (i/o-no-such-file-error? (raised (open-output-file "/no/such/file"))))
(test-true (i/o-malformed-filename-error? (raised (open-input-file "a\x0;b"))))
(test-true (i/o-filename-error? (raised (call-with-input-file "/" read-char))))

(define closed (let ((port (open-input-string "x"))) (close-port port) (raised (read-char port))))
(test-true (i/o-closed-error? closed))
(test-true (i/o-port-error? closed))
(test-true (input-port? (i/o-error-port closed)))
(test-true (i/o-closed-error?
            (let ((port (open-output-string))) (close-port port) (raised (write-char #\x port)))))

(define syntax (raised (read (open-input-string "(1\n #<foo>"))))
(test-true (read-error? syntax))
(test-true (error? syntax))
(test-false (i/o-error? syntax))
(test '(2 1 #f #f)
  (list (read-error-line syntax) (read-error-column syntax) (read-error-position syntax)
        (read-error-span syntax)))

(test-false (i/o-error? (raised (car 1))))
(test-false (read-error? (raised (car 1))))
(test-error (i/o-error-filename (raised (car 1))))

;; Made by the program.
(define own (make-condition &i/o-file-is-read-only-error 'filename "f"))
(test '(#t #t #t #f)
  (list (i/o-file-is-read-only-error? own) (i/o-file-protection-error? own)
        (i/o-filename-error? own) (i/o-malformed-filename-error? own)))
(test '(#t #t #t #t #t #t #t)
  (map condition-type?
       (list &i/o-error &i/o-port-error &i/o-filename-error &i/o-malformed-filename-error
             &i/o-file-protection-error &i/o-file-already-exists-error &i/o-no-such-file-error)))
(define port (open-input-string ""))
(test '(#t #f)
      (let ((c (make-condition &i/o-read-error 'port port)))
        (list (i/o-read-error? c) (i/o-write-error? c))))
(test '(#t #f)
      (let ((c (make-condition &i/o-write-error 'port port)))
        (list (i/o-write-error? c) (i/o-closed-error? c))))
(test-true (i/o-closed-error? (make-condition &i/o-closed-error 'port port)))
(test 3 (read-error-span (make-condition &read-error 'line 1 'column 0 'position 1 'span 3)))

(test-finish)
