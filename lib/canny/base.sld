;;; (canny base): the interaction environment, for programs without an import and for the REPL.
;;;
;;; It has every name of the R7RS libraries and of the SRFIs that come with Canny, and below them
;;; what people expect at a prompt.

(define-library (canny base)
  (export
   ;; R7RS and SRFIs 0, 1, 2, 6, 8, 9, 11, 16, 23, 26, 34, 39, 69, 87 and 124
   (rename inexact exact->inexact)
   (rename exact inexact->exact)
   (rename flush-output-port flush-output)
   * + - ... / < <= = => > >= _ abs acos alist->hash-table alist-cons alist-copy alist-delete
   alist-delete! and and-let* angle any append append! append-map append-map! append-reverse
   append-reverse! apply asin assoc assq assv atan begin binary-port? boolean=? boolean?
   break break! bytevector bytevector-append bytevector-copy bytevector-copy!
   bytevector-length bytevector-u8-ref bytevector-u8-set! bytevector? caaaar caaadr caaar
   caadar caaddr caadr caar cadaar cadadr cadar caddar cadddr caddr cadr
   call-with-current-continuation call-with-input-file call-with-output-file call-with-port
   call-with-values call/cc car car+cdr case case-lambda cdaaar cdaadr cdaar cdadar cdaddr
   cdadr cdar cddaar cddadr cddar cdddar cddddr cdddr cddr cdr ceiling char->integer
   char-alphabetic? char-ci<=? char-ci<? char-ci=? char-ci>=? char-ci>? char-downcase
   char-foldcase char-lower-case? char-numeric? char-ready? char-upcase char-upper-case?
   char-whitespace? char<=? char<? char=? char>=? char>? char? circular-list circular-list?
   close-input-port close-output-port close-port command-line complex? concatenate
   concatenate! cond cond-expand cons cons* cos count current-error-port current-input-port
   current-jiffy current-output-port current-second cut cute define define-record-type
   define-syntax define-values delay delay-force delete delete! delete-duplicates
   delete-duplicates! delete-file denominator digit-value display do dotted-list? drop
   drop-right drop-right! drop-while dynamic-wind eighth else emergency-exit environment
   eof-object eof-object? ephemeron-broken? ephemeron-datum ephemeron-key ephemeron? eq?
   equal? eqv? error error-object-irritants error-object-message error-object? eval even?
   every exact exact-integer-sqrt exact-integer? exact? exit exp expt features fifth
   file-error? file-exists? filter filter! filter-map find find-tail finite? first floor
   floor-quotient floor-remainder floor/ flush-output-port fold fold-right for-each force
   fourth gcd get-environment-variable get-environment-variables get-output-bytevector
   get-output-string guard hash hash-by-identity hash-table->alist hash-table-copy
   hash-table-delete! hash-table-equivalence-function hash-table-exists? hash-table-fold
   hash-table-hash-function hash-table-keys hash-table-merge! hash-table-ref
   hash-table-ref/default hash-table-set! hash-table-size hash-table-update!
   hash-table-update!/default hash-table-values hash-table-walk hash-table? if imag-part
   include include-ci inexact inexact? infinite? input-port-open? input-port? integer->char
   integer? interaction-environment iota jiffies-per-second lambda last last-pair lcm length
   length+ let let* let*-values let-syntax let-values letrec letrec* letrec-syntax list
   list->string list->vector list-copy list-index list-ref list-set! list-tabulate list-tail
   list= list? load log lset-adjoin lset-diff+intersection lset-diff+intersection!
   lset-difference lset-difference! lset-intersection lset-intersection! lset-union
   lset-union! lset-xor lset-xor! lset<= lset= magnitude make-bytevector make-ephemeron
   make-hash-table make-list make-parameter make-polar make-promise make-rectangular
   make-string make-vector map map! map-in-order max member memq memv min modulo nan?
   negative? newline ninth not not-pair? null-environment null-list? null? number->string
   number? numerator odd? open-binary-input-file open-binary-output-file
   open-input-bytevector open-input-file open-input-string open-output-bytevector
   open-output-file open-output-string or output-port-open? output-port? pair-fold
   pair-fold-right pair-for-each pair? parameterize partition partition! peek-char peek-u8
   positive? procedure? promise? proper-list? quasiquote quote quotient raise
   raise-continuable rational? rationalize read read-bytevector read-bytevector! read-char
   read-error? read-line read-string read-u8 real-part real? reduce reduce-right
   reference-barrier remainder remove remove! reverse reverse! round
   scheme-report-environment second set! set-car! set-cdr! seventh sin sixth span span!
   split-at split-at! sqrt square string string->list string->number string->symbol
   string->utf8 string->vector string-append string-ci-hash string-ci<=? string-ci<?
   string-ci=? string-ci>=? string-ci>? string-copy string-copy! string-downcase string-fill!
   string-foldcase string-for-each string-hash string-length string-map string-ref
   string-set! string-upcase string<=? string<? string=? string>=? string>? string? substring
   symbol->string symbol=? symbol? syntax-error syntax-rules take take! take-right take-while
   take-while! tan tenth textual-port? third truncate truncate-quotient truncate-remainder
   truncate/ u8-ready? unfold unfold-right unless unquote unquote-splicing unzip1 unzip2
   unzip3 unzip4 unzip5 utf8->string values vector vector->list vector->string vector-append
   vector-copy vector-copy! vector-fill! vector-for-each vector-length vector-map vector-ref
   vector-set! vector? when with-exception-handler with-input-from-file with-output-to-file
   write write-bytevector write-char write-shared write-simple write-string write-u8 xcons
   zero? zip
   ;; Syntax
   define* define-library import lambda* named-lambda receive
   ;; Control
   call-with-escape-continuation call/ec let/cc let/ec make-guardian
   ;; Sequences
   string-any string-count string-every string-filter string-index string-rindex
   string-tabulate vector-binary-search vector-count vector-fold vector-index vector-map!
   vector-tabulate
   ;; Ports
   call-with-input-string call-with-output-string with-input-from-string
   with-output-to-string write-line
   ;; Sorting
   list-sort merge sort sort! sorted? vector-sort vector-sort!
   ;; Hash tables
   hash-table-clear! hash-table-contains? hash-table-empty? hash-table-intern!
   ;; Macros
   assert dotimes fluid-let until while
   ;; Numbers, symbols, strings, records, conditions, memory
   -1+ 1+ arithmetic-shift bit-count bit-field bit-set? bitwise-and bitwise-if bitwise-ior
   bitwise-not bitwise-xor bytevector->list bytevector-fill! char-general-category
   char-titlecase collect-garbage condition->string condition-kind condition-position
   condition-who copy-bit cpu-time cube delq environment? exact-ceiling exact-floor
   exact-nonnegative-integer? exact-rational? exact-round exact-truncate first-set-bit
   fixnum? flonum? fresh-line generate-symbol integer-length keyword->symbol keyword?
   list->bytevector open-append-file port-column port-line port-name port? procedure-arity
   procedure-name random-integer random-real random-seed! record-type-descriptor
   record-type-field-names record-type-name record? string->uninterned-symbol
   string-concatenate string-contains string-join string-null? string-pad-left
   string-pad-right string-prefix? string-repeat string-reverse string-search-all
   string-search-backward string-search-forward string-split string-suffix? string-trim
   string-trim-both string-trim-right subvector symbol->keyword symbol-append symbol<?
   vector-grow vector-reverse! vector-swap! void weak-car weak-cdr weak-cons
   weak-pair-broken? weak-pair? weak-set-car! weak-set-cdr!
   ;; macros that are procedures
   begin-for-syntax bound-identifier=? datum->syntax define-for-syntax define-macro
   er-macro-transformer free-identifier=? generate-temporaries identifier-syntax identifier?
   make-variable-transformer quasisyntax syntax syntax->datum syntax-case syntax-violation
   unsyntax unsyntax-splicing with-syntax)
  (import (canny primitives)
          (canny syntax)
          (canny machine control)
          (canny data lists)
          (canny data sequences)
          (canny machine ports)
          (canny machine evaluation)
          (canny data sorting)
          (canny data hash-tables)
          (canny machine syntax-extensions)
          (canny syntax-case)
          (except (srfi 1) map for-each member assoc)))
