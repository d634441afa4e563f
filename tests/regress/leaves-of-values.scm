;;; Leaf functions beside their primitives: for values of every type, hot code gives what the
;;; primitive gives as a value, the same error included.

(import (scheme base) (scheme char) (scheme complex) (scheme cxr) (scheme inexact) (scheme write)
        (canny test)
        (only (canny base) exact-rational? exact-nonnegative-integer? flonum? cube
              exact-floor exact-ceiling exact-round exact-truncate cons* iota make-list first
              second third fourth fifth last take drop append-reverse length+ subvector
              string-prefix? string-suffix? string-reverse string-pad-left string-pad-right
              condition->string)
        (only (srfi 151) bitwise-not bitwise-if bit-count integer-length first-set-bit
              copy-bit bit-field bit-set?)
        (only (srfi 160 base) s16vector s16vector? s16vector-length f64vector f64vector?
              f64vector-length))

(define rounds 1500)

;; The object itself; the optimizer does not see through this.
(define (hidden object) (vector-ref (vector object (current-input-port)) 0))

(define (outcome thunk)
  (call-with-current-continuation
   (lambda (return)
     (with-exception-handler
       (lambda (condition)
         (return (if (error-object? condition)
                     (list 'error (condition->string condition))
                     condition)))
       (lambda () (call-with-values thunk list))))))

(define numbers
  (list 0 1 -1 2 3 -7 8 10 63 64 100 (expt 2 53) (+ 1 (expt 2 53)) (expt 2 60)
        (- (expt 2 61) 1) (- (expt 2 61)) (expt 2 70) (- (expt 3 50)) 1/2 -7/3
        0.0 -0.0 1.0 1.5 -2.5 0.5 3.0 1e10 9007199254740993. 1e300 +inf.0 -inf.0 +nan.0 1+2i))

(define texts
  (list "" "a" "A" "abc" "ABC" "abcd" "caf\xe9;" "CAF\xc9;" "\x3bb;\x3b1;" "a\x3bb;" "\x1f600;"
        "stra\xdf;e" "12" "-12" "+7" "1.5" "1/2" "#xff" "1e3" "12x" "-"
        "123456789012345678901234567890" (make-string 200 #\x) (make-string 200 #\x3bb)))

(define others
  (list #t #f '() 'a 'b #\a #\A #\5 #\xe9 #\x3bb #\x39b #\x663 '(1 2 3) '(#\a #\x3bb) '(1 . 2)
        '((1 . 2) 3) '((((1) 2) 3) 4) (vector) (vector 1 2 3) (vector #\a #\b) (bytevector)
        (bytevector 1 2 3) (bytevector 65 200) (eof-object) car (current-input-port)
        (s16vector 1 2) (f64vector 1.0)))

(define few-numbers
  (list 0 1 -1 5 -8 (expt 2 60) (- (expt 2 61)) (expt 2 70) 1/2 0.0 -0.0 2.5 +inf.0 +nan.0
        (expt 2. 53) 'a))

(define few (append '(0 1 2 -1 1.0 1/2) (list "ab" "\x3bb;x" #\a #\x3bb 'a '(1 2) (vector 1 2)
                                              (bytevector 1 2))))

;; Calls with one, two or three arguments: those that make it hot, and all of the lists.
(define-syntax same-1
  (syntax-rules ()
    ((_ samples usual name ...)
     (begin
       (let ((hot (lambda (x) (name x))) (primitive (hidden name)))
         (do ((i 0 (+ i 1))) ((= i rounds)) (hot usual))
         (for-each (lambda (x)
                     (test (list 'name x (outcome (lambda () (primitive x))))
                           (list 'name x (outcome (lambda () (hot x))))))
                   samples))
       ...))))

(define-syntax same-2
  (syntax-rules ()
    ((_ samples usual1 usual2 name ...)
     (begin
       (let ((hot (lambda (x y) (name x y))) (primitive (hidden name)))
         (do ((i 0 (+ i 1))) ((= i rounds)) (hot usual1 usual2))
         (test #t (every-pair
                   samples
                   (lambda (x y)
                     (let ((wanted (outcome (lambda () (primitive x y))))
                           (given (outcome (lambda () (hot x y)))))
                       (or (equal? wanted given)
                           (begin (write (list 'name x y wanted given)) (newline) #f)))))))
       ...))))

(define (every-pair samples holds?)
  (let loop ((xs samples) (all? #t))
    (if (null? xs)
        all?
        (loop (cdr xs)
              (let inner ((ys samples) (all? all?))
                (if (null? ys)
                    all?
                    (inner (cdr ys) (and (holds? (car xs) (car ys)) all?))))))))

(define-syntax same-3
  (syntax-rules ()
    ((_ samples (usual1 usual2 usual3) name ...)
     (begin
       (let ((hot (lambda (x y z) (name x y z))) (primitive (hidden name)))
         (do ((i 0 (+ i 1))) ((= i rounds)) (hot usual1 usual2 usual3))
         (for-each
          (lambda (z)
            (test #t (every-pair
                      samples
                      (lambda (x y)
                        (let ((wanted (outcome (lambda () (primitive x y z))))
                              (given (outcome (lambda () (hot x y z)))))
                          (or (equal? wanted given)
                              (begin (write (list 'name x y z wanted given)) (newline) #f)))))))
          samples))
       ...))))

(define all (append numbers texts others))

(test-group "numbers, one argument"
  (same-1 all 5 real? complex? rational? exact-rational? exact-nonnegative-integer? exact? inexact?
          nan? finite? infinite? even? odd? abs magnitude cube numerator denominator
          exact-integer-sqrt exact-floor exact-ceiling exact-truncate exact-round sqrt exp sin cos
          tan atan asin acos log bitwise-not bit-count integer-length first-set-bit flonum?
          number->string)
  (same-1 all 0.5 abs magnitude numerator sqrt exp sin cos tan atan asin acos log flonum?
          exact? nan? number->string)
  (same-1 all "15" string->number))

(test-group "numbers, two arguments"
  (same-2 numbers 5 3 min max gcd lcm floor-quotient floor/ truncate/ bit-set?)
  (same-2 numbers 5.0 3.0 min max atan)
  (same-2 few-numbers 5 3 min max expt floor-quotient floor/ truncate/ bit-set? gcd lcm)
  (same-2 '(0 1 -5 255 -255 (a) 1.5 10 16 2 8 36 1 37) 255 16 number->string))

(define fewer-numbers
  (list 1 -8 (expt 2 60) (expt 2 70) 1/2 1.0 -0.0 +nan.0 'a))

(test-group "numbers, three arguments"
  (same-3 fewer-numbers (1 2 3) < > <= >= = min max)
  (same-3 fewer-numbers (1.0 2.0 3.0) < = min max)
  (same-3 (list 0 1 2 5 59 60 61 62 63 64 -1 (expt 2 60) (- (expt 2 61)) (expt 2 70) 'a #f)
          (1 2 3) bitwise-if copy-bit bit-field))

(test-group "characters, symbols and booleans"
  (same-1 all #\a char-foldcase digit-value char-upcase char-downcase char-alphabetic?)
  (same-2 others #\a #\b char-ci=? char-ci<? char-ci>? char-ci<=? char-ci>=?)
  (same-2 others 'a 'b symbol=?)
  (same-2 others #t #f boolean=?)
  (same-3 (list #\a #\b #\x3bb 'a) (#\a #\b #\c) char=? char<? char>? char<=? char>=?)
  (same-3 '(a b 1) ('a 'b 'a) symbol=?)
  (same-3 '(#t #f 1) (#t #f #t) boolean=?))

(test-group "texts"
  (same-1 (append texts others) "abc" string-copy string->list string->vector string-reverse
          string-foldcase string->utf8 string->symbol string-upcase string-append)
  (same-1 (append texts others) '(#\a) list->string)
  (same-1 (append texts others) (vector #\a) vector->string)
  (same-1 (append texts others) (bytevector 65) utf8->string)
  (same-1 all #\a string)
  (same-1 (append numbers others) 3 make-string)
  (same-2 (append texts few) "ab" "cd" string<=? string>=? string-ci=? string-ci<? string-ci>?
          string-ci<=? string-ci>=? string-prefix? string-suffix? string-append)
  (same-2 few #\a #\b string)
  (same-2 (append few '(200)) 3 #\b make-string)
  (same-2 few "abc" 1 string-copy string-pad-left string-pad-right)
  (same-3 few ("ab" "ab" "ab") string=? string-append)
  (same-3 (list #\a #\xe9 #\x3bb "x") (#\a #\b #\c) string)
  (same-3 (list 0 1 2 3 -1 'a "abc" "\xe9;\xe8;x" "\x3bb;bc" "a\x3bb;") ("abc" 1 2)
          string-copy substring))

(test-group "lists and vectors"
  (same-1 all '(1 2 3 4 5) length+ first second third fourth fifth last list->vector)
  (same-1 all '((((1) 2) 3) 4) caaar cdaar caaaar cddaar)
  (same-1 all '((1 2 3 4) (5 6) (7)) cadadr cdddar caaddr)
  (same-1 others 3 make-list iota make-bytevector)
  (same-1 others (vector 1 2 3) vector->list vector-copy)
  (same-1 others (bytevector 1 2) bytevector-copy)
  (same-1 all 200 bytevector)
  (same-1 others (s16vector 1) s16vector? s16vector-length f64vector?)
  (same-1 others (f64vector 1.0) f64vector? f64vector-length)
  (same-1 others (current-input-port) port? input-port? output-port? textual-port? binary-port?
          error-object?)
  (same-2 few '(1 2) 1 take drop)
  (same-2 few 2 'a make-list)
  (same-2 few 2 1 iota)
  (same-2 (append few '(255 256)) 2 1 make-bytevector bytevector)
  (same-2 few '(1 2) '(3) append-reverse)
  (same-2 few (vector 1) (vector 2) vector-append)
  (same-2 few (vector 1 2) 1 vector->list vector-copy)
  (same-2 few (bytevector 1 2) 1 bytevector-copy)
  (same-2 few (bytevector 1) (bytevector 2) bytevector-append)
  (same-3 few ('(1) '(2) '(3)) append)
  (same-3 few ((vector 1 2) 0 1) vector->list vector-copy subvector)
  (same-3 few ((vector 1) (vector 2) (vector 3)) vector-append)
  (same-3 few ((bytevector 1 2) 0 1) bytevector-copy)
  (same-3 '(0 1 255 256 a) (1 2 3) bytevector))
