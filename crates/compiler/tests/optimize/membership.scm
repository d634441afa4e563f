;; Long lists of characters and integers in `case` are searched by halves of their intervals.
(define (kind c)
  (case c
    ((#\a #\b #\c #\d #\e #\f #\g #\h #\i #\j #\k #\l #\m #\n #\o #\p #\q #\r #\s #\t #\u #\v #\w #\x #\y #\z #\_ #\-) 'letter)
    ((0 1 2 3 5 6 7 8 9 100 -1) 'number)
    ((#\space #\newline) 'blank)
    ((a b c d e f g h i j) 'symbol)
    ((#\0 #\1 #\2 #\3 #\4 #\5 #\6 #\7 #\8 #\9 x 0 1) 'mixed)
    (else 'other)))
(display (kind (read)))
