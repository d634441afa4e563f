;;; (canny web middleware): what stands around handlers.

(import (scheme base) (only (canny base) define*) (only (srfi 13) string-contains) (canny json)
        (canny compression) (canny web message)
        (canny web headers) (canny web middleware)
        (rename (only (canny web client) http-get http-error?) (http-error? client:http-error?))
        (canny test))

(define (plain text)
  (lambda (request body)
    (make-response #:headers '((content-type . (text/plain))) #:body text)))

(define* (ask handler #:key (target "/") (method 'GET) (headers '()) (peer "192.0.2.1:5000"))
  (handler (make-request method target #:headers headers #:peer peer) #f))

(define (header response name) (response-header response name))

;; Whether headers can be sent.
(define (sendable? response)
  (for-each (lambda (entry) (header->string (car entry) (cdr entry)))
            (response-headers response))
  #t)

(define (noting name)
  (lambda (handler)
    (lambda (request body)
      (let ((response (call-handler handler request body)))
        (response-with-body response (string-append name (response-body response)))))))

(test-group "composition"
  (test "abx" (response-body (ask (with-middleware (plain "x") (noting "a") (noting "b")))))
  (test "abcx"
        (response-body
         (ask ((compose-middleware (noting "a") (compose-middleware (noting "b") (noting "c")))
               (plain "x")))))
  (test "ax" (response-body (ask ((noting "a") (lambda (request body) (values '() "x"))))))
  (test "ax" (response-body (ask ((noting "a") (lambda (request body) "x")))))
  (test-error (compose-middleware 1)))

(test-group "pages for errors"
  (let* ((answer (lambda (status)
                   (lambda (request body)
                     (make-response #:status status #:body "plain"
                                    #:headers '((content-type . (text/plain))
                                                (allow . (GET))
                                                (etag . "\"a\""))))))
         (page (lambda (request response)
                 (case (response-status response)
                   ((404) `(html (body (p ,(request-path request)))))
                   ((410) (make-response #:status 418 #:body "another"))
                   ((500) (error "no luck"))
                   (else #f))))
         (asked (lambda (status)
                  (ask (with-middleware (answer status) (error-pages page)) #:target "/a<b")))
         (text (lambda (response)
                 (let ((body (response-body response)))
                   (if (bytevector? body) (utf8->string body) body)))))
    (test "<!DOCTYPE html>\n<html><body><p>/a&lt;b</p></body></html>" (text (asked 404)))
    (test 404 (response-status (asked 404)))
    (test '(text/html (charset . "utf-8")) (header (asked 404) 'content-type))
    (test '(GET) (header (asked 404) 'allow))
    (test #f (header (asked 404) 'etag))
    (test '(418 "another") (list (response-status (asked 410)) (text (asked 410))))
    (test '(403 "plain") (list (response-status (asked 403)) (text (asked 403))))
    (test '(200 "plain") (list (response-status (asked 200)) (text (asked 200))))
    ;; A page that fails leaves what there was.
    (test '(500 "plain")
          (parameterize ((current-error-port (open-output-string)))
            (list (response-status (asked 500)) (text (asked 500))))))
  (test-error (error-pages 1)))

(test-group "identifiers"
  (let ((handler (with-middleware (lambda (request body)
                                    (make-response #:body (request-id request)))
                   (request-ids)))
        (trusting (with-middleware (plain "x") (request-ids #:trust? #t))))
    (test #t (let ((response (ask handler)))
               (string=? (response-body response) (header response 'x-request-id))))
    (test #f (equal? "abc" (header (ask handler #:headers '((x-request-id . "abc")))
                                   'x-request-id)))
    (test "abc" (header (ask trusting #:headers '((x-request-id . "abc"))) 'x-request-id))
    (test #f (equal? "a b" (header (ask trusting #:headers '((x-request-id . "a b")))
                                   'x-request-id)))))

(define* (logged format #:key (target "/a?b") (headers '()))
  (let ((port (open-output-string)))
    (ask (with-middleware (plain "xyz")
           (access-log #:port port #:format format #:clock (lambda () 951827696)))
         #:target target #:headers headers)
    (get-output-string port)))

(test-group "logs"
  (test "192.0.2.1 - - [29/Feb/2000:12:34:56 +0000] \"GET /a?b HTTP/1.1\" 200 3\n"
        (logged 'common))
  (test
   "192.0.2.1 - - [29/Feb/2000:12:34:56 +0000] \"GET /a?b HTTP/1.1\" 200 3 \"http://x/\" \"A/1\"\n"
   (logged 'combined #:headers '((referer . "http://x/") (user-agent . "A/1"))))
  ;; Nobody writes a line of his own.
  (test "192.0.2.1 - - [29/Feb/2000:12:34:56 +0000] \"GET /\\\"\\xa;x HTTP/1.1\" 200 3 \"-\" \
         \"\\x1b;[31m\\\"\"\n"
        (logged 'combined #:target "/\"\nx" #:headers '((user-agent . "\x1b;[31m\""))))
  (test '("2000-02-29T12:34:56Z" "GET" 200 3)
        (let ((record (string->json (logged 'json))))
          (map (lambda (key) (json-ref record key)) '(time method status bytes))))
  (test-error (access-log #:format 'x)))

(test-group "security headers"
  (let ((response (ask (with-middleware (plain "x") (security-headers #:hsts 1000)))))
    (test '(nosniff deny) (list (header response 'x-content-type-options)
                                (header response 'x-frame-options)))
    (test #t (sendable? response)))
  (test 'sameorigin
        (header (ask (with-middleware
                       (lambda (request body)
                         (make-response #:headers '((x-frame-options . sameorigin))))
                       (security-headers)))
                'x-frame-options))
  (test #f (header (ask (with-middleware (plain "x")
                          (security-headers #:content-security-policy #f)))
                   'content-security-policy)))

(define (shared . options)
  (with-middleware (plain "x")
    (cors #:origins '("https://a.example") #:headers '(x-a) #:exposed '(x-b)
          #:credentials? #t)))

(define (preflight origin method headers)
  (ask (shared) #:method 'OPTIONS
       #:headers `((origin . ,origin) (access-control-request-method . ,method)
                   (access-control-request-headers . ,headers))))

(test-group "origins"
  (let ((response (ask (shared) #:headers '((origin . "https://a.example")))))
    (test '("https://a.example" true (origin) (x-b))
          (map (lambda (name) (header response name))
               '(access-control-allow-origin access-control-allow-credentials vary
                 access-control-expose-headers)))
    (test #t (sendable? response)))
  (test '(#f "x")
        (let ((response (ask (shared) #:headers '((origin . "https://b.example")))))
          (list (header response 'access-control-allow-origin) (response-body response))))
  (test '(204 "https://a.example" (x-a))
        (let ((response (preflight "https://a.example" 'PUT '(x-a))))
          (sendable? response)
          (list (response-status response) (header response 'access-control-allow-origin)
                (header response 'access-control-allow-headers))))
  (test '(#f #f #f)
        (map (lambda (response) (header response 'access-control-allow-origin))
             (list (preflight "https://b.example" 'PUT '())
                   (preflight "https://a.example" 'BREW '())
                   (preflight "https://a.example" 'PUT '(x-c)))))
  (test '*
        (header (ask (with-middleware (plain "x") (cors #:origins 'any))
                     #:headers '((origin . "https://b.example")))
                'access-control-allow-origin))
  (test-error (cors #:origins 'any #:credentials? #t)))

(define long (make-string 5000 #\a))

(define* (zipped #:key (accept "gzip, zstd") (headers '((content-type . (text/plain)))) (body long)
                 (status 200))
  (ask (with-middleware
         (lambda (request ignored) (make-response #:status status #:headers headers #:body body))
         (compress-responses))
       #:headers (if accept `((accept-encoding . ,accept)) '())))

(test-group "compression"
  (test '((zstd) (accept-encoding))
        (let ((response (zipped)))
          (list (header response 'content-encoding) (header response 'vary))))
  (test (string->utf8 long) (gunzip (response-body (zipped #:accept "gzip"))))
  (test long (response-body (zipped #:accept #f)))
  (test long (response-body (zipped #:accept "br")))
  (test long (response-body (zipped #:accept "gzip;q=0, identity")))
  (test "short" (response-body (zipped #:body "short")))
  (test long (response-body (zipped #:headers '((content-type . (image/png))))))
  (test long (response-body (zipped #:headers '((content-encoding . (br))))))
  (test long (response-body (zipped #:headers '((cache-control . ((no-transform . #t)))))))
  (test long (response-body (zipped #:status 206)))
  (test '(zstd) (header (zipped #:body `(p ,long) #:headers '()) 'content-encoding))
  (test '("x" . #f) (header (zipped #:headers '((content-type . (text/css)) (etag . ("x" . #t))))
                            'etag))
  (test-error (compress-responses #:codings '("br"))))

(define secret
  (with-middleware (lambda (request body) (make-response #:body (request-user request)))
    (basic-authentication
     (lambda (name password)
       (and (string=? name "ada") (string=? password "a:b") name)))))

(test-group "names and passwords"
  (test "ada" (response-body (ask secret #:headers '((authorization . (basic . "ada:a:b"))))))
  (test '(401 401 401 401)
        (map (lambda (headers) (response-status (ask secret #:headers headers)))
             '(() ((authorization . (basic . "ada:x"))) ((authorization . (basic . "ada")))
               ((authorization . (bearer . "ada:a:b"))))))
  (test "Basic realm=\"restricted\", charset=UTF-8"
        (header->string 'www-authenticate (header (ask secret) 'www-authenticate))))

(test-group "limits"
  (let* ((now 0)
         (handler (with-middleware (plain "x")
                    (rate-limit #:rate 1 #:burst 2 #:clients 3
                                #:clock (lambda () now))))
         (status (lambda (peer) (response-status (ask handler #:peer peer)))))
    (test '(200 200 429) (list (status "a:1") (status "a:2") (status "a:3")))
    (test 200 (status "b:1"))
    (test '(after . 1) (header (ask handler #:peer "a:1") 'retry-after))
    (set! now 1)
    (test '(200 429) (list (status "a:1") (status "a:1")))
    ;; There is place for three; b, whose bucket is full again, is forgotten.
    (test '(200 200 429) (list (status "c:1") (status "d:1") (status "e:1")))
    (set! now 100)
    (test 200 (status "d:1")))
  (test-error (rate-limit #:rate 0)))

(define (fails? mode thunk)
  (ask (with-middleware (lambda (request body) (thunk))
         (answer-errors #:mode mode #:report (lambda (request object) #f)))))

(test-group "errors"
  (let ((response (fails? 'production (lambda () (error "secret" 42)))))
    (test '(500 "Internal Server Error\n")
          (list (response-status response) (response-body response))))
  (let ((response (fails? 'development (lambda () (error "a <b> & c" "</pre>")))))
    (test 500 (response-status response))
    (test #t (string? (response-body response)))
    (test #f (string-contains (response-body response) "<b> &"))
    (test #t (and (string-contains (response-body response) "a &lt;b&gt; &amp; c") #t)))
  (test '(418 "short and stout\n" 1)
        (let ((response
               (fails? 'production
                       (lambda ()
                         (raise-http-error 418 "short and stout" #:headers '((x-a . 1)))))))
          (list (response-status response) (response-body response) (header response 'x-a))))
  (test 413 (response-status
             (ask (with-middleware
                    (lambda (request body)
                      (read-request-body (make-request 'POST "/" #:body "abc") 2))
                    (answer-errors)))))
  (test 500 (response-status (fails? 'production (lambda () (raise 'x)))))
  ;; A request of the handler's own that fails is no answer of it.
  (test '(#t #f 500)
        (let ((object (guard (e (#t e)) (http-get "http://127.0.0.1:1/"))))
          (list (client:http-error? object) (http-error? object)
                (response-status (fails? 'production (lambda () (raise object)))))))
  ;; SXML is written within the handler's errors.
  (test 500 (response-status (fails? 'production (lambda () (make-response #:body '(p #(1)))))))
  (test '((text/html (charset . "utf-8")) "<!DOCTYPE html>\n<html><p>é</p></html>")
        (let ((response (fails? 'production
                                (lambda () (make-response #:body '(html (p "é")))))))
          (list (header response 'content-type) (utf8->string (response-body response)))))
  (test "<a>é</a>"
        (utf8->string
         (response-body
          (fails? 'production
                  (lambda ()
                    (make-response #:headers '((content-type . (application/xml)))
                                   #:body '(a "é")))))))
  (test-error (raise-http-error 200 "fine")))

(test-finish)
