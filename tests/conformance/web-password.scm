;;; (canny web password): hashes of passwords, tokens.

(import (scheme base) (canny web password) (canny tasks) (canny test))

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
  (test-error (random-token 8)))

(test-finish)
