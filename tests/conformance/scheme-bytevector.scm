(import (except (scheme base) bytevector-copy!) (scheme bytevector) (canny test))

(test-group "general"
  (test 'big (endianness big))
  (test 'little (endianness little))
  (test #t (if (memq (native-endianness) '(big little)) #t #f))
  (test #t (bytevector=? #u8(1 2) (bytevector 1 2)))
  (test #f (bytevector=? #u8(1 2) #u8(1)))
  (let ((b (make-bytevector 5 9)))
    (bytevector-copy! #u8(1 2 3) 1 b 2 2)
    (test #u8(9 9 2 3 9) b)
    (bytevector-fill! b 7)
    (test #u8(7 7 7 7 7) b)
    (test-error (bytevector-copy! #u8(1 2 3) 1 b 4 2))
    (test-error (bytevector-copy! #u8(1 2 3) 2 b 0 2)))
  (test 3 (bytevector-length (bytevector-copy #u8(1 2 3))))
  (test '(1 2) (bytevector->u8-list #u8(1 2)))
  (test #u8(1 2) (u8-list->bytevector '(1 2))))

(test-group "bytes"
  (let ((b (make-bytevector 2 0)))
    (bytevector-s8-set! b 0 -1)
    (bytevector-u8-set! b 1 255)
    (test '(255 -1 255)
          (list (bytevector-u8-ref b 0) (bytevector-s8-ref b 0) (bytevector-u8-ref b 1)))
    (test-error (bytevector-s8-set! b 0 128))
    (test-error (bytevector-s8-ref b 2))))

(test-group "machine sizes"
  (define-syntax check
    (syntax-rules ()
      ((_ size number (ref set! native-ref native-set!) ...)
       (begin
         (let ((b (make-bytevector 24 0)))
           (set! b 1 number 'big)
           (test number (ref b 1 'big))
           (set! b 1 number 'little)
           (test number (ref b 1 'little))
           (native-set! b 16 number)
           (test number (native-ref b 16))
           (test number (ref b 16 (native-endianness)))
           (test-error (native-ref b 1))
           (test-error (ref b 23 'big))
           (test-error (ref b 0 'middle))
           (test-error (set! b 0 'a 'big)))
         ...))))
  (check 2 1000 (bytevector-u16-ref bytevector-u16-set! bytevector-u16-native-ref
                                    bytevector-u16-native-set!)
         (bytevector-s16-ref bytevector-s16-set! bytevector-s16-native-ref
                             bytevector-s16-native-set!))
  (check 4 100000
         (bytevector-u32-ref bytevector-u32-set! bytevector-u32-native-ref
                             bytevector-u32-native-set!)
         (bytevector-s32-ref bytevector-s32-set! bytevector-s32-native-ref
                             bytevector-s32-native-set!))
  (check 8 10000000000
         (bytevector-u64-ref bytevector-u64-set! bytevector-u64-native-ref
                             bytevector-u64-native-set!)
         (bytevector-s64-ref bytevector-s64-set! bytevector-s64-native-ref
                             bytevector-s64-native-set!))
  (check 4 0.5 (bytevector-ieee-single-ref bytevector-ieee-single-set!
                                           bytevector-ieee-single-native-ref
                                           bytevector-ieee-single-native-set!))
  (check 8 0.1 (bytevector-ieee-double-ref bytevector-ieee-double-set!
                                           bytevector-ieee-double-native-ref
                                           bytevector-ieee-double-native-set!))
  (test 258 (bytevector-u16-ref #u8(1 2) 0 'big))
  (test 513 (bytevector-u16-ref #u8(1 2) 0 'little))
  (test -2 (bytevector-s16-ref #u8(255 254) 0 'big))
  (test -1 (bytevector-s64-ref (make-bytevector 8 255) 0 'big))
  (test 18446744073709551615 (bytevector-u64-ref (make-bytevector 8 255) 0 'big))
  (test 1.0 (bytevector-ieee-double-ref #u8(63 240 0 0 0 0 0 0) 0 'big))
  (test 1.0 (bytevector-ieee-single-ref #u8(0 0 128 63) 0 'little))
  (test-error (bytevector-u16-set! (make-bytevector 2) 0 65536 'big))
  (test-error (bytevector-u16-set! #u8(1 2) 0 1 'big)))

(test-group "any size"
  (test 66051 (bytevector-uint-ref #u8(1 2 3) 0 'big 3))
  (test 197121 (bytevector-uint-ref #u8(1 2 3) 0 'little 3))
  (test -1 (bytevector-sint-ref #u8(255 255 255) 0 'big 3))
  (let ((b (make-bytevector 3 0)))
    (bytevector-uint-set! b 0 66051 'big 3)
    (test #u8(1 2 3) b)
    (bytevector-sint-set! b 0 -2 'little 3)
    (test #u8(254 255 255) b)
    (test-error (bytevector-uint-set! b 0 -1 'big 3))
    (test-error (bytevector-sint-set! b 0 (expt 2 23) 'big 3))
    (test-error (bytevector-uint-set! b 1 0 'big 3))
    (test-error (bytevector-uint-ref b 0 'big 0)))
  (test '(513 65283 513 513) (bytevector->uint-list #u8(1 2 3 255 1 2 1 2) 'little 2))
  (test '(513 -253 513 513) (bytevector->sint-list #u8(1 2 3 255 1 2 1 2) 'little 2))
  (test #u8(1 2 3 255) (uint-list->bytevector '(513 65283) 'little 2))
  (test #u8(255 255 0 1) (sint-list->bytevector '(-1 1) 'big 2))
  (test-error (bytevector->uint-list #u8(1 2 3) 'big 2))
  (test-error (uint-list->bytevector '(-1) 'big 2)))

(test-group "text"
  (test #u8(97 206 187) (string->utf8 "aλ"))
  (test "aλ" (utf8->string #u8(97 206 187)))
  (test #u8(0 97 #xD8 0 #xDC 0) (string->utf16 "a\x10000;"))
  (test #u8(97 0) (string->utf16 "a" 'little))
  (test #u8(0 0 0 97) (string->utf32 "a"))
  (test #u8(97 0 0 0) (string->utf32 "a" 'little))
  (test "a\x10000;" (utf16->string #u8(0 97 #xD8 0 #xDC 0) 'big))
  (test "a" (utf16->string #u8(255 254 97 0) 'big))
  (test "\xFEFF;a" (utf16->string #u8(254 255 0 97) 'big #t))
  (test "\xFFFD;" (utf16->string #u8(#xD8 0) 'big))
  (test "a" (utf32->string #u8(0 0 254 255 0 0 0 97) 'little))
  (test-error (utf16->string #u8(1) 'big)))

(test-finish)
