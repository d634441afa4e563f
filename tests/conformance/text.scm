;;; (canny text): graphemes, words, sentences, normalization, columns.

(import (scheme base) (canny text) (canny test))

(define (error-of thunk)
  (guard (e ((error-object? e) (error-object-message e)))
    (thunk)))

(define accented "cafe\x301;s")
(define family "\x1f469;\x200d;\x1f469;\x200d;\x1f467;")
(define flags "\x1f1e9;\x1f1ea;\x1f1eb;\x1f1f7;")

(test-group "graphemes"
  (test '() (string-graphemes ""))
  (test '("c" "a" "f" "e\x301;" "s") (string-graphemes accented))
  (test '("e\x301;" "s") (string-graphemes accented 3))
  (test '("f" "e") (string-graphemes accented 2 4))
  (test '("a" "\r\n" "b" "\r" "c" "\n" "\r") (string-graphemes "a\r\nb\rc\n\r"))
  (test (list family) (string-graphemes family))
  (test '("\x1f1e9;\x1f1ea;" "\x1f1eb;\x1f1f7;") (string-graphemes flags))
  (test 0 (string-grapheme-length ""))
  (test 5 (string-grapheme-length accented))
  (test 6 (string-length accented))
  (test 3 (string-grapheme-length "\xe9;\xad;b"))
  (test 1 (string-grapheme-length "\r\n"))
  (test 2 (string-grapheme-length accented 3 6))
  (test "e\x301;" (string-grapheme-ref accented 3))
  (test '(0 3 5 6) (map (lambda (k) (string-grapheme-index accented k)) '(0 3 4 5)))
  (test "cafe\x301;" (string-grapheme-take accented 4))
  (test "" (string-grapheme-take accented 0))
  (test "s" (string-grapheme-drop accented 4))
  (test "se\x301;fac" (string-grapheme-reverse accented))
  (test '("s" "e\x301;" "f" "a" "c") (string-grapheme-fold cons '() accented))
  (test '(#\s #\e) (let ((firsts '()))
                     (string-grapheme-for-each
                      (lambda (grapheme) (set! firsts (cons (string-ref grapheme 0) firsts)))
                      "e\x301;s")
                     firsts))
  (test '("e\x301;" "s" #t #t)
        (let* ((next (string-grapheme-generator "e\x301;s"))
               (first (next))
               (second (next))
               (third (next)))
          (list first second (eof-object? third) (eof-object? (next))))))

(test-group "words and sentences"
  (test '() (string-words " ,. "))
  (test '("It's" "3.5" "km" "isn't" "it") (string-words "It's 3.5 km, isn't it?"))
  (test '("world") (string-words "hello world" 5))
  (test '("Hi" "," " " "you") (string-word-segments "Hi, you"))
  (test '("One. " "Two! " "Three?") (string-sentences "One. Two! Three?"))
  (test '() (string-sentences "")))

(test-group "normalization"
  (test "\xe9;" (string-normalize-nfc "e\x301;"))
  (test "e\x301;" (string-normalize-nfd "\xe9;"))
  (test "fi" (string-normalize-nfkc "\xfb01;"))
  (test "a\x308;fi" (string-normalize-nfkd "\xe4;\xfb01;"))
  (test "plain" (string-normalize-nfd "plain"))
  (test '(#t #f #t #f) (map (lambda (form) (string-normalized? "\xe9;" form)) '(nfc nfd nfkc nfkd)))
  (test '(#f #t #f #t)
        (map (lambda (form) (string-normalized? "e\x301;" form)) '(nfc nfd nfkc nfkd)))
  (test #t (string-canonical=? "\xe9;" "e\x301;" "\xe9;"))
  (test #f (string-canonical=? "\xe9;" "e\x301;" "e"))
  (test #t (string-canonical<? "e" "\xe9;" "f"))
  (test #f (string-canonical<? "\xe9;" "e\x301;"))
  (test #t (string-caseless=? "Strasse" "STRA\x1e9e;E" "stra\xdf;e"))
  (test #t (string-caseless=? "\xc9;" "e\x301;"))
  (test #f (string-caseless=? "a" "b"))
  (test #t (string-caseless<? "a" "B" "c"))
  (test (string-caseless-key "\xc5;ngstr\xf6;m") (string-caseless-key "A\x30a;NGSTRO\x308;M")))

(test-group "columns"
  (test 0 (string-width ""))
  (test 4 (string-width accented 0 5))
  (test 4 (string-width "日本"))
  (test 2 (string-width family))
  (test 2 (string-width "a\n\x7;b"))
  (test "  日本" (string-pad-left/width "日本" 6))
  (test "日本**" (string-pad-right/width "日本" 6 #\*))
  (test "x 日日" (string-pad-right/width "x" 6 #\日))
  (test "日本" (string-pad-left/width "日本" 3))
  (test "  日本   " (string-center/width "日本" 9))
  (test "日本語…" (string-truncate/width "日本語テキスト" 8))
  (test "日本語テキスト" (string-truncate/width "日本語テキスト" 14))
  (test "cafe\x301;…" (string-truncate/width "cafe\x301; noir" 5))
  (test "a..." (string-truncate/width "abcdefg" 4 "..."))
  (test "ab" (string-truncate/width "abcdefg" 2 "..."))
  (test "" (string-truncate/width "abc" 0)))

(test-group "wrong arguments"
  (test "argument 1 is not a string" (error-of (lambda () (string-graphemes 5))))
  (test "argument 2 is out of range: below the number of graphemes"
        (error-of (lambda () (string-grapheme-ref accented 5))))
  (test "argument 2 is out of range: at most the number of graphemes"
        (error-of (lambda () (string-grapheme-take accented 6))))
  (test "argument 3 is out of range: the end is greater than the length"
        (error-of (lambda () (string-words "abc" 0 4))))
  (test "argument 3 is not a string"
        (error-of (lambda () (string-caseless=? "a" "a" 'a))))
  (test "argument 2 is not a normalization form (nfc, nfd, nfkc or nfkd)"
        (error-of (lambda () (string-normalized? "a" 'nfx))))
  (test "argument 3 is not a character that takes a column"
        (error-of (lambda () (string-pad-left/width "a" 3 #\x301)))))

(test-finish)
