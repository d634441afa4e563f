;; The pages that the servers of other languages beside it give, too. The first argument is the
;; port; if there are more, the others are a port for TLS, a certificate and its key.

(import (scheme base) (scheme write) (scheme process-context) (canny web server)
        (canny web message) (canny json) (canny net) (canny sqlite) (canny web uri))

(define (item i)
  `(tr (td ,i)
       (td (a (@ (href ,(string-append "/items/" (number->string i)))) "Item <" ,i ">"))
       (td "A description of the item, with \"quotes\" & ampersands, that goes on for a while.")))

(define (items n)
  (let loop ((i n) (rows '()))
    (if (= i 0) rows (loop (- i 1) (cons (item i) rows)))))

(define (page)
  `(html (head (title "Items"))
         (body (h1 "Items") (table ,@(items 300)))))

(define (headers request)
  `(html (head (title "Headers"))
         (body (table ,@(map (lambda (header)
                               `(tr (td ,(symbol->string (car header)))
                                    (td ,(let ((port (open-output-string)))
                                           (write (cdr header) port)
                                           (get-output-string port)))))
                             (request-headers request))))))

;; Ten rows of a database of a hundred thousand, from the number in the query on.
(define db (open-memory-database))
(execute db "create table items (id integer primary key, name text not null, price real not null)")
(execute db "insert into items (name, price)
             with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
             select 'Item \"' || i || '\"', i / 4.0 from n")

(define (rows request)
  (let ((from (cdr (assoc "from" (query->alist (request-query request))))))
    (values '((content-type . (application/json)))
            (json->string
             (list->vector
              (query-alists db
                            "select id, name, price from items where id >= ? order by id limit 10"
                            (string->number from)))))))

(define html '((content-type . (text/html))))

(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/")
           (values '((content-type . (text/plain))) "Hello, World!"))
          ((string=? path "/page") (values html (page)))
          ((string=? path "/headers") (values html (headers request)))
          ((string=? path "/rows") (rows request))
          (else (make-response #:status 404 #:body "no such page\n")))))

(define (argument n)
  (list-ref (command-line) n))

(if (> (length (command-line)) 2)
    (start-server handler #:port (string->number (argument 2))
                  #:tls (tls-server-context (argument 3) (argument 4))))
(run-server handler #:port (string->number (argument 1)))
