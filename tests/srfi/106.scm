;;; (srfi 106): basic sockets, over loopback.

(import (scheme base) (srfi 64) (srfi 106)
        (only (canny net) tcp-listen listener-address address-port close-listener))

(test-begin "srfi-106")

;; A port that was free a moment ago, as a service.
(define (free-service)
  (let* ((listener (tcp-listen "127.0.0.1" 0))
         (port (address-port (listener-address listener))))
    (close-listener listener)
    (number->string port)))

(define service (free-service))
(define server (make-server-socket service))
(define client
  (make-client-socket "localhost" service (address-family inet) (socket-domain stream)
                      (address-info v4mapped addrconfig) (ip-protocol ip)))
(define far (socket-accept server))

(test-assert (socket? server))
(test-assert (socket? client))
(test-assert (not (socket? 5)))
(test-equal 3 (socket-send client #u8(1 2 3)))
(test-equal #u8(1 2) (socket-recv far 2))
(test-equal #u8(3) (socket-recv far 10))
(test-equal 2 (socket-send far #u8(4 5) (message-type none)))
(test-equal #u8(4 5) (socket-recv client 2 (message-type wait-all)))
(test-assert (input-port? (socket-input-port client)))
(test-assert (output-port? (socket-output-port client)))
(test-assert (eq? (socket-input-port client) (socket-input-port client)))
(write-bytevector #u8(6 7 8) (socket-output-port client))
(socket-shutdown client (shutdown-method write))
(test-equal #u8(6 7 8) (socket-recv far 10 (message-type wait-all)))
(test-equal #u8() (socket-recv far 10))
(test-equal 9 (call-with-socket far
                (lambda (socket)
                  (write-u8 9 (socket-output-port socket))
                  9)))
(test-equal 9 (read-u8 (socket-input-port client)))
(test-assert (eof-object? (read-u8 (socket-input-port client))))
(socket-close client)
(socket-close client)
(socket-close server)

(test-error (socket-accept server))
(test-error (make-client-socket "localhost" service))
(test-error (make-client-socket "localhost" "no-such-service"))
(test-error (make-client-socket "localhost" service *af-inet* *sock-stream* *ai-numerichost*))
(test-error (socket-recv client 5))
(test-error (make-server-socket "70000"))

(let* ((service (free-service))
       (server (make-server-socket service *af-inet* *sock-dgram*))
       (client (make-client-socket "127.0.0.1" service *af-inet* *sock-dgram*)))
  (test-equal 3 (socket-send client #u8(1 2 3)))
  (test-equal #u8(1 2 3) (socket-recv server 100))
  (test-error (socket-send client #u8(1) *msg-oob*))
  (test-error (socket-input-port client))
  (socket-close client)
  (socket-close server))

(test-equal *af-inet6* (address-family inet6))
(test-equal *shut-rdwr* (shutdown-method read write))
(test-equal *shut-rd* (socket-purge-flags (shutdown-method read write) *shut-wr*))
(test-equal (+ *ai-all* *ai-canonname*) (socket-merge-flags *ai-all* (address-info canoname)))

(test-end "srfi-106")
