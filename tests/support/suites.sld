;;; (suites): runs a file of a suite that others wrote, form by form, and counts.
;;;
;;; (run-suite FILE IMPORT-SET ...) evaluates the forms of $SRFI_SUITES/FILE at the top level after
;;;                                   importing the sets; the suite is written to (chibi test) or to
;;;                                   something much like it
;;; (run-library-suite FILE IMPORT-SET ...)
;;;                                   likewise the bodies of the library in the file, then
;;;                                   (run-tests)
;;; (skip-forms NAME ...) forms of the file that start with one of these are left out, as
;;;                                   is what asks a module system for something
;;; (finish-suites)                   prints `P passed, F failed`
;;;
;;; A form that raises outside of a test counts as a failure, and the next one follows.

(define-library (suites)
  (export run-suite run-library-suite skip-forms finish-suites suite-path)
  (import (scheme base) (scheme eval) (scheme read) (scheme write) (scheme file) (scheme repl)
          (scheme process-context) (chibi test))
  (begin

    (define broken-forms 0)
    (define skipped '(import use require require-extension require-library declare module load
                      import-for-syntax test-exit current-test-epsilon exit))

    (define (skip-forms . names)
      (set! skipped (append names skipped)))

    (define (suite-path file)
      (string-append (or (get-environment-variable "SRFI_SUITES") ".") "/" file))

    (define (evaluate form)
      (call-with-current-continuation
       (lambda (return)
         (with-exception-handler
           (lambda (object)
             (set! broken-forms (+ broken-forms 1))
             (display "FAIL form raised: ")
             (if (error-object? object)
                 (begin
                   (display (error-object-message object))
                   (for-each (lambda (irritant) (display " ") (write irritant))
                             (error-object-irritants object)))
                 (write object))
             (newline)
             (display "  ")
             (let ((port (open-output-string)))
               (write form port)
               (let ((text (get-output-string port)))
                 (display (if (> (string-length text) 300) (substring text 0 300) text))))
             (newline)
             (return #f))
           (lambda ()
             (eval form (interaction-environment)))))))

    (define (run-suite file . import-sets)
      (evaluate (cons 'import import-sets))
      (call-with-input-file (suite-path file)
        (lambda (port)
          (let loop ()
            (let ((form (read port)))
              (if (not (eof-object? form))
                  (begin
                    (if (not (and (pair? form) (memq (car form) skipped)))
                        (evaluate form))
                    (loop))))))))

    (define (run-library-suite file . import-sets)
      (evaluate (cons 'import import-sets))
      (for-each (lambda (declaration)
                  (if (and (pair? declaration) (eq? (car declaration) 'begin))
                      (for-each evaluate (cdr declaration))))
                (cdr (call-with-input-file (suite-path file) read)))
      (evaluate '(run-tests)))

    (define (finish-suites)
      (display (test-pass-count))
      (display " passed, ")
      (display (+ (test-failure-count) broken-forms))
      (display " failed")
      (newline))))
