;; SRFI 233: INI files.

(import (scheme base) (srfi 233) (canny test))

(define (entries text . delimiters)
  (let ((next (apply make-ini-file-generator (open-input-string text) delimiters)))
    (let loop ((seen '()))
      (let ((entry (next)))
        (if (eof-object? entry) (reverse seen) (loop (cons entry seen)))))))

(test '() (entries ""))
(test '((#f a "1") (s b "two words") (s c "d = e") (s key #f) (t e ""))
  (entries "; comment\na=1\n\n[s]\n  b =\ttwo words \nc=d = e ; more\n key\n[t]\ne=\n"))
(test '((#f a "1")) (entries "a=1"))
(test '((#f |[a]b| #f)) (entries "[a]b\n"))
(test '((#f a "b=c;d")) (entries "a: b=c;d # no\n#x\n" #\: #\#))
(test '((#f a "1")) (entries "a=1\r\n"))
(test-true
 (let ((next (make-ini-file-generator (open-input-string "")))) (next) (eof-object? (next))))
(test-error (make-ini-file-generator 5))
(test-error (make-ini-file-generator (open-input-string "") #\space))
(test-error (make-ini-file-generator (open-input-string "") "="))

(define (written objects . delimiters)
  (let* ((port (open-output-string)) (accumulate (apply make-ini-file-accumulator port delimiters)))
    (for-each accumulate objects)
    (get-output-string port)))

(test "a=1\n; note\n[s]\nb=2\nc=3\n[t]\nd\n"
  (written '((#f a "1") "note" (s b "2") (s c "3") (t d #f))))
(test "a:1\n# note\n" (written '((|| a "1") "note") #\: #\#))
(test '((#f a "1") (s b "2")) (entries (written '((#f a "1") (s b "2")))))
(test-true (eof-object? ((make-ini-file-accumulator (open-output-string)) (eof-object))))
(test-error (let ((a (make-ini-file-accumulator (open-output-string)))) (a (eof-object)) (a "x")))
(test-error (written '("two\nlines")))
(test-error (written '((s a "two\nlines"))))
(test-error (written '((s a))))
(test-error (written '(5)))
(test-error (make-ini-file-accumulator (open-input-string "")))
(test-error (make-ini-file-accumulator (open-output-string) #\= #\newline))

(test-finish)
