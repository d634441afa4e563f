;; SRFI 180: JSON.

(import (scheme base) (srfi 180) (canny test))

(define (parse text) (json-read (open-input-string text)))
(define (events text)
  (let ((next (json-generator (open-input-string text))))
    (let loop ((seen '()))
      (let ((event (next)))
        (if (eof-object? event) (reverse seen) (loop (cons event seen)))))))
(define (written object)
  (let ((port (open-output-string))) (json-write object port) (get-output-string port)))
(define (generate next)
  (let loop ((seen '()))
    (let ((object (next)))
      (if (eof-object? object) (reverse seen) (loop (cons object seen))))))
(define (string->generator string)
  (let ((port (open-input-string string))) (lambda () (read-char port))))

(test-group "reading"
  (test '(null #t #f 1 "a" #() ()) (map parse '("null" "true" " false " "1" "\"a\"" "[ ]" "{ }")))
  (test '#(1 #(2 "x") ((a . #()))) (parse "[1, [2, \"x\"] , {\"a\" : [ ] }]"))
  (test '((b . 1) (a . ((c . null)))) (parse "{\"b\":1,\"a\":{\"c\":null}}"))
  (test '(0 -5 123456789012345678901234567890)
        (map parse '("0" "-5" "123456789012345678901234567890")))
  (test '(1.5 -0.5 1000. 1e-2 0.) (map parse '("1.5" "-0.5" "1e3" "1E-2" "0e+1")))
  (test "\"\\/\b\xC;\n\r\té€𝄞\x0;"
        (parse "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9€\\uD834\\uDD1E\\u0000\""))
  (test-true (eof-object? (parse "")))
  (test-true (eof-object? (parse " \n")))
  (test '#(1) (json-read (string->generator "[1]")))
  (test '(1 #(2) "x")
    (let* ((port (open-input-string "1 [2]\"x\""))
           (a (json-read port)) (b (json-read port)) (c (json-read port)))
      (list a b c)))
  (test '#(5) (parameterize ((current-input-port (open-input-string "[5]"))) (json-read)))
  (test 100000
    (let loop ((object (parse (string-append (make-string 100000 #\[) (make-string 100000 #\]))))
               (depth 0))
      (if (= (vector-length object) 0) (+ depth 1) (loop (vector-ref object 0) (+ depth 1)))))
  (for-each
   (lambda (text) (test-error json-error? (parse text)))
   '("[" "[1" "[1," "[1,]" "[,1]" "[1 2]" "]" "{" "{\"a\"" "{\"a\":" "{\"a\":1" "{\"a\":1,}" "{1:2}"
     "{\"a\" 1}" "{a:1}" "\"" "\"a" "\"\\x\"" "\"\\u12\"" "\"\\u12g4\"" "\"a\nb\"" "\"\t\"" "tru"
     "nulll"
     "truefalse" "01" "-" "-a" "1." "1.e1" ".5" "+1" "1e" "1e+" "0x1" "1_000" "NaN" "Infinity" "'a'"
     "\"\\uD834\"" "\"\\uDD1E\"" "\"\\uD834\\u0041\"" "[1}" "{\"a\":1]" "#" "/**/1" "\xFEFF;1"))
  (test-error (json-read 5)))

(test-group "events"
  (test '(array-start 1 object-start "a" null object-end array-end) (events "[1,{\"a\":null}] 5"))
  (test '(42) (events "42 101"))
  (test '() (events ""))
  (test '(array-start array-end) (generate (json-generator (string->generator "[]"))))
  (test '(broken broken)
    (let* ((next (json-generator (open-input-string "[x]")))
           (try (lambda () (guard (object ((json-error? object) 'broken)) (next)))))
      (next)
      (let* ((a (try)) (b (try))) (list a b))))
  (test 6 (json-fold (lambda (object seed) (if (number? object) (+ object seed) (+ seed 0)))
                     (lambda (seed) 0) (lambda (seed) seed) (lambda (seed) 0) (lambda (seed) seed)
                     6 (open-input-string "{}")))
  (test '(sum 6)
    (json-fold (lambda (object seed) (if (null? seed) (list 'sum object) (+ object seed)))
               (lambda (seed) 0) (lambda (seed) seed) (lambda (seed) 0) (lambda (seed) seed)
               '() (open-input-string "[1,[2,3]]")))
  (test-error (json-fold 1 2 3 4 5 6 (open-input-string "1"))))

(test-group "limits"
  (test-error json-error? (parameterize ((json-number-of-character-limit 3)) (parse "[1,2]")))
  (test '#(1) (parameterize ((json-number-of-character-limit 3)) (parse "[1]")))
  (test-error json-error? (parameterize ((json-nesting-depth-limit 1)) (parse "[[1]]")))
  (test '#(1) (parameterize ((json-nesting-depth-limit 1)) (parse "[1]"))))

(test-group "lines and sequences"
  (test '(1 #(2) "x" ((a . 1)))
        (generate (json-lines-read (open-input-string "1\n[2]\r\n\"x\"\n{\"a\":1}"))))
  (test '(1 2) (generate (json-lines-read (string->generator "1\n2"))))
  (test '(1 #(2)) (generate (json-sequence-read (open-input-string "\x1e;1\n\x1e;[2]\n"))))
  (test '(1 3) (generate (json-sequence-read (string->generator "\x1e;1\n\x1e;{\"a\n\x1e;3\n")))))

(test-group "writing"
  (test "null" (written 'null))
  (test "[true,false,null,1,\"a\",[],{}]" (written '#(#t #f null 1 "a" #() ())))
  (test "{\"a\":1,\"b\":{\"c\":[]}}" (written '((a . 1) (b . ((c . #()))))))
  (test "[1.5,-0.5,1.0,1e100]" (written '#(1.5 -0.5 1. 1e100)))
  (test "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001é/\"" (written "\"\\\n\r\t\b\xC;\x1;é/"))
  (test '#(1.5 "é\n" ((a . #(null)))) (parse (written '#(1.5 "é\n" ((a . #(null)))))))
  (test "[1]" (let ((text ""))
                (json-write #(1) (lambda (x)
                                   (set! text (string-append text (if (char? x) (string x) x)))))
                text))
  (test-output "1" (json-write 1))
  (for-each
   (lambda (object) (test-error json-error? (written object)))
   (list 'a 1/2 +inf.0 +nan.0 1+2i '(1) '(("a" . 1)) #\a '((a . 1) . b) (vector 'x)))
  ;; Nothing is written before the check.
  (test "" (let ((port (open-output-string)))
             (guard (object (#t #f)) (json-write '#(1 x) port))
             (get-output-string port)))
  (test-error (json-write 1 5)))

(test-group "accumulator"
  (define (accumulated . events)
    (let* ((port (open-output-string)) (accumulate (json-accumulator port)))
      (for-each accumulate events)
      (get-output-string port)))
  (test "[1,{\"a\":null,\"b\":[]},\"x\"]"
    (accumulated 'array-start 1 'object-start "a" 'null "b" 'array-start 'array-end 'object-end "x"
                 'array-end (eof-object)))
  (test "true" (accumulated #t))
  (for-each
   (lambda (events) (test-error json-error? (apply accumulated events)))
   '((1 2) (array-end) (array-start object-end) (object-start array-end) (object-start 1)
     (object-start "a" object-end) (x) (array-start array-end array-start) (1/2)))
  (test-error json-error? (accumulated 'array-start (eof-object)))
  (test-error (json-accumulator 5)))

(test-group "others"
  (test '(#t #f) (map json-null? '(null #f)))
  (test '(#f #f) (map json-error? (list 1 (guard (object (#t object)) (car 1)))))
  (test-true (string? (json-error-reason (guard (object (#t object)) (parse "[")))))
  (test-error (json-error-reason 5)))

(test-finish)
