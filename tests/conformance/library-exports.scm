;;; R7RS appendix A and the SRFIs: every identifier of every library, by the list of the standard.

(import (scheme base) (scheme eval) (canny test))

(define libraries
  '(((scheme base)
     _ ... => else and begin case cond cond-expand define define-record-type define-syntax
     define-values do if include include-ci lambda let let* let*-values let-syntax let-values
     letrec letrec* letrec-syntax or quasiquote quote set! syntax-error syntax-rules unless
     unquote unquote-splicing when * + - / < <= = > >= abs append apply assoc assq assv
     binary-port? boolean=? boolean? bytevector bytevector-append bytevector-copy
     bytevector-copy! bytevector-length bytevector-u8-ref bytevector-u8-set! bytevector? caar
     cadr call-with-current-continuation call-with-port call-with-values call/cc car cdar cddr
     cdr ceiling char->integer char-ready? char<=? char<? char=? char>=? char>? char?
     close-input-port close-output-port close-port complex? cons current-error-port
     current-input-port current-output-port denominator dynamic-wind eof-object eof-object? eq?
     equal? eqv? error error-object-irritants error-object-message error-object? even? exact
     exact-integer-sqrt exact-integer? exact? expt features file-error? floor floor-quotient
     floor-remainder floor/ flush-output-port for-each gcd get-output-bytevector
     get-output-string guard inexact inexact? input-port-open? input-port? integer->char integer?
     lcm length list list->string list->vector list-copy list-ref list-set! list-tail list?
     make-bytevector make-list make-parameter make-string make-vector map max member memq memv
     min modulo negative? newline not null? number->string number? numerator odd?
     open-input-bytevector open-input-string open-output-bytevector open-output-string
     output-port-open? output-port? pair? parameterize peek-char peek-u8 port? positive?
     procedure? quotient raise raise-continuable rational? rationalize read-bytevector
     read-bytevector! read-char read-error? read-line read-string read-u8 real? remainder reverse
     round set-car! set-cdr! square string string->list string->number string->symbol
     string->utf8 string->vector string-append string-copy string-copy! string-fill!
     string-for-each string-length string-map string-ref string-set! string<=? string<? string=?
     string>=? string>? string? substring symbol->string symbol=? symbol? textual-port? truncate
     truncate-quotient truncate-remainder truncate/ u8-ready? utf8->string values vector
     vector->list vector->string vector-append vector-copy vector-copy! vector-fill!
     vector-for-each vector-length vector-map vector-ref vector-set! vector?
     with-exception-handler write-bytevector write-char write-string write-u8 zero?)
    ((scheme case-lambda)
     case-lambda)
    ((scheme char)
     char-alphabetic? char-ci<=? char-ci<? char-ci=? char-ci>=? char-ci>? char-downcase
     char-foldcase char-lower-case? char-numeric? char-upcase char-upper-case? char-whitespace?
     digit-value string-ci<=? string-ci<? string-ci=? string-ci>=? string-ci>? string-downcase
     string-foldcase string-upcase)
    ((scheme complex)
     angle imag-part magnitude make-polar make-rectangular real-part)
    ((scheme cxr)
     caaar caadr cadar caddr cdaar cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar cadadr
     caddar cadddr cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr)
    ((scheme eval)
     environment eval)
    ((scheme file)
     call-with-input-file call-with-output-file delete-file file-exists? open-binary-input-file
     open-binary-output-file open-input-file open-output-file with-input-from-file
     with-output-to-file)
    ((scheme inexact)
     acos asin atan cos exp finite? infinite? log nan? sin sqrt tan)
    ((scheme lazy)
     delay delay-force force make-promise promise?)
    ((scheme load)
     load)
    ((scheme process-context)
     command-line emergency-exit exit get-environment-variable get-environment-variables)
    ((scheme r5rs)
     inexact->exact exact->inexact ... => _ else and begin case cond define define-syntax delay
     do if lambda let let* let-syntax letrec letrec-syntax or quasiquote quote set! syntax-rules
     unquote unquote-splicing * + - / < <= = > >= abs acos angle append apply asin assoc assq
     assv atan boolean? call-with-current-continuation call-with-input-file call-with-output-file
     call-with-values car cdr ceiling char->integer char-alphabetic? char-ci<=? char-ci<?
     char-ci=? char-ci>=? char-ci>? char-downcase char-lower-case? char-numeric? char-ready?
     char-upcase char-upper-case? char-whitespace? char<=? char<? char=? char>=? char>? char?
     close-input-port close-output-port complex? cons cos current-input-port current-output-port
     denominator display dynamic-wind eof-object? eq? equal? eqv? eval even? exact? exp expt
     floor for-each force gcd imag-part inexact? input-port? integer->char integer?
     interaction-environment lcm length list list->string list->vector list-ref list-tail list?
     load log magnitude make-polar make-rectangular make-string make-vector map max member memq
     memv min modulo negative? newline not null-environment null? number->string number?
     numerator odd? open-input-file open-output-file output-port? pair? peek-char positive?
     procedure? quotient rational? rationalize read read-char real-part real? remainder reverse
     round scheme-report-environment set-car! set-cdr! sin sqrt string string->list
     string->number string->symbol string-append string-ci<=? string-ci<? string-ci=?
     string-ci>=? string-ci>? string-copy string-fill! string-length string-ref string-set!
     string<=? string<? string=? string>=? string>? string? substring symbol->string symbol? tan
     truncate values vector vector->list vector-fill! vector-length vector-ref vector-set!
     vector? with-input-from-file with-output-to-file write write-char zero? caar cadr cdar cddr
     caaar caadr cadar caddr cdaar cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar cadadr
     caddar cadddr cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr)
    ((scheme read)
     read)
    ((scheme repl)
     interaction-environment)
    ((scheme time)
     current-jiffy current-second jiffies-per-second)
    ((scheme write)
     display write write-shared write-simple)
    ((srfi 0)
     cond-expand)
    ((srfi 1)
     cons list xcons cons* make-list list-tabulate list-copy circular-list iota pair? null?
     proper-list? circular-list? dotted-list? not-pair? null-list? list= car cdr caar cadr cdar
     cddr caaar caadr cadar caddr cdaar cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar
     cadadr caddar cadddr cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr list-ref first
     second third fourth fifth sixth seventh eighth ninth tenth car+cdr take drop take-right
     drop-right take! drop-right! split-at split-at! last last-pair length length+ append
     concatenate reverse append! concatenate! reverse! append-reverse append-reverse! zip unzip1
     unzip2 unzip3 unzip4 unzip5 count map for-each fold unfold pair-fold reduce fold-right
     unfold-right pair-fold-right reduce-right append-map append-map! map! map-in-order
     pair-for-each filter-map filter partition remove filter! partition! remove! member memq memv
     find find-tail any every list-index take-while drop-while take-while! span break span!
     break! delete delete-duplicates delete! delete-duplicates! assoc assq assv alist-cons
     alist-copy alist-delete alist-delete! lset<= lset= lset-adjoin lset-union lset-union!
     lset-intersection lset-intersection! lset-difference lset-difference! lset-xor lset-xor!
     lset-diff+intersection lset-diff+intersection! set-car! set-cdr!)
    ((srfi 2)
     and-let*)
    ((srfi 6)
     open-input-string open-output-string get-output-string)
    ((srfi 8)
     receive)
    ((srfi 9)
     define-record-type)
    ((srfi 11)
     let-values let*-values)
    ((srfi 16)
     case-lambda)
    ((srfi 23)
     error)
    ((srfi 26)
     cut cute)
    ((srfi 30))
    ((srfi 34)
     with-exception-handler raise guard)
    ((srfi 39)
     make-parameter parameterize)
    ((srfi 62))
    ((srfi 69)
     make-hash-table hash-table? alist->hash-table hash-table-equivalence-function
     hash-table-hash-function hash-table-ref hash-table-ref/default hash-table-set!
     hash-table-delete! hash-table-exists? hash-table-update! hash-table-update!/default
     hash-table-size hash-table-keys hash-table-values hash-table-walk hash-table-fold
     hash-table->alist hash-table-copy hash-table-merge! hash string-hash string-ci-hash
     hash-by-identity)
    ((srfi 87)
     case => else)
    ((srfi 124)
     make-ephemeron ephemeron? ephemeron-broken? ephemeron-key ephemeron-datum reference-barrier)
    ((srfi 139)
     syntax-parameterize define-syntax-parameter)))

