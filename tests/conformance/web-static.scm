;;; (canny web static): files as answers, conditions, ranges, codings; and ways out of the root that
;;; must not be.

(import (scheme base) (only (canny base) define*) (scheme file) (only (srfi 13) string-contains)
        (canny fs) (canny files) (canny io) (canny compression) (canny web message)
        (canny web headers) (canny web router) (canny web static) (canny test))

(define root (make-temporary-directory))
(define outside (make-temporary-directory))

(define (write-file directory name text)
  (string->file text (path-join directory name)))

(define big (make-string 200000 #\b))

(create-directory (path-join root "docs"))
(create-directory (path-join root "empty"))
(create-directory (path-join root ".git"))
(write-file root "a.txt" "0123456789")
(write-file root "big.css" big)
(write-file root "page.html" "<p>page")
(write-file root "page.html.gz" "zipped")
(write-file root "app.0123abcd.js" "x")
(write-file root ".htpasswd" "secret")
(write-file root ".git/config" "secret")
(write-file root "docs/index.html" "<p>index")
(write-file root "empty/x y&.txt" "x")
(write-file outside "secret.txt" "secret")
(create-symlink (path-join outside "secret.txt") (path-join root "link.txt"))
(create-symlink outside (path-join root "linked"))
(create-symlink "a.txt" (path-join root "inner.txt"))

(define-routes app
  (mount "/assets" (static-files root #:max-age 60))
  (mount "/listed" (static-files root #:listing? #t)))

(define handler (router-handler app))
(define whole (static-files root))

(define* (ask target #:key (method 'GET) (headers '()) (handler handler))
  (handler (make-request method target #:headers headers) #f))

(define (status target) (response-status (ask target)))

(define (bytes-of response)
  (let ((body (response-body response)))
    (cond ((not body) #f)
          ((bytevector? body) body)
          (else
           (let ((bytes (port->bytevector body)))
             (close-port body)
             bytes)))))

(define (text-of response) (let ((bytes (bytes-of response))) (and bytes (utf8->string bytes))))

(define (header response name) (response-header response name))

(define (sendable? response)
  (for-each (lambda (entry) (header->string (car entry) (cdr entry)))
            (response-headers response))
  #t)

(test-group "files"
  (let ((response (ask "/assets/a.txt")))
    (test '(200 "0123456789") (list (response-status response) (text-of response)))
    (test '((text/plain (charset . "utf-8")) 10 nosniff ((max-age . 60)))
          (map (lambda (name) (header response name))
               '(content-type content-length x-content-type-options cache-control)))
    (test #t (sendable? response)))
  (test "0123456789" (text-of (ask "/a.txt" #:handler whole)))
  (test big (text-of (ask "/assets/big.css")))
  (test "0123456789" (text-of (ask "/assets/inner.txt")))
  (test '(200 #f 10)
        (let ((response (ask "/assets/a.txt" #:method 'HEAD)))
          (list (response-status response) (response-body response)
                (header response 'content-length))))
  (test '(405 (GET HEAD)) (let ((response (ask "/assets/a.txt" #:method 'POST)))
                            (list (response-status response) (header response 'allow))))
  (test '((public . #t) (max-age . 31536000) (immutable . #t))
        (header (ask "/assets/app.0123abcd.js") 'cache-control))
  (test "<p>index" (text-of (ask "/assets/docs/")))
  (test '(308 "/assets/docs/?x=1")
        (let ((response (ask "/assets/docs?x=1")))
          (list (response-status response) (header response 'location))))
  (test '(404 404 404) (map status '("/assets/none" "/assets/empty/" "/assets/a.txt/")))
  (test #t (let ((text (response-body (ask "/listed/empty/"))))
             (and (string-contains text "<a href=\"./x%20y%26.txt\">x y&amp;.txt</a>") #t)))
  (test #f (string-contains (response-body (ask "/listed/")) "htpasswd"))
  (test-error (static-files (path-join root "none"))))

(test-group "conditions"
  (let* ((first (ask "/assets/a.txt"))
         (tag (header first 'etag))
         (modified (header first 'last-modified))
         (with (lambda headers (response-status (ask "/assets/a.txt" #:headers headers)))))
    (test 304 (with `(if-none-match . (,tag))))
    (test 304 (with `(if-none-match . ((,(car tag) . #f)))))
    (test 304 (with `(if-none-match . *)))
    (test 200 (with `(if-none-match . (("other" . #t)))))
    (test 304 (with `(if-modified-since . ,modified)))
    (test 200 (with `(if-modified-since . ,(- modified 1))))
    ;; The tag counts for more than the date.
    (test 200 (with `(if-none-match . (("other" . #t))) `(if-modified-since . ,modified)))
    (test 412 (with `(if-match . (("other" . #t)))))
    (test 200 (with `(if-match . (,tag))))
    (test 412 (with `(if-unmodified-since . ,(- modified 1))))
    (test #f (response-body (ask "/assets/a.txt" #:headers `((if-none-match . (,tag))))))))

(define (range . specs)
  (ask "/assets/a.txt" #:headers `((range . (bytes ,@specs)))))

(test-group "ranges"
  (test '(206 "234" (bytes (2 . 4) 10))
        (let ((response (range '(2 . 4))))
          (list (response-status response) (text-of response) (header response 'content-range))))
  (test '("89" "789" "0123456789" "9")
        (map (lambda (spec) (text-of (range spec))) '((8 . 100) (#f . 3) (#f . 100) (9 . #f))))
  (test '(416 (bytes #f 10))
        (let ((response (range '(10 . 20))))
          (list (response-status response) (header response 'content-range))))
  (let* ((response (range '(0 . 1) '(#f . 1)))
         (text (text-of response)))
    (test 206 (response-status response))
    (test #t (and (string-contains text "Content-Range: bytes 0-1/10\r\n\r\n01\r\n") #t))
    (test #t (and (string-contains text "Content-Range: bytes 9-9/10\r\n\r\n9\r\n--") #t))
    (test (header response 'content-length) (string-length text))
    (test #t (sendable? response)))
  ;; Ranges that would send more than the file are not.
  (test 200 (response-status (range '(0 . 9) '(0 . 9))))
  (test 200 (response-status (apply range (vector->list (make-vector 100 '(0 . 0))))))
  (test '("bbb" 100000)
        (list (text-of (ask "/assets/big.css" #:headers '((range . (bytes (199997 . #f))))))
              (bytevector-length
               (bytes-of (ask "/assets/big.css" #:headers '((range . (bytes (50000 . 149999)))))))))
  (test '(206 200 206 200)
        (let ((first (ask "/assets/a.txt")))
          (map (lambda (condition)
                 (response-status (ask "/assets/a.txt"
                                       #:headers `((range . (bytes (0 . 1)))
                                                   (if-range . ,condition)))))
               (list (header first 'etag) '("other" . #t)
                     (header first 'last-modified) 0)))))

(test-group "codings"
  (let ((zipped (ask "/assets/page.html" #:headers '((accept-encoding . "gzip, br"))))
        (plain (ask "/assets/page.html")))
    (test '("zipped" (gzip) (accept-encoding) (text/html (charset . "utf-8")))
          (list (text-of zipped) (header zipped 'content-encoding) (header zipped 'vary)
                (header zipped 'content-type)))
    (test '("<p>page" #f (accept-encoding))
          (list (text-of plain) (header plain 'content-encoding) (header plain 'vary)))
    (test #f (equal? (header zipped 'etag) (header plain 'etag)))))

(test-group "attacks"
  (test '() (let loop ((targets
                        '("/assets/../secret.txt" "/assets/%2e%2e/secret.txt"
                          "/assets/..%2fsecret.txt"
                          "/assets/%2e%2e%2fsecret.txt" "/assets/..%5csecret.txt"
                          "/assets/docs/..%5c..%5cx"
                          "/assets/a.txt%00.html" "/assets/%c0%ae%c0%ae/secret.txt"
                          "/assets/%252e%252e/secret.txt" "/assets//etc/passwd"
                          "/assets/%2fetc/passwd"
                          "/assets/.htpasswd" "/assets/%2ehtpasswd" "/assets/.git/config"
                          "/assets/link.txt" "/assets/linked/secret.txt" "/assets/linked/"
                          "/assets/docs/." "/assets/./a.txt" "/assets/a.txt/"
                          "/listed/.git/" "/listed/linked/"))
                       (answered '()))
              (if (null? targets)
                  answered
                  (loop (cdr targets)
                        (if (memv (status (car targets)) '(400 404))
                            answered
                            (cons (car targets) answered))))))
  ;; No address of another host.
  (test 404 (response-status (ask "//evil.example/docs" #:handler whole))))

(test-group "types"
  (test '(text/html (charset . "utf-8")) (media-type-of "a/b.HTML"))
  (test '(application/octet-stream) (media-type-of "a.b/c"))
  (test '(image/png) (media-type-of ".png"))
  (test '(x/y) (media-type-of "a.png" #:types '(("png" . x/y))))
  (test "0123456789" (text-of (file-response (make-request 'GET "/") (path-join root "a.txt")))))

(delete-tree root)
(delete-tree outside)

(test-finish)
