;;; (srfi 173): hooks.
;;;
;;; The procedures run in the order in which they were added.

(define-library (srfi 173)
  (export make-hook hook? list->hook list->hook! hook-add! hook-delete! hook-reset! hook->list
          hook-run)
  (import (canny syntax) (canny primitives) (only (canny data lists) for-each)
          (only (srfi 1) delete))
  (begin

    (define-record-type hook
      (new-hook arity procedures)
      hook?
      (arity hook-arity)
      (procedures hook-procedures set-hook-procedures!))

    (define (make-hook arity)
      (if (not (exact-nonnegative-integer? arity))
          (%type-error 'make-hook 1 "number of arguments" arity))
      (new-hook arity '()))

    ;; Whether the procedure takes as many arguments as the hook gives.
    (define (check-procedure who arity procedure)
      (if (not (procedure? procedure))
          (%type-error who 2 "procedure" procedure))
      (let ((bounds (procedure-arity procedure)))
        (if (not (and (<= (car bounds) arity)
                      (or (not (cdr bounds)) (<= arity (cdr bounds)))))
            (%type-error who 2 "procedure of the arity of the hook" procedure))))

    (define (check-procedures who arity procedures)
      (if (not (list? procedures))
          (%type-error who 2 "list" procedures))
      (for-each (lambda (procedure) (check-procedure who arity procedure)) procedures))

    (define (list->hook arity procedures)
      (let ((hook (make-hook arity)))
        (check-procedures 'list->hook arity procedures)
        (set-hook-procedures! hook (list-copy procedures))
        hook))

    (define (list->hook! hook procedures)
      (check-procedures 'list->hook! (hook-arity hook) procedures)
      (set-hook-procedures! hook (list-copy procedures)))

    (define (hook-add! hook procedure)
      (check-procedure 'hook-add! (hook-arity hook) procedure)
      (set-hook-procedures! hook (append (hook-procedures hook) (list procedure))))

    (define (hook-delete! hook procedure)
      (set-hook-procedures! hook (delete procedure (hook-procedures hook))))

    (define (hook-reset! hook)
      (set-hook-procedures! hook '()))

    (define (hook->list hook)
      (list-copy (hook-procedures hook)))

    (define (hook-run hook . arguments)
      (if (not (= (length arguments) (hook-arity hook)))
          (%range-error 'hook-run 2 "as many arguments as the arity of the hook" arguments))
      (for-each (lambda (procedure) (%apply procedure arguments)) (hook-procedures hook)))))
