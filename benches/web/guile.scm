;; The same pages by Guile's web server. The first argument is the port.
(use-modules (web server) (web request) (web uri) (sxml simple))

(define (item i)
  `(tr (td ,i)
       (td (a (@ (href ,(string-append "/items/" (number->string i)))) "Item <" ,i ">"))
       (td "A description of the item, with \"quotes\" & ampersands, that goes on for a while.")))

(define (page)
  `(html (head (title "Items"))
         (body (h1 "Items") (table ,@(map item (iota 300 1))))))

(define (headers request)
  `(html (head (title "Headers"))
         (body (table ,@(map (lambda (header)
                               `(tr (td ,(symbol->string (car header)))
                                    (td ,(object->string (cdr header)))))
                             (request-headers request))))))

(define html '((content-type . (text/html))))

(define (handler request body)
  (let ((path (uri-path (request-uri request))))
    (cond ((string=? path "/")
           (values '((content-type . (text/plain))) "Hello, World!"))
          ((string=? path "/page")
           (values html (lambda (port) (sxml->xml (page) port))))
          ((string=? path "/headers")
           (values html (lambda (port) (sxml->xml (headers request) port))))
          (else (values '() "no such page\n")))))

(run-server handler 'http (list #:port (string->number (cadr (command-line)))))
