;;; (wiki-tests browser): a headless Chromium, driven by its DevTools protocol: JSON over a
;;; WebSocket.
;;;
;;; A test always waits for something that the page or the browser says, with a generous limit;
;;; nothing sleeps for a time and hopes. Keys and clicks are events of the browser, so that
;;; something that lies above a button is noticed.

(define-library (wiki-tests browser)
  (export find-browser call-with-browser open-tab close-tab
          go evaluate wait-until fill click press text-of exists? screenshot
          set-viewport set-dark! tab-problems)
  (import (canny base) (canny fs) (canny process) (canny json) (canny base64) (canny tasks)
          (canny files) (canny signals) (canny web websocket))
  (begin

    (define limit-seconds 120)

    ;; The path of a Chromium, or #f.
    (define (find-browser)
      (let ((named (get-environment-variable "CHROMIUM")))
        (or named
            (find file-executable?
                  (append-map (lambda (directory)
                                (map (lambda (name) (path-join directory name))
                                     '("chromium" "chromium-browser" "google-chrome"
                                       "chrome-headless-shell")))
                              (string-split (or (get-environment-variable "PATH") "") #\:))))))

    (define-record-type tab
      (make-tab socket session counter problems)
      tab?
      (socket tab-socket)
      (session tab-session)
      (counter tab-counter set-tab-counter!)
      ;; The complaints of the browser: errors of scripts, refusals of the policy, dialogs.
      (problems tab-problems set-tab-problems!))

    (define (call-with-browser path procedure)
      (call-with-temporary-directory
        (lambda (directory)
          (let ((process (spawn-process
                          (list path "--headless=new" "--no-sandbox" "--disable-gpu"
                                "--disable-dev-shm-usage" "--hide-scrollbars" "--no-first-run"
                                "--disable-extensions" "--disable-background-networking"
                                "--disable-component-update" "--lang=en"
                                ;; A click at a page that has not been painted yet would be dropped.
                                "--allow-pre-commit-input"
                                "--remote-debugging-port=0"
                                (string-append "--user-data-dir=" directory)
                                "about:blank")
                          #:input 'null #:output 'null #:error 'null)))
            ;; Also when this program ends by an error that nobody takes.
            (on-shutdown (lambda () (process-terminate process)))
            (dynamic-wind
             (lambda () #f)
             (lambda () (procedure (connect-browser process directory)))
             (lambda () (process-terminate process)))))))

    ;; Waits for the file that says where the browser listens.
    (define (connect-browser process directory)
      (let ((file (path-join directory "DevToolsActivePort")))
        (let ((lines (poll (lambda ()
                             (if (not (process-running? process))
                                 (error "the browser has ended" (process-status process)))
                             (guard (e ((error-object? e) #f))
                               (let ((lines (file->lines file)))
                                 (and (= 2 (length lines)) lines))))
                           "the browser to start")))
          (make-tab (websocket-connect (string-append "ws://127.0.0.1:" (car lines) (cadr lines))
                                       #:max-message-bytes 64000000)
                    #f (list 0) '()))))

    ;; Asks again and again until there is an answer that is true.
    (define (poll ask what)
      (let ((start (current-jiffy)))
        (let loop ()
          (or (ask)
              (begin
                (if (> (/ (- (current-jiffy) start) (jiffies-per-second)) limit-seconds)
                    (error "waited in vain for" what))
                (sleep 0.02)
                (loop))))))

    ;;; Commands

    (define (member-of object . keys)
      (fold (lambda (key object)
              (let ((entry (and (pair? object) (assq key object))))
                (and entry (cdr entry))))
            object keys))

    ;; Sends a command and gives its result. Events that come meanwhile are noted if they are
    ;; complaints.
    (define* (command tab method #:optional (parameters '()))
      (let ((number (+ 1 (car (tab-counter tab)))))
        (set-car! (tab-counter tab) number)
        (websocket-send (tab-socket tab)
                        (json->string `((id . ,number)
                                        (method . ,method)
                                        (params . ,(if (null? parameters)
                                                       (make-hash-table)
                                                       parameters))
                                        ,@(if (tab-session tab)
                                              `((sessionId . ,(tab-session tab)))
                                              '()))))
        (let loop ()
          (let ((text (call-with-timeout limit-seconds
                        (lambda () (websocket-receive (tab-socket tab))))))
            (if (eof-object? text) (error "the browser has gone" method))
            (let ((message (string->json text)))
              (cond ((eqv? number (member-of message 'id))
                     (if (member-of message 'error)
                         (error "the browser refused" method (member-of message 'error 'message))
                         (member-of message 'result)))
                    (else
                     (note tab message)
                     (loop))))))))

    (define (note tab message)
      (let* ((method (or (member-of message 'method) ""))
             (problem
              (cond ((string=? method "Page.javascriptDialogOpening")
                     (member-of message 'params 'message))
                    ((string=? method "Runtime.exceptionThrown")
                     (member-of message 'params 'exceptionDetails 'text))
                    ((and (string=? method "Log.entryAdded")
                          (not (equal? "network" (member-of message 'params 'entry 'source)))
                          (equal? "error" (member-of message 'params 'entry 'level)))
                     (member-of message 'params 'entry 'text))
                    (else #f))))
        (if problem (set-tab-problems! tab (cons problem (tab-problems tab))))))

    ;; A tab with cookies of its own.
    (define* (open-tab browser #:key (width 1280) (height 900))
      (let* ((context (member-of (command browser "Target.createBrowserContext") 'browserContextId))
             (target (member-of (command browser "Target.createTarget"
                                         `((url . "about:blank") (browserContextId . ,context)))
                                'targetId))
             (session (member-of (command browser "Target.attachToTarget"
                                          `((targetId . ,target) (flatten . #t)))
                                 'sessionId))
             (tab (make-tab (tab-socket browser) session (tab-counter browser) '())))
        (for-each (lambda (domain) (command tab (string-append domain ".enable")))
                  '("Page" "Runtime" "Log"))
        (set-viewport tab width height)
        tab))

    (define (close-tab tab) (command tab "Page.close"))

    ;; A narrow one is a phone.
    (define (set-viewport tab width height)
      (command tab "Emulation.setDeviceMetricsOverride"
               `((width . ,width) (height . ,height) (deviceScaleFactor . 1)
                 (mobile . ,(< width 600)))))

    (define (set-dark! tab dark?)
      (command tab "Emulation.setEmulatedMedia"
               `((features . #(((name . "prefers-color-scheme")
                                (value . ,(if dark? "dark" "light"))))))))

    ;; The value of an expression of JavaScript.
    (define (evaluate tab expression)
      (let ((result (command tab "Runtime.evaluate"
                             `((expression . ,expression) (returnByValue . #t)))))
        (if (member-of result 'exceptionDetails)
            (error "the expression failed" expression
                   (member-of result 'exceptionDetails 'exception 'description))
            (member-of result 'result 'value))))

    ;; Waits until an expression is true; while a page comes there may be nothing to ask.
    (define (wait-until tab expression)
      (poll (lambda ()
              (guard (e ((and (error-object? e)
                              (member (error-object-message e)
                                      '("the browser refused" "the expression failed")))
                         #f))
                (eq? #t (evaluate tab expression))))
            expression))

    (define (json-text text) (json->string text))

    ;; Does something that leads to another page, and waits for that.
    (define (with-navigation tab thunk)
      (evaluate tab "window.isOld = true")
      (thunk)
      (wait-until tab "!window.isOld && document.readyState === 'complete'"))

    (define (go tab url)
      (with-navigation tab (lambda () (command tab "Page.navigate" `((url . ,url))))))

    (define (exists? tab selector)
      (evaluate tab (string-append "document.querySelector(" (json-text selector) ") !== null")))

    (define* (text-of tab #:optional (selector "body"))
      (evaluate tab (string-append "document.querySelector(" (json-text selector) ").innerText")))

    ;; Types a text into a field in place of what is there.
    (define (fill tab selector text)
      (evaluate tab (string-append "{ const field = document.querySelector(" (json-text selector)
                                   "); field.focus(); field.select(); true }"))
      (command tab "Input.insertText" `((text . ,text)))
      ;; The selected text has to go also if the new text is empty.
      (if (string-null? text)
          (evaluate tab (string-append "document.querySelector(" (json-text selector)
                                       ").value = ''"))))

    ;; Clicks in the middle of an element, and waits for the page that this leads to.
    (define (click tab selector)
      (with-navigation tab (lambda () (press tab selector))))

    ;; The same where no other page comes.
    (define (press tab selector)
      (let* ((place (evaluate tab
                              (string-append
                               "(() => { const one = document.querySelector(" (json-text selector)
                               "); if (!one) return null; one.scrollIntoView({block: 'center', \
                                behavior: 'instant'});"
                               " const box = one.getClientRects()[0];"
                               " return [box.left + box.width / 2, box.top + box.height / 2]; \
                                })()"))))
        (if (not (vector? place)) (error "there is nothing to click at" selector))
        (for-each (lambda (type)
                    (command tab "Input.dispatchMouseEvent"
                             `((type . ,type)
                               (x . ,(vector-ref place 0))
                               (y . ,(vector-ref place 1))
                               (button . "left")
                               (clickCount . 1))))
                  '("mousePressed" "mouseReleased"))))

    ;; A picture of what is visible, or of the whole page, as PNG.
    (define* (screenshot tab file #:key (whole? #f))
      (let ((result (command tab "Page.captureScreenshot"
                             `((format . "png") (captureBeyondViewport . ,whole?)))))
        (bytevector->file (base64-decode (member-of result 'data)) file)))))
