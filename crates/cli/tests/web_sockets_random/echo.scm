;;; The server of crates/cli/tests/web_sockets_random.rs: it sends back what it is sent, and prints
;;; its address.

(import (scheme base) (canny web message) (canny web server) (canny web websocket))

(define (echo socket)
  (let ((message (websocket-receive socket)))
    (if (not (eof-object? message))
        (begin
          (websocket-send socket message)
          (echo socket)))))

(define server
  (start-server (lambda (request body)
                  (let ((path (request-path request)))
                    (websocket-response request echo
                                        #:max-message-bytes 70000
                                        #:ping-interval #f
                                        #:compression (cond ((string=? path "/alone") #t)
                                                            ((string=? path "/context") 'context)
                                                            (else #f)))))
                #:port 0))

(write-string (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
