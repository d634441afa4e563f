;;; (srfi 232): flexible curried procedures.
;;;
;;; A curried procedure is one that takes its full number of arguments at once, with a second clause
;;; for other numbers.

(define-library (srfi 232)
  (export curried define-curried %curry)
  (import (canny syntax) (canny primitives))
  (begin

    (define-syntax curried
      (syntax-rules ()
        ((_ () body0 body ...)
         (let () body0 body ...))
        ((_ formals body0 body ...)
         (count formals () formals (body0 body ...)))))

    ;; A parameter list without parameters before the rest is that of a `lambda`.
    (define-syntax count
      (syntax-rules ()
        ((_ () parameters formals body)
         (letrec ((self (case-lambda
                          (formals . body)
                          (arguments (%curry self (length 'parameters) arguments)))))
           self))
        ((_ (parameter . more) (seen ...) formals body)
         (count more (seen ... parameter) formals body))
        ((_ rest () formals body)
         (lambda formals . body))
        ((_ rest parameters formals body)
         (letrec ((self (case-lambda
                          (formals . body)
                          (arguments (%curry self (length 'parameters) arguments)))))
           self))))

    (define-syntax define-curried
      (syntax-rules ()
        ((_ (name . formals) body0 body ...)
         (define name (curried formals body0 body ...)))))

    ;; The result for arguments whose number is not that of the parameters.
    (define (%curry procedure parameter-count arguments)
      (let ((given (length arguments)))
        (cond ((= given 0) procedure)
              ((< given parameter-count)
               (lambda more (%apply procedure (append arguments more))))
              (else
               (let split ((count parameter-count) (taken '()) (rest arguments))
                 (if (= count 0)
                     (%apply (%apply procedure (reverse taken)) rest)
                     (split (- count 1) (cons (car rest) taken) (cdr rest))))))))))
