;;; (wiki application) without a server: what it says to a proxy and to caches, and what it does
;;; when the database is gone.

(import (canny base) (canny fs) (canny test) (canny web message) (canny web headers)
        (wiki store) (wiki application))

(define directory (make-temporary-directory))
(define store (open-store (path-join directory "wiki.db")))
(define plain (make-application store))
(define behind-proxy (make-application store #:behind-proxy? #t))

(define (get application path . headers)
  (application (make-request 'GET path #:headers (cons '(host . "wiki.example") headers)) #f))

(define (cookie application)
  (response-header (get application "/setup") 'set-cookie))

(test '("session" #f #t lax)
      (let ((cookie (cookie plain)))
        (list (set-cookie-name cookie) (set-cookie-secure? cookie) (set-cookie-http-only? cookie)
              (set-cookie-same-site cookie))))
(test '("__Host-session" #t)
      (let ((cookie (cookie behind-proxy)))
        (list (set-cookie-name cookie) (set-cookie-secure? cookie))))

(define ann (add-user! store "Ann" "hash"))
(save-page! store "Tea" "text" ann)

(define (body-text response)
  (let ((body (response-body response)))
    (if (bytevector? body) (utf8->string body) body)))

(define (feed-has? application text . headers)
  (and (string-contains (body-text (apply get application "/feed.atom" headers)) text) #t))

(test '(#t #f #t)
      (list (feed-has? behind-proxy "https://wiki.example/wiki/Tea" '(x-forwarded-proto . "https"))
            (feed-has? plain "https://wiki.example/wiki/Tea" '(x-forwarded-proto . "https"))
            (feed-has? plain "http://wiki.example/wiki/Tea")))

;; Pages are not kept by caches that others use, and guests get no cookie.
(test '(#t #f) (let ((response (get plain "/wiki/Tea")))
                 (list (and (assq 'private (response-header response 'cache-control)) #t)
                       (response-header response 'set-cookie))))
(test 304 (response-status
           (get plain "/style.css"
                `(if-none-match . (,(response-header (get plain "/style.css") 'etag))))))

(test 200 (response-status (get plain "/health")))
(close-store! store)
(test 503 (response-status (get plain "/health")))
(test '(500 #t)
      (parameterize ((current-error-port (open-output-string)))
        (let ((response (get plain "/wiki/Tea")))
          (list (response-status response)
                (and (string-contains (body-text response) "Something broke") #t)))))

(delete-tree directory)
(test-finish)
