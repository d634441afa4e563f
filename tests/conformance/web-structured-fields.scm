;;; (canny web structured-fields): items, lists and dictionaries of RFC 9651.

(import (scheme base) (canny web structured-fields) (canny test) (canny test properties))

(define-syntax position
  (syntax-rules ()
    ((_ expression)
     (guard (e ((structured-field-error? e) (structured-field-error-position e))) expression))))

(define (item text) (string->sf-item text))
(define (value text) (car (string->sf-item text)))

(test-group "items"
  (test '(0 -15 999999999999999) (map value '("0" "-15" "999999999999999")))
  (test '(1.5 -0.125 1.0) (map value '("1.5" "-0.125" "1.0")))
  (test '("" "a\"b\\c") (map value '("\"\"" "\"a\\\"b\\\\c\"")))
  (test '(foo a:b/c *x Ab) (map value '("foo" "a:b/c" "*x" "Ab")))
  (test '(#u8() #u8(1 2 3) #u8(1)) (map value '("::" ":AQID:" ":AQ:")))
  (test '(#t #f) (map value '("?1" "?0")))
  (test 1659578233 (sf-date-seconds (value "@1659578233")))
  (test -5 (sf-date-seconds (value "@-5")))
  (test "füü\"%" (sf-display-string-text (value "%\"f%c3%bc%c3%bc%22%25\"")))
  (test '(5 (foo . bar) (a . #t) (b . "x")) (item "5;foo=bar; a;b=\"x\""))
  (test '(1 (a . 3)) (item "1;a=2;a=3"))
  (test '(1) (item "  1  ")))

(test-group "lists"
  (test '() (string->sf-list ""))
  (test '((sugar) (tea) (rum)) (string->sf-list "sugar, tea,\trum"))
  (test '((((1) (2 (x . #t))) (a . b)) (()) (3 (c . #f)))
        (string->sf-list "( 1  2;x );a=b, (), 3;c=?0")))

(test-group "dictionaries"
  (test '() (string->sf-dictionary ""))
  (test '((en "Applepie") (da #u8(1))) (string->sf-dictionary "en=\"Applepie\", da=:AQ==:"))
  (test '((a #f) (b #t) (c #t (foo . bar))) (string->sf-dictionary "a=?0, b, c; foo=bar"))
  (test '((rating 1.5) (feelings ((joy) (sadness))))
        (string->sf-dictionary "rating=1.5, feelings=(joy sadness)"))
  (test '((a 3) (b 2)) (string->sf-dictionary "a=1, b=2, a=3")))

(test-group "wrong"
  (for-each
   (lambda (text) (test-error structured-field-error? (item text)))
   '("" "1 2" "1," "-" "1." "1.1234" "1234567890123.1" "1000000000000000" "\"a" "\"a\\b\"" "\"é\""
     "\"a\tb\""
     "é" "?2" "?" ":AQ" ":A*:" "@1.5" "@x" "%\"a" "%a" "%\"%C3%BC\"" "%\"%ff\"" "%\"%c3\"" "1;"
     "1;A"
     "1;a=" "1;a=(1)" "(1)" "1 ;a" "--1" "\t1"))
  (for-each
   (lambda (text) (test-error structured-field-error? (string->sf-list text)))
   '("a," "a,,b" ",a" "a b" "(1" "(1 2" "(1,2)" "(1\"a\")" "(1(2))" ")"))
  (for-each
   (lambda (text) (test-error structured-field-error? (string->sf-dictionary text)))
   '("a=" "A=1" "=1" "a=1," "a=1 b=2" "1=a" "a = 1"))
  (test 2 (position (string->sf-list "a b")))
  (test 1 (position (string->sf-list "a,")))
  (test 2 (position (item "1;")))
  (test #f (structured-field-error? 5)))

(test-group "writing"
  (test "a=?0, b, c=(1 \"x\\\"y\" t:/;l);q=1.5, d=:AQI=:, e=2.0, f=@5, g=%\"f%c3%bc%25%22\""
        (sf-dictionary->string
         (list '(a #f) '(b #t) '(c ((1) ("x\"y") (t:/ (l . #t))) (q . 1.5)) '(d #u8(1 2)) '(e 2.0)
               (list 'f (make-sf-date 5)) (list 'g (make-sf-display-string "fü%\"")))))
  (test "a;x=1, (b c);y" (sf-list->string '((a (x . 1)) (((b) (c)) (y . #t)))))
  (test "" (sf-list->string '()))
  (test '("1.002" "-0.5" "0.0" "0.125" "0.1")
        (map (lambda (number) (sf-item->string (list number))) '(1.0025 -0.5 0.0 1/8 0.1)))
  (for-each
   (lambda (object) (test-error structured-field-error? (sf-item->string object)))
   '(5 (1e12) (+inf.0) (+nan.0) (1000000000000000) ("é") ("a\nb") (|a b|) (|1|) (||) (()) (#\a)
     (1 (A . 1)) (1 (a . (1))) (1 5) (1 . 5) (1+i) (999999999999.9999)))
  (test-error structured-field-error? (sf-dictionary->string '((a))))
  (test-error structured-field-error? (sf-dictionary->string '(("a" 1))))
  (test-error structured-field-error? (sf-list->string 5))
  (test-error (make-sf-date 1.5))
  (test-error (make-sf-display-string 'a))
  (test-error (sf-date-seconds 5)))

(test-property "integers that are written are read"
               ((number (integers -999999999999999 999999999999999)))
               (equal? (list number) (item (sf-item->string (list number)))))

(test-property "display strings that are written are read" ((text (strings)))
  (equal? text
          (sf-display-string-text
           (value (sf-item->string (list (make-sf-display-string text)))))))

(test-finish)
