;;; (srfi 106): basic sockets.
;;;
;;; A service is a port number in a string, or a name that /etc/services has. Of the flags for
;;; messages `*msg-waitall*` works; `*msg-peek*` and `*msg-oob*` are refused. Ports of a socket are
;;; binary and are made when they are asked for first.

(define-library (srfi 106)
  (export make-client-socket make-server-socket socket? socket-accept socket-send socket-recv
          socket-shutdown socket-close socket-input-port socket-output-port call-with-socket
          address-family address-info socket-domain ip-protocol message-type shutdown-method
          socket-merge-flags socket-purge-flags
          *af-unspec* *af-inet* *af-inet6* *sock-stream* *sock-dgram*
          *ai-canonname* *ai-numerichost* *ai-v4mapped* *ai-all* *ai-addrconfig*
          *ipproto-ip* *ipproto-tcp* *ipproto-udp*
          *msg-none* *msg-peek* *msg-oob* *msg-waitall*
          *shut-rd* *shut-wr* *shut-rdwr*)
  (import (canny machine protocols) (except (canny primitives) read write)
          ;; A program may use these words whether it has the procedures or not.
          (rename (only (canny primitives) read write) (read bound-read) (write bound-write))
          (canny syntax) (canny machine arguments) (only (canny data lists) member)
          (only (canny machine control) guard dynamic-wind error)
          (only (canny machine ports) call-with-input-file)
          (only (srfi 13) string-tokenize))
  (begin

    ;; Flags have the numbers of Linux.

    (define *af-unspec* 0)
    (define *af-inet* 2)
    (define *af-inet6* 10)
    (define *sock-stream* 1)
    (define *sock-dgram* 2)
    (define *ai-canonname* 2)
    (define *ai-numerichost* 4)
    (define *ai-v4mapped* 8)
    (define *ai-all* 16)
    (define *ai-addrconfig* 32)
    (define *ipproto-ip* 0)
    (define *ipproto-tcp* 6)
    (define *ipproto-udp* 17)
    (define *msg-none* 0)
    (define *msg-oob* 1)
    (define *msg-peek* 2)
    (define *msg-waitall* 256)
    (define *shut-rd* 1)
    (define *shut-wr* 2)
    (define *shut-rdwr* 3)

    (define-syntax define-names
      (syntax-rules ()
        ((_ name (word value) ...)
         (define-syntax name
           (syntax-rules (word ...)
             ((_ word) value) ...)))))

    (define-names address-family
      (inet *af-inet*)
      (inet6 *af-inet6*)
      (unspec *af-unspec*))

    (define-names socket-domain
      (stream *sock-stream*)
      (datagram *sock-dgram*))

    (define-names ip-protocol
      (ip *ipproto-ip*)
      (tcp *ipproto-tcp*)
      (udp *ipproto-udp*))

    (define-names one-address-info
      (canoname *ai-canonname*)
      (numerichost *ai-numerichost*)
      (v4mapped *ai-v4mapped*)
      (all *ai-all*)
      (addrconfig *ai-addrconfig*))

    (define-names one-message-type
      (none *msg-none*)
      (peek *msg-peek*)
      (oob *msg-oob*)
      (wait-all *msg-waitall*))

    (define-names one-shutdown-method
      (read *shut-rd*)
      (bound-read *shut-rd*)
      (write *shut-wr*)
      (bound-write *shut-wr*))

    (define-syntax address-info
      (syntax-rules ()
        ((_ word ...) (socket-merge-flags (one-address-info word) ...))))

    (define-syntax message-type
      (syntax-rules ()
        ((_ word ...) (socket-merge-flags (one-message-type word) ...))))

    (define-syntax shutdown-method
      (syntax-rules ()
        ((_ word ...) (socket-merge-flags (one-shutdown-method word) ...))))

    (define (socket-merge-flags . flags)
      (apply bitwise-ior flags))

    (define (socket-purge-flags base . flags)
      (bitwise-and base (bitwise-not (apply bitwise-ior flags))))

    ;; Services.

    (define (service->port who position service)
      (check-argument who position string? "string" service)
      (let ((port (or (string->number service 10) (named-service service))))
        (if (not (and (exact-nonnegative-integer? port) (<= port 65535)))
            (%range-error who position "the name or number of a service" service))
        port))

    ;; The port of a service in a line such as `http 80/tcp www # comment`.
    (define (named-service name)
      (guard (e ((file-error? e) #f))
        (call-with-input-file "/etc/services"
          (lambda (port)
            (let next ()
              (let ((line (read-line port)))
                (if (eof-object? line)
                    #f
                    (let ((words (string-tokenize (without-comment line))))
                      (if (and (pair? words) (pair? (cdr words))
                               (or (string=? (car words) name)
                                   (member name (cddr words))))
                          (let ((slash (%string-index (cadr words) #\/)))
                            (and slash (string->number (substring (cadr words) 0 slash))))
                          (next))))))))))

    (define (without-comment line)
      (let ((comment (%string-index line #\#)))
        (if comment (substring line 0 comment) line)))

    ;; Sockets.

    (define-record-type socket
      (make-socket handle datagrams? ports)
      socket?
      (handle handle)
      (datagrams? datagrams?)
      ;; A pair of ports, or #f.
      (ports ports set-ports!))

    (define (check-socket who object)
      (check-argument who 1 socket? "socket" object))

    (define (family-number who position family)
      (cond ((eqv? family *af-inet*) family/inet)
            ((eqv? family *af-inet6*) family/inet6)
            ((eqv? family *af-unspec*) family/any)
            (else (%range-error who position "an address family" family))))

    (define (datagrams-wanted? who position type)
      (cond ((eqv? type *sock-stream*) #f)
            ((eqv? type *sock-dgram*) #t)
            (else (%range-error who position "a socket domain" type))))

    (define* (make-client-socket node service #:optional (family *af-inet*) (type *sock-stream*)
                                 (flags (socket-merge-flags *ai-v4mapped* *ai-addrconfig*))
                                 (protocol *ipproto-ip*))
      (check-argument 'make-client-socket 1 string? "string" node)
      (let* ((port (service->port 'make-client-socket 2 service))
             (family (family-number 'make-client-socket 3 family))
             (datagrams? (datagrams-wanted? 'make-client-socket 4 type)))
        (if (and (= *ai-numerichost* (bitwise-and flags *ai-numerichost*))
                 (not (%address? (string-append node ":0")))
                 (not (%address? (string-append "[" node "]:0"))))
            (%range-error 'make-client-socket 1 "an IP address" node))
        (let ((addresses (%resolve-host node port family #f)))
          (if datagrams?
              (let ((handle (%datagram-socket #f (if (string-prefix? "[" (car addresses))
                                                     family/inet6
                                                     family/inet))))
                (%datagrams-connect handle (car addresses))
                (make-socket handle #t #f))
              (make-socket (%socket-connect addresses #f #f) #f #f)))))

    (define* (make-server-socket service #:optional (family *af-inet*) (type *sock-stream*)
                                 (protocol *ipproto-ip*))
      (let* ((port (number->string (service->port 'make-server-socket 1 service)))
             (family (family-number 'make-server-socket 2 family))
             (datagrams? (datagrams-wanted? 'make-server-socket 3 type))
             (address (string-append (if (= family family/inet) "0.0.0.0:" "[::]:") port)))
        (if datagrams?
            (make-socket (%datagram-socket address family/any) #t #f)
            (make-socket (%socket-listen address 1024 #t #f (= family family/inet6)) #f #f))))

    (define (socket-accept socket)
      (check-socket 'socket-accept socket)
      (make-socket (%socket-accept (handle socket) #f) #f #f))

    (define (refuse-flags who position flags)
      (if (not (eqv? 0 (socket-purge-flags flags *msg-waitall*)))
          (%range-error who position "flags that are supported" flags)))

    (define* (socket-send socket bytevector #:optional (flags *msg-none*))
      (check-socket 'socket-send socket)
      (check-argument 'socket-send 2 bytevector? "bytevector" bytevector)
      (refuse-flags 'socket-send 3 flags)
      (%socket-send (handle socket) bytevector 0 (bytevector-length bytevector) #f #f))

    (define* (socket-recv socket size #:optional (flags *msg-none*))
      (check-socket 'socket-recv socket)
      (check-index 'socket-recv 2 size)
      (refuse-flags 'socket-recv 3 flags)
      (if (and (not (eqv? flags *msg-none*)) (not (datagrams? socket)))
          (receive-all (handle socket) size)
          (list-ref (%socket-receive (handle socket) size #f) datagram/bytes)))

    (define (receive-all handle size)
      (let ((output (open-output-bytevector)))
        (let next ((left size))
          (let* ((piece (if (> left 0)
                            (list-ref (%socket-receive handle left #f) datagram/bytes)
                            (bytevector)))
                 (length (bytevector-length piece)))
            (if (= length 0)
                (get-output-bytevector output)
                (begin
                  (write-bytevector piece output)
                  (next (- left length))))))))

    (define (socket-shutdown socket how)
      (check-socket 'socket-shutdown socket)
      (if (ports socket)
          (flush-output-port (cdr (ports socket))))
      (%socket-shut-down (handle socket)
                         (cond ((eqv? how *shut-rd*) shutdown/read)
                               ((eqv? how *shut-wr*) shutdown/write)
                               ((eqv? how *shut-rdwr*) shutdown/both)
                               (else
                                (%range-error 'socket-shutdown 2 "a shutdown method" how)))))

    (define (socket-close socket)
      (check-socket 'socket-close socket)
      (if (ports socket)
          (dynamic-wind
           (lambda () #f)
           (lambda () (close-port (cdr (ports socket))))
           (lambda () (close-port (car (ports socket))))))
      (%close-socket (handle socket)))

    (define (the-ports who socket)
      (check-socket who socket)
      (if (datagrams? socket)
          (%type-error who 1 "socket of a connection" socket))
      (if (not (ports socket))
          (set-ports! socket (%socket-ports (handle socket))))
      (ports socket))

    (define (socket-input-port socket)
      (car (the-ports 'socket-input-port socket)))

    (define (socket-output-port socket)
      (cdr (the-ports 'socket-output-port socket)))

    (define (call-with-socket socket procedure)
      (check-socket 'call-with-socket socket)
      (let ((result (procedure socket)))
        (socket-close socket)
        result))))
