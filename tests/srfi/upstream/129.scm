;;; The suite of SRFI 129's repository.  It writes characters as #\u01C5 and "\u01C5", which is no syntax
;;; of R7RS: the text is rewritten before it is read.

(import (scheme base) (scheme file) (scheme read) (scheme eval) (scheme repl) (suites) (srfi 115))

(define (file->string name)
  (call-with-input-file name
    (lambda (port)
      (let loop ((text ""))
        (let ((part (read-string 100000 port)))
          (if (eof-object? part) text (loop (string-append text part))))))))

(define (rewrite text)
  (regexp-replace-all '(: "\\u" ($ (= 4 xdigit)))
                      (regexp-replace-all '(: "#\\u" ($ (= 4 xdigit))) text '("#\\x" 1))
                      '("\\x" 1 ";")))

(define (evaluate form)
  (eval form (interaction-environment)))

(evaluate '(import (scheme base) (srfi 129) (chibi test)))
(let ((port (open-input-string
             (rewrite (file->string (suite-path "srfi-129/titlecase/titlecase-test.scm"))))))
  (let loop ()
    (let ((form (read port)))
      (if (not (eof-object? form))
          (begin
            (if (not (memq (car form) '(use test-exit)))
                (evaluate form))
            (loop))))))
(finish-suites)
