;;; (canny compression): ports and bytevectors, members, truncated and corrupt data.

(import (scheme base) (scheme file) (canny compression) (canny files)
        (only (canny io) make-binary-input) (canny test)
        (canny test properties))

(define formats '(gzip zlib deflate zstd))
(define long (let ((bytes (make-bytevector 300000)))
               (do ((i 0 (+ i 1))) ((= i 300000) bytes)
                 (bytevector-u8-set! bytes i (modulo (quotient (* i i) 7) 251)))))
(define (inputs format)
  (case format
    ((gzip) open-gzip-input) ((zlib) open-zlib-input) ((deflate) open-deflate-input)
    (else open-zstd-input)))
(define (outputs format)
  (case format
    ((gzip) open-gzip-output) ((zlib) open-zlib-output) ((deflate) open-deflate-output)
    (else open-zstd-output)))
(define (read-all port) (port->bytevector port))
(define (message thunk) (guard (e ((error-object? e) (error-object-message e))) (thunk) "no error"))
(define (contains? text part)
  (let ((length (string-length part)))
    (let loop ((i 0))
      (and (<= (+ i length) (string-length text))
           (or (string=? part (substring text i (+ i length))) (loop (+ i 1)))))))

(for-each
 (lambda (format)
   (test-group (symbol->string format)
     (test (bytevector) (decompress (compress (bytevector) format) format))
     (test #t (equal? long (decompress (compress long format) format)))
     (test #t (equal? long
                      (read-all ((inputs format) (open-input-bytevector (compress long format))))))
     (test #t (let* ((target (open-output-bytevector)) (port ((outputs format) target #:close? #f)))
                (write-bytevector long port 0 1000)
                (flush-output-port port)
                (write-bytevector long port 1000)
                (close-port port)
                (close-port port)
                (equal? long (decompress (get-output-bytevector target) format))))
     (test #t (let* ((compressed (compress long format))
                     (cut
                      (bytevector-copy compressed 0 (quotient (bytevector-length compressed) 2))))
                (and (contains? (message (lambda () (decompress cut format))) "at byte")
                     (contains?
                      (message (lambda () (read-all ((inputs format) (open-input-bytevector cut)))))
                      "at byte"))))
     (test-error (decompress (compress long format) format #:limit 1000))
     (test "λ line" (let ((target (open-output-bytevector)))
                      (let ((port ((outputs format) target #:text? #t #:close? #f)))
                        (write-string "λ line\nmore" port)
                        (close-port port))
                      (read-line
                       ((inputs format)
                        (open-input-bytevector (get-output-bytevector target))
                        #:text?
                        #t))))))
 formats)

(test-group "gzip and files"
  (test (bytevector 1 2 3 4)
    (gunzip (bytevector-append (gzip (bytevector 1 2)) (gzip (bytevector 3 4)))))
  (test (bytevector 7) (gunzip (gzip (bytevector 7) #:level 9)))
  (test-error (gunzip (bytevector 1 2 3)))
  (test-error (gzip (bytevector 7) #:level 10))
  (test-error (compress (bytevector) 'lzma))
  (test-error (gzip "text"))
  (test-error (open-gzip-input (open-input-string "text")))
  (test-error file-error?
              (read-u8 (open-gzip-input
                        (open-input-bytevector
                         (bytevector 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18)))))
  (let ((name "canny-compressed.gz"))
    (let ((port (open-gzip-output (open-binary-output-file name) #:text? #t)))
      (do ((i 0 (+ i 1))) ((= i 1000)) (write-string "a line of text\n" port))
      (close-port port))
    (test 1000 (let ((port (open-gzip-input (open-binary-input-file name) #:text? #t)))
                 (let loop ((count 0))
                   (if (eof-object? (read-line port))
                       (begin (close-port port) count)
                       (loop (+ count 1))))))
    (delete-file name))
  ;; The inner port belongs to the other one.
  (test-error
   (let* ((inner (open-input-bytevector (gzip (bytevector 1)))) (outer (open-gzip-input inner)))
     (read-u8 outer)
     (read-u8 inner)))
  (test-error
   (let* ((inner (open-input-bytevector (gzip (bytevector 1)))) (outer (open-gzip-input inner)))
     (read-u8 outer)
     (open-gzip-input inner))))

;; Ports that procedures make the bytes of.
(test-group "ports of procedures"
  (define (cut bytes size)
    (let ((place 0))
      (make-binary-input "cut"
                         (lambda (target start count)
                           (let ((count (min size count (- (bytevector-length bytes) place))))
                             (bytevector-copy! target start bytes place (+ place count))
                             (set! place (+ place count))
                             count)))))
  (define (repeated text count) (apply string-append (make-list count text)))
  (define text (repeated "a line of text, é\n" 20000))
  (for-each
   (lambda (format open)
     (for-each
      (lambda (size)
        (let ((bytes (compress (string->utf8 text) format)))
          (test (string->utf8 text)
                (let ((port (open (cut bytes size))))
                  (read-bytevector 1000000 port)))
          (test text (let ((port (open (cut bytes size) #:text? #t)))
                       (read-string 1000000 port)))
          (test-true (eof-object? (read-u8 (open (cut (compress (bytevector) format) size)))))
          (test-error file-error?
                      (read-bytevector 1000000
                                       (open (cut (bytevector-copy bytes 0
                                                                   (- (bytevector-length bytes) 9))
                                                  size))))))
      '(1 100 100000)))
   formats
   (list open-gzip-input open-zlib-input open-deflate-input open-zstd-input))
  (test-error file-error? (read-u8 (open-gzip-input (cut (make-bytevector 100 7) 10))))
  ;; Data that is there is given before the rest has come.
  (let* ((bytes (compress (bytevector 1 2 3) 'gzip))
         (sent #f)
         (port (open-gzip-input
                (make-binary-input "once"
                                   (lambda (target start count)
                                     (if sent
                                         (error "asked again")
                                         (begin
                                           (set! sent #t)
                                           (bytevector-copy! target start bytes)
                                           (bytevector-length bytes))))))))
    (test 1 (read-u8 port))
    (close-port port)
    (test-error (read-u8 port))))

(test-property "bytes come back" ((bytes (bytevectors)))
  (let loop ((formats formats))
    (or (null? formats)
        (and (equal? bytes (decompress (compress bytes (car formats)) (car formats)))
             (loop (cdr formats))))))

(test-property "anything is decompressed or refused" ((bytes (bytevectors)))
  (let loop ((formats formats))
    (or (null? formats)
        (and (guard (e ((error-object? e) #t)) (decompress bytes (car formats)) #t)
             (loop (cdr formats))))))

(test-finish)