(define (importable? set)
  (guard (e (#t (if (error-object? e) (error-object-message e) e)))
    (environment set)
    #t))

(test-group "every identifier can be imported"
  (for-each
   (lambda (entry)
     (let ((library (car entry)) (identifiers (cdr entry)))
       (test (list library #t) (list library (importable? `(only ,library ,@identifiers))))
       ;; Each name is there once: it can be taken away again.
       (test (list library #t) (list library (importable? `(except ,library ,@identifiers))))))
   libraries)
  (test #f (eq? #t (importable? '(only (scheme base) no-such-identifier))))
  (test #f (eq? #t (importable? '(only (scheme cxr) car)))))

;; An identifier with a value is a variable, and its value is a procedure.
(define syntax
  '(_ ... => else and begin case case-lambda cond cond-expand cut cute define define-record-type
    define-syntax define-values delay delay-force do guard if include include-ci lambda let let*
    let*-values let-syntax let-values letrec letrec* letrec-syntax or parameterize quasiquote quote
    receive set! syntax-error syntax-rules syntax-parameterize define-syntax-parameter unless
    unquote
    unquote-splicing when and-let*))

(test-group "variables are procedures"
  (for-each
   (lambda (entry)
     (let* ((library (car entry))
            (variables (let loop ((rest (cdr entry)))
                         (cond ((null? rest) '())
                               ((memq (car rest) syntax) (loop (cdr rest)))
                               (else (cons (car rest) (loop (cdr rest))))))))
       (if (pair? variables)
           (test (list library '())
                 (list library
                       (eval `(let loop ((names ',variables) (values (list ,@variables)))
                                (cond ((null? names) '())
                                      ((procedure? (car values)) (loop (cdr names) (cdr values)))
                                      (else (cons (car names) (loop (cdr names) (cdr values))))))
                             (environment library
                                          '(only (scheme base) let list quote cond null? procedure?
                                            car cdr cons else))))))))
   libraries))

;; The features tell the truth: each SRFI that is named can be imported, and each that can be
;; imported is named.
(test-group "features"
  (test-true (memq 'r7rs (features)))
  (for-each
   (lambda (number)
     (let ((feature (string->symbol (string-append "srfi-" (number->string number)))))
       (test (list number (eq? #t (importable? `(srfi ,number))))
             (list number (and (memq feature (features)) #t)))
       (test (list number (and (memq feature (features)) #t))
             (list number
                   (eval `(cond-expand (,feature #t) (else #f)) (environment '(scheme base)))))
       (test (list number (and (memq feature (features)) #t))
             (list number (eval `(cond-expand ((library (srfi ,number)) #t) (else #f))
                                (environment '(scheme base)))))))
   (let loop ((number 0)) (if (= number 260) '() (cons number (loop (+ number 1))))))
  (test #t (exact? (/ 1 3)))
  (test #t (eval '(cond-expand ((and ratios exact-closed) #t) (else #f))
                 (environment '(scheme base)))))

(test-finish)
