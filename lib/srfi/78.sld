;;; (srfi 78): lightweight testing.

(define-library (srfi 78)
  (export check check-ec check-report check-set-mode! check-reset! check-passed?
          %check %check-ec %check-wanted?)
  (import (canny syntax) (canny primitives) (srfi 42) (canny test report)
          (only (canny test differences) differences show-value))
  (begin

    ;; The number of checks that passed, and the failures, newest first.  A failure is a list:
    ;; expression, value, expected value.
    (define passed 0)
    (define failures '())

    (define mode 'report)

    (define (check-set-mode! new-mode)
      (if (not (memq new-mode '(off summary report-failed report)))
          (%type-error 'check-set-mode! 1 "one of off, summary, report-failed and report" new-mode))
      (set! mode new-mode))

    (define (check-reset!)
      (set! passed 0)
      (set! failures '()))

    (define (check-passed? expected-total-count)
      (and (null? failures) (= passed expected-total-count)))

    (define (report-check expression value cases)
      (newline)
      (write expression)
      (display " => ")
      (write value)
      (cases))

    (define (write-cases cases)
      (display (if (= cases 1) " ; 1 case" " ; "))
      (if (not (= cases 1))
          (begin
            (display cases)
            (display " cases")))
      (display " checked"))

    (define (write-wrong expected)
      (display " ; *** wrong ***")
      (newline)
      (display "  expected: ")
      (write expected)
      (newline))

    ;; `cases` is #f for a check that is no comprehension.
    (define (check-correct! expression value cases)
      (set! passed (+ passed 1))
      (report-pass! '() (form-name expression) 0)
      (if (and (eq? mode 'report) (not (reporting?)))
          (report-check expression value
                        (lambda ()
                          (if cases
                              (write-cases cases)
                              (display " ; correct"))
                          (newline)))))

    (define (check-wrong! expression value expected)
      (set! failures (cons (list expression value expected) failures))
      (if (reporting?)
          (report-failure! '() (form-name expression) 0 (caller-place) (show-value expression)
                           (show-value expected) (show-value value) (differences expected value)))
      (if (and (memq mode '(report report-failed)) (not (reporting?)))
          (report-check expression value (lambda () (write-wrong expected)))))

    (define (%check expression same? expected thunk)
      (if (wanted? '() (form-name expression))
          (let ((value (thunk)))
            (if (same? value expected)
                (check-correct! expression value #f)
                (check-wrong! expression value expected)))))

    (define (enabled?)
      (not (eq? mode 'off)))

    (define-syntax check
      (syntax-rules (=>)
        ((_ expression => expected)
         (check expression (=> equal?) expected))
        ((_ expression (=> same?) expected)
         (if (enabled?)
             (%check 'expression same? expected (lambda () expression))))))

    ;; The arguments are paired with their values in the report of a failure.
    (define-syntax check-ec
      (syntax-rules (=>)
        ((_ qualifier ... expression => expected (argument ...))
         (checked-ec (qualifier ...) expression equal? expected (argument ...)))
        ((_ qualifier ... expression => expected)
         (checked-ec (qualifier ...) expression equal? expected ()))
        ((_ qualifier ... expression (=> same?) expected (argument ...))
         (checked-ec (qualifier ...) expression same? expected (argument ...)))
        ((_ qualifier ... expression (=> same?) expected)
         (checked-ec (qualifier ...) expression same? expected ()))))

    (define-syntax checked-ec
      (syntax-rules ()
        ((_ (qualifier ...) expression same? expected (argument ...))
         (if (and (enabled?) (%check-wanted? 'expression))
             (let* ((cases 0)
                    (last #f)
                    (failure
                     (first-ec #f
                               qualifier ...
                               (:let wanted expected)
                               (:let value expression)
                               (begin
                                 (set! cases (+ cases 1))
                                 (set! last value))
                               (not (same? value wanted))
                               (list (list 'let (list (list 'argument argument) ...) 'expression)
                                     value
                                     wanted))))
               (%check-ec failure 'expression last cases))))))

    (define (%check-wanted? expression)
      (wanted? '() (form-name expression)))

    (define (%check-ec failure expression value cases)
      (if failure
          (%apply check-wrong! failure)
          (check-correct! expression value cases)))

    (define (check-report)
      (if (and (enabled?) (not (reporting?)))
          (let ((failed (length failures)))
            (newline)
            (display "; *** checks *** : ")
            (display passed)
            (display " correct, ")
            (display failed)
            (display " failed.")
            (if (> failed 0)
                (let ((first (list-ref failures (- failed 1))))
                  (display " First failed example:")
                  (newline)
                  (report-check (car first) (cadr first)
                                (lambda () (write-wrong (caddr first)))))
                (newline)))))))
