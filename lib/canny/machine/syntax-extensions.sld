;;; (canny machine syntax-extensions): macros of SRFIs 2 and 26 and others that people expect at a
;;; prompt.

(define-library (canny machine syntax-extensions)
  (export and-let* cut cute assert while until dotimes fluid-let)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define-syntax and-let*
      (syntax-rules ()
        ((_ ()) #t)
        ((_ () body0 body ...) (let () body0 body ...))
        ((_ ((variable expression))) expression)
        ((_ ((expression))) expression)
        ((_ ((variable expression) clause ...) body ...)
         (let ((variable expression))
           (if variable (and-let* (clause ...) body ...) #f)))
        ((_ ((expression) clause ...) body ...)
         (if expression (and-let* (clause ...) body ...) #f))
        ((_ (variable)) variable)
        ((_ (variable clause ...) body ...)
         (if variable (and-let* (clause ...) body ...) #f))))

    ;; The helper collects parameters and operands from left to right; `cute` also collects the
    ;; bindings of operands that are evaluated once.

    (define-syntax cut
      (syntax-rules ()
        ((_ slot-or-expression ...)
         (cut-clauses () () slot-or-expression ...))))

    (define-syntax cut-clauses
      (syntax-rules (<> <...>)
        ((_ (parameter ...) (operator operand ...))
         (lambda (parameter ...) ((begin operator) operand ...)))
        ((_ (parameter ...) (operator operand ...) <...>)
         (lambda (parameter ... . rest) (apply operator operand ... rest)))
        ((_ (parameter ...) (operand ...) <> more ...)
         (cut-clauses (parameter ... slot) (operand ... slot) more ...))
        ((_ (parameter ...) (operand ...) expression more ...)
         (cut-clauses (parameter ...) (operand ... expression) more ...))))

    (define-syntax cute
      (syntax-rules ()
        ((_ slot-or-expression ...)
         (cute-clauses () () () slot-or-expression ...))))

    (define-syntax cute-clauses
      (syntax-rules (<> <...>)
        ((_ (binding ...) (parameter ...) (operator operand ...))
         (let (binding ...)
           (lambda (parameter ...) (operator operand ...))))
        ((_ (binding ...) (parameter ...) (operator operand ...) <...>)
         (let (binding ...)
           (lambda (parameter ... . rest) (apply operator operand ... rest))))
        ((_ (binding ...) (parameter ...) (operand ...) <> more ...)
         (cute-clauses (binding ...) (parameter ... slot) (operand ... slot) more ...))
        ((_ (binding ...) (parameter ...) (operand ...) expression more ...)
         (cute-clauses (binding ... (value expression)) (parameter ...) (operand ... value)
                       more ...))))

    (define-syntax while
      (syntax-rules ()
        ((_ condition body ...)
         (let loop () (if condition (begin body ... (loop)))))))

    (define-syntax until
      (syntax-rules ()
        ((_ condition body ...)
         (let loop () (if (not condition) (begin body ... (loop)))))))

    (define-syntax dotimes
      (syntax-rules ()
        ((_ (variable count) body ...)
         (let ((limit count))
           (do ((variable 0 (+ variable 1)))
               ((>= variable limit))
             body ...)))))

    ;; Other values for variables while the body runs. The values are exchanged on each way in and
    ;; out, so that a continuation of the body finds its own.
    (define-syntax fluid-let
      (syntax-rules ()
        ((_ ((variable value) ...) body0 body ...)
         (fluid-let-exchange () ((variable value) ...) body0 body ...))))

    (define-syntax fluid-let-exchange
      (syntax-rules ()
        ((_ ((variable other value) ...) () body ...)
         (let ((other value) ...)
           (let ((exchange!
                  (lambda ()
                    (let ((kept variable))
                      (set! variable other)
                      (set! other kept))
                    ...
                    #f)))
             (dynamic-wind exchange! (lambda () body ...) exchange!))))
        ((_ (exchanged ...) ((variable value) more ...) body ...)
         (fluid-let-exchange (exchanged ... (variable other value)) (more ...) body ...))))))
