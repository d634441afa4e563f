;;; (srfi 197): pipelines.
;;;
;;; The placeholder and the ellipsis are operands of the macros.  Each form defines local macros for
;;; which they are literals.  Those use ::: as their own ellipsis, and no underscore.

(define-library (srfi 197)
  (export chain chain-and chain-when chain-lambda nest nest-reverse)
  (import (canny syntax) (only (canny primitives) apply))
  (begin

    (define-syntax chain
      (syntax-rules ()
        ((_ initial (datum ...) ...)
         (chain-steps _ (... ...) initial (datum ...) ...))
        ((_ initial placeholder (datum ...) ...)
         (chain-steps placeholder (... ...) initial (datum ...) ...))
        ((_ initial placeholder ellipsis (datum ...) ...)
         (chain-steps placeholder ellipsis initial (datum ...) ...))))

    ;; `scan` collects the operands of the application and the variables of its placeholders.
    (define-syntax chain-steps
      (syntax-rules ()
        ((_ placeholder ellipsis initial step ...)
         (letrec-syntax
             ((steps
               (syntax-rules :::
                 ()
                 ((steps value) value)
                 ((steps value (datum :::) more :::)
                  (scan value (datum :::) () () (more :::)))))
              (scan
               (syntax-rules ::: (placeholder ellipsis)
                 ((scan value () operands () (more :::))
                  (steps (begin value operands) more :::))
                 ((scan value () operands (variable) (more :::))
                  (steps (let ((variable value)) operands) more :::))
                 ((scan value () operands variables (more :::))
                  (steps (receive variables value operands) more :::))
                 ((scan value (placeholder ellipsis) () () (more :::))
                  (steps (receive (variable . rest) value (apply variable rest)) more :::))
                 ((scan value (placeholder ellipsis) (operand :::) (variable :::) (more :::))
                  (steps (receive (variable ::: . rest) value (apply operand ::: rest))
                         more :::))
                 ((scan value (placeholder datum :::) (operand :::) (variable :::) more)
                  (scan value (datum :::) (operand ::: new) (variable ::: new) more))
                 ((scan value (expression datum :::) (operand :::) variables more)
                  (scan value (datum :::) (operand ::: expression) variables more)))))
           (steps initial step ...)))))

    (define-syntax chain-lambda
      (syntax-rules ()
        ((_ (datum ...) ...)
         (chain-procedure _ (... ...) (datum ...) ...))
        ((_ placeholder (datum ...) ...)
         (chain-procedure placeholder (... ...) (datum ...) ...))
        ((_ placeholder ellipsis (datum ...) ...)
         (chain-procedure placeholder ellipsis (datum ...) ...))))

    (define-syntax chain-procedure
      (syntax-rules ()
        ((_ placeholder ellipsis (first ...) step ...)
         (letrec-syntax
             ((scan
               (syntax-rules ::: (placeholder ellipsis)
                 ((scan () operands variables)
                  (lambda variables (chain-steps placeholder ellipsis operands step ...)))
                 ((scan (placeholder ellipsis) () ())
                  (lambda (variable . rest)
                    (chain-steps placeholder ellipsis (apply variable rest) step ...)))
                 ((scan (placeholder ellipsis) (operand :::) (variable :::))
                  (lambda (variable ::: . rest)
                    (chain-steps placeholder ellipsis (apply operand ::: rest) step ...)))
                 ((scan (placeholder datum :::) (operand :::) (variable :::))
                  (scan (datum :::) (operand ::: new) (variable ::: new)))
                 ((scan (expression datum :::) (operand :::) variables)
                  (scan (datum :::) (operand ::: expression) variables)))))
           (scan (first ...) () ())))))

    (define-syntax chain-and
      (syntax-rules ()
        ((_ initial (datum ...) ...)
         (chain-and-steps _ initial (datum ...) ...))
        ((_ initial placeholder (datum ...) ...)
         (chain-and-steps placeholder initial (datum ...) ...))))

    (define-syntax chain-and-steps
      (syntax-rules ()
        ((_ placeholder initial step ...)
         (letrec-syntax
             ((steps
               (syntax-rules ::: ()
                 ((steps value) value)
                 ((steps value (datum :::) more :::)
                  (let ((variable value))
                    (and variable
                         (scan variable (datum :::) () (more :::)))))))
              (scan
               (syntax-rules ::: (placeholder)
                 ((scan variable () operands (more :::))
                  (steps operands more :::))
                 ((scan variable (placeholder datum :::) (operand :::) more)
                  (scan variable (datum :::) (operand ::: variable) more))
                 ((scan variable (expression datum :::) (operand :::) more)
                  (scan variable (datum :::) (operand ::: expression) more)))))
           (steps initial step ...)))))

    (define-syntax chain-when
      (syntax-rules ()
        ((_ initial (part ...) ...)
         (chain-when-steps _ initial (part ...) ...))
        ((_ initial placeholder (part ...) ...)
         (chain-when-steps placeholder initial (part ...) ...))))

    (define-syntax chain-when-steps
      (syntax-rules ()
        ((_ placeholder initial step ...)
         (letrec-syntax
             ((steps
               (syntax-rules ::: ()
                 ((steps value) value)
                 ((steps value ((datum :::)) more :::)
                  (let ((variable value))
                    (scan #t variable (datum :::) () (more :::))))
                 ((steps value (guard (datum :::)) more :::)
                  (let ((variable value))
                    (scan guard variable (datum :::) () (more :::))))))
              (scan
               (syntax-rules ::: (placeholder)
                 ((scan guard variable () operands (more :::))
                  (steps (if guard operands variable) more :::))
                 ((scan guard variable (placeholder datum :::) (operand :::) more)
                  (scan guard variable (datum :::) (operand ::: variable) more))
                 ((scan guard variable (expression datum :::) (operand :::) more)
                  (scan guard variable (datum :::) (operand ::: expression) more)))))
           (steps initial step ...)))))

    (define-syntax nest
      (syntax-rules ()
        ((_ initial) initial)
        ((_ (datum ...) form ... initial)
         (reverse-steps _ ((datum ...) form ...) initial))
        ((_ placeholder form ... initial)
         (reverse-steps placeholder (form ...) initial))))

    (define-syntax reverse-steps
      (syntax-rules ()
        ((_ placeholder () initial step ...)
         (nest-steps placeholder initial step ...))
        ((_ placeholder (first more ...) initial step ...)
         (reverse-steps placeholder (more ...) initial first step ...))))

    (define-syntax nest-reverse
      (syntax-rules ()
        ((_ initial (datum ...) ...)
         (nest-steps _ initial (datum ...) ...))
        ((_ initial placeholder (datum ...) ...)
         (nest-steps placeholder initial (datum ...) ...))))

    (define-syntax nest-steps
      (syntax-rules ()
        ((_ placeholder initial step ...)
         (letrec-syntax
             ((steps
               (syntax-rules ::: ()
                 ((steps value) value)
                 ((steps value (datum :::) more :::)
                  (scan value (datum :::) () (more :::)))))
              (scan
               (syntax-rules ::: (placeholder)
                 ((scan value () form (more :::))
                  (steps form more :::))
                 ((scan value (placeholder datum :::) (done :::) more)
                  (scan value (datum :::) (done ::: value) more))
                 ((scan value (expression datum :::) (done :::) more)
                  (scan value (datum :::) (done ::: expression) more)))))
           (steps initial step ...)))))))
