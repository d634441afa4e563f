;;; (canny crypto): digests, authentication codes, keys out of passwords, random bytes.
;;;
;;;     (hex-encode (digest 'sha-256 "abc"))              ; (canny base64) has hex-encode
;;;     (hmac 'sha-256 key "message")
;;;     (timing-safe=? code (hmac 'sha-256 key message))
;;;
;;; Data, keys and passwords are bytevectors, or strings, which are taken as UTF-8. Algorithms are
;;; named by symbols: `sha-256`, `sha-384`, `sha-512`, and for protocols that need them `sha-1` and,
;;; for digests only, `md5`.

(define-library (canny crypto)
  (export digest hmac pbkdf2 random-bytes timing-safe=?)
  (import (canny primitives) (canny syntax))
  (begin

    (define (data who position object)
      (cond ((bytevector? object) object)
            ((string? object) (string->utf8 object))
            (else (%type-error who position "bytevector or string" object))))

    ;; The digest of some data.
    (define (digest algorithm bytes)
      (%digest algorithm (data 'digest 2 bytes)))

    ;; The authentication code of data: it shows a holder of the key that another holder made the
    ;; data.
    (define (hmac algorithm key bytes)
      (%hmac algorithm (data 'hmac 2 key) (data 'hmac 3 bytes)))

    ;; A key of `length` bytes out of a password. It takes time in proportion to the number of
    ;; iterations, and blocks no other task.
    (define (pbkdf2 algorithm password salt iterations length)
      (%pbkdf2 algorithm (data 'pbkdf2 2 password) (data 'pbkdf2 3 salt) iterations length))

    ;; Unpredictable bytes from the system.
    (define (random-bytes count)
      (%random-bytes count))

    ;; Whether two codes are equal, in a time that depends on their lengths only.
    (define (timing-safe=? a b)
      (%timing-safe=? (data 'timing-safe=? 1 a) (data 'timing-safe=? 2 b)))))
