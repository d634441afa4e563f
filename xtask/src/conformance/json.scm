;;; Reads the files of JSONTestSuite in a directory with every reader of ours. Files called y_*.json
;;; are to be accepted, n_*.json to be refused; i_*.json may be either, but a refusal is an error
;;; object, as ever. Accepted files of the first kind are written and read again.
(import (scheme base) (scheme file) (scheme process-context) (scheme write)
        (canny json)
        (only (canny files) file->string)
        (only (srfi 170) directory-files)
        (prefix (only (srfi 180) json-generator json-read json-write) srfi:))

(define passed 0)
(define failed 0)

(define (check! right? reader name)
  (cond (right? (set! passed (+ passed 1)))
        (else
         (set! failed (+ failed 1))
         (for-each display (list "FAIL " reader ": " name "\n")))))

;; A value in a list, or #f if the text has none, more than one, or is no JSON at all.
(define (only-value read)
  (lambda (name)
    (call-with-input-file name
      (lambda (port)
        (let ((value (read port)))
          (and (not (eof-object? value))
               (eof-object? (read port))
               (list value)))))))

;; The same for what gives the parts of a value one after the other; the value is how many there
;; are.
(define (events-of make-generator)
  (only-value
   (lambda (port)
     (let ((next (make-generator port)))
       (let loop ((count 0))
         (let ((event (next)))
           (cond ((not (eof-object? event)) (loop (+ count 1)))
                 ((= count 0) event)
                 (else count))))))))

(define readers
  (list (cons "json-read of (canny json)" (only-value (lambda (port) (json-read port))))
        (cons "string->json" (lambda (name) (list (string->json (file->string name)))))
        (cons "json-events" (events-of (lambda (port) (json-events port))))
        (cons "json-read of (srfi 180)" (only-value srfi:json-read))
        (cons "json-generator" (events-of srfi:json-generator))))

(define (attempt read name)
  (guard (e ((error-object? e) #f))
    (read name)))

(define (check-file! directory name)
  (let ((path (string-append directory "/" name)))
    (for-each
     (lambda (reader)
       (let ((found (attempt (cdr reader) path)))
         (case (string-ref name 0)
           ((#\y) (check! (pair? found) (car reader) name))
           ((#\n) (check! (not found) (car reader) name))
           (else (check! #t (car reader) name)))))
     readers)
    (if (char=? (string-ref name 0) #\y)
        (let ((value (attempt (cdr (car readers)) path)))
          (define (comes-back? write)
            (let ((port (open-output-string)))
              (write port)
              (equal? value (list (string->json (get-output-string port))))))
          (check! (and value (comes-back? (lambda (port) (json-write (car value) port))))
                  "json-write of (canny json)" name)
          (check! (and value (comes-back? (lambda (port) (srfi:json-write (car value) port))))
                  "json-write of (srfi 180)" name)))))

(let ((directory (cadr (command-line))))
  (for-each (lambda (name) (check-file! directory name))
            (directory-files directory)))

(for-each display (list passed " passed, " failed " failed\n"))
(exit (if (= failed 0) 0 1))
