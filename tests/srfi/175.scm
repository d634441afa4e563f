(import (scheme base) (srfi 175) (canny test))

(test-group "objects"
  (test '(#t #t #f #f #f) (map ascii-codepoint? '(0 127 128 -1 #\a)))
  (test '(#t #f #f) (map ascii-char? '(#\a #\x80 97)))
  (test '(#t #t #f #f) (map ascii-bytevector? '(#u8() #u8(0 127) #u8(128) "a")))
  (test '(#t #t #f #f) (map ascii-string? '("" "a\x7f;" "a\x80;" #\a))))

(define (all-with test?)
  (let loop ((code 200) (count 0))
    (if (< code 0)
        count
        (begin
          (if (not (eq? (test? code) (test? (integer->char code))))
              (error "characters and codes differ" code))
          (loop (- code 1) (if (test? code) (+ count 1) count))))))

(test-group "classes"
  (test 33 (all-with ascii-control?))
  (test 95 (all-with ascii-non-control?))
  (test 6 (all-with ascii-whitespace?))
  (test 2 (all-with ascii-space-or-tab?))
  (test 32 (all-with ascii-other-graphic?))
  (test 26 (all-with ascii-upper-case?))
  (test 26 (all-with ascii-lower-case?))
  (test 52 (all-with ascii-alphabetic?))
  (test 62 (all-with ascii-alphanumeric?))
  (test 10 (all-with ascii-numeric?))
  (test #f (ascii-alphabetic? -1))
  (test-error (ascii-control? "a")))

(test-group "values"
  (test 7 (ascii-digit-value #\7 10))
  (test #f (ascii-digit-value #\8 8))
  (test #f (ascii-digit-value #\a 10))
  (test 12 (ascii-upper-case-value #\C 10 6))
  (test #f (ascii-upper-case-value #\G 10 6))
  (test #f (ascii-upper-case-value #\c 10 6))
  (test 2 (ascii-lower-case-value 99 0 26))
  (test #\9 (ascii-nth-digit 9))
  (test #f (ascii-nth-digit 10))
  (test #\A (ascii-nth-upper-case 26))
  (test #\z (ascii-nth-lower-case -1)))

(test-group "conversion"
  (test '(#\A 65 #\1 #\é) (map ascii-upcase '(#\a 97 #\1 #\é)))
  (test '(#\a 97 #\1 #\É) (map ascii-downcase '(#\A 65 #\1 #\É)))
  (test '(#\@ 65 #\? #f) (map ascii-control->graphic '(#\null 1 #\delete #\a)))
  (test '(#\null 1 #\delete #f) (map ascii-graphic->control '(#\@ 65 #\? #\a)))
  (test '(#\) #\( #\> #\< #\] #\[ 125 123 #f)
        (map ascii-mirror-bracket '(#\( #\) #\< #\> #\[ #\] 123 125 #\a))))

(test-group "comparison"
  (test #t (ascii-ci=? #\a 65))
  (test #t (ascii-ci<? #\A #\b))
  (test #t (ascii-ci<? #\_ #\A))
  (test #t (ascii-ci>? #\b #\A))
  (test #t (ascii-ci<=? #\a #\A))
  (test #t (ascii-ci>=? #\a #\A))
  (test #t (ascii-string-ci=? "aBc" "AbC"))
  (test #f (ascii-string-ci=? "é" "É"))
  (test #t (ascii-string-ci<? "ab" "ABC"))
  (test #t (ascii-string-ci>? "b" "ABC"))
  (test #t (ascii-string-ci<=? "abc" "ABC"))
  (test #t (ascii-string-ci>=? "abc" "ABC"))
  (test-error (ascii-string-ci=? 'a "a")))

(test-finish)
