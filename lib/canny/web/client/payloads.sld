;;; (canny web client payloads): the bodies of requests, made of all kinds of objects.
;;;
;;; A payload says whether it can be written again, for a redirect or a retry: all but ports and
;;; procedures can.

(define-library (canny web client payloads)
  (export as-payload sized-payload payload-write payload-length payload-type payload-again?
          payload-bytes
          unset)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny json) json->string)
          (only (canny web uri) alist->query)
          (only (canny web multipart) make-boundary write-multipart multipart-length))
  (begin

    ;; The value of an argument that was not given.
    (define unset (list 'unset))

    ;; A body: its bytes, or a procedure that writes it to a port, and its length or #f. It also
    ;; has its content type or #f, and whether it can be written again.
    (define-record-type payload
      (make-payload bytes write length type again?)
      payload?
      ;; The body, if it is there already.
      (bytes payload-bytes)
      (write payload-write)
      (length payload-length)
      (type payload-type)
      (again? payload-again?))

    (define (bytes-payload bytes type)
      (make-payload bytes #f (bytevector-length bytes) type #t))

    ;; A body for another library, without a content type: bytes, or a procedure that writes it and
    ;; its length or #f.
    (define (sized-payload bytes write length)
      (make-payload bytes write length #f #f))

    ;; Each piece is sent at once.
    (define (copy-port input output)
      (let ((bytes (read-available input)))
        (if (not (eof-object? bytes))
            (begin
              (write-bytevector bytes output)
              (flush-output-port output)
              (copy-port input output)))))

    (define (as-payload body json multipart)
      (if (> (+ (if (eq? body unset) 0 1) (if (eq? json unset) 0 1) (if multipart 1 0)) 1)
          (raise-bad-option 'http-request "#:body" "the only one of #:body, #:json, #:multipart"
                            body))
      (cond (multipart (multipart-payload multipart))
            ((not (eq? json unset))
             (bytes-payload (string->utf8 (json->string json)) "application/json"))
            ((or (eq? body unset) (not body)) #f)
            ((payload? body) body)
            ((string? body) (bytes-payload (string->utf8 body) "text/plain; charset=utf-8"))
            ((bytevector? body) (bytes-payload body "application/octet-stream"))
            ((list? body)
             (bytes-payload (string->utf8 (alist->query body))
                            "application/x-www-form-urlencoded"))
            ((procedure? body) (make-payload #f body #f "application/octet-stream" #f))
            ((and (input-port? body) (binary-port? body))
             (make-payload #f
                           (lambda (port) (copy-port body port))
                           #f "application/octet-stream" #f))
            (else
             (raise-bad-option 'http-request "#:body"
                               "a string, a bytevector, a binary port, a procedure, an \
                                association list or #f"
                               body))))

    (define (multipart-payload parts)
      (let* ((boundary (make-boundary)) (length (multipart-length parts boundary)))
        (make-payload #f
                      (lambda (port) (write-multipart parts port boundary))
                      length
                      (string-append "multipart/form-data; boundary=" boundary)
                      (and length #t))))))
