;;; Runs the files of JSONTestSuite: `canny tests/support/json-test-suite.scm DIRECTORY`, where DIRECTORY has files
;;; called y_*.json (to be accepted), n_*.json (to be refused) and i_*.json (either).

(import (scheme base) (scheme file) (scheme write) (scheme process-context) (canny json)
        (prefix (only (srfi 180) json-read) srfi:) (only (srfi 170) directory-files))

(define (accepts? read name)
  (guard (e ((error-object? e) #f))
    (call-with-input-file name
      (lambda (port)
        (and (not (eof-object? (read port)))
             (eof-object? (read port)))))))

(define (check directory reader-name read)
  (let loop ((names (directory-files directory)) (counts (list 0 0 0)) (wrong 0))
    (if (null? names)
        (begin
          (for-each display
                    (list reader-name ": " (car counts) " accepted, " (cadr counts) " refused, "
                          (list-ref counts 2) " free, " wrong " wrong\n"))
          wrong)
        (let* ((name (car names)) (accepted? (accepts? read (string-append directory "/" name))))
          (define (next index right?)
            (if (not right?)
                (for-each display (list "wrong: " name "\n")))
            (let ((counts (list-copy counts)))
              (list-set! counts index (+ 1 (list-ref counts index)))
              (loop (cdr names) counts (if right? wrong (+ wrong 1)))))
          (case (string-ref name 0)
            ((#\y) (next 0 accepted?))
            ((#\n) (next 1 (not accepted?)))
            ((#\i) (next 2 #t))
            (else (loop (cdr names) counts wrong)))))))

(let* ((directory (cadr (command-line)))
       (wrong (+ (check directory "(canny json)" (lambda (port) (json-read port)))
                 (check directory "(srfi 180)" srfi:json-read))))
  (exit (if (= wrong 0) 0 1)))
