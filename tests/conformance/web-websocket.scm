;; (canny web websocket) and (canny web events), over real connections.

(import (scheme base) (scheme write) (canny web server) (canny web message) (canny web websocket)
        (canny web events) (canny net) (canny tasks) (canny test)
        (only (canny crypto) digest random-bytes) (only (canny base64) base64-encode)
        (only (srfi 130) string-contains string-prefix? string-cursor->index))

(define closings '())

(define (echo socket)
  (let loop ()
    (let ((message (websocket-receive socket)))
      (if (eof-object? message)
          (set! closings (cons (websocket-close-code socket) closings))
          (begin
            (websocket-send socket message)
            (loop))))))

(define (handler request body)
  (cond ((string=? (request-path request) "/echo")
         (websocket-response request echo #:max-message-bytes 100000 #:protocols '("b" "c")))
        ((string=? (request-path request) "/compressed")
         (websocket-response request echo #:max-message-bytes 100000 #:compression #t))
        ((string=? (request-path request) "/context")
         (websocket-response request echo #:max-message-bytes 100000 #:compression 'context))
        ((string=? (request-path request) "/bye")
         (websocket-response request (lambda (socket) (websocket-close socket 4000 "bye"))))
        (else
         (event-stream-response request
                                (lambda (send)
                                  (send "one")
                                  (send "two\nlines\r\nand three" #:event 'more #:id 7)
                                  (send (or (last-event-id request) "nothing")))
                                #:retry 2000))))

(define server (start-server handler #:port 0))
(define address (car (server-addresses server)))
(define (url path) (string-append "ws://" address path))

(define (read-text port)
  (let loop ((parts '()))
    (let ((part (read-bytevector 4096 port)))
      (if (eof-object? part)
          (utf8->string (apply bytevector-append (reverse parts)))
          (loop (cons part parts))))))

(define (ask text)
  (call-with-connection (connect address #:timeout 10)
    (lambda (input output)
      (write-bytevector (string->utf8 text) output)
      (flush-output-port output)
      (read-text input))))

(define opening
  (string-append "GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\n"
                 "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))

;; A line of a head, without its end.
(define (read-header-line port)
  (let loop ((bytes '()))
    (let ((byte (read-u8 port)))
      (cond ((= byte 10) (utf8->string (apply bytevector (reverse bytes))))
            ((= byte 13) (loop bytes))
            (else (loop (cons byte bytes)))))))

(define (status text) (substring text 9 12))

;; The bytes that a server answers to some frames.
(define (frames . parts)
  (call-with-connection (connect address #:timeout 10)
    (lambda (input output)
      (write-bytevector (string->utf8 (string-append opening "\r\n")) output)
      (flush-output-port output)
      (let loop ((ends 0))
        (let ((byte (read-u8 input)))
          (cond ((= byte 13) (loop ends))
                ((= byte 10) (if (< ends 1) (loop (+ ends 1))))
                (else (loop 0)))))
      (for-each (lambda (part)
                  (write-bytevector part output)
                  (flush-output-port output)
                  (sleep 0.002))
                parts)
      (let loop ((parts '()))
        (let ((part (read-bytevector 4096 input)))
          (if (eof-object? part)
              (apply bytevector-append (reverse parts))
              (loop (cons part parts))))))))

;; A frame with a mask of noughts.
(define (frame first . bytes)
  (apply bytevector first (+ 128 (length bytes)) 0 0 0 0 bytes))

(define goodbye (frame 136 3 232))
(define goodbye-answer (bytevector 136 2 3 232))
(define (refused code) (lambda (bytes) (let ((end (bytevector-length bytes)))
                                         (and (>= end 4)
                                              (= 136 (bytevector-u8-ref bytes 0))
                                              (= code (+ (* 256 (bytevector-u8-ref bytes 2))
                                                         (bytevector-u8-ref bytes 3)))))))

(test-group "opening"
  (let ((answer (call-with-connection (connect address #:timeout 10)
                  (lambda (input output)
                    (write-bytevector
                     (string->utf8
                      (string-append opening "Sec-WebSocket-Protocol: a, c, b\r\n\r\n"))
                     output)
                    (write-bytevector goodbye output)
                    (flush-output-port output)
                    (let ((bytes (read-bytevector 10000 input)))
                      (utf8->string bytes 0 (- (bytevector-length bytes) 4)))))))
    (test-assert (string-contains answer "Sec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
    (test-assert (string-contains answer "Sec-Websocket-Protocol: c\r\n"))
    (test-assert (string-contains answer "Connection: Upgrade\r\n"))
    (test-assert (string-contains answer "Upgrade: websocket\r\n")))
  (test "426" (status (ask "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")))
  (let ((answer (ask (string-append
                      "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: \
                       websocket\r\n"
                      "Sec-WebSocket-Version: 8\r\n\r\n"))))
    (test "426" (status answer))
    (test-assert (string-contains answer "Sec-Websocket-Version: 13\r\n")))
  (test "400" (status (ask (string-append
                            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\n"
                            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: short\r\n\r\n"))))
  ;; A page of another host.
  (test "403" (status (ask (string-append
                            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\n"
                            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: \
                             https://evil\r\n\r\n")))))

(test-group "messages"
  (let ((socket (websocket-connect (url "/echo") #:protocols '("b"))))
    (test "b" (websocket-protocol socket))
    (for-each (lambda (message)
                (websocket-send socket message)
                (test message (websocket-receive socket)))
              (list "" "Hello" "λ is wide" (bytevector) (bytevector 0 255 7)
                    (make-string 125 #\a) (make-string 126 #\a) (make-string 65535 #\b)
                    (make-string 65536 #\c) (make-bytevector 100000 9)))
    (websocket-ping socket (bytevector 1 2))
    (websocket-send socket "after")
    (test "after" (websocket-receive socket))
    (test-assert (websocket-open? socket))
    (websocket-close socket 3001 "enough")
    (test-assert (eof-object? (websocket-receive socket)))
    (test 3001 (websocket-close-code socket))
    (test-error (websocket-send socket "late")))
  (let ((socket (websocket-connect (url "/bye"))))
    (test-assert (eof-object? (websocket-receive socket)))
    (test 4000 (websocket-close-code socket))
    (test "bye" (websocket-close-reason socket)))
  (test-error (websocket-connect (url "/events")))
  ;; A server that answers with a head without end.
  (let* ((listener (listen "127.0.0.1:0"))
         (liar (start (call-with-connection (accept-connection listener)
                        (lambda (input output)
                          (guard (object ((error-object? object) #f))
                            (write-bytevector (make-bytevector 1000000 97) output)
                            (flush-output-port output)))))))
    (test-error (websocket-connect (string-append "ws://" (listener-address listener) "/")))
    (await liar)
    (close-listener listener))
  ;; Several tasks send at once.
  (let ((socket (websocket-connect (url "/echo"))))
    (let ((tasks (map (lambda (i) (start (websocket-send socket (make-string 1000 #\x))))
                      (make-list 20 0))))
      (for-each await tasks)
      (test (make-list 20 1000)
            (map (lambda (i) (string-length (websocket-receive socket))) (make-list 20 0))))
    (websocket-close socket)
    (test-assert (eof-object? (websocket-receive socket)))))

(test-group "frames"
  (test goodbye-answer (frames goodbye))
  (test (bytevector 136 0) (frames (frame 136)))
  (test (bytevector-append (bytevector 129 2 72 105) goodbye-answer)
        (frames (frame 129 72 105) goodbye))
  ;; In pieces, with a ping between.
  (test (bytevector-append (bytevector 138 1 7) (bytevector 129 2 72 105) goodbye-answer)
        (frames (frame 1 72) (frame 137 7) (frame 0) (frame 128 105) goodbye))
  ;; In pieces of which most are empty.
  (test (bytevector-append (bytevector 129 2 72 105) goodbye-answer)
        (frames (frame 1)
                (apply bytevector-append (make-list 20000 (frame 0)))
                (frame 0 72)
                (apply bytevector-append (make-list 20000 (frame 0)))
                (frame 128 105)
                goodbye))
  ;; Each byte a piece, up to the limit and beyond.
  (let ((pieces (apply bytevector-append (frame 2) (make-list 99999 (frame 0 7)))))
    (test (+ 10 100000 4)
          (bytevector-length (frames pieces (frame 128 7) goodbye)))
    (test-assert ((refused 1009) (frames pieces (frame 0 7) (frame 0 7)))))
  ;; A text that cannot become UTF-8 is refused before it is whole.
  (test-assert ((refused 1007) (frames (frame 1 206) (frame 0 206))))
  ;; Byte by byte.
  (test (bytevector-append (bytevector 129 1 72) goodbye-answer)
        (apply frames (append (map bytevector (list 129 129 1 2 3 4 (+ 72 1))) (list goodbye))))
  (test-assert ((refused 1002) (frames (bytevector 129 2 72 105))))
  (test-assert ((refused 1002) (frames (frame 193 72))))
  (test-assert ((refused 1002) (frames (frame 131))))
  (test-assert ((refused 1002) (frames (frame 9 1))))
  (test-assert ((refused 1002) (frames (frame 128 1))))
  (test-assert ((refused 1002) (frames (frame 1 72) (frame 129 72))))
  (test-assert ((refused 1002) (frames (bytevector 137 254 0 126 0 0 0 0))))
  (test-assert ((refused 1002) (frames (bytevector 130 254 0 5 0 0 0 0 1 2 3 4 5))))
  (test-assert ((refused 1002) (frames (bytevector 130 255 0 0 0 0 0 0 0 5 0 0 0 0 1 2 3 4 5))))
  (test-assert ((refused 1002) (frames (bytevector 130 255 128 0 0 0 0 0 0 0))))
  (test-assert ((refused 1009) (frames (bytevector 130 255 0 0 0 0 0 1 134 161))))
  (test-assert ((refused 1007) (frames (frame 129 195 40))))
  (test-assert ((refused 1007) (frames (frame 136 3 232 255))))
  (test-assert ((refused 1002) (frames (frame 136 3))))
  (test-assert ((refused 1002) (frames (frame 136 3 237))))
  (test-assert ((refused 1002) (frames (frame 136 0 1)))))

;; The answer to an offer of extensions, or #f.
(define (extensions path offer)
  (let* ((answer (call-with-connection (connect address #:timeout 10)
                   (lambda (input output)
                     (write-bytevector
                      (string->utf8
                       (string-append "GET " path " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                                      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                      offer "\r\n"))
                      output)
                     (write-bytevector goodbye output)
                     (flush-output-port output)
                     (let ((bytes (read-bytevector 10000 input)))
                       (utf8->string bytes 0 (- (bytevector-length bytes) 4))))))
         (start (string-contains answer "Sec-Websocket-Extensions: ")))
    (and start
         (let ((text (string-copy answer (string-cursor->index answer start))))
           (read-line (open-input-string (substring text 26 (string-length text))))))))

(test-group "compression"
  (test #f (extensions "/echo" "Sec-WebSocket-Extensions: permessage-deflate\r\n"))
  (test #f (extensions "/context" ""))
  (test #f (extensions "/context" "Sec-WebSocket-Extensions: permessage-deflate; x=1\r\n"))
  (test "permessage-deflate"
        (extensions "/context"
                    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"))
  (test "permessage-deflate; server_no_context_takeover; server_max_window_bits=9"
        (extensions "/context"
                    (string-append
                     "Sec-WebSocket-Extensions: x, permessage-deflate; server_max_window_bits=8\r\n"
                     "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=9;"
                     " server_no_context_takeover\r\n")))
  (test "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        (extensions "/compressed" "Sec-WebSocket-Extensions: permessage-deflate\r\n"))
  (for-each
   (lambda (path offered)
     (let ((socket (websocket-connect (url path) #:compression offered)))
       (test (not (string=? path "/echo")) (websocket-compressed? socket))
       (for-each (lambda (message)
                   (websocket-send socket message)
                   (test message (websocket-receive socket)))
                 (list "" "short" (make-string 1000 #\a) (make-string 1000 #\λ)
                       (make-string 100 #\b) (make-string 100 #\b) (bytevector 1 2 3)
                       ;; Messages that get no smaller.
                       (random-bytes 50000)
                       (make-bytevector 100000 7)))
       ;; The limit counts the decompressed bytes of a message.
       (websocket-send socket (make-bytevector 100001 7))
       (test-assert (eof-object? (websocket-receive socket)))
       (test 1009 (websocket-close-code socket))))
   '("/compressed" "/compressed" "/context" "/context" "/echo")
   '(#t context #t context #t))
  (let ((socket (websocket-connect (url "/compressed"))))
    (test #f (websocket-compressed? socket))
    (websocket-close socket))
  (test-error (websocket-connect (url "/compressed") #:compression 'yes))
  ;; A server that chooses parameters that were not offered.
  (for-each
   (lambda (extension offered)
     (let* ((listener (listen "127.0.0.1:0"))
            (liar (start
                   (call-with-connection (accept-connection listener)
                     (lambda (input output)
                       (let loop ((key #f))
                         (let ((line (read-header-line input)))
                           (cond ((string-prefix? "Sec-WebSocket-Key: " line)
                                  (loop (substring line 19 (string-length line))))
                                 ((not (string=? line "")) (loop key))
                                 (else
                                  (write-bytevector
                                   (string->utf8
                                    (string-append
                                     "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: \
                                      Upgrade\r\n"
                                     "Sec-WebSocket-Accept: "
                                     (base64-encode
                                      (digest 'sha-1
                                              (string-append
                                               key "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")))
                                     "\r\nSec-WebSocket-Extensions: " extension "\r\n\r\n"))
                                   output)
                                  (flush-output-port output)))))))))
            (socket (guard (object ((error-object? object) 'refused))
                      (websocket-connect (string-append "ws://" (listener-address listener) "/")
                                         #:compression offered))))
       (await liar)
       (test (string=? extension "permessage-deflate; client_max_window_bits=8")
             (websocket? socket))
       (close-listener listener)))
   '("permessage-deflate; client_max_window_bits=8" "x" "permessage-deflate"
     "permessage-deflate" "permessage-deflate; client_max_window_bits")
   '(context context #t #f context)))

(test-group "events"
  (let ((text (ask "GET /events HTTP/1.0\r\nLast-Event-ID: 6\r\n\r\n")))
    (test-assert (string-contains text "Content-Type: text/event-stream; charset=utf-8\r\n"))
    (test-assert (string-contains text (string-append
                                        "\r\n\r\nretry: 2000\n\ndata: one\n\n"
                                        "id: 7\nevent: more\ndata: two\ndata: lines\ndata: and \
                                         three\n\n"
                                        "data: 6\n\n")))))

(stop-server! server)
(test-assert (memv 3001 closings))
(test-finish)
