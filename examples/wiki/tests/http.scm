;;; The whole story of the wiki over HTTP: first run, accounts, pages, conflicts, history, search,
;;; feed, errors, attacks.

(import (canny base) (canny test) (canny sxml) (canny atom) (canny base64) (canny web client)
        (wiki-tests program) (wiki-tests visitor))

(define evil "\"><script>alert(1)</script><img src=x onerror=alert(1)>")

(define (has? page text) (and (string-contains (page-text page) text) #t))
(define (select page path) (sxml-select (page-sxml page) path))

;; The beginning of a picture.
(define tiny-picture
  (base64-decode
   "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg\
    =="))

(define (story wiki)
  (define url (wiki-url wiki))
  (define ann (make-visitor url))
  (define bob (make-visitor url))
  (define guest (make-visitor url))

  (define* (write! visitor title text #:key (follow? #t))
    (submit visitor (string-append "/wiki/" title "/edit") (string-append "/wiki/" title "/edit")
            `(("text" . ,text) ("action" . "save")) #:follow? follow?))

  (test-group "the first run"
    (test "/setup" (page-path (visit guest "/wiki/Tea")))
    (test 200 (page-status (visit guest "/health")))
    (test 422 (page-status (submit ann "/setup" "/setup"
                                   '(("wiki" . "Ours") ("name" . "Ann") ("password" . "short")))))
    (let ((page (submit ann "/setup" "/setup"
                        '(("wiki" . "Ours <b>") ("name" . "Ann") ("password" . "correct horse")))))
      (test '("/" 200) (list (page-path page) (page-status page)))
      (test '("Home – Ours <b>") (select page "//title/text()")))
    (test 403 (page-status (http-post (string-append url "/setup") #:body '(("name" . "Eve")))))
    (test "/" (page-path (visit guest "/setup"))))

  (test-group "accounts"
    (test "/sign-in" (page-path (visit bob "/wiki/Tea/edit")))
    (test '(200 "/") (let ((page (submit bob "/sign-up" "/sign-up"
                                         '(("name" . "Bob") ("password" . "battery staple")))))
                       (list (page-status page) (page-path page))))
    (test #t (has? (submit guest "/sign-up" "/sign-up"
                           '(("name" . "bob") ("password" . "battery staple")))
                   "Somebody has that name already"))
    (test '(422 #t) (let ((page (submit guest "/sign-in" "/sign-in"
                                        '(("name" . "Ann") ("password" . "wrong horse")))))
                      (list (page-status page) (has? page "The name or the password is wrong"))))
    (test 422 (page-status (submit guest "/sign-in" "/sign-in"
                                   '(("name" . "nobody") ("password" . "wrong horse")))))
    ;; Nobody is led away.
    (test "/" (page-path (submit (make-visitor url) "/sign-in?next=//evil.example/" "/sign-in"
                                 '(("name" . "Bob") ("password" . "battery staple"))))))

  (test-group "pages"
    (test '(404 #t) (let ((page (visit guest "/wiki/Tea")))
                      (list (page-status page) (has? page "Nobody has written this page yet"))))
    (test #t (has? (write! bob "Tea" "Drink it in the [[Garden]]. *Now*.")
                   "Drink it in the Garden. Now."))
    (test '("Now") (select (visit guest "/wiki/Tea") "//article//em/text()"))
    (test "/wiki/Tea" (page-path (visit guest "/wiki/tEA")))
    (test '("Garden") (select (visit guest "/wiki/Tea") "//a[@class='missing']/text()"))
    (test #t (has? (visit guest "/wanted") "Garden"))
    (write! bob "Garden" "With [[Tea]].")
    (test '("Garden") (select (visit guest "/wiki/Tea") "//nav[@class='backlinks']//a/text()"))
    (test '("Garden") (map (lambda (titles) (car (member "Garden" titles)))
                           (list (select (visit guest "/pages") "//ul//a/text()"))))
    (let ((page (submit bob "/wiki/Tea/edit" "/wiki/Tea/edit"
                        '(("text" . "**new**") ("action" . "preview")))))
      (test '(200 ("new") ("**new**"))
            (list (page-status page) (select page "//section//strong/text()")
                  (map sxml-text (select page "//textarea"))))))

  (test-group "two who edit the same revision"
    (write! ann "Plan" "one\ntwo\nthree\nfour\nfive")
    (let ((form (visit bob "/wiki/Plan/edit")))
      (write! ann "Plan" "ONE\ntwo\nthree\nfour\nfive")
      (let ((page (submit bob form "/wiki/Plan/edit"
                          '(("text" . "one\ntwo\nthree\nfour\nFIVE") ("action" . "save")))))
        (test '(409 #t) (list (page-status page) (has? page "Nothing is lost")))
        (test '("ONE\ntwo\nthree\nfour\nFIVE") (map sxml-text (select page "//textarea")))
        (test '(200 #t) (let ((page (submit bob page "/wiki/Plan/edit" '(("action" . "save")))))
                          (list (page-status page) (has? page "ONE two three four FIVE"))))))
    (let ((form (visit bob "/wiki/Plan/edit")))
      (write! ann "Plan" "Ann was here")
      (let* ((page
              (submit bob form "/wiki/Plan/edit" '(("text" . "Bob was here") ("action" . "save"))))
             (text (sxml-text (car (select page "//textarea")))))
        (test 409 (page-status page))
        (test '(#t #t) (map (lambda (words) (and (string-contains text words) #t))
                            '("Ann was here" "Bob was here"))))))

  (test-group "history"
    (test '(4 3 2 1)
          (map string->number
               (select (visit guest "/wiki/Plan/history") "//input[@name='to']/@value")))
    (let ((page (visit guest "/wiki/Plan/changes?from=1&to=2")))
      (test '(("one") ("ONE")) (list (select page "//del/text()") (select page "//ins/text()"))))
    (test #t (has? (visit guest "/wiki/Plan/revisions/1") "one two three four five"))
    (test 404 (page-status (visit guest "/wiki/Plan/revisions/99")))
    (let ((page (submit ann "/wiki/Plan/revisions/3" "/wiki/Plan/restore" '())))
      (test #t (has? page "ONE two three four FIVE")))
    (test "Restored revision 3"
          (car (select (visit guest "/wiki/Plan/history") "//span[@class='comment']/text()")))
    (test #t (has? (visit guest "/recent") "Restored revision 3")))

  (test-group "searching"
    (test '("Drink") (select (visit guest "/search?q=drink") "//mark/text()"))
    (test 200 (page-status (visit guest "/search?q=%22%20OR%20%28*%20NEAR%28%5E%00")))
    (test 200 (page-status (visit guest "/search?q=%FF%zz"))))

  (test-group "characters that documents cannot have"
    (test 404 (page-status (visit guest "/wiki/a%EF%BF%BF")))
    (test 400 (page-status (visit guest "/wiki/a%00b")))
    (submit bob "/wiki/Odd/edit" "/wiki/Odd/edit"
            '(("text" . "a\x0;b\x2;c\xffff;d\x1b;")
              ("comment" . "x\xfffe;y\x1;z")
              ("action" . "save")))
    (test '("abcd") (select (visit guest "/wiki/Odd") "//article//div/p/text()"))
    (test '("abcd") (select (visit guest "/search?q=abc") "//mark/text()"))
    (test "xyz" (sxml-select-first (xml->sxml (http-response-text (visit guest "/feed.atom"))
                                              #:namespaces '((a . "http://www.w3.org/2005/Atom")))
                                   "//a:entry/a:summary/text()")))

  (test-group "what others write stays text"
    (for-each
     (lambda (page)
       (test '() (append (select page "//script") (select page "//@onerror")
                         (select page "//@onclick")))
       (test #f (string-contains (http-response-text page) "<script")))
     (list (write! bob "%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E" evil)
           (write! bob "Evil"
                   (string-append "[[" evil "]] [x](javascript:alert(1)) ![" evil "](x.png)"))
           (visit guest "/recent") (visit guest "/pages") (visit guest "/wanted")
           (visit guest "/search?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E")
           (visit guest "/search?q=alert")
           (visit guest "/wiki/Evil/history") (visit guest "/wiki/Evil/edit")
           (submit guest "/sign-in" "/sign-in" `(("name" . ,evil) ("password" . ,evil)))
           (submit guest "/sign-in?next=%22%3E%3Cscript%3E" "/sign-in"
                   '(("name" . "x") ("password" . "y")))
           (visit guest "/%3Cscript%3Ealert(1)%3C/script%3E")))
    (let ((headers (http-response-headers (visit guest "/"))))
      (test "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri \
             'none'; frame-ancestors 'none'"
            (cdr (assq 'content-security-policy headers)))
      (test "nosniff" (cdr (assq 'x-content-type-options headers)))))

  (test-group "requests that nobody here made"
    (test 403
          (page-status (http-post (string-append url "/wiki/Tea/edit") #:body '(("text" . "x")))))
    (let ((before (page-text (visit guest "/wiki/Tea"))))
      ;; The submitted text can still be copied.
      (let ((page (submit bob "/wiki/Tea/edit" "/wiki/Tea/edit"
                          '(("text" . "lost & <b>found") ("csrf-token" . "y")))))
        (test '(403 ("lost & <b>found"))
              (list (page-status page) (map sxml-text (select page "//textarea")))))
      (test before (page-text (visit guest "/wiki/Tea"))))
    (test 403 (page-status (submit bob "/wiki/Tea/edit" "/sign-out" '(("csrf-token" . ""))))))

  (test-group "who administers"
    (test 403 (page-status (visit bob "/settings")))
    (test 403 (page-status (visit bob "/wiki/Tea/delete")))
    (test #t (has? (submit ann "/wiki/Tea" "/wiki/Tea/lock" '()) "Locked"))
    (test '() (select (visit bob "/wiki/Tea/edit") "//textarea"))
    (test #t (has? (submit ann "/wiki/Garden/delete" "/wiki/Garden/delete" '()) "was deleted"))
    (test '(404 404 200) (list (page-status (visit guest "/wiki/Garden"))
                               (page-status (visit bob "/wiki/Garden/history"))
                               (page-status (visit ann "/wiki/Garden/history"))))
    (submit ann "/settings" "/settings" '(("wiki" . "Ours") ("registration" . "closed")))
    (test 404 (page-status (visit guest "/sign-up")))
    (test #f (has? (visit guest "/sign-in") "Sign up"))
    (let* ((page (submit ann "/settings" "/settings/accounts" '(("name" . "Cleo"))))
           (cleo (make-visitor url))
           (sign-in (lambda (page)
                      (page-path
                       (submit cleo "/sign-in" "/sign-in"
                               `(("name" . "Cleo")
                                 ("password" . ,(car (select page "//div[@class='notice']//code/te\
                                                                   xt()")))))))))
      (test "/" (sign-in page))
      (test 200 (page-status (visit cleo "/account")))
      (test #t (has? (submit cleo "/account" "/account"
                             '(("old" . "wrong") ("password" . "something new")))
                     "The password so far is wrong"))
      (let ((page (submit ann "/settings" "/settings/passwords" '(("name" . "Cleo")))))
        (test "/sign-in" (page-path (visit cleo "/account")))
        (test "/" (sign-in page)))
      (test 403 (page-status (submit cleo "/account" "/sign-out" '(("csrf-token" . "x")))))
      (test 404 (page-status (submit ann "/settings" "/settings/passwords" '(("name" . "Ann")))))))

  (test-group "pictures"
    (define (send visitor bytes name)
      (let ((token (car (select (visit visitor "/files")
                                "//form[@action='/files']//input[@name='csrf-token']/@value"))))
        (submit-file visitor token bytes name)))
    (test '(200 #t) (let ((page (send bob tiny-picture "My Photo.PNG")))
                      (list (page-status page) (has? page "![](my-photo.png)"))))
    (test tiny-picture (http-response-bytes (visit guest "/files/my-photo.png")))
    (test 409 (page-status (send bob tiny-picture "my photo.png")))
    (test 422 (page-status (send bob (string->utf8 "<script>alert(1)</script>") "a.png")))
    (test 413 (page-status
               (send bob (bytevector-append tiny-picture (make-bytevector 5100000 0)) "b.png")))
    (test '("/files/my-photo.png")
          (select (write! bob "Photo" "![me](my-photo.png)") "//article//img/@src")))

  (test-group "feed, stylesheet, errors"
    (let ((feed (xml->sxml (http-response-text (visit guest "/feed.atom"))
                           #:namespaces '((a . "http://www.w3.org/2005/Atom")))))
      (test "Photo" (sxml-select-first feed "//a:entry/a:title/text()"))
      (test '() (sxml-select feed "//script")))
    (let* ((style (visit guest "/style.css"))
           (tag (cdr (assq 'etag (http-response-headers style)))))
      (test 304 (page-status (http-get (string-append url "/style.css")
                                       #:headers `((if-none-match . ,tag))))))
    (test '(404 #t)
          (let ((page (visit guest "/nowhere"))) (list (page-status page) (has? page "Not here"))))
    (test "GET, HEAD, OPTIONS"
          (cdr (assq 'allow (http-response-headers
                             (http-request 'OPTIONS (string-append url "/recent"))))))
    (test 413 (page-status (http-post (string-append url "/sign-in")
                                      #:body `(("name" . ,(make-string 4100000 #\x))))))
    (test #t (has? (write! bob "Long" (make-string 300001 #\x)) "The text is too long")))

  (test-group "signing out"
    (test "/" (page-path (submit bob "/recent" "/sign-out" '())))
    (test "/sign-in" (page-path (visit bob "/wiki/Tea/edit"))))

  (test-group "guessing passwords"
    (test #t (let loop ((n 0))
               (and (< n 40)
                    (or (= 429 (page-status (submit guest "/sign-in" "/sign-in"
                                                    '(("name" . "Ann")
                                                      ("password" . "wrong horse")))))
                        (loop (+ n 1))))))))

(call-with-wiki
  (lambda (wiki)
    (story wiki)
    ;; 128 and the number of SIGTERM.
    (test "asked to end it ends in order" 143 (stop-wiki! wiki))))

(test-finish)
