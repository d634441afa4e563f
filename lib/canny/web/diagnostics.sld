;;; (canny web diagnostics): pages about the server itself: whether it is well, and what its tasks
;;; do.
;;;
;;;     (define-routes app
;;;       (GET "/health" (health-handler))
;;;       (GET "/ready" (readiness-handler
;;;                      #:checks `((database . ,(lambda () (query-value db "select 1"))))))
;;;       (GET "/debug/tasks" (debug-tasks-handler))
;;;       (GET "/debug/profile" (debug-profile-handler))
;;;       (GET "/debug/heap" (debug-heap-handler)))
;;;
;;; Answers say which check fails; they give the reason only if an option says so: messages of
;;; conditions may reveal too much.

(define-library (canny web diagnostics)
  (export health-handler readiness-handler debug-tasks-handler debug-profile-handler
          debug-heap-handler local-request?)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) dynamic-wind guard)
          (only (canny crypto) timing-safe=?)
          (only (canny fs) make-temporary-file)
          (only (canny heap) heap-snapshot!)
          (only (canny web uri) query->alist)
          (only (canny data lists) for-each map assoc member)
          (only (canny json) json->string)
          (canny tasks) (canny tasks monitor)
          (canny web message))
  (begin

    (define (json-response status object)
      (make-response #:status status
                     #:headers '((content-type . "application/json") (cache-control . "no-store"))
                     #:body (string-append (json->string object) "\n")))

    ;; Checks.

    (define (check-checks who checks)
      (if (not (and (list? checks)
                    (let loop ((checks checks))
                      (or (null? checks)
                          (and (pair? (car checks))
                               (symbol? (caar checks))
                               (procedure? (cdar checks))
                               (loop (cdr checks)))))))
          (raise-bad-option who "#:checks" "a list of pairs of a symbol and a procedure" checks)))

    (define (check-seconds who timeout)
      (if (not (and (real? timeout) (> timeout 0)))
          (raise-bad-option who "#:timeout" "a number of seconds" timeout)))

    (define out-of-time (list 'out-of-time))

    ;; The result of a check: its name, #f or the reason of its failure, and seconds.
    (define (run-check check timeout)
      (let* ((begun (%clock-nanoseconds clock/monotonic))
             (failure
              (guard (object ((not (cancelled-error? object))
                              (cons "error" (condition->string object))))
                (let ((result (call-with-timeout timeout (cdr check) #:default out-of-time)))
                  (cond ((eq? result out-of-time) '("timeout" . "it took too long"))
                        (result #f)
                        (else '("false" . "it gave #f")))))))
        (list (car check) failure
              (inexact (/ (- (%clock-nanoseconds clock/monotonic) begun) 1000000000)))))

    (define (check->json result details?)
      (let ((failure (cadr result)))
        (cons (car result)
              (append (list (cons 'status (if failure "failing" "ok"))
                            (cons 'seconds (caddr result)))
                      (if failure (list (cons 'reason (car failure))) '())
                      (if (and failure details?) (list (cons 'message (cdr failure))) '())))))

    ;; All checks, beside each other.
    (define (run-checks checks timeout)
      (map await
           (map (lambda (check) (start (run-check check timeout))) checks)))

    (define (any-failure? results)
      (and (pair? results)
           (or (cadr (car results))
               (any-failure? (cdr results)))))

    (define (answer checks timeout details? stopping?)
      (let* ((results (run-checks checks timeout))
             (failing? (any-failure? results)))
        (json-response
         (if (or failing? stopping?) 503 200)
         (cons (cons 'status (cond (stopping? "stopping") (failing? "failing") (else "ok")))
               (if (null? checks)
                   '()
                   (list (cons 'checks
                               (map (lambda (result) (check->json result details?))
                                    results))))))))

    ;; Whether the program is alive: 200, or 503 if a check fails.
    (define* (health-handler #:key (checks '()) (timeout 5) (details? #f))
      (check-checks 'health-handler checks)
      (check-seconds 'health-handler timeout)
      (lambda (request body) (answer checks timeout details? #f)))

    ;; The same, and 503 as soon as the server is being stopped.
    (define* (readiness-handler #:key (checks '()) (timeout 5) (details? #f))
      (check-checks 'readiness-handler checks)
      (check-seconds 'readiness-handler timeout)
      (lambda (request body) (answer checks timeout details? (stopping? request))))

    (define (stopping? request)
      (let ((machine (%request-server request)))
        (and machine (%http-stopping? machine))))

    ;; Tasks.

    ;; Whether a request comes from this machine, and was not passed on by a proxy.
    (define (local-request? request)
      (and (not (request-field request 'forwarded))
           (not (request-field request 'x-forwarded-for))
           (let ((peer (request-peer request)))
             (or (not peer)
                 (string-prefix? "127." peer)
                 (string-prefix? "[::1]:" peer)
                 (string-prefix? "[::ffff:127." peer)))))

    (define (wants-json? request)
      (or (let ((query (request-query request)))
            (and query (string=? query "format=json")))
          (let ((accept (request-field request 'accept)))
            (and (string? accept)
                 (string-search-forward "application/json" accept 0)
                 #t))))

    (define (text-of object)
      (let ((port (open-output-string)))
        (if (symbol? object)
            (write-string (symbol->string object) port)
            (write-string (%describe-wait object) port))
        (get-output-string port)))

    (define (task->json task)
      (let ((state (task-state task)))
        (list (cons 'number (task-number task))
              (cons 'name (let ((name (task-name task))) (if name (name-text name) 'null)))
              (cons 'state (symbol->string state))
              (cons 'waits_for
                    (let ((what (task-waits-for task))) (if what (text-of what) 'null)))
              (cons 'seconds (or (task-waiting-time task) 'null))
              (cons 'frames (list->vector (task-backtrace task))))))

    (define (name-text name)
      (cond ((symbol? name) (symbol->string name))
            ((string? name) name)
            (else "task")))

    ;; Answers with all tasks, what they wait for and where they stand: as text, or as JSON to
    ;; `?format=json` and to clients that accept it. `#:allow?` says which clients get an answer.
    (define* (debug-tasks-handler #:key (allow? local-request?))
      (check-procedure 'debug-tasks-handler 1 allow?)
      (lambda (request body)
        (cond ((not (allow? request))
               (make-response #:status 403 #:headers '((content-type . "text/plain"))
                              #:body "only requests from this machine are answered\n"))
              ((wants-json? request)
               (json-response 200
                              (list (cons 'tasks (list->vector (map task->json (all-tasks))))
                                    (cons 'pool (pool-statistics)))))
              (else
               (let ((port (open-output-string)))
                 (write-tasks port #:backtraces #t)
                 (make-response #:headers '((content-type . "text/plain; charset=utf-8")
                                            (cache-control . "no-store"))
                                #:body (get-output-string port)))))))

    ;; Profiles.

    (define profile-formats
      '(("profile" "application/gzip" "canny.profile.gz")
        ("pprof" "application/octet-stream" "canny.pb.gz")
        ("html" "text/html; charset=utf-8" #f)))

    (define (text-response status text . headers)
      (make-response #:status status
                     #:headers (append '((content-type . "text/plain; charset=utf-8")
                                         (cache-control . "no-store"))
                                       headers)
                     #:body (string-append text "\n")))

    ;; Whether a request has the token. The time of the answer does not say how much of it is
    ;; right.
    (define (has-token? request token)
      (let ((field (request-field request 'authorization)))
        (and (string? field)
             (timing-safe=? (string->utf8 field)
                            (string->utf8 (string-append "Bearer " token))))))

    (define (query-value query name default)
      (let ((entry (assoc name query)))
        (if entry (cdr entry) default)))

    (define (profile-bytes seconds format)
      (let ((failure (%start-profile-in-memory 1000)))
        (if failure
            failure
            (let ((result #f))
              ;; A client that goes away ends its profile.
              (dynamic-wind
               (lambda () #f)
               (lambda () (sleep seconds))
               (lambda () (set! result (%stop-profile-in-memory format))))
              result))))

    (define (profile-response query seconds-max)
      (let* ((text (query-value query "seconds" "10"))
             (seconds (string->number text))
             (format (query-value query "format" "profile"))
             (row (assoc format profile-formats)))
        (cond ((not (and (real? seconds) (< 0 seconds) (<= seconds seconds-max)))
               (text-response 400 (string-append "seconds must be a number up to "
                                                 (number->string seconds-max))))
              ((not row)
               (text-response 400 "format must be profile, pprof or html"))
              (else
               (let ((result (profile-bytes seconds format)))
                 (if (bytevector? result)
                     (make-response
                      #:headers (append
                                 (list (cons 'content-type (cadr row))
                                       '(cache-control . "no-store"))
                                 (if (caddr row)
                                     (list (cons 'content-disposition
                                                 (string-append "attachment; filename=\""
                                                                (caddr row) "\"")))
                                     '()))
                      #:body result)
                     (text-response 503 (or result "the profile was ended by others"))))))))

    ;; The answer of `make` to the query, if a request has the token, or without one if it is
    ;; allowed.
    (define (guarded-handler who allow? token make)
      (check-procedure who 1 allow?)
      (if (not (or (not token) (and (string? token) (> (string-length token) 0))))
          (raise-bad-option who "#:token" "a text that is not empty" token))
      (lambda (request body)
        (cond ((if token (has-token? request token) (allow? request))
               (let ((query (request-query request)))
                 (make (if query (query->alist query) '()))))
              (token
               (text-response 401 "a token is needed" '(www-authenticate . "Bearer")))
              (else
               (text-response 403 "only requests from this machine are answered")))))

    ;; Takes a profile for `?seconds=`, and answers with it in the `?format=` that is wanted:
    ;; `profile`, `pprof` or `html`. Requests with `#:token` as bearer are answered, and without a
    ;; token those that `#:allow?` says.
    (define* (debug-profile-handler #:key (allow? local-request?) (token #f) (seconds-max 300))
      (check-seconds 'debug-profile-handler seconds-max)
      (guarded-handler 'debug-profile-handler allow? token
                       (lambda (query) (profile-response query seconds-max))))

    ;; Heap snapshots.

    ;; A port with a snapshot, which is in no directory any more.
    (define (snapshot-port previews?)
      (let ((name (make-temporary-file #:suffix ".heap" #:keep #t)))
        (dynamic-wind
         (lambda () #f)
         (lambda ()
           (heap-snapshot! name #:previews? previews?)
           (open-binary-input-file name))
         (lambda () (delete-file name)))))

    (define (heap-response query previews?)
      (let ((strings (query-value query "strings" "yes")))
        (if (not (member strings '("yes" "no")))
            (text-response 400 "strings must be yes or no")
            (guard (object ((not (cancelled-error? object))
                            (text-response 503 (condition->string object))))
              (make-response
               #:headers '((content-type . "application/octet-stream")
                           (content-disposition . "attachment; filename=\"canny.heap\"")
                           (cache-control . "no-store"))
               #:body (snapshot-port (and previews? (string=? strings "yes"))))))))

    ;; Takes a heap snapshot, and answers with the file. `?strings=no` leaves the beginnings of
    ;; strings out of it, as `#:previews? #f` does for all requests. Requests are guarded as those
    ;; of profiles.
    (define* (debug-heap-handler #:key (allow? local-request?) (token #f) (previews? #t))
      (guarded-handler 'debug-heap-handler allow? token
                       (lambda (query) (heap-response query previews?))))))
