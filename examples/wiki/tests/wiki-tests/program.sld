;;; (wiki-tests program): the wiki as a process of its own, on a free port, over a database of its
;;; own.
;;;
;;; It is run by the command that runs the test. The environment variable `WIKI` may name a program
;;; that was made by `canny compile` and is run in place of `wiki.scm`.

(define-library (wiki-tests program)
  (export call-with-wiki start-wiki wiki-url wiki-process kill-wiki! stop-wiki!)
  (import (canny base) (canny fs) (canny process) (canny signals))
  (begin

    (define-record-type wiki
      (make-wiki process url)
      wiki?
      (process wiki-process)
      (url wiki-url))

    (define (command)
      (let ((compiled (get-environment-variable "WIKI"))
            (program (path-join (path-directory (car (command-line))) ".." "wiki.scm")))
        (if compiled
            (list compiled)
            (list (real-path "/proc/self/exe") program))))

    ;; Starts it over a file, and waits until it says where it is.
    (define (start-wiki database)
      (let* ((process (spawn-process (append (command) (list "--port" "0" "--database" database))
                                     #:input 'null))
             (line (read-line (process-output process)))
             (url (and (string? line) (string-contains line "http://"))))
        ;; Also when this program ends by an error that nobody takes.
        (on-shutdown (lambda () (process-signal process 'sigkill)))
        (if (not url) (error "the wiki did not start" line))
        (make-wiki process (substring line url (- (string-length line) 1)))))

    ;; Ends it as a loss of power would.
    (define (kill-wiki! wiki)
      (process-signal (wiki-process wiki) 'sigkill)
      (process-wait (wiki-process wiki)))

    ;; Asks it to end; its status.
    (define (stop-wiki! wiki)
      (process-signal (wiki-process wiki) 'sigterm)
      (process-wait (wiki-process wiki)))

    (define (call-with-wiki procedure)
      (call-with-temporary-directory
        (lambda (directory)
          (let ((wiki (start-wiki (path-join directory "wiki.db"))))
            (dynamic-wind
             (lambda () #f)
             (lambda () (procedure wiki))
             (lambda () (kill-wiki! wiki)))))))))
