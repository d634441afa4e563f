;; SRFI 197: pipelines.

(import (scheme base) (srfi 197) (canny test))

(test-group "chain"
  (test 1 (chain 1))
  (test '(a b 1) (chain 1 (list 'a 'b _)))
  (test '(e f (c 1 d)) (chain 1 (list 'c _ 'd) (list 'e 'f _)))
  (test '(2 1) (chain (values 1 2) ((lambda (a b) (list b a)) _ _)))
  (test '(1 c 2 3) (chain (values 1 2 3) (list _ 'c _ ...)))
  (test '(1 2) (chain (values list 1 2) (_ ...)))
  (test '(1) (chain (values 1) (list _ ...)))
  (test 5 (chain (values 1 2) (+ 2 3)))
  (test '(c 1) (chain 1 <> (list 'c <>)))
  (test '(c 1 2) (chain (values 1 2) - --- (list 'c - ---)))
  (test '(3 4) (chain (list 1 2) (map (lambda (x) (+ x 2)) _)))
  ;; A string literal is a value like any other.
  (test "ab" (chain "a" (string-append _ "b")))
  (test-error (chain (values 1 2 3) (list _ _)))
  ;; Steps run in order, once each.
  (test '(0 1 2)
    (let* ((n -1) (next (lambda ignored (set! n (+ n 1)) n)))
      (chain (next) (list _ (next)) (append _ (list (next)))))))

(test-group "chain-and"
  (test 1 (chain-and 1))
  (test 3 (chain-and 1 (+ _ 1) (+ 1 _)))
  (test #f (chain-and 1 (memv _ '(2 3)) (car _)))
  (test '(1 1) (chain-and '(1) (car _) (list _ 1)))
  (test 7 (chain-and 1 <> (+ <> 6)))
  (test #f (chain-and #f (error "not evaluated"))))

(test-group "chain-when"
  (define (describe-number n)
    (chain-when '()
      ((odd? n) (cons "odd" _))
      ((even? n) (cons "even" _))
      ((zero? n) (cons "zero" _))
      ((positive? n) (cons "positive" _))))
  (test '("positive" "odd") (describe-number 3))
  (test '("positive" "even") (describe-number 4))
  (test '("zero" "even") (describe-number 0))
  (test 5 (chain-when 2 ((+ _ 1)) (#f (error "no")) (#t (+ 2 _))))
  (test 3 (chain-when 2 <> ((+ <> 1)))))

(test-group "chain-lambda"
  (test 4 ((chain-lambda (+ 1 _) (* 2 _)) 1))
  (test '(c 1 2) ((chain-lambda (list 'c _ _)) 1 2))
  (test 3 ((chain-lambda (+ _ ...)) 1 2))
  (test 6 ((chain-lambda (_ ...)) + 1 2 3))
  (test 4 ((chain-lambda <> (+ 1 <>) (* 2 <>)) 1))
  (test '((1 2) 3) ((chain-lambda - --- (list - ---) (list - 3)) 1 2))
  (test-error ((chain-lambda (+ 1 _)) 1 2)))

(test-group "nest"
  (test '(a b (c d e)) (nest (list 'a 'b _) (list 'c 'd _) 'e))
  (test '(1 2 (3 (4) 5)) (nest '_ (1 2 _) (3 _ 5) (_) 4))
  (test '(1 2 3 (4 5 6)) (nest (nest _2 '_2 (1 2 3 _2) _ 6) (_ 5 _2) 4))
  (test 5 (nest 5))
  (test 'x (nest (let ((y 'x)) _) (if #t _ 1) y))
  (test '(1 (2)) (nest <> (list 1 <>) (list <>) 2))
  (test '(a b (c d e)) (nest-reverse 'e (list 'c 'd _) (list 'a 'b _)))
  (test '(1 2 (3 (4) 5)) (nest-reverse 4 (_) (3 _ 5) (1 2 _) '_))
  (test '(1 (2)) (nest-reverse 2 <> (list <>) (list 1 <>))))

(test-finish)
