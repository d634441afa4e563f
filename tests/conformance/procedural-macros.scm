;;; Macros whose transformers are procedures: syntax-case, explicit and implicit renaming, syntactic
;;; closures.

(import (scheme base) (scheme eval) (canny syntax-case) (canny test))

(test-group "syntax-case"
  (let-syntax ((my-or (lambda (form)
                        (syntax-case form ()
                          ((_) #'#f)
                          ((_ e) #'e)
                          ((_ e r ...) #'(let ((t e)) (if t t (begin r ...))))))))
    (test #f (my-or))
    (test 1 (my-or 1)))
  (letrec-syntax ((my-or (lambda (form)
                           (syntax-case form ()
                             ((_) #'#f)
                             ((_ e) #'e)
                             ((_ e r ...) #'(let ((t e)) (if t t (my-or r ...))))))))
    (test 5 (let ((t 5)) (my-or #f t)))
    (test 6 (let ((if 6)) (my-or #f #f if))))
  (let-syntax ((nested (lambda (form)
                         (syntax-case form ()
                           ((_ (a b ...) ...) #'(list (list 'a (list b ...)) ...))))))
    (test '((x (1 2)) (y ()) (z (3))) (nested (x 1 2) (y) (z 3))))
  (let-syntax ((tail (lambda (form)
                       (syntax-case form ()
                         ((_ a ... last) #'(list last a ...))))))
    (test '(3 1 2) (tail 1 2 3))
    (test '(1) (tail 1)))
  (let-syntax ((dotted (lambda (form)
                         (syntax-case form ()
                           ((_ a . b) #''(a b))))))
    (test '(1 (2 3)) (dotted 1 2 3))
    (test '(1 2) (dotted 1 . 2)))
  (let-syntax ((vec (lambda (form)
                      (syntax-case form ()
                        ((_ #(a b ...)) #'(vector b ... a))))))
    (test #(2 3 1) (vec #(1 2 3))))
  (let-syntax ((flat (lambda (form)
                       (syntax-case form ()
                         ((_ (a ...) ...) #'(list a ... ...))))))
    (test '(1 2 3) (flat (1) () (2 3))))
  (let-syntax ((data (lambda (form)
                       (syntax-case form ()
                         ((_ 1) #''one)
                         ((_ "two") #''two)
                         ((_ #\3) #''three)
                         ((_ ()) #''none)
                         ((_ _) #''other)))))
    (test '(one two three none other) (list (data 1) (data "two") (data #\3) (data ()) (data 4)))))

(test-group "literals are compared as identifiers"
  (letrec-syntax ((my-cond (lambda (form)
                             (syntax-case form (else)
                               ((_ (else e)) #'e)
                               ((_ (t e) c ...) #'(if t e (my-cond c ...)))
                               ((_) #''none)))))
    (test 2 (my-cond (#f 1) (else 2)))
    (test 'none (let ((else #f)) (my-cond (#f 1) (else 2))))))

(test-group "fenders"
  (let-syntax ((kind (lambda (form)
                       (syntax-case form ()
                         ((_ x) (identifier? #'x) #''identifier)
                         ((_ x) (number? (syntax->datum #'x)) #''number)
                         ((_ (x y)) (bound-identifier=? #'x #'y) #''same)
                         ((_ (x ...)) #'(length '(x ...)))
                         (_ #''else)))))
    (test '(identifier number same 2 0 else)
          (list (kind a) (kind 1) (kind (a a)) (kind (a b)) (kind ()) (kind "s")))))

(test-group "datum->syntax"
  ;; An identifier made in the context of the keyword is the one that stands beside it.
  (let-syntax ((named-a? (lambda (form)
                           (syntax-case form ()
                             ((k id)
                              (if (bound-identifier=? #'id (datum->syntax #'k 'a))
                                  #''yes
                                  #''no))))))
    (test '(yes no) (list (named-a? a) (named-a? b)))
    (let-syntax ((through (syntax-rules () ((_ id) (list (named-a? id) (named-a? a))))))
      (test '(no yes) (through b))
      (test '(no yes) (through a))))
  (let-syntax ((while (lambda (form)
                        (syntax-case form ()
                          ((k test body ...)
                           (with-syntax ((break (datum->syntax #'k 'break)))
                             #'(call/cc
                                (lambda (break)
                                  (let loop ()
                                    (if test (begin body ... (loop))))))))))))
    (test 3 (let ((i 0))
              (while #t (set! i (+ i 1)) (if (= i 3) (break i)))))
    ;; A macro that uses it passes its own marks on.
    (let-syntax ((forever (syntax-rules () ((_ body) (while #t body)))))
      (test 7 (let ((break (lambda (x) (+ x 1))) (n 0))
                (while (< n 1)
                  (set! n (+ n 1))
                  (forever (break 7)))))))
  (let-syntax ((define-getter (lambda (form)
                                (syntax-case form ()
                                  ((_ name value)
                                   (with-syntax ((getter (datum->syntax
                                                          #'name
                                                          (string->symbol
                                                           (string-append
                                                            "get-"
                                                            (symbol->string
                                                             (syntax->datum #'name)))))))
                                     #'(define (getter) value)))))))
    (define-getter colour 'red)
    (test 'red (get-colour))))

(test-group "temporaries"
  (let-syntax ((my-letrec (lambda (form)
                            (syntax-case form ()
                              ((_ ((name value) ...) body ...)
                               (with-syntax (((temp ...) (generate-temporaries #'(name ...))))
                                 #'(let ((name #f) ...)
                                     (let ((temp value) ...)
                                       (set! name temp) ...
                                       (let () body ...)))))))))
    (test '(#t #f) (my-letrec ((ev? (lambda (n) (if (= n 0) #t (od? (- n 1)))))
                               (od? (lambda (n) (if (= n 0) #f (ev? (- n 1))))))
                     (list (ev? 10) (od? 10))))))

(test-group "quasisyntax"
  (let-syntax ((numbered (lambda (form)
                           (syntax-case form ()
                             ((_ a ...)
                              #`(list #,(length #'(a ...)) #,@(reverse #'(a ...)) 'end
                                      . #,(list #''x)))))))
    (test '(3 3 2 1 end x) (numbered 1 2 3)))
  (let-syntax ((inside (lambda (form)
                         (syntax-case form ()
                           ((_ a)
                            #`(vector #(1 #,(+ 1 (syntax->datum #'a)))
                                      (quote (a . #,(list 1 2)))))))))
    (test '#(#(1 3) (2 1 2)) (inside 2))))

(test-group "identifier macros"
  (let ((cell (list 1)))
    (define-syntax first
      (make-variable-transformer
       (lambda (form)
         (syntax-case form (set!)
           ((set! _ value) #'(set-car! cell value))
           ((_ operand ...) #'((car cell) operand ...))
           (_ #'(car cell))))))
    (test 1 first)
    (set! first 5)
    (test '(5) cell)
    (set! first list)
    (test '(1 2) (first 1 2)))
  (let-syntax ((ten (identifier-syntax 10))
               (add (identifier-syntax +)))
    (test 10 ten)
    (test 15 (add ten 5)))
  (let ((store 1))
    (define-syntax variable
      (identifier-syntax (_ (* store 2)) ((set! _ value) (set! store value))))
    (test 2 variable)
    (set! variable 21)
    (test 42 variable)))

(test-group "templates see local bindings"
  (define (f a b)
    (define-syntax add (lambda (form) (syntax-case form () ((_ x) #'(list a b x)))))
    (let ((a 100) (list vector))
      (add a)))
  (test '(1 2 100) (f 1 2)))

(test-group "explicit renaming"
  (let-syntax ((swap! (er-macro-transformer
                       (lambda (form rename compare)
                         (let ((a (cadr form)) (b (list-ref form 2)))
                           `(,(rename 'let) ((,(rename 'tmp) ,a))
                             (,(rename 'set!) ,a ,b)
                             (,(rename 'set!) ,b ,(rename 'tmp))))))))
    (test '(2 1) (let ((tmp 1) (let 2))
                   (swap! tmp let)
                   (list tmp let))))
  (let-syntax ((else? (er-macro-transformer
                       (lambda (form rename compare)
                         (compare (cadr form) (rename 'else)))))
               (same? (er-macro-transformer
                       (lambda (form rename compare)
                         (eq? (rename 'x) (rename 'x))))))
    (test #t (else? else))
    (test #f (else? other))
    (test #f (let ((else 1)) (else? else)))
    (test #t (same?))))

(test-group "implicit renaming and closures"
  (let-syntax ((swap! (ir-macro-transformer
                       (lambda (form inject compare)
                         (let ((a (cadr form)) (b (list-ref form 2)))
                           `(let ((tmp ,a)) (set! ,a ,b) (set! ,b tmp)))))))
    (test '(2 1) (let ((tmp 1) (other 2)) (swap! tmp other) (list tmp other))))
  (let-syntax ((aif (ir-macro-transformer
                     (lambda (form inject compare)
                       `(let ((,(inject 'it) ,(cadr form)))
                          (if ,(inject 'it) ,(list-ref form 2) ,(list-ref form 3)))))))
    (test 6 (aif (assv 5 '((5 . 6))) (cdr it) 0)))
  (let-syntax ((swap! (sc-macro-transformer
                       (lambda (form environment)
                         (let ((a (close-syntax (cadr form) environment))
                               (b (close-syntax (list-ref form 2) environment)))
                           `(let ((tmp ,a)) (set! ,a ,b) (set! ,b tmp)))))))
    (test '(2 1) (let ((tmp 1) (other 2)) (swap! tmp other) (list tmp other))))
  (let-syntax ((loop-until (rsc-macro-transformer
                            (lambda (form environment)
                              (let ((let* (close-syntax 'let environment))
                                    (if* (close-syntax 'if environment)))
                                `(,let* again () (,if* ,(cadr form) 'done (again))))))))
    (test 'done (let ((n 0)) (loop-until (begin (set! n (+ n 1)) (= n 3)))))))

(begin-for-syntax
  (define count 0)
  (define (next!)
    (set! count (+ count 1))
    count))

(define-for-syntax (twice x)
  (list x x))

(define-syntax serial
  (er-macro-transformer (lambda (form rename compare) (next!))))

(define-syntax double
  (lambda (form)
    (syntax-case form ()
      ((_ x) #`(list #,@(twice #'x))))))

(define-macro (unhygienic a . rest)
  `(list ,a ,@rest))

(test-group "at top level"
  (test '(1 2) (let* ((a (serial)) (b (serial))) (list a b)))
  (test '(4 4) (double 4))
  (test '(1 2 3) (unhygienic 1 2 3)))

(test-group "errors"
  (define (evaluate form)
    (eval form (environment '(scheme base) '(canny syntax-case))))
  (test-error (evaluate '(let-syntax ((m (lambda (form) (car 1)))) (m))))
  (test-error (evaluate '(let-syntax ((m (lambda (form) (list 'bare)))) (m))))
  (test-error (evaluate '(let-syntax ((m (lambda (form) car))) (m))))
  (test-error (evaluate '(let-syntax ((m 5)) (m))))
  (test-error (evaluate '(let-syntax ((m (lambda (form) (syntax-case form ())))) (m))))
  (test-error (evaluate '(let ((x 1)) (let-syntax ((m (lambda (form) x))) (m)))))
  (test-error (evaluate '(let-syntax ((m (lambda (form)
                                           (let ((p (list 1)))
                                             (set-cdr! p p)
                                             p))))
                          (m))))
  (test-error
   (evaluate '(let-syntax ((m (lambda (form) (syntax-case form () ((_ x ...) #'x))))) (m 1))))
  (test-error (syntax->datum (evaluate '(lambda (x) (syntax-case x () ((_ y) y))))))
  (test 3 (evaluate '(let-syntax ((m (lambda (form) #'3))) (m)))))

(test-finish)
