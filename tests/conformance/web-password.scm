;;; (canny web password): hashes of passwords, tokens, authentication codes.

(import (scheme base) (canny base64) (canny web password) (canny tasks) (canny test))

(define (cheap password) (hash-password password #:memory 64 #:passes 1))

(test-group "passwords"
  (test '(#t #f) (let ((hash (cheap "pässwörd")))
                   (list (password-matches? "pässwörd" hash) (password-matches? "passwort" hash))))
  (test #f (equal? (cheap "x") (cheap "x")))
  (test #f (password-matches? "x" #f))
  (test '(#t #f) (let ((hash (cheap "x")))
                   (list (password-hash-outdated? hash)
                         (password-hash-outdated? hash #:memory 64 #:passes 1))))
  (test "$argon2id$v=19$m=19456,t=2,p=1$" (substring (hash-password "x") 0 31))
  (test '(#t #t #t #t)
        (let ((hash (cheap "x")))
          (map await
               (map (lambda (i) (start (password-matches? "x" hash))) '(1 2 3 4)))))
  (test-error (password-matches? "x" ""))
  (test-error
   (password-matches? "x" "$argon2id$v=19$m=99999999,t=2,p=1$YWJjZGVmZ2hpams$YWJjZGVmZ2hpams"))
  (test-error (password-matches? 'x "y"))
  (test-error (hash-password "x" #:memory 1))
  (test-error (hash-password "x" #:memory 100000000))
  (test-error (hash-password "x" #:passes 0)))

(test-group "tokens"
  (test 43 (string-length (random-token)))
  (test 22 (string-length (random-token 16)))
  (test #f (string=? (random-token) (random-token)))
  (test 5 (bytevector-length (random-bytes 5)))
  (test-error (random-token 8))
  (test-error (random-bytes 100000000)))

(test-group "codes"
  (test "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        (hex-encode (hmac-sha256 "Jefe" "what do ya want for nothing?")))
  (test "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        (hex-encode (sha256 "abc")))
  (test '(#t #f #f)
        (let ((code (hmac-sha256 "k" "t")))
          (list (hmac-sha256-valid? "k" "t" code) (hmac-sha256-valid? "k" "u" code)
                (hmac-sha256-valid? "k" "t" (bytevector)))))
  (test '(#t #f #f) (list (secret=? "a" "a") (secret=? "a" "b") (secret=? "a" "aa")))
  (test-error (sha256 1)))

(test-finish)
