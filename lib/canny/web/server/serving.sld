;;; (canny web server serving): what `canny serve` does.
;;;
;;; Without `--watch` one process serves. With it there are two: this one, the *keeper*, has the
;;; socket and watches the sources. A *worker*, whose standard input is the socket, serves one
;;; version of the program. When a source has changed the keeper starts another worker. When that is
;;; ready, the one before gets a signal to end: it answers its requests, while the new one takes new
;;; connections. No client is refused, since the socket listens all the time.
;;;
;;; A version that cannot be loaded is shown. Its worker's messages come up in the terminal and, by
;;; a server of the keeper, in the browser, until the next change. The version before is ended,
;;; since a page that has silently stayed the old one is what one looks for longest.
;;;
;;; The keeper is one task that takes events from a channel; tasks that watch and wait put them in.

(define-library (canny web server serving)
  (export begin-serving! serve-value serve-component serve-directory serve-watching)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (only (canny data lists) for-each map member)
          (rename (only (canny net)
                        listen listener-address %listener-socket
                        %socket->listener open-datagram-socket datagram-receive)
                  (listen listen-at))
          (canny tasks) (canny channels)
          (only (canny fs) open-watcher watcher-next change-path directory? path-extension)
          (only (canny process)
                spawn-process process-id process-wait process-terminate process-error)
          (only (canny signals) on-shutdown)
          (only (scheme process-context) command-line exit)
          (canny web message) (canny web server)
          (only (canny web middleware) answer-errors call-handler)
          (only (canny web server development)
                serve-for-development! noted-failure allow-reloading wants-json?)
          (only (canny web server failures)
                failure-keeper failure-answer failures-path look-into loopback-address?)
          (only (canny web static) static-files)
          (only (canny web events) event-stream-response)
          (only (canny sxml) sxml->html sxml->html-bytes)
          (only (canny json) json->string))
  (begin

    ;; Says where notices to the keeper go; only a worker has it.
    (define worker-variable "CANNY_SERVE_WORKER")

    (define (keeper-address)
      (get-environment-variable worker-variable))

    (define (argument index)
      (list-ref (command-line) index))

    (define (tell . parts)
      (guard (object (#t #f))
        (write-string (string-append "canny: " (apply string-append parts) "\n")
                      (current-error-port))
        (flush-output-port (current-error-port))))

    (define (url-of listener)
      (string-append "http://" (listener-address listener) "/"))

    (define (listen-here)
      (let ((host (argument 1)))
        (listen-at (string-append (if (%string-index host #\:) (string-append "[" host "]") host)
                                  ":" (argument 2)))))

    ;;; Pages that are shown anew

    (define script-path "/.canny/reload.js")
    (define events-path "/.canny/reload")

    (define script
      (string-append
       "(function () {\n"
       "  var version = null;\n"
       "  new EventSource(\"" events-path "\").onmessage = function (event) {\n"
       "    if (version === null) version = event.data;\n"
       "    else if (version !== event.data) location.reload();\n"
       "  };\n"
       "})();\n"))

    ;; Policies of a page may want to see a nonce.
    (define (script-element nonce)
      (string-append "<script src=\"" script-path "\""
                     (if nonce (string-append " nonce=\"" nonce "\"") "")
                     " defer></script>"))

    ;; The version that this process serves.
    (define version
      (string-append (number->string (%process-id)) "-"
                     (number->string (%clock-nanoseconds clock/realtime))))

    (define generation 0)

    ;; Has browsers load their pages again.
    (define (next-generation!)
      (set! generation (+ generation 1)))

    (define (present-version)
      (string-append version "-" (number->string generation)))

    (define (version-events request)
      (let ((machine (%request-server request)))
        (event-stream-response
         request
         (lambda (send)
           (let loop ((told #f))
             (let ((now (present-version)))
               (if (not (equal? told now))
                   (send now #:retry 300))
               (sleep 1/5)
               (if (not (%http-stopping? machine))
                   (loop now))))))))

    (define (html? response)
      (let* ((type (response-header response 'content-type))
             (name (if (pair? type) (car type) type))
             (name (if (symbol? name) (symbol->string name) name)))
        (and (string? name)
             (string-prefix? "text/html" name))))

    ;; A page with the script, if it is a whole one.
    (define (with-script response)
      (let* ((body (response-body response))
             (text (cond ((string? body) body)
                         ((bytevector? body) (guard (object (#t #f)) (utf8->string body)))
                         (else #f)))
             (end (and text
                       (html? response)
                       (not (response-header response 'content-encoding))
                       (string-search-backward "</body>" text (string-length text)))))
        (if (not end)
            response
            (let ((start (- end (string-length "</body>"))))
              (call-with-values
                (lambda () (allow-reloading (without-validators response)))
                (lambda (response nonce)
                  (response-with-body
                   response
                   (string-append (substring text 0 start)
                                  (script-element nonce)
                                  (substring text start (string-length text))))))))))

    ;; The same without headers that another body makes wrong.
    (define (without-validators response)
      (make-response #:status (response-status response)
                     #:headers (let loop ((headers (response-headers response)))
                                 (cond ((null? headers) '())
                                       ((memq (caar headers) '(content-length etag))
                                        (loop (cdr headers)))
                                       (else (cons (car headers) (loop (cdr headers))))))
                     #:body (response-body response)))

    (define (rendered response)
      (let ((body (response-body response)))
        (if (and (pair? body) (not (response-header response 'content-type)))
            (response-with-header
             (response-with-body response
                                 (sxml->html-bytes body #:doctype (eq? 'html (car body))))
             'content-type "text/html; charset=utf-8")
            response)))

    (define (reloading handler)
      (lambda (request body)
        (let ((path (request-path request)))
          (cond ((string=? path script-path)
                 (make-response #:headers '((content-type . "text/javascript; charset=utf-8")
                                            (cache-control . "no-store"))
                                #:body script))
                ((string=? path events-path) (version-events request))
                (else (with-script (rendered (call-handler handler request body))))))))

    ;;; Failures

    ;; Shows the object that a handler raised, in place of the middleware's answer.
    (define (showing-failures handler)
      (let ((handler ((answer-errors) handler)))
        (lambda (request body)
          (let* ((response (call-handler handler request body))
                 (failure (noted-failure request)))
            (if (and failure (= 500 (response-status response)))
                (failure-answer request failure)
                response)))))

    ;; Answers what pages of failures ask.
    (define (answering-pages handler)
      (lambda (request body)
        (if (string=? failures-path (request-path request))
            (look-into request)
            (handler request body))))

    ;;; Workers

    (define served? #f)

    (define (serve-handler handler options)
      (set! served? #t)
      (let* ((keeper (keeper-address))
             (listener (if keeper
                           (%socket->listener (%inherited-listener #f))
                           (listen-here)))
             (shown (showing-failures handler))
             (shown (if (loopback-address? (argument 1)) (answering-pages shown) shown))
             (server (apply start-server (if keeper (reloading shown) shown)
                            #:listen listener
                            (without-places options))))
        (on-shutdown (lambda () (stop-server! server)) #:deadline 30)
        (if keeper
            (%send-notice (substring keeper 5 (string-length keeper))
                          (string->utf8 (number->string (%process-id))))
            (tell "serving " (argument 0) " at " (url-of listener)))
        (server-wait server)))

    ;; Options of `run-server` that do not say where it listens.
    (define (without-places options)
      (cond ((or (null? options) (null? (cdr options))) options)
            ((memq (car options) '(#:host #:port #:listen #:reuse-port #:tls))
             (without-places (cddr options)))
            (else (cons (car options)
                        (cons (cadr options) (without-places (cddr options)))))))

    ;; Has `run-server` serve here, and in this way.
    (define (begin-serving!)
      (serve-for-development! (failure-keeper (argument 1)))
      (%set-run-server-hook! serve-handler))

    ;; Serves what the program gave, if that is a handler.
    (define (serve-value)
      (let ((value (%served-value)))
        (cond (served? (void))
              ((procedure? value) (serve-handler value '()))
              (else
               (tell (argument 0) " neither calls run-server nor ends with a handler")
               (exit 65)))))

    ;; Serves a component; `make` gives its handler.
    (define (serve-component make)
      (serve-handler (make (argument 0)) '()))

    (define (serve-directory)
      (serve-handler (static-files (argument 0) #:listing? #t) '()))

    ;;; The keeper

    (define-record-type keeper
      (make-keeper listener events name command worker number ready? text page)
      keeper?
      (listener keeper-listener)
      (events keeper-events)
      ;; The address at which it receives notices of workers.
      (name keeper-name)
      ;; The settings of a new worker.
      (command keeper-command)
      ;; The process that serves, or is about to; #f for none.
      (worker keeper-worker set-keeper-worker!)
      ;; How many workers there were.
      (number keeper-number set-keeper-number!)
      (ready? keeper-ready? set-keeper-ready!)
      ;; The worker's standard error so far, a string output port.
      (text keeper-text set-keeper-text!)
      ;; The server that shows the error, or #f.
      (page keeper-page set-keeper-page!))

    (define (put! keeper event)
      (channel-send! (keeper-events keeper) event))

    (define extensions '(".scm" ".sld" ".ss" ".sls" ".sps" ".toml" ".wasm" ".wat"))

    (define (source? path)
      (and (member (path-extension path) extensions) #t))

    ;; Puts an event for each change of a file that counts.
    (define (watch keeper directory counts?)
      (let ((watcher (guard (object ((error-object? object)
                                     (tell "cannot watch " directory ": "
                                           (condition->string object))
                                     #f))
                       (open-watcher directory #:recursive #t))))
        (if watcher
            (spawn (lambda ()
                     (let loop ()
                       (let ((change (watcher-next watcher)))
                         (if (and change (counts? (change-path change)))
                             (put! keeper '(changed)))
                         (loop))))
                   #:name 'watch))))

    ;; Changes that come so soon after each other are one.
    (define quiet-seconds 1/10)

    (define (wait-for-quiet keeper)
      (sleep quiet-seconds)
      (let loop ((changed? #f) (others '()))
        (let ((event (channel-try-receive (keeper-events keeper) #f)))
          (cond ((and event (eq? 'changed (car event))) (loop #t others))
                (event (loop changed? (cons event others)))
                (else
                 (for-each (lambda (event) (put! keeper event)) (reverse others))
                 (if changed? (wait-for-quiet keeper)))))))

    ;; Copies what a worker says to our standard error, and keeps it.
    (define (copy-messages from text)
      (let loop ()
        (let ((part (read-available from)))
          (if (not (eof-object? part))
              (begin
                (write-string part text)
                (guard (object (#t #f))
                  (write-string part (current-error-port))
                  (flush-output-port (current-error-port)))
                (loop))))))

    (define (start-worker! keeper)
      (let* ((number (+ 1 (keeper-number keeper)))
             (text (open-output-string))
             (stream (%socket-stream (%listener-socket (keeper-listener keeper))))
             (worker (spawn-process (keeper-command keeper)
                                    #:input stream
                                    #:output 'inherit
                                    #:error 'pipe
                                    #:variables
                                    (list (cons worker-variable (keeper-name keeper))))))
        (close-port stream)
        (let ((old (and (keeper-ready? keeper) (keeper-worker keeper))))
          (if (and (keeper-worker keeper) (not old))
              ;; It was not ready yet, and never will be.
              (end-worker (keeper-worker keeper)))
          (set-keeper-worker! keeper worker)
          (set-keeper-number! keeper number)
          (set-keeper-ready! keeper #f)
          (set-keeper-text! keeper text)
          (spawn (lambda ()
                   (guard (object ((not (cancelled-error? object)) #f))
                     (copy-messages (process-error worker) text))
                   (process-wait worker)
                   (put! keeper (list 'ended number)))
                 #:name 'worker)
          ;; The former worker serves until the new one is ready, or has failed.
          old)))

    (define (end-worker worker)
      (spawn (lambda ()
               (guard (object ((error-object? object) #f))
                 (process-terminate worker #:grace 15)))
             #:name 'end))

    ;; Shows what a worker has said.
    (define (show-failure! keeper title)
      (hide-failure! keeper)
      (let ((text (get-output-string (keeper-text keeper)))
            (listener
             (%socket->listener (%socket-copy (%listener-socket (keeper-listener keeper))))))
        (next-generation!)
        (set-keeper-page! keeper
                          (start-server (reloading (lambda (request body)
                                                     (if (wants-json? request)
                                                         (failure-data title text)
                                                         (failure-page title text))))
                                        #:listen listener))))

    (define (hide-failure! keeper)
      (let ((page (keeper-page keeper)))
        (if page
            (begin
              (set-keeper-page! keeper #f)
              (spawn (lambda () (stop-server! page #:timeout 2)) #:name 'end)))))

    (define (failure-data title text)
      (make-response
       #:status 500
       #:headers '((content-type . "application/json") (cache-control . "no-store"))
       #:body (json->string `((status . 500) (error . ,title) (text . ,text)))))

    (define (failure-page title text)
      (make-response
       #:status 500
       #:headers '((content-type . "text/html; charset=utf-8") (cache-control . "no-store"))
       #:body
       (sxml->html
        `(html (@ (lang "en"))
               (head (meta (@ (charset "utf-8")))
                     (title ,title)
                     (style
                      "body{font:16px sans-serif;margin:2em}pre{background:#eee;padding:1em;\
                             overflow:auto}"))
               (body (h1 ,title)
                     (pre ,text)
                     (p "The page is shown again when a source has changed.")))
        #:doctype #t)))

    ;; Says that another version is ready.
    (define (take-over! keeper old)
      (set-keeper-ready! keeper #t)
      (hide-failure! keeper)
      (if old (end-worker old)))

    (define (keep keeper)
      (let loop ((old (start-worker! keeper)))
        (let ((event (channel-receive (keeper-events keeper))))
          (case (car event)
            ((changed)
             (wait-for-quiet keeper)
             (tell "loading " (argument 0) " again")
             (loop (or (start-worker! keeper) old)))
            ((ready)
             (if (and (keeper-worker keeper)
                      (not (keeper-ready? keeper))
                      (eqv? (cadr event) (process-id (keeper-worker keeper))))
                 (begin
                   (take-over! keeper old)
                   (if (> (keeper-number keeper) 1) (tell "ready"))
                   (loop #f))
                 (loop old)))
            ((ended)
             (if (eqv? (cadr event) (keeper-number keeper))
                 (let ((ready? (keeper-ready? keeper)))
                   (set-keeper-worker! keeper #f)
                   (set-keeper-ready! keeper #f)
                   (if old (end-worker old))
                   (show-failure! keeper
                                  (if ready?
                                      "The program has ended"
                                      "The program cannot be loaded"))
                   (tell "waiting for a change")
                   (loop #f))
                 (loop old)))))))

    ;; Receives the notices of ready workers.
    (define (hear keeper socket)
      (spawn (lambda ()
               (let loop ()
                 (let ((number (call-with-values
                                 (lambda () (datagram-receive socket))
                                 (lambda (bytes . rest)
                                   (string->number (utf8->string bytes) 10)))))
                   (if number
                       (put! keeper (list 'ready number)))
                   (loop))))
             #:name 'hear))

    (define (serve-watching)
      (let* ((words (command-line))
             (count (string->number (list-ref words 3)))
             (directories (list-head* (list-tail words 4) count))
             (command (list-tail words (+ 4 count)))
             (name (string-append "unix:@canny-serve-" (number->string (%process-id)) "-"
                                  (number->string (%clock-nanoseconds clock/monotonic))))
             (socket (open-datagram-socket name))
             (listener (listen-here))
             (keeper (make-keeper listener (make-channel #f) name command #f 0 #f
                                  (open-output-string) #f))
             (counts? (if (directory? (argument 0)) (lambda (path) #t) source?)))
        (on-shutdown (lambda ()
                       (let ((worker (keeper-worker keeper)))
                         ;; Its end is no event any more.
                         (set-keeper-number! keeper #f)
                         (if worker (process-terminate worker #:grace 10))))
                     #:deadline 15)
        (hear keeper socket)
        (for-each (lambda (directory)
                    (if (directory? directory)
                        (watch keeper directory counts?)))
                  directories)
        (tell "serving " (argument 0) " at " (url-of listener) ", watching its sources")
        (keep keeper)))

    (define (list-head* list count)
      (if (= count 0)
          '()
          (cons (car list) (list-head* (cdr list) (- count 1)))))))
