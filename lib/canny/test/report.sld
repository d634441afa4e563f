;;; (canny test report): what a suite reports to `canny test`.
;;;
;;; When the variable CANNY_TEST_REPORT names a file, each result becomes a line of it, a datum.
;;; It is written out at once: reports of a suite that crashes are not lost. The lines:
;;;
;;;   (pass PATH MICROSECONDS)       PATH is a list of strings: the groups, then the test's name
;;;   (xfail PATH MICROSECONDS)      it failed, as it was expected to
;;;   (skip PATH)
;;;   (fail PATH MICROSECONDS PLACE FORM EXPECTED ACTUAL (LINE ...))
;;;                                  PLACE is #f or (FILE LINE); the others are strings, or #f
;;;   (list PATH)                    instead of running it
;;;   (open NAME) (close)            a group
;;;   (problem TEXT)                 something is wrong with the suite
;;;   (suite)                        a test library was loaded
;;;
;;; CANNY_TEST_FILTER holds texts, one on each line: tests whose name has none of them are not run.
;;; The name is that of the file in CANNY_TEST_FILE, the groups and the test's own, with ": "
;;; between them. With CANNY_TEST_MODE=list, tests are listed and not run.

(define-library (canny test report)
  (export reporting? wanted? report-pass! report-expected-failure! report-skip! report-failure!
          report-group-begin! report-group-end! report-problem!
          test-owner set-test-owner!
          caller-place form-name show-raised)
  (import (canny machine protocols) (scheme base) (scheme write) (scheme process-context)
          (only (scheme time) jiffies-per-second)
          (only (canny primitives)
                %open-file string-contains %make-condition condition-position condition->string
                error-object?)
          (canny test differences))
  (begin

    ;; The port, or #f.
    (define port
      (let ((name (get-environment-variable "CANNY_TEST_REPORT")))
        (and name
             (not (string=? name ""))
             ;; A textual port that creates the file and appends to it.
             (guard (object (#t #f))
               (%open-file name port-kind/textual-output
                           (+ open-flag/append open-flag/create)
                           #o600)))))

    (define (reporting?)
      (and port #t))

    (define (tell! line)
      (if port
          (begin
            (write line port)
            (newline port)
            (flush-output-port port))))

    (tell! '(suite))

    (define listing?
      (equal? (get-environment-variable "CANNY_TEST_MODE") "list"))

    (define (lines text)
      (let loop ((rest (string->list text)) (line '()) (lines '()))
        (define (with-line)
          (if (null? line)
              lines
              (cons (list->string (reverse line)) lines)))
        (cond ((null? rest) (with-line))
              ((char=? (car rest) #\newline) (loop (cdr rest) '() (with-line)))
              (else (loop (cdr rest) (cons (car rest) line) lines)))))

    (define filters
      (let ((text (get-environment-variable "CANNY_TEST_FILTER")))
        (if (and port text) (lines text) '())))

    (define file-name
      (or (get-environment-variable "CANNY_TEST_FILE") ""))

    (define (full-name groups name)
      (let loop ((groups groups) (text name))
        (if (null? groups)
            (string-append file-name ": " text)
            (loop (cdr groups) (string-append (text-of (car groups)) ": " text)))))

    ;; Whether a test is to be run.  `groups` has the innermost first.
    (define (wanted? groups name)
      (cond ((not port) #t)
            ((and (pair? filters)
                  (let ((text (full-name groups (text-of name))))
                    (not (any-contained? filters text))))
             #f)
            (listing?
             (tell! (list 'list (path groups name)))
             #f)
            (else #t)))

    (define (any-contained? filters text)
      (and (pair? filters)
           (or (string-contains text (car filters))
               (any-contained? (cdr filters) text))))

    ;; A name may be any object.
    (define (text-of name)
      (if (string? name)
          name
          (let ((port (open-output-string)))
            (write name port)
            (get-output-string port))))

    (define (path groups name)
      (let loop ((groups groups) (path (list (text-of name))))
        (if (null? groups)
            path
            (loop (cdr groups) (cons (text-of (car groups)) path)))))

    (define (microseconds jiffies)
      (if (< jiffies 0)
          0
          (quotient (* jiffies 1000000) (jiffies-per-second))))

    (define (report-pass! groups name jiffies)
      (if port
          (tell! (list 'pass (path groups name) (microseconds jiffies)))))

    (define (report-expected-failure! groups name jiffies)
      (if port
          (tell! (list 'xfail (path groups name) (microseconds jiffies)))))

    (define (report-skip! groups name)
      (if port
          (tell! (list 'skip (path groups name)))))

    (define (report-failure! groups name jiffies place form expected actual differences)
      (if port
          (tell! (list 'fail (path groups name) (microseconds jiffies) place form expected actual
                       differences))))

    (define (report-group-begin! name)
      (if port
          (tell! (list 'open (text-of name)))))

    (define (report-group-end!)
      (if port
          (tell! '(close))))

    (define (report-problem! text)
      (if port
          (tell! (list 'problem text))))

    ;; The runner of the current test: a runner or a library, or #f. The results of other runners
    ;; meanwhile are not reported: they are what the test is about.
    (define owner #f)

    (define (test-owner)
      owner)

    (define (set-test-owner! new-owner)
      (set! owner new-owner))

    ;; For test libraries.

    ;; The position of the innermost procedure of the program: (file line), or #f.
    (define (caller-place)
      (let ((position (condition-position (%make-condition 'test "" '() #f))))
        (and position (list (car position) (cadr position)))))

    ;; The name of a test that has none: its expression, cut if it is long.
    (define (form-name form)
      (let ((text (text-of form)))
        (if (> (string-length text) 80)
            (string-append (substring text 0 77) "...")
            text)))

    ;; An object that was raised, as a text with the place where it was.
    (define (show-raised object)
      (let ((position (condition-position* object)))
        (string-append "raised "
                       (if (error-object? object)
                           (condition->string object)
                           (show-value object))
                       (if position
                           (string-append " ("
                                          (car position)
                                          ":"
                                          (number->string (cadr position))
                                          ")")
                           ""))))

    (define (condition-position* object)
      (guard (other (#t #f))
        (condition-position object)))))
