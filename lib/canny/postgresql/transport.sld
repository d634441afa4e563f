;;; (canny postgresql transport): a wire to the server that settings name: by TCP or a socket of the
;;; file system, encrypted or not.
;;;
;;; Authentication and the messages over the wire are outside of this library.

(define-library (canny postgresql transport)
  (export open-wire)
  (import (canny primitives) (canny syntax)
          (only (canny machine control) raise guard)
          (only (canny data lists) member)
          (canny net)
          (canny postgresql wire) (canny postgresql settings) (canny postgresql errors))
  (begin

    (define (number-setting settings name)
      (let ((value (string->number (setting settings name ""))))
        (if (not (exact-nonnegative-integer? value))
            (raise (%make-condition 'range "a setting is not a number" (list name)
                                    'open-postgresql)))
        value))

    (define (connect-to settings timeout)
      (let ((host (setting settings 'host #f))
            (port (number-setting settings 'port)))
        (if (string-prefix? "/" host)
            (unix-connect (string-append host "/.s.PGSQL." (number->string port))
                          #:timeout timeout)
            (tcp-connect host port #:timeout timeout))))

    ;; Whether servers are believed, and which.
    (define (context-for settings mode)
      (let ((root (setting settings 'sslrootcert #f)))
        (tls-client-context #:trust (cond ((member mode '("verify-ca" "verify-full")) (or root #t))
                                          ((and root (string=? mode "require")) root)
                                          (else #f))
                            #:certificate (setting settings 'sslcert #f)
                            #:key (setting settings 'sslkey #f))))

    (define (secure! wire settings mode timeout)
      (let ((connection (wire-connection wire)))
        (send-plain-message! wire (int32 80877103))
        (flush-wire! wire)
        (let ((answer (read-u8 (connection-input connection))))
          (cond ((eqv? answer 83)
                 (connection-start-tls! connection (context-for settings mode)
                                        #:server-name (setting settings 'host #f)
                                        #:timeout timeout))
                ((and (eqv? answer 78) (string=? mode "prefer")) #f)
                ((eqv? answer 78)
                 (raise (failure 'open-postgresql "the server does not speak TLS" 'code "08001")))
                (else
                 (raise (failure 'open-postgresql "the server does not speak PostgreSQL's protocol"
                                 'code "08P01")))))))

    (define modes '("disable" "allow" "prefer" "require" "verify-ca" "verify-full"))

    ;; A wire to the server, encrypted if that is wanted.
    (define (open-wire settings timeout)
      (let ((mode (setting settings 'sslmode "prefer")))
        (if (not (member mode modes))
            (raise (%make-condition 'range "sslmode is none of those that there are" (list mode)
                                    'open-postgresql)))
        (let* ((connection (connect-to settings timeout))
               (wire (make-wire connection)))
          (if (not (or (member mode '("disable" "allow"))
                       (string-prefix? "/" (setting settings 'host ""))))
              (guard (condition (#t
                                 (close-quietly wire)
                                 (raise condition)))
                (secure! wire settings mode timeout)))
          wire)))))
