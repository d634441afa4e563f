;;; (canny net): connections, listeners and datagrams over TCP, UDP and sockets of this machine.
;;;
;;; An address is a string: "127.0.0.1:80", "[::1]:80", "unix:/run/name", "unix:@name" for a name
;;; that no file has. A host is a name or an IP address. A timeout is a number of seconds, and #f,
;;; the default, is none. An operation that takes longer raises an error that satisfies
;;; `timeout-error?`; other refusals of the network raise one that satisfies `network-error?`.
;;;
;;; A connection has two binary ports. Closing the output port shows the other side that nothing
;;; follows.
;;;
;;;     (define connection (tcp-connect "localhost" 7 #:timeout 5))
;;;     (write-bytevector #u8(1 2 3) (connection-output connection))
;;;     (close-port (connection-output connection))
;;;     (read-bytevector 10 (connection-input connection))
;;;     (close-connection connection)

(define-library (canny net)
  (export address? make-address address-family address-host address-port resolve-host
          tcp-connect unix-connect connect
          tls-client-context tls-server-context tls-connect tls-accept connection-start-tls!
          connection-tls-version
          connection-protocol connection-peer-certificate
          connection? connection-input connection-output connection-port connection-address
          connection-peer-address
          connection-open? close-connection call-with-connection
          tcp-listen unix-listen listen listener? listener-address listener-open? accept-connection
          close-listener
          open-datagram-socket datagram-socket? datagram-socket-address datagram-connect!
          datagram-send
          datagram-receive join-group! leave-group! close-datagram-socket
          socket-option set-socket-option!
          network-error? timeout-error?
          ;; For servers of the machine.
          %listener-socket %socket->listener %tls-context-handle)
  (import (canny machine protocols) (canny primitives) (canny syntax)
          (only (canny machine control) dynamic-wind error)
          (only (canny machine posix) timeout-error?) (canny machine arguments))
  (begin

    ;; Errors.

    ;; Whether an object was raised because the network or the system refused something.
    (define (network-error? object)
      (and (error-object? object)
           (memq (condition-kind object) '(system timeout))
           #t))

    ;; Addresses.

    ;; Whether an object is the address of a socket.
    (define (address? object)
      (%address? object))

    (define (check-address who position object)
      (check-argument who position %address? "address" object))

    (define (check-port-number who position object)
      (check-argument who position exact-nonnegative-integer? "port number" object)
      (if (> object 65535)
          (%range-error who position "a port number, at most 65535" object)))

    ;; The address of a port of a host, which is an IP address in text.
    (define (make-address host port)
      (check-argument 'make-address 1 string? "string" host)
      (check-port-number 'make-address 2 port)
      (let ((address (string-append (if (%string-index host #\:) (string-append "[" host "]") host)
                                    ":"
                                    (number->string port))))
        (if (not (%address? address))
            (%type-error 'make-address 1 "IP address" host))
        address))

    ;; `inet`, `inet6` or `unix`.
    (define (address-family address)
      (check-address 'address-family 1 address)
      (cond ((string-prefix? "unix:" address) 'unix)
            ((string-prefix? "[" address) 'inet6)
            (else 'inet)))

    ;; The IP address of an address as text, or the name of a socket of this machine.
    (define (address-host address)
      (check-address 'address-host 1 address)
      (case (address-family address)
        ((unix) (substring address 5))
        ((inet6) (substring address 1 (- (%string-rindex address #\:) 1)))
        (else (substring address 0 (%string-rindex address #\:)))))

    ;; The port number of an address; #f for a socket of this machine.
    (define (address-port address)
      (check-address 'address-port 1 address)
      (and (not (eq? (address-family address) 'unix))
           (string->number (substring address (+ 1 (%string-rindex address #\:))))))

    (define (family-number who family)
      (case family
        ((#f) family/any)
        ((inet) family/inet)
        ((inet6) family/inet6)
        (else (%type-error who 0 "family (inet, inet6 or #f)" family))))

    (define (check-timeout who timeout)
      (if (not (or (not timeout) (and (real? timeout) (>= timeout 0))))
          (error (string-append (symbol->string who) ": the timeout is no number of seconds")
                 timeout)))

    ;; The addresses of a port of a host, in the order in which they should be tried. The name is
    ;; looked up without blocking anything else. A family is `inet` or `inet6`.
    (define* (resolve-host host port #:key (family #f) (timeout #f))
      (check-argument 'resolve-host 1 string? "string" host)
      (check-port-number 'resolve-host 2 port)
      (check-timeout 'resolve-host timeout)
      (%resolve-host host port (family-number 'resolve-host family) timeout))

    ;; Connections.

    (define-record-type connection
      (make-connection socket host input output port security)
      connection?
      (socket connection-socket)
      ;; The name that it was made to, or #f.
      (host host-of)
      (input input-of set-input-of!)
      (output output-of set-output-of!)
      ;; Both in one, once it was asked for.
      (port port-of set-port-of!)
      ;; For a connection over TLS the version, the protocol and the certificate, else #f.
      (security security-of set-security-of!))

    (define (check-connection who object)
      (check-argument who 1 connection? "connection" object))

    (define* (socket->connection socket #:optional (host #f))
      (let ((ports (%socket-ports socket)))
        (make-connection socket host (car ports) (cdr ports) #f #f)))

    ;; The point in time that many seconds from now, on the monotonic clock.
    (define (deadline timeout)
      (and timeout (+ (%clock-nanoseconds clock/monotonic) (* timeout 1000000000))))

    (define (seconds-until deadline)
      (and deadline
           (let ((left (/ (- deadline (%clock-nanoseconds clock/monotonic)) 1000000000)))
             (if (> left 0) (inexact left) 0))))

    ;; A connection by TCP to a port of a host. All addresses of the host are tried; one that does
    ;; not answer within a quarter of a second is tried on beside the next. `#:local` is the address
    ;; to connect from.
    (define* (tcp-connect host port #:key (timeout #f) (family #f) (local #f))
      (check-argument 'tcp-connect 1 string? "string" host)
      (check-port-number 'tcp-connect 2 port)
      (check-timeout 'tcp-connect timeout)
      (let* ((end (deadline timeout))
             (addresses (%resolve-host host port (family-number 'tcp-connect family) timeout)))
        (socket->connection (%socket-connect addresses local (seconds-until end)) host)))

    ;; A connection to a socket of this machine, by the name of its file, or of no file when it
    ;; begins with @.
    (define* (unix-connect name #:key (timeout #f))
      (check-argument 'unix-connect 1 string? "string" name)
      (check-timeout 'unix-connect timeout)
      (connect (string-append "unix:" name) #:timeout timeout))

    ;; A connection to an address.
    (define* (connect address #:key (timeout #f) (local #f))
      (check-address 'connect 1 address)
      (check-timeout 'connect timeout)
      (socket->connection (%socket-connect (list address) local timeout)))

    ;; TLS.

    (define (check-file who position object)
      (check-argument who position string? "name of a file" object))

    (define (check-protocols who object)
      (if (not (list? object))
          (%type-error who 4 "list of strings" object)))

    (define-record-type tls-context
      (make-tls-context client? handle)
      tls-context?
      (client? client-context?)
      (handle context-handle))

    ;; The settings of clients' connections over TLS. `#:trust` says which servers are trusted. With
    ;; #t they are those that an authority which the system trusts vouches for. With a file they are
    ;; those that its certificates vouch for, with #f all. `#:certificate` and `#:key` are files
    ;; that say who the client is. `#:protocols` are those that it would speak, best first.
    (define* (tls-client-context #:key (trust #t) (certificate #f) (key #f) (protocols '()))
      (if (not (boolean? trust))
          (check-file 'tls-client-context 1 trust))
      (if (or certificate key)
          (begin
            (check-file 'tls-client-context 2 certificate)
            (check-file 'tls-client-context 3 key)))
      (check-protocols 'tls-client-context protocols)
      (make-tls-context #t (%tls-client-context trust certificate key protocols)))

    ;; The settings of a server's connections over TLS. They are files in PEM form of its
    ;; certificate, with those that vouch for it, and of its private key. With `#:clients`, only
    ;; clients that a certificate of that file vouches for are taken.
    (define* (tls-server-context certificate key #:key (clients #f) (protocols '()))
      (check-file 'tls-server-context 1 certificate)
      (check-file 'tls-server-context 2 key)
      (if clients
          (check-file 'tls-server-context 3 clients))
      (check-protocols 'tls-server-context protocols)
      (make-tls-context #f (%tls-server-context certificate key clients protocols)))

    ;; The machine's object behind a server's context; #f for anything else.
    (define (%tls-context-handle object)
      (and (tls-context? object)
           (not (client-context? object))
           (context-handle object)))

    (define default-client-context #f)

    (define (the-default-client-context)
      (if (not default-client-context)
          (set! default-client-context (tls-client-context)))
      default-client-context)

    (define (secured who socket context server-name timeout)
      (let ((found (%socket-secure socket (context-handle context) server-name timeout)))
        (let ((ports (list-ref found secured/ports)))
          (make-connection socket #f (car ports) (cdr ports) #f found))))

    ;; A connection over TLS. `#:server-name` is the name that the server must prove, which is the
    ;; host unless given.
    (define* (tls-connect host port #:key (context #f) (server-name host) (timeout #f) (family #f)
                          (local #f))
      (check-argument 'tls-connect 1 string? "string" host)
      (check-port-number 'tls-connect 2 port)
      (check-timeout 'tls-connect timeout)
      (check-argument 'tls-connect 3 string? "string" server-name)
      (let ((context (or context (the-default-client-context))))
        (if (not (and (tls-context? context) (client-context? context)))
            (%type-error 'tls-connect 3 "context of a client of TLS" context))
        (let* ((end (deadline timeout))
               (addresses (%resolve-host host port (family-number 'tls-connect family) timeout))
               (socket (%socket-connect addresses local (seconds-until end))))
          (secured 'tls-connect socket context server-name (seconds-until end)))))

    ;; Waits for the next connection and makes it one over TLS. A client that cannot meet or accept
    ;; these settings raises an error; the listener keeps listening.
    (define* (tls-accept listener context #:key (timeout #f))
      (check-listener 'tls-accept listener)
      (if (not (and (tls-context? context) (not (client-context? context))))
          (%type-error 'tls-accept 2 "context of a server of TLS" context))
      (check-timeout 'tls-accept timeout)
      (let* ((end (deadline timeout))
             (socket (%socket-accept (listener-socket listener) timeout)))
        (secured 'tls-accept socket context #f (seconds-until end))))

    ;; Makes an open connection one over TLS, in the midst of what both sides say to each other. The
    ;; context says whether as a client or as a server. Everything that was sent before must have
    ;; been read. The ports of the connection are closed, and ports that were made of them;
    ;; `connection-input` and `connection-output` give new ones. `#:server-name` is the name that a
    ;; server must prove, which is the host that `tcp-connect` was given.
    (define* (connection-start-tls! connection context #:key (server-name #f) (timeout #f))
      (check-connection 'connection-start-tls! connection)
      (check-argument 'connection-start-tls! 2 tls-context? "context of TLS" context)
      (check-timeout 'connection-start-tls! timeout)
      (if (security-of connection)
          (%range-error 'connection-start-tls! 1 "a connection that is not over TLS" connection))
      (let ((server-name (and (client-context? context) (or server-name (host-of connection))))
            (socket (connection-socket connection)))
        (if (client-context? context)
            (check-argument 'connection-start-tls! 3 string? "name of a server" server-name))
        (%socket-release socket (input-of connection) (output-of connection))
        (let ((found (%socket-secure socket (context-handle context) server-name timeout)))
          (set-input-of! connection (car (list-ref found secured/ports)))
          (set-output-of! connection (cdr (list-ref found secured/ports)))
          (set-port-of! connection #f)
          (set-security-of! connection found))))

    (define (security who connection part)
      (check-connection who connection)
      (and (security-of connection)
           (list-ref (security-of connection) part)))

    ;; The version of TLS as a string; #f for a connection without it.
    (define (connection-tls-version connection)
      (security 'connection-tls-version connection secured/version))

    ;; The protocol that both sides agreed on, or #f.
    (define (connection-protocol connection)
      (security 'connection-protocol connection secured/protocol))

    ;; The other side's certificate in DER form, a bytevector, or #f if it showed none.
    (define (connection-peer-certificate connection)
      (security 'connection-peer-certificate connection secured/certificate))

    ;; The binary input port of a connection.
    (define (connection-input connection)
      (check-connection 'connection-input connection)
      (input-of connection))

    ;; The binary output port of a connection.
    (define (connection-output connection)
      (check-connection 'connection-output connection)
      (output-of connection))

    ;; A binary port that reads and writes a connection: its input and its output in one.
    ;; `close-port` closes the connection, `close-output-port` shows the other side that nothing
    ;; follows.
    (define (connection-port connection)
      (check-connection 'connection-port connection)
      (or (port-of connection)
          (let ((port (%join-ports (input-of connection) (output-of connection) #f)))
            (set-port-of! connection port)
            port)))

    ;; The address of this side.
    (define (connection-address connection)
      (check-connection 'connection-address connection)
      (%socket-address (connection-socket connection)))

    ;; The address of the other side; #f if it is gone.
    (define (connection-peer-address connection)
      (check-connection 'connection-peer-address connection)
      (%socket-peer-address (connection-socket connection)))

    ;; Whether a port of the connection is open.
    (define (connection-open? connection)
      (check-connection 'connection-open? connection)
      (%socket-open? (connection-socket connection)))

    ;; Sends what is still to be sent and closes both ports.
    (define (close-connection connection)
      (check-connection 'close-connection connection)
      ;; The input too when the output cannot be sent.
      (dynamic-wind
       (lambda () #f)
       (lambda () (close-port (output-of connection)))
       (lambda () (close-port (input-of connection)))))

    ;; Calls a procedure with the input and the output of a connection, and closes it when the
    ;; procedure returns.
    (define (call-with-connection connection procedure)
      (check-connection 'call-with-connection connection)
      (let ((result (procedure (input-of connection) (output-of connection))))
        (close-connection connection)
        result))

    ;; Listeners.

    (define-record-type listener
      (make-listener socket)
      listener?
      (socket listener-socket))

    (define (%listener-socket listener)
      (listener-socket listener))

    (define (%socket->listener socket)
      (make-listener socket))

    (define (check-listener who object)
      (check-argument who 1 listener? "listener" object))

    ;; Listens for TCP connections. The host is an IP address or a name, or #f for all addresses of
    ;; this machine; port 0 is any that is free. `#:backlog` is the number of connections that may
    ;; wait, `#:share` lets several listeners have the address.
    (define* (tcp-listen host port #:key (backlog 1024) (reuse #t) (share #f) (ipv6-only #f)
                         (family #f))
      (if host
          (check-argument 'tcp-listen 1 string? "string or #f" host))
      (check-port-number 'tcp-listen 2 port)
      (check-argument 'tcp-listen 3 exact-nonnegative-integer? "backlog" backlog)
      (make-listener
       (if host
           (%socket-listen (car (%resolve-host host port (family-number 'tcp-listen family) #f))
                           backlog reuse share ipv6-only)
           (%socket-listen (make-address (if (eq? family 'inet) "0.0.0.0" "::") port)
                           backlog reuse share ipv6-only))))

    ;; Listens at a socket of this machine.
    (define* (unix-listen name #:key (backlog 1024))
      (check-argument 'unix-listen 1 string? "string" name)
      (listen (string-append "unix:" name) #:backlog backlog))

    ;; Listens at an address.
    (define* (listen address #:key (backlog 1024) (reuse #t) (share #f) (ipv6-only #f))
      (check-address 'listen 1 address)
      (check-argument 'listen 2 exact-nonnegative-integer? "backlog" backlog)
      (make-listener (%socket-listen address backlog reuse share ipv6-only)))

    ;; The address of a listener.
    (define (listener-address listener)
      (check-listener 'listener-address listener)
      (%socket-address (listener-socket listener)))

    ;; Whether a listener is open.
    (define (listener-open? listener)
      (check-listener 'listener-open? listener)
      (%socket-open? (listener-socket listener)))

    ;; Waits for the next connection.
    (define* (accept-connection listener #:key (timeout #f))
      (check-listener 'accept-connection listener)
      (check-timeout 'accept-connection timeout)
      (socket->connection (%socket-accept (listener-socket listener) timeout)))

    ;; Stops listening. The file of a socket of this machine stays.
    (define (close-listener listener)
      (check-listener 'close-listener listener)
      (%close-socket (listener-socket listener)))

    ;; Datagrams.

    (define-record-type datagram-socket
      (make-datagram-socket socket)
      datagram-socket?
      (socket datagram-socket-socket))

    (define (check-datagram-socket who object)
      (check-argument who 1 datagram-socket? "datagram socket" object))

    ;; A socket for datagrams, at an address or at any port of a family.
    (define* (open-datagram-socket #:optional (address #f) #:key (family #f))
      (if address
          (check-address 'open-datagram-socket 1 address))
      (make-datagram-socket
       (%datagram-socket address (family-number 'open-datagram-socket family))))

    ;; The address of a socket for datagrams.
    (define (datagram-socket-address socket)
      (check-datagram-socket 'datagram-socket-address socket)
      (%socket-address (datagram-socket-socket socket)))

    ;; Fixes where datagrams go to, and that only those from there are received.
    (define (datagram-connect! socket address)
      (check-datagram-socket 'datagram-connect! socket)
      (check-address 'datagram-connect! 2 address)
      (%datagrams-connect (datagram-socket-socket socket) address))

    ;; Sends bytes as one datagram.
    (define* (datagram-send socket bytevector #:optional (address #f) #:key (timeout #f))
      (check-datagram-socket 'datagram-send socket)
      (check-argument 'datagram-send 2 bytevector? "bytevector" bytevector)
      (if address
          (check-address 'datagram-send 3 address))
      (check-timeout 'datagram-send timeout)
      (%socket-send (datagram-socket-socket socket) bytevector 0 (bytevector-length bytevector)
                    address timeout))

    ;; Receives the next datagram: its bytes and the address of its sender or #f. The third value
    ;; says whether it was longer than `#:limit` bytes and lost its end.
    (define* (datagram-receive socket #:key (limit 65535) (timeout #f))
      (check-datagram-socket 'datagram-receive socket)
      (check-argument 'datagram-receive 2 exact-nonnegative-integer? "limit" limit)
      (check-timeout 'datagram-receive timeout)
      (let ((received (%socket-receive (datagram-socket-socket socket) limit timeout)))
        (values (list-ref received datagram/bytes)
                (list-ref received datagram/sender)
                (list-ref received datagram/cut))))

    ;; Receives what is sent to a group too; a group is an IP address for many.
    (define (join-group! socket group)
      (check-datagram-socket 'join-group! socket)
      (%set-socket-membership! (datagram-socket-socket socket) group #t))

    ;; The opposite.
    (define (leave-group! socket group)
      (check-datagram-socket 'leave-group! socket)
      (%set-socket-membership! (datagram-socket-socket socket) group #f))

    ;; Closes a socket for datagrams.
    (define (close-datagram-socket socket)
      (check-datagram-socket 'close-datagram-socket socket)
      (%close-socket (datagram-socket-socket socket)))

    ;; Options.

    (define (any-socket who object)
      (cond ((connection? object) (connection-socket object))
            ((listener? object) (listener-socket object))
            ((datagram-socket? object) (datagram-socket-socket object))
            (else (%type-error who 1 "connection, listener or datagram socket" object))))

    ;; The value of an option of a connection, a listener or a socket for datagrams. It is a
    ;; boolean for `nodelay`, `keepalive`, `reuse-address`, `reuse-port`, `broadcast` and
    ;; `ipv6-only`. It is a number of bytes for `receive-buffer` and `send-buffer`, of seconds for
    ;; `keepalive-after` and `linger`, of routers for `time-to-live`.
    (define (socket-option object name)
      (let ((socket (any-socket 'socket-option object)))
        (check-argument 'socket-option 2 symbol? "symbol" name)
        (%socket-option socket name)))

    ;; Sets an option.
    (define (set-socket-option! object name value)
      (let ((socket (any-socket 'set-socket-option! object)))
        (check-argument 'set-socket-option! 2 symbol? "symbol" name)
        (%set-socket-option! socket name value)))))
