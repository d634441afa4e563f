;;; (canny machine evaluation): eval and load.
;;;
;;; The primitives compile. The thunks that they return are run here, so that no Rust frame stands
;;; between the caller of eval and the evaluated program.

(define-library (canny machine evaluation)
  (export eval load environment scheme-report-environment null-environment)
  (import (canny primitives) (canny syntax))
  (begin

    ;; Runs thunks in order, the last in tail position.
    (define (run thunks)
      (if (null? (cdr thunks))
          ((car thunks))
          (begin
            ((car thunks))
            (run (cdr thunks)))))

    (define (check-environment who object)
      (if (not (environment? object))
          (%type-error who 2 "environment" object)))

    (define eval
      (case-lambda
        ((datum) (run (%compile datum (interaction-environment))))
        ((datum environment)
         (check-environment 'eval environment)
         (run (%compile datum environment)))))

    (define load
      (case-lambda
        ((name) (load name (interaction-environment)))
        ((name environment)
         (if (not (string? name))
             (%type-error 'load 1 "string" name))
         (check-environment 'load environment)
         (let ((source (%open-source name environment)))
           (let loop ()
             (let ((thunks (%compile-next source)))
               (if (not (eof-object? thunks))
                   (begin
                     (run thunks)
                     (loop)))))))))

    (define (make-environment import-sets)
      (let ((made (%environment import-sets)))
        (if (pair? (cdr made))
            (run (cdr made)))
        (car made)))

    (define (environment . import-sets)
      (make-environment import-sets))

    (define (check-version who version)
      (if (not (memv version '(5 7)))
          (%range-error who 1 "version of the report, 5 or 7" version)))

    (define (scheme-report-environment version)
      (check-version 'scheme-report-environment version)
      (make-environment '((scheme r5rs))))

    (define (null-environment version)
      (check-version 'null-environment version)
      (make-environment
       '((only (scheme r5rs)
               and begin case cond define define-syntax delay do if lambda let let* let-syntax
               letrec letrec-syntax or quasiquote quote set! syntax-rules
               else => _ ... unquote unquote-splicing))))))
