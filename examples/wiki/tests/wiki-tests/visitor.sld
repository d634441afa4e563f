;;; (wiki-tests visitor): somebody with a browser that has no window: pages, forms and cookies by
;;; `(canny web client)`.

(define-library (wiki-tests visitor)
  (export make-visitor visit submit submit-file page-status page-text page-sxml page-path)
  (import (canny base) (canny sxml) (canny web client) (canny web cookies) (canny web multipart)
          (canny web uri))
  (begin

    (define-record-type visitor
      (new-visitor base client)
      visitor?
      (base visitor-base)
      (client visitor-client))

    ;; A visitor of the wiki at an address, with cookies of its own.
    (define (make-visitor url)
      (new-visitor url (make-http-client #:cookies (make-cookie-jar) #:timeout 120)))

    (define (address visitor path)
      (string-append (visitor-base visitor) path))

    ;; The response for a path; redirects are followed.
    (define (visit visitor path)
      (http-get (address visitor path) #:client (visitor-client visitor)))

    (define (page-status page) (http-response-status page))
    (define (page-path page) (uri-path (string->uri (http-response-url page))))
    (define (page-sxml page) (html->sxml (http-response-text page)))

    ;; The text of the main part, with one blank where there are several.
    (define (page-text page)
      (string-join (string-split (sxml-text (sxml-select (page-sxml page) "//main"))) " "))

    ;; Fills in the form with an action on a page, and sends it: fields that are given, and those
    ;; that the form has already. With `#:follow? #f` the response is what the form was answered by.
    (define* (submit visitor page action fields #:key (follow? #t))
      (let* ((page (if (string? page) (visit visitor page) page))
             (form (find (lambda (form)
                           (string=? (percent-decode action)
                                     (percent-decode (sxml-attribute form 'action ""))))
                         (sxml-select (page-sxml page) "//form"))))
        (if (not form) (error "there is no such form" action (page-text page)))
        (http-post (address visitor (sxml-attribute form 'action))
                   #:client (visitor-client visitor)
                   #:redirects (if follow? 10 0)
                   #:body (append fields
                                  (remove (lambda (field) (assoc (car field) fields))
                                          (form-fields form))))))

    ;; Sends the form for pictures.
    (define (submit-file visitor token bytes name)
      (http-post (address visitor "/files")
                 #:client (visitor-client visitor)
                 #:multipart (list (cons "csrf-token" token)
                                   (make-part "file" bytes #:filename name #:type "image/png"))))

    (define (form-fields form)
      (append
       (map (lambda (input)
              (cons (sxml-attribute input 'name) (sxml-attribute input 'value "")))
            (remove (lambda (input)
                      (and (member (sxml-attribute input 'type) '("checkbox" "radio"))
                           (not (sxml-attribute input 'checked))))
                    (sxml-select form "//input")))
       (map (lambda (area) (cons (sxml-attribute area 'name) (sxml-text area)))
            (sxml-select form "//textarea"))))))
