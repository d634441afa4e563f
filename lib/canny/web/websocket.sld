;;; (canny web websocket): messages in both directions over one connection (RFC 6455).
;;;
;;;     (run-server
;;;      (lambda (request body)
;;;        (websocket-response request
;;;                            (lambda (socket)
;;;                              (let loop ()
;;;                                (let ((message (websocket-receive socket)))
;;;                                  (if (not (eof-object? message))
;;;                                      (begin
;;;                                        (websocket-send socket message)
;;;                                        (loop)))))))))
;;;
;;; A message is a string or a bytevector. Any task may send; one at a time receives. Pings are
;;; answered while a task receives.
;;;
;;; | field of a socket | changed by | under |
;;; |---|---|---|
;;; | output of the output port, `said-goodbye`, `torn` | tasks that send | the mutex |
;;; | the beginning of a message, in the codec | the task that receives | the port |
;;; | `code`, `reason`, `ended` | the task that receives | none: it alone writes them |

(define-library (canny web websocket)
  (export websocket-response websocket-request? websocket-connect
          websocket? websocket-receive websocket-send websocket-ping websocket-close
          websocket-open? websocket-close-code websocket-close-reason websocket-protocol
          websocket-compressed?
          in-websocket)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny machine arguments)
          (only (canny data lists) for-each map member)
          (only (canny base64) base64-encode base64-decode)
          (only (canny crypto) digest random-bytes)
          (only (canny io) set-port-timeout!)
          (canny net) (canny sync) (canny tasks) (canny web message) (canny web uri))
  (begin

    (define-record-type websocket
      (%make-websocket input output client mutex codec protocol compressed fragile torn code
                       reason ended said-goodbye)
      websocket?
      (input input)
      (output output)
      ;; Whether this side has opened the connection.
      (client client?)
      (mutex mutex)
      ;; Reads and makes frames, and has what is there of a message.
      (codec codec)
      (protocol protocol)
      (compressed compressed?)
      ;; Whether each message is compressed with what the ones before have in common with it, so
      ;; that none may be left out. Also whether one was, when its sender was cancelled.
      (fragile fragile?)
      (torn torn? set-torn!)
      (code code set-code!)
      (reason reason set-reason!)
      (ended ended? set-ended!)
      (said-goodbye said-goodbye? set-said-goodbye!))

    ;; `agreed` is what `%websocket-codec` takes.
    (define (make-websocket input output client? max-bytes protocol agreed)
      (%make-websocket input output client? (make-mutex) (%websocket-codec client? max-bytes agreed)
                       protocol (and agreed #t)
                       (and agreed (vector-ref agreed websocket-agreement/written-keeps-context)) #f
                       #f "" #f #f))

    (define (check-websocket who object)
      (check-argument who 1 websocket? "WebSocket" object))

    ;; The code of why a connection was closed, by either side; #f while it is open. 1005 says that
    ;; there was none, 1006 that it was lost.
    (define (websocket-close-code socket)
      (check-websocket 'websocket-close-code socket)
      (code socket))

    (define (websocket-close-reason socket)
      (check-websocket 'websocket-close-reason socket)
      (reason socket))

    ;; The protocol inside that both sides agreed on, or #f.
    (define (websocket-protocol socket)
      (check-websocket 'websocket-protocol socket)
      (protocol socket))

    ;; Whether messages may be compressed.
    (define (websocket-compressed? socket)
      (check-websocket 'websocket-compressed? socket)
      (compressed? socket))

    ;; Whether something can still be sent.
    (define (websocket-open? socket)
      (check-websocket 'websocket-open? socket)
      (not (or (ended? socket) (said-goodbye? socket))))

    ;; Frames.

    (define (data-frame? opcode)
      (or (= opcode frame/text)
          (= opcode frame/binary)))

    ;; Sends a frame; `#f` if the connection was closed before.
    (define (send-frame socket opcode message)
      (with-mutex (mutex socket)
        (if (or (said-goodbye? socket) (ended? socket)
                (and (torn? socket) (data-frame? opcode)))
            #f
            (let ((port (output socket))
                  (fragile? (and (fragile? socket) (data-frame? opcode))))
              (if (= opcode frame/close)
                  (set-said-goodbye! socket #t))
              (if fragile? (set-torn! socket #t))
              (write-bytevector (%websocket-frame (codec socket) opcode message) port)
              (if fragile? (set-torn! socket #f))
              (flush-output-port port)
              #t))))

    ;; Messages.

    ;; Sends a string, or a bytevector.
    (define (websocket-send socket message)
      (check-websocket 'websocket-send socket)
      (if (not (cond ((string? message) (send-frame socket frame/text message))
                     ((bytevector? message) (send-frame socket frame/binary message))
                     (else (%type-error 'websocket-send 2 "string or bytevector" message))))
          (raise (%make-condition 'closed "the WebSocket is closed" '() 'websocket-send)))
      (void))

    ;; Requests an answer, which the receiving task ignores.
    (define* (websocket-ping socket #:optional (bytes (bytevector)))
      (check-websocket 'websocket-ping socket)
      (check-argument 'websocket-ping 2 bytevector? "bytevector" bytes)
      (if (> (bytevector-length bytes) 125)
          (%range-error 'websocket-ping 2 "at most 125 bytes" bytes))
      (send-frame socket frame/ping bytes)
      (void))

    ;; The next message, a string or a bytevector; an end-of-file object when the connection has
    ;; ended, however it did.
    (define (websocket-receive socket)
      (check-websocket 'websocket-receive socket)
      (if (ended? socket)
          (eof-object)
          ;; The other side has gone, or is silent for too long.
          (guard (object ((and (error-object? object)
                               (memq (condition-kind object) '(system timeout file closed)))
                          (finish! socket #f "")))
            (next-message socket))))

    (define (next-message socket)
      (let ((event (%websocket-next! (codec socket) (input socket))))
        (cond ((pair? event) (take-notice socket (car event) (cdr event)))
              ;; A pong.
              ((eq? event #t) (next-message socket))
              ((eof-object? event) (finish! socket #f ""))
              (else event))))

    ;; Answers what is no message; `websocket-event/fault` is for what has to end the connection.
    (define (take-notice socket kind content)
      (cond ((= kind websocket-event/ping)
             (send-frame socket frame/pong content)
             (next-message socket))
            (content (finish! socket (car content) (cdr content)))
            (else (finish! socket 1005 ""))))

    (define (valid-code? code)
      (or (<= 1000 code 1003)
          (<= 1007 code 1014)
          (<= 3000 code 4999)))

    ;; The connection has ended for the receiver; the other side learns why, if it can be.
    (define (finish! socket code reason)
      (guard (object ((error-object? object) #f))
        (if code
            (send-frame socket frame/close (goodbye-bytes code reason))))
      (set-ended! socket #t)
      (%websocket-release! (codec socket))
      (set-code! socket (or code 1006))
      (set-reason! socket reason)
      ;; That of a server is closed by the caller of its procedure.
      (if (client? socket)
          (begin
            (close-quietly (output socket))
            (close-quietly (input socket))))
      (eof-object))

    (define (close-quietly port)
      (guard (object ((error-object? object) #f))
        (close-port port)))

    (define (goodbye-bytes code reason)
      (if (= code 1005)
          (bytevector)
          (let ((bytes (string->utf8 reason)))
            (bytevector-append (bytevector (quotient code 256) (remainder code 256))
                               (if (> (bytevector-length bytes) 123) (bytevector) bytes)))))

    ;; Says that nothing follows.  The receiver gets the end when the other side has answered.
    (define* (websocket-close socket #:optional (code 1000) (reason ""))
      (check-websocket 'websocket-close socket)
      (check-argument 'websocket-close 2 exact-integer? "code" code)
      (check-argument 'websocket-close 3 string? "string" reason)
      (if (not (valid-code? code))
          (%range-error 'websocket-close 2 "a code such as 1000, or from 3000 to 4999" code))
      (if (> (bytevector-length (string->utf8 reason)) 123)
          (%range-error 'websocket-close 3 "a reason of at most 123 bytes" reason))
      (send-frame socket frame/close (goodbye-bytes code reason))
      (void))

    ;; A generator of the messages.
    (define (in-websocket socket)
      (lambda () (websocket-receive socket)))

    ;; Opening.

    ;; Whether a request asks for a WebSocket, in the version of HTTP that can. Headers that are
    ;; malformed ask for nothing.
    (define (websocket-request? request)
      (and (eq? 'GET (request-method request))
           (equal? '(1 . 1) (request-version request))
           (memq 'upgrade (request-header request 'connection '()))
           (let loop ((protocols (request-header request 'upgrade '())))
             (and (pair? protocols)
                  (or (string-ci=? "websocket" (car protocols))
                      (loop (cdr protocols)))))))

    (define (accept-key key)
      (base64-encode (digest 'sha-1 (string-append key "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))))

    (define (valid-key? key)
      (and key
           (guard (object ((error-object? object) #f))
             (= 16 (bytevector-length
                    (base64-decode key #:padding 'required #:white-space? #f))))))

    (define (refusal status text . headers)
      (make-response #:status status
                     #:headers (append headers '((content-type . (text/plain))))
                     #:body text))

    ;; Whether the page may open it: `#t` those of this host, a list those of these origins, #f any.
    ;; Programs other than browsers have no origin.
    (define (allowed? request origins)
      (let ((origin (request-field request 'origin)))
        (cond ((not (and origin origins)) #t)
              ((eq? origins #t)
               (let ((mark (string-search-forward "://" origin 0))
                     (host (request-field request 'host)))
                 (and mark host
                      (string=? host (substring origin (+ mark 3) (string-length origin))))))
              (else (member origin origins)))))

    ;; The protocol that both know, the first of the client's.
    (define (common-protocol request protocols)
      (let loop ((offered (request-header request 'sec-websocket-protocol '())))
        (cond ((null? offered) #f)
              ((member (car offered) protocols) (car offered))
              (else (loop (cdr offered))))))

    (define (check-compression who object)
      (if (not (memq object '(#f #t context)))
          (raise-bad-option who "#:compression" "#f, #t or context" object)))

    ;; The server's answer to the offered extensions, in front of the settings for the codec; or #f.
    (define (accept-compression request compression)
      (let ((offers (and compression (request-field request 'sec-websocket-extensions))))
        (and offers (%websocket-accept offers (eq? compression 'context)))))

    (define (interval? object)
      (and (real? object) (> object 0)))

    ;; The response that makes a request's connection a WebSocket, with which the procedure is
    ;; called in a task of its own. For a request that is none for a WebSocket, one that names
    ;; the error of a request that is none for a WebSocket.
    (define* (websocket-response request procedure
                                 #:key (protocols '()) (origins #t)
                                 (max-message-bytes 1048576) (ping-interval 30)
                                 (compression #f))
      (check-argument 'websocket-response 1 request? "request" request)
      (check-procedure 'websocket-response 2 procedure)
      (check-compression 'websocket-response compression)
      (if (not (and (exact-integer? max-message-bytes) (> max-message-bytes 0)))
          (raise-bad-option 'websocket-response "#:max-message-bytes" "a count"
                            max-message-bytes))
      (if (not (or (not ping-interval) (interval? ping-interval)))
          (raise-bad-option 'websocket-response "#:ping-interval" "a number of seconds or #f"
                            ping-interval))
      (let ((key (request-field request 'sec-websocket-key)))
        (cond ((not (websocket-request? request))
               (refusal 426 "This is a WebSocket.\n" '(upgrade . "websocket")))
              ((not (equal? "13" (request-field request 'sec-websocket-version)))
               (refusal 426 "This version of WebSocket is not served.\n"
                        '(sec-websocket-version . "13")))
              ((not (valid-key? key)) (refusal 400 "Malformed Sec-WebSocket-Key.\n"))
              ((not (allowed? request origins))
               (refusal 403 "Pages of this origin may not.\n"))
              (else
               (let ((protocol (common-protocol request protocols))
                     (accepted (accept-compression request compression)))
                 (make-response
                  #:status 101
                  #:headers (append
                             (if protocol (list (cons 'sec-websocket-protocol protocol)) '())
                             (if accepted
                                 (list (cons 'sec-websocket-extensions (car accepted)))
                                 '())
                             (list (cons 'sec-websocket-accept (accept-key key))
                                   '(upgrade . "websocket")))
                  #:body (lambda (input output)
                           (serve-socket
                            (make-websocket input output #f max-message-bytes protocol
                                            (and accepted (cdr accepted)))
                            procedure ping-interval))))))))

    ;; Runs a procedure with a socket, and closes it.
    (define (serve-socket socket procedure ping-interval)
      (let ((pinger (and ping-interval
                         (begin
                           ;; A client that answers no ping has gone, and so has one that takes
                           ;; nothing of what is sent: pongs, or messages.
                           (set-port-timeout! (input socket) (* 2.5 ping-interval))
                           (set-port-timeout! (output socket) (* 2.5 ping-interval))
                           (spawn (lambda () (keep-pinging socket ping-interval))
                                  #:name 'websocket-ping)))))
        (dynamic-wind
         void
         (lambda ()
           (guard (object (#t
                           (if (websocket-open? socket)
                               (send-frame socket frame/close (goodbye-bytes 1011 "")))
                           (raise object)))
             (procedure socket)))
         (lambda ()
           (if pinger (cancel! pinger))
           (guard (object ((error-object? object) #f))
             (part socket))))))

    ;; Seconds that the other side may take to send its closing frame and to close, while it may
    ;; still send data.
    (define patience 5)

    ;; Ends a connection in order. Both sides send a closing frame, and this side reads on until the
    ;; other's has come: the system discards sent bytes if unread ones arrive.
    (define (part socket)
      (let ((end (+ (%clock-nanoseconds clock/monotonic) (* patience 1000000000))))
        (define (hear-out next)
          (if (not (or (> (%clock-nanoseconds clock/monotonic) end)
                       (eof-object? (next))))
              (hear-out next)))
        ;; Nothing more can be sent over a lost connection.
        (set-port-timeout! (input socket) patience)
        (set-port-timeout! (output socket) (if (eqv? 1006 (code socket)) 1/100 patience))
        (if (websocket-open? socket)
            (send-frame socket frame/close (goodbye-bytes 1000 "")))
        (hear-out (lambda () (websocket-receive socket)))
        (close-port (output socket))
        (hear-out (lambda () (read-available (input socket))))))

    (define (keep-pinging socket interval)
      (guard (object (#t #f))
        (let loop ()
          (sleep interval)
          (if (websocket-open? socket)
              (begin
                (send-frame socket frame/ping (bytevector))
                (loop))))))

    ;; Clients.

    ;; Bytes of a server's answer.
    (define head-bytes-max 16384)

    ;; The bytes up to the first empty line; #f if there is none.
    (define (read-head port)
      (let ((bytes (make-bytevector head-bytes-max)))
        (let loop ((length 0) (ends 0))
          (let ((byte (if (= length head-bytes-max) (eof-object) (read-u8 port))))
            (if (eof-object? byte)
                #f
                (let ((length* (+ length 1)))
                  (bytevector-u8-set! bytes length byte)
                  (cond ((= byte 13) (loop length* ends))
                        ((not (= byte 10)) (loop length* 0))
                        ((= ends 1) (bytevector-copy bytes 0 length*))
                        (else (loop length* 1)))))))))

    (define (failed message . objects)
      (raise (%make-condition 'system message objects 'websocket-connect)))

    ;; A WebSocket to an address that begins with `ws:` or `wss:`.
    (define* (websocket-connect url
                                #:key (headers '()) (protocols '()) (timeout 30) (context #f)
                                (max-message-bytes 1048576) (compression #f))
      (check-compression 'websocket-connect compression)
      (let* ((uri (if (uri? url) url (string->uri url)))
             (secure? (eq? 'wss (uri-scheme uri)))
             (port (or (uri-port uri) (if secure? 443 80)))
             (host (uri-host uri)))
        (if (not (and (memq (uri-scheme uri) '(ws wss)) host))
            (failed "the address is not one of a WebSocket" url))
        (let* ((connection (if secure?
                               (tls-connect host port #:timeout timeout #:context context)
                               (tcp-connect host port #:timeout timeout)))
               (key (base64-encode (random-bytes 16)))
               (path (if (equal? "" (uri-path uri)) "/" (uri-path uri)))
               (target (if (uri-query uri) (string-append path "?" (uri-query uri)) path))
               (in (connection-input connection))
               (out (connection-output connection)))
          (guard (object (#t (close-connection connection) (raise object)))
            (set-port-timeout! in timeout)
            (write-bytevector
             (string->utf8
              (string-append
               "GET " target " HTTP/1.1\r\nHost: " host
               (if (uri-port uri) (string-append ":" (number->string port)) "")
               "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: " key "\r\n"
               (if (null? protocols)
                   ""
                   (string-append "Sec-WebSocket-Protocol: " (joined protocols) "\r\n"))
               (if compression
                   (string-append "Sec-WebSocket-Extensions: "
                                  (%websocket-offer (eq? compression 'context)) "\r\n")
                   "")
               (fields headers)
               "\r\n"))
             out)
            (flush-output-port out)
            (let* ((head (or (read-head in) (failed "the connection ended")))
                   (response (%http-read-response head 0 (bytevector-length head) "GET"))
                   (status (list-ref response response-head/status))
                   (answered (list-ref response response-head/fields))
                   (field (lambda (name)
                            (let ((entry (assq name answered)))
                              (and entry (cdr entry))))))
              (if (not (= status 101))
                  (failed "the server does not open a WebSocket" status))
              (if (not (equal? (accept-key key) (field 'sec-websocket-accept)))
                  (failed "the server's answer is not to this request"))
              (let* ((protocol (field 'sec-websocket-protocol))
                     (extension (field 'sec-websocket-extensions))
                     (agreed (and compression extension
                                  (%websocket-agreed extension (eq? compression 'context)))))
                (if (and extension (not agreed))
                    (failed "the server chose an extension that was not offered" extension))
                (if (and protocol (not (member protocol protocols)))
                    (failed "the server chose a protocol that was not offered" protocol))
                (set-port-timeout! in #f)
                (make-websocket in out #t max-message-bytes protocol agreed)))))))

    (define (joined texts)
      (let loop ((all (car texts)) (rest (cdr texts)))
        (if (null? rest)
            all
            (loop (string-append all ", " (car rest)) (cdr rest)))))

    (define (fields headers)
      (apply string-append
             (map (lambda (header)
                    (let ((value (cdr header)))
                      (if (or (%string-index value #\return) (%string-index value #\newline))
                          (failed "control character in a header" (car header)))
                      (string-append (symbol->string (car header)) ": " value "\r\n")))
                  headers)))))
