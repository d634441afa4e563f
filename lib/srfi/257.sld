;;; (srfi 257): extensible pattern matching with backtracking.
;;;
;;; A pattern other than a variable, _, a datum, a quotation is a use of a macro. That is given a
;;; continuation before the arguments. So (~name (k operand ...) argument ...) expands to (k
;;; pattern operand ...), where `pattern` is what it stands for. `define-match-pattern` makes such
;;; macros; those of the core give forms whose heads, %and and so on, only `walk` knows.
;;;
;;; `walk` turns a pattern into a tree without uses of such macros, and the list of its variables,
;;; one for each occurrence. `matcher` turns a tree into a procedure of an object, a success
;;; continuation, which takes a failure continuation, and a failure continuation. A pattern variable
;;; is a variable that holds `unbound` until it is matched, and again when the matcher goes back. As
;;; a variable may occur more than once in a list, variables are bound by let*.

(define-library (srfi 257)
  (export match define-match-pattern define-record-match-pattern
          ~value ~cons ~list ~append ~append/ng ~append/t ~etc ~etcse
          ~vector ~vector-append ~vector-append/ng
          ~string ~string-append ~string-append/ng
          ~vector->list ~string->list ~list->vector ~list->string ~string->symbol
          ~symbol->string ~string->number ~number->string
          ~null? ~pair? ~list? ~boolean? ~number? ~integer? ~vector? ~string? ~symbol? ~char?
          ~and ~or ~not ~cut! ~list* ~list-no-order ~list-no-order* ~= ~?
          ~prop ~test ~iterate ~if-id-member ~replace-specials
          value etc
          => _ ... quote quasiquote unquote unquote-splicing)
  (import (canny primitives) (except (canny syntax) match) (canny machine control)
          (canny data lists))
  (begin

    ;; Expansion of patterns.

    (define-syntax define-heads
      (syntax-rules ()
        ((_ name ...) (begin (define-syntax name (syntax-rules ())) ...))))

    (define-heads %any %variable %literal %and %or %not %cut %etc %etcse %prop %test %iterate)

    (define-syntax walk
      (syntax-rules (_ quote quasiquote %and %or %not %cut %etc %etcse %prop %test %iterate)
        ((_1 _ (k . operands)) (k (%any) () . operands))
        ((_1 (quote datum) (k . operands)) (k (%literal datum) () . operands))
        ((_1 (quasiquote pattern) continuation) (walk-quasi pattern continuation))
        ((_1 (%and pattern ...) continuation)
         (walk-all (pattern ...) () () (give-node %and continuation)))
        ((_1 (%or pattern ...) continuation)
         (walk-all (pattern ...) () () (give-node %or continuation)))
        ((_1 (%not pattern) continuation) (walk pattern (give-not continuation)))
        ((_1 (%cut pattern) continuation) (walk pattern (give-with-variables %cut continuation)))
        ((_1 (%etc pattern) continuation) (walk pattern (give-with-variables %etc continuation)))
        ((_1 (%etcse pattern) continuation)
         (walk pattern (give-with-variables %etcse continuation)))
        ((_1 (%prop call pattern ...) continuation)
         (walk-all (pattern ...) () () (give-node (%prop call) continuation)))
        ((_1 (%test call pattern) continuation)
         (walk-all (pattern) () () (give-node (%test call) continuation)))
        ((_1 (%iterate start head tail state pattern) continuation)
         (walk-all (pattern) () () (give-node (%iterate start head tail state) continuation)))
        ((_1 (name . arguments) continuation)
         (name (walk continuation) . arguments))
        ((_1 atom continuation)
         (if-identifier atom
                        (give (%variable atom) (atom) continuation)
                        (give (%literal atom) () continuation)))))

    (define-syntax give
      (syntax-rules ()
        ((_ tree variables (k . operands)) (k tree variables . operands))))

    (define-syntax give-node
      (syntax-rules ()
        ((_ trees variables (head operand ...) continuation)
         (give (head operand ... . trees) variables continuation))
        ((_ trees variables head continuation)
         (give (head . trees) variables continuation))))

    (define-syntax give-not
      (syntax-rules ()
        ((_ tree variables continuation) (give (%not variables tree) () continuation))))

    (define-syntax give-with-variables
      (syntax-rules ()
        ((_ tree variables head continuation)
         (give (head variables tree) variables continuation))))

    ;; Walks patterns in order; the trees and variables of those done are collected.
    (define-syntax walk-all
      (syntax-rules ()
        ((_ () (tree ...) variables continuation)
         (give (tree ...) variables continuation))
        ((_ (pattern . patterns) trees variables continuation)
         (walk pattern (walk-rest patterns trees variables continuation)))))

    (define-syntax walk-rest
      (syntax-rules ()
        ((_ tree (new ...) patterns (old-tree ...) (old ...) continuation)
         (walk-all patterns (old-tree ... tree) (old ... new ...) continuation))))

    (define-syntax walk-quasi
      (syntax-rules (unquote unquote-splicing)
        ((_ (unquote pattern) continuation) (walk pattern continuation))
        ((_ ((unquote-splicing pattern)) continuation) (walk pattern continuation))
        ((_ ((unquote-splicing pattern) . rest) continuation)
         (walk (~append pattern (quasiquote rest)) continuation))
        ((_ (first . rest) continuation)
         (walk (~cons (quasiquote first) (quasiquote rest)) continuation))
        ((_ #(pattern ...) continuation)
         (walk (~vector (quasiquote pattern) ...) continuation))
        ((_ datum continuation) (walk (quote datum) continuation))))

    ;; In the inner macro an identifier matches anything, a datum only itself.
    (define-syntax if-identifier
      (syntax-rules ()
        ((_ (first . rest) consequent alternate) alternate)
        ((_ #(element ...) consequent alternate) alternate)
        ((_ atom consequent alternate)
         (let-syntax ((test (syntax-rules ()
                              ((_1 atom yes no) yes)
                              ((_1 other yes no) no))))
           (test (probe) consequent alternate)))))

    ;; Matchers.

    (define unbound (list 'unbound))

    (define (value-of object)
      (if (eq? object unbound) #f object))

    (define-syntax matcher
      (syntax-rules (%any %variable %literal %and %or %not %cut %etc %etcse %prop %test %iterate)
        ((_ (%any)) (lambda (object succeed fail) (succeed fail)))
        ((_ (%literal datum))
         (lambda (object succeed fail)
           (if (equal? object 'datum) (succeed fail) (fail))))
        ((_ (%variable name))
         (lambda (object succeed fail) (unify name object succeed fail)))
        ((_ (%and)) (matcher (%any)))
        ((_ (%and tree)) (matcher tree))
        ((_ (%and tree rest ...))
         (let ((first (matcher tree)) (second (matcher (%and rest ...))))
           (lambda (object succeed fail)
             (first object (lambda (fail) (second object succeed fail)) fail))))
        ((_ (%or)) (lambda (object succeed fail) (fail)))
        ((_ (%or tree)) (matcher tree))
        ((_ (%or tree rest ...))
         (let ((first (matcher tree)) (second (matcher (%or rest ...))))
           (lambda (object succeed fail)
             (first object succeed (lambda () (second object succeed fail))))))
        ((_ (%not (name ...) tree))
         (lambda (object succeed fail)
           (let* ((name unbound) ...)
             ((matcher tree) object (lambda (ignored) (fail)) (lambda () (succeed fail))))))
        ((_ (%cut (name ...) tree))
         (let ((inner (matcher tree)))
           (lambda (object succeed fail)
             (let ((restore (restorer name ...)))
               (inner object
                      (lambda (ignored)
                        (succeed (lambda ()
                                   (restore)
                                   (fail))))
                      fail)))))
        ((_ (%etc (name ...) tree))
         (let ((element (element-matcher (name ...) tree)))
           (lambda (object succeed fail)
             (if (list? object)
                 (let loop ((rest object) (rows '()) (fail fail))
                   (if (null? rest)
                       (unify-columns (name ...) rows 0 succeed fail)
                       (element (car rest)
                                (lambda (row fail) (loop (cdr rest) (cons row rows) fail))
                                fail)))
                 (fail)))))
        ((_ (%etcse (name ...) tree))
         (let ((element (element-matcher (name ...) tree)))
           (lambda (object succeed fail)
             (if (list? object)
                 (let loop ((rest object) (rows '()))
                   (if (null? rest)
                       (unify-columns (name ...) rows 0 succeed fail)
                       (element (car rest)
                                (lambda (row ignored) (loop (cdr rest) (cons row rows)))
                                (lambda () (loop (cdr rest) rows)))))
                 (fail)))))
        ((_ (%prop (procedure argument ...) tree ...))
         (let ((matchers (list (matcher tree) ...)))
           (lambda (object succeed fail)
             (match-all matchers
                        (call-with-values (lambda () (procedure object argument ...)) list)
                        succeed
                        fail))))
        ((_ (%test (procedure argument ...) tree))
         (let ((inner (matcher tree)))
           (lambda (object succeed fail)
             (let ((result (procedure object argument ...)))
               (if result (inner result succeed fail) (fail))))))
        ((_ (%iterate start head tail (state ...) tree))
         (let ((inner (matcher tree)))
           (lambda (object succeed fail)
             (define (try state ...)
               (inner (head state ...)
                      succeed
                      (lambda () (tail try fail state ...))))
             (start object try fail))))))

    ;; A variable takes the object, or has one that is equal to it.
    (define-syntax unify
      (syntax-rules ()
        ((_ name object succeed fail)
         (cond ((eq? name unbound)
                (set! name object)
                (succeed (lambda ()
                           (set! name unbound)
                           (fail))))
               ((equal? name object) (succeed fail))
               (else (fail))))))

    ;; A procedure that gives the variables the values that they have now.
    (define-syntax restorer
      (syntax-rules ()
        ((_) (lambda () #t))
        ((_ name rest ...)
         (let ((old name) (others (restorer rest ...)))
           (lambda ()
             (set! name old)
             (others))))))

    ;; Matches an element with variables of its own, whose values the success continuation is given.
    (define-syntax element-matcher
      (syntax-rules ()
        ((_ (name ...) tree)
         (lambda (object succeed fail)
           (let* ((name unbound) ...)
             ((matcher tree)
              object
              (lambda (fail) (succeed (list (value-of name) ...) fail))
              fail))))))

    ;; Each variable takes the list of its values in the rows, which are in reverse.
    (define-syntax unify-columns
      (syntax-rules ()
        ((_ () rows index succeed fail) (succeed fail))
        ((_ (name . names) rows index succeed fail)
         (let ((column (column-of rows index)))
           (unify name
                  column
                  (lambda (fail) (unify-columns names rows (+ index 1) succeed fail))
                  fail)))))

    (define (column-of rows index)
      (let loop ((rest rows) (column '()))
        (if (null? rest)
            column
            (loop (cdr rest) (cons (list-ref (car rest) index) column)))))

    (define (match-all matchers objects succeed fail)
      (cond ((null? matchers) (succeed fail))
            ((null? objects) (fail))
            (else
             ((car matchers) (car objects)
              (lambda (fail)
                (match-all (cdr matchers) (cdr objects) succeed fail))
              fail))))

    ;; match.

    (define-syntax match
      (syntax-rules ()
        ((_ expression rule ...)
         (let ((object expression))
           (match-rules object rule ...)))))

    (define-syntax match-rules
      (syntax-rules (=>)
        ((_ object) (void))
        ((_ object (pattern (=> next) body0 body ...) rule ...)
         (match-rule object pattern next back (body0 body ...) rule ...))
        ((_ object (pattern (=> next back) body0 body ...) rule ...)
         (match-rule object pattern next back (body0 body ...) rule ...))
        ((_ object (pattern body0 body ...) rule ...)
         (match-rule object pattern next back (body0 body ...) rule ...))))

    (define-syntax match-rule
      (syntax-rules ()
        ((_ object pattern next back body rule ...)
         (let ((others (lambda () (match-rules object rule ...))))
           (walk pattern (run-rule object others next back body))))))

    (define-syntax run-rule
      (syntax-rules ()
        ((_ tree (name ...) object others next back (body ...))
         (let* ((name unbound) ...)
           ((matcher tree)
            object
            (lambda (fail)
              (let ((next others) (back fail))
                (let* ((name (value-of name)) ...)
                  (let () body ...))))
            others)))))

    ;; Definitions of patterns.

    (define-syntax define-match-pattern
      (syntax-rules ()
        ((_ name (literal ...) ((ignored . arguments) pattern) ...)
         (define-syntax name
           (syntax-rules (literal ...)
             ((_1 (k . operands) . arguments) (k pattern . operands)) ...)))))

    ;; `test` chooses by whether an identifier is among the fields of the pattern.
    (define-syntax define-record-match-pattern
      (syntax-rules ()
        ((_ (name field ...) predicate (known accessor) ...)
         (begin
           (define-syntax test
             (syntax-rules (field ...)
               ((_1 field yes no) yes) ...
               ((_1 other yes no) no)))
           (define-record-pattern test ((known accessor) ...) () name (field ...) predicate)))))

    (define-syntax define-record-pattern
      (syntax-rules ()
        ((_ test () (property ...) name (field ...) predicate)
         (define-match-pattern name ()
           ((_1 field ...) (~and (~test predicate) property ...))))
        ((_ test ((known accessor) . others) (property ...) . operands)
         (test known
               (define-record-pattern test others (property ... (~prop accessor => known))
                 . operands)
               (define-record-pattern test others (property ...) . operands)))))

    ;; Core.

    (define-match-pattern ~and () ((_ pattern ...) (%and pattern ...)))
    (define-match-pattern ~or () ((_ pattern ...) (%or pattern ...)))
    (define-match-pattern ~not () ((_ pattern) (%not pattern)))
    (define-match-pattern ~cut! () ((_ pattern) (%cut pattern)))
    (define-match-pattern ~etc () ((_ pattern) (%etc pattern)))
    (define-match-pattern ~etcse () ((_ pattern) (%etcse pattern)))

    (define-match-pattern ~prop (=>)
      ((_ procedure => pattern ...) (%prop (procedure) pattern ...))
      ((_ procedure (argument ...) => pattern ...) (%prop (procedure argument ...) pattern ...)))

    (define-match-pattern ~test (=>)
      ((_ procedure) (%test (procedure) _))
      ((_ procedure => pattern) (%test (procedure) pattern))
      ((_ procedure (argument ...)) (%test (procedure argument ...) _))
      ((_ procedure (argument ...) => pattern) (%test (procedure argument ...) pattern)))

    (define-match-pattern ~iterate ()
      ((_ start head tail (state ...) pattern) (%iterate start head tail (state ...) pattern)))

    (define-syntax ~if-id-member
      (syntax-rules ()
        ((_ (k . operands) name (literal ...) member-pattern other-pattern)
         (let-syntax ((test (syntax-rules (literal ...)
                              ((_1 literal yes no) yes) ...
                              ((_1 other yes no) no))))
           (test name (k member-pattern . operands) (k other-pattern . operands))))))

    (define-syntax ~replace-specials
      (syntax-rules ()
        ((_ continuation ellipsis underscore pattern)
         (replace-in pattern ellipsis underscore (replaced continuation)))))

    (define-syntax replaced
      (syntax-rules ()
        ((_ pattern (k . operands)) (k pattern . operands))))

    (define-syntax replace-in
      (syntax-rules ::: (... _)
        ((_1 ... ellipsis underscore (k . operands)) (k ellipsis . operands))
        ((_1 _ ellipsis underscore (k . operands)) (k underscore . operands))
        ((_1 (first . rest) ellipsis underscore continuation)
         (replace-in first ellipsis underscore
                     (replace-rest rest ellipsis underscore continuation)))
        ((_1 #(element :::) ellipsis underscore continuation)
         (replace-in (element :::) ellipsis underscore (replace-vector continuation)))
        ((_1 atom ellipsis underscore (k . operands)) (k atom . operands))))

    (define-syntax replace-rest
      (syntax-rules ()
        ((_ first rest ellipsis underscore continuation)
         (replace-in rest ellipsis underscore (replace-pair first continuation)))))

    (define-syntax replace-pair
      (syntax-rules ()
        ((_ rest first (k . operands)) (k (first . rest) . operands))))

    (define-syntax replace-vector
      (syntax-rules ()
        ((_ (element ...) (k . operands)) (k #(element ...) . operands))))

    ;; Values, lists.

    (define-match-pattern ~value () ((_ expression) (~test equal? (expression))))

    (define-match-pattern ~= () ((_ procedure pattern) (~prop procedure => pattern)))
    (define-match-pattern ~? () ((_ procedure pattern ...) (~and (~test procedure) pattern ...)))

    (define-syntax define-predicate-patterns
      (syntax-rules ()
        ((_ (name predicate) ...)
         (begin
           (define-match-pattern name ()
             ((_1 . patterns) (~and (~test predicate) . patterns)))
           ...))))

    (define-predicate-patterns
      (~null? null?) (~pair? pair?) (~list? list?) (~boolean? boolean?) (~number? number?)
      (~integer? integer?) (~vector? vector?) (~string? string?) (~symbol? symbol?)
      (~char? char?))

    (define-match-pattern ~cons ()
      ((_ first rest) (~and (~test pair?) (~prop car => first) (~prop cdr => rest))))

    (define-match-pattern ~list ()
      ((_) '())
      ((_ pattern . patterns) (~cons pattern (~list . patterns))))

    (define-match-pattern ~list* ()
      ((_ pattern) pattern)
      ((_ pattern . patterns) (~cons pattern (~list* . patterns))))

    ;; Segments.  The states of an iteration over a list are its head, last first, and its tail.

    (define (spine-start object try fail)
      (let loop ((tail object) (reversed '()))
        (if (pair? tail)
            (loop (cdr tail) (cons (car tail) reversed))
            (try reversed tail))))

    (define (segments reversed tail)
      (cons (reverse reversed) tail))

    (define (shorter try fail reversed tail)
      (if (pair? reversed)
          (try (cdr reversed) (cons (car reversed) tail))
          (fail)))

    (define (empty-start object try fail)
      (try '() object))

    (define (longer try fail reversed tail)
      (if (pair? tail)
          (try (cons (car tail) reversed) (cdr tail))
          (fail)))

    (define-match-pattern ~append ()
      ((_) '())
      ((_ pattern) pattern)
      ((_ pattern . patterns)
       (~iterate spine-start segments shorter (reversed tail)
                 (~and (~prop car => pattern) (~prop cdr => (~append . patterns))))))

    (define-match-pattern ~append/ng ()
      ((_) '())
      ((_ pattern) pattern)
      ((_ pattern . patterns)
       (~iterate empty-start segments longer (reversed tail)
                 (~and (~prop car => pattern) (~prop cdr => (~append/ng . patterns))))))

    ;; The list cut so that the second part has as many pairs as the datum, or #f.
    (define (split-tail object datum)
      (let ((count (- (spine-length object) (spine-length datum))))
        (and (>= count 0)
             (let loop ((tail object) (left count) (reversed '()))
               (if (= left 0)
                   (segments reversed tail)
                   (loop (cdr tail) (- left 1) (cons (car tail) reversed)))))))

    (define (spine-length object)
      (let loop ((rest object) (count 0))
        (if (pair? rest) (loop (cdr rest) (+ count 1)) count)))

    (define-match-pattern ~append/t ()
      ((_ datum first second) (~test split-tail ('datum) => (~cons first second))))

    ;; One element and the others, for each element in turn.

    (define (choice-start object try fail)
      (if (pair? object) (try '() object) (fail)))

    (define (choice reversed tail)
      (cons (car tail) (append reversed (cdr tail))))

    (define (choice-next try fail reversed tail)
      (if (pair? (cdr tail))
          (try (cons (car tail) reversed) (cdr tail))
          (fail)))

    (define-match-pattern ~cons-no-order ()
      ((_ first rest)
       (~iterate choice-start choice choice-next (reversed tail) (~cons first rest))))

    (define-match-pattern ~list-no-order ()
      ((_) '())
      ((_ pattern . patterns) (~cons-no-order pattern (~list-no-order . patterns))))

    (define-match-pattern ~list-no-order* ()
      ((_ pattern) pattern)
      ((_ pattern . patterns) (~cons-no-order pattern (~list-no-order* . patterns))))

    ;; Conversions, and what is made of them.

    (define-match-pattern ~list->vector ()
      ((_ pattern) (~and (~test vector?) (~prop vector->list => pattern))))
    (define-match-pattern ~list->string ()
      ((_ pattern) (~and (~test string?) (~prop string->list => pattern))))
    (define-match-pattern ~vector->list ()
      ((_ pattern) (~and (~test list?) (~prop list->vector => pattern))))
    (define-match-pattern ~string->list ()
      ((_ pattern) (~test string-of-list => pattern)))
    (define-match-pattern ~string->symbol ()
      ((_ pattern) (~and (~test symbol?) (~prop symbol->string => pattern))))
    (define-match-pattern ~symbol->string ()
      ((_ pattern) (~and (~test string?) (~prop string->symbol => pattern))))
    (define-match-pattern ~string->number ()
      ((_ pattern) (~and (~test number?) (~prop number->string => pattern)))
      ((_ pattern radix) (~and (~test number?) (~prop number->string (radix) => pattern))))
    (define-match-pattern ~number->string ()
      ((_ pattern) (~and (~test string?) (~test string->number => pattern)))
      ((_ pattern radix) (~and (~test string?) (~test string->number (radix) => pattern))))

    (define (string-of-list object)
      (and (list? object)
           (let loop ((rest object))
             (or (null? rest)
                 (and (char? (car rest)) (loop (cdr rest)))))
           (list->string object)))

    (define-match-pattern ~vector ()
      ((_ . patterns) (~list->vector (~list . patterns))))
    (define-match-pattern ~string ()
      ((_ . patterns) (~list->string (~list . patterns))))

    ;; A vector or string is cut at each place.
    (define-syntax define-append-patterns
      (syntax-rules ()
        ((_ greedy lazy type? length-of part empty)
         (begin
           (define (from-end object try fail) (try object (length-of object)))
           (define (from-start object try fail) (try object 0))
           (define (parts object at) (cons (part object 0 at) (part object at (length-of object))))
           (define (before try fail object at) (if (> at 0) (try object (- at 1)) (fail)))
           (define (after try fail object at)
             (if (< at (length-of object)) (try object (+ at 1)) (fail)))
           (define-match-pattern greedy ()
             ((_1) 'empty)
             ((_1 pattern) (~and (~test type?) pattern))
             ((_1 pattern . patterns)
              (~and (~test type?)
                    (~iterate from-end parts before (object at)
                              (~and (~prop car => pattern)
                                    (~prop cdr => (greedy . patterns)))))))
           (define-match-pattern lazy ()
             ((_1) 'empty)
             ((_1 pattern) (~and (~test type?) pattern))
             ((_1 pattern . patterns)
              (~and (~test type?)
                    (~iterate from-start parts after (object at)
                              (~and (~prop car => pattern)
                                    (~prop cdr => (lazy . patterns)))))))))))

    (define-append-patterns ~vector-append ~vector-append/ng vector? vector-length subvector #())
    (define-append-patterns ~string-append ~string-append/ng string? string-length substring "")

    ;; Templates.

    (define-syntax value
      (syntax-rules ()
        ((_ expression) expression)))

    (define-syntax etc
      (syntax-rules ()
        ((_ constructor) (collect constructor () (map-constructor constructor)))))

    (define-syntax map-constructor
      (syntax-rules ()
        ((_ (name ...) constructor) (map (lambda (name ...) constructor) name ...))))

    ;; The variables of a constructor, each once.
    (define-syntax collect
      (syntax-rules (quote value)
        ((_ (quote datum) names (k . operands)) (k names . operands))
        ((_ (value expression) names (k . operands)) (k names . operands))
        ((_ (head constructor ...) names continuation)
         (collect-all (constructor ...) names continuation))
        ((_ atom names (k . operands))
         (if-identifier atom
                        (add-name atom names (k . operands))
                        (k names . operands)))))

    (define-syntax collect-all
      (syntax-rules ()
        ((_ () names (k . operands)) (k names . operands))
        ((_ (constructor . constructors) names continuation)
         (collect constructor names (collect-rest constructors continuation)))))

    (define-syntax collect-rest
      (syntax-rules ()
        ((_ names constructors continuation) (collect-all constructors names continuation))))

    (define-syntax add-name
      (syntax-rules ()
        ((_ name (known ...) (k . operands))
         (let-syntax ((test (syntax-rules (known ...)
                              ((_1 known yes no) yes) ...
                              ((_1 other yes no) no))))
           (test name (k (known ...) . operands) (k (known ... name) . operands))))))))
