#lang racket/base
;; The same pages by Racket's web server. The first argument is the port.
(require web-server/servlet-env web-server/http web-server/dispatchers/dispatch xml racket/list net/url)

(define (item i)
  `(tr (td ,(number->string i))
       (td (a ((href ,(string-append "/items/" (number->string i)))) "Item <" ,(number->string i) ">"))
       (td "A description of the item, with \"quotes\" & ampersands, that goes on for a while.")))

(define (page)
  `(html (head (title "Items")) (body (h1 "Items") (table ,@(map item (range 1 301))))))

(define (headers request)
  `(html (head (title "Headers"))
         (body (table ,@(for/list ([h (request-headers/raw request)])
                          `(tr (td ,(bytes->string/utf-8 (header-field h)))
                               (td ,(bytes->string/utf-8 (header-value h)))))))))

(define (serve request)
  (define path (url->string (request-uri request)))
  (cond
    [(equal? path "/")
     (response/full 200 #"OK" (current-seconds) #"text/plain" '() (list #"Hello, World!"))]
    [(equal? path "/page") (response/xexpr (page))]
    [(equal? path "/headers") (response/xexpr (headers request))]
    [else (response/full 404 #"Not Found" (current-seconds) #f '() '())]))

(serve/servlet serve #:port (string->number (vector-ref (current-command-line-arguments) 0))
               #:command-line? #t #:servlet-regexp #rx"" #:launch-browser? #f #:banner? #f)
