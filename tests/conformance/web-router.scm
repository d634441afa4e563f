;;; (canny web router): paths, methods, parameters, names; and what attackers send.

(import (scheme base) (canny web message) (canny web router) (canny test))

(define (shows . names)
  (lambda (request body)
    (make-response #:body (map (lambda (name) (route-parameter request name)) names))))

(define (named name)
  (lambda (request body) (make-response #:body name)))

(define (even-segment text)
  (let ((number (string->number text)))
    (and (exact-integer? number) (even? number) number)))

(declare-route-type! 'even even-segment)

(define-routes api
  (GET "/" (named 'api-root))
  (GET "/items/:id<uuid>" (shows 'id) #:name 'item))

(define-routes app
  (GET "/" (named 'home))
  (GET "/users" (named 'users))
  (POST "/users" (named 'create))
  (GET "/users/new" (named 'new))
  (GET "/users/:id<integer>" (shows 'id) #:name 'user)
  (GET "/users/:name" (shows 'name))
  ((PUT PATCH) "/users/:id<integer>" (named 'change))
  (GET "/users/:id<integer>/posts/:slug<slug>" (shows 'id 'slug) #:name 'post)
  (GET "/days/:day<date>" (shows 'day) #:name 'day)
  (GET "/even/:n<even>" (shows 'n))
  (GET "/even/:n<even>/x" (named 'even-x))
  (GET "/even/:any/y" (named 'any-y))
  (GET "/files/*path" (shows 'path) #:name 'file)
  (GET "/caf\xe9;" (named 'cafe) #:name 'cafe)
  (ANY "/any" (named 'any))
  (OPTIONS "/own" (named 'own))
  (GET "/two" (lambda (request body) (values '((x-a . "b")) "two")))
  (mount "/api" api)
  (mount "/raw" (lambda (request body)
                  (make-response #:body (route-parameter request 'rest)))))

(define handler (router-handler app))

(define (ask method target) (handler (make-request method target) #f))

(define (body-of target) (response-body (ask 'GET target)))

(define (status-of method target) (response-status (ask method target)))

(test-group "paths"
  (test '(home users new) (map body-of '("/" "/users" "/users/new")))
  (test 'users (body-of "/users?x=1"))
  (test '(7) (body-of "/users/7"))
  (test '(-7) (body-of "/users/-7"))
  (test '("ada") (body-of "/users/ada"))
  (test '("12x") (body-of "/users/12x"))
  (test '("99999999999999999999") (body-of "/users/99999999999999999999"))
  (test '(7 "a-b") (body-of "/users/7/posts/a-b"))
  (test 404 (status-of 'GET "/users/7/posts/A"))
  (test 404 (status-of 'GET "/users/"))
  (test 404 (status-of 'GET "/users/7/"))
  (test 404 (status-of 'GET "//"))
  (test '((2024 2 29)) (body-of "/days/2024-02-29"))
  (test 404 (status-of 'GET "/days/2023-02-29"))
  (test 404 (status-of 'GET "/days/2023-13-01"))
  (test '(4) (body-of "/even/4"))
  (test 404 (status-of 'GET "/even/5"))
  (test '(even-x any-y) (map body-of '("/even/4/x" "/even/4/y")))
  (test '(("a" "b" "c.txt")) (body-of "/files/a/b/c.txt"))
  (test '(()) (body-of "/files"))
  (test '(("")) (body-of "/files/"))
  (test 'cafe (body-of "/caf%C3%A9"))
  (test '(api-root api-root) (map body-of '("/api" "/api/")))
  (test '("0f8fad5b-d9cb-469f-a165-70867728950e")
        (body-of "/api/items/0f8fad5b-d9cb-469f-a165-70867728950e"))
  (test 404 (status-of 'GET "/api/items/0f8fad5b-d9cb-469f-a165-70867728950"))
  (test '("a" "b") (body-of "/raw/a/b"))
  (test 'users (body-of "http://example.org/users")))

(test-group "methods"
  (test 'create (response-body (ask 'POST "/users")))
  (test 'change (response-body (ask 'PATCH "/users/1")))
  (test 200 (status-of 'HEAD "/users"))
  (test 405 (status-of 'DELETE "/users"))
  (test '(GET POST HEAD OPTIONS) (response-header (ask 'DELETE "/users") 'allow))
  (test 204 (status-of 'OPTIONS "/users"))
  (test '(GET PUT PATCH HEAD OPTIONS) (response-header (ask 'OPTIONS "/users/1") 'allow))
  (test 204 (status-of 'OPTIONS "*"))
  (test 'own (response-body (ask 'OPTIONS "/own")))
  (test '(any any) (map (lambda (method) (response-body (ask method "/any"))) '(DELETE BREW)))
  (test 'two (call-with-values (lambda () (ask 'GET "/two"))
               (lambda (headers body) (string->symbol body))))
  (test 'own-404
        (response-body
         ((router-handler (make-router '() #:not-found (named 'own-404)))
          (make-request 'GET "/x") #f))))

(test-group "attacks"
  (test '(400 400 400 400 400 400)
        (map (lambda (target) (status-of 'GET target))
             '("/files/../secret" "/files/%2e%2e/secret" "/files/%2E./secret" "/files/."
               "/files/a%00.txt" "/files/a%0d%0ab")))
  (test '(400 400 400 400)
        (map (lambda (target) (status-of 'GET target))
             '("/files/%c0%ae%c0%ae/x" "/files/%" "/files/%zz" "/files/%ff")))
  ;; Decoded once: the result is a name like others.
  (test '(("%2e%2e" "x")) (body-of "/files/%252e%252e/x"))
  ;; An escaped slash stays in its segment, and so does a backslash.
  (test '(("..%2f" "../x" "..\\x"))
        (body-of "/files/..%252f/..%2fx/..%5cx"))
  (test 400 (status-of 'GET "users"))
  (test 404 (status-of 'GET (string-append "/" (make-string 100000 #\/))))
  (test 404 (status-of 'GET (apply string-append (vector->list (make-vector 100000 "/a"))))))

(test-group "names"
  (test "/users/7" (url-for app 'user '((id . 7))))
  (test "/users/7/posts/a-b" (url-for app 'post '((id . 7) (slug . "a-b"))))
  (test "/days/2024-02-29" (url-for app 'day '((day 2024 2 29))))
  (test "/files/a/b%2Fc%20d" (url-for app 'file '((path "a" "b/c d"))))
  (test "/caf%C3%A9?a=b+c" (url-for app 'cafe '() #:query '((a . "b c"))))
  (test "/api/items/0f8fad5b-d9cb-469f-a165-70867728950e"
        (url-for app 'item '((id . "0f8fad5b-d9cb-469f-a165-70867728950e"))))
  (test-error (url-for app 'user '((id . "x"))))
  (test-error (url-for app 'user '()))
  (test-error (url-for app 'nobody))
  (test-error (url-for app 'file '((path ".." "x"))))
  (test 'user (let ((request (make-request 'GET "/users/1")))
                (handler request #f)
                (route-name request))))

(test-group "what cannot be a router"
  (test-error (route 'GET "users" (named 'x)))
  (test-error (route "GET" "/" (named 'x)))
  (test-error (route 'GET "/" 'x))
  (test-error (route 'GET "/:a/:a" (named 'x)))
  (test-error (route 'GET "/*a/b" (named 'x)))
  (test-error (route 'GET "/:" (named 'x)))
  (test-error (route 'GET "/:a<b" (named 'x)))
  (test-error (route 'GET "/:a<unknown>" (named 'x)))
  (test-error (make-router (list (route 'GET "/:a" (named 'x)) (route 'GET "/:b" (named 'y)))))
  (test-error (make-router (list 1))))

(test-group "parameters of the query"
  (define (parameters target)
    (query-parameters (make-request 'GET target)))
  (test '(("a" . "1 2") ("a" . "3") ("b" . "") ("c" . "")) (parameters "/x?a=1+2&a=3&b=&c&&"))
  (test '() (parameters "/x"))
  (test '() (parameters "/x?"))
  ;; Nothing is an error.
  (test '(("%zz" . "\xfffd;") ("=" . "=")) (parameters "/x?%zz=%FF&%3D=%3D"))
  (let ((request (make-request 'GET "/x?a=1&a=2")))
    (test '("1" "1" #f "none")
          (list (query-parameter request "a") (query-parameter request 'a)
                (query-parameter request "b") (query-parameter request "b" "none")))))

(test-finish)
