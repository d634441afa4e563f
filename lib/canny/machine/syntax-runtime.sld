;;; (canny machine syntax-runtime): what transformer procedures need while they run.
;;;
;;; Syntax objects are pairs, vectors and data; identifiers are objects of their own. The first part
;;; drives transformers in the machine for macros, the second is what `syntax-case` and `syntax`
;;; expand to, the third is for programmers. Patterns are read by `match-syntax` as the expander
;;; wrote them: see the core form.

(define-library (canny machine syntax-runtime)
  (export
   ;; the driver
   %macro-register %macro-step
   ;; for the expander
   match-syntax no-matching-clause map-syntax append-map-syntax append-syntax
   ;; for programmers
   identifier? bound-identifier=? free-identifier=? syntax->datum datum->syntax generate-temporaries
   syntax-violation make-variable-transformer er-macro-transformer ir-macro-transformer
   sc-macro-transformer rsc-macro-transformer make-syntactic-closure close-syntax strip-syntax
   er-identifier? identifier=?)
  (import (canny primitives) (canny machine protocols) (scheme base))
  (begin

    ;; ------------------------------------------------------------------ the driver

    ;; The transformer that er-macro-transformer and its kin make: kind is a symbol.
    (define-record-type transformer
      (make-transformer kind procedure)
      transformer?
      (kind transformer-kind)
      (procedure transformer-procedure))

    (define (checked who procedure)
      (if (not (procedure? procedure))
          (error (string-append who ": not a procedure") procedure))
      procedure)

    (define (er-macro-transformer procedure)
      (make-transformer 'explicit (checked "er-macro-transformer" procedure)))
    (define (ir-macro-transformer procedure)
      (make-transformer 'implicit (checked "ir-macro-transformer" procedure)))
    (define (sc-macro-transformer procedure)
      (make-transformer 'closing (checked "sc-macro-transformer" procedure)))
    (define (rsc-macro-transformer procedure)
      (make-transformer 'reversed (checked "rsc-macro-transformer" procedure)))
    (define (make-variable-transformer procedure)
      (make-transformer 'variable (checked "make-variable-transformer" procedure)))

    (define transformers (make-vector 16 #f))
    (define transformer-count 0)

    ;; The kind as the machine knows it: how symbols are to be taken.
    (define (kind-number value)
      (if (procedure? value)
          transformer-kind/procedure
          (case (transformer-kind value)
            ((explicit reversed) transformer-kind/explicit)
            ((implicit) transformer-kind/implicit)
            ((closing) transformer-kind/closing)
            (else transformer-kind/variable))))

    ;; Gives the new transformer's number and its kind.
    (define (%macro-register)
      (let ((value (%macro-value)))
        (if (not (or (procedure? value) (transformer? value)))
            (error "this is neither a procedure nor a transformer" value))
        (if (= transformer-count (vector-length transformers))
            (let ((larger (make-vector (* 2 transformer-count) #f)))
              (vector-copy! larger 0 transformers)
              (set! transformers larger)))
        (vector-set! transformers transformer-count value)
        (set! transformer-count (+ transformer-count 1))
        (cons (- transformer-count 1) (kind-number value))))

    ;; The two environments of a step, for syntactic closures.
    (define usage-environment (list 'usage))
    (define definition-environment (list 'definition))

    (define (%macro-step)
      (let ((value (vector-ref transformers (%macro-transformer)))
            (form (%macro-value)))
        (if (procedure? value)
            (value form)
            (let ((procedure (transformer-procedure value)))
              (case (transformer-kind value)
                ((explicit) (procedure form (make-renamer %rename-identifier) identifier=?))
                ((implicit) (procedure form (make-renamer %plain-identifier) identifier=?))
                ((closing) (procedure form usage-environment))
                ((reversed) (procedure form definition-environment))
                (else (procedure form)))))))

    ;; Equal symbols give the same object throughout a step.
    (define (make-renamer make)
      (let ((known '()))
        (lambda (symbol)
          (cond
           ((%identifier? symbol) symbol)
           ((assq symbol known) => cdr)
           (else
            (let ((identifier (make symbol)))
              (set! known (cons (cons symbol identifier) known))
              identifier))))))

    (define (er-identifier? object)
      (or (symbol? object) (%identifier? object)))

    ;; The procedure that transformers with explicit renaming call `compare`.
    (define (identifier=? left right)
      (and (er-identifier? left) (er-identifier? right) (%free-identifier=? left right)))

    ;; (make-syntactic-closure environment free-names form)
    (define (make-syntactic-closure environment free form)
      (let* ((make (if (eq? environment definition-environment)
                       %rename-identifier
                       %plain-identifier))
             (rename (make-renamer make)))
        (let close ((form form))
          (cond
           ((symbol? form) (if (memq form free) form (rename form)))
           ((pair? form) (cons (close (car form)) (close (cdr form))))
           ((vector? form) (vector-map close form))
           (else form)))))

    (define (close-syntax form environment)
      (make-syntactic-closure environment '() form))

    ;; ------------------------------------------------------------------ patterns and templates

    ;; A vector with the values of the variables, or #f.
    (define (match-syntax pattern count literals form)
      (let ((values (make-vector count '())))
        (and (match pattern form values literals) values)))

    (define (match pattern form values literals)
      (cond
       ((not pattern) #t)
       ((integer? pattern) (vector-set! values pattern form) #t)
       (else
        (case (vector-ref pattern 0)
          ((list) (match-list pattern form values literals))
          ((literal)
           (and (%identifier? form)
                (%free-identifier=? form (vector-ref literals (vector-ref pattern 1)))))
          ((datum)
           (and (not (%identifier? form)) (equal? (syntax->datum form) (vector-ref pattern 1))))
          (else
           (and (vector? form)
                (match-list (vector-ref pattern 1) (vector->list form) values literals)))))))

    (define (match-list pattern form values literals)
      (let ((before (vector-ref pattern 1))
            (repeated (vector-ref pattern 2))
            (after (vector-ref pattern 3))
            (tail (vector-ref pattern 4)))
        (define (rest form)
          (if tail
              (match (car tail) form values literals)
              (null? form)))
        (define (each patterns form then)
          (if (null? patterns)
              (then form)
              (and (pair? form)
                   (match (car patterns) (car form) values literals)
                   (each (cdr patterns) (cdr form) then))))
        (each before form
              (lambda (form)
                (if repeated
                    (match-repeated repeated form (length after) values literals
                                    (lambda (form) (each after form rest)))
                    (rest form))))))

    (define (pairs-of form)
      (let count ((form form) (number 0))
        (if (pair? form)
            (count (cdr form) (+ number 1))
            number)))

    ;; Matches all elements but the last `reserved`.
    (define (match-repeated repeated form reserved values literals then)
      (let ((pattern (vector-ref repeated 0))
            (first (vector-ref repeated 1))
            (end (vector-ref repeated 2))
            (count (- (pairs-of form) reserved)))
        (define collected (make-vector (- end first) '()))
        (let next ((form form) (count count))
          (cond
           ((negative? count) #f)
           ((zero? count)
            (do ((index first (+ index 1)))
                ((= index end))
              (vector-set! values index (reverse (vector-ref collected (- index first)))))
            (then form))
           ((match pattern (car form) values literals)
            (do ((index first (+ index 1)))
                ((= index end))
              (vector-set! collected (- index first)
                           (cons (vector-ref values index)
                                 (vector-ref collected (- index first)))))
            (next (cdr form) (- count 1)))
           (else #f)))))

    (define (check-lengths lists)
      (let ((count (length (car lists))))
        (for-each
         (lambda (list)
           (if (not (= (length list) count))
               (error "syntax: variables under one ellipsis matched different numbers of forms"
                      count (length list))))
         (cdr lists))))

    (define (check-list list)
      (if (not (list? list))
          (error "syntax: an ellipsis follows something that is no list" list)))

    (define (map-syntax procedure . lists)
      (for-each check-list lists)
      (check-lengths lists)
      (apply map procedure lists))

    (define (append-map-syntax procedure . lists)
      (apply append (apply map-syntax procedure lists)))

    (define (append-syntax list tail)
      (check-list list)
      (append list tail))

    (define (no-matching-clause form)
      (violation "no clause matches" form form))

    ;; ------------------------------------------------------------------ for programmers

    (define (identifier? object)
      (%identifier? object))

    (define (bound-identifier=? left right)
      (%bound-identifier=? left right))

    (define (free-identifier=? left right)
      (%free-identifier=? left right))

    (define (syntax->datum form)
      (cond
       ((%identifier? form) (%identifier-name form))
       ((pair? form) (cons (syntax->datum (car form)) (syntax->datum (cdr form))))
       ((vector? form) (vector-map syntax->datum form))
       (else form)))

    (define (strip-syntax form)
      (syntax->datum form))

    (define (datum->syntax context datum)
      (if (not (%identifier? context))
          (error "datum->syntax: the first argument is not an identifier" context))
      (let convert ((datum datum))
        (cond
         ((symbol? datum) (%identifier-like context datum))
         ((pair? datum) (cons (convert (car datum)) (convert (cdr datum))))
         ((vector? datum) (vector-map convert datum))
         (else datum))))

    (define (generate-temporaries list)
      (if (not (list? list))
          (error "generate-temporaries: not a list" list))
      (map (lambda (element) (%fresh-identifier 'temp)) list))

    (define (violation message form part)
      (%note-violation message part)
      (error message (syntax->datum form)))

    ;; (syntax-violation who message form) or (syntax-violation who message form subform)
    (define (syntax-violation who message form . part)
      (let ((message (if who
                         (string-append (name-of who) ": " message)
                         message)))
        (violation message form (if (null? part) form (car part)))))

    (define (name-of who)
      (cond
       ((symbol? who) (symbol->string who))
       ((string? who) who)
       (else (symbol->string (syntax->datum who)))))))
