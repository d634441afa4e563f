;;; Operations that compiled code does in line or by leaf functions: tables that grow, string=?,
;;; ratios, characters, parts of lists, data of ports, and SRFI 143 and 144. Each one runs until it
;;; is compiled, with usual operands and with those that are left to the primitive.

(import (scheme base) (scheme char) (scheme read) (scheme write) (srfi 69) (canny test)
        (only (srfi 1) split-at drop-right take-right last-pair)
        (only (srfi 133) vector-swap!)
        (only (srfi 143) fxmin fxmax fxand fx+/carry fxcopy-bit fxbit-field-rotate fx-greatest)
        (only (srfi 144) flremainder flposdiff make-flonum))

(define rounds 2000)

;; The result of the last of many calls.
(define (after-many thunk)
  (do ((i 1 (+ i 1))) ((= i rounds) (thunk)) (thunk)))

(define-syntax refuses
  (syntax-rules ()
    ((_ (name arguments (usual ...) (other ...) message))
     (let ((call (lambda arguments (name . arguments))))
       (do ((i 0 (+ i 1))) ((= i rounds)) (call usual ...))
       (do ((i 0 (+ i 1))) ((= i 150))
         (guard (e (#t (if (= i 149) (test message (error-object-message e)))))
           (call other ...)
           (if (= i 149) (test message 'no-error))))))))

(test-group "hash tables"
  (define (filled count key)
    (let ((table (make-hash-table)))
      (do ((i 0 (+ i 1))) ((= i count) table)
        (hash-table-set! table (key i) i))))
  (define (sum table key count)
    (do ((i 0 (+ i 1)) (sum 0 (+ sum (hash-table-ref/default table (key i) 1000000))))
        ((= i count) sum)))
  (define (check key)
    (for-each
     (lambda (count)
       (let ((table (filled count key)))
         (test count (hash-table-size table))
         (test (quotient (* count (- count 1)) 2) (sum table key count))))
     '(0 1 7 8 9 100 1000 5000)))
  (check (lambda (i) i))
  (check (lambda (i) (* i 1000000007)))
  (check (lambda (i) (integer->char (+ 32 i))))
  (check (lambda (i) (number->string i)))
  (check (lambda (i) (list i)))
  (check (lambda (i) (+ i 0.5)))
  (let ((keys (make-vector 5000)))
    (do ((i 0 (+ i 1))) ((= i 5000)) (vector-set! keys i (lambda () i)))
    (check (lambda (i) (vector-ref keys i))))
  (do ((i 0 (+ i 1))) ((= i 300)) (filled 100 (lambda (i) (list i))))
  (let ((table (filled 100 (lambda (i) i))))
    (define (look key) (hash-table-ref/default table key 'none))
    (test '(5 none none none none)
          (after-many (lambda () (map look (list 5 100 #\a 'a (expt 2 50))))))
    (test '(#t #f #f)
          (after-many (lambda () (map (lambda (key) (hash-table-exists? table key)) '(5 100 #\a)))))
    (hash-table-delete! table 5)
    (test '(none 6) (map look '(5 6)))
    (test 99 (hash-table-size table)))
  (let ((table (make-hash-table string=?)))
    (define (look key) (hash-table-ref/default table key 'none))
    (hash-table-set! table "a" 1)
    (test '(1 none) (after-many (lambda () (map look '("a" "b")))))
    (refuses (look (key) ("a") (5) "argument 2 is not a string"))
    (refuses (look (key) ("a") (#\a) "argument 2 is not a string"))
    (refuses (look (key) ("a") ('a) "argument 2 is not a string")))
  (test #t (after-many (lambda () (= (string-hash "abc") (string-hash (string #\a #\b #\c))))))
  (test #t (after-many (lambda () (= (hash '(1 "a" #\b)) (hash (list 1 "a" #\b))))))
  (test #t (after-many (lambda () (= (hash 'a) (hash 'a)))))
  (let ((object (lambda () 1)))
    (test #t (after-many (lambda () (= (hash object) (hash object))))))
  (refuses (string-hash (s) ("a") (1) "argument 1 is not a string")))

(test-group "strings"
  (define texts
    '("" "a" "b" "ab" "abcdefg" "abcdefgh" "abcdefgi" "abcdefghi" "abcdefghj" "xbcdefghi" "é" "éa"
      "λ" "aλ" "abcdefghλ"))
  (define (same? x y) (string=? x y))
  (define (count)
    (let loop ((rest texts) (count 0))
      (if (null? rest)
          count
          (loop (cdr rest)
                (+ count
                   (length (filter-same (string-append (car rest) "") texts)))))))
  (define (filter-same x texts)
    (cond ((null? texts) '())
          ((same? x (string-append "" (car texts)))
           (cons x (filter-same x (cdr texts))))
          (else (filter-same x (cdr texts)))))
  (test (length texts) (after-many count))
  (refuses (same? (x y) ("a" "a") ("a" 'a) "argument 2 is not a string"))
  (refuses (same? (x y) ("a" "a") (1 "a") "argument 1 is not a string"))
  (for-each
   (lambda (length)
     (for-each
      (lambda (char)
        (let ((string (after-many (lambda () (make-string length char)))))
          (test length (string-length string))
          (test (vector->list (make-vector length char)) (string->list string))))
      '(#\a #\é #\λ)))
   '(0 1 7 8 9 100))
  (test '("a" "ab" "aéλ")
        (after-many (lambda () (list (string #\a) (string #\a #\b) (string #\a #\é #\λ)))))
  (test '("" "bc" "bcdefghi" "bcdefghij")
        (after-many (lambda () (map (lambda (end) (substring "abcdefghij" 1 end)) '(1 3 9 10))))))

(test-group "comparisons"
  (define (numbers x y) (list (< x y) (<= x y) (= x y) (>= x y) (> x y)))
  (define below '(#t #t #f #f #f))
  (define equal '(#f #t #t #t #f))
  (define above '(#f #f #f #t #t))
  (test (list below equal above below below above equal below)
        (after-many
         (lambda ()
           (list (numbers 1/2 2/3) (numbers 1/2 (/ 2 4)) (numbers 1/2 -2/3)
                 (numbers 4000000000001/4000000000003 4000000000003/4000000000005)
                 (numbers (/ 1 (expt 10 30)) 1/2) (numbers 1/2 (- (expt 10 30)))
                 (numbers (expt 10 30) (* (expt 10 15) (expt 10 15)))
                 (numbers (- (expt 10 30)) (expt 10 30))))))
  (let ((chars
         (lambda (x y z) (list (char<? x y z) (char=? x y z) (char>=? x y z) (char<? x y z #\z)))))
    (test '((#t #f #f #t) (#f #f #f #f) (#f #f #t #f) (#f #t #t #f))
          (after-many
           (lambda ()
             (list (chars #\a #\b #\c) (chars #\a #\c #\b) (chars #\λ #\b #\a)
                   (chars #\a #\a #\a)))))
    (refuses (chars (x y z) (#\a #\b #\c) (#\b #\a 'c) "argument 3 is not a character"))))

(test-group "parts of lists"
  (define (parts list count) (call-with-values (lambda () (split-at list count)) cons))
  (define l '(1 2 3 4))
  (test '((() 1 2 3 4) ((1 2) 3 4) ((1 2 3 4)))
        (after-many (lambda () (map (lambda (count) (parts l count)) '(0 2 4)))))
  (test '((1 2 3 4) (1 2) ())
        (after-many (lambda () (map (lambda (count) (drop-right l count)) '(0 2 4)))))
  (test '(() (3 4) (1 2 3 4))
        (after-many (lambda () (map (lambda (count) (take-right l count)) '(0 2 4)))))
  (test '((1 2) (2 . d)) (list (drop-right '(1 2 3 . d) 1) (take-right '(1 2 . d) 1)))
  (test '((4) (2 . d)) (after-many (lambda () (map last-pair '((1 2 3 4) (1 2 . d))))))
  (let ((list (list 1 2 3)) (vector (vector 1 2 3)))
    (test '(1 new 3) (after-many (lambda () (list-set! list 1 'new) list)))
    (do ((i 0 (+ i 1))) ((= i 2001)) (vector-swap! vector 0 2))
    (test #(3 2 1) vector)
    (refuses (list-set! (l k v) (list 1 0) (list 3 0)
                        "argument 2 is out of range: the length of the list is 3"))
    (refuses (vector-swap! (v i j) (vector 0 0) (vector 0 3)
                           "argument 3 is out of range: the indices are 0 to 2"))))

(test-group "data of ports"
  (define (written datum)
    (let ((port (open-output-string)))
      (write datum port)
      (display datum port)
      (get-output-string port)))
  (for-each
   (lambda (datum text)
     (test text (after-many (lambda () (written datum)))))
   (list 1.5 '(a (1 . 2) #(#t "s\"\\" #\c)) '|a b| '(quote a) "é" #\space (list 'x "a\nb"))
   (list "1.51.5"
         "(a (1 . 2) #(#t \"s\\\"\\\\\" #\\c))(a (1 . 2) #(#t s\"\\ c))"
         "|a b|a b" "'a'a" "\"é\"é" "#\\space " "(x \"a\\nb\")(x a\nb)"))
  (for-each
   (lambda (text datum)
     (test datum (after-many (lambda () (read (open-input-string text))))))
   '("(a \"text\" #\\d 1.5 #t)" "\"a\\\"b\"" "#\\space" "-0.25" "#true" "1.5e3" "'a")
   '((a "text" #\d 1.5 #t) "a\"b" #\space -0.25 #t 1500.0 'a))
  ;; A string that was read may be changed.
  (let ((string (after-many (lambda () (read (open-input-string "\"abc\""))))))
    (string-set! string 0 #\x)
    (test "xbc" string)))

(test-group "fixnums and flonums"
  (define (values->list x y z) (call-with-values (lambda () (fx+/carry x y z)) list))
  (test '(1 3 0)
        (after-many (lambda () (list (fxmin 3 1 2) (fxmax 3 1 2) (fxand 7 5 2)))))
  (test '((6 0) (1 0)) (after-many (lambda () (list (values->list 1 2 3) (values->list 1 0 0)))))
  (test (list (- (+ fx-greatest 1)) 1) (values->list fx-greatest 1 0))
  (refuses (fxmin (x y z) (1 2 3) (1 2 3.) "argument 3 is not a fixnum"))
  (refuses (fx+/carry (x y z) (1 2 3) (1 2. 'a) "argument 2 is not a fixnum"))
  (test '(5 1 -8 -1)
        (after-many
         (lambda ()
           (list (fxcopy-bit 2 1 #t) (fxcopy-bit 2 5 #f) (fxcopy-bit 0 -7 #f)
                 (fxcopy-bit 61 -1 #t)))))
  (refuses (fxcopy-bit (i x bit) (1 2 #t) (62 2 #t)
                       "argument 1 is out of range: the index of a bit"))
  (test '(9 10 12 5 -11)
        (after-many
         (lambda ()
           (list (fxbit-field-rotate 12 1 0 4) (fxbit-field-rotate 5 1 0 4)
                 (fxbit-field-rotate 12 8 0 4) (fxbit-field-rotate 5 3 2 2)
                 (fxbit-field-rotate -6 1 0 4)))))
  (test '(2. -2. 0. 3. +nan.0)
        (after-many
         (lambda ()
           (list (flremainder 5. 3.) (flremainder -5. 3.) (flremainder -6. 3.)
                 (flremainder 9007199254740991. 7.) (flremainder 1. 0.)))))
  (test '(1. 0. +nan.0 0.)
        (after-many
         (lambda ()
           (list (flposdiff 3. 2.) (flposdiff 2. 3.) (flposdiff 1. +nan.0)
                 (flposdiff +inf.0 +inf.0)))))
  (test '(12. .375 +inf.0)
        (after-many
         (lambda () (list (make-flonum 1.5 3) (make-flonum 1.5 -2) (make-flonum 1.5 5000)))))
  (refuses (make-flonum (x n) (1.5 3) (1 3) "argument 1 is not a flonum")))
