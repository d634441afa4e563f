;;; The server that crates/cli/tests/web_attacks.rs attacks: a page for each thing that can be
;;; attacked. It is started in a directory with `public/` and `secret.txt`, and prints its address.

(import (scheme base) (canny web bodies) (canny web middleware) (canny web message)
        (canny web router) (canny web server)
        (canny web sessions) (canny web static) (canny web websocket) (canny web cookies)
        (only (canny web uri) query->alist))

(define smuggled 0)

(define (parameter request name)
  (let ((entry (assoc name (query->alist (or (request-query request) "")))))
    (if entry (cdr entry) "")))

(define (text . parts)
  (make-response #:headers '((content-type . (text/plain)))
                 #:body (apply string-append parts)))

(define (count-bytes request body)
  (text (number->string (if body (bytevector-length (read-request-body request)) 0))
        " bytes\n"))

(define many (make-bytevector 65536 120))

(define-routes app
  (GET "/" (lambda (request body) (text "hello\n")))
  (POST "/count" count-bytes)
  ;; A request that gets here came with the body of another request.
  (GET "/smuggled" (lambda (request body) (set! smuggled (+ smuggled 1)) (text "smuggled\n")))
  (GET "/seen" (lambda (request body) (text (number->string smuggled) " smuggled\n")))
  ;; Handlers of a careless program, which trust their input.
  (GET "/header" (lambda (request body)
                   (make-response #:headers (list (cons 'x-name (parameter request "value"))))))
  (GET "/name" (lambda (request body)
                 (make-response #:headers
                                (list (cons (string->symbol (parameter request "value")) "a")))))
  (GET "/redirect" (lambda (request body)
                     (make-response #:status 303
                                    #:headers (list (cons 'location (parameter request "value"))))))
  (GET "/cookie" (lambda (request body)
                   (make-response
                    #:headers (list (cons 'set-cookie
                                          (make-set-cookie "name" (parameter request "value")))))))
  (GET "/html" (lambda (request body)
                 (make-response #:body `(html (body (@ (class ,(parameter request "value")))
                                                    (p ,(parameter request "value")))))))
  (GET "/leave" (lambda (request body)
                  (make-response #:body `(html (head (meta (@ (http-equiv "refresh")
                                                              (content ,(parameter request
                                                                                   "value"))))
                                                     (title "a"))))))
  (GET "/item/:id<integer>" (lambda (request body)
                              (text "item " (number->string (route-parameter request 'id)) "\n")))
  (GET "/deep/:a/:b/:c/:d/:e/:f" (lambda (request body) (text "deep\n")))
  (GET "/large" (lambda (request body)
                  (make-response #:headers '((content-type . (application/octet-stream)))
                                 #:body (lambda (port)
                                          (do ((count 0 (+ count 1)))
                                              ((= count 4096))
                                            (write-bytevector many port))))))
  (POST "/form" (lambda (request body)
                  (text (number->string (length (request-form request))) " fields\n")))
  (POST "/json" (lambda (request body) (request-json request) (text "json\n")))
  (POST "/upload" (lambda (request body)
                    (text (number->string (length (request-parts request))) " parts\n")))
  (POST "/change" (lambda (request body) (text "changed\n")))
  (GET "/visit" (lambda (request body)
                  (session-set! request "visits" 1)
                  (text (csrf-token request) "\n")))
  (GET "/visits" (lambda (request body)
                   (text (number->string (session-ref request "visits" 0)) " visits\n")))
  (GET "/socket" (lambda (request body)
                   (websocket-response request
                                       (lambda (socket)
                                         (let loop ()
                                           (let ((message (websocket-receive socket)))
                                             (if (not (eof-object? message))
                                                 (begin
                                                   (websocket-send socket message)
                                                   (loop))))))
                                       #:max-message-bytes 1000 #:ping-interval 0.4
                                       #:compression #t)))
  (mount "/files" (static-files "public")))

;; Only what changes something by a form needs a token here: the other pages are attacked for their
;; own sake.
(define (guarded handler)
  (let ((protected ((csrf-protection) handler)))
    (lambda (request body)
      (if (string=? (request-path request) "/change")
          (protected request body)
          (handler request body)))))

(define handler
  (with-middleware (router-handler app)
    (answer-errors)
    (security-headers)
    (parse-bodies #:limit 10000 #:total-limit 50000 #:fields-limit 100)
    (sessions '("a key of at least thirty-two bytes") #:secure? #f)
    guarded))

(define server
  (start-server handler #:port 0 #:header-timeout 1 #:body-timeout 1 #:idle-timeout 2
                #:max-body-bytes 100000))

(write-string (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
