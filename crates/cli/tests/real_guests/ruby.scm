;; Runs hello.rb in ruby.wasm, which is a library: it exports functions that start an interpreter
;; and evaluate a text. Texts that it gets end with a zero byte.
(import (scheme base) (scheme write) (scheme file) (scheme process-context) (srfi 1) (canny wasm))

(define module (read-module "ruby.wasm"))

;; Handles are the numbers that they stand for; the functions of JavaScript do nothing.
(define (stub import)
  (define results (cadr (list-ref import 3)))
  (if (null? results) (lambda rest (values)) (lambda (first . rest) first)))

(define (imports-of name)
  (cons name
    (map (lambda (import) (cons (cadr import) (stub import)))
      (filter (lambda (import) (equal? (car import) name)) (module-imports module)))))

(define guest
  (instantiate module
    #:imports (list (imports-of "rb-js-abi-host") (imports-of "canonical_abi"))
    #:wasi (make-wasi #:arguments '("ruby") #:directories '(("data" . "/")))
    #:stack-size 67108864))
(define memory (instance-export guest "memory"))
(define (string-at text)
  (define bytes (bytevector-append (string->utf8 text) (bytevector 0)))
  (define address (call-export guest "cabi_realloc" 0 0 1 (bytevector-length bytes)))
  (memory-copy! memory address bytes)
  (values address (- (bytevector-length bytes) 1)))
(define (export prefix)
  (cdr (find (lambda (row) (and (<= (string-length prefix) (string-length (car row)))
                                (string=? prefix (substring (car row) 0 (string-length prefix)))))
             (instance-exports guest))))

(call-export guest "_initialize")
(define arguments '("ruby.wasm" "-EUTF-8" "-e_=0"))
(define place (call-export guest "cabi_realloc" 0 0 4 (* 8 (length arguments))))
(let loop ((rest arguments) (at place))
  (unless (null? rest)
    (call-with-values (lambda () (string-at (car rest)))
      (lambda (address length)
        (memory-u32-set! memory at address)
        (memory-u32-set! memory (+ at 4) length)))
    (loop (cdr rest) (+ at 8))))
((export "ruby-init:") place (length arguments))
(define text (call-with-input-file "hello.rb" (lambda (port) (read-string 100000 port))))
(define result (call-with-values (lambda () (string-at text)) (export "rb-eval-string-protect")))
(write (list 'status (memory-u32-ref memory (+ result 4))))
(newline)
