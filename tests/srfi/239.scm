;; SRFI 239: choice by the kind of a list.

(import (scheme base) (srfi 239) (canny test))

(define (kind object)
  (list-case object ((_ . _) 'pair) (() 'null) (_ 'atom)))
(test '(pair null atom) (map kind '((1) () 1)))
(test '(2 1) (list-case '(1 . 2) ((a . d) (list d a))))
(test 1 (list-case '(1 . 2) ((a . _) a)))
(test 2 (list-case '(1 . 2) ((_ . d) d)))
(test 5 (list-case 5 (x (define y x) y) ((_ . _) 'no)))
(test 'other (list-case "x" (x 'other) (() 'null)))
(test 6 (let loop ((l '(1 2 3)) (n 0)) (list-case l ((h . t) (loop t (+ n h))) (() n))))
(test-error (list-case '() ((_ . _) 1)))
(test-error (list-case 5 (() 1)))
(test-error (list-case '(1) (() 1)))

(test-finish)
