;;; (canny postgresql authentication): a client's answers to the server's requests for its identity:
;;; passwords, MD5 and SCRAM-SHA-256.
;;;
;;; Certificates are a matter of (canny postgresql transport).

(define-library (canny postgresql authentication)
  (export authenticate!)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise)
          (only (canny data lists) member)
          (only (canny crypto) digest hmac pbkdf2 random-bytes timing-safe=?)
          (only (canny base64) base64-encode base64-decode hex-encode)
          (canny postgresql wire) (canny postgresql settings) (canny postgresql errors)
          (canny postgresql connection))
  (begin

    (define (password-of settings)
      (or (setting settings 'password #f)
          (raise (failure 'open-postgresql "the server wants a password, and there is none" 'code
                          "28P01"))))

    (define (authentication-message database)
      (let ((message (next-message database)))
        (case (message-kind message)
          ((#\R) message)
          ((#\E) (raise (error-of message 'open-postgresql #f)))
          ;; A server that does not know a newer protocol says so.
          ((#\v) (authentication-message database))
          (else (unexpected message)))))

    (define (authenticate! database settings)
      (let* ((message (authentication-message database))
             (bytes (message-bytes message))
             (start (message-start message)))
        (case (s32-at bytes start)
          ((0) #t)
          ((3)
           (send-password! database (c-string (password-of settings)))
           (authenticate! database settings))
          ((5)
           (send-password! database
                           (c-string
                            (md5-answer (setting settings 'user "") (password-of settings)
                                        (bytevector-copy bytes (+ start 4) (+ start 8)))))
           (authenticate! database settings))
          ((10)
           (if (not (member "SCRAM-SHA-256" (mechanisms bytes (+ start 4))))
               (raise
                (failure 'open-postgresql "the server wants a way to log in that we do not know"
                         'code "28000")))
           (scram! database (password-of settings))
           (authenticate! database settings))
          (else
           (raise (failure 'open-postgresql "the server wants a way to log in that we do not know"
                           'code "28000"))))))

    (define (send-password! database bytes)
      (send-message! (wire-of database) #\p bytes)
      (flush-wire! (wire-of database)))

    (define (md5-answer user password salt)
      (let ((inner (hex-encode (digest 'md5 (string-append password user)))))
        (string-append "md5"
                       (hex-encode (digest 'md5 (bytevector-append (string->utf8 inner) salt))))))

    (define (mechanisms bytes at)
      (if (= 0 (bytevector-u8-ref bytes at))
          '()
          (cons (text-of bytes at)
                (mechanisms bytes (+ 1 (text-end bytes at))))))

    ;; SCRAM-SHA-256, RFC 5802 and 7677: both sides prove that they know the password, and neither
    ;; reveals it.
    (define (scram! database password)
      (let* ((nonce (base64-encode (random-bytes 18)))
             (first-bare (string-append "n=,r=" nonce))
             (first (string->utf8 (string-append "n,," first-bare))))
        (send-password! database
                        (bytevector-append (c-string "SCRAM-SHA-256")
                                           (int32 (bytevector-length first))
                                           first))
        (let* ((server-first (sasl-text database 11))
               (server-nonce (attribute server-first "r="))
               (salt (base64-decode (attribute server-first "s=")))
               (iterations (string->number (attribute server-first "i=")))
               (without-proof (string-append "c=biws,r=" server-nonce)))
          (if (not (and (string-prefix? nonce server-nonce)
                        (exact-nonnegative-integer? iterations)
                        (<= 1 iterations 10000000)))
              (scram-failure))
          (let* ((salted (pbkdf2 'sha-256 (string-normalize-nfkc password) salt iterations 32))
                 (client-key (hmac 'sha-256 salted "Client Key"))
                 (exchange (string-append first-bare "," server-first "," without-proof))
                 (signature (hmac 'sha-256 (digest 'sha-256 client-key) exchange))
                 (proof (exclusive-or client-key signature))
                 (expected (hmac 'sha-256 (hmac 'sha-256 salted "Server Key") exchange)))
            (send-password! database
                            (string->utf8
                             (string-append without-proof ",p=" (base64-encode proof))))
            (let ((server-final (sasl-text database 12)))
              (if (not (timing-safe=? expected (base64-decode (attribute server-final "v="))))
                  (scram-failure)))))))

    (define (scram-failure)
      (raise (failure 'open-postgresql "the server has not proved that it knows the password" 'code
                      "28000")))

    (define (sasl-text database kind)
      (let* ((message (authentication-message database))
             (bytes (message-bytes message))
             (start (message-start message)))
        (if (not (= kind (s32-at bytes start)))
            (scram-failure))
        (utf8->string bytes (+ start 4) (message-end message))))

    ;; The value of an attribute, in a list with commas.
    (define (attribute text name)
      (let loop ((start 0))
        (let ((end (or (%string-index text #\, start) (string-length text))))
          (cond ((string-prefix? name (substring text start end))
                 (substring text (+ start (string-length name)) end))
                ((= end (string-length text)) (scram-failure))
                (else (loop (+ end 1)))))))

    (define (exclusive-or a b)
      (let ((result (bytevector-copy a)))
        (do ((index 0 (+ index 1))) ((= index (bytevector-length a)) result)
          (bytevector-u8-set! result index
                              (bitwise-xor (bytevector-u8-ref a index)
                                           (bytevector-u8-ref b index))))))))
