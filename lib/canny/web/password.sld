;;; (canny web password): hashes of passwords, and tokens that cannot be guessed.
;;;
;;;     (define stored (hash-password "correct horse battery staple"))
;;;     (password-matches? "correct horse battery staple" stored)     ; => #t
;;;
;;; Hashing is slow by design. It is done outside of the heap, so that it blocks only the calling
;;; task.

(define-library (canny web password)
  (export hash-password password-matches? password-hash-outdated?
          random-token)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise)
          (only (canny base64) base64-encode)
          (only (canny crypto) random-bytes))
  (begin

    ;; The hash of a password, a text to store, which has the parameters of the hash: by Argon2id
    ;; with a random salt. `#:memory` is in KiB; the costs are those that OWASP recommends unless
    ;; given.
    (define* (hash-password password #:key (memory 19456) (passes 2) (lanes 1))
      (check-argument 'hash-password 1 string? "string" password)
      (%hash-password password memory passes lanes))

    ;; Whether a password is the one that a hash was made of. `#f` as a hash takes as long as any
    ;; other and never matches. So the time does not reveal whether there is such a user.
    (define (password-matches? password hash)
      (check-argument 'password-matches? 1 string? "string" password)
      (if hash
          (%password-matches? password hash)
          (begin
            (hash-password password)
            #f)))

    (define (has-prefix? text prefix)
      (and (>= (string-length text) (string-length prefix))
           (string=? prefix (substring text 0 (string-length prefix)))))

    ;; Whether a hash was made at other costs than these, so that it should be replaced when the
    ;; password is at hand.
    (define* (password-hash-outdated? hash #:key (memory 19456) (passes 2) (lanes 1))
      (check-argument 'password-hash-outdated? 1 string? "string" hash)
      (not (has-prefix? hash
                        (string-append "$argon2id$v=19$m=" (number->string memory)
                                       ",t=" (number->string passes)
                                       ",p=" (number->string lanes) "$"))))

    ;; A text for URLs, cookies and headers of so many random bytes, 32 unless given.
    (define* (random-token #:optional (count 32))
      (if (< count 16)
          (%range-error 'random-token 1 "at least 16" count))
      (base64-encode (random-bytes count) #:url? #t #:padding? #f))))
