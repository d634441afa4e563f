;;; Commonplace, a small wiki for a household or a team. README.md tells what it does.
;;;
;;;     canny examples/wiki/wiki.scm --database notes.db --port 8080

(import (canny base) (srfi 37) (canny signals) (canny systemd) (canny web server)
        (canny web middleware) (wiki store) (wiki application))

(define usage
  "usage: wiki [OPTION...]

A wiki in one file. The first one who opens it makes the account that administers it.

  --database FILE   where everything is kept, commonplace.db unless given
  --host HOST       where to listen, 127.0.0.1 unless given: this machine only
  --port PORT       8080 unless given; 0 takes any that is free
  --behind-proxy    a proxy in front speaks TLS: cookies are for TLS only, and
                    X-Forwarded-For says where requests come from
  --log             write a line for each request on standard error
  --help            show this
")

(define (fail message)
  (write-string (string-append "wiki: " message "\n" "Try --help.\n") (current-error-port))
  (exit 64))

(define (switch name)
  (option (list name) #f #f
          (lambda (option name argument values)
            (cons (cons (string->symbol name) #t) values))))

(define (setting name)
  (option (list name) #t #f
          (lambda (option name argument values)
            (if (not argument) (fail (string-append "--" name " needs an argument")))
            (cons (cons (string->symbol name) argument) values))))

(define options
  (args-fold (cdr (command-line))
             (list (switch "help") (switch "behind-proxy") (switch "log")
                   (setting "database") (setting "host") (setting "port"))
             (lambda (option name argument values)
               (fail (string-append "there is no option "
                                    (if (char? name)
                                        (string #\- name)
                                        (string-append "--" name)))))
             (lambda (operand values)
               (fail (string-append "what is " operand "?")))
             '()))

(define (value name default)
  (let ((entry (assq name options)))
    (if entry (cdr entry) default)))

(define (port-number text)
  (let ((number (and (string-every char-numeric? text) (string->number text))))
    (if (and number (<= number 65535)) number (fail (string-append "no port: " text)))))

(define (problem-text condition)
  (if (error-object? condition) (condition->string condition) "something went wrong"))

(define (main)
  (let* ((port (port-number (value 'port "8080")))
         (store (open-store (value 'database "commonplace.db")))
         (application (make-application store #:behind-proxy? (value 'behind-proxy #f)))
         (passed (systemd-listeners))
         (server (start-server (if (value 'log #f)
                                   (with-middleware application (access-log))
                                   application)
                               #:host (value 'host "127.0.0.1")
                               #:port port
                               #:listen (if (pair? passed) passed #f)
                               #:max-body-bytes 6000000)))
    ;; The handler that was registered last runs first: requests that were begun are answered, then
    ;; the database is closed.
    (on-shutdown (lambda () (close-store! store)))
    (on-shutdown (lambda ()
                   (systemd-notify 'stopping)
                   (stop-server! server))
                 #:deadline 30)
    (write-string (string-append "Commonplace is at http://" (car (server-addresses server)) "/\n"))
    (flush-output-port)
    (start-watchdog!)
    (systemd-notify 'ready)
    (server-wait server)))

(if (value 'help #f)
    (write-string usage)
    (guard (e ((error-object? e)
               (write-string (string-append "wiki: " (problem-text e) "\n") (current-error-port))
               (exit 71)))
      (main)))
