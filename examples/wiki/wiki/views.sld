;;; (wiki views): the pages that people see, as SXML.
;;;
;;; A view is a procedure of a frame, which says what all pages show (who is signed in, the wiki's
;;; name), and of what the page is about. Views ask nobody for anything. Texts in them are escaped
;;; when the page is written; there is no way around that here.

(define-library (wiki views)
  (export make-frame page-url
          article-view missing-view new-view revision-view edit-view merge-view history-view
          changes-view
          recent-view pages-view wanted-view search-view files-view help-view delete-view
          sign-in-view account-form-view account-view settings-view error-view
          time-text iso-time icon)
  (import (canny base) (canny match) (canny html) (canny web uri) (srfi 19)
          (wiki titles) (wiki markup) (wiki differences) (wiki store))
  (begin

    (define-record-type frame
      (make-frame name user token-field registration? notice query)
      frame?
      ;; The wiki's name.
      (name frame-name)
      ;; The user who is signed in, or #f.
      (user frame-user)
      ;; A procedure that gives the hidden field of a form.
      (token-field frame-token-field)
      (registration? frame-registration?)
      ;; A sentence about what was done just now, or #f.
      (notice frame-notice)
      ;; The text of a search.
      (query frame-query))

    (define (token frame) ((frame-token-field frame)))

    (define (administrator? frame)
      (and (frame-user frame) (user-administrator? (frame-user frame))))

    ;;; Addresses, times, numbers

    ;; The address of a page, or of something that belongs to it. Blanks are underscores, which
    ;; titles do not have.
    (define (page-url title . more)
      (string-append "/wiki/"
                     (percent-encode (string-map (lambda (char) (if (char=? char #\space) #\_ char))
                                                 title))
                     (string-concatenate (map (lambda (part) (string-append "/" part)) more))))

    (define (file-url name) (string-append "/files/" (percent-encode name)))

    (define (revision-url title number)
      (page-url title "revisions" (number->string number)))

    (define (changes-url title from to)
      (string-append (page-url title "changes") "?from=" (number->string from)
                     "&to=" (number->string to)))

    (define (local-date seconds) (time-utc->date (make-time time-utc 0 seconds)))

    (define (time-text seconds) (string-trim (date->string (local-date seconds) "~e ~B ~Y, ~H:~M")))
    (define (day-text seconds) (string-trim (date->string (local-date seconds) "~A, ~e ~B ~Y")))
    (define (hour-text seconds) (date->string (local-date seconds) "~H:~M"))

    (define (iso-time seconds)
      (date->string (time-utc->date (make-time time-utc 0 seconds) 0) "~Y-~m-~dT~H:~M:~SZ"))

    (define (time-of seconds text)
      (html (time (@ (datetime ,(iso-time seconds))) ,text)))

    (define (counted number one many)
      (string-append (number->string number) " " (if (= number 1) one many)))

    (define (size-text bytes)
      (cond ((< bytes 1000) (string-append (number->string bytes) " bytes"))
            ((< bytes 1000000) (string-append (number->string (quotient bytes 1000)) " kB"))
            (else (string-append (number->string (inexact (/ (round (/ bytes 100000)) 10)))
                                 " MB"))))

    ;;; Parts of all pages

    (define icon
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' \
       rx='7' fill='#2c6553'/><path d='M16 9.5C13 7.6 9.600 7.200 6.500 7.800v15c3.100-.6 \
       6.500-.2 9.500 1.700 3-1.900 6.400-2.300 9.500-1.700v-15c-3.100-.6-6.500-.2-9.500 1.700zm0 \
       0v15' fill='none' stroke='#f6f1e4' stroke-width='2' stroke-linejoin='round'/></svg>")

    (define (brand frame)
      (html (a (@ (class "brand") (href "/"))
               (img (@ (src "/icon.svg") (alt "") (width "28") (height "28")))
               (span ,(frame-name frame)))))

    (define (search-form frame)
      (html (form (@ (class "search") (role "search") (action "/search"))
                  (input (@ (type "search") (name "q") (aria-label "Search") (placeholder "Search")
                            (value ,(frame-query frame)) (maxlength "200")))
                  (button (@ (type "submit")) "Search"))))

    (define (navigation frame)
      (let ((user (frame-user frame)))
        (html (nav (@ (aria-label "Wiki"))
                   (ul (li (a (@ (href "/recent")) "Recent changes"))
                       (li (a (@ (href "/pages")) "All pages"))
                       ,(and user (html (li (a (@ (href "/new")) "New page"))))))
              (nav (@ (class "account") (aria-label "Account"))
                   (ul ,(if user
                            (html (li (a (@ (href "/account")) ,(user-name user)))
                                  ,(and (administrator? frame)
                                        (html (li (a (@ (href "/settings")) "Settings"))))
                                  (li (form (@ (method "post") (action "/sign-out"))
                                            ,(token frame)
                                            (button (@ (class "plain")) "Sign out"))))
                            (html (li (a (@ (href "/sign-in")) "Sign in"))
                                  ,(and (frame-registration? frame)
                                        (html (li (a (@ (href "/sign-up")) "Sign up")))))))))))

    ;; A whole page. `aside` stands beside the content where there is room.
    (define* (layout frame title content #:key (aside #f) (bare? #f) (class #f))
      `(html
        (@ (lang "en"))
        (head
         (meta (@ (charset "utf-8")))
         (meta (@ (name "viewport") (content "width=device-width, initial-scale=1")))
         (meta (@ (name "color-scheme") (content "light dark")))
         (title ,title " – " ,(frame-name frame))
         (link (@ (rel "stylesheet") (href "/style.css")))
         (link (@ (rel "icon") (href "/icon.svg") (type "image/svg+xml")))
         (link (@ (rel "alternate") (type "application/atom+xml") (href "/feed.atom")
                  (title "Recent changes"))))
        (body
         ,(html (a (@ (class "skip") (href "#content")) "Skip to content"))
         (header (@ (class "top"))
                 (div (@ (class "bar"))
                      ,(brand frame)
                      ,(if bare? #f (list (search-form frame) (navigation frame)))))
         (div (@ (class ,(if aside "columns with-aside" "columns")))
              (main (@ (id "content") (class ,class))
                    ,(and (frame-notice frame)
                          (html (p (@ (class "notice") (role "status")) ,(frame-notice frame))))
                    ,content)
              ,(and aside `(aside ,aside)))
         ,(html (footer (ul (li (a (@ (href "/help")) "How to write"))
                            (li (a (@ (href "/wanted")) "Wanted pages"))
                            (li (a (@ (href "/files")) "Pictures"))
                            (li (a (@ (href "/feed.atom")) "Feed"))))))))

    (define (heading title . below)
      (html (header (@ (class "page-head")) (h1 ,title) ,below)))

    (define (problem text)
      (and text (html (p (@ (class "problem") (role "alert")) ,text))))

    ;; The tabs of a page, with the current one marked.
    (define* (tabs frame title current #:optional (locked? #f))
      (define (tab name url label)
        `(li (a (@ (href ,url) ,@(if (eq? name current) '((aria-current "page")) '())) ,label)))
      `(nav (@ (class "tabs") (aria-label "This page"))
            (ul ,(tab 'read (page-url title) "Read")
                ,(tab 'edit (page-url title "edit")
                      (if (or (not locked?) (administrator? frame)) "Edit" "Source"))
                ,(tab 'history (page-url title "history") "History"))))

    ;;; Pages of the wiki

    (define (document-view document missing)
      (let ((keys (map title-key missing)))
        `(div (@ (class "text"))
              ,@(document->sxml document
                                #:page-url page-url
                                #:missing? (lambda (title) (member (title-key title) keys))
                                #:file-url file-url))))

    (define (contents-view document)
      (let ((headings (document-headings document)))
        (and (> (length headings) 2)
             `(nav (@ (class "contents") (aria-labelledby "contents-title"))
                   (h2 (@ (id "contents-title")) "On this page")
                   (ul ,@(map (match-lambda
                                ((level name text)
                                 `(li (@ (class "level-" ,level))
                                      (a (@ (href "#" ,name)) ,text))))
                              headings))))))

    (define (page-links titles)
      `(ul (@ (class "links"))
           ,@(map (lambda (title) `(li (a (@ (href ,(page-url title))) ,title))) titles)))

    (define (backlinks-view titles)
      (and (pair? titles)
           `(nav (@ (class "backlinks") (aria-labelledby "backlinks-title"))
                 (h2 (@ (id "backlinks-title")) "Linked from")
                 ,(page-links titles))))

    (define (article-view frame page document missing backlinks)
      (layout frame (page-title page)
              (list (tabs frame (page-title page) 'read (page-locked? page))
                    `(article
                      ,(heading (page-title page))
                      ,(document-view document missing)
                      (p (@ (class "fine"))
                         "Last changed by " ,(page-author page) ", "
                         ,(time-of (page-written page) (time-text (page-written page)))
                         ,(and (page-locked? page) ". Locked: only an administrator can change it")
                         "."))
                    (and (administrator? frame) (administration-view frame page)))
              #:aside (let ((contents (contents-view document)) (links (backlinks-view backlinks)))
                        (and (or contents links) (list contents links)))))

    (define (administration-view frame page)
      (html (div (@ (class "administration"))
                 (form (@ (method "post") (action ,(page-url (page-title page) "lock")))
                       ,(token frame)
                       (input (@ (type "hidden") (name "locked")
                                 (value ,(if (page-locked? page) "0" "1"))))
                       (button (@ (class "quiet")) ,(if (page-locked? page) "Unlock" "Lock")))
                 (a (@ (class "button quiet") (href ,(page-url (page-title page) "delete")))
                    "Delete …"))))

    ;; A page that is not there.
    (define (missing-view frame title deleted? backlinks)
      (layout frame title
              (list (tabs frame title 'read)
                    (heading title)
                    (html (div (@ (class "text"))
                               (p ,(if deleted?
                                       "This page was deleted."
                                       "Nobody has written this page yet.")))
                          (p ,(if (frame-user frame)
                                  (html (a (@ (class "button") (href ,(page-url title "edit")))
                                           "Write it"))
                                  (html (a (@ (class "button") (href "/sign-in?next="
                                                                     ,(percent-encode
                                                                       (page-url title "edit"))))
                                           "Sign in to write it"))))))
              #:aside (backlinks-view backlinks)))

    (define (revision-view frame page document missing newest)
      (let ((title (page-title page)) (number (page-number page)))
        (layout frame (string-append title ", revision " (number->string number))
                (list (tabs frame title 'history)
                      `(article
                        ,(heading title)
                        (div (@ (class "notice"))
                             "Revision " ,number ", written by " ,(page-author page) ", "
                             ,(time-of (page-written page) (time-text (page-written page))) ". "
                             ,(if (= number newest)
                                  "This is the newest one."
                                  `(a (@ (href ,(changes-url title number newest)))
                                      "What has changed since"))
                             ,(and (frame-user frame) (not (= number newest))
                                   (restore-form frame title number)))
                        ,(document-view document missing))))))

    (define (restore-form frame title number)
      (html (form (@ (method "post") (action ,(page-url title "restore")))
                  ,(token frame)
                  (input (@ (type "hidden") (name "number") (value ,number)))
                  (button (@ (class "quiet")) "Restore revision " ,number))))

    ;;; Writing

    (define (new-view frame title error)
      (layout frame "New page"
              `((form (@ (class "narrow") (action "/new"))
                      ,(heading "New page")
                      ,(problem error)
                      ,(field "title" "Title" "text" title `(maxlength ,title-length-max))
                      (p (@ (class "buttons")) (button "Write"))))))

    (define (writing-fields frame text comment base)
      (html ,(token frame)
            (input (@ (type "hidden") (name "base") (value ,base)))
            (label (@ (for "text")) "Text")
            (textarea (@ (id "text") (name "text") (rows "22") (spellcheck "true")
                         (aria-describedby "writing-help"))
                      ,text)
            (p (@ (id "writing-help") (class "fine"))
               (code "# Heading") " " (code "*emphasis*") " " (code "**strong**") " "
               (code "[[Page]]") " " (code "- list") " · " (a (@ (href "/help")) "How to write"))
            (label (@ (for "comment")) "What you changed " (span (@ (class "fine")) "(optional)"))
            (input (@ (id "comment") (name "comment") (maxlength "200") (value ,comment)))))

    ;; The form for a page; `preview` is a document or #f.
    (define* (edit-view frame title text #:key (comment "") base (preview #f) (missing '())
                        (error #f)
                        (locked? #f))
      (layout frame (string-append (if (eqv? base 0) "New page: " "Edit: ") title)
              (list (tabs frame title 'edit locked?)
                    (heading title)
                    (problem error)
                    (and preview
                         `(section (@ (class "preview") (aria-labelledby "preview-title"))
                                   (h2 (@ (id "preview-title")) "Preview")
                                   ,(document-view preview missing)))
                    (if (and locked? (not (administrator? frame)))
                        (html (p (@ (class "notice"))
                                 "This page is locked: only an administrator can change it.")
                              (pre (@ (tabindex "0") (class "source")) (code ,text)))
                        (html (form (@ (class "writing") (method "post")
                                       (action ,(page-url title "edit")))
                                    ,(writing-fields frame text comment base)
                                    (p (@ (class "buttons"))
                                       (button (@ (name "action") (value "save")) "Save")
                                       (button (@ (class "quiet") (name "action") (value "preview"))
                                               "Preview")
                                       (a (@ (class "button plain") (href ,(page-url title)))
                                          "Cancel"))))))
              #:class "wide"))

    ;; Somebody else has saved the page meanwhile: `current` is what it is now, `mine` what was
    ;; about to be saved, `merged` both in one text, with marks where both have changed the same
    ;; lines.
    (define (merge-view frame title current mine merged conflicts comment)
      (layout frame (string-append "Two versions: " title)
              (list (tabs frame title 'edit)
                    (heading title)
                    (html
                     (div (@ (class "problem") (role "alert"))
                          (p (strong "Somebody else saved this page while you were writing. ")
                             "Nothing is lost: " ,(page-author current) " wrote revision "
                             ,(page-number current) ", "
                             ,(time-of (page-written current) (time-text (page-written current)))
                             ".")
                          (p ,(if (= conflicts 0)
                                  "The text below has both changes. Look it over and save it."
                                  (list "The text below has both. In "
                                        (counted conflicts "place" "places")
                                        " both of you changed the same lines: there you find both \
                                         versions between "
                                        '(code "<<<<<<<") " and " '(code ">>>>>>>")
                                        ". Keep what you like, and take the marks away."))))
                     (form (@ (class "writing") (method "post") (action ,(page-url title "edit")))
                           ,(writing-fields frame merged comment (page-number current))
                           (p (@ (class "buttons"))
                              (button (@ (name "action") (value "save")) "Save both")
                              (button (@ (class "quiet") (name "action") (value "preview"))
                                      "Preview")))
                     (section (@ (aria-labelledby "difference-title"))
                              (h2 (@ (id "difference-title"))
                                  "From their version to yours")
                              ,(difference-view (page-text current) mine))
                     (details (summary "Your text as you sent it")
                              (pre (@ (tabindex "0") (class "source")) (code ,mine)))))
              #:class "wide"))

    (define (delete-view frame page)
      (layout frame (string-append "Delete: " (page-title page))
              (list (tabs frame (page-title page) 'read)
                    (heading (page-title page))
                    (html (form (@ (class "narrow") (method "post")
                                   (action ,(page-url (page-title page) "delete")))
                                ,(token frame)
                                (p "The page will be taken from all lists. Its history stays, and \
                                    writing it again brings it back.")
                                (p (@ (class "buttons"))
                                   (button (@ (class "danger")) "Delete this page")
                                   (a (@ (class "button plain")
                                         (href ,(page-url (page-title page))))
                                      "Cancel")))))))

    ;;; History

    (define (comment-view comment)
      (and (not (string-null? comment)) (html (span (@ (class "comment")) ,comment))))

    ;; Some revisions; `older` is the address of those before, or #f.
    (define (history-view frame page changes older)
      (let* ((title (page-title page))
             (numbers (map change-number changes))
             (newest (if (pair? numbers) (car numbers) 0))
             (one-before (if (> (length numbers) 1) (cadr numbers) newest)))
        (define (choice name number checked? label)
          `(label (@ (class "choice"))
                  (input (@ (type "radio") (name ,name) (value ,number) (checked ,checked?)))
                  (span ,label)))
        (define (row change)
          (let ((number (change-number change)))
            `(li (span (@ (class "choices"))
                       ,(choice "from" number (= number one-before) "old")
                       ,(choice "to" number (= number newest) "new"))
                 (span (@ (class "what"))
                       (a (@ (href ,(revision-url title number)))
                          ,(time-of (change-written change) (time-text (change-written change))))
                       (span (@ (class "who")) ,(change-author change))
                       ,(comment-view (change-comment change))
                       (span (@ (class "fine"))
                             "revision " ,number " · "
                             ,(counted (change-size change) "character" "characters"))))))
        (layout frame (string-append "History: " title)
                (list (tabs frame title 'history)
                      (heading title)
                      `(form (@ (action ,(page-url title "changes")))
                             (ol (@ (class "history") (reversed #t)) ,@(map row changes))
                             (p (@ (class "buttons"))
                                (button "Compare what is marked")
                                ,(older-link older "Older revisions")))))))

    (define (older-link older text)
      (and older (html (a (@ (class "button quiet") (href ,older) (rel "next")) ,text))))

    (define (changes-view frame page from to)
      (let ((title (page-title page)))
        (layout frame (string-append "Changes: " title)
                (list (tabs frame title 'history)
                      (heading title)
                      (html (p "From "
                               (a (@ (href ,(revision-url title (page-number from))))
                                  "revision " ,(page-number from))
                               " by " ,(page-author from) " to "
                               (a (@ (href ,(revision-url title (page-number to))))
                                  "revision " ,(page-number to))
                               " by " ,(page-author to) ", "
                               ,(time-of (page-written to) (time-text (page-written to))) ".")
                            ,(and (not (string-null? (page-comment to)))
                                  (html (p (@ (class "comment")) ,(page-comment to)))))
                      (difference-view (page-text from) (page-text to))
                      (and (frame-user frame)
                           (not (= (page-number from) (page-number page)))
                           (restore-form frame title (page-number from))))
                #:class "wide")))

    ;; Lines around changes that are shown.
    (define context 3)

    (define (difference-view old new)
      (let ((chunks (text-differences old new)))
        (if (every (lambda (chunk) (eq? 'same (car chunk))) chunks)
            (html (p (@ (class "notice")) "There is no difference."))
            `(div (@ (class "difference") (tabindex "0") (role "group") (aria-label "Differences"))
                  ,@(chunk-views chunks #t)))))

    (define (chunk-views chunks first?)
      (match chunks
        (() '())
        ((('changed old new) . rest)
         (append (changed-view old new) (chunk-views rest #f)))
        ((('same . lines) . rest)
         (append (same-view lines (if first? 0 context) (if (null? rest) 0 context))
                 (chunk-views rest #f)))))

    (define (line-view kind mark . content)
      `(div (@ (class "line " ,kind))
            (span (@ (class "mark")) ,mark)
            (span ,@content)))

    ;; The first and the last of unchanged lines.
    (define (same-view lines before after)
      (define (shown lines) (map (lambda (line) (line-view "same" " " line)) lines))
      (let ((hidden (- (length lines) before after)))
        (if (< hidden 2)
            (shown lines)
            (append (shown (take lines before))
                    `((div (@ (class "line hidden")) (span "⋯ " ,(counted hidden "line" "lines"))))
                    (shown (take-right lines after))))))

    ;; Lines that replace each other show which words differ.
    (define (changed-view old new)
      (if (and (= (length old) (length new))
               (every (lambda (line) (< (string-length line) 2000)) (append old new)))
          (let ((pairs (map word-differences old new)))
            (append
             (map (lambda (chunks) (line-view "old" "−" (words-view chunks 'del cadr))) pairs)
             (map (lambda (chunks) (line-view "new" "+" (words-view chunks 'ins caddr))) pairs)))
          (append (map (lambda (line) (line-view "old" "−" line)) old)
                  (map (lambda (line) (line-view "new" "+" line)) new))))

    (define (words-view chunks tag side)
      (map (lambda (chunk)
             (if (eq? 'same (car chunk))
                 (cdr chunk)
                 (let ((words (side chunk)))
                   (if (null? words) '() `(,tag ,@words)))))
           chunks))

    ;;; Lists

    ;; Changes by day; `older` is the address of the next ones, or #f.
    (define (recent-view frame changes older)
      (define (row change)
        (let ((number (change-number change)) (title (change-title change)))
          `(li ,(time-of (change-written change) (hour-text (change-written change)))
               (span (@ (class "what"))
                     (a (@ (href ,(page-url title))) ,title)
                     (span (@ (class "who")) ,(change-author change))
                     ,(comment-view (change-comment change))
                     (a (@ (class "fine")
                           (href ,(if (= number 1)
                                      (page-url title "history")
                                      (changes-url title (- number 1) number))))
                        ,(if (= number 1) "new page" "what changed"))))))
      (define (days changes)
        (if (null? changes)
            '()
            (let ((day (day-text (change-written (car changes)))))
              (receive (today rest)
                  (span (lambda (change) (string=? day (day-text (change-written change))))
                        changes)
                `((h2 ,day) (ul (@ (class "changes")) ,@(map row today)) ,@(days rest))))))
      (layout frame "Recent changes"
              (list (heading "Recent changes")
                    (if (null? changes) (html (p "Nothing has been written yet.")) (days changes))
                    (and older (html (p ,(older-link older "Older changes")))))))

    ;; All titles under their first letters.
    (define (pages-view frame titles)
      (define (letter title)
        (let ((char (char-upcase (string-ref title 0))))
          (if (char-alphabetic? char) (string char) "#")))
      (define (groups titles)
        (if (null? titles)
            '()
            (let ((first (letter (car titles))))
              (receive (these rest) (span (lambda (title) (string=? first (letter title))) titles)
                `((section (h2 ,first) ,(page-links these)) ,@(groups rest))))))
      (layout frame "All pages"
              (list (heading "All pages" (html (p (@ (class "fine"))
                                                  ,(counted (length titles) "page" "pages"))))
                    `(div (@ (class "index")) ,@(groups titles)))))

    (define (wanted-view frame entries)
      (layout frame "Wanted pages"
              (list (heading "Wanted pages")
                    (if (null? entries)
                        (html (p "Every link leads to a page."))
                        `(ul (@ (class "entries"))
                             ,@(map (lambda (entry)
                                      `(li (a (@ (class "missing") (href ,(page-url (car entry))))
                                              ,(car entry))
                                           (span (@ (class "fine"))
                                                 "linked from "
                                                 ,(separated
                                                   (map (lambda (title)
                                                          `(a (@ (href ,(page-url title))) ,title))
                                                        (cdr entry))))))
                                    entries))))))

    (define (separated nodes)
      (if (or (null? nodes) (null? (cdr nodes)))
          nodes
          (cons* (car nodes) ", " (separated (cdr nodes)))))

    (define (search-view frame text results exact)
      (define (result found)
        `(li (a (@ (href ,(page-url (found-title found)))) ,(found-title found))
             (p ,@(map (lambda (part) (if (pair? part) `(mark ,@part) part)) (found-parts found)))))
      (layout frame (if (string-null? text) "Search" (string-append "Search: " text))
              (list (heading "Search"
                             (and (not (string-null? text))
                                  (html (p (@ (class "fine") (role "status"))
                                           ,(counted (length results) "page" "pages")
                                           " for “" ,text "”"))))
                    `(ul (@ (class "entries results")) ,@(map result results))
                    (and (frame-user frame) (not exact) (not (string-null? text))
                         (not (title-problem (clean-title text)))
                         (html (p (a (@ (class "button quiet")
                                        (href ,(page-url (clean-title text) "edit")))
                                     "Write the page “" ,(clean-title text) "”")))))))

    (define (files-view frame files error)
      (define (one file)
        `(li (a (@ (href ,(file-url (picture-name file))))
                (img (@ (src ,(file-url (picture-name file))) (alt "") (loading "lazy"))))
             (span (@ (class "what"))
                   (code "![](" ,(picture-name file) ")")
                   (span (@ (class "fine")) ,(size-text (picture-size file)) " · "
                         ,(picture-author file))
                   ,(and (administrator? frame)
                         `(form (@ (method "post") (action "/files/delete"))
                                ,(token frame)
                                (input
                                 (@ (type "hidden") (name "name") (value ,(picture-name file))))
                                (button
                                 (@ (class "plain") (aria-label "Delete " ,(picture-name file)))
                                 "Delete"))))))
      (layout frame "Pictures"
              (list (heading "Pictures")
                    (problem error)
                    (and (frame-user frame)
                         (html (form (@ (class "upload") (method "post") (action "/files")
                                        (enctype "multipart/form-data"))
                                     ,(token frame)
                                     (label (@ (for "file"))
                                            "Add a picture "
                                            (span (@ (class "fine"))
                                                  "(PNG, JPEG, GIF or WebP, up to 5 MB)"))
                                     (input (@ (id "file") (type "file") (name "file") (required #t)
                                               (accept
                                                "image/png,image/jpeg,image/gif,image/webp")))
                                     (button "Add"))))
                    (if (null? files)
                        (html (p "There are no pictures yet."))
                        `(ul (@ (class "pictures")) ,@(map one files))))))

    ;;; How to write

    (define examples
      '(("Headings" "# Large\n## Smaller\n### Smallest")
        ("Words" "*emphasis*, **strong**, ~~gone~~, `code`")
        ("Links" "[[Home]], [[Home|the first page]],\n[a site](https://example.org/)")
        ("Lists" "- bread\n- fruit\n  - apples\n  - pears\n\n1. first\n2. second")
        ("Things to do" "- [ ] water the plants\n- [x] feed the cat")
        ("Quotations" "> What is the use of a book\n> without pictures?")
        ("Tables" "| Tea | Minutes |\n|---|---|\n| green | 2 |\n| black | 4 |")
        ("Code" "```\n(display \"Hello\")\n```")
        ("Lines" "above\n\n---\n\nroses are red,\\\nviolets are blue")
        ("Plain text" "\\*not emphasis\\*, \\[[no link]]")))

    (define (help-view frame)
      (layout frame "How to write"
              (list (heading "How to write")
                    (html (p "Paragraphs are separated by an empty line. Pictures are added "
                             (a (@ (href "/files")) "here") " and shown by "
                             (code "![what one sees](name.png)") "."))
                    `(div (@ (class "examples"))
                          ,@(map (match-lambda
                                   ((title text)
                                    `(section (h2 ,title)
                                              (pre (@ (tabindex "0")) (code ,text))
                                              ,(document-view (parse-markup text) '()))))
                                 examples)))
              #:class "wide"))

    ;;; Accounts

    (define (field id label type value . attributes)
      `(,(html (label (@ (for ,id)) ,label))
        (input (@ (id ,id) (name ,id) (type ,type) (value ,value) (required #t) ,@attributes))))

    (define (sign-in-view frame name next error)
      (layout frame "Sign in"
              `((form (@ (class "narrow") (method "post") (action "/sign-in"))
                      ,(heading "Sign in")
                      ,(problem error)
                      ,(token frame)
                      (input (@ (type "hidden") (name "next") (value ,next)))
                      ,(field "name" "Name" "text" name '(autocomplete "username")
                              '(autocapitalize "none") '(maxlength "40"))
                      ,(field "password" "Password" "password" #f
                              '(autocomplete "current-password") '(maxlength "200"))
                      (p (@ (class "buttons")) (button "Sign in"))
                      ,(and (frame-registration? frame)
                            (html (p (@ (class "fine"))
                                     "No account yet? " (a (@ (href "/sign-up")) "Sign up"))))))))

    ;; The form for a new account: for anybody, or, with `#:first? #t`, for the one who sets up the
    ;; wiki.
    (define* (account-form-view frame name error #:key (first? #f) (wiki-name ""))
      (layout frame (if first? "Welcome" "Sign up")
              `((form (@ (class "narrow") (method "post") (action ,(if first? "/setup" "/sign-up")))
                      ,(heading (if first? "Welcome" "Sign up"))
                      ,(and first?
                            (html (p
                                   "This wiki is new. The first account administers it: it can \
                                      lock and delete pages, and decide whether others may sign \
                                      up.")))
                      ,(problem error)
                      ,(token frame)
                      ,@(if first?
                            (field "wiki" "Name of the wiki" "text" wiki-name '(maxlength "40"))
                            '())
                      ,(field "name" "Your name" "text" name '(autocomplete "username")
                              '(autocapitalize "none") '(maxlength "40"))
                      ,(field "password" "Password" "password" #f
                              '(autocomplete "new-password") '(minlength "8") '(maxlength "200")
                              '(aria-describedby "password-help"))
                      (p (@ (id "password-help") (class "fine"))
                         "At least 8 characters. A few words are better than one.")
                      (p (@ (class "buttons")) (button ,(if first? "Begin" "Sign up")))))
              #:bare? first?))

    (define (account-view frame error)
      (layout frame "Your account"
              `((form (@ (class "narrow") (method "post") (action "/account"))
                      ,(heading (user-name (frame-user frame))
                                (html (p (@ (class "fine"))
                                         "Since "
                                         ,(time-text (user-created (frame-user frame))))))
                      ,(problem error)
                      ,(token frame)
                      (h2 "Change the password")
                      (input (@ (type "hidden") (name "username") (autocomplete "username")
                                (value ,(user-name (frame-user frame)))))
                      ,(field "old" "Password so far" "password" #f
                              '(autocomplete "current-password") '(maxlength "200"))
                      ,(field "password" "New password" "password" #f
                              '(autocomplete "new-password") '(minlength "8") '(maxlength "200"))
                      (p (@ (class "fine"))
                         "You will be signed out everywhere else.")
                      (p (@ (class "buttons")) (button "Change"))))))

    ;; `made` is a name and a password that were made just now, or #f.
    (define (settings-view frame users error made)
      (layout frame "Settings"
              `((form (@ (class "narrow") (method "post") (action "/settings"))
                      ,(heading "Settings")
                      ,(and made
                            (html (div (@ (class "notice") (role "status"))
                                       (p (strong ,(car made)) " signs in with the password "
                                          (code ,(cdr made)))
                                       (p "It is shown this one time. It can be changed after \
                                           signing in."))))
                      ,(problem error)
                      ,(token frame)
                      ,(field "wiki" "Name of the wiki" "text" (frame-name frame) '(maxlength "40"))
                      (label (@ (class "check"))
                             (input (@ (type "checkbox") (name "registration") (value "open")
                                       (checked ,(frame-registration? frame))))
                             " Anybody can sign up")
                      (p (@ (class "buttons")) (button "Save")))
                (section (@ (class "narrow"))
                         (h2 "Accounts")
                         (ul (@ (class "entries"))
                             ,@(map (lambda (user)
                                      `(li (strong ,(user-name user))
                                           (span (@ (class "fine"))
                                                 ,(and (user-administrator? user)
                                                       "administrator, ")
                                                 "since " ,(time-text (user-created user)))
                                           ,(and (not (user-administrator? user))
                                                 (new-password-form frame (user-name user)))))
                                    users)))
                (form (@ (class "narrow") (method "post") (action "/settings/accounts"))
                      ,(token frame)
                      ,(field "name" "Another account" "text" #f '(maxlength "40")
                              '(autocomplete "off"))
                      (p (@ (class "buttons")) (button (@ (class "quiet")) "Make it"))))))

    (define (new-password-form frame name)
      `(form (@ (method "post") (action "/settings/passwords"))
             ,(token frame)
             (input (@ (type "hidden") (name "name") (value ,name)))
             (button (@ (class "plain")) "Give a new password"
                     (span (@ (class "unseen")) " to " ,name))))

    ;;; Errors

    ;; The text that the user had written must not be lost: it is shown unless it is empty.
    (define (error-view frame status title text written)
      (layout frame title
              (html (div (@ (class "error"))
                         (p (@ (class "status") (aria-hidden "true")) ,status)
                         (h1 ,title)
                         (p ,text)
                         (p (a (@ (class "button") (href "/")) "To the first page")))
                    ,(and (not (string-null? written))
                          `(section (label (@ (for "written")) "What you had written")
                                    (textarea (@ (id "written") (rows "14") (readonly #t))
                                              ,written))))
              #:bare? #t))))
