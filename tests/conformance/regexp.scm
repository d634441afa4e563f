;;; (canny regexp): patterns of text, the fast engine beside the one of SRFI 115, streams.

(import (scheme base) (scheme char) (canny regexp) (canny test) (canny test properties)
        (prefix (only (canny regexp matching) regexp-search) srfi:))

(define (found re string . range)
  (let ((match (apply regexp-search re string range)))
    (and match (regexp-match-submatch match 0))))

(define (generate next)
  (let loop ((seen '()))
    (let ((object (next)))
      (if (eof-object? object) (reverse seen) (loop (cons object seen))))))

(test-group "patterns"
  (test "123" (found "[0-9]+" "abc 123 def"))
  (test #f (found "[0-9]+" "abc"))
  (test "a+b" (found '(: "a+b") "xa+bx"))
  (test '("n=1" "n" "1") (regexp-match->list (regexp-search "([a-z]+)=([0-9]+)" "n=1, size=42")))
  (test '("2026" "11")
        (let ((match (regexp-search "(?<year>[0-9]{4})-(?P<month>[0-9]{2})" "on 2026-11-22")))
          (list (regexp-match-submatch match 'year) (regexp-match-submatch match 'month))))
  (test '("b" #f) (cdr (regexp-match->list (regexp-search "(b)|(c)" "abc"))))
  (test #t (regexp-matches? "a|ab" "ab"))
  (test #f (regexp-matches? "a" "ab"))
  (test #t (regexp-matches? "(?x) a b # both" "ab"))
  (test "ÄÖ" (found "(?i)äö" "xÄÖ"))
  (test '(3 . 5) (let ((match (regexp-search "→+" "é𝄞a→→b")))
                   (cons (regexp-match-submatch-start match 0)
                         (regexp-match-submatch-end match 0))))
  (test "b" (found "." "abc" 1))
  (test #f (found "^b" "abc" 2))
  (test "b" (found "^b" "abc" 1))
  (test #t (regexp-test? "b" "abc"))
  (test #f (regexp-test? "b" "→c"))
  (test #t (regexp-test? "→" "→c"))
  (test "a.b*c" (found (regexp-quote "a.b*c") "xa.b*c"))
  (test #t (regexp-matches? (regexp-quote "\\ ^$[]{}()|#-~&\n") "\\ ^$[]{}()|#-~&\n"))
  (test-error (regexp "("))
  (test-error (regexp "[z-a]"))
  (test-error (regexp "(a)\\1"))
  (test-error (regexp "((((a{1000}){1000}){1000}){1000})"))
  (test-error (regexp-search "a" 'a))
  (test-error (regexp-search "a" "abc" 4))
  (test "unclosed group, at index 3"
    (let ((message (guard (e (#t (error-object-message e))) (regexp "abc(d"))))
      (substring message (- (string-length message) 26)))))

(test-group "all matches"
  (test '("1" "22" "333") (regexp-extract "[0-9]+" "1 and 22 and 333"))
  (test '("→1" "→22") (regexp-extract "→[0-9]+" "é →1 é→22 é"))
  (test '("a" "b" "" "c") (regexp-split "," "a,b,,c"))
  (test '("a" "," "b") (regexp-partition "," "a,b"))
  (test "<1> and <22>" (regexp-replace-all "[0-9]+" "1 and 22" '("<" 0 ">")))
  (test "a-c" (regexp-replace "b" "abc" "-"))
  (test "A1B2" (regexp-replace-all "[a-z]" "a1b2"
                                   (lambda (match)
                                     (string-upcase (regexp-match-submatch match 0)))))
  (test "-a-é-" (regexp-replace-all "" "aé" "-"))
  (test '("1" "22")
        (map (lambda (match) (regexp-match-submatch match 0))
             (generate (regexp-all "[0-9]+" "1é22"))))
  (test 3 (length (generate (regexp-all "x*" "axxb"))))
  (test 10000
        (regexp-fold "é" (lambda (last match string count) (+ count 1)) 0 (make-string 10000 #\é)))
  (test '("b 1" "→ 2") (generate (regexp-lines "[0-9]" (open-input-string "a\nb 1\nc\n→ 2\n"))))
  (test '("bb") (generate (regexp-lines '(: (-> x "b") (backref x)) (open-input-string "a\nbb\n"))))
  (test 3 (length (generate (regexp-lines "7$" (let loop ((i 0) (texts '()))
                                                 (if (= i 30)
                                                     (open-input-string (apply string-append texts))
                                                     (loop (+ i 1) (cons (string-append
                                                                          (number->string i) "\n")
                                                                         texts)))))))))

;; Both engines: a look-ahead for nothing sends an SRE to the other one.
(define (both sre string)
  (let ((fast (srfi:regexp-search sre string))
        (slow (srfi:regexp-search `(: ,sre (look-ahead "")) string)))
    (if fast
        (and slow (equal? (regexp-match->list fast) (regexp-match->list slow))
             (equal? (regexp-match-submatch-start fast 0) (regexp-match-submatch-start slow 0)))
        (not slow))))

(test-group "both engines find the same"
  (for-each
   (lambda (sre)
     (for-each
      (lambda (string) (test-assert (both sre string)))
      '("" "a" "ab" "aab b" "Foo bar_1\nbaz" "x=1, yy=22" "éÀ→ß word" "\r\n\n" "ABC abc"
        "aaa.bbb.ccc" "٣ 3")))
   '("ab" (or "a" "ab") (* "a") (+ (or "a" "b")) (*? any) (?? "a") ($ (* "a") ($ "b"))
     (: bol (+ alpha) eol) (: bow (+ alnum) eow) (word "bar") (word) (+ digit) (+ (~ space))
     (- any "a") (and alpha (/ "ac"))
     (= 2 "a") (>= 2 any) (** 1 2 alpha) (**? 1 2 alpha) (w/nocase "abc") (w/nocase (+ ("abc")))
     (w/ascii (+ alpha)) punct
     (: bos (* any) eos) (-> n (+ num)) nonl (+ upper) (+ lower) (or) (w/nocapture ($ "a"))
     (: nwb "a") title symbol
     (: ($ (* (~ "="))) "=" ($ (+ num))) (or (: "a" ($ "b")) ($ "a")) graph white cntrl xdigit
     (w/nocase (~ "a"))
     (w/ascii (w/nocase "k")) (& lower (~ "a")) (char-set "abc") ("abc"))))

(define sres
  (letrec ((atoms (one-of "a" "b" "ab" 'any 'digit 'alpha '(~ "a") '(/ "ac") 'bow 'eow 'bol 'eol "é"
                          'upper))
           (deep (lambda (depth)
                   (if (= depth 0)
                       atoms
                       (let ((inner (deep (- depth 1))))
                         (choice-of atoms
                                    (mapped (lambda (a b) `(: ,a ,b)) inner inner)
                                    (mapped (lambda (a b) `(or ,a ,b)) inner inner)
                                    (mapped (lambda (a) `($ ,a)) inner)
                                    (mapped (lambda (a) `(? ,a)) inner)
                                    (mapped (lambda (a) `(** 1 2 ,a)) inner)
                                    (mapped (lambda (a) `(w/nocase ,a)) inner)))))))
    (deep 3)))

(define texts
  (mapped (lambda (chars) (list->string chars))
          (lists-of (one-of #\a #\b #\A #\c #\1 #\space #\é #\→ #\newline))))

(test-property "random expressions" ((sre sres) (text texts))
  (both sre text))

(test-finish)
