;;; (wiki differences): differences and merges, by examples and by what holds for all texts.

(import (canny base) (canny match) (canny test) (canny test properties) (wiki differences))

(define (joined lines) (string-join lines "\n"))

;; A side of what differs.
(define (side chunks select)
  (append-map (lambda (chunk)
                (match chunk
                  (('same . parts) parts)
                  (('changed old new) (select old new))))
              chunks))

(test '((same "a") (changed ("b") ("x")) (same "c" "d") (changed () ("e")))
      (text-differences "a\nb\nc\nd" "a\nx\nc\nd\ne"))
(test '((same "the" " ") (changed ("quick") ("slow")) (same " " "fox"))
      (word-differences "the quick fox" "the slow fox"))
(test '((same "a")) (text-differences "a" "a"))

(define texts (mapped joined (lists-of (one-of "a" "b" "c" "d" "") 12)))

(test-property "both texts are in their differences" ((old texts) (new texts))
               (let ((chunks (text-differences old new)))
                 (and (equal? old (joined (side chunks (lambda (old new) old))))
                      (equal? new (joined (side chunks (lambda (old new) new)))))))

(define (merged . texts)
  (receive (text conflicts) (apply merge-texts texts) (list text conflicts)))

(test '("a\nB\nc\nd\nE" 0) (merged "a\nb\nc\nd\ne" "a\nB\nc\nd\ne" "a\nb\nc\nd\nE"))
(test '("a\n<<<<<<< the other version\nx\n=======\nB\n>>>>>>> your version\nc" 1)
      (merged "a\nb\nc" "a\nB\nc" "a\nx\nc"))
(test '("a\nB\nc" 0) (merged "a\nb\nc" "a\nB\nc" "a\nB\nc"))

(test-property "who changed alone has it" ((base texts) (new texts))
               (and (equal? (list new 0) (merged base new base))
                    (equal? (list new 0) (merged base base new))
                    (equal? (list new 0) (merged base new new))))

(test-property "no line that somebody wrote is lost" ((base texts) (mine texts) (theirs texts))
               (receive (text conflicts) (merge-texts base mine theirs)
                 (let ((there (string-split text #\newline)) (before (string-split base #\newline)))
                   (every (lambda (line) (or (member line before) (member line there)))
                          (append (string-split mine #\newline)
                                  (string-split theirs #\newline))))))

;; Texts that have little in common take no longer than others.
(test 2 (length (text-differences
                 (joined (map number->string (iota 20000)))
                 (joined (map (lambda (n) (number->string (* 2 n))) (iota 20000))))))

(test-finish)
