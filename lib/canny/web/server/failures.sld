;;; (canny web server failures): failures of handlers that people look into, under `canny serve`.
;;;
;;; The newest failures are kept, each with the continuation of the `raise`. Its frames and their
;;; variables are read when a page asks for them. Expressions are evaluated in tasks of their own,
;;; with copies of the variables: the frames themselves never run again.
;;;
;;; Requests of pages come by POST to one path, as JSON. An expression may do whatever the user of
;;; the process may. So a request is refused unless it comes from this machine, from a page of this
;;; server, and with a token that only pages have. Nothing here is reachable in production: only
;;; `(canny web server serving)` imports it.

(define-library (canny web server failures)
  (export failure-keeper failure-answer failures-path look-into loopback-address?)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) assoc for-each map member)
          (only (canny machine control)
                call-with-current-continuation call-with-escape-continuation guard parameterize
                raise
                with-exception-handler
                current-input-port current-output-port current-error-port %exit-override)
          (only (canny tasks) spawn await cancel! without-scope %with-lock)
          (only (canny json) json->string string->json)
          (only (canny crypto) timing-safe=?)
          (only (canny web password) random-token)
          (only (canny web server development)
                failure-place failure-page failure-response page-response excerpt excerpt-lines
                wants-json?)
          (only (canny web server failure-page) failure-script failure-style)
          (canny web message))
  (begin

    ;; Failures that are kept.
    (define kept-max 10)
    ;; Values of a failure that a page can refer to.
    (define values-max 20000)
    ;; Frames of the program that are shown at once.
    (define frames-max 50)
    ;; Frames that are looked at for those, at most.
    (define searched-max 20000)
    ;; Characters, about, of a value's text, and of one that is wanted whole.
    (define text-length 200)
    (define whole-text-length 1000000)
    ;; Parts of a value that are sent at once, at most.
    (define parts-max 1000)
    ;; Limits of an evaluation.
    (define seconds-max 5)
    (define memory-max (* 256 1024 1024))
    (define output-max 100000)

    (define failures-path "/.canny/failure")

    (define-record-type failure
      (make-failure %lock number object frames continuation parameters note values count)
      failure?
      (%lock failure-lock)
      (number failure-number set-failure-number!)
      (object failure-object)
      ;; As `%backtrace` gives them.
      (frames failure-frames)
      ;; #f if it was not kept; then there is a note.
      (continuation failure-continuation)
      (parameters failure-parameters)
      (note failure-note)
      ;; The objects that pages refer to by number, and how many there are.
      (values failure-values set-failure-values!)
      (count failure-count set-failure-count!))

    ;; The newest ones come first.
    (define-record-type failures
      (make-failures %lock list made)
      failures?
      (%lock failures-lock)
      (list failures-list set-failures-list!)
      (made failures-made set-failures-made!))

    (define kept (make-failures #f '() 0))

    (define token (random-token))

    ;; At most so many elements from the front of a list.
    (define (front list count)
      (if (or (null? list) (= count 0))
          '()
          (cons (car list) (front (cdr list) (- count 1)))))

    ;;; Keeping

    ;; The procedure that keeps the failures of a server at a host.
    (define (failure-keeper host)
      (if (loopback-address? host)
          keep
          (let ((note
                 (string-append "The frames cannot be looked into, since the server listens at "
                                host ", where other machines can reach it.")))
            (lambda (request object frames)
              (make-failure #f #f object frames #f '() note #f 0)))))

    ;; To be called where the object was raised.
    (define (keep request object frames)
      (let ((note (and (error-object? object)
                       (memq (condition-kind object) '(memory stack))
                       "The frames were not kept, since they would keep the memory.")))
        (if note
            (make-failure #f #f object frames #f '() note #f 0)
            (call-with-current-continuation
             (lambda (continuation)
               (add! (make-failure #f #f object frames continuation (%parameters) #f
                                   (make-vector 16 #f) 0)))))))

    (define (add! failure)
      (%with-lock kept
        (set-failures-made! kept (+ (failures-made kept) 1))
        (set-failure-number! failure (failures-made kept)))
      (let ((list (cons failure '())))
        (%with-lock kept
          (set-cdr! list (failures-list kept))
          (set-failures-list! kept list))
        ;; Only the front is ever looked at.
        (let ((last (list-at list (- kept-max 1))))
          (if last (set-cdr! last '()))))
      failure)

    (define (list-at list index)
      (cond ((null? list) #f)
            ((= index 0) list)
            (else (list-at (cdr list) (- index 1)))))

    (define (failure-numbered number)
      (let loop ((list (failures-list kept)))
        (cond ((null? list) #f)
              ((eqv? number (failure-number (car list))) (car list))
              (else (loop (cdr list))))))

    ;;; Frames

    ;; Frames of the program from a number on: a list of pairs of number and frame, and the number
    ;; of the next one or #f. Each page of frames is a walk from the newest one on, so that pages
    ;; become longer.
    (define (frames-from failure start)
      (let loop ((first start) (rest '()) (page 100) (last? #f) (found '()) (count 0))
        (cond ((or (= count frames-max) (>= (- first start) searched-max))
               (values (reverse found) first))
              ((pair? rest)
               (if (frame-library? (car rest))
                   (loop (+ first 1) (cdr rest) page last? found count)
                   (loop (+ first 1) (cdr rest) page last?
                         (cons (cons first (car rest)) found)
                         (+ count 1))))
              (last? (values (reverse found) #f))
              (else
               (let ((more (%continuation-frames (failure-continuation failure) first page)))
                 (loop first more (* 2 page) (< (length more) page) found count))))))

    (define (frame-name frame) (car frame))
    (define (frame-place frame) (cadr frame))
    (define (frame-library? frame) (car (cddr frame)))
    (define (frame-tail-callers frame) (cadr (cddr frame)))

    (define (variable-name variable) (car variable))
    (define (variable-there? variable) (pair? (cddr variable)))
    (define (variable-value variable) (car (cddr variable)))

    (define gone "no value any more")

    ;;; The page

    (define (failure-answer request failure)
      (let ((note (or (failure-note failure) (foreign request))))
        (if (or note (wants-json? request))
            (failure-response request (failure-object failure) (failure-frames failure)
                              (and note (string-append "Static page: " note)))
            (let ((nonce (random-token)))
              (page-response
               `((style-src "'unsafe-inline'")
                 (script-src ,(string-append "'nonce-" nonce "'"))
                 (connect-src "'self'"))
               (failure-page request (failure-object failure)
                             (failure-place (failure-object failure) (failure-frames failure))
                             (sections failure nonce)
                             failure-style))))))

    (define (sections failure nonce)
      (call-with-values
        (lambda () (frames-from failure 0))
        (lambda (frames next)
          `((main (@ (id "failure")
                     (data-failure ,(number->string (failure-number failure)))
                     (data-token ,token)
                     (data-next ,(if next (number->string next) "")))
                  (h2 "Backtrace")
                  (ol (@ (id "frames"))
                      ,@(let loop ((frames frames) (open? #t))
                          (if (null? frames)
                              '()
                              (cons (frame-item failure (car frames) open?)
                                    (loop (cdr frames) #f)))))
                  ,@(if next
                        '((p (@ (id "more")) "There are more frames."))
                        '()))
            (script (@ (nonce ,nonce)) ,failure-script)))))

    (define (place-text place)
      (if place (string-append " at " (%place->string place)) ""))

    (define (frame-item failure numbered open?)
      (let ((frame (cdr numbered)))
        `(li
          (details (@ (class "frame") (data-frame ,(number->string (car numbered)))
                      ,@(if open? '((open #t)) '()))
                   (summary (code ,(frame-name frame)) ,(place-text (frame-place frame)))
                   ,@(if (frame-place frame)
                         `((pre ,@(excerpt-lines (frame-place frame))))
                         '())
                   (div (@ (class "variables"))
                        ,@(map (lambda (variable)
                                 `(div (@ (class "value"))
                                       (code ,(variable-name variable)) " = "
                                       ,(if (variable-there? variable)
                                            `(code ,(text-of (variable-value variable)))
                                            `(i ,gone))))
                               (variables-of failure (car numbered)))))
          ,@(map (lambda (caller)
                   `(div (@ (class "values")) ,(car caller) ,(place-text (cdr caller))))
                 (frame-tail-callers frame)))))

    (define (variables-of failure frame)
      (%continuation-variables (failure-continuation failure) frame))

    (define (text-of object)
      (car (%object-shape object text-length)))

    ;;; Requests

    ;; Answers a request of a page.
    (define (look-into request)
      (let ((why (refusal request)))
        (if why
            (answer 403 `((error . ,why)))
            (guard (object ((body-too-long? object)
                            (answer 413 '((error . "the request is too long")))))
              (let ((wanted (guard (object ((and (error-object? object)
                                                 (not (body-too-long? object)))
                                            #f))
                              (string->json (read-request-text request)))))
                (if (and (pair? wanted) (list? wanted))
                    (answer-wanted wanted)
                    (answer 400 '((error . "the request is not a JSON object")))))))))

    (define (answer status data)
      (make-response #:status status
                     #:headers '((content-type . (application/json))
                                 (cache-control . ((no-store . #t)))
                                 (x-content-type-options . "nosniff")
                                 (cross-origin-resource-policy . "same-origin"))
                     #:body (json->string data)))

    (define (field wanted name)
      (let ((entry (assq name wanted)))
        (and entry (cdr entry))))

    (define (index-field wanted name)
      (let ((value (field wanted name)))
        (if (and (exact-integer? value) (<= 0 value 1000000000)) value 0)))

    (define (answer-wanted wanted)
      (let ((failure (failure-numbered (field wanted 'failure)))
            (action (assoc (field wanted 'action) actions)))
        (cond ((not failure)
               (answer 404
                       `((error . ,(string-append
                                    "this failure is forgotten: the server keeps the newest "
                                    (number->string kept-max))))))
              ((not action) (answer 400 '((error . "there is no such action"))))
              (else (call-with-values
                      (lambda () ((cdr action) failure wanted))
                      answer)))))

    (define (answer-frames failure wanted)
      (call-with-values
        (lambda () (frames-from failure (index-field wanted 'first)))
        (lambda (frames next)
          (values 200
                  `((frames . ,(list->vector (map frame-data frames)))
                    (next . ,(or next 'null)))))))

    (define (frame-data numbered)
      (let* ((frame (cdr numbered)) (place (frame-place frame)))
        `((frame . ,(car numbered))
          (title . ,(string-append (frame-name frame) (place-text place)))
          (line . ,(if place (cadr place) 'null))
          (source . ,(list->vector
                      (map (lambda (line) `((line . ,(car line)) (text . ,(cadr line))))
                           (if place (excerpt place) '()))))
          (callers . ,(list->vector
                       (map (lambda (caller)
                              (string-append (car caller) (place-text (cdr caller))))
                            (frame-tail-callers frame)))))))

    (define (answer-variables failure wanted)
      (values 200
              `((variables
                 . ,(list->vector
                     (map (lambda (variable)
                            `((name . ,(variable-name variable))
                              ,@(if (variable-there? variable)
                                    (described failure (variable-value variable))
                                    `((gone . ,gone)))))
                          (variables-of failure (index-field wanted 'frame))))))))

    ;; An object for a page: text, type, and what it consists of, with a number by which the page
    ;; can refer to it.
    (define (described failure object)
      (let* ((shape (%object-shape object text-length))
             (text (car shape))
             (named (car (cddr shape)))
             (indexed (cadr (cddr shape)))
             (cut? (string-suffix? "…" text)))
        `((text . ,text)
          (type . ,(cadr shape))
          (named . ,named)
          (indexed . ,indexed)
          (cut . ,cut?)
          (value . ,(or (and (or cut? (> (+ named indexed) 0))
                             (number-of! failure object))
                        'null)))))

    ;; The number of an object; #f if there are too many.
    (define (number-of! failure object)
      (let* ((old (failure-values failure))
             (room (and (= (failure-count failure) (vector-length old))
                        (make-vector (* 2 (vector-length old)) #f))))
        (%with-lock failure
          (let* ((number (failure-count failure))
                 (full? (= number (vector-length (failure-values failure)))))
            (cond ((>= number values-max) #f)
                  ((and full? (not (and room (> (vector-length room) number)))) #f)
                  (else
                   (if full?
                       (begin
                         (vector-copy! room 0 (failure-values failure))
                         (set-failure-values! failure room)))
                   (vector-set! (failure-values failure) number object)
                   (set-failure-count! failure (+ number 1))
                   number))))))

    ;; Calls a procedure with the object that a page refers to.
    (define (with-value failure wanted procedure)
      (let ((number (field wanted 'value)))
        (if (and (exact-integer? number) (< -1 number (failure-count failure)))
            (procedure (vector-ref (failure-values failure) number))
            (values 404 '((error . "there is no such value"))))))

    (define (answer-parts failure wanted)
      (with-value
        failure wanted
        (lambda (object)
          (let ((parts (%object-parts object (eq? #t (field wanted 'fields))
                                      (index-field wanted 'first)
                                      (min parts-max (index-field wanted 'count)))))
            (values 200
                    `((parts . ,(list->vector
                                 (map (lambda (part)
                                        (let ((object (car (cddr part))))
                                          `((name . ,(car part))
                                            ,@(if (cadr part)
                                                  `((text . ,object) (value . null))
                                                  (described failure object)))))
                                      parts)))))))))

    (define (answer-text failure wanted)
      (with-value
        failure wanted
        (lambda (object)
          (values 200 `((text . ,(car (%object-shape object whole-text-length))))))))

    ;;; Evaluation

    (define (answer-evaluation failure wanted)
      (let* ((text (field wanted 'expression))
             (frame (index-field wanted 'frame))
             (variables (there (variables-of failure frame)))
             (names (map variable-name variables))
             (thunks (if (string? text)
                         (%frame-procedure (failure-continuation failure) frame names text)
                         "there is no expression")))
        (if (string? thunks)
            (values 200 `((error . ,thunks) (output . "") (assigned . #())))
            (let* ((old (map variable-value variables))
                   (request (list->vector (cons #f (cons #f (cons #f old)))))
                   (output (open-output-string))
                   (outcome (run failure thunks request output))
                   (written (get-output-string output)))
              (values 200
                      `(,@(outcome-data failure outcome)
                        (output . ,(if (> (string-length written) output-max)
                                       (string-append (substring written 0 output-max) "…")
                                       written))
                        (assigned . ,(list->vector
                                      (if (eq? 'value (car outcome))
                                          (assign failure frame names old request)
                                          '())))))))))

    (define (there variables)
      (cond ((null? variables) '())
            ((variable-there? (car variables))
             (cons (car variables) (there (cdr variables))))
            (else (there (cdr variables)))))

    ;; Calls the thunks in a task of its own. Gives a list of `value`, `raised` or `ended`, and the
    ;; object or a text.
    (define (run failure thunks request output)
      (let ((task (without-scope
                   (spawn (lambda () (evaluate failure thunks request output))
                          #:name 'evaluation
                          #:time-limit seconds-max
                          #:memory-limit memory-max))))
        (guard (object ((error-object? object)
                        (cancel! task)
                        (list 'ended (why-ended object))))
          ;; A task may take its end for an error and go on.
          (await task #:timeout (+ seconds-max 2)))))

    ;; Whether the limits of the task end it. The condition of a wait of the program that takes too
    ;; long blames a procedure.
    (define (ended? object)
      (and (error-object? object)
           (or (memq (condition-kind object) '(cancelled memory))
               (and (eq? 'timeout (condition-kind object))
                    (not (condition-who object))))))

    (define (why-ended object)
      (case (condition-kind object)
        ((timeout cancelled)
         (string-append "the expression was ended after " (number->string seconds-max)
                        " seconds"))
        ((memory) "the expression was ended: it used too much memory")
        (else (condition->string object))))

    (define (evaluate failure thunks request output)
      (let ((outer (%parameters)))
        (call-with-escape-continuation
         (lambda (return)
           (with-exception-handler
             (lambda (object)
               (if (ended? object)
                   (raise object)
                   (return (list 'raised object))))
             (lambda ()
               ;; Those of the program, where it raised.
               (%set-parameters! (failure-parameters failure))
               (without-scope
                (parameterize ((current-output-port output)
                               (current-error-port output)
                               (current-input-port (open-input-string ""))
                               (%exit-override refuse-exit))
                  (let loop ((thunks thunks) (value #f))
                    (if (pair? thunks)
                        (loop (cdr thunks) ((car thunks)))
                        (value request)))))
               (%set-parameters! outer)
               (list 'value (vector-ref request 0))))))))

    (define (refuse-exit code)
      (raise (%make-condition 'exit "the expression calls exit, which does not end the server"
                              (list code) #f)))

    (define (outcome-data failure outcome)
      (let ((object (cadr outcome)))
        (case (car outcome)
          ((value) `((result . ,(described failure object))))
          ((raised)
           `((error . ,(if (error-object? object)
                           (condition->string object)
                           (string-append "an object was raised: " (text-of object))))
             (raised . ,(described failure object))))
          (else `((error . ,object))))))

    ;; Stores the variables that an expression has assigned; says what became of each.
    (define (assign failure frame names old request)
      (let loop ((names names) (old old) (index 3))
        (cond ((null? names) '())
              ((eq? (car old) (vector-ref request index))
               (loop (cdr names) (cdr old) (+ index 1)))
              (else
               (let ((outcome (%continuation-assign! (failure-continuation failure) frame
                                                     (car names) (vector-ref request index))))
                 (cons `((name . ,(car names))
                         (note . ,(if (eq? 'done outcome)
                                      "was assigned"
                                      "keeps its value: the program never assigns it")))
                       (loop (cdr names) (cdr old) (+ index 1))))))))

    (define actions
      `(("frames" . ,answer-frames)
        ("variables" . ,answer-variables)
        ("parts" . ,answer-parts)
        ("text" . ,answer-text)
        ("evaluate" . ,answer-evaluation)))

    ;;; Checks of requests

    ;; Why a request is refused, or #f.
    (define (refusal request)
      (let ((given (request-field request 'canny-token)))
        (cond ((not (eq? 'POST (request-method request))) "only requests by POST are answered")
              ((foreign request))
              ((not (equal? (request-field request 'origin)
                            (string-append "http://" (request-field request 'host))))
               "the Origin of the request is not this server")
              ((not (member (request-field request 'sec-fetch-site) '(#f "same-origin")))
               "the request comes from a page of another site")
              ((not (and given (timing-safe=? given token)))
               "the token is not that of this process, which may have been started again")
              (else #f))))

    ;; Why a request does not seem to come from this machine, or #f.
    (define (foreign request)
      (cond ((not (loopback-peer? (request-peer request)))
             "the request does not come from this machine")
            ((or (request-field request 'forwarded)
                 (request-field request 'x-forwarded-for)
                 (request-field request 'via))
             "the request came through a proxy")
            ((not (loopback-name? (or (request-field request 'host) "")))
             "the Host of the request is not a name of this machine, such as localhost")
            (else #f)))

    (define (decimal? text)
      (and (<= 1 (string-length text) 3)
           (let loop ((index 0))
             (or (= index (string-length text))
                 (and (char<=? #\0 (string-ref text index) #\9)
                      (loop (+ index 1)))))))

    (define (parts-at-dots text)
      (let ((dot (%string-index text #\.)))
        (if dot
            (cons (substring text 0 dot)
                  (parts-at-dots (substring text (+ dot 1) (string-length text))))
            (list text))))

    (define (every-decimal? parts)
      (or (null? parts)
          (and (decimal? (car parts)) (every-decimal? (cdr parts)))))

    (define (loopback-address? text)
      (or (string=? text "::1")
          (if (string-prefix? "::ffff:" text)
              (loopback-address? (substring text 7 (string-length text)))
              (let ((parts (parts-at-dots text)))
                (and (= 4 (length parts))
                     (string=? "127" (car parts))
                     (every-decimal? parts))))))

    ;; An address or name without its port.
    (define (without-port text)
      (if (string-prefix? "[" text)
          (let ((end (%string-index text #\])))
            (if end (substring text 1 end) ""))
          (let ((colon (%string-index text #\:)))
            (if colon (substring text 0 colon) text))))

    (define (loopback-peer? peer)
      (and peer (loopback-address? (without-port peer))))

    (define (loopback-name? host)
      (let ((name (string-downcase (without-port host))))
        (or (string=? name "localhost")
            (string-suffix? ".localhost" name)
            (loopback-address? name))))))
