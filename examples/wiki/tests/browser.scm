;;; The same story in a real browser, at the widths of a phone and of a desk.
;;;
;;; It needs a Chromium, in `PATH` or named by `CHROMIUM`. Without one nothing is tested, which is
;;; said; with `CANNY_BROWSER` set to `required` that is a failure. `WIKI_PICTURES` may name a
;;; directory for pictures of the pages.

(import (canny base) (canny fs) (canny test) (wiki-tests program) (wiki-tests browser))

(define browser-path (find-browser))
(define pictures (get-environment-variable "WIKI_PICTURES"))

;; The first is that of small phones, of which there are no pictures.
(define widths '((360 740) (390 844) (1280 860)))

(define evil "<img src=x onerror=alert(1)><script>alert(2)</script>")

(define (story wiki browser)
  (define (at path) (string-append (wiki-url wiki) path))
  (define ann (open-tab browser))
  (define bob (open-tab browser #:width 390 #:height 844))

  (define (has? tab text) (and (string-contains (text-of tab "main") text) #t))
  (define (title tab) (evaluate tab "document.title"))
  (define (path tab) (evaluate tab "location.pathname"))

  ;; How a page looks: nothing is wider than the window at any width, and there is a heading, a
  ;; landmark and a label for all that can be filled in.
  (define* (look tab name #:key (dark? #f))
    (for-each
     (lambda (size)
       (let ((picture (string-append
                       (string-map (lambda (char) (if (char=? char #\/) #\_ char)) name) "-"
                       (number->string (car size)) (if dark? "-dark" ""))))
         (apply set-viewport tab size)
         (set-dark! tab dark?)
         (evaluate tab "scrollTo(0, 0)")
         (test (string-append picture " fits") #t
               (<= (evaluate tab "document.documentElement.scrollWidth") (car size)))
         (if (and pictures (> (car size) 360))
             (screenshot tab (path-join pictures (string-append picture ".png"))))))
     widths)
    (set-dark! tab #f)
    (test (string-append name " is accessible") '#("en" 1 1 0 0)
          (evaluate tab "[document.documentElement.lang,
                          document.querySelectorAll('h1').length,
                          document.querySelectorAll('main').length,
                          [...document.querySelectorAll('input:not([type=hidden]), textarea')]
                            .filter(one => !one.labels.length && !one.ariaLabel).length,
                          document.querySelectorAll('img:not([alt])').length]")))

  (define (write! tab text)
    (fill tab "#text" text)
    (click tab "button[value=save]"))

  (test-group "the first run"
    (go ann (at "/"))
    (test "/setup" (path ann))
    (look ann "welcome")
    (fill ann "#wiki" "Elm Street 12")
    (fill ann "#name" "Ann")
    (fill ann "#password" "correct horse")
    (click ann "main button")
    (test "Home – Elm Street 12" (title ann))
    (look ann "home"))

  (test-group "signing up"
    (go bob (at "/"))
    (click bob ".account a[href='/sign-up']")
    (look bob "sign-up")
    (fill bob "#name" "Bob")
    (fill bob "#password" "battery staple")
    (click bob "main button")
    (test #t (has? bob "Welcome, Bob.")))

  (test-group "a page, and one that it links to"
    (click ann "a[href='/new']")
    (fill ann "#title" "Garden")
    (click ann "main button")
    (test "/wiki/Garden/edit" (path ann))
    (fill ann "#text"
          "What grows behind the house, and who waters it.\n\n# Beds\n\n- [x] beans\n- [ ] \
           [[Tomatoes]], **not** before the *Ice Saints*\n- [ ] garlic, in autumn\n\n# \
           Trees\n\nThe lemon tree stays inside until the middle of May. What falls off goes to \
           the [[Compost]]; how to cut them is told \
           [elsewhere](https://example.org/pruning).\n\n> He who plants a garden plants \
           happiness.\n\n# Watering\n\n| Week | Who |\n|---|---|\n| odd | Ann |\n| even | Bob |\n")
    (click ann "button[value=preview]")
    (test #t (exists? ann ".preview strong"))
    (look ann "edit")
    (click ann "button[value=save]")
    (test "/wiki/Garden" (path ann))
    (click ann "a.missing")
    (test "/wiki/Tomatoes" (path ann))
    (click ann "main a.button")
    (write! ann "They stand in the [[Garden]].")
    (test #f (exists? ann "a.missing"))
    (test "Garden" (text-of ann ".backlinks a"))
    (go ann (at "/wiki/garden"))
    (test "/wiki/Garden" (path ann))
    (look ann "page")
    (look ann "page" #:dark? #t))

  (test-group "two who edit the same revision"
    (go ann (at "/wiki/Garden/edit"))
    (go bob (at "/wiki/Garden/edit"))
    (let ((text (evaluate ann "document.querySelector('#text').value")))
      (define (with-change from to)
        (let ((start (string-contains text from)))
          (string-append (substring text 0 start) to
                         (substring text (+ start (string-length from)) (string-length text)))))
      (fill ann "#comment" "The beans are done")
      (write! ann (with-change "garlic, in autumn" "garlic and onions, in autumn"))
      (write! bob (with-change "who waters it" "who waters it when"))
      (test #t (has? bob "Nothing is lost"))
      (look bob "merge")
      (let ((merged (evaluate bob "document.querySelector('#text').value")))
        (test '(#t #t) (map (lambda (words) (and (string-contains merged words) #t))
                            '("garlic and onions" "who waters it when"))))
      (click bob "button[value=save]")
      (test #t (has? bob "who waters it when"))
      (test #t (has? bob "garlic and onions"))))

  (test-group "history"
    (click bob ".tabs a[href$=history]")
    (look bob "history")
    (test 3 (evaluate bob "document.querySelectorAll('.history li').length"))
    (press bob ".history li:last-child input[name=from]")
    (click bob "main form button")
    (test "?to=3&from=1" (evaluate bob "location.search"))
    (test '#("and onions" "when")
          (evaluate bob "[...document.querySelectorAll('ins')].map(one => \
                         one.innerText.trim()).sort()"))
    (look bob "changes")
    (click bob "main a[href$='revisions/1']")
    (click bob "form[action$=restore] button")
    (test #t (has? bob "Revision 1 is the text again.")))

  (test-group "searching"
    (fill ann "input[type=search]" "lemon bea")
    (click ann ".search button")
    (test '#("Garden")
          (evaluate ann
                    "[...document.querySelectorAll('.results li > a')].map(one => one.innerText)"))
    (test #t (exists? ann "mark"))
    (look ann "search")
    (click ann ".results a")
    (test "/wiki/Garden" (path ann)))

  (test-group "lists"
    (for-each (lambda (name)
                (go ann (at (string-append "/" name)))
                (look ann name))
              '("recent" "pages" "wanted" "help" "files" "settings" "account")))

  (test-group "what others write stays text"
    (go bob (at "/new"))
    (fill bob "#title" evil)
    (click bob "main button")
    (write! bob (string-append evil "\n\n[[" evil "|" evil "]] [" evil "](javascript:alert(3))"))
    (test evil (text-of bob "h1"))
    (test #t (has? bob evil))
    (for-each (lambda (path)
                (go bob (at path))
                (test path '#(0 0)
                      (evaluate bob "[document.scripts.length, \
                                     document.querySelectorAll('[onerror]').length]")))
              '("/recent" "/pages" "/wanted" "/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
                "/search?q=onerror")))

  (test-group "what is wide stays in its place"
    (go ann (at "/settings"))
    (fill ann "#wiki" (make-string 40 #\w))
    (fill ann "#name" (make-string 40 #\W))
    (click ann "form[action='/settings/accounts'] button")
    (test #t (exists? ann ".notice code"))
    (look ann "settings-made")
    (fill ann "#wiki" (make-string 40 #\w))
    (click ann "form[action='/settings'] button")
    (go ann (at (string-append "/wiki/" (make-string 100 #\W) "/edit")))
    (let ((long (make-string 300 #\m)))
      (write! ann (string-append "# " long "\n\n" long "\n\n`" long "`\n\n[[" (make-string 100 #\m)
                                 "]]\n\n```\n" long
                                 "\n```\n\n> - " long "\n\n| " long " | " long " |\n")))
    (look ann "wide")
    (for-each (lambda (path)
                (go ann (at path))
                (look ann path))
              '("/recent" "/pages" "/wanted" "/search?q=mmm" "/nowhere"))
    (go ann (string-append (at (string-append "/wiki/" (make-string 100 #\W))) "/history"))
    (look ann "wide-history")
    (go ann (string-append (at (string-append "/wiki/" (make-string 100 #\W))) "/edit"))
    (fill ann "#comment" (make-string 200 #\m))
    (write! ann (make-string 3000 #\m))
    (go ann (string-append (at (string-append "/wiki/" (make-string 100 #\W))) "/changes"))
    (look ann "wide-changes"))

  (test-group "feed"
    (test #t (evaluate ann
                       "document.querySelector('link[type=\"application/atom+xml\"]').href.end\
                            sWith('/feed.atom')"))
    (go ann (at "/feed.atom"))
    (test #t (evaluate ann "document.documentElement.textContent.includes('The beans are done')")))

  (test-group "signing out, and in"
    (go bob (at "/recent"))
    (click bob ".account button")
    (test #t (has? bob "You are signed out."))
    (click bob ".account a[href='/sign-in']")
    (fill bob "#name" "Bob")
    (fill bob "#password" "wrong horse")
    (click bob "main button")
    (test #t (has? bob "The name or the password is wrong."))
    (look bob "sign-in")
    (fill bob "#password" "battery staple")
    (click bob "main button")
    (test #t (has? bob "Welcome back, Bob.")))

  (test-group "errors"
    (go ann (at "/nowhere"))
    (test "Not here" (text-of ann "h1"))
    (look ann "not-found")
    (go bob (at "/settings"))
    (test "Not allowed" (text-of bob "h1")))

  (test "the browser complained about nothing" '() (append (tab-problems ann) (tab-problems bob))))

(cond (browser-path
       (call-with-wiki
         (lambda (wiki)
           (call-with-browser browser-path (lambda (browser) (story wiki browser))))))
      ((equal? "required" (get-environment-variable "CANNY_BROWSER"))
       (test-assert "a Chromium is there" #f))
      (else
       (write-string "SKIPPED: there is no Chromium here, nothing was tested in a browser\n"
                     (current-error-port))
       (test-assert "there is nothing to test with" #t)))

(test-finish)
