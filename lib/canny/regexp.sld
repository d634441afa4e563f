;;; (canny regexp): regular expressions, as SREs and as patterns of text.
;;;
;;; A string is a pattern such as "[0-9]+-(?<day>[a-z]+)"; anything else is an SRE or a regexp of
;;; SRFI 115, where a string stands for itself. Time is at most proportional to the string, for
;;; every pattern.
;;;
;;;     (regexp-match->list (regexp-search "([a-z]+)=([0-9]+)" "n=1, size=42"))
;;;                                                              ; => ("n=1" "n" "1")
;;;     (regexp-replace-all "[0-9]+" "1 and 22" "<" 0 ">")

(define-library (canny regexp)
  (export regexp regexp? rx valid-sre? regexp-quote
          regexp-matches regexp-matches? regexp-search regexp-test? regexp-fold regexp-extract
          regexp-split regexp-partition regexp-replace regexp-replace-all
          regexp-all regexp-lines
          regexp-match? regexp-match-count regexp-match-submatch regexp-match-submatch-start
          regexp-match-submatch-end regexp-match->list)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) for-each)
          (only (canny machine control) current-input-port)
          (prefix (only (canny regexp matching)
                        regexp regexp-matches regexp-matches? regexp-search regexp-test? regexp-fold
                        regexp-extract regexp-split regexp-partition regexp-replace
                        regexp-replace-all regexp-find-line)
                  srfi:)
          (only (canny regexp matching)
                regexp? rx valid-sre? pattern->regexp
                regexp-match? regexp-match-count regexp-match-submatch regexp-match-submatch-start
                regexp-match-submatch-end regexp-match->list))
  (begin

    ;; Regexps of patterns that were given as strings lately.
    (define known (%make-hash-table 'string #f 0))
    (define known-max 200)

    ;; The regexp of a pattern, which is a string, or of an SRE.
    (define (regexp object)
      (cond ((regexp? object) object)
            ((string? object)
             (or (%hash-table-ref known object #f)
                 (let ((re (pattern->regexp object)))
                   (if (>= (%hash-table-count known) known-max)
                       (%hash-table-clear! known))
                   (%hash-table-set! known (string-copy object) re)
                   re)))
            (else (srfi:regexp object))))

    ;; A pattern that matches a string literally.
    (define (regexp-quote string)
      (let ((port (open-output-string)))
        (for-each (lambda (char)
                    (if (%string-index "\\.+*?()|[]{}^$#&-~ \t\n\r" char)
                        (write-char #\\ port))
                    (write-char char port))
                  (string->list string))
        (get-output-string port)))

    (define-syntax define-with-pattern
      (syntax-rules ()
        ((_ name procedure)
         (define name
           (case-lambda
             ((re string) (procedure (if (regexp? re) re (regexp re)) string))
             ((re . arguments) (apply procedure (regexp re) arguments)))))))

    ;; `(regexp-matches regexp string [start [end]])`: the match of a whole range, or `#f`.
    (define-with-pattern regexp-matches srfi:regexp-matches)
    ;; `(regexp-matches? regexp string [start [end]])`: whether a whole range matches.
    (define-with-pattern regexp-matches? srfi:regexp-matches?)
    ;; `(regexp-search regexp string [start [end]])`: the first match, or `#f`.
    (define-with-pattern regexp-search srfi:regexp-search)
    ;; `(regexp-test? regexp string [start [end]])`: whether there is a match; makes no match
    ;; object.
    (define-with-pattern regexp-test? srfi:regexp-test?)
    ;; `(regexp-fold regexp kons knil string [finish [start [end]]])`: calls `kons` with where the
    ;; last match ended, the match, the string and the state, for each match.
    (define (regexp-fold re . arguments)
      (apply srfi:regexp-fold (regexp re) arguments))
    ;; `(regexp-extract regexp string [start [end]])`: the list of the texts that match.
    (define-with-pattern regexp-extract srfi:regexp-extract)
    ;; `(regexp-split regexp string [start [end]])`: the list of the texts between matches.
    (define-with-pattern regexp-split srfi:regexp-split)
    ;; `(regexp-partition regexp string [start [end]])`: the texts between matches and those that
    ;; match, in turn.
    (define-with-pattern regexp-partition srfi:regexp-partition)
    ;; `(regexp-replace regexp string template [start [end [count]]])`: the string with one match
    ;; replaced.
    (define (regexp-replace re . arguments)
      (apply srfi:regexp-replace (regexp re) arguments))
    ;; `(regexp-replace-all regexp string template [start [end]])`: the string with every match
    ;; replaced. A template is a string, the number or name of a submatch, `pre`, `post`, a
    ;; procedure of the match, or a list of these.
    (define (regexp-replace-all re . arguments)
      (apply srfi:regexp-replace-all (regexp re) arguments))

    ;; A generator of the matches in a string.
    (define (regexp-all re string)
      (let* ((re (regexp re)) (length (string-length string)) (place 0) (last -1))
        (define (next)
          (let ((match (and (<= place length) (srfi:regexp-search re string place))))
            (if (not match)
                (begin
                  (set! place (+ length 1))
                  (eof-object))
                (let ((start (regexp-match-submatch-start match 0))
                      (end (regexp-match-submatch-end match 0)))
                  (set! place (if (= start end) (+ end 1) end))
                  (if (and (= start end) (= end last))
                      (next)
                      (begin
                        (set! last end)
                        match))))))
        next))

    ;; A generator of the lines of a port, the current input port unless given, with a match.
    (define (regexp-lines re . port)
      (let ((re (regexp re))
            (port (if (pair? port) (car port) (current-input-port))))
        (lambda () (srfi:regexp-find-line re port))))))
