;;; The web service of the guide under `canny serve --watch`, as a browser shows it: mistakes come
;;; up by themselves, with their place, and go again when they are mended.
;;;
;;; It needs a Chromium, in `PATH` or named by `CHROMIUM`. Without one nothing is tested, which is
;;; said; with `CANNY_BROWSER` set to `required` that is a failure. `GUIDE` names a directory with
;;; the guide's program, `SOURCES` the repository.

(import (canny base) (canny fs) (canny files) (canny process) (canny signals) (canny tasks)
        (canny test) (canny json) (canny web client) (wiki-tests browser))

(define browser-path (find-browser))
(define guide (get-environment-variable "GUIDE"))
(define sources (get-environment-variable "SOURCES"))
(define library (path-join guide "guests.sld"))
(define right (file->string library))

;; The guide's library with a text in place of another one.
(define (changed from to)
  (let ((at (string-contains right from)))
    (if (not at) (error "the guide has no such text any more" from))
    (string-append (substring right 0 at) to
                   (substring right (+ at (string-length from)) (string-length right)))))

(define (write-library text)
  (string->file text library))

(define (start-serving)
  (let* ((process (spawn-process (list (real-path "/proc/self/exe") "serve" "--watch" "--port" "0"
                                       "main.scm")
                                 #:directory guide #:input 'null #:output 'null #:error 'pipe
                                 #:variables '(("GUESTS_TLS" . "no"))))
         (line (read-line (process-error process)))
         (start (string-contains line "http://"))
         (end (string-contains line ", watching")))
    (on-shutdown (lambda () (process-terminate process)))
    (values process (substring line start end))))

;; The terminal's lines, from now on until a text.
(define (terminal-until process text)
  (let loop ((lines '()))
    (let ((line (call-with-timeout 120 (lambda () (read-line (process-error process))))))
      (if (string-contains line text)
          (string-join (reverse (cons line lines)) "\n")
          (loop (cons line lines))))))

(define (has? tab text)
  (and (string-contains (text-of tab) text) #t))

(define (shows tab text)
  (wait-until tab (string-append "document.body.innerText.includes(" (json->string text) ")")))

(define (story browser)
  (define-values (process url) (start-serving))
  (define tab (open-tab browser))

  (test-group "as it stands in the guide"
    (go tab url)
    (test "Guest book" (text-of tab "h1")))

  (test-group "a mistake in a handler"
    (write-library (changed "(page \"Guest book\"" "(page (string-append \"Guest book\" 1)"))
    (shows tab "string-append: argument 2 is not a string: 1")
    (test #t (has? tab "guests.sld:26:15"))
    (test "26 (page (string-append \"Guest book\" 1)"
          (string-join (string-split (text-of tab "pre b")) " "))
    (test #t (has? tab "an anonymous procedure at ./guests.sld:26:15"))
    (test "no path of the building machine" #f (has? tab sources))
    (test "no path of the library" #f (has? tab "lib/canny"))
    (test "no missing names" #f (has? tab "#f at "))
    (test "variables of a frame, by its script" #t (has? tab "Evaluate"))
    (let ((told (terminal-until process "a handler raised it for GET /")))
      (test-assert told (string-contains told "guests.sld:26:15: error[wrong-type]"))))

  (test-group "clients that are no browsers"
    (let* ((response (http-get url #:headers '((accept . "application/json")) #:retries 0))
           (data (http-response-json response)))
      (test 500 (http-response-status response))
      (test "string-append: argument 2 is not a string: 1" (cdr (assq 'error data)))
      (test 26 (cdr (assq 'line data)))))

  (test-group "it is mended"
    (write-library right)
    (shows tab "Write")
    (test "Guest book" (text-of tab "h1")))

  (test-group "a version that cannot be loaded"
    (write-library (changed "(define (page title . content)" "(define (page title . content"))
    (shows tab "cannot be loaded")
    (write-library right)
    (shows tab "Write"))

  ;; The policy of no page refuses the script that shows the next version.
  (test "no complaints of the browser" '() (tab-problems tab))
  (process-terminate process))

(cond (browser-path (call-with-browser browser-path story))
      ((equal? "required" (get-environment-variable "CANNY_BROWSER"))
       (test-assert "a Chromium is there" #f))
      (else
       (write-string "SKIPPED: there is no Chromium here, nothing was tested in a browser\n"
                     (current-error-port))
       (test-assert "there is nothing to test with" #t)))

(test-finish)
