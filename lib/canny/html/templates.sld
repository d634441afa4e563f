;;; (canny html templates): what the macro `html` does when a program is expanded.
;;;
;;; A template becomes `(*template* "text" node "text" ...)`: literal text and what is unquoted in
;;; turn. Elements whose content is read in ways of its own are left to be checked when they are
;;; written, if something in them is unquoted.

(define-library (canny html templates)
  (export compile-template)
  (import (scheme base) (scheme char) (canny syntax-case) (canny sxml))
  (begin

    (define void-elements
      '(area base basefont bgsound br col embed frame hr img input keygen link meta param source
        track wbr))

    ;; Raw content, text only, other grammars, what drops a line feed at its beginning, and whose
    ;; attributes mean something together.
    (define special-elements
      '(script style xmp iframe noembed noframes textarea title svg math noscript select plaintext
        pre listing meta))

    ;; Whether an element is one of some, in any case.
    (define (one-of? tag elements)
      (memq (string->symbol (string-downcase (symbol->string tag))) elements))

    (define (tagged? stx name)
      (syntax-case stx ()
        ((head . rest)
         (and (identifier? (syntax head))
              (eq? (syntax->datum (syntax head)) name)))
        (_ #f)))

    (define (hole? stx)
      (or (tagged? stx 'unquote) (tagged? stx 'unquote-splicing)))

    (define (holes? stx)
      (or (hole? stx)
          (syntax-case stx ()
            ((first . rest) (or (holes? (syntax first)) (holes? (syntax rest))))
            (_ #f))))

    (define (elements stx)
      (syntax-case stx ()
        (() '())
        ((first . rest) (cons (syntax first) (elements (syntax rest))))
        (_ (syntax-violation 'html "a node is a proper list" stx))))

    (define (hole-expression stx)
      (syntax-case stx ()
        ((_ expression) (syntax expression))
        (_ (syntax-violation 'html "one expression is unquoted" stx))))

    ;; The text of literal SXML; what cannot be written is an error where it stands.
    (define (literal-text datum stx)
      (guard (condition ((markup-error? condition)
                         (syntax-violation 'html (error-object-message condition) stx)))
        (sxml->html datum)))

    (define (compile-template form list-id quote-id quasiquote-id)
      ;; Pieces in reverse order, text and expressions in turn; the first one is text.
      (let ((text (open-output-string))
            (pieces '()))

        (define (add-text! string) (write-string string text))

        (define (add! expression)
          (set! pieces (cons* expression (get-output-string text) pieces))
          (set! text (open-output-string)))

        (define (cons* first second rest) (cons first (cons second rest)))

        (define (add-quasi! stx) (add! (list quasiquote-id stx)))

        (define (node! stx)
          (cond ((hole? stx) (add! (hole-expression stx)))
                ((not (holes? stx)) (add-text! (literal-text (syntax->datum stx) stx)))
                (else
                 (let* ((parts (elements stx))
                        (head (car parts))
                        (tag (and (identifier? head) (syntax->datum head))))
                   (cond ((and (not tag) (not (hole? head))) (for-each node! parts))
                         ((or (not tag)
                              (one-of? tag special-elements)
                              (special? tag)
                              (and (pair? (cdr parts)) (open-attributes? (cadr parts))))
                          (add-quasi! stx))
                         (else (element! stx tag (cdr parts))))))))

        ;; Tags that are none.
        (define (special? tag)
          (let ((text (symbol->string tag)))
            (or (string=? text "@")
                (char=? (string-ref text 0) #\*))))

        ;; Whether attributes as such are unquoted.
        (define (open-attributes? stx)
          (and (tagged? stx '@)
               (let loop ((entries (cdr (elements stx))))
                 (and (pair? entries)
                      (or (hole? (car entries))
                          (not (list? (syntax->datum (car entries))))
                          (loop (cdr entries)))))))

        (define (element! stx tag rest)
          (literal-text (list tag) stx)
          (let ((has-attributes? (and (pair? rest) (tagged? (car rest) '@))))
            (add-text! "<")
            (add-text! (symbol->string tag))
            (if has-attributes?
                (attributes! (cdr (elements (car rest))) '()))
            (add-text! ">")
            (let ((content (if has-attributes? (cdr rest) rest)))
              (if (one-of? tag void-elements)
                  (if (pair? content)
                      (syntax-violation 'html "an element without content has some" stx))
                  (begin
                    (for-each node! content)
                    (add-text! "</")
                    (add-text! (symbol->string tag))
                    (add-text! ">"))))))

        (define (attributes! entries seen)
          (if (pair? entries)
              (let* ((entry (car entries))
                     (parts (elements entry))
                     (name (and (pair? parts) (identifier? (car parts))
                                (syntax->datum (car parts)))))
                (if (not name)
                    (syntax-violation 'html "an attribute is (name value)" entry))
                (if (memq name seen)
                    (syntax-violation 'html "an attribute is given twice" entry))
                (if (holes? entry)
                    (begin
                      (literal-text (list 'p (list '@ (list name (list '*trusted* "x")))) entry)
                      (add-quasi! (cons (datum->syntax quasiquote-id '*attribute*) entry)))
                    (add-text!
                     (literal-text `(*template* "" (*attribute* ,@(syntax->datum entry)))
                                   entry)))
                (attributes! (cdr entries) (cons name seen)))))

        (for-each node! (cdr (elements form)))
        (let ((rest (get-output-string text)))
          (if (null? pieces)
              (list quote-id (list (datum->syntax quote-id '*template*) rest))
              (cons* list-id
                     (list quote-id (datum->syntax quote-id '*template*))
                     (reverse (if (string=? rest "") pieces (cons rest pieces))))))))))
