;;; (canny web client connections): the connections of a client of HTTP: how they are made, directly
;;; and by way of proxies. The pool keeps those that can be used again.
;;;
;;; A *place* is where requests with the same scheme, host, port and proxy go. It has as many
;;; permits as it may have connections in use. Idle ones are taken before new ones are made, so that
;;; there are never more open than permits.
;;;
;;; | field | changed under |
;;; |---|---|
;;; | places of a pool, users and idle connections of a place | the lock of the pool |
;;; | a link | who has it from the pool |

(define-library (canny web client connections)
  (export make-pool pool? close-pool! pool-idle-count
          acquire-link release-link! discard-link!
          link-input link-output link-reader link-used? link-by-proxy?
          proxy-for)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) raise guard)
          (only (canny io) set-port-timeout!)
          (only (canny net)
                tcp-connect tls-connect tls-client-context connection-start-tls!
                connection-input connection-output close-connection)
          (only (canny sync)
                make-mutex with-mutex make-semaphore semaphore-acquire! semaphore-release!)
          (canny web headers text) (canny web uri) (canny web client messages))
  (begin

    (define-record-type pool
      (new-pool lock places limit idle-seconds context closed?)
      pool?
      (lock pool-lock)
      ;; Texts to places.
      (places pool-places)
      (limit pool-limit)
      (idle-seconds pool-idle-seconds)
      ;; The TLS session, or #f without one.
      (context pool-context set-pool-context!)
      (closed? pool-closed? set-pool-closed!))

    (define-record-type place
      (make-place permits users idle)
      place?
      (permits place-permits)
      ;; How many have a permit, or wait for one.
      (users place-users set-place-users!)
      ;; Links, the one that was used last first.
      (idle place-idle set-place-idle!))

    (define-record-type link
      (make-link connection pool place reader by-proxy? used? until)
      link?
      (connection link-connection)
      (pool link-pool)
      (place link-place)
      (reader link-reader)
      ;; Whether requests are written for a proxy to read.
      (by-proxy? link-by-proxy?)
      ;; Whether it has had a request before.
      (used? link-used? set-link-used!)
      ;; Until when it may be idle, in nanoseconds of the monotonic clock.
      (until link-until set-link-until!))

    (define (make-pool limit idle-seconds context)
      (new-pool (make-mutex #:name "connections") (%make-hash-table 'equal #f 8) limit
                idle-seconds context #f))

    (define (link-input link) (connection-input (link-connection link)))
    (define (link-output link) (connection-output (link-connection link)))

    (define (now) (%clock-nanoseconds clock/monotonic))

    ;; Unsent bytes are dropped.
    (define (close-quietly connection)
      (guard (condition ((error-object? condition) #f))
        (set-port-timeout! (connection-output connection) 1)
        (close-connection connection)))

    ;; The pool.

    ;; How many unused places there may be.
    (define places-limit 200)

    ;; The place of a key, with one more user.
    (define (enter-place! pool key)
      (with-mutex (pool-lock pool)
        (let* ((places (pool-places pool))
               (place (or (%hash-table-ref places key #f)
                          (begin
                            (if (>= (%hash-table-count places) places-limit)
                                (forget-places! places))
                            (let ((place
                                   (make-place (make-semaphore (pool-limit pool)
                                                               #:name "connections")
                                               0 '())))
                              (%hash-table-set! places key place)
                              place)))))
          (set-place-users! place (+ (place-users place) 1))
          place)))

    ;; Removes unused places without a connection from a table.
    (define (forget-places! places)
      (let next ((rest (%hash-table->alist places)))
        (if (pair? rest)
            (begin
              (if (and (eqv? 0 (place-users (cdar rest))) (null? (place-idle (cdar rest))))
                  (%hash-table-delete! places (caar rest)))
              (next (cdr rest))))))

    ;; Gives a permit back, if one was there, and perhaps a link.
    (define (leave-place! pool place permit? link)
      (with-mutex (pool-lock pool)
        (set-place-users! place (- (place-users place) 1))
        (if link
            (set-place-idle! place (cons link (place-idle place)))))
      (if permit?
          (semaphore-release! (place-permits place))))

    ;; Whether the other side has closed the connection, or sent unexpected bytes.
    (define (stale? link)
      (or (reader-unread? (link-reader link))
          (guard (condition ((error-object? condition) #t))
            (u8-ready? (link-input link)))))

    ;; Takes the links out of all places that were idle for too long.
    (define (take-expired! pool)
      (let ((time (now)))
        (with-mutex (pool-lock pool)
          (let next ((rest (%hash-table-values (pool-places pool))) (expired '()))
            (if (null? rest)
                expired
                (let divide ((links (place-idle (car rest))) (kept '()) (expired expired))
                  (cond ((pair? links)
                         (if (< (link-until (car links)) time)
                             (divide (cdr links) kept (cons (car links) expired))
                             (divide (cdr links) (cons (car links) kept) expired)))
                        (else
                         (set-place-idle! (car rest) (reverse! kept))
                         (next (cdr rest) expired)))))))))

    (define (close-links links)
      (if (pair? links)
          (begin
            (close-quietly (link-connection (car links)))
            (close-links (cdr links)))))

    (define (take-idle! pool place)
      (let ((link (with-mutex (pool-lock pool)
                    (let ((idle (place-idle place)))
                      (and (pair? idle)
                           (begin
                             (set-place-idle! place (cdr idle))
                             (car idle)))))))
        (cond ((not link) #f)
              ((stale? link)
               (close-quietly (link-connection link))
               (take-idle! pool place))
              (else link))))

    ;; A link for requests to a URI. `proxy` is the URI of a proxy or #f; `fresh?` requests a new
    ;; one. Waits for a permit until the deadline at most, for the connection as many seconds as
    ;; `patience` says, too.
    (define (acquire-link pool uri proxy fresh? deadline patience)
      (close-links (take-expired! pool))
      (let ((place (enter-place! pool
                                 (string-append (uri-origin uri)
                                                (if proxy " " "")
                                                (if proxy (uri->string proxy) ""))))
            (permit? #f))
        (guard (object (#t (leave-place! pool place permit? #f)
                        (raise object)))
          (if (pool-closed? pool)
              (fault "the client is closed"))
          (semaphore-acquire! (place-permits place) #:timeout (time-left deadline #f))
          (set! permit? #t)
          (or (and (not fresh?) (take-idle! pool place))
              (let ((limit (and (or deadline patience) (time-left deadline patience))))
                (make-link* pool uri proxy place limit))))))

    (define (make-link* pool uri proxy place limit)
      (let ((connection (connect pool uri proxy limit)))
        (make-link connection
                   pool
                   place
                   (make-message-reader (connection-input connection))
                   (and proxy (not (eq? (uri-scheme uri) 'https)))
                   #f
                   0)))

    ;; Gives a link back that can be used again.
    (define (release-link! pool link)
      (if (or (pool-closed? pool) (reader-unread? (link-reader link)))
          (discard-link! link)
          (begin
            (set-link-used! link #t)
            (set-link-until! link
                             (+ (now)
                                (exact (ceiling (* 1000000000 (pool-idle-seconds pool))))))
            (leave-place! pool (link-place link) #t link))))

    ;; Abandons a link.
    (define (discard-link! link)
      (close-quietly (link-connection link))
      (leave-place! (link-pool link) (link-place link) #t #f))

    ;; Closes idle links; those in use are closed when they are given back.
    (define (close-pool! pool)
      (let ((links (with-mutex (pool-lock pool)
                     (set-pool-closed! pool #t)
                     (let next ((rest (%hash-table-values (pool-places pool))) (links '()))
                       (if (null? rest)
                           links
                           (let ((idle (place-idle (car rest))))
                             (set-place-idle! (car rest) '())
                             (next (cdr rest) (append idle links))))))))
        (close-links links)))

    (define (pool-idle-count pool)
      (with-mutex (pool-lock pool)
        (let next ((rest (%hash-table-values (pool-places pool))) (count 0))
          (if (null? rest)
              count
              (next (cdr rest) (+ count (length (place-idle (car rest)))))))))

    ;; Connections.

    (define (context-of pool)
      (or (pool-context pool)
          (let ((context (tls-client-context #:protocols '("http/1.1"))))
            (set-pool-context! pool context)
            context)))

    (define (plain uri limit)
      (tcp-connect (uri-host uri) (uri-effective-port uri) #:timeout limit))

    (define (secured pool uri limit)
      (tls-connect (uri-host uri) (uri-effective-port uri)
                   #:context (context-of pool)
                   #:timeout limit))

    (define (https? uri) (eq? (uri-scheme uri) 'https))

    (define (connect pool uri proxy limit)
      (cond ((not proxy)
             (if (https? uri)
                 (secured pool uri limit)
                 (plain uri limit)))
            ((not (https? uri))
             (if (https? proxy)
                 (secured pool proxy limit)
                 (plain proxy limit)))
            ((https? proxy)
             (fault "a proxy that is reached by TLS cannot lead to a server with TLS"))
            (else (through-tunnel pool uri proxy limit))))

    ;; Asks a proxy for a connection to a server and speaks TLS with that.
    (define (through-tunnel pool uri proxy limit)
      (let* ((deadline (and limit (+ (now) (exact (ceiling (* limit 1000000000))))))
             (connection (plain proxy limit)))
        (guard (object (#t (close-quietly connection)
                        (raise object)))
          (let* ((output (connection-output connection))
                 (reader (make-message-reader (connection-input connection)))
                 (target (string-append (authority-host uri)
                                        ":"
                                        (number->string (uri-effective-port uri))))
                 (bytes (string->utf8
                         (string-append "CONNECT " target " HTTP/1.1\r\nHost: " target "\r\n"
                                        (proxy-authorization proxy) "\r\n"))))
            (write-limited bytes output 0 (bytevector-length bytes) deadline)
            (flush-output-port output)
            (set-reader-limits! reader deadline #f)
            (let ((head
                   (or (read-head reader "CONNECT") (fault "the proxy closed the connection"))))
              (if (not (<= 200 (head-status head) 299))
                  (fault "the proxy refused the connection" (head-status head)))
              (if (reader-unread? reader)
                  (fault "the proxy spoke for the server"))
              (connection-start-tls! connection (context-of pool)
                                     #:server-name (uri-host uri)
                                     #:timeout (time-left deadline #f))
              connection)))))

    (define (authority-host uri)
      (if (%string-index (uri-host uri) #\:)
          (string-append "[" (uri-host uri) "]")
          (uri-host uri)))

    (define (proxy-authorization proxy)
      (let ((userinfo (uri-userinfo proxy)))
        (if userinfo
            (string-append "Proxy-Authorization: Basic "
                           (%base64-encode (percent-decode->bytevector userinfo
                                                                       #:malformed 'replace)
                                           #f #t)
                           "\r\n")
            "")))

    ;; Proxies.

    ;; The proxy for a URI, itself a URI, or #f. `choice` is a URI, #f for none, or `environment`.
    ;; That is what the variables http_proxy, https_proxy, all_proxy and no_proxy say, which hold
    ;; for all but this machine itself.
    (define (proxy-for uri choice)
      (cond ((eq? choice 'environment)
             (if (or (loopback? (uri-host uri)) (excepted? uri))
                 #f
                 (let ((text (or (variable (if (https? uri) '("https_proxy" "HTTPS_PROXY")
                                               ;; HTTP_PROXY is a header of requests to CGI
                                               ;; programs.
                                               '("http_proxy")))
                                 (variable '("all_proxy" "ALL_PROXY")))))
                   (and text (proxy-uri text)))))
            ((string? choice) (proxy-uri choice))
            (else choice)))

    (define (proxy-uri text)
      (let ((uri (string->uri/default
                  (if (string-contains text "://") text (string-append "http://" text)))))
        (if (not (and uri (memq (uri-scheme uri) '(http https)) (uri-host uri)))
            (fault "the proxy is no URI of http"))
        uri))

    (define (variable names)
      (and (pair? names)
           (let ((value (get-environment-variable (car names))))
             (if (and value (not (string-null? value)))
                 value
                 (variable (cdr names))))))

    (define (loopback? host)
      (or (string=? host "::1")
          (string-ci=? host "localhost")
          (and (string-prefix? "127." host) (not (%string-index host #\:)))))

    ;; no_proxy has hosts and domains between commas, perhaps with ports; an asterisk is everything.
    (define (excepted? uri)
      (let ((text (variable '("no_proxy" "NO_PROXY")))
            (host (string-downcase (uri-host uri))))
        (define (covers? entry)
          (let* ((colon (and (not (string-prefix? "[" entry))
                             (eqv? (%string-index entry #\:) (%string-rindex entry #\:))
                             (%string-index entry #\:)))
                 (port (and colon (string->number (substring entry (+ colon 1)))))
                 (domain (if colon (substring entry 0 colon) entry))
                 (domain (if (string-prefix? "." domain) (substring domain 1) domain)))
            (and (not (string-null? domain))
                 (or (not colon) (eqv? port (uri-effective-port uri)))
                 (or (string=? domain "*")
                     (string=? domain host)
                     (string-suffix? (string-append "." domain) host)))))
        (and text
             (let loop ((rest (string-split text #\,)))
               (and (pair? rest)
                    (or (covers? (string-downcase (string-trim-both (car rest))))
                        (loop (cdr rest))))))))))
