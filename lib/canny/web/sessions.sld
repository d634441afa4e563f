;;; (canny web sessions): data of a visitor in a signed cookie, and tokens against requests from
;;; other sites.
;;;
;;;     (with-middleware (router-handler app)
;;;                      (parse-bodies) (sessions (list key)) (csrf-protection))
;;;
;;; The cookie has the data as JSON, the time at which it ends, and HMAC-SHA-256 of both with its
;;; name. Visitors can read the data, not change it. The first of several keys signs, all of them
;;; are accepted, so that keys can be replaced.

(define-library (canny web sessions)
  (export sessions session-ref session-set! session-delete! session-clear! session-data
          sign-text unsign-text
          csrf-protection csrf-token csrf-field)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data lists) assoc for-each map member)
          (only (canny machine control) raise guard)
          (only (canny base64) base64-encode base64-decode)
          (only (canny json) string->json json->string json-error?)
          (only (canny web headers) make-set-cookie)
          (canny web message)
          (only (canny web middleware) call-handler)
          (only (canny web bodies) form-value)
          (only (canny crypto) hmac random-bytes timing-safe=?))
  (begin

    (define (option who message object)
      (raise (%make-condition 'range message (list object) who)))

    (define (now-seconds)
      (quotient (%clock-nanoseconds clock/realtime) 1000000000))

    ;;; Signed texts

    (define key-bytes-min 32)

    (define (check-keys who keys)
      (if (not (and (list? keys) (pair? keys)))
          (%type-error who 1 "list of keys" keys))
      (for-each
       (lambda (key)
         (let ((size (cond ((bytevector? key) (bytevector-length key))
                           ((string? key) (bytevector-length (string->utf8 key)))
                           (else (%type-error who 1 "list of strings or bytevectors" keys)))))
           (if (< size key-bytes-min)
               ;; The key itself is in no message.
               (raise (%make-condition 'range "a key has 32 bytes or more" '() who)))))
       keys))

    ;; The text that is signed: the purpose has no bar.
    (define (signed-part purpose payload expires)
      (string-append purpose "|" payload "." expires))

    (define (encode bytes) (base64-encode bytes #:url? #t #:padding? #f))

    (define (decode text)
      (guard (object ((error-object? object) #f))
        (let ((bytes (base64-decode text #:url? #t #:padding 'refused #:white-space? #f)))
          ;; One text for each value only.
          (and (string=? text (encode bytes)) bytes))))

    (define (check-purpose who purpose)
      (check-argument who 2 string? "string" purpose)
      (if (%string-index purpose #\| 0)
          (option who "a purpose has no bar" purpose)))

    ;; A text with its signature, for URLs and cookies. The purpose is signed too: what was signed
    ;; for one is worth nothing for another. `#:expires` is the time at which it ends, in seconds
    ;; since 1970.
    (define* (sign-text keys purpose text #:key (expires #f))
      (check-keys 'sign-text keys)
      (check-purpose 'sign-text purpose)
      (check-argument 'sign-text 3 string? "string" text)
      (signed keys purpose text expires))

    (define (signed keys purpose text expires)
      (let ((payload (encode (string->utf8 text)))
            (expires (if expires (number->string expires 36) "")))
        (string-append payload "." expires "."
                       (encode (hmac 'sha-256 (car keys) (signed-part purpose payload expires))))))

    ;; The text that was signed, or `#f` if it was not, was changed, or has ended.
    (define* (unsign-text keys purpose text #:key (now (now-seconds)))
      (check-keys 'unsign-text keys)
      (check-purpose 'unsign-text purpose)
      (check-argument 'unsign-text 3 string? "string" text)
      (let ((found (unsigned keys purpose text now)))
        (and found (car found))))

    ;; The text and when it ends.
    (define (unsigned keys purpose text now)
      (let* ((first (%string-index text #\. 0))
             (second (and first (%string-index text #\. (+ first 1))))
             (code (and second (decode (substring text (+ second 1) (string-length text))))))
        (and code
             (let ((payload (substring text 0 first))
                   (expires (substring text (+ first 1) second)))
               (and (authentic? keys (signed-part purpose payload expires) code)
                    (let ((time (and (not (string=? expires "")) (string->number expires 36)))
                          (bytes (decode payload)))
                      (and bytes
                           (or (not time) (< now time))
                           (cons (utf8->string bytes) time))))))))

    (define (authentic? keys text code)
      (and (pair? keys)
           (or (timing-safe=? code (hmac 'sha-256 (car keys) text))
               (authentic? (cdr keys) text code))))

    ;;; Sessions

    (define-record-type <session>
      (make-session data changed?)
      session?
      (data data-of set-data!)
      (changed? changed? set-changed!))

    ;; The bytes that browsers keep of one cookie, name and attributes included.
    (define cookie-bytes-max 4000)

    ;; A middleware that keeps an association list of symbols and values of JSON for each visitor.
    ;; It ends `#:max-age` seconds after it was written last; it is written when it has changed, and
    ;; when half of that time is over.
    (define* (sessions keys
                       #:key (secure? #t) (name #f) (max-age 1209600) (same-site 'lax) (path "/")
                       (domain #f) (clock now-seconds))
      (check-keys 'sessions keys)
      (let ((name (or name
                      (if (and secure? (equal? path "/") (not domain))
                          "__Host-session"
                          "session"))))
        (check-purpose 'sessions name)
        (define (read-session request now)
          (let* ((cookie (assoc name (request-header request 'cookie '())))
                 (found (and cookie (unsigned keys name (cdr cookie) now)))
                 (data (and found
                            (guard (object ((json-error? object) #f))
                              (string->json (car found))))))
            (if (list? data)
                (values (make-session data #f) (cdr found))
                (values (make-session '() #f) #f))))
        (define (cookie value age)
          (make-set-cookie name value #:path path #:domain domain #:secure? secure?
                           #:http-only? #t #:same-site same-site #:max-age age))
        (define (answer response session now ends)
          (cond ((and (null? (data-of session)) (changed? session))
                 (with-cookie response (cookie "" 0)))
                ((and (pair? (data-of session))
                      (or (changed? session)
                          (not ends)
                          (< (- ends now) (quotient max-age 2))))
                 (let ((text (signed keys name (json->string (data-of session))
                                     (+ now max-age))))
                   (if (> (string-length text) cookie-bytes-max)
                       (option 'sessions "a session is too large for a cookie"
                               (string-length text)))
                   (with-cookie response (cookie text max-age))))
                (else response)))
        (lambda (handler)
          (lambda (request body)
            (let ((now (clock)))
              (call-with-values
                (lambda () (read-session request now))
                (lambda (session ends)
                  (set-request-attribute! request 'session session)
                  (answer (call-handler handler request body) session now ends))))))))

    ;; A page with a cookie is private.
    (define (with-cookie response cookie)
      (let ((response (response-with-headers response (list (cons 'set-cookie cookie)))))
        (if (assq 'cache-control (response-headers response))
            response
            (response-with-header response 'cache-control '((no-store . #t))))))

    (define (session-of who request)
      (or (request-attribute request 'session)
          (raise (%make-condition 'range "there is no middleware for sessions" '() who))))

    ;; The value of a symbol in a session, or a default.
    (define* (session-ref request key #:optional (default #f))
      (let ((entry (assq key (data-of (session-of 'session-ref request)))))
        (if entry (cdr entry) default)))

    (define (without key data)
      (cond ((null? data) '())
            ((eq? key (caar data)) (cdr data))
            (else (cons (car data) (without key (cdr data))))))

    ;; Keeps a value of JSON under a symbol.
    (define (session-set! request key value)
      (check-argument 'session-set! 2 symbol? "symbol" key)
      (let ((session (session-of 'session-set! request)))
        ;; A value without a form in JSON is an error here, not when the answer is written.
        (json->string value)
        (set-data! session (cons (cons key value) (without key (data-of session))))
        (set-changed! session #t)))

    ;; Forgets what is kept under a symbol; everything. After a user has logged in or out clear the
    ;; session first, so that nothing of what was before stays.
    (define (session-delete! request key)
      (let ((session (session-of 'session-delete! request)))
        (set-data! session (without key (data-of session)))
        (set-changed! session #t)))
    (define (session-clear! request)
      (let ((session (session-of 'session-clear! request)))
        (set-data! session '())
        (set-changed! session #t)))

    ;; All that is kept, an association list.
    (define (session-data request)
      (data-of (session-of 'session-data request)))

    ;;; Requests from other sites

    (define secret-bytes 32)

    (define (session-secret request)
      (let ((text (session-ref request 'csrf)))
        (let ((bytes (and (string? text) (decode text))))
          (and bytes (= secret-bytes (bytevector-length bytes)) bytes))))

    (define (exclusive-or left right)
      (let ((result (make-bytevector secret-bytes 0)))
        (let loop ((index 0))
          (if (< index secret-bytes)
              (begin
                (bytevector-u8-set! result index
                                    (bitwise-xor (bytevector-u8-ref left index)
                                                 (bytevector-u8-ref right index)))
                (loop (+ index 1)))))
        result))

    ;; A token for a form of this visitor. It is another text each time, so that the length of a
    ;; compressed page reveals nothing of it.
    (define (csrf-token request)
      (let* ((secret (or (session-secret request)
                         (let ((bytes (random-bytes secret-bytes)))
                           (session-set! request 'csrf (encode bytes))
                           bytes)))
             (mask (random-bytes secret-bytes)))
        (encode (bytevector-append mask (exclusive-or mask secret)))))

    ;; The token as a hidden field, SXML.
    (define* (csrf-field request #:key (field "csrf-token"))
      `(input (@ (type "hidden") (name ,field) (value ,(csrf-token request)))))

    (define (valid? token secret)
      (let ((bytes (and secret (string? token) (decode token))))
        (and bytes
             (= (* 2 secret-bytes) (bytevector-length bytes))
             (timing-safe=? secret
                            (exclusive-or (bytevector-copy bytes 0 secret-bytes)
                                          (bytevector-copy bytes secret-bytes))))))

    ;; Whether a request comes from a page of this site, as far as the browser says.
    (define (same-origin? request origins)
      (let ((site (request-field request 'sec-fetch-site))
            (origin (request-header request 'origin))
            (host (request-field request 'host)))
        (define (this-host? origin)
          (and (string? host)
               (string? origin)
               (or (string=? origin (string-append "https://" host))
                   (string=? origin (string-append "http://" host)))))
        (cond ((and (string? origin) (member origin origins)) #t)
              ;; A page of this host over another scheme is from another site, too.
              ((and site
                    (not (member (if (symbol? site) (symbol->string site) site)
                                 '("same-origin" "none"))))
               #f)
              (origin (this-host? origin))
              (else #t))))

    ;; A middleware that answers 403 to requests that change something and that no page of this site
    ;; sent. Requests need the token of the session in a field of the form or a header, unless
    ;; their method is `GET`, `HEAD`, `OPTIONS` or `TRACE`. They also need an origin that is this
    ;; host or one of `#:origins`, if the browser sends one. It stands within `parse-bodies` and
    ;; `sessions`.
    (define* (csrf-protection #:key (field "csrf-token") (header 'x-csrf-token) (origins '()))
      (lambda (handler)
        (lambda (request body)
          (if (or (memq (request-method request) '(GET HEAD OPTIONS TRACE))
                  (and (same-origin? request origins)
                       (valid? (or (request-field request header) (form-value request field))
                               (session-secret request))))
              (handler request body)
              (make-response #:status 403
                             #:headers '((content-type . (text/plain (charset . "utf-8"))))
                             #:body "Forbidden\n")))))))
