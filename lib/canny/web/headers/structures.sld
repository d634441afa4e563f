;;; (canny web headers structures): headers that have a syntax of their own: credentials and
;;; challenges, links, dispositions, forwarded, via, warning, policies. As in
;;; `(canny web headers values)`, each has a parser and a writer.

(define-library (canny web headers structures)
  (export parse-credentials write-credentials parse-challenges write-challenges
          parse-link write-link parse-disposition write-disposition
          parse-forwarded write-forwarded parse-via write-via parse-warning write-warning
          parse-policies write-policies parse-websocket-key parse-alternatives write-alternatives
          decode-extended write-extended)
  (import (canny primitives) (canny syntax)
          (canny web headers text) (canny web headers dates) (canny web uri))
  (begin

    ;; Credentials: (basic . "user:password"), (bearer . "token"), (digest (realm . "x") …).

    (define (token68-char? char)
      (or (and (char<=? #\a char) (char<=? char #\z))
          (and (char<=? #\A char) (char<=? char #\Z))
          (and (char<=? #\0 char) (char<=? char #\9))
          (memv char '(#\- #\. #\_ #\~ #\+ #\/))))

    ;; The end of the token that begins at an index, which may end with equals signs.
    (define (token68-end text index end)
      (let loop ((index index))
        (if (and (< index end) (token68-char? (string-ref text index)))
            (loop (+ index 1))
            (let equals ((index index))
              (if (char-at? text index end #\=)
                  (equals (+ index 1))
                  index)))))

    (define (parse-credentials name text)
      (let* ((end (text-end text))
             (start (text-start text))
             (stop (expect-token name text start end "a scheme"))
             (scheme (symbol-of text start stop))
             (rest (skip-blanks text stop end)))
        (if (and (< rest end) (eqv? rest stop))
            (fail name stop "a blank is expected behind the scheme"))
        (cond ((eqv? rest end)
               (if (memq scheme '(basic bearer))
                   (fail name rest "credentials are expected behind the scheme"))
               (cons scheme '()))
              ((eqv? end (token68-end text rest end))
               (cons scheme
                     (if (eq? scheme 'basic)
                         (basic-text name text rest end)
                         (substring text rest end))))
              ((memq scheme '(basic bearer))
               (fail name rest "letters, digits and some signs are expected"))
              (else (cons scheme (parse-pairs name (substring text rest end) rest))))))

    ;; User and password are UTF-8, of old programs Latin-1.
    (define (basic-text name text start end)
      (let ((bytes (decoded-base64 (substring text start end))))
        (if (not bytes)
            (fail name start "base 64 is expected"))
        (let ((decoded (or (utf8-or-false bytes) (latin1 bytes))))
          (if (not (%string-index decoded #\:))
              (fail name start "a colon is expected between user and password"))
          decoded)))

    (define (latin1 bytes)
      (let* ((end (bytevector-length bytes)) (text (make-string end)))
        (let loop ((index 0))
          (if (eqv? index end)
              text
              (begin
                (string-set! text index (integer->char (bytevector-u8-ref bytes index)))
                (loop (+ index 1)))))))

    ;; name=value between commas, as an association list. `shift` is where the text begins in its
    ;; header.
    (define (parse-pairs name text shift)
      (parse-elements name text
        (lambda (start end receive)
          (parse-pair name text start end receive))))

    (define (parse-pair name text start end receive)
      (let* ((stop (expect-token name text start end "a name"))
             (equals (skip-blanks text stop end)))
        (if (not (char-at? text equals end #\=))
            (fail name equals "an equals sign is expected"))
        (parse-value name text (skip-blanks text (+ equals 1) end) end
          (lambda (value index)
            (receive (cons (symbol-of text start stop) value) index)))))

    (define (write-pairs name pairs port)
      (let loop ((rest pairs))
        (if (pair? rest)
            (begin
              (if (not (pair? (car rest)))
                  (refuse name "a parameter is a pair of name and value"))
              (if (not (eq? rest pairs))
                  (write-string ", " port))
              (write-string (token->string name (caar rest)) port)
              (write-char #\= port)
              (write-pair-value name (caar rest) (cdar rest) port)
              (loop (cdr rest))))))

    ;; These are quoted always, as some programs expect it; others only if they must be.
    (define (write-pair-value name key value port)
      (if (and (string? value)
               (or (memq key '(realm domain nonce opaque username uri response cnonce))
                   (and (eq? key 'qop) (memq name '(www-authenticate proxy-authenticate)))))
          (write-quoted value port)
          (write-value name value port)))

    (define (token68? text)
      (let ((end (string-length text)))
        (and (> end 0) (eqv? end (token68-end text 0 end)))))

    (define (write-scheme name value port)
      (if (not (and (pair? value) (symbol? (car value))))
          (refuse name "the value is a pair of a scheme and what belongs to it"))
      (let ((rest (cdr value)))
        (write-string (capitalized (token->string name (car value))) port)
        (cond ((null? rest) #t)
              ((string? rest)
               (write-char #\space port)
               (cond ((eq? (car value) 'basic)
                      (write-string (%base64-encode (string->utf8 rest) #f #t) port))
                     ((token68? rest) (write-string rest port))
                     (else (refuse name "a token has letters, digits and some signs only"))))
              ((list? rest)
               (write-char #\space port)
               (write-pairs name rest port))
              (else (refuse name "behind a scheme there is a string or an association list")))))

    (define (capitalized text)
      (string-append (string-upcase text 0 1) (substring text 1)))

    (define (write-credentials name value)
      (if (and (pair? value)
               (eq? (car value) 'basic)
               (not (and (string? (cdr value)) (%string-index (cdr value) #\:))))
          (refuse name "user and password are a string with a colon"))
      (let ((port (open-output-string)))
        (write-scheme name value port)
        (get-output-string port)))

    ;; Challenges: ((basic (realm . "x")) (negotiate . "token")). A comma stands between challenges
    ;; and between what belongs to one: a name with an equals sign behind it belongs to the last
    ;; one.
    (define (parse-challenges name text)
      (let ((end (string-length text)))
        (define (finish scheme parts challenges)
          (if scheme
              (cons (cons scheme (if (list? parts) (reverse parts) parts)) challenges)
              challenges))
        (let loop ((index 0) (scheme #f) (parts '()) (challenges '()))
          (let ((start (skip-blanks text index end)))
            (cond ((eqv? start end) (reverse (finish scheme parts challenges)))
                  ((char=? (string-ref text start) #\,) (loop (+ start 1) scheme parts challenges))
                  (else
                   (let* ((stop (expect-token name text start end "a scheme or a name"))
                          (next (skip-blanks text stop end)))
                     (if (char-at? text next end #\=)
                         (if (and scheme (list? parts))
                             (parse-pair name text start end
                               (lambda (pair index)
                                 (let ((next (skip-blanks text index end)))
                                   (if (not (or (eqv? next end) (char-at? text next end #\,)))
                                       (fail name next "a comma is expected")))
                                 (loop index scheme (cons pair parts) challenges)))
                             (fail name start "a scheme is expected"))
                         (let* ((challenges (finish scheme parts challenges))
                                (scheme (symbol-of text start stop))
                                (last (token68-end text next end))
                                (behind (skip-blanks text last end)))
                           (if (and (< stop next last)
                                    (or (eqv? behind end) (char=? (string-ref text behind) #\,)))
                               (loop behind scheme (substring text next last) challenges)
                               (loop stop scheme '() challenges)))))))))))

    (define (write-challenges name value)
      (join-texts name value ", "
        (lambda (challenge port)
          (if (and (pair? challenge) (eq? (car challenge) 'basic) (string? (cdr challenge)))
              (refuse name "a challenge has an association list"))
          (write-scheme name challenge port))))

    ;; Parameters whose names end with an asterisk have text of any characters: UTF-8''%e2%82%ac
    ;; (RFC 8187).

    (define (decode-value text)
      (let* ((first (%string-index text #\'))
             (second (and first (%string-index text #\' (+ first 1)))))
        (and second
             (let ((charset (string-downcase text 0 first))
                   (bytes (percent-decode->bytevector (substring text (+ second 1))
                                                      #:malformed 'replace)))
               (cond ((string=? charset "utf-8") (utf8-or-false bytes))
                     ((string=? charset "iso-8859-1") (latin1 bytes))
                     (else #f))))))

    ;; Parameters with those decoded, which take the place of their plain ones.
    (define (decode-extended parameters)
      (if (not (let any ((rest parameters))
                 (and (pair? rest)
                      (or (string-suffix? "*" (symbol->string (caar rest)))
                          (any (cdr rest))))))
          parameters
          (let ((decoded (%make-hash-table 'eq #f 4)))
            (for-each-parameter
             (lambda (parameter)
               (let ((key (symbol->string (car parameter))))
                 (if (and (string-suffix? "*" key) (cdr parameter))
                     (let ((value (decode-value (cdr parameter))))
                       (if value
                           (%hash-table-set! decoded
                                             (string->symbol
                                              (substring key 0 (- (string-length key) 1)))
                                             value))))))
             parameters)
            (let loop ((rest parameters) (result '()))
              (if (null? rest)
                  (append (%hash-table->alist decoded) (reverse result))
                  (loop (cdr rest)
                        (if (or (string-suffix? "*" (symbol->string (caar rest)))
                                (%hash-table-contains? decoded (caar rest)))
                            result
                            (cons (car rest) result))))))))

    (define (for-each-parameter procedure parameters)
      (if (pair? parameters)
          (begin
            (procedure (car parameters))
            (for-each-parameter procedure (cdr parameters)))))

    (define (ascii? text)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (or (eqv? index end)
              (and (char<=? #\space (string-ref text index) #\~)
                   (loop (+ index 1)))))))

    ;; Writes parameters, strings in quotes; what is not ASCII in the extended form, behind a plain
    ;; one for `fallback?` names.
    (define (write-extended name parameters fallback? port)
      (if (not (list? parameters))
          (refuse name "parameters are an association list"))
      (for-each-parameter
       (lambda (parameter)
         (if (not (pair? parameter))
             (refuse name "a parameter is a pair of name and value"))
         (let ((key (token->string name (car parameter))) (value (cdr parameter)))
           (define (plain text)
             (write-string "; " port)
             (write-string key port)
             (write-char #\= port)
             (write-quoted text port))
           (cond ((not (string? value)) (write-parameters name (list parameter) port))
                 ((has-control? value) (refuse name "a control character in a parameter"))
                 ((ascii? value) (plain value))
                 (else
                  (if (fallback? (car parameter))
                      (plain (in-ascii value)))
                  (write-string "; " port)
                  (write-string key port)
                  (write-string "*=UTF-8''" port)
                  (write-string (percent-encode value #:keep "!#$&+^`|") port)))))
       parameters))

    (define (has-control? text)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (and (< index end)
               (or (char<? (string-ref text index) #\space)
                   (char=? (string-ref text index) #\x7F)
                   (loop (+ index 1)))))))

    (define (in-ascii text)
      (let ((copy (string-copy text)))
        (let loop ((index 0))
          (if (< index (string-length copy))
              (begin
                (if (not (char<=? #\space (string-ref copy index) #\~))
                    (string-set! copy index #\_))
                (loop (+ index 1)))
              copy))))

    ;; Dispositions: (attachment (filename . "é.txt")).

    (define (parse-disposition name text)
      (let* ((end (string-length text))
             (start (text-start text))
             (stop (expect-token name text start end "a disposition")))
        (parse-parameters name text stop end
          (lambda (parameters index)
            (if (not (eqv? index end))
                (fail name index "a semicolon or the end is expected"))
            (cons (symbol-of text start stop) (decode-extended parameters))))))

    (define (write-disposition name value)
      (let ((value (if (pair? value) value (list value))) (port (open-output-string)))
        (write-string (token->string name (car value)) port)
        (write-extended name (cdr value) (lambda (key) (eq? key 'filename)) port)
        (get-output-string port)))

    ;; Links: ((URI (rel . "next") (title . "…")) …).

    (define (parse-link name text)
      (parse-elements name text
        (lambda (start end receive)
          (if (not (char-at? text start end #\<))
              (fail name start "a link begins with <"))
          (let* ((stop (or (%string-index text #\> start end)
                           (fail name start "the > of a link is missing")))
                 (target (or (string->uri/default (substring text (+ start 1) stop))
                             (fail name (+ start 1) "a URI or a reference is expected"))))
            (parse-parameters name text (+ stop 1) end
              (lambda (parameters index)
                (receive (cons target (decode-extended parameters)) index)))))))

    (define (write-link name value)
      (join-texts name value ", "
        (lambda (link port)
          (let ((target (and (pair? link) (car link))))
            (write-char #\< port)
            (write-string (cond ((uri? target) (uri->string target))
                                ((and (string? target) (string->uri/default target)) target)
                                (else (refuse name "a link is a URI and an association list")))
                          port)
            (write-char #\> port)
            (write-extended name (cdr link) (lambda (key) #f) port)))))

    ;; Forwarded: (((for . "192.0.2.60") (proto . "http")) …).

    (define (parse-forwarded name text)
      (parse-elements name text
        (lambda (start end receive)
          (let loop ((index start) (pairs '()))
            (let ((start (skip-blanks text index end)))
              (cond ((char-at? text start end #\;) (loop (+ start 1) pairs))
                    ((or (eqv? start end) (char=? (string-ref text start) #\,))
                     (receive (reverse! pairs) start))
                    (else
                     (parse-pair name text start end
                       (lambda (pair index)
                         (let ((next (skip-blanks text index end)))
                           (if (not (or (eqv? next end)
                                        (memv (string-ref text next) '(#\; #\,))))
                               (fail name next "a semicolon, a comma or the end is expected"))
                           (loop next (cons pair pairs))))))))))))

    (define (write-forwarded name value)
      (join-texts name value ", "
        (lambda (pairs port)
          (if (not (list? pairs))
              (refuse name "an element is an association list"))
          (let loop ((rest pairs))
            (if (pair? rest)
                (begin
                  (if (not (pair? (car rest)))
                      (refuse name "an element is an association list"))
                  (if (not (eq? rest pairs))
                      (write-char #\; port))
                  (write-string (token->string name (caar rest)) port)
                  (write-char #\= port)
                  (write-value name (cdar rest) port)
                  (loop (cdr rest))))))))

    ;; Via: (("1.1" "proxy.example" #f) …), the last one a comment.

    (define (word-end text index end)
      (if (and (< index end) (not (memv (string-ref text index) '(#\space #\tab #\,))))
          (word-end text (+ index 1) end)
          index))

    ;; The index behind the comment that begins at one; comments may be within comments.
    (define (comment-end name text start end)
      (let loop ((index (+ start 1)) (depth 1))
        (cond ((eqv? depth 0) index)
              ((>= index end) (fail name start "a comment does not end"))
              (else
               (case (string-ref text index)
                 ((#\() (loop (+ index 1) (+ depth 1)))
                 ((#\)) (loop (+ index 1) (- depth 1)))
                 ((#\\) (loop (+ index 2) depth))
                 (else (loop (+ index 1) depth)))))))

    (define (parse-via name text)
      (parse-elements name text
        (lambda (start end receive)
          (let* ((stop (word-end text start end))
                 (by (skip-blanks text stop end))
                 (by-end (word-end text by end))
                 (next (skip-blanks text by-end end)))
            (if (eqv? by by-end)
                (fail name by "the name of a host is expected behind the protocol"))
            (if (char-at? text next end #\()
                (let ((behind (comment-end name text next end)))
                  (receive (list (substring text start stop)
                                 (substring text by by-end)
                                 (substring text (+ next 1) (- behind 1)))
                      behind))
                (receive (list (substring text start stop) (substring text by by-end) #f)
                    by-end))))))

    (define (check-word name object)
      (if (not (and (string? object)
                    (not (string-null? object))
                    (eqv? (string-length object)
                          (word-end object 0 (string-length object)))))
          (refuse name "a protocol or host is a string without blanks and commas"))
      object)

    (define (write-via name value)
      (join-texts name value ", "
        (lambda (hop port)
          (if (not (and (list? hop) (<= 2 (length hop) 3)))
              (refuse name "an element has a protocol, a host and perhaps a comment"))
          (write-string (check-word name (car hop)) port)
          (write-char #\space port)
          (write-string (check-word name (cadr hop)) port)
          (let ((comment (and (pair? (cddr hop)) (caddr hop))))
            (if comment
                (begin
                  (if (not (string? comment))
                      (refuse name "a comment is a string"))
                  (let ((text (string-append "(" comment ")")))
                    (if (not (eqv? (string-length text)
                                   (comment-end name text 0 (string-length text))))
                        (refuse name "a comment has its parentheses in pairs"))
                    (write-char #\space port)
                    (write-string text port))))))))

    ;; Warning: ((110 "agent" "text" DATE-or-#f) …).

    (define (parse-warning name text)
      (parse-elements name text
        (lambda (start end receive)
          (let* ((stop (token-end text start end))
                 (code (parse-number name text start stop))
                 (agent (skip-blanks text stop end))
                 (agent-end (word-end text agent end))
                 (quote (skip-blanks text agent-end end)))
            (if (not (char-at? text quote end #\"))
                (fail name quote "a quoted text is expected"))
            (let* ((behind (quoted-end name text quote end))
                   (next (skip-blanks text behind end))
                   (warning (lambda (date)
                              (list code
                                    (substring text agent agent-end)
                                    (quoted-value text quote behind)
                                    date))))
              (if (char-at? text next end #\")
                  (let ((last (quoted-end name text next end)))
                    (receive (warning (or (parse-date text (+ next 1) (- last 1))
                                          (fail name next "a date is expected")))
                        last))
                  (receive (warning #f) behind)))))))

    (define (write-warning name value)
      (join-texts name value ", "
        (lambda (warning port)
          (if (not (and (list? warning)
                        (eqv? 4 (length warning))
                        (exact-nonnegative-integer? (car warning))
                        (<= 100 (car warning) 999)
                        (string? (caddr warning))))
              (refuse name "an element has a code, an agent, a text and a date or #f"))
          (write-string (number->string (car warning)) port)
          (write-char #\space port)
          (write-string (check-word name (cadr warning)) port)
          (write-char #\space port)
          (write-quoted (caddr warning) port)
          (let ((date (cadddr warning)))
            (if date
                (begin
                  (write-char #\space port)
                  (write-quoted (or (and (exact-integer? date) (date->text date))
                                    (refuse name "a date is the seconds since 1970"))
                                port)))))))

    ;; Policies: (((default-src "'self'") (img-src "*")) …), one list for each policy.

    (define (parse-policies name text)
      (let ((end (string-length text)))
        (let loop ((index 0) (policies '()))
          (if (> index end)
              (reverse! policies)
              (let* ((comma (or (and (< index end) (%string-index text #\, index end)) end))
                     (policy (parse-policy text index comma)))
                (loop (+ comma 1) (if (null? policy) policies (cons policy policies))))))))

    (define (parse-policy text start end)
      (let loop ((index start) (directives '()))
        (if (>= index end)
            (reverse! directives)
            (let* ((stop (or (%string-index text #\; index end) end))
                   (words (words-of text index stop)))
              (loop (+ stop 1)
                    (if (null? words)
                        directives
                        (cons (cons (string->symbol (string-downcase (car words))) (cdr words))
                              directives)))))))

    (define (words-of text start end)
      (let loop ((index start) (words '()))
        (let* ((start (skip-blanks text index end)) (stop (word-end text start end)))
          (if (eqv? start end)
              (reverse! words)
              (loop stop (cons (substring text start stop) words))))))

    (define (write-policies name value)
      (join-texts name value ", "
        (lambda (policy port)
          (if (not (list? policy))
              (refuse name "a policy is a list of directives"))
          (let loop ((rest policy))
            (if (pair? rest)
                (let ((directive (car rest)))
                  (if (not (and (pair? directive) (list? directive)))
                      (refuse name "a directive is a list of a name and strings"))
                  (if (not (eq? rest policy))
                      (write-string "; " port))
                  (write-string (token->string name (car directive)) port)
                  (for-each-parameter
                   (lambda (word)
                     (if (not (and (string? word)
                                   (not (string-null? word))
                                   (not (%string-index word #\;))))
                         (refuse name "a value is a string without blanks, commas, semicolons"))
                     (write-char #\space port)
                     (write-string (check-word name word) port))
                   (cdr directive))
                  (loop (cdr rest))))))))

    ;; Alt-Svc: ((h2 ":443" (ma . "3600")) …), or `clear`.

    (define (parse-alternatives name text)
      (let ((parsed
             (parse-elements name text
               (lambda (start end receive)
                 (let ((stop (expect-token name text start end "a protocol")))
                   (if (not (char-at? text stop end #\=))
                       (receive (symbol-of text start stop) stop)
                       (parse-value name text (+ stop 1) end
                         (lambda (authority index)
                           (parse-parameters name text index end
                             (lambda (parameters index)
                               (receive (cons* (symbol-of text start stop) authority parameters)
                                   index)))))))))))
        (cond ((equal? parsed '(clear)) 'clear)
              ((any-symbol? parsed) (fail name 0 "only clear stands alone"))
              (else parsed))))

    (define (any-symbol? list)
      (and (pair? list)
           (or (symbol? (car list)) (any-symbol? (cdr list)))))

    (define (write-alternatives name value)
      (if (eq? value 'clear)
          "clear"
          (join-texts name value ", "
            (lambda (alternative port)
              (if (not (and (list? alternative)
                            (>= (length alternative) 2)
                            (string? (cadr alternative))))
                  (refuse name "an element has a protocol, an authority and parameters"))
              (write-string (token->string name (car alternative)) port)
              (write-char #\= port)
              (write-quoted (cadr alternative) port)
              (write-parameters name (cddr alternative) port)))))

    ;; WebSocket: a key is sixteen bytes in base 64.
    (define (parse-websocket-key name text)
      (let* ((start (text-start text))
             (text (substring text start (text-end text)))
             (bytes (decoded-base64 text)))
        (if (not (and bytes (eqv? 16 (bytevector-length bytes)) (eqv? 24 (string-length text))))
            (fail name start "sixteen bytes in base 64 are expected"))
        text))))
