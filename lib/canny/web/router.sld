;;; (canny web router): which handler answers a request.
;;;
;;;     (define-routes app
;;;       (GET "/" home)
;;;       (GET "/users/:id<integer>" show-user #:name 'user)
;;;       ((POST PUT) "/users" save-user)
;;;       (mount "/api" api))
;;;     (run-server (router-handler app))
;;;
;;; Routes are in a tree, one level for each segment of a path. Matching visits a node of it at most
;;; once and never goes back over a segment's text. So it takes time in proportion to any path.
;;; Segments are taken apart before they are decoded, and each is decoded once. A path with a
;;; segment `.` or `..`, or with a control character, matches nothing.

(define-library (canny web router)
  (export route mount make-router router? router-handler define-routes routes
          route-parameter route-parameters route-name route-pattern query-parameter query-parameters
          url-for
          declare-route-type! path-segments)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data lists) assoc for-each map)
          (only (canny machine control) raise guard)
          (canny web message)
          (only (canny profile) %profile-labels-entry %call-with-labels-entry)
          (only (canny web uri) percent-decode percent-encode alist->query query->alist uri-error?))
  (begin

    (define (wrong who message . irritants)
      (raise (%make-condition 'range message irritants who)))

    ;;; Types of parameters

    ;; A name with a procedure that takes a decoded segment and gives a value, or `#f` where the
    ;; segment is none.
    (define types '())

    ;; Declares a type of parameters, for all routes that are made afterwards.
    (define (declare-route-type! name convert)
      (check-argument 'declare-route-type! 1 symbol? "symbol" name)
      (check-argument 'declare-route-type! 2 procedure? "procedure" convert)
      (set! types (cons (cons name convert) types)))

    (define (all? test text start end)
      (or (= start end)
          (and (test (string-ref text start))
               (all? test text (+ start 1) end))))

    (define (digit? char)
      (and (char<=? #\0 char) (char<=? char #\9)))

    (define (hexadecimal? char)
      (or (digit? char)
          (and (char<=? #\a char) (char<=? char #\f))
          (and (char<=? #\A char) (char<=? char #\F))))

    (define (integer-segment text)
      (let* ((length (string-length text))
             (start (if (and (> length 1) (char=? #\- (string-ref text 0))) 1 0)))
        (and (< start length (+ start 19))
             (all? digit? text start length)
             (string->number text))))

    (define (uuid-segment text)
      (and (= 36 (string-length text))
           (char=? #\- (string-ref text 8))
           (char=? #\- (string-ref text 13))
           (char=? #\- (string-ref text 18))
           (char=? #\- (string-ref text 23))
           (all? hexadecimal? text 0 8)
           (all? hexadecimal? text 9 13)
           (all? hexadecimal? text 14 18)
           (all? hexadecimal? text 19 23)
           (all? hexadecimal? text 24 36)
           text))

    (define (days-of month year)
      (case month
        ((2)
         (if (and (= 0 (remainder year 4))
                  (or (not (= 0 (remainder year 100))) (= 0 (remainder year 400))))
             29
             28))
        ((4 6 9 11) 30)
        (else 31)))

    ;; A list of year, month and day.
    (define (date-segment text)
      (and (= 10 (string-length text))
           (char=? #\- (string-ref text 4))
           (char=? #\- (string-ref text 7))
           (all? digit? text 0 4)
           (all? digit? text 5 7)
           (all? digit? text 8 10)
           (let ((year (string->number (substring text 0 4)))
                 (month (string->number (substring text 5 7)))
                 (day (string->number (substring text 8 10))))
             (and (<= 1 month 12)
                  (<= 1 day (days-of month year))
                  (list year month day)))))

    (define (slug-segment text)
      (and (all? (lambda (char)
                   (or (digit? char) (char=? char #\-)
                       (and (char<=? #\a char) (char<=? char #\z))))
                 text 0 (string-length text))
           text))

    (define (type-named name pattern)
      (case name
        ((integer) integer-segment)
        ((string) #f)
        ((uuid) uuid-segment)
        ((date) date-segment)
        ((slug) slug-segment)
        (else
         (let ((entry (assq name types)))
           (if entry
               (cdr entry)
               (wrong 'route "a parameter has a type that is not declared" pattern name))))))

    ;;; Patterns

    ;; The segments between slashes, from an index on.
    (define (split text start)
      (let loop ((start start) (parts '()))
        (let ((index (%string-index text #\/ start)))
          (if index
              (loop (+ index 1) (cons (substring text start index) parts))
              (reverse! (cons (substring text start (string-length text)) parts))))))

    ;; The segments of a pattern: a string, `#(name type)` or `#(name)` for the rest.
    (define (pattern-segments who pattern)
      (check-argument who 2 string? "string" pattern)
      (if (not (and (> (string-length pattern) 0) (char=? #\/ (string-ref pattern 0))))
          (wrong who "a path begins with a slash" pattern))
      (let loop ((parts (split pattern 1)) (segments '()) (names '()))
        (if (null? parts)
            (reverse segments)
            (let* ((segment (pattern-segment who (car parts) pattern))
                   (name (and (vector? segment) (vector-ref segment 0))))
              (if (and name (memq name names))
                  (wrong who "a parameter comes twice" pattern name))
              (if (and (vector? segment) (= 1 (vector-length segment)) (pair? (cdr parts)))
                  (wrong who "what takes the rest of the path stands last" pattern))
              (loop (cdr parts) (cons segment segments) (if name (cons name names) names))))))

    (define (pattern-segment who text pattern)
      (let ((length (string-length text)))
        (define (name start end)
          (if (= start end)
              (wrong who "a parameter has no name" pattern))
          (string->symbol (substring text start end)))
        (cond ((= 0 length) text)
              ((char=? #\* (string-ref text 0)) (vector (name 1 length)))
              ((char=? #\: (string-ref text 0))
               (let ((open (%string-index text #\< 0)))
                 (cond ((not open) (vector (name 1 length) 'string))
                       ((char=? #\> (string-ref text (- length 1)))
                        (let ((type (name (+ open 1) (- length 1))))
                          (type-named type pattern)
                          (vector (name 1 open) type)))
                       (else (wrong who "the type of a parameter has no end" pattern)))))
              (else text))))

    ;;; Routes

    (define-record-type <route>
      (make-route methods segments handler name)
      route?
      (methods route-methods)
      (segments route-segments)
      (handler route-handler)
      (name route-symbol))

    (define (check-method who method)
      (if (not (symbol? method))
          (wrong who "a method is a symbol, as GET" method)))

    ;; A handler for a method, a symbol as `GET`, for a list of them, or for `ANY`, and for paths of
    ;; a pattern.
    (define* (route methods pattern handler #:key (name #f))
      (let ((methods (if (list? methods) methods (list methods))))
        (for-each (lambda (method) (check-method 'route method)) methods)
        (check-argument 'route 3 procedure? "procedure" handler)
        (make-route methods (pattern-segments 'route pattern) handler name)))

    ;; The routes of a router behind a prefix. A handler gets all requests below the prefix; its
    ;; parameter `rest` has the segments behind it.
    (define* (mount prefix target #:key (name #f))
      (let ((segments (pattern-segments 'mount prefix)))
        (let ((base (if (and (pair? segments) (equal? (last-of segments) ""))
                        (without-last segments)
                        segments)))
          (cond ((router? target)
                 (append (map (lambda (route) (behind base (route-segments route) route))
                              (router-routes target))
                         ;; "/" is the prefix itself as well.
                         (if (null? base)
                             '()
                             (let loop ((routes (router-routes target)))
                               (cond ((null? routes) '())
                                     ((equal? '("") (route-segments (car routes)))
                                      (cons (behind base '() (car routes)) (loop (cdr routes))))
                                     (else (loop (cdr routes))))))))
                ((procedure? target)
                 (list (make-route '(ANY) (append base (list (vector 'rest))) target name)))
                (else (%type-error 'mount 2 "router or handler" target))))))

    (define (behind base segments route)
      (make-route (route-methods route) (append base segments) (route-handler route)
                  (route-symbol route)))

    (define (last-of list)
      (if (pair? (cdr list)) (last-of (cdr list)) (car list)))

    (define (without-last list)
      (if (pair? (cdr list)) (cons (car list) (without-last (cdr list))) '()))

    ;;; The tree

    ;; Nodes behind literal segments are in a table. Those behind parameters are in a list of pairs
    ;; of a type and a node, types that convert before those that take everything. `rest` and
    ;; `here` are methods with endpoints.
    (define-record-type <node>
      (make-node literals parameters here rest)
      node?
      (literals node-literals)
      (parameters node-parameters set-node-parameters!)
      (here node-here set-node-here!)
      (rest node-rest set-node-rest!))

    (define (new-node)
      (make-node (%make-hash-table 'string #f 0) '() '() '()))

    ;; An endpoint: the names of the parameters, the handler, the name and the pattern of the route,
    ;; and its labels in profiles. The method among them is the route's, of which there are few.
    (define (add-route! root route)
      (let loop ((node root) (segments (route-segments route)) (names '()))
        (if (null? segments)
            (set-node-here! node (add-endpoints (node-here node) route names))
            (let ((segment (car segments)))
              (cond ((string? segment)
                     (let ((next (or (%hash-table-ref (node-literals node) segment #f)
                                     (new-node))))
                       (%hash-table-set! (node-literals node) segment next)
                       (loop next (cdr segments) names)))
                    ((= 1 (vector-length segment))
                     (set-node-rest! node
                                     (add-endpoints (node-rest node) route
                                                    (cons (vector-ref segment 0) names))))
                    (else
                     (let* ((type (vector-ref segment 1))
                            (entry (assq type (node-parameters node)))
                            (next (if entry (cddr entry) (new-node))))
                       (if (not entry)
                           (set-node-parameters! node
                                                 (insert (cons* type (type-named type #f) next)
                                                         (node-parameters node))))
                       (loop next (cdr segments) (cons (vector-ref segment 0) names)))))))))

    ;; Strings come last, others in the order in which they were added.
    (define (insert entry entries)
      (cond ((null? entries) (list entry))
            ((eq? 'string (caar entries)) (cons entry entries))
            (else (cons (car entries) (insert entry (cdr entries))))))

    (define (add-endpoints endpoints route names)
      (let loop ((methods (route-methods route)) (endpoints endpoints))
        (if (null? methods)
            endpoints
            (begin
              (if (assq (car methods) endpoints)
                  (wrong 'make-router "there are two handlers for the same method and paths"
                         (car methods) (pattern-text route)))
              (loop (cdr methods)
                    (append endpoints
                            (list (cons (car methods)
                                        (vector names (route-handler route)
                                                (route-symbol route)
                                                (pattern-text route)
                                                (endpoint-labels (car methods) route))))))))))

    (define (endpoint-labels method route)
      (%profile-labels-entry
       (list (cons 'route (pattern-text route)) (cons 'method method))))

    (define (pattern-text route)
      (apply string-append
             (map (lambda (segment)
                    (string-append
                     "/"
                     (cond ((string? segment) segment)
                           ((= 1 (vector-length segment))
                            (string-append "*" (symbol->string (vector-ref segment 0))))
                           (else (string-append ":" (symbol->string (vector-ref segment 0)))))))
                  (route-segments route))))

    ;;; Matching

    ;; The decoded segments of a path as a client wrote it, without the slash at its beginning.
    ;; Gives `#f` for a path that none should have: with broken escapes, bytes that are no UTF-8,
    ;; control characters, or segments `.` and `..`.
    (define (path-segments path)
      (and (> (string-length path) 0)
           (char=? #\/ (string-ref path 0))
           (let ((parts (split path 1)))
             (if (%string-index path #\% 0)
                 (guard (object ((uri-error? object) #f))
                   (checked (map percent-decode parts)))
                 (checked parts)))))

    (define (checked segments)
      (let loop ((rest segments))
        (cond ((null? rest) segments)
              ((acceptable? (car rest)) (loop (cdr rest)))
              (else #f))))

    (define (acceptable? segment)
      (and (not (and (<= 1 (string-length segment) 2)
                     (or (string=? segment ".") (string=? segment ".."))))
           (no-control? segment (string-length segment) 0)))

    (define (no-control? segment length index)
      (or (eqv? index length)
          (let ((char (string-ref segment index)))
            (and (char>=? char #\space)
                 (not (char=? char #\delete))
                 (no-control? segment length (+ index 1))))))

    ;; The endpoints for segments and the values of parameters, last first, in a pair, or `#f`.
    (define (find node segments values)
      (if (null? segments)
          (if (pair? (node-here node))
              (cons (node-here node) values)
              (and (pair? (node-rest node))
                   (cons (node-rest node) (cons '() values))))
          (let ((segment (car segments)))
            (or (let ((next (%hash-table-ref (node-literals node) segment #f)))
                  (and next (find next (cdr segments) values)))
                (and (not (eqv? 0 (string-length segment)))
                     (let loop ((parameters (node-parameters node)))
                       (and (pair? parameters)
                            (let* ((entry (car parameters))
                                   (convert (cadr entry))
                                   (value (if convert (convert segment) segment)))
                              (or (and value
                                       (find (cddr entry) (cdr segments) (cons value values)))
                                  (loop (cdr parameters)))))))
                (and (pair? (node-rest node))
                     (cons (node-rest node) (cons segments values)))))))

    ;;; Routers

    (define-record-type <router>
      (new-router routes root not-found)
      router?
      (routes router-routes)
      (root router-root)
      (not-found router-not-found))

    ;; A router of routes and of lists of them, as `mount` gives. `#:not-found` is a handler.
    (define* (make-router routes #:key (not-found #f))
      (check-argument 'make-router 1 list? "list of routes" routes)
      (let ((root (new-node))
            (all (flatten routes)))
        (for-each (lambda (route) (add-route! root route)) all)
        (new-router all root not-found)))

    (define (flatten routes)
      (cond ((null? routes) '())
            ((route? (car routes)) (cons (car routes) (flatten (cdr routes))))
            ((list? (car routes)) (append (car routes) (flatten (cdr routes))))
            (else (%type-error 'make-router 1 "list of routes" (car routes)))))

    ;; The handler that answers requests as a router says: 404 where nothing matches, 405 with
    ;; `Allow` where no handler takes the method. A handler of GET takes HEAD as well; OPTIONS is
    ;; answered.
    (define (router-handler router)
      (check-argument 'router-handler 1 router? "router" router)
      (let ((root (router-root router))
            (not-found (router-not-found router)))
        (lambda (request body)
          (let* ((path (request-path request))
                 (segments (path-segments path)))
            (cond (segments
                   (let ((found (find root segments '())))
                     (cond (found (answer request body (car found) (cdr found)))
                           (not-found (not-found request body))
                           (else (plain 404 "Not Found" '())))))
                  ((and (eq? 'OPTIONS (request-method request))
                        (string=? "*" (request-target request)))
                   (make-response #:status 204))
                  (else (plain 400 "Bad Request" '())))))))

    (define (plain status text headers)
      (make-response #:status status
                     #:headers (cons '(content-type . (text/plain (charset . "utf-8"))) headers)
                     #:body (string-append text "\n")))

    (define (answer request body endpoints values)
      (let* ((method (request-method request))
             (endpoint (or (assq method endpoints)
                           (and (eq? method 'HEAD) (assq 'GET endpoints))
                           (assq 'ANY endpoints))))
        (cond (endpoint (call request body (cdr endpoint) values))
              ((eq? method 'OPTIONS)
               (make-response #:status 204 #:headers (list (cons 'allow (allowed endpoints)))))
              (else
               (plain 405 "Method Not Allowed" (list (cons 'allow (allowed endpoints))))))))

    (define (allowed endpoints)
      (let ((methods (map car endpoints)))
        (append methods
                (if (and (memq 'GET methods) (not (memq 'HEAD methods))) '(HEAD) '())
                (if (memq 'OPTIONS methods) '() '(OPTIONS)))))

    (define (call request body endpoint values)
      (let ((names (vector-ref endpoint 0)))
        (set-request-attribute! request 'route
                                (cons endpoint
                                      (if (null? names) '() (pairs names values '()))))
        (%call-with-labels-entry (vector-ref endpoint 4) (vector-ref endpoint 1)
                                 request body)))

    (define (pairs names values result)
      (if (null? names)
          result
          (pairs (cdr names) (cdr values) (cons (cons (car names) (car values)) result))))

    ;; The value of a parameter of the route, or a default.
    (define* (route-parameter request name #:optional (default #f))
      (let ((entry (assq name (route-parameters request))))
        (if entry (cdr entry) default)))

    ;; All parameters, an association list.
    (define (route-parameters request)
      (cdr (request-attribute request 'route '(#f))))

    ;; The name of the route that a request took, or `#f`.
    (define (route-name request)
      (endpoint-part request 2))

    ;; The pattern of the route that a request took, without types of parameters, or `#f`.
    (define (route-pattern request)
      (endpoint-part request 3))

    (define (endpoint-part request index)
      (let ((endpoint (car (request-attribute request 'route '(#f)))))
        (and endpoint (vector-ref endpoint index))))

    ;; The first value that the query has for a name, a text, or a default.
    (define* (query-parameter request name #:optional (default #f))
      (let ((entry (assoc (if (symbol? name) (symbol->string name) name)
                          (query-parameters request))))
        (if entry (cdr entry) default)))

    ;; All names and values of the query, an association list of texts. It is read once; the length
    ;; of targets limits it.
    (define (query-parameters request)
      (or (request-attribute request 'query-parameters)
          (let* ((query (request-query request))
                 (parameters (if query (query->alist query) '())))
            (set-request-attribute! request 'query-parameters parameters)
            parameters)))

    ;;; URLs

    (define (shown value)
      (cond ((string? value) value)
            ((symbol? value) (symbol->string value))
            ((number? value) (number->string value))
            (else (%type-error 'url-for 3 "string, symbol or number" value))))

    (define (two-digits number)
      (if (< number 10)
          (string-append "0" (number->string number))
          (number->string number)))

    (define (segment-text value type)
      (let ((text (if (and (eq? type 'date) (pair? value))
                      (let ((year (number->string (car value))))
                        (string-append (make-string (max 0 (- 4 (string-length year))) #\0) year
                                       "-" (two-digits (cadr value))
                                       "-" (two-digits (car (cddr value)))))
                      (shown value)))
            (convert (and (not (memq type '(string rest))) (type-named type #f))))
        (if (or (string=? text "") (not (acceptable? text)) (and convert (not (convert text))))
            (wrong 'url-for "a parameter has a value that the route does not take" value))
        (percent-encode text)))

    ;; The path of the route with a name, for an association list of parameters; those that the
    ;; route has not become a query.
    (define* (url-for router name #:optional (parameters '()) #:key (query '()))
      (check-argument 'url-for 1 router? "router" router)
      (let ((route (let loop ((routes (router-routes router)))
                     (cond ((null? routes) (wrong 'url-for "there is no route of that name" name))
                           ((and (route-symbol (car routes))
                                 (eq? name (route-symbol (car routes))))
                            (car routes))
                           (else (loop (cdr routes)))))))
        (define (parameter name)
          (let ((entry (assq name parameters)))
            (if entry
                (cdr entry)
                (wrong 'url-for "a parameter of the route is missing" name))))
        (let ((path
               (apply string-append
                      (map (lambda (segment)
                             (cond ((string? segment)
                                    (string-append "/" (percent-encode segment)))
                                   ((= 1 (vector-length segment))
                                    (apply string-append
                                           (map (lambda (part)
                                                  (string-append "/" (segment-text part 'rest)))
                                                (parameter (vector-ref segment 0)))))
                                   (else
                                    (string-append
                                     "/"
                                     (segment-text (parameter (vector-ref segment 0))
                                                   (vector-ref segment 1))))))
                           (route-segments route)))))
          (if (null? query)
              path
              (string-append path "?" (alist->query query))))))

    ;;; Syntax

    ;; A router of clauses `(METHOD path handler)`, `((METHOD ...) path handler)` and
    ;; `(mount prefix router)`.
    (define-syntax routes
      (syntax-rules ()
        ((_ clause ...) (make-router (list (route-clause clause) ...)))))

    (define-syntax route-clause
      (syntax-rules (mount)
        ((_ (mount prefix target . options)) (mount prefix target . options))
        ((_ ((method ...) pattern handler . options))
         (route '(method ...) pattern handler . options))
        ((_ (method pattern handler . options)) (route 'method pattern handler . options))))

    (define-syntax define-routes
      (syntax-rules ()
        ((_ name clause ...) (define name (routes clause ...)))))))
