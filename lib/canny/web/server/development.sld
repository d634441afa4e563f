;;; (canny web server development): what a failed handler looks like while a program is developed.
;;;
;;; `canny serve` says here that it serves. `answer-errors` then notes the object that a handler
;;; raised in the request. The server shows it in place of the middleware's answer, which may be a
;;; page of the application's own. It may also be a compressed one, or one with headers that do
;;; not suit.
;;;
;;; A *failure* is an object that was raised with the frames at that time, as `%backtrace` gives
;;; them. `canny serve` keeps more of it: see `(canny web server failures)`.

(define-library (canny web server development)
  (export serving-for-development? serve-for-development!
          note-failure! noted-failure failure-response wants-json? report-failure
          allow-reloading
          ;; For pages that can be looked into.
          failure-place failure-page page-response excerpt excerpt-lines)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) for-each map member)
          (only (canny machine control) guard current-error-port)
          (only (canny json) json->string)
          (only (canny sxml) sxml->html)
          (only (canny files) file->lines)
          (only (srfi 1) append-map)
          (only (canny web headers) parse-header)
          (canny web message))
  (begin

    ;; #f, or the procedure that makes a failure of a request, an object and frames.
    (define keep #f)

    ;; Whether `canny serve` runs the program.
    (define (serving-for-development?) (and keep #t))

    (define (serve-for-development! procedure)
      (set! keep procedure))

    ;; To be called where the object was raised.
    (define (note-failure! request object frames)
      (set-request-attribute! request '%failure (keep request object frames)))

    ;; The failure that was noted, or #f.
    (define (noted-failure request)
      (request-attribute request '%failure))

    ;;; Places

    (define (frame-name frame) (car frame))
    (define (frame-place frame) (cadr frame))
    (define (frame-variables frame) (car (cddr frame)))

    ;; File, line and column where an object was raised, or #f.
    (define (failure-place object frames)
      (or (and (error-object? object) (condition-position object))
          (let loop ((frames frames))
            (and (pair? frames)
                 (or (frame-place (car frames)) (loop (cdr frames)))))))

    ;; The lines around a place: lists of number and text.
    (define (excerpt place)
      (guard (object (#t '()))
        (let ((line (cadr place)))
          (let loop ((number 1) (lines (file->lines (car place))) (found '()))
            (cond ((or (null? lines) (> number (+ line 4))) (reverse! found))
                  ((< number (- line 4)) (loop (+ number 1) (cdr lines) found))
                  (else
                   (loop (+ number 1) (cdr lines)
                         (cons (list number (car lines)) found))))))))

    ;;; Reports

    (define (headline object)
      (if (and (error-object? object) (string? (error-object-message object)))
          (error-object-message object)
          "An object was raised"))

    (define (request-line request)
      (string-append (symbol->string (request-method request)) " " (request-target request)))

    ;; Says on standard error what a handler raised: to be called where it was raised.
    (define (report-failure request object)
      (flush-output-port (current-error-port))
      (%report-raised object
                      (string-append "a handler raised it for "
                                     (symbol->string (request-method request)) " "
                                     (request-path request))))

    ;; Whether a client asks for JSON and not for a page.
    (define (wants-json? request)
      (let* ((accept (string-downcase (or (request-field request 'accept) "")))
             (json (string-search-forward "json" accept 0)))
        (and json (not (string-search-forward "html" accept 0)))))

    (define (no-store . headers)
      (append headers '((cache-control . ((no-store . #t))))))

    ;; A page without frames to look into, or data for a client that asks for JSON. `note` is a
    ;; text that says why, or #f.
    (define* (failure-response request object frames #:optional (note #f))
      (let ((place (failure-place object frames)))
        (if (wants-json? request)
            (make-response
             #:status 500
             #:headers (no-store '(content-type . (application/json)))
             #:body (json->string (failure-data request object frames place)))
            (page-response
             '((style-src "'unsafe-inline'"))
             (failure-page request object place
                           (append (if (pair? frames)
                                       `((h2 "Backtrace")
                                         (ol ,@(map frame-item frames)))
                                       '())
                                   (if note `((p (@ (class "values")) ,note)) '())))))))

    ;; The answer with a page. The directives come into its policy.
    (define (page-response directives page)
      (make-response
       #:status 500
       #:headers (no-store '(content-type . (text/html (charset . "utf-8")))
                           '(x-frame-options . "DENY")
                           '(referrer-policy . "no-referrer")
                           '(cross-origin-resource-policy . "same-origin")
                           `(content-security-policy
                             . (((default-src "'none'") (frame-ancestors "'none'")
                                 (base-uri "'none'") (form-action "'none'")
                                 ,@directives))))
       #:body (sxml->html page #:doctype #t)))

    (define (place-data place)
      (if place
          `((file . ,(car place)) (line . ,(cadr place)) (column . ,(car (cddr place))))
          '()))

    (define (failure-data request object frames place)
      `((status . 500)
        (error . ,(condition->string object))
        (kind . ,(if (error-object? object) (symbol->string (condition-kind object)) 'null))
        (request . ,(request-line request))
        ,@(place-data place)
        (source . ,(list->vector
                    (map (lambda (line) `((line . ,(car line)) (text . ,(cadr line))))
                         (if place (excerpt place) '()))))
        (frames . ,(list->vector
                    (map (lambda (frame)
                           `((procedure . ,(frame-name frame))
                             ,@(place-data (frame-place frame))
                             (variables . ,(list->vector
                                            (map (lambda (variable)
                                                   `((name . ,(car variable))
                                                     (value . ,(cdr variable))))
                                                 (frame-variables frame))))))
                         frames)))))

    (define style
      (string-append
       "body{font:16px/1.4 system-ui,sans-serif;margin:2em auto;padding:0 1em;max-width:60em}"
       "pre{background:#f0f0f0;padding:1em;overflow:auto}pre b{background:#fdd}"
       "li{margin:.4em 0}.values{color:#555}"
       "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}pre{background:#222}"
       "pre b{background:#622}.values{color:#aaa}}"))

    ;; A page about an object that was raised at a place, or at #f. The sections come behind the
    ;; excerpt of the source, `more-style` behind the style.
    (define* (failure-page request object place sections #:optional (more-style ""))
      `(html (@ (lang "en"))
             (head (meta (@ (charset "utf-8")))
                   (meta (@ (name "viewport")
                            (content "width=device-width, initial-scale=1")))
                   (title ,(headline object))
                   (style ,(string-append style more-style)))
             (body
              (h1 ,(headline object))
              (p ,(request-line request))
              (pre ,(condition->string object))
              ,@(if place
                    `((h2 ,(%place->string place))
                      (pre ,@(excerpt-lines place)))
                    '())
              ,@sections)))

    (define (excerpt-lines place)
      (map (lambda (line)
             (list (if (= (car line) (cadr place)) 'b 'span)
                   (number->string (car line)) "  " (cadr line) "\n"))
           (excerpt place)))

    (define (frame-item frame)
      `(li (code ,(frame-name frame))
           ,(if (frame-place frame)
                (string-append " at " (%place->string (frame-place frame)))
                "")
           ,@(map (lambda (variable)
                    `(div (@ (class "values"))
                          (code ,(car variable) " = " ,(cdr variable))))
                  (frame-variables frame))))

    ;;; Policies

    ;; The rule of a policy for a sort of resource: the sources of the first directive of these
    ;; names, or #f.
    (define (sources-for names policy)
      (and (pair? names)
           (let ((found (assq (car names) policy)))
             (if found
                 (cdr found)
                 (sources-for (cdr names) policy)))))

    (define (with-source name sources policy)
      (cons (cons name (append (if (equal? '("'none'") sources) '() sources) '("'self'")))
            (let loop ((rest policy))
              (cond ((null? rest) '())
                    ((eq? name (caar rest)) (loop (cdr rest)))
                    (else (cons (car rest) (loop (cdr rest))))))))

    (define (allow name names policy)
      (let ((sources (sources-for names policy)))
        (if (or (not sources) (member "'self'" sources))
            policy
            (with-source name sources policy))))

    ;; The nonce that the scripts of some policies have to name, or #f.
    (define (nonce policies)
      (let loop ((sources (append-map (lambda (policy) (or (sources-for script-names policy) '()))
                                      policies)))
        (cond ((null? sources) #f)
              ((and (string-prefix? "'nonce-" (car sources)) (string-suffix? "'" (car sources)))
               (substring (car sources) 7 (- (string-length (car sources)) 1)))
              (else (loop (cdr sources))))))

    (define script-names '(script-src-elem script-src default-src))

    (define (allow-both policy)
      (allow 'connect-src '(connect-src default-src)
             (allow (if (assq 'script-src-elem policy) 'script-src-elem 'script-src)
                    script-names policy)))

    ;; Returns a response whose policies let a page load a script of this host and send requests to
    ;; it. The second value is the nonce that the script has to name, or #f.
    (define (allow-reloading response)
      (let* ((value (response-header response 'content-security-policy))
             (policies (if (string? value)
                           (guard (object ((error-object? object) #f))
                             (parse-header 'content-security-policy value))
                           value)))
        (if (not (pair? policies))
            (values response #f)
            (values (response-with-header response 'content-security-policy
                                          (map allow-both policies))
                    (nonce policies)))))))
