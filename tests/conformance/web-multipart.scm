;;; (canny web multipart): forms with files, however their bytes are cut; limits; writing.

(import (scheme base) (scheme cxr) (canny web multipart) (canny fs) (canny files)
        (canny io) (canny test)
        (canny test properties))

(define (written parts boundary)
  (let ((port (open-output-bytevector)))
    (write-multipart parts port boundary)
    (get-output-bytevector port)))

;; A port that gives so many bytes at once.
(define (cut bytes size)
  (let ((place 0))
    (make-binary-input "cut"
                       (lambda (target start count)
                         (let ((count (min size count (- (bytevector-length bytes) place))))
                           (bytevector-copy! target start bytes place (+ place count))
                           (set! place (+ place count))
                           count)))))

(define (summary part)
  (list (part-name part) (part-filename part) (part-type part) (part-text part)))

(define (parts-of bytes size . options)
  (apply call-with-multipart (cut bytes size) "XX" (lambda (parts) (map summary parts)) options))

(define (read-text text . options)
  (guard (e ((multipart-error? e) 'error))
    (apply parts-of (string->utf8 text) 4096 options)))

(define browser
  (string-append "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhéllo\r\nworld\r\n"
                 "--XX\r\ncontent-disposition: form-data; name=\"f\"; \
                  filename=\"C:\\\\dir/x%22y.txt\"\r\n"
                 "Content-Type: text/plain; charset=utf-8\r\n\r\n\r\n--X\r\r\n--XX\r\n"
                 "Content-Disposition: form-data; name=\"e\"\r\n\r\n\r\n--XX--\r\n"))

(test-group "reading"
  (for-each
   (lambda (size)
     (test (list '("a" #f (text/plain) "héllo\r\nworld")
                 '("f" "x\"y.txt" (text/plain (charset . "utf-8")) "\r\n--X\r")
                 '("e" #f (text/plain) ""))
           (parts-of (string->utf8 browser) size #:memory-limit 3)))
   '(1 2 3 5 7 11 64 100000))
  (test '() (read-text "--XX--"))
  (test '() (read-text "what stands in front\r\n--XX--\r\nand behind"))
  (test '((#f #f (text/plain) "abc")) (read-text "--XX \t\r\n\r\nabc\r\n--XX--"))
  (test '(("é" "ü" (text/plain) ""))
        (read-text
         "--XX\r\nContent-Disposition: form-data; name=\"é\"; filename=\"ü\"\r\n\r\n\r\n--XX--"))
  (test '(("a" #f (text/plain) "é"))
        (let ((head (string->utf8
                     "--XX\r\nContent-Disposition: form-data; name=a\r\nContent-Type: text/plain; \
                      charset=iso-8859-1\r\n\r\n")))
          (map (lambda (part) (list (car part) (cadr part) '(text/plain) (cadddr part)))
               (parts-of (bytevector-append head (bytevector #xE9) (string->utf8 "\r\n--XX--"))
                         10))))
  (test '(("f" . "x"))
        (let ((seen '()))
          (for-each-part (lambda (part)
                           (if (equal? (part-filename part) "x\"y.txt")
                               (set! seen (cons (cons (part-name part) "x") seen))))
                         (open-input-bytevector (string->utf8 browser)) "XX")
          seen))
  ;; Contents that were left are passed over.
  (test '(104 13 eof)
        (let ((seen '()))
          (for-each-part (lambda (part)
                           (let ((byte (read-u8 (part-port part))))
                             (set! seen (cons (if (eof-object? byte) 'eof byte) seen))))
                         (cut (string->utf8 browser) 3) "XX")
          (reverse seen)))
  (test '(form-data (name . "a"))
        (call-with-multipart (open-input-bytevector (string->utf8 browser)) "XX"
          (lambda (parts) (part-header (car parts) 'content-disposition)))))

(test-group "names of files that are directories"
  (for-each
   (lambda (sent name)
     (let ((text (string-append "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\""
                                sent "\"\r\n\r\nx\r\n--b--")))
       (test name
             (part-filename
              (car (read-multipart (open-input-bytevector (string->utf8 text)) "b"))))))
   '(".." "." "../.." "a/.." "..\\\\." "a/" "..." "a..b")
   '("" "" "" "" "" "" "..." "a..b"))
  (test #f
        (let ((text "--b\r\nX-A: 1\r\nContent-Range: nonsense\r\n\r\nx\r\n--b--"))
          (part-header (car (read-multipart (open-input-bytevector (string->utf8 text)) "b"))
                       'content-range))))

(test-group "wrong"
  (for-each
   (lambda (text) (test text 'error (read-text text)))
   '("" "abc" "--X" "--XX" "--XX\r\n" "--XX\r\n\r\n" "--XX\r\n\r\nabc" "--XX\r\n\r\nabc\r\n--XX"
     "--XX\r\n\r\nabc\r\n--XX-" "--XXa\r\n\r\n\r\n--XX--" "--XX\r\nno header\r\n\r\n\r\n--XX--"
     "--XX\r\na b: c\r\n\r\n\r\n--XX--" "--XX\r\nContent-Disposition: \"\r\n\r\n\r\n--XX--"
     "x--XX--"))
  (test-error (read-multipart (open-input-bytevector #u8()) ""))
  (test-error (read-multipart (open-input-bytevector #u8()) "a\r\nb"))
  (test-error (read-multipart (open-input-bytevector #u8()) (make-string 71 #\a)))
  (test-error (read-multipart (open-input-bytevector #u8()) "a" #:parts-limit -1))
  (test #f (multipart-error? 5)))

(test-group "limits"
  (define (three . options) (apply read-text browser options))
  (test 'error (three #:parts-limit 2))
  (test 3 (length (three #:parts-limit 3)))
  (test 'error (three #:part-limit 12))
  (test 3 (length (three #:part-limit 13)))
  (test 'error (three #:total-limit (- (bytevector-length (string->utf8 browser)) 1)))
  (test 3 (length (three #:total-limit (bytevector-length (string->utf8 browser)))))
  (test 'error (three #:header-limit 20))
  (test 'error
        (read-text (string-append "--XX\r\na:" (make-string 100000 #\b) "\r\n\r\n\r\n--XX--")))
  (test 'error (read-text (string-append "--XX" (make-string 1000 #\space) "\r\n\r\n\r\n--XX--"))))

(test-group "files"
  (define bytes (written (list (make-part "f" (make-bytevector 70000 13) #:filename "big")) "XX"))
  (define file #f)
  (call-with-multipart (open-input-bytevector bytes) "XX"
    (lambda (parts)
      (let ((part (car parts)))
        (set! file (part-file part))
        (test #t (file-exists? file))
        (test 70000 (part-size part))
        (test 13 (read-u8 (part-port part)))
        (test 70000 (bytevector-length (part-bytes part)))
        (call-with-temporary-directory
          (lambda (directory)
            (let ((path (path-join directory "saved")))
              (save-part part path)
              (test 70000 (file-size path))))))))
  (test #f (file-exists? file))
  ;; When the procedure is left, too.
  (test 'left (guard (e ((symbol? e) e))
                (call-with-multipart (open-input-bytevector bytes) "XX"
                  (lambda (parts)
                    (set! file (part-file (car parts)))
                    (raise 'left)))))
  (test #f (file-exists? file))
  (call-with-multipart (open-input-bytevector bytes) "XX"
    (lambda (parts)
      (test #f (part-file (car parts))))
    #:memory-limit 100000))

(test-group "writing"
  (test "--b\r\nContent-Disposition: form-data; \
         name=\"a\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=\"x%22%0D%0Ay\"; \
         filename=\"f\"\r\nContent-Type: text/html\r\nx-y: z\r\n\r\nA\r\n--b--\r\n"
        (utf8->string (written (list '(a . "1")
                                     (make-part "x\"\r\ny" #u8(65) #:filename "f" #:type "text/html"
                                                #:headers '((x-y . "z"))))
                               "b")))
  (test "--b--\r\n" (utf8->string (written '() "b")))
  (let* ((parts (list (cons "a" "é") (make-part "b" #u8(1 2 3) #:filename "c"))))
    (test (bytevector-length (written parts "XX")) (multipart-length parts "XX")))
  (test #f (multipart-length (list (cons "a" (open-input-bytevector #u8(1)))) "XX"))
  (test '(("a" #f (text/plain) "AB"))
        (parts-of (written (list (cons "a" (open-input-bytevector #u8(65 66)))) "XX") 5))
  (call-with-temporary-directory
    (lambda (directory)
      (let ((path (path-join directory "name.txt")))
        (string->file "content" path)
        (test '(("a" "name.txt" (application/octet-stream) "content"))
              (parts-of (written (list (cons "a" (cons 'file path))) "XX") 5)))))
  (test-error (written '(("a" . 5)) "XX"))
  (test-error (written '(5) "XX"))
  (test-error (written (list (make-part "a" "b" #:headers '((x . "y\r\nz")))) "XX"))
  (test-error multipart-error? (written '(("a\x0;b" . "c")) "XX"))
  (test-error (written '() "a b "))
  (test #f (string=? (make-boundary) (make-boundary))))

(test-group "boundaries"
  (test "a b" (multipart-boundary "multipart/form-data; boundary=\"a b\""))
  (test "x" (multipart-boundary '(multipart/form-data (boundary . "x"))))
  (test #f (multipart-boundary "text/plain; boundary=x"))
  (test #f (multipart-boundary "multipart/form-data"))
  (test #f (multipart-boundary "multipart/form-data; boundary=\"x \""))
  (test #f (multipart-boundary #f)))

(test-property "what is written is read, however it is cut"
               ((texts (lists-of (strings))) (size (integers 1 100)))
               (let ((fields (map (lambda (text) (cons "f" text)) texts)))
                 (equal? fields
                         (map (lambda (part) (cons (car part) (cadddr part)))
                              (parts-of (written fields "XX") size)))))

;; These would not end if the time grew with the square of the length.
(test-group "long ones"
  (for-each
   (lambda (piece)
     (let* ((count (quotient 300000 (string-length piece)))
            (text (apply string-append (make-list count piece)))
            (boundary (make-string 70 #\a)))
       (test piece
             (list text)
             (call-with-multipart
               (open-input-bytevector (written (list (cons "a" text)) boundary)) boundary
               (lambda (parts) (map part-text parts))))))
   (list "a" "\r" "\n" "\r\n" "\r\n-" "\r\n--" (string-append "\r\n--" (make-string 69 #\a)) "-a")))

(test-finish)
