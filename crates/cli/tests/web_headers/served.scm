;;; The server that crates/cli/tests/web_headers.rs asks with malformed headers: every middleware,
;;; and a page for everything that reads headers. It is started in a directory with `public/`, and
;;; prints its address. No handler here fails by itself.

(import (scheme base) (canny web bodies) (canny web diagnostics) (canny web events)
        (canny web headers) (canny web message) (canny web metrics) (canny web multipart)
        (canny web middleware)
        (canny web router) (canny web server) (canny web sessions) (canny web static)
        (canny web websocket))

(define failures 0)

(define (note-failure! request object)
  (set! failures (+ failures 1)))

(define (text . parts)
  (make-response #:headers '((content-type . (text/plain)))
                 #:body (apply string-append parts)))

(define (page request body)
  (text (make-string 5000 #\a)))

;; Asks for every header, and negotiates as programs do.
(define (everything request body)
  (for-each (lambda (field) (request-header request (car field))) (request-fields request))
  (request-headers request)
  (request-malformed-headers request)
  (request-client request)
  (request-trailers request)
  (choose-media-type (request-field request 'accept) '("text/html" "application/json"))
  (choose-language (request-field request 'accept-language) '("en" "de"))
  (choose-encoding (request-field request 'accept-encoding) '("gzip" "br"))
  (text "everything\n"))

(define (body-as-text request body)
  (text (number->string (string-length (read-request-text request))) "\n"))

(define (form request body)
  (for-each (lambda (part)
              (part-of-everything part))
            (request-parts request))
  (text (number->string (length (request-form request))) " fields\n"))

(define (part-of-everything part)
  (part-name part)
  (part-filename part)
  (part-type part)
  (part-header part 'content-disposition)
  (part-header part 'content-type)
  (part-text part))

(define (socket request body)
  (websocket-response request (lambda (socket) (websocket-send socket "hello"))
                      #:protocols '("chat") #:compression #t))

(define (events request body)
  (event-stream-response request
                         (lambda (send)
                           (send "once" #:id (if (last-event-id request) "2" "1")))))

(define-routes app
  (GET "/" page)
  (POST "/" page)
  (GET "/everything" everything)
  (POST "/text" body-as-text)
  (POST "/form" form)
  (GET "/socket" socket)
  (GET "/events" events)
  (GET "/metrics" (metrics-handler))
  (GET "/health" (health-handler))
  (GET "/tasks" (debug-tasks-handler))
  (GET "/private" ((basic-authentication (lambda (name password) (string=? name "a"))) page))
  (GET "/failures" (lambda (request body) (text (number->string failures) " failures\n")))
  (mount "/files" (static-files "public" #:listing? #t)))

(define log (open-output-string))

(define handler
  (with-middleware (router-handler app)
    (request-ids #:trust? #t)
    (access-log #:port log)
    (access-log #:port log #:format 'common)
    (access-log #:port log #:format 'json)
    (answer-errors #:report note-failure!)
    (error-pages (lambda (request response)
                   `(html (body (p ,(number->string (response-status response)))))))
    (security-headers #:hsts 60)
    (cors #:origins '("https://example.org") #:headers '(x-a) #:credentials? #t)
    (compress-responses #:minimum 1000)
    (rate-limit #:rate 1000000 #:burst 1000000)
    (parse-bodies)
    (sessions '("a key of at least thirty-two bytes") #:secure? #f)
    (csrf-protection #:origins '("https://example.org"))))

;; Requests that change something need a token, which no client of these tests has. So the pages are
;; also served without that protection.
(define open-handler
  (with-middleware (router-handler app)
    (answer-errors #:report note-failure!)
    (compress-responses #:minimum 1000)
    (parse-bodies)))

(define server
  (start-server (lambda (request body)
                  (if (request-field request 'x-open)
                      (open-handler request body)
                      (handler request body)))
                #:port 0 #:access-log log #:access-log-format 'combined #:metrics #t
                #:trusted-proxies '("127.0.0.1")
                #:on-error (lambda (request object)
                             (note-failure! request object)
                             (make-response #:status 500 #:body "failed"))))

(write-string (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
