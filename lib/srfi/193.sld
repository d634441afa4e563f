;;; (srfi 193): the command line and the script.
;;;
;;; The command line is a parameter.  At a prompt and with -e there is no command: its list is ("").

(define-library (srfi 193)
  (export command-line command-name command-args script-file script-directory)
  (import (canny syntax) (rename (canny primitives) (command-line process-command-line))
          (only (canny machine control) make-parameter))
  (begin

    (define command-line
      (make-parameter
       (if (%script-file)
           (process-command-line)
           '(""))
       (lambda (words)
         (if (not (and (pair? words) (list? words)))
             (%type-error 'command-line 1 "list of strings, not empty" words))
         words)))

    (define (command-name)
      (let ((word (car (command-line))))
        (if (string-null? word)
            #f
            (let* ((slash (%string-rindex word #\/))
                   (name (if slash (substring word (+ slash 1)) word)))
              (let loop ((extensions '(".scm" ".sps" ".ss" ".sch")))
                (cond ((null? extensions) name)
                      ((and (string-suffix? (car extensions) name)
                            (> (string-length name) (string-length (car extensions))))
                       (substring name 0 (- (string-length name)
                                            (string-length (car extensions)))))
                      (else (loop (cdr extensions)))))))))

    (define (command-args)
      (cdr (command-line)))

    (define (script-file)
      (%script-file))

    ;; With a slash at its end.
    (define (script-directory)
      (let ((file (%script-file)))
        (and file
             (substring file 0 (+ 1 (%string-rindex file #\/))))))))
