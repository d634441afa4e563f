;;; (canny web sessions) and (canny web bodies): signed cookies, tokens, forms; and what attackers
;;; change.

(import (scheme base) (only (canny base) define*) (canny fs) (canny web message) (canny web headers)
        (canny web multipart) (canny web middleware) (canny web bodies) (canny web sessions)
        (canny test))

(define key (make-bytevector 32 1))
(define other-key "another key of thirty-two bytes!")

;; A text with one character replaced by another one.
(define (changed text index)
  (let ((copy (string-copy text)))
    (string-set! copy index (if (char=? #\A (string-ref copy index)) #\B #\A))
    copy))

(test-group "signed texts"
  (let ((text (sign-text (list key) "mail" "ada@example.org" #:expires 1000)))
    (test "ada@example.org" (unsign-text (list key) "mail" text #:now 999))
    (test #f (unsign-text (list key) "mail" text #:now 1000))
    (test #f (unsign-text (list key) "reset" text #:now 0))
    (test #f (unsign-text (list other-key) "mail" text #:now 0))
    (test "ada@example.org" (unsign-text (list other-key key) "mail" text #:now 0))
    (test '() (let loop ((index 0) (accepted '()))
                (if (= index (string-length text))
                    accepted
                    (loop (+ index 1)
                          (if (unsign-text (list key) "mail" (changed text index) #:now 0)
                              (cons index accepted)
                              accepted)))))
    (test '(#f #f #f #f)
          (map (lambda (text) (unsign-text (list key) "mail" text #:now 0))
               (list "" "a.b" (string-append text "A") (string-append text "=")))))
  (test "é→" (unsign-text (list key) "x" (sign-text (list key) "x" "é→")))
  (test-error (sign-text '() "x" "y"))
  (test-error (sign-text '("short") "x" "y"))
  (test-error (sign-text (list key) "x|y" "z")))

(define now 0)

(define form-headers '((content-type . (application/x-www-form-urlencoded))))

(define* (visit handler #:key (cookie #f) (method 'GET) (headers '()) (form #f))
  (let ((request (make-request method "/"
                               #:headers `(,@(if cookie `((cookie . (("session" . ,cookie)))) '())
                                           (host . "example.org")
                                           ,@(if form form-headers '())
                                           ,@headers)
                               #:body (or form #f))))
    (handler request (request-body request))))

(define (cookie-of response)
  (let ((cookie (response-header response 'set-cookie)))
    (and cookie (set-cookie-value cookie))))

(define (counter keys)
  (with-middleware
    (lambda (request body)
      (let ((count (+ 1 (session-ref request 'count 0))))
        (if (< count 10) (session-set! request 'count count))
        (make-response #:body count)))
    (sessions keys #:secure? #f #:max-age 100 #:clock (lambda () now))))

(test-group "sessions"
  (let* ((handler (counter (list key)))
         (first (visit handler))
         (cookie (cookie-of first)))
    (test 1 (response-body first))
    (test '(2 1) (let ((second (visit handler #:cookie cookie)))
                   (list (response-body second)
                         (response-body (visit handler #:cookie (changed cookie 3))))))
    (test '((no-store . #t)) (response-header first 'cache-control))
    (test #t (let ((text (header->string 'set-cookie (response-header first 'set-cookie))))
               (string? text)))
    (test '(#t #f lax 100 "/")
          (let ((set (response-header first 'set-cookie)))
            (list (set-cookie-http-only? set) (set-cookie-secure? set) (set-cookie-same-site set)
                  (set-cookie-max-age set) (set-cookie-path set))))
    ;; Keys are replaced.
    (test 2 (response-body (visit (counter (list other-key key)) #:cookie cookie)))
    (test 1 (response-body (visit (counter (list other-key)) #:cookie cookie)))
    ;; Expired sessions count for nothing.
    (set! now 99)
    (test 2 (response-body (visit handler #:cookie cookie)))
    (set! now 100)
    (test 1 (response-body (visit handler #:cookie cookie)))
    (set! now 0))
  (let* ((reading (with-middleware (lambda (request body)
                                     (make-response #:body (session-ref request 'count)))
                    (sessions (list key) #:secure? #f #:max-age 100
                              #:clock (lambda () now))))
         (cookie (cookie-of (visit (counter (list key))))))
    ;; A client that only reads gets no new cookie until half of the time is over.
    (test '(1 #f) (let ((response (visit reading #:cookie cookie)))
                    (list (response-body response) (cookie-of response))))
    (set! now 60)
    (test #t (string? (cookie-of (visit reading #:cookie cookie))))
    (set! now 0)
    (test #f (cookie-of (visit reading))))
  (test '("" 0)
        (let ((set (response-header
                    (visit (with-middleware (lambda (request body)
                                              (session-clear! request)
                                              (make-response))
                             (sessions (list key) #:secure? #f)))
                    'set-cookie)))
          (list (set-cookie-value set) (set-cookie-max-age set))))
  (test "__Host-session"
        (set-cookie-name
         (response-header
          (visit (with-middleware (lambda (request body)
                                    (session-set! request 'a '#(1 "x"))
                                    (make-response))
                   (sessions (list key))))
          'set-cookie)))
  (test-error (visit (with-middleware (lambda (request body)
                                        (session-set! request 'a (make-string 5000 #\a))
                                        (make-response))
                       (sessions (list key)))))
  (test-error (session-ref (make-request 'GET "/") 'x))
  (test-error (sessions "key")))

(define token #f)

(define guarded
  (with-middleware (lambda (request body)
                     (set! token (csrf-token request))
                     (make-response #:body "done"))
    (parse-bodies)
    (sessions (list key) #:secure? #f)
    (csrf-protection #:origins '("https://other.example"))))

(test-group "requests from other sites"
  (let* ((cookie (cookie-of (visit guarded)))
         (good token)
         (post (lambda (token headers)
                 (response-status
                  (visit guarded #:method 'POST #:cookie cookie
                         #:headers (if token `((x-csrf-token . ,token) ,@headers) headers))))))
    (test 200 (post good '()))
    (test 200 (response-status (visit guarded #:method 'POST #:cookie cookie
                                      #:form (string-append "csrf-token=" good))))
    (test 403 (post #f '()))
    (test 403 (post (changed good 3) '()))
    (test 403 (post "" '()))
    (test 403 (response-status (visit guarded #:method 'POST
                                      #:headers `((x-csrf-token . ,good)))))
    (test '(200 200 403 403)
          (map (lambda (origin) (post good `((origin . ,origin))))
               '("https://example.org" "https://other.example" "https://evil.example" null)))
    (test '(200 200 403 403)
          (map (lambda (site) (post good `((sec-fetch-site . ,site))))
               '(same-origin none cross-site same-site)))
    ;; Another token each time, each of them is good.
    (visit guarded #:cookie cookie)
    (test #f (string=? good token))
    (test 200 (post token '()))))

(define seen #f)

(define* (send type body #:key (options (parse-bodies)))
  (set! seen #f)
  (let ((request (make-request 'POST "/" #:headers `((content-type . ,type)) #:body body))
        (handler (with-middleware
                   (lambda (request body)
                     (set! seen
                           (list (request-form request) (request-json request)
                                 (map part-name (request-parts request))
                                 (and body #t)))
                     (make-response))
                   options)))
    (let ((status (response-status (handler request (request-body request)))))
      (if (= status 200) seen status))))

(define (multipart . parts)
  (string-append (apply string-append
                        (map (lambda (part) (string-append "--b\r\n" part "\r\n")) parts))
                 "--b--\r\n"))

(define form-type '(multipart/form-data (boundary . "b")))

(test-group "bodies"
  (test '((("a" . "1 2") ("b" . "é")) #f () #f)
        (send '(application/x-www-form-urlencoded) "a=1+2&b=%C3%A9"))
  (test '(() ((x . #(1 2))) () #f) (send '(application/json) "{\"x\": [1, 2]}"))
  (test '(() #t () #f) (send '(application/ld+json) "true"))
  (test 400 (send '(application/json) "{"))
  (test 400 (send '(application/json) (make-string 1000 #\[)))
  (test 400 (send '(application/json) (bytevector 34 255 34)))
  (test 413 (send '(application/json) "[1,2,3]" #:options (parse-bodies #:limit 3)))
  (test 413 (send '(application/json) (open-input-bytevector (string->utf8 "[1,2,3]"))
                  #:options (parse-bodies #:limit 3)))
  (test 413 (send '(application/x-www-form-urlencoded) "a&b&c&d"
                  #:options (parse-bodies #:fields-limit 3)))
  (test '(() #f () #t) (send '(text/plain) "x"))
  (test 415 (send '(text/plain) "x" #:options (parse-bodies #:only? #t)))
  (test 415 (send '(application/json) "1" #:options (parse-bodies #:only? #t #:kinds '(form))))
  (test '((("a" . "1")) #f ("a" "f") #f)
        (send form-type
              (multipart "Content-Disposition: form-data; name=\"a\"\r\n\r\n1"
                         "Content-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n2")))
  (test 400 (send form-type "--b\r\nx"))
  (test 400 (send '(multipart/form-data) "x"))
  (test 413 (send form-type
                  (multipart "Content-Disposition: form-data; name=\"a\"\r\n\r\n12345")
                  #:options (parse-bodies #:part-limit 3)))
  (test 413 (send form-type
                  (open-input-bytevector
                   (string->utf8
                    (multipart "Content-Disposition: form-data; name=\"a\"\r\n\r\n12345")))
                  #:options (parse-bodies #:total-limit 3)))
  ;; Large parts are in files while the handler runs.
  (let ((file #f))
    (test #t
          (let ((request (make-request
                          'POST "/"
                          #:headers `((content-type . ,form-type))
                          #:body
                          (multipart "Content-Disposition: form-data; name=\"a\"\r\n\r\n12345"))))
            ((with-middleware (lambda (request body)
                                (set! file (part-file (request-part request "a")))
                                (make-response #:body (file-exists? file)))
               (parse-bodies #:memory-limit 2))
             request (request-body request))
            (string? file)))
    (test #f (file-exists? file)))
  (test '("1" "2" none)
        (let ((request (make-request 'POST "/"
                                     #:headers
                                     '((content-type . (application/x-www-form-urlencoded)))
                                     #:body "a=1&a=2")))
          (response-body
           ((with-middleware (lambda (request body)
                               (make-response
                                #:body (append (form-values request "a")
                                               (list (form-value request "b" 'none)))))
              (parse-bodies))
            request (request-body request))))))

(test-finish)
