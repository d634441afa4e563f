;;; expect: 1073741824 A gigabyte over a TCP connection of this machine and back, 64 KB after 64 KB,
;;; both ends in one process.
(import (scheme base) (scheme write) (canny net))
(define (transfer piece from to)
  (write-bytevector piece to)
  (flush-output-port to)
  (read-bytevector! piece from))
(define (echo client server rounds)
  (let ((piece (make-bytevector 65536 7)))
    (let loop ((rounds rounds) (sum 0))
      (if (= rounds 0)
          sum
          (begin
            (transfer piece (connection-input server) (connection-output client))
            (loop (- rounds 1)
                  (+ sum
                     (transfer piece (connection-input client) (connection-output server)))))))))
(define listener (tcp-listen "127.0.0.1" 0))
(define client (connect (listener-address listener)))
(define server (accept-connection listener))
(display (echo client server 16384))
(newline)
