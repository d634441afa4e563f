;;; (canny heap server): a page for people about a file of heap snapshots, on the loopback address.
;;;
;;; Other users of the machine can connect to it, too. So all paths begin with a random word, which
;;; only the terminal shows. Below it are the page, and `api/NAME?KEY=VALUE`: a question of
;;; `(canny heap analysis)` with its answer in JSON.

(define-library (canny heap server)
  (export heap-handler start-heap-server serve-heap)
  (import (scheme base) (scheme write) (canny primitives) (canny syntax) (canny machine arguments)
          (canny heap analysis) (canny json) (canny web message) (canny web server)
          (only (canny base64) hex-encode)
          (only (canny crypto) random-bytes timing-safe=?)
          (only (canny process) spawn-process)
          (only (canny signals) on-shutdown)
          (only (canny web uri) query->alist))
  (begin

    (define word-bytes 16)

    (define numeric-keys
      '("snapshot" "id" "first" "count" "depth" "before" "after" "line" "around"))

    (define (plain status text)
      (make-response #:status status
                     #:headers '((content-type . "text/plain; charset=utf-8")
                                 (cache-control . "no-store"))
                     #:body text))

    (define (json status text)
      (make-response #:status status
                     #:headers '((content-type . "application/json")
                                 (cache-control . "no-store")
                                 (x-content-type-options . "nosniff"))
                     #:body text))

    (define (problem message)
      (json 400 (json->string (list (cons 'error message)))))

    ;; A question as an association list, or a string that says what is wrong.
    (define (question name query)
      (let loop ((fields (if query (query->alist query) '()))
                 (result (list (cons 'ask name))))
        (if (null? fields)
            result
            (let* ((key (caar fields))
                   (text (cdar fields))
                   (value (cond ((member key numeric-keys)
                                 (let ((number (string->number text 10)))
                                   (and number (exact-nonnegative-integer? number) number)))
                                ((string=? key "retained") (if (string=? text "no") 'no 'yes))
                                (else text))))
              (if value
                  (loop (cdr fields)
                        (cons (cons (string->symbol key)
                                    (case value ((no) #f) ((yes) #t) (else value)))
                              result))
                  (string-append key " is no number: " text))))))

    (define (answer heap name query)
      (let ((question (question name query)))
        (if (string? question)
            (problem question)
            (let ((answer (%heap-question heap (json->string question))))
              (if (string? answer)
                  (json 200 answer)
                  (problem (car answer)))))))

    ;; The part of a path behind the word, or #f.
    (define (path-below path word)
      (let ((end (+ 1 (string-length word))))
        (and (> (string-length path) end)
             (char=? #\/ (string-ref path end))
             (timing-safe=? (substring path 1 end) word)
             (substring path end (string-length path)))))

    ;; A handler of `(canny web server)` for paths that begin with a word.
    (define (heap-handler heap word)
      (check-argument 'heap-handler 1 heap? "heap" heap)
      (check-argument 'heap-handler 2 string? "string" word)
      (lambda (request body)
        (let ((below (path-below (request-path request) word)))
          (cond ((not below) (plain 404 "there is no such page\n"))
                ((not (memq (request-method request) '(GET HEAD))) (plain 405 "only GET\n"))
                ((string=? below "/")
                 (make-response
                  #:headers '((content-type . "text/html; charset=utf-8")
                              (cache-control . "no-store")
                              (referrer-policy . "no-referrer")
                              (x-content-type-options . "nosniff"))
                  #:body (%heap-file-page)))
                ((and (> (string-length below) 5) (string=? (substring below 0 5) "/api/"))
                 (answer heap (substring below 5 (string-length below)) (request-query request)))
                (else (plain 404 "there is no such page\n"))))))

    ;; Begins to serve a heap: the server, and the address of the page.
    (define* (start-heap-server heap #:key (port 0))
      (check-argument 'start-heap-server 1 heap? "heap" heap)
      (let* ((word (hex-encode (random-bytes word-bytes)))
             (server (start-server (heap-handler heap word) #:host "127.0.0.1" #:port port)))
        (values server
                (string-append "http://" (car (server-addresses server)) "/" word "/"))))

    ;; The command: serves a file until the program is asked to end.
    (define (serve-heap path snapshot port open?)
      (let ((heap (if snapshot (open-heap path #:snapshot snapshot) (open-heap path))))
        (call-with-values (lambda () (start-heap-server heap #:port port))
          (lambda (server url)
            (on-shutdown (lambda () (stop-server! server #:timeout 1)))
            (write-string (string-append "page: " url "\n"))
            (flush-output-port)
            (if open? (open-page url))
            (server-wait server)))))

    ;; A browser that is missing is no error: the terminal has the address.
    (define (open-page url)
      (guard (object (#t #f))
        (spawn-process (list "xdg-open" url) #:input 'null #:output 'null #:error 'null)))))
