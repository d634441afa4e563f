;;; Part of (canny web client): responses and how their bodies are read.

(define-record-type response
  (new-response request uri head source settle! reader content port redirects)
  http-response?
  (request response-request)
  (uri response-uri)
  (head response-head)
  ;; The source of the body as it is sent, or #f.
  (source response-source set-response-source!)
  (settle! response-settle!)
  (reader response-reader)
  ;; The body as a bytevector once it was read, else #f.
  (content response-content set-response-content!)
  (port response-port* set-response-port!)
  ;; The URLs that led here, the first one last.
  (redirects response-redirects set-response-redirects!))

(define (make-response request uri head source settle! reader)
  (new-response request uri head source settle! reader (if source #f (bytevector)) #f '()))

(define (check-response who object)
  (check-argument who 1 http-response? "response" object))

;; The status, a number.
(define (http-response-status response)
  (check-response 'http-response-status response)
  (head-status (response-head response)))

;; The text that the server sent with the status.
(define (http-response-reason response)
  (check-response 'http-response-reason response)
  (head-reason (response-head response)))

;; All headers, an association list of symbols and strings.
(define (http-response-headers response)
  (check-response 'http-response-headers response)
  (head-headers (response-head response)))

(define (http-response-raw response name)
  (header-value (head-headers (response-head response)) name))

;; The value of a header, or #f if there is none.  Of Set-Cookie it is the first one.
(define (http-response-header response name)
  (check-response 'http-response-header response)
  (let ((text (if (eq? name 'set-cookie)
                  (let ((found (assq name (http-response-headers response))))
                    (and found (cdr found)))
                  (http-response-raw response name))))
    (and text (parse-header name text))))

;; The URL that the response came from, after redirects, as a string.
(define (http-response-url response)
  (check-response 'http-response-url response)
  (public-url (response-uri response)))

;; The URLs that were left by redirects, in their order.
(define (http-response-redirects response)
  (check-response 'http-response-redirects response)
  (reverse (response-redirects response)))

;; Whether the status says that all is well.
(define (http-response-ok? response)
  (<= 200 (http-response-status response) 299))

(define (store-cookies! response)
  (let ((jar (cookies-of (request-client (response-request response)))))
    (if jar
        (let loop ((rest (header-values (head-headers (response-head response)) 'set-cookie)))
          (if (pair? rest)
              (begin
                (cookie-jar-store! jar (response-uri response) (car rest))
                (loop (cdr rest))))))))

;; Reading a source; what fails gives the connection up.
(define (guarded-source response)
  (in-body response
           (lambda (target place count)
             ((response-source response) target place count))))

(define (in-body response source)
  (lambda (target place count)
    (guard (object (#t
                    ((response-settle! response) #f)
                    (raise object)))
      (in-stage (response-uri response) 'body
        (lambda () (source target place count))))))

(define (collect! response)
  (if (response-source response)
      (let ((source (guarded-source response))
            (buffer (make-bytevector 16384))
            (collected (open-output-bytevector))
            (limit (option (response-request response) 'body-limit)))
        (let loop ((sum 0))
          (let ((count (source buffer 0 16384)))
            (if (> count 0)
                (begin
                  (check-size response (+ sum count) limit)
                  (write-bytevector buffer collected 0 count)
                  (loop (+ sum count))))))
        (set-response-source! response #f)
        (set-response-content! response
                               (decoded response (get-output-bytevector collected) limit)))))

(define (check-size response size limit)
  (if (and limit (> size limit))
      (begin
        ((response-settle! response) #f)
        (fail (response-uri response) 'body "the body is longer than is allowed" #f))))

;; The codings of the body that are undone here, the last one first; #f if there is one that is
;; not known.
(define (codings response)
  (let ((text (and (option (response-request response) 'decompress?)
                   (http-response-raw response 'content-encoding))))
    (if (not text)
        '()
        (guard (condition ((header-error? condition) #f))
          (let loop ((rest (parse-header 'content-encoding text)) (codings '()))
            (cond ((null? rest) codings)
                  ((eq? (car rest) 'identity) (loop (cdr rest) codings))
                  ((memq (car rest) '(gzip x-gzip deflate zstd))
                   (loop (cdr rest) (cons (car rest) codings)))
                  (else #f)))))))

(define (check-codings response codings)
  (if (> (length codings) 3)
      (begin
        ((response-settle! response) #f)
        (fail (response-uri response) 'body "the body is compressed too many times" #f))))

(define (decoded response bytes limit)
  (let ((codings (if (eqv? 0 (bytevector-length bytes)) '() (codings response))))
    (in-stage (response-uri response) 'body
      (lambda ()
        (check-codings response (or codings '()))
        (let loop ((rest (or codings '())) (bytes bytes))
          (if (null? rest)
              bytes
              (loop (cdr rest)
                    (decompress bytes (format-of (car rest) bytes) #:limit limit))))))))

;; `deflate` is the zlib format, but some servers leave its frame out.
(define (format-of coding bytes)
  (case coding
    ((gzip x-gzip) 'gzip)
    ((zstd) 'zstd)
    (else
     (if (and (>= (bytevector-length bytes) 2)
              (eqv? 8 (bitwise-and 15 (bytevector-u8-ref bytes 0)))
              (eqv? 0
                    (remainder (+ (* 256 (bytevector-u8-ref bytes 0))
                                  (bytevector-u8-ref bytes 1))
                               31)))
         'zlib
         'deflate))))

;; The body as a bytevector.
(define (http-response-bytes response)
  (check-response 'http-response-bytes response)
  (if (response-port* response)
      (%range-error 'http-response-bytes 1 "a response whose port was not asked for" response))
  (collect! response)
  (response-content response))

;; The body as text, in the encoding that the content type names or UTF-8; what is malformed is
;; U+FFFD.
(define (http-response-text response)
  (let* ((bytes (http-response-bytes response))
         (text (http-response-raw response 'content-type))
         (type (and text
                    (guard (condition ((header-error? condition) #f))
                      (parse-header 'content-type text))))
         (charset (and type (assq 'charset (cdr type))))
         (encoding (or (and charset (string? (cdr charset)) (%encoding-name (cdr charset)))
                       "UTF-8")))
    (decode-bytevector bytes encoding #:malformed 'replace)))

;; The body as a value of JSON; the options are those of `string->json`.
(define (http-response-json response . options)
  (let ((text (http-response-text response)))
    (in-stage (response-uri response) 'body
      (lambda () (apply string->json text options)))))

;; A binary port that reads the body, as it comes if the request was made with `#:stream? #t`.
(define (http-response-port response)
  (check-response 'http-response-port response)
  (or (response-port* response)
      (let ((port (if (response-source response)
                      (streaming-port response)
                      (open-input-bytevector (http-response-bytes response)))))
        (set-response-port! response port)
        port)))

(define (streaming-port response)
  (let* ((codings (or (codings response) '()))
         (source (guarded-source response))
         (port (make-binary-input "body" source)))
    (check-codings response codings)
    (if (or (null? codings) (eof-object? (peek-u8 port)))
        port
        (let loop ((codings codings) (port port))
          (if (null? codings)
              port
              (loop (cdr codings)
                    (make-binary-input
                     "body"
                     (to-the-end response source
                                 (port-source (decompressing-port (car codings) port))))))))))

;; A decompressor that has all it needs does not look at the end of the body; the connection
;; waits for that.
(define (to-the-end response source decompressed)
  (in-body response
           (lambda (target place count)
             (let ((taken (decompressed target place count)))
               (if (and (eqv? taken 0) (> (source target place count) 0))
                   ((response-settle! response) #f))
               taken))))

(define (decompressing-port coding port)
  (case coding
    ((gzip x-gzip) (open-gzip-input port))
    ((zstd) (open-zstd-input port))
    (else
     ;; The first byte of the zlib format says so.
     (let ((byte (peek-u8 port)))
       (if (or (eof-object? byte) (eqv? 8 (bitwise-and 15 byte)))
           (open-zlib-input port)
           (open-deflate-input port))))))

;; Abandons the rest of the body, and the connection with it.
(define (close-http-response response)
  (check-response 'close-http-response response)
  (if (response-source response)
      (begin
        (drain response)
        (set-response-source! response
                              (lambda (target place count) (fault "the response is closed")))
        ((response-settle! response) #f))))

;; Little that is left and has arrived is read, so that the connection can be used again.
(define (drain response)
  (if (guard (condition ((header-error? condition) #f))
        (let ((length (http-response-raw response 'content-length)))
          (and length (<= (parse-header 'content-length length) 16384))))
      (guard (condition ((http-error? condition) #f))
        (set-reader-limits! (response-reader response) #f 0)
        (let ((source (guarded-source response)) (buffer (make-bytevector 16384)))
          (let loop ()
            (if (> (source buffer 0 16384) 0)
                (loop)))))))

;; The response itself, if all is well; else an error.
(define (check-http-response response)
  (if (http-response-ok? response)
      response
      (fail (response-uri response) 'status
            (string-append (number->string (http-response-status response))
                           " "
                           (http-response-reason response))
            #f)))
