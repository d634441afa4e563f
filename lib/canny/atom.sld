;;; (canny atom): feeds as in RFC 4287.
;;;
;;;     (sxml->xml
;;;      (atom-feed (list (atom-entry #:id "tag:example.org,2026:1" #:title "One" #:updated 0))
;;;                 #:id "https://example.org/" #:title "News" #:updated 0 #:author "Ada"))
;;;
;;; Points in time are strings as in RFC 3339, or seconds since 1970.

(define-library (canny atom)
  (export atom-feed atom-entry)
  (import (canny primitives) (canny syntax) (canny sxml)
          (only (canny data lists) map)
          (only (srfi 1) append-map every)
          (only (canny machine control) raise))
  (begin

    (define (missing who what)
      (raise (%make-condition 'range (string-append "a feed of Atom needs " what) '() who)))

    (define (two-digits number)
      (if (< number 10)
          (string-append "0" (number->string number))
          (number->string number)))

    ;; Seconds since 1970 as in RFC 3339.
    (define (time-text who time)
      (cond ((string? time) time)
            ((and (real? time) (<= -62135596800 time 253402300799))
             (let* ((seconds (exact (floor time)))
                    (days (floor-quotient seconds 86400))
                    (rest (floor-remainder seconds 86400))
                    ;; Days since 1 March of the year 0, in eras of 400 years.
                    (z (+ days 719468))
                    (era (floor-quotient z 146097))
                    (day (- z (* era 146097)))
                    (year (quotient (- day (quotient day 1460) (- (quotient day 36524))
                                       (quotient day 146096))
                                    365))
                    (day-of-year
                     (- day (+ (* 365 year) (quotient year 4) (- (quotient year 100)))))
                    (month (quotient (+ (* 5 day-of-year) 2) 153))
                    (civil-month (if (< month 10) (+ month 3) (- month 9)))
                    (civil-year (+ year (* era 400) (if (<= civil-month 2) 1 0)))
                    (digits (number->string civil-year)))
               (string-append (make-string (- 4 (string-length digits)) #\0) digits "-"
                              (two-digits civil-month) "-"
                              (two-digits (+ 1 (- day-of-year
                                                  (quotient (+ (* 153 month) 2) 5))))
                              "T" (two-digits (quotient rest 3600)) ":"
                              (two-digits (quotient (remainder rest 3600) 60)) ":"
                              (two-digits (remainder rest 60)) "Z")))
            (else (%type-error who 1 "string or seconds since 1970" time))))

    ;; Text, or SXML as escaped HTML.
    (define (text-element tag content)
      (if (pair? content)
          `(,tag (@ (type "html")) ,(sxml->html content))
          `(,tag ,content)))

    (define (optional make value)
      (if value (list (make value)) '()))

    (define (authors author)
      (cond ((not author) '())
            ((string? author) `((author (name ,author))))
            (else (append-map authors author))))

    ;; An entry of a feed. `#:content` and `#:summary` are text or SXML of HTML, `#:author` a name
    ;; or a list of names, `#:categories` a list of strings.
    (define* (atom-entry #:key (id #f) (title #f) (updated #f) (published #f) (link #f) (author #f)
                         (summary #f) (content #f) (categories '()))
      (if (not id) (missing 'atom-entry "the id of each entry"))
      (if (not title) (missing 'atom-entry "the title of each entry"))
      (if (not updated) (missing 'atom-entry "the time of each entry's last change"))
      `(entry (id ,id)
              ,(text-element 'title title)
              (updated ,(time-text 'atom-entry updated))
              ,@(optional (lambda (time) `(published ,(time-text 'atom-entry time))) published)
              ,@(optional (lambda (url) `(link (@ (rel "alternate") (href ,url)))) link)
              ,@(authors author)
              ,@(map (lambda (category) `(category (@ (term ,category)))) categories)
              ,@(optional (lambda (summary) (text-element 'summary summary)) summary)
              ,@(optional (lambda (content) (text-element 'content content)) content)))

    ;; A feed with a list of entries, as SXML for `sxml->xml`. `#:self` is the feed's own address.
    (define* (atom-feed entries #:key (id #f) (title #f) (updated #f) (author #f) (link #f)
                        (self #f)
                        (subtitle #f) (icon #f) (rights #f))
      (if (not id) (missing 'atom-feed "an id"))
      (if (not title) (missing 'atom-feed "a title"))
      (if (not updated) (missing 'atom-feed "the time of its last change"))
      (if (not (or author (every (lambda (entry) (sxml-select-first entry "author")) entries)))
          (missing 'atom-feed "an author, or one in each entry"))
      `(*TOP*
        (feed (@ (xmlns "http://www.w3.org/2005/Atom"))
              (id ,id)
              ,(text-element 'title title)
              ,@(optional (lambda (subtitle) (text-element 'subtitle subtitle)) subtitle)
              (updated ,(time-text 'atom-feed updated))
              ,@(optional (lambda (url) `(link (@ (rel "alternate") (href ,url)))) link)
              ,@(optional (lambda (url) `(link (@ (rel "self") (href ,url)))) self)
              ,@(authors author)
              ,@(optional (lambda (icon) `(icon ,icon)) icon)
              ,@(optional (lambda (rights) (text-element 'rights rights)) rights)
              ,@entries)))))
