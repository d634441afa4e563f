;;; Threads that read the lines of one port: each line goes to one of them, as a whole, whether it
;;; is taken from what was lent to the thread or from the port itself.

(import (scheme base) (scheme file) (only (canny fs) call-with-temporary-file) (canny parallel)
        (canny test))

(define line-count 40000)

(define (line number)
  (string-append (number->string number)
                 (if (= 0 (modulo number 19)) " naïve €" "")
                 (make-string (modulo number 50) #\x)))

(define (number-of line)
  (let loop ((end 0))
    (if (and (< end (string-length line)) (char<=? #\0 (string-ref line end) #\9))
        (loop (+ end 1))
        (string->number (substring line 0 end)))))

(define (write-lines name)
  (call-with-output-file name
    (lambda (port)
      (do ((number 0 (+ number 1)))
          ((= number line-count))
        (write-string (line number) port)
        (newline port)))))

;; Reads until there is nothing left; adds up what came, and counts what is no line of the file.
(define (take-lines port seen)
  (let loop ((taken 0) (wrong 0))
    (let ((text (read-line port)))
      (if (eof-object? text)
          (list taken wrong)
          (let ((number (number-of text)))
            (if (and number (< number line-count) (string=? text (line number)))
                (begin
                  (bytevector-u8-set! seen number (+ 1 (bytevector-u8-ref seen number)))
                  (loop (+ taken 1) wrong))
                (loop taken (+ wrong 1))))))))

(define (share name workers)
  (call-with-input-file name
    (lambda (port)
      (let* ((seen (make-bytevector line-count 0))
             (counts (parallel-map (lambda (_) (take-lines port seen))
                                   (vector->list (make-vector workers 0))
                                   #:workers workers #:chunk 1)))
        (list (apply + (map car counts))
              (apply + (map cadr counts))
              (let loop ((number 0))
                (or (= number line-count)
                    (and (= 1 (bytevector-u8-ref seen number)) (loop (+ number 1))))))))))

(test-group "lines of one port for several threads"
  (call-with-temporary-file
    (lambda (name . _)
      (write-lines name)
      (for-each (lambda (workers) (test (list line-count 0 #t) (share name workers)))
                '(1 2 2 4)))))

(test-finish)
