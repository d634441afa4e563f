;;; (canny postgresql settings): where a server is and how to talk to it: connection strings and
;;; environment variables.
;;;
;;; Settings are an association list of symbols and strings, under libpq's names.

(define-library (canny postgresql settings)
  (export connection-settings setting)
  (import (canny primitives) (canny syntax) (canny machine control)
          (only (canny data lists) for-each map))
  (begin

    (define (refuse message object)
      (raise (%make-condition 'range message (list object) 'open-postgresql)))

    (define known
      '(host port dbname user password sslmode sslrootcert sslcert sslkey application_name options
        connect_timeout))

    (define variables
      '((host . "PGHOST") (port . "PGPORT") (dbname . "PGDATABASE") (user . "PGUSER")
        (password . "PGPASSWORD")
        (sslmode . "PGSSLMODE")
        (sslrootcert . "PGSSLROOTCERT")
        (sslcert . "PGSSLCERT")
        (sslkey . "PGSSLKEY")
        (application_name . "PGAPPNAME")
        (options . "PGOPTIONS")
        (connect_timeout . "PGCONNECT_TIMEOUT")))

    (define (setting settings name default)
      (let ((found (assq name settings)))
        (if found (cdr found) default)))

    ;; The settings of a connection string; those that it lacks come from the environment, or else
    ;; from convention.
    (define (connection-settings string)
      (let* ((given (if (uri? string) (uri-settings string) (keyword-settings string)))
             (all (append given (environment-settings)))
             (user (setting all 'user (or (get-environment-variable "USER") "postgres"))))
        (append all
                (list (cons 'user user)
                      (cons 'dbname user)
                      (cons 'host (default-host))
                      (cons 'port "5432")
                      (cons 'sslmode "prefer")))))

    (define (environment-settings)
      (let loop ((rest variables) (found '()))
        (if (null? rest)
            found
            (let ((value (get-environment-variable (cdar rest))))
              (loop (cdr rest)
                    (if (and value (not (string=? value "")))
                        (cons (cons (caar rest) value) found)
                        found))))))

    (define (default-host)
      (if (file-exists? "/var/run/postgresql") "/var/run/postgresql" "localhost"))

    (define (checked name value)
      (let ((name (string->symbol name)))
        (if (not (memq name known))
            (refuse "an unknown word in a connection string" (symbol->string name)))
        (cons name value)))

    ;; URIs: postgresql://user:password@host:port/name?key=value&…

    (define (uri? string)
      (or (string-prefix? "postgresql://" string)
          (string-prefix? "postgres://" string)))

    (define (index-of string char start)
      (let loop ((index start))
        (cond ((>= index (string-length string)) #f)
              ((char=? (string-ref string index) char) index)
              (else (loop (+ index 1))))))

    (define (last-index-of string char)
      (let loop ((index (- (string-length string) 1)))
        (cond ((< index 0) #f)
              ((char=? (string-ref string index) char) index)
              (else (loop (- index 1))))))

    ;; The parts before and behind the first of a character; #f behind if there is none.
    (define (split string char)
      (let ((index (index-of string char 0)))
        (if index
            (cons (substring string 0 index) (substring string (+ index 1) (string-length string)))
            (cons string #f))))

    (define (digit char)
      (and char (digit-value* char)))

    (define (digit-value* char)
      (let ((code (char->integer (char-downcase char))))
        (cond ((<= 48 code 57) (- code 48))
              ((<= 97 code 102) (- code 87))
              (else #f))))

    (define (decoded text)
      (if (not (index-of text #\% 0))
          text
          (let loop ((rest (string->list text)) (bytes '()))
            (cond ((null? rest) (utf8->string (list->bytevector (reverse bytes))))
                  ((char=? (car rest) #\%)
                   (let ((high (and (pair? (cdr rest)) (digit (cadr rest))))
                         (low (and (pair? (cdr rest)) (pair? (cddr rest)) (digit (caddr rest)))))
                     (if (not (and high low))
                         (refuse "a percent sign without two digits in a connection string" text))
                     (loop (cdddr rest) (cons (+ (* 16 high) low) bytes))))
                  (else
                   (loop (cdr rest)
                         (append (reverse (bytevector->list (string->utf8 (string (car rest)))))
                                 bytes)))))))

    (define (entry name value)
      (if (and value (not (string=? value "")))
          (list (cons name (decoded value)))
          '()))

    (define (uri-settings string)
      (let* ((behind (substring string (+ 3 (index-of string #\: 0)) (string-length string)))
             (question (split behind #\?))
             (slash (split (car question) #\/))
             (authority (car slash))
             (at (last-index-of authority #\@))
             (user (if at (split (substring authority 0 at) #\:) (cons "" #f)))
             (place (if at
                        (substring authority (+ at 1) (string-length authority))
                        authority))
             (host (host-and-port place)))
        (append (query-settings (cdr question))
                (entry 'user (car user))
                (entry 'password (cdr user))
                (entry 'host (car host))
                (entry 'port (cdr host))
                (entry 'dbname (cdr slash)))))

    (define (host-and-port place)
      (let ((bracket (and (string-prefix? "[" place) (index-of place #\] 0))))
        (if bracket
            (cons (substring place 1 bracket)
                  (and (< (+ bracket 1) (string-length place))
                       (substring place (+ bracket 2) (string-length place))))
            (split place #\:))))

    (define (query-settings query)
      (if (not query)
          '()
          (let* ((first (split query #\&))
                 (pair (split (car first) #\=)))
            (append (if (string=? (car pair) "")
                        '()
                        (list (checked (decoded (car pair)) (decoded (or (cdr pair) "")))))
                    (query-settings (cdr first))))))

    ;; Words: host=localhost password='it''s a secret'

    (define (keyword-settings string)
      (let ((length (string-length string)))
        (define (char-at index)
          (if (< index length) (string-ref string index) #f))
        (define (skip-blanks index)
          (if (and (char-at index) (char-whitespace? (char-at index)))
              (skip-blanks (+ index 1))
              index))
        (define (word-end index)
          (let ((char (char-at index)))
            (if (or (not char) (char=? char #\=) (char-whitespace? char))
                index
                (word-end (+ index 1)))))
        ;; The value, and where it ends.
        (define (value index quoted? chars)
          (let ((char (char-at index)))
            (cond ((and (not char) quoted?)
                   (refuse "a quote without an end in a connection string" string))
                  ((not char) (cons (list->string (reverse chars)) index))
                  ((char=? char #\\)
                   (if (not (char-at (+ index 1)))
                       (refuse "a backslash at the end of a connection string" string))
                   (value (+ index 2) quoted? (cons (char-at (+ index 1)) chars)))
                  ((if quoted? (char=? char #\') (char-whitespace? char))
                   (cons (list->string (reverse chars)) (+ index 1)))
                  (else (value (+ index 1) quoted? (cons char chars))))))
        (let loop ((index (skip-blanks 0)) (found '()))
          (if (>= index length)
              (reverse found)
              (let* ((end (word-end index))
                     (equals (skip-blanks end)))
                (if (not (eqv? (char-at equals) #\=))
                    (refuse "a word without = in a connection string" string))
                (let* ((start (skip-blanks (+ equals 1)))
                       (quoted? (eqv? (char-at start) #\'))
                       (read (value (if quoted? (+ start 1) start) quoted? '())))
                  (loop (skip-blanks (cdr read))
                        (cons (checked (substring string index end) (car read)) found))))))))))
