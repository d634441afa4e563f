;; Literal lists are searched by comparisons; the parts that are found belong to the whole literal.
(define (rest-from x) (memq x '(alpha beta gamma)))
(define (number x) (assv x '((1 . one) (2 . two))))
(define (is-known x) (if (assq x '((a . 1) (b . 2))) 'known 'unknown))
(define (text x) (member x '("a" "b")))
(define names '(left right))
(define (side x) (memv x names))
(display (length (memq 'b '(a b c))))
(display (memq 'd '(a b c)))
;; Lists that are made for a vector only are not made.
(define (triple x y) `#(1 ,x ,y))
(define (nested x) `(a #(b ,x) . c))
(define (spliced x) `#(1 ,@x))
;; Calls with one operand do no work, but its type is checked.
(define (one x) (append x))
(define (same x) (list-tail x 0))
(define (bits x) (list (bitwise-and x) (bitwise-ior x) (bitwise-xor x)))
;; A procedure is no character.
(define (loop-over wanted) (if (char? wanted) 'character (wanted 1)))
(display (loop-over (lambda (x) x)))
(display (list rest-from number is-known text side triple nested spliced one same bits))
