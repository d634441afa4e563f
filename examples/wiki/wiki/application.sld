;;; (wiki application): the answers of the wiki.
;;;
;;; A handler reads the request, asks the store and shows a view. Permissions are decided here and,
;;; for writing, once more by the store. A request that changes something is a POST with a token and
;;; is answered by 303, so that loading a page again repeats nothing.

(define-library (wiki application)
  (export make-application)
  (import (canny base) (canny atom) (canny base64) (canny crypto)
          (canny web message) (canny web router) (canny web middleware) (canny web sessions)
          (canny web bodies) (canny web multipart)
          (only (canny web uri) percent-encode)
          (only (canny web headers) entity-tag-matches?)
          (only (canny web password) hash-password password-matches? random-token)
          (wiki titles) (wiki markup) (wiki differences) (wiki store) (wiki views) (wiki style)
          (wiki welcome))
  (begin

    ;; Characters of a page, bytes of a picture, bytes of a form: each character of a text takes up
    ;; to twelve in it.
    (define text-length-max 300000)
    (define picture-bytes-max 5000000)
    (define form-bytes-max 4000000)

    (define changes-at-once 60)
    (define revisions-at-once 200)

    ;;; The request's surroundings

    (define (store-of request) (request-attribute request 'store))
    (define (user-of request) (request-attribute request 'user))

    (define (frame-of request)
      (let ((store (store-of request))
            (notice (session-ref request 'notice)))
        (if notice (session-delete! request 'notice))
        (make-frame (setting store 'wiki "Commonplace")
                    (user-of request)
                    (lambda () (csrf-field request))
                    (registration-open? store)
                    notice
                    (query-parameter request "q" ""))))

    (define (registration-open? store)
      (string=? "open" (setting store 'registration "open")))

    (define (field request name)
      (string-trim-both (form-value request name "")))

    ;; Nothing but lines of text.
    (define (clean-text text)
      (string-filter (lambda (char)
                       (or (char=? char #\newline) (char=? char #\tab) (plain-char? char)))
                     text))

    ;;; Answers

    (define (page request status view)
      (make-response #:status status
                     #:headers `((content-type . (text/html (charset . "utf-8")))
                                 (cache-control . ,(if (user-of request)
                                                       '((no-store . #t))
                                                       '((private . #t) (no-cache . #t)))))
                     #:body (view (frame-of request))))

    (define* (see-other request url #:optional (notice #f))
      (if notice (session-set! request 'notice notice))
      (make-response #:status 303 #:headers `((location . ,url))))

    (define (not-found) (raise-http-error 404 "Not Found"))
    (define (not-allowed) (raise-http-error 403 "Forbidden"))

    ;; A path of this wiki, whatever somebody put into a link.
    (define (local-path text)
      (if (and (string-prefix? "/" text)
               (not (string-prefix? "//" text))
               (string-every (lambda (char) (and (char<? #\space char) (not (char=? char #\\))))
                             text))
          text
          "/"))

    ;; Handlers for those who are signed in, and for administrators.
    (define (for-users handler)
      (lambda (request body)
        (cond ((user-of request) (handler request body))
              ((eq? 'GET (request-method request))
               (see-other request (string-append "/sign-in?next="
                                                 (percent-encode (request-path request)))))
              (else (not-allowed)))))

    (define (for-administrators handler)
      (for-users (lambda (request body)
                   (if (user-administrator? (user-of request))
                       (handler request body)
                       (not-allowed)))))

    ;;; Pages

    (define (title-of request)
      (let ((title (clean-title (route-parameter request 'title))))
        (if (title-problem title) (not-found) title)))

    (define (show-page request body) (show request (title-of request)))
    (define (show-first-page request body) (show request first-page-title))

    (define (show request title)
      (let* ((store (store-of request)) (found (find-page store title)))
        (cond ((or (not found) (page-deleted? found))
               (page request 404
                     (lambda (frame)
                       (missing-view frame title (and found #t) (backlinks store title)))))
              ((not (string=? title (page-title found)))
               (see-other request (page-url (page-title found))))
              (else
               (let ((document (parse-markup (page-text found))))
                 (page request 200
                       (lambda (frame)
                         (article-view frame found document (missing-in store document)
                                       (other-titles title (backlinks store title))))))))))

    (define (other-titles title titles)
      (filter (lambda (other) (not (string=? title other))) titles))

    (define (missing-in store document)
      (missing-titles store (document-links document)))

    ;; A page that was written, deleted ones for administrators only.
    (define (existing-page request)
      (let ((found (find-page (store-of request) (title-of request))))
        (cond ((not found) (not-found))
              ((not (page-deleted? found)) found)
              ((and (user-of request) (user-administrator? (user-of request))) found)
              (else (not-found)))))

    (define (new-page request body)
      (let ((title (clean-title (query-parameter request "title" "")))
            (asked? (request-query request)))
        (cond ((not asked?) (page request 200 (lambda (frame) (new-view frame "" #f))))
              ((title-problem title)
               => (lambda (problem)
                    (page request 422 (lambda (frame) (new-view frame title problem)))))
              (else (see-other request (page-url title "edit"))))))

    (define (edit-page request body)
      (let* ((title (title-of request)) (found (find-page (store-of request) title)))
        (if (and found (not (page-deleted? found)))
            (page request 200 (lambda (frame)
                                (edit-view frame (page-title found) (page-text found)
                                           #:base (page-number found)
                                           #:locked? (page-locked? found))))
            (page request 200 (lambda (frame) (edit-view frame title "" #:base 0))))))

    (define (save-page request body)
      (let* ((store (store-of request))
             (title (title-of request))
             (found (find-page store title))
             (title (if (and found (not (page-deleted? found))) (page-title found) title))
             (text (clean-text (form-value request "text" "")))
             (comment (clean-text (field request "comment")))
             (comment (substring comment 0 (min 200 (string-length comment))))
             (base (base-number (form-value request "base" "0"))))
        (define* (form #:key (status 200) (preview #f) (error #f))
          (page request status
                (lambda (frame)
                  (edit-view frame title text #:comment comment #:base base #:error error
                             #:preview preview
                             #:missing (if preview (missing-in store preview) '())))))
        (cond ((> (string-length text) text-length-max)
               (form #:status 413 #:error "The text is too long: 300,000 characters are the most."))
              ((string=? "preview" (form-value request "action" ""))
               (form #:preview (parse-markup text)))
              (else
               (receive (outcome now)
                   (save-page! store title text (user-of request)
                               #:base base #:comment comment)
                 (case outcome
                   ((saved) (see-other request (page-url title) "Saved."))
                   ((unchanged) (see-other request (page-url title) "Nothing was changed."))
                   ((locked)
                    (form #:status 403 #:error
                          "This page is locked: only an administrator can change it."))
                   (else (merge-page request store title now base text comment))))))))

    (define (base-number text)
      (let ((number (and (< 0 (string-length text) 16) (string->number text))))
        (if (exact-nonnegative-integer? number) number 0)))

    (define (merge-page request store title now base text comment)
      (let ((base-page (page-at store now base)))
        (receive (merged conflicts)
            (merge-texts (if base-page (page-text base-page) "") text (page-text now)
                         #:theirs-mark (string-append "<<<<<<< " (page-author now)))
          (page request 409
                (lambda (frame) (merge-view frame title now text merged conflicts comment))))))

    (define (show-history request body)
      (let* ((found (existing-page request))
             (before (base-number (query-parameter request "before" "")))
             (changes (page-history (store-of request) found #:limit revisions-at-once
                                    #:before (and (> before 0) before)))
             (oldest (if (pair? changes) (change-number (last changes)) 1)))
        (page request 200
              (lambda (frame)
                (history-view frame found changes
                              (and (> oldest 1)
                                   (string-append (page-url (page-title found) "history")
                                                  "?before=" (number->string oldest))))))))

    (define (show-revision request body)
      (let* ((store (store-of request))
             (found (existing-page request))
             (old (or (page-at store found (route-parameter request 'number)) (not-found)))
             (document (parse-markup (page-text old))))
        (page request 200 (lambda (frame)
                            (revision-view frame old document (missing-in store document)
                                           (page-number found))))))

    (define (show-changes request body)
      (let* ((store (store-of request))
             (found (existing-page request))
             (to (base-number (query-parameter request "to" "")))
             (to (if (= to 0) (page-number found) to))
             (from (base-number (query-parameter request "from" "")))
             (from (if (= from 0) (max 1 (- to 1)) from))
             (old (page-at store found (min from to)))
             (new (page-at store found (max from to))))
        (if (and old new)
            (page request 200 (lambda (frame) (changes-view frame found old new)))
            (not-found))))

    (define (restore request body)
      (let* ((store (store-of request))
             (found (existing-page request))
             (number (base-number (field request "number"))))
        (if (not (page-at store found number)) (not-found))
        (receive (outcome now) (restore-page! store found number (user-of request))
          (case outcome
            ((saved)
             (see-other request (page-url (page-title found))
                        (string-append "Revision " (number->string number) " is the text again.")))
            ((unchanged) (see-other request (page-url (page-title found)) "Nothing was changed."))
            ((locked) (not-allowed))
            (else (see-other request (page-url (page-title found) "history")
                             "Somebody saved this page at the same time: look again."))))))

    (define (lock-page request body)
      (let ((found (existing-page request)) (lock? (string=? "1" (field request "locked"))))
        (set-page-locked! (store-of request) found lock?)
        (see-other request (page-url (page-title found)) (if lock? "Locked." "Unlocked."))))

    (define (ask-to-delete request body)
      (let ((found (existing-page request)))
        (page request 200 (lambda (frame) (delete-view frame found)))))

    (define (delete-page request body)
      (let ((found (existing-page request)))
        (delete-page! (store-of request) found)
        (see-other request "/recent"
                   (string-append "“" (page-title found) "” was deleted."))))

    ;;; Lists

    (define (show-recent request body)
      (let* ((before (base-number (query-parameter request "before" "")))
             (changes (recent-changes (store-of request) changes-at-once
                                      #:before (and (> before 0) before))))
        (page request 200 (lambda (frame)
                            (recent-view frame changes
                                         (and (= changes-at-once (length changes))
                                              (string-append "/recent?before="
                                                             (number->string
                                                              (change-id (last changes))))))))))

    (define (show-pages request body)
      (page request 200 (lambda (frame) (pages-view frame (all-pages (store-of request))))))

    (define (show-wanted request body)
      (page request 200 (lambda (frame) (wanted-view frame (wanted-pages (store-of request))))))

    (define (show-help request body) (page request 200 help-view))

    (define (show-search request body)
      (let* ((text (query-parameter request "q" ""))
             (text (substring text 0 (min 200 (string-length text))))
             (store (store-of request))
             (results (search-pages store text))
             (exact (null? (missing-titles store (list (clean-title text))))))
        (page request 200 (lambda (frame) (search-view frame text results exact)))))

    (define (show-feed request body)
      (let* ((store (store-of request))
             (base (string-append (if (secure? request) "https://" "http://")
                                  (or (request-field request 'host) "localhost")))
             (identity (string-append "urn:sha256:" (setting store 'identity)))
             (changes (recent-changes store 40)))
        (define (entry change)
          (atom-entry #:id (string-append identity ":" (number->string (change-id change)))
                      #:title (change-title change)
                      #:updated (iso-time (change-written change))
                      #:author (change-author change)
                      #:link (string-append base (page-url (change-title change) "revisions"
                                                           (number->string (change-number change))))
                      #:summary (if (string-null? (change-comment change))
                                    (string-append "Revision "
                                                   (number->string (change-number change)))
                                    (change-comment change))))
        (make-response
         #:headers '((content-type . (application/atom+xml (charset . "utf-8")))
                     (cache-control . ((no-cache . #t))))
         #:body (atom-feed (map entry changes)
                           #:id identity
                           #:title (string-append (setting store 'wiki "Commonplace")
                                                  ": recent changes")
                           #:updated (iso-time (if (pair? changes)
                                                   (change-written (car changes))
                                                   0))
                           #:author (setting store 'wiki "Commonplace")
                           #:link (string-append base "/recent")
                           #:self (string-append base "/feed.atom")))))

    ;;; Pictures

    (define* (show-files request body #:key (status 200) (error #f))
      (page request status
            (lambda (frame) (files-view frame (all-pictures (store-of request)) error))))

    ;; The type of a picture by its first bytes, and the ending of its name; or #f. The type that a
    ;; client declares does not count.
    (define (type-of-picture bytes)
      (define (begins? . start)
        (and (>= (bytevector-length bytes) 16)
             (every (lambda (index byte) (or (not byte) (= byte (bytevector-u8-ref bytes index))))
                    (iota (length start))
                    start)))
      (cond ((begins? #x89 #x50 #x4e #x47 #xd #xa #x1a #xa) '("image/png" . ".png"))
            ((begins? #xff #xd8 #xff) '("image/jpeg" . ".jpg"))
            ((begins? #x47 #x49 #x46 #x38) '("image/gif" . ".gif"))
            ((begins? #x52 #x49 #x46 #x46 #f #f #f #f #x57 #x45 #x42 #x50)
             '("image/webp" . ".webp"))
            (else #f)))

    ;; A plain name out of that of a file: letters, digits and hyphens.
    (define (plain-name name ending)
      (let* ((dot (string-rindex name (lambda (char) (char=? char #\.))))
             (stem (substring name 0 (or dot (string-length name))))
             (words (string-split (string-map (lambda (char)
                                                (if (or (char-alphabetic? char)
                                                        (char-numeric? char))
                                                    (char-downcase char)
                                                    #\space))
                                              stem)))
             (plain (string-join words "-")))
        (string-append (if (string-null? plain)
                           "picture"
                           (substring plain 0 (min 60 (string-length plain))))
                       ending)))

    (define (add-file request body)
      (let* ((part (request-part request "file"))
             (size (if part (or (part-size part) 0) 0))
             (bytes (and (< 0 size) (part-bytes part)))
             (type (and bytes (type-of-picture bytes)))
             (name (and type (plain-name (or (part-filename part) "") (cdr type)))))
        (cond ((not type)
               (show-files request body #:status 422
                           #:error "This is no picture: choose a PNG, JPEG, GIF or WebP file."))
              ((add-picture! (store-of request) name (car type) bytes (user-of request))
               (see-other request "/files" (string-append "Added " name ".")))
              (else
               (show-files request body #:status 409
                           #:error
                           (string-append "There is a picture called " name " already."))))))

    (define (remove-file request body)
      (delete-picture! (store-of request) (field request "name"))
      (see-other request "/files" "Deleted."))

    (define (show-file request body)
      (receive (type bytes number)
          (picture-bytes (store-of request) (route-parameter request 'name))
        (if (not type) (not-found))
        (tagged request (string->symbol type) bytes (string-append "f" (number->string number)))))

    ;;; Files of the program

    ;; An answer with an entity tag: 304 if the client has it already.
    (define (tagged request type content tag)
      (let ((headers `((etag . (,tag . #t))
                       (cache-control . ((max-age . 600)))
                       (content-type . ,(if (string? content)
                                            (list type '(charset . "utf-8"))
                                            (list type)))))
            (tags (request-header request 'if-none-match)))
        (if (and tags (entity-tag-matches? (cons tag #t) tags #:weak? #t))
            (make-response #:status 304 #:headers headers)
            (make-response #:headers headers #:body content))))

    (define (fixed type content)
      (let ((tag (substring (hex-encode (digest 'sha-256 content)) 0 16)))
        (lambda (request body) (tagged request type content tag))))

    (define (health request body)
      (let ((healthy? (store-healthy? (store-of request))))
        (make-response #:status (if healthy? 200 503)
                       #:headers
                       '((content-type . (text/plain)) (cache-control . ((no-store . #t))))
                       #:body (if healthy? "ok\n" "the database does not answer\n"))))

    ;;; Accounts

    (define (name-problem name)
      (cond ((not (<= 1 (string-length name) 40)) "A name has up to 40 characters.")
            ((not (string-every (lambda (char)
                                  (or (char-alphabetic? char) (char-numeric? char)
                                      (memv char '(#\- #\. #\space))))
                                name))
             "A name has letters, digits, blanks, dots and hyphens.")
            (else #f)))

    (define (password-problem password)
      (cond ((< (string-length password) 8) "A password has at least 8 characters.")
            ((> (string-length password) 200) "A password has at most 200 characters.")
            (else #f)))

    ;; Nothing of the session before stays.
    (define (begin-session! request user)
      (session-clear! request)
      (session-set! request 'user (user-id user))
      (session-set! request 'epoch (user-epoch user)))

    (define (ask-to-sign-in request body)
      (if (user-of request)
          (see-other request "/")
          (page request 200 (lambda (frame)
                              (sign-in-view frame ""
                                            (local-path (query-parameter request "next" ""))
                                            #f)))))

    (define (sign-in request body)
      (let* ((name (clean-title (field request "name")))
             (next (local-path (field request "next")))
             (user (find-user (store-of request) name)))
        ;; Takes as long where there is no such account.
        (if (password-matches? (form-value request "password" "") (and user (user-password user)))
            (begin
              (begin-session! request user)
              (see-other request next (string-append "Welcome back, " (user-name user) ".")))
            (page request 422
                  (lambda (frame)
                    (sign-in-view frame name next "The name or the password is wrong."))))))

    (define (sign-out request body)
      (session-clear! request)
      (see-other request "/" "You are signed out."))

    (define (ask-to-sign-up request body)
      (if (registration-open? (store-of request))
          (page request 200 (lambda (frame) (account-form-view frame "" #f)))
          (not-found)))

    (define (sign-up request body)
      (if (not (registration-open? (store-of request))) (not-found))
      (make-account request #f
                    (lambda (user)
                      (see-other request "/" (string-append "Welcome, " (user-name user) ".")))))

    ;; Makes the account of a form and calls a procedure with it, or shows the form again.
    (define (make-account request first? continue)
      (let* ((name (clean-title (field request "name")))
             (password (form-value request "password" ""))
             (wiki (wiki-name (field request "wiki")))
             (problem (or (name-problem name) (password-problem password)))
             (user (and (not problem)
                        (add-user! (store-of request) name (hash-password password)))))
        (if user
            (begin
              (begin-session! request user)
              (continue user))
            (page request 422
                  (lambda (frame)
                    (account-form-view frame name (or problem "Somebody has that name already.")
                                       #:first? first? #:wiki-name wiki))))))

    (define (wiki-name text)
      (let ((name (clean-title text)))
        (if (and (<= 1 (string-length name) 40) (string-every plain-char? name))
            name
            "Commonplace")))

    (define (ask-to-begin request body)
      (if (any-users? (store-of request))
          (see-other request "/")
          (page request 200 (lambda (frame)
                              (account-form-view frame "" #f #:first? #t #:wiki-name
                                                 "Commonplace")))))

    ;; The first account, the wiki's name and its first pages.
    (define (begin-wiki request body)
      (let ((store (store-of request)))
        (if (any-users? store) (not-allowed))
        (make-account request #t
                      (lambda (user)
                        (set-setting! store 'wiki (wiki-name (field request "wiki")))
                        (for-each (lambda (entry)
                                    (save-page! store (car entry) (cdr entry) user
                                                #:comment "A beginning"))
                                  welcome-pages)
                        (see-other request "/")))))

    (define* (show-account request body #:key (status 200) (error #f))
      (page request status (lambda (frame) (account-view frame error))))

    (define (change-password request body)
      (let* ((user (user-of request))
             (password (form-value request "password" ""))
             (problem (cond ((not (password-matches? (form-value request "old" "")
                                                     (user-password user)))
                             "The password so far is wrong.")
                            (else (password-problem password)))))
        (if problem
            (show-account request body #:status 422 #:error problem)
            (begin
              (begin-session! request
                              (set-password! (store-of request) user (hash-password password)))
              (see-other request "/account" "The password was changed.")))))

    (define* (show-settings request body #:key (status 200) (error #f) (made #f))
      (page request status
            (lambda (frame) (settings-view frame (all-users (store-of request)) error made))))

    ;; Makes an account for somebody, with a password by chance.
    (define (give-account request body)
      (let* ((name (clean-title (field request "name")))
             (problem (name-problem name))
             (password (random-token 16))
             (user (and (not problem)
                        (add-user! (store-of request) name (hash-password password)))))
        (if user
            (show-settings request body #:made (cons name password))
            (show-settings request body #:status 422
                           #:error (or problem "Somebody has that name already.")))))

    ;; Gives somebody who has forgotten it a new password, which ends all sessions with the old one.
    (define (give-password request body)
      (let* ((store (store-of request))
             (user (find-user store (field request "name")))
             (password (random-token 16)))
        (if (or (not user) (user-administrator? user)) (not-found))
        (set-password! store user (hash-password password))
        (show-settings request body #:made (cons (user-name user) password))))

    (define (change-settings request body)
      (let ((store (store-of request)))
        (set-setting! store 'wiki (wiki-name (field request "wiki")))
        (set-setting! store 'registration
                      (if (string=? "open" (field request "registration")) "open" "closed"))
        (see-other request "/settings" "Saved.")))

    ;;; Clients, and how often each asks

    (define (secure? request)
      (or (request-secure? request)
          (and (request-attribute request 'behind-proxy)
               (equal? "https" (request-field request 'x-forwarded-proto)))))

    ;; The address of a client without its port; behind a proxy the one that the proxy has seen.
    (define (client-address request)
      (let ((forwarded (and (request-attribute request 'behind-proxy)
                            (request-header request 'x-forwarded-for)))
            (peer (or (request-peer request) "")))
        (if (pair? forwarded)
            (last forwarded)
            (substring peer 0 (or (string-rindex peer (lambda (char) (char=? char #\:)))
                                  (string-length peer))))))

    ;; Guessing a password is slow, for one address and for one account. Hashing takes memory, so
    ;; accounts are made slowly too.
    (define (limited)
      (compose-middleware
       (rate-limit #:rate 1/5 #:burst 15 #:key client-address)
       (rate-limit #:rate 1/10 #:burst 10
                   #:key (lambda (request)
                           (title-key (if (user-of request)
                                          (user-name (user-of request))
                                          (field request "name")))))))

    ;; Notes the store, and who is signed in. A session of an earlier password counts for nothing.
    (define (with-store store behind-proxy?)
      (lambda (handler)
        (lambda (request body)
          (let* ((id (session-ref request 'user))
                 (user (and (exact-integer? id) (user-by-id store id))))
            (set-request-attribute! request 'store store)
            (set-request-attribute! request 'behind-proxy behind-proxy?)
            (set-request-attribute! request 'user
                                    (and user
                                         (eqv? (user-epoch user) (session-ref request 'epoch))
                                         user))
            (handler request body)))))

    ;; As long as there is no account, all there is is the form for the first one.
    (define (first-run store)
      (let ((begun? #f))
        (lambda (handler)
          (lambda (request body)
            (if (not begun?) (set! begun? (any-users? store)))
            (if (or begun?
                    (member (request-path request)
                            '("/setup" "/style.css" "/icon.svg" "/health")))
                (handler request body)
                (see-other request "/setup"))))))

    ;;; Errors

    (define (error-words status)
      (case status
        ((403)
         (values "Not allowed"
                 "This is not yours to do, or the form was too old: go back, load the page again, \
                  and try once more."))
        ((404) (values "Not here" "There is nothing at this address."))
        ((405) (values "Not like this" "This address takes other requests."))
        ((413) (values "Too large" "What you sent is larger than this wiki takes."))
        ((429) (values "Slowly" "That was tried too often. Wait a little, and try again."))
        ((500) (values "Something broke" "This is not your fault. What you sent was not saved."))
        ((503) (values "Not now" "Try again in a moment."))
        (else (values "That did not work" "The request could not be understood."))))

    ;; Gives errors that are plain text the wiki's looks.
    (define (styled-errors store)
      (lambda (handler)
        (lambda (request body)
          (let* ((response (call-handler handler request body))
                 (status (response-status response))
                 (type (response-header response 'content-type)))
            (if (and (>= status 400)
                     (or (not type) (and (pair? type) (eq? 'text/plain (car type))))
                     (not (string=? "/health" (request-path request))))
                (receive (title text) (error-words status)
                  (response-with-body
                   (response-with-header response 'content-type
                                         '(text/html (charset . "utf-8")))
                   (error-view (make-frame (wiki-title store) #f #f #f #f "") status title text
                               (form-value request "text" ""))))
                response)))))

    ;; Also where the database is what is broken.
    (define (wiki-title store)
      (guard (e (#t "Commonplace")) (setting store 'wiki "Commonplace")))

    ;;; Everything together

    (define content-security-policy
      '(((default-src "'none'") (style-src "'self'") (img-src "'self'") (form-action "'self'")
         (base-uri "'none'") (frame-ancestors "'none'"))))

    (define (make-routes)
      (let ((limited (limited)))
        (routes
         (GET "/" show-first-page)
         (GET "/wiki/:title" show-page)
         (GET "/wiki/:title/edit" (for-users edit-page))
         (POST "/wiki/:title/edit" (for-users save-page))
         (GET "/wiki/:title/history" show-history)
         (GET "/wiki/:title/revisions/:number<integer>" show-revision)
         (GET "/wiki/:title/changes" show-changes)
         (POST "/wiki/:title/restore" (for-users restore))
         (POST "/wiki/:title/lock" (for-administrators lock-page))
         (GET "/wiki/:title/delete" (for-administrators ask-to-delete))
         (POST "/wiki/:title/delete" (for-administrators delete-page))
         (GET "/new" (for-users new-page))
         (GET "/recent" show-recent)
         (GET "/pages" show-pages)
         (GET "/wanted" show-wanted)
         (GET "/search" show-search)
         (GET "/help" show-help)
         (GET "/feed.atom" show-feed)
         (GET "/files" show-files)
         (POST "/files" (for-users add-file))
         (POST "/files/delete" (for-administrators remove-file))
         (GET "/files/:name" show-file)
         (GET "/sign-in" ask-to-sign-in)
         (POST "/sign-in" (limited sign-in))
         (GET "/sign-up" ask-to-sign-up)
         (POST "/sign-up" (limited sign-up))
         (POST "/sign-out" sign-out)
         (GET "/setup" ask-to-begin)
         (POST "/setup" (limited begin-wiki))
         (GET "/account" (for-users show-account))
         (POST "/account" (for-users (limited change-password)))
         (GET "/settings" (for-administrators show-settings))
         (POST "/settings" (for-administrators change-settings))
         (POST "/settings/accounts" (for-administrators give-account))
         (POST "/settings/passwords" (for-administrators give-password))
         (GET "/health" health)
         (GET "/style.css" (fixed 'text/css stylesheet))
         (GET "/icon.svg" (fixed 'image/svg+xml icon)))))

    ;; The handler of the whole wiki over a store. Behind a proxy that speaks TLS, cookies are for
    ;; TLS only, and the proxy says where requests come from.
    (define* (make-application store #:key (behind-proxy? #f))
      (with-middleware (router-handler (make-routes))
        (security-headers #:content-security-policy content-security-policy
                          #:referrer-policy '(same-origin))
        (compress-responses)
        (styled-errors store)
        (answer-errors)
        (parse-bodies #:limit form-bytes-max
                      #:part-limit picture-bytes-max
                      #:total-limit (+ picture-bytes-max 100000)
                      #:fields-limit 50)
        (sessions (list (setting store 'secret)) #:secure? behind-proxy?)
        (csrf-protection)
        (with-store store behind-proxy?)
        (first-run store)))))
