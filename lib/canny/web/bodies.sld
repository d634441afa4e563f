;;; (canny web bodies): forms, files and JSON in the bodies of requests.
;;;
;;;     (with-middleware (router-handler app) (parse-bodies))
;;;     ... (form-value request "name") ... (request-json request)
;;;
;;; Everything is limited. A malformed body is answered by 400, one that is too large by 413, one of
;;; another type by 415. A handler sees none of them.

(define-library (canny web bodies)
  (export parse-bodies request-form form-value form-values request-parts request-part request-json)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny data lists) assoc for-each map member)
          (only (canny machine control) raise guard call-with-escape-continuation)
          (only (canny json) string->json json-error?)
          (only (canny web uri) query->alist uri-error?)
          (only (canny web multipart)
                multipart-boundary call-with-multipart multipart-error? part-name part-filename
                part-text)
          (canny web message)
          (only (canny web headers text) skip-blanks trim-end)
          (only (canny web middleware) call-handler))
  (begin

    (define (refusal status text)
      (make-response #:status status
                     #:headers '((content-type . (text/plain (charset . "utf-8"))))
                     #:body (string-append text "\n")))

    ;; The kind of a content type: `form`, `multipart`, `json` or `#f`.
    (define (kind-of type)
      (let ((name (and (pair? type) (symbol? (car type)) (symbol->string (car type)))))
        (cond ((not name) #f)
              ((string=? name "application/x-www-form-urlencoded") 'form)
              ((string=? name "multipart/form-data") 'multipart)
              ((or (string=? name "application/json") (string-suffix? "+json" name)) 'json)
              (else #f))))

    ;; The same of a request. The kind is `malformed` if the content type would be one of these and
    ;; its parameters are malformed, such as the boundary of a form.
    (define (kind-of-request request kinds)
      (let ((type (request-header request 'content-type))
            (field (request-field request 'content-type)))
        (if (or type (not (string? field)))
            (kind-of type)
            (let* ((end (or (%string-index field #\; 0) (string-length field)))
                   (end (or (%string-index field #\, 0 end) end))
                   (start (skip-blanks field 0 end))
                   (name (string->symbol
                          (string-downcase field start (trim-end field start end)))))
              (and (memq (kind-of (list name)) kinds) 'malformed)))))

    (define (has-body? request body)
      (and body (not (eqv? 0 (request-body-length request)))))

    ;; A middleware that reads the bodies of kinds that are known, and notes what is in them for
    ;; handlers. Other bodies are left to them, unless `#:only?` is true. `#:limit` is for the bytes
    ;; of forms and JSON, `#:total-limit` and `#:part-limit` for those of forms with files,
    ;; `#:fields-limit` for fields. Files are in temporary files if they have more than
    ;; `#:memory-limit` bytes, and go when the handler has answered.
    (define* (parse-bodies #:key (kinds '(form multipart json)) (only? #f) (limit 1048576)
                           (total-limit 67108864)
                           (part-limit #f) (memory-limit 65536) (fields-limit 1000)
                           (depth-limit 100))
      (check-argument 'parse-bodies 1 list? "list of kinds" kinds)
      (lambda (handler)
        (lambda (request body)
          (let* ((present? (has-body? request body))
                 (kind (and present? (kind-of-request request kinds))))
            (cond ((not present?) (handler request body))
                  ((eq? kind 'malformed) (malformed))
                  ((and kind (memq kind kinds) (coded? request))
                   (make-response #:status 415
                                  #:headers '((content-type . (text/plain (charset . "utf-8")))
                                              (accept-encoding . "identity"))
                                  #:body "Unsupported Media Type\n"))
                  ((and kind (memq kind kinds))
                   (case kind
                     ((form) (with-text request limit
                               (lambda (text) (read-form request text fields-limit))
                               too-many-fields
                               (lambda () (handler request #f))))
                     ((json) (with-text request limit
                               (lambda (text) (read-json request text depth-limit))
                               malformed
                               (lambda () (handler request #f))))
                     (else (with-parts handler request body total-limit part-limit memory-limit
                             fields-limit))))
                  (only? (refusal 415 "Unsupported Media Type"))
                  (else (handler request body)))))))

    ;; Whether a body is compressed or the like. None of that is undone here, so that no body is
    ;; larger than it seems.
    (define (coded? request)
      (let ((coding (request-field request 'content-encoding)))
        (and coding (not (string-ci=? coding "identity")))))

    (define (malformed) (refusal 400 "Bad Request"))
    (define (too-many-fields) (refusal 413 "Content Too Large"))

    ;; Reads a body as UTF-8; continues when `read` says that it was fine, by being true, and
    ;; answers with `refuse` otherwise.
    (define (with-text request limit read refuse continue)
      (let ((length (request-body-length request)))
        (if (and length (> length limit))
            (refusal 413 "Content Too Large")
            (let ((bytes (guard (object ((body-too-long? object) #f))
                           (read-request-body request limit))))
              (if (not bytes)
                  (refusal 413 "Content Too Large")
                  (let ((text (guard (object ((error-object? object) #f))
                                (utf8->string bytes))))
                    (cond ((not text) (malformed))
                          ((read text) (continue))
                          (else (refuse)))))))))

    ;; Of a form's text nothing is malformed; there may be too many fields.
    (define (read-form request text fields-limit)
      (guard (object ((error-object? object) #f))
        (set-request-attribute! request 'form (query->alist text #:limit fields-limit))
        #t))

    (define (read-json request text depth-limit)
      (guard (object ((json-error? object) #f))
        (set-request-attribute! request 'json
                                (list (string->json text #:depth-limit depth-limit)))
        #t))

    (define (with-parts handler request body total-limit part-limit memory-limit fields-limit)
      (let ((boundary (multipart-boundary (request-header request 'content-type)))
            (length (request-body-length request))
            (read? #f))
        (cond ((not boundary) (refusal 400 "Bad Request"))
              ((and length (> length total-limit)) (refusal 413 "Content Too Large"))
              (else
               (guard (object ((and (not read?) (multipart-error? object))
                               (if (too-much? object)
                                   (refusal 413 "Content Too Large")
                                   (refusal 400 "Bad Request")))
                              ((and (not read?) (body-too-long? object))
                               (refusal 413 "Content Too Large")))
                 (call-with-multipart
                   body boundary
                   (lambda (parts)
                     (set! read? #t)
                     (set-request-attribute! request 'parts parts)
                     (call-handler handler request #f))
                   #:total-limit total-limit #:part-limit part-limit #:parts-limit fields-limit
                   #:memory-limit memory-limit))))))

    ;; Whether a condition is one of a limit.
    (define (too-much? condition)
      (let ((message (error-object-message condition)))
        (and (string? message)
             (string-search-forward "allowed" message 0)
             #t)))

    ;; The fields of a form, names with values as strings; of one with files the fields that are
    ;; none.
    (define (request-form request)
      (or (request-attribute request 'form)
          (let ((fields
                 (let loop ((parts (request-parts request)))
                   (cond ((null? parts) '())
                         ((part-filename (car parts)) (loop (cdr parts)))
                         (else
                          (cons (cons (part-name (car parts)) (part-text (car parts)))
                                (loop (cdr parts))))))))
            (set-request-attribute! request 'form fields)
            fields)))

    ;; The first value of a field, or a default; all values of it.
    (define* (form-value request name #:optional (default #f))
      (let ((entry (assoc name (request-form request))))
        (if entry (cdr entry) default)))
    (define (form-values request name)
      (let loop ((fields (request-form request)))
        (cond ((null? fields) '())
              ((string=? name (caar fields)) (cons (cdar fields) (loop (cdr fields))))
              (else (loop (cdr fields))))))

    ;; The parts of a form with files, as in `(canny web multipart)`.
    (define (request-parts request)
      (request-attribute request 'parts '()))

    ;; The first part of a name, or `#f`.
    (define (request-part request name)
      (let loop ((parts (request-parts request)))
        (cond ((null? parts) #f)
              ((equal? name (part-name (car parts))) (car parts))
              (else (loop (cdr parts))))))

    ;; The value of a body of JSON, or a default.
    (define* (request-json request #:optional (default #f))
      (let ((value (request-attribute request 'json)))
        (if value (car value) default)))))
