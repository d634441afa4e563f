;;; (canny crypto): digests and codes of the standards, wrong arguments.

(import (scheme base) (canny crypto) (canny base64) (canny test))

(define (hex bytes) (hex-encode bytes))

(test-group "digests"
  (test "d41d8cd98f00b204e9800998ecf8427e" (hex (digest 'md5 "")))
  (test "da39a3ee5e6b4b0d3255bfef95601890afd80709" (hex (digest 'sha-1 #u8())))
  (test "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        (hex (digest 'sha-256 "abc")))
  (test 48 (bytevector-length (digest 'sha-384 "abc")))
  (test 64 (bytevector-length (digest 'sha-512 "abc")))
  (test (digest 'sha-256 (string->utf8 "ä")) (digest 'sha-256 "ä"))
  (test "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        (hex (digest 'sha-256 (make-string 1000000 #\a))))
  (test-error (digest 'sha-3 ""))
  (test-error (digest "sha-256" ""))
  (test-error (digest 'sha-256 1)))

(test-group "codes and keys"
  (test "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        (hex (hmac 'sha-256 "Jefe" "what do ya want for nothing?")))
  (test-error (hmac 'md5 "" ""))
  (test "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"
        (hex (pbkdf2 'sha-256 "password" "salt" 4096 32)))
  (test-error (pbkdf2 'sha-256 "password" "salt" 0 32))
  (test-error (pbkdf2 'sha-256 "password" "salt" 1 1000000)))

(test-group "random bytes and comparison"
  (test 16 (bytevector-length (random-bytes 16)))
  (test #u8() (random-bytes 0))
  (test-false (equal? (random-bytes 16) (random-bytes 16)))
  (test-error (random-bytes -1))
  (test-true (timing-safe=? #u8(1 2) #u8(1 2)))
  (test-true (timing-safe=? "ä" (string->utf8 "ä")))
  (test-false (timing-safe=? #u8(1 2) #u8(1 3)))
  (test-false (timing-safe=? #u8(1 2) #u8(1)))
  (test-error (timing-safe=? 1 #u8(1))))

(test-finish)
