;;; (canny html): templates of HTML that are compiled when a program is expanded.
;;;
;;; `html` takes quasi-quoted SXML: what is literal becomes constant strings, checked and escaped
;;; once; what is unquoted is escaped when the page is written. Its value is SXML that stands for
;;; the text, to be written by `sxml->html`.
;;;
;;;     (define (item name) (html (li (@ (class "x")) ,name)))
;;;     (sxml->html (html (ul ,@(map item '("a" "b<")))))
;;;     ; => "<ul><li class=\"x\">a</li><li class=\"x\">b&lt;</li></ul>"

(define-library (canny html)
  (export html json-script sxml->html sxml->html-bytes html->sxml)
  (import (canny primitives) (canny syntax) (canny syntax-case) (canny html templates)
          (canny sxml)
          (only (canny json) json->string))
  (begin

    ;; The value of a template: SXML in which literal parts are texts already.
    (define-syntax html
      (syntax-rules ()
        ((_ node ...)
         (let-syntax ((compile
                       (lambda (form)
                         (compile-template form (syntax list) (syntax quote)
                                           (syntax quasiquote)))))
           (compile node ...)))))

    ;; A value as JSON that can stand in a script: characters that mean something in HTML are
    ;; escapes of JSON.
    (define (json-script value)
      (let ((text (json->string value))
            (port (open-output-string)))
        (let ((length (string-length text)))
          (let loop ((index 0))
            (if (< index length)
                (let ((c (string-ref text index)))
                  (case c
                    ((#\<) (write-string "\\u003c" port))
                    ((#\>) (write-string "\\u003e" port))
                    ((#\&) (write-string "\\u0026" port))
                    ((#\x2028) (write-string "\\u2028" port))
                    ((#\x2029) (write-string "\\u2029" port))
                    (else (write-char c port)))
                  (loop (+ index 1))))))
        (list '*raw* (get-output-string port))))))
