;;; (canny json): reading, streaming, writing, errors.

(import (scheme base) (scheme write) (scheme file) (srfi 69) (canny json) (canny test)
        (canny test properties))

(define (read-from text) (json-read (open-input-string text)))

(define (generate next)
  (let loop ((seen '()))
    (let ((object (next)))
      (if (eof-object? object) (reverse seen) (loop (cons object seen))))))

(define (place text)
  (guard (e ((json-error? e)
             (list (json-error-line e) (json-error-column e) (json-error-offset e))))
    (string->json text)))

(define (place-in-port text)
  (guard (e ((json-error? e)
             (list (json-error-line e) (json-error-column e) (json-error-offset e))))
    (read-from text)))

(define (refused object)
  (guard (e ((json-error? e) (json-error-path e)))
    (json->string object)))

(define (written object)
  (let ((port (open-output-string)))
    (json-write object port)
    (get-output-string port)))

(test-group "reading"
  (test '(null #t #f 1 "a" #() ())
        (map string->json '("null" "true" " false " "1" "\"a\"" "[ ]" "{ }")))
  (test '((a . #(1 2.5 null)) (b . ((c . "x"))))
        (string->json "{\"a\":[1,2.5,null],\"b\":{\"c\":\"x\"}}"))
  (test '(0 0 -12 123456789012345678901234567890 100000000000000000)
        (map string->json '("0" "-0" "-12" "123456789012345678901234567890" "100000000000000000")))
  (test '(1.5 -0.5 1000. 0.01 +inf.0) (map string->json '("1.5" "-0.5" "1e3" "1E-2" "1e999")))
  (test "\"\\/\b\xC;\n\r\té€𝄞\x0;"
        (string->json "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9€\\uD834\\uDD1E\\u0000\""))
  (test '((é . "→")) (string->json "{\"é\":\"→\"}"))
  (test '((a . 1) (a . 2)) (string->json "{\"a\":1,\"a\":2}"))
  (test 10000
    (let loop ((object
                (string->json (string-append (make-string 10000 #\[) (make-string 10000 #\]))))
               (depth 0))
      (if (= (vector-length object) 0) (+ depth 1) (loop (vector-ref object 0) (+ depth 1)))))
  (test 70000 (vector-length
               (string->json
                (let ((port (open-output-string)))
                  (write-string "[0" port)
                  (do ((i 1 (+ i 1))) ((= i 70000)) (write-string ",{\"k\":[1,\"→\"]}" port))
                  (write-string "]" port)
                  (get-output-string port))))))

(test-group "options"
  (test '(("a" . 1)) (string->json "{\"a\":1}" #:objects 'string-alist))
  (test '(#t 1 #(2))
        (let ((table (string->json "{\"a\":0,\"b\":[2],\"a\":1}" #:objects 'hash-table)))
          (list (hash-table? table) (hash-table-ref table "a") (hash-table-ref table "b"))))
  (test '#(#f) (string->json "[null]" #:null #f))
  (test '(1/10 1000 -5/2 3)
        (map (lambda (text) (string->json text #:numbers 'exact)) '("0.1" "1e3" "-2.5" "3")))
  (test-error (string->json "1e9999999999" #:numbers 'exact))
  (test-error json-error? (string->json "[[[1]]]" #:depth-limit 2))
  (test '#(#(1)) (string->json "[[1]]" #:depth-limit 2))
  (test-error (string->json "1" #:objects 'vector))
  (test-error (string->json "1" #:numbers 'roman))
  (test-error (string->json 5))
  (test-error (json-read "text")))

(test-group "refused"
  (for-each
   (lambda (text)
     (test-error json-error? (string->json text))
     (test-error json-error? (read-from text)))
   '("[" "[1" "[1," "[1,]" "[,1]" "[1 2]" "]" "{" "{\"a\"" "{\"a\":" "{\"a\":1" "{\"a\":1,}" "{1:2}"
     "{\"a\" 1}" "{a:1}" "\"" "\"a" "\"\\x\"" "\"\\u12\"" "\"\\u12g4\"" "\"a\nb\"" "\"\t\"" "tru"
     "01" "-" "1." ".5" "+1" "1e" "NaN" "'a'" "\"\\uD834\"" "\"\\uDD1E\"" "[1}" "/**/1" "\xFEFF;1"))
  (test-error json-error? (string->json ""))
  (test-error json-error? (string->json "1 2"))
  (test-true (eof-object? (read-from "")))
  (test-true (eof-object? (read-from " \n"))))

(test-group "places"
  (test '(1 5 4) (place "[1, x]"))
  (test '(2 3 6) (place "[1,\n  x]"))
  (test '(2 3 6) (place-in-port "[1,\n  x]"))
  (test '(1 8 7) (place "[\"é→\", 01]"))
  (test '(1 8 10) (place-in-port "[\"é→\", 01]"))
  (test '(3 1 4) (place "[1\n\n"))
  (test '(1 3 2) (place "1 x"))
  (test "unexpected" (guard (e (#t (let ((text (error-object-message e)))
                                     (substring text 3 13))))
                       (string->json "[x]"))))

(test-group "several values in a port"
  (let ((port (open-input-string "1 [2]\"x\"{}true null rest")))
    (test '(1 #(2) "x" () #t null)
          (let* ((a (json-read port)) (b (json-read port)) (c (json-read port))
                 (d (json-read port)) (e (json-read port)) (f (json-read port)))
            (list a b c d e f)))
    (test " rest" (read-line port)))
  (test '(((a . 1)) ((a . 2)) #(3))
        (generate (json-lines (open-input-string "{\"a\":1}\n{\"a\":2}\n\n[3]\n"))))
  (test '() (generate (json-lines (open-input-string "")))))

(test-group "events"
  (define (events text) (generate (json-events (open-input-string text))))
  (test '(array-start 1 object-start "a" null object-end array-end) (events "[1,{\"a\":null}] 5"))
  (test '(42) (events "42 101"))
  (test '() (events ""))
  (test '(#t #f "é" 1.5) (cdr (reverse (cdr (reverse (events "[true,false,\"é\",1.5]"))))))
  (test '(array-start 1 failed failed)
    (let* ((next (json-events (open-input-string "[1,x]")))
           (try (lambda () (guard (e ((json-error? e) 'failed)) (next))))
           (a (try)) (b (try)) (c (try)) (d (try)))
      (list a b c d)))
  (test 60001
    (let ((next (json-events (open-input-string
                              (string-append "[" (make-string 59998 #\[) "1"
                                             (make-string 59999 #\]))))))
      (let loop ((count 0))
        (if (eq? (next) 'array-start) (loop (+ count 1)) (+ count 2)))))
  (test-error json-error? (events "[1")))

(test-group "writing"
  (test "{\"a\":[1,2.5,null,true,false,\"x\"],\"b\":{}}"
        (json->string '((a . #(1 2.5 null #t #f "x")) ("b" . ()))))
  (test "[\n  1,\n  {\n    \"a\": [],\n    \"b\": {}\n  }\n]"
        (json->string '#(1 ((a . #()) (b . ()))) #:indent 2))
  (test "\"\\\"\\\\\\n\\u0001é→\"" (json->string "\"\\\n\x1;é→"))
  (test "\"\\u00e9\\u2192\\ud834\\udd1e\"" (json->string "é→𝄞" #:ascii? #t))
  (test "{\"a\":1,\"b\":2}" (json->string '((b . 2) (a . 1)) #:sort-keys? #t))
  (test "{\"b\":2,\"a\":1}" (let ((table (make-hash-table)))
                              (hash-table-set! table "b" 2)
                              (hash-table-set! table 'a 1)
                              (json->string table)))
  (test "[null]" (json->string '#(#f) #:null #f))
  (test '("123456789012345678901234567890" "-0.5" "1e100" "0.1" "-12.375" "100.0")
        (map json->string '(123456789012345678901234567890 -0.5 1e100 1/10 -99/8 100.)))
  (test "[1]" (written '#(1)))
  (test "[1]\n" (let ((port (open-output-string)))
                  (json-write-line '#(1) port)
                  (get-output-string port)))
  (test #t (let* ((big (make-vector 30000 '((key . "value") (other . #(1 2 3)))))
                  (text (written big)))
             (equal? big (string->json text)))))

(test-group "what has no form"
  (test '("a" 1) (refused (list (cons "a" (vector 1 car)))))
  (test '() (refused car))
  (test '(2) (refused (vector 1 2 (string->symbol "x"))))
  (test '(0) (refused '#(+nan.0)))
  (test '(0) (refused '#(1/3)))
  (test '(a) (refused '((a . 1) . 5)))
  (test-error json-error? (json->string '(1 2)))
  (test-error json-error? (json->string '((1 . 2))))
  (test '(0 0)
        (let ((loop (vector (vector 1)))) (vector-set! (vector-ref loop 0) 0 loop) (refused loop)))
  (test-error json-error?
              (let ((list (list (cons 'a 1)))) (set-cdr! list list) (json->string list)))
  (test-error (json-write 1 (current-input-port)))
  (test-error (json-write 1 #:indent -1)))

(test-group "parts"
  (define value (string->json "{\"users\":[{\"name\":\"Ada\"},{\"name\":null}]}"))
  (test "Ada" (json-ref value 'users 0 'name))
  (test "Ada" (json-ref value "users" 0 "name"))
  (test 'none (json-ref/default value 'none 'users 2 'name))
  (test-error (json-ref value 'users 2))
  (test 1 (json-ref (string->json "{\"a\":1}" #:objects 'hash-table) 'a)))

(define (json-values depth)
  (define scalars
    (choice-of (always 'null) (booleans) (integers) (strings)
               (filtered (lambda (real) (and (inexact? real) (< -inf.0 real +inf.0))) (reals))))
  (if (= depth 0)
      scalars
      (choice-of scalars
                 (vectors-of (json-values (- depth 1)))
                 (lists-of (pairs-of (symbols) (json-values (- depth 1)))))))

(test-property "what is written is read" ((value (json-values 3)))
  (and (equal? value (string->json (json->string value)))
       (equal? value (string->json (json->string value #:indent 3 #:ascii? #t)))
       (equal? value (read-from (written value)))))

(test-finish)
