;;; (srfi 156): infix predicates.

(define-library (srfi 156)
  (export is isnt _)
  (import (canny syntax) (only (canny primitives) not))
  (begin

    (define-syntax is
      (syntax-rules ()
        ((is a b . more) (placeholders same (a b . more) () ()))))

    (define-syntax isnt
      (syntax-rules ()
        ((isnt a b . more) (placeholders not (a b . more) () ()))))

    (define-syntax same
      (syntax-rules ()
        ((same expression) expression)))

    ;; Replaces each operand that is the underscore by a parameter of its own.
    (define-syntax placeholders
      (syntax-rules (_)
        ((placeholders wrap () () body)
         (wrap (conjunction . body)))
        ((placeholders wrap () parameters body)
         (lambda parameters (wrap (conjunction . body))))
        ((placeholders wrap (_) (parameter ...) (done ...))
         (placeholders wrap () (parameter ... new) (done ... new)))
        ((placeholders wrap (_ predicate . more) (parameter ...) (done ...))
         (placeholders wrap more (parameter ... new) (done ... new predicate)))
        ((placeholders wrap (operand) parameters (done ...))
         (placeholders wrap () parameters (done ... operand)))
        ((placeholders wrap (operand predicate . more) parameters (done ...))
         (placeholders wrap more parameters (done ... operand predicate)))))

    (define-syntax conjunction
      (syntax-rules ()
        ((conjunction operand predicate)
         (predicate operand))
        ((conjunction left predicate right)
         (predicate left right))
        ((conjunction left predicate right . more)
         (let ((middle right))
           (and (predicate left middle)
                (conjunction middle . more))))))))
