;;; (canny sxml): markup as data.
;;;
;;; A node is text (a string, a number, a character), an element `(tag (@ (name value) ...) node
;;; ...)` or a list of nodes. It may also be one of `*TOP*`, `*PI*`, `*COMMENT*`, `*DOCTYPE*` and
;;; `*raw*`. Output is escaped by construction.
;;;
;;;     (sxml->html '(p (@ (class "x")) "a < b"))               ; => "<p class=\"x\">a &lt; b</p>"
;;;     (sxml-select '(ul (li "a") (li "b")) "li[2]/text()")    ; => ("b")
;;;
;;; Nothing here is quadratic in the size of a tree, and nothing depends on its depth but walks
;;; whose comments say so.

(define-library (canny sxml)
  (export sxml->html sxml->html-bytes sxml->xml sxml->xml-bytes html->sxml xml->sxml
          markup-error? markup-error-path markup-error-line markup-error-column
          markup-error-offset
          sxml-element? sxml-name sxml-attributes sxml-attribute sxml-children sxml-text
          sxml-select sxml-select-first sxml-path sxml-map pre-post-order)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) map)
          (only (srfi 1) append-map filter)
          (only (canny machine control) raise))
  (begin

    (define (bad-option who message object)
      (raise (%make-condition 'range message (list object) who)))

    ;;; Writing

    (define (prefix who doctype text)
      (cond ((not doctype) "")
            ((eq? doctype #t) text)
            (else (bad-option who "an option is a boolean" doctype))))

    ;; Gives out a text, or writes it to a port.
    (define (put who text port)
      (cond ((not (output-port? port)) (%type-error who 2 "output port" port))
            ((textual-port? port) (write-string (text #f) port))
            (else (write-bytevector (text #t) port))))

    ;; A node as HTML: a string, or to a port, in UTF-8 if that is a binary one. `#:doctype #t`
    ;; begins with the document type.
    (define* (sxml->html node #:optional (port #f) #:key (doctype #f))
      (let ((before (prefix 'sxml->html doctype doctype-text)))
        (if port
            (put 'sxml->html (lambda (bytes?) (%sxml->html node before bytes?)) port)
            (%sxml->html node before #f))))

    ;; A node as HTML in UTF-8.
    (define* (sxml->html-bytes node #:key (doctype #f))
      (%sxml->html node (prefix 'sxml->html-bytes doctype doctype-text) #t))

    (define doctype-text "<!DOCTYPE html>\n")

    (define declaration-text "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")

    ;; The same as XML. `#:declaration #t` begins with the declaration.
    (define* (sxml->xml node #:optional (port #f) #:key (declaration #f))
      (let ((before (prefix 'sxml->xml declaration declaration-text)))
        (if port
            (put 'sxml->xml (lambda (bytes?) (%sxml->xml node before bytes?)) port)
            (%sxml->xml node before #f))))
    (define* (sxml->xml-bytes node #:key (declaration #f))
      (%sxml->xml node (prefix 'sxml->xml-bytes declaration declaration-text) #t))

    ;;; Reading

    (define (source who object)
      (cond ((string? object) object)
            ((and (input-port? object) (textual-port? object))
             (let loop ((parts '()))
               (let ((part (%read-rest object)))
                 (if (eof-object? part)
                     (apply string-append (reverse! parts))
                     (loop (cons part parts))))))
            (else (%type-error who 1 "string or textual input port" object))))

    ;; A page of HTML, a string or what a port has, as browsers read it. `#:context` is the name of
    ;; the element whose content the text is, as a symbol; it is `#f` for a whole page.
    ;; `#:strict? #t` refuses what is against the standard.
    (define* (html->sxml text #:key (context #f) (depth-limit 500) (strict? #f))
      (%html->sxml (source 'html->sxml text)
                   (cond ((not context) #f)
                         ((symbol? context) (symbol->string context))
                         (else (bad-option 'html->sxml "#:context is a symbol or #f" context)))
                   depth-limit strict?))

    ;; A document of XML. `#:namespaces` is an association list of prefixes and namespaces, for
    ;; names to be short; with `#f` names stay as they are written.
    (define* (xml->sxml text
                        #:key (namespaces '()) (depth-limit 10000) (entity-limit 1000000)
                        (trim? #f))
      (let* ((prefixes
              (and namespaces
                   (append-map (lambda (entry)
                                 (if (not (and (pair? entry) (symbol? (car entry))
                                               (string? (cdr entry))))
                                     (bad-option 'xml->sxml
                                                 "#:namespaces is an association list of symbols \
                                                  and strings"
                                                 entry))
                                 (list (symbol->string (car entry)) (cdr entry)))
                               namespaces)))
             (tree (%xml->sxml (source 'xml->sxml text) prefixes depth-limit entity-limit trim?)))
        (if (pair? prefixes)
            `(*TOP* (@ (*NAMESPACES* ,@(map (lambda (entry) (list (car entry) (cdr entry)))
                                            namespaces)))
                    ,@(cdr tree))
            tree)))

    ;;; Conditions

    ;; Whether a condition says that a text is not markup as it should be, or that an object is no
    ;; SXML.
    (define (markup-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'markup)))

    (define (irritant who condition name)
      (if (not (markup-error? condition))
          (%type-error who 1 "error of markup" condition))
      (let ((found (memq name (error-object-irritants condition))))
        (and found (pair? (cdr found)) (cadr found))))

    ;; The path to what could not be written, as `"html/body/p[2]"`, or `#f` for a text that could
    ;; not be read.
    (define (markup-error-path condition)
      (irritant 'markup-error-path condition 'path))

    ;; The position of an error in a text; lines and columns are counted from 1, the offset in
    ;; characters from 0.
    (define (markup-error-line condition)
      (irritant 'markup-error-line condition 'line))
    (define (markup-error-column condition)
      (irritant 'markup-error-column condition 'column))
    (define (markup-error-offset condition)
      (irritant 'markup-error-offset condition 'offset))

    ;;; Parts of nodes

    (define special-tags
      '(@ @@ *PI* *COMMENT* *ENTITY* *NAMESPACES* *DOCTYPE* *raw* *template* *attribute* *trusted*))

    ;; Whether an object is an element; `*TOP*` counts as one.
    (define (sxml-element? object)
      (and (pair? object) (symbol? (car object)) (not (memq (car object) special-tags))))

    (define (check who node)
      (if (not (sxml-element? node))
          (%type-error who 1 "element of SXML" node)))

    ;; The name of an element, a symbol.
    (define (sxml-name element)
      (check 'sxml-name element)
      (car element))

    (define (attribute-list element)
      (if (and (pair? (cdr element)) (pair? (cadr element)) (eq? (caadr element) '@))
          (cdadr element)
          '()))

    ;; The attributes of an element, a list of `(name value)`.
    (define (sxml-attributes element)
      (check 'sxml-attributes element)
      (attribute-list element))

    ;; The value of an attribute, or the default. An attribute without value has its name's text.
    (define* (sxml-attribute element name #:optional (default #f))
      (check 'sxml-attribute element)
      (attribute-value element name default))

    (define (attribute-value element name default)
      (let ((found (assq name (filter pair? (attribute-list element)))))
        (cond ((not found) default)
              ((pair? (cdr found)) (cadr found))
              (else (symbol->string name)))))

    ;; The nodes in an element, without attributes; lists of nodes among them are spliced.
    (define (sxml-children element)
      (check 'sxml-children element)
      (children element))

    (define (children element)
      (let ((rest (cdr element)))
        (let loop ((rest rest))
          (if (and (pair? rest) (pair? (car rest)) (memq (caar rest) '(@ @@)))
              (loop (cdr rest))
              (if (plain? rest) rest (splice rest))))))

    ;; Whether no list of nodes is among the nodes.
    (define (plain? nodes)
      (or (null? nodes)
          (let ((node (car nodes)))
            (and (if (pair? node) (symbol? (car node)) (not (or (null? node) (not node))))
                 (plain? (cdr nodes))))))

    (define (splice nodes)
      (let loop ((stack (list nodes)) (found '()))
        (cond ((null? stack) (reverse! found))
              ((null? (car stack)) (loop (cdr stack) found))
              (else
               (let ((node (caar stack)) (stack (cons (cdar stack) (cdr stack))))
                 (cond ((or (null? node) (not node)) (loop stack found))
                       ((and (pair? node) (not (symbol? (car node))))
                        (loop (cons node stack) found))
                       (else (loop stack (cons node found)))))))))

    (define (text-of node)
      (cond ((string? node) node)
            ((symbol? node) (symbol->string node))
            ((number? node) (number->string node))
            ((char? node) (string node))
            (else "")))

    ;; All text in a node, in order, without comments and the like.
    (define (sxml-text node)
      (let ((port (open-output-string)))
        (let loop ((stack (list (list node))))
          (if (pair? stack)
              (if (null? (car stack))
                  (loop (cdr stack))
                  (let ((node (caar stack)) (stack (cons (cdar stack) (cdr stack))))
                    (cond ((pair? node)
                           (loop (cond ((not (symbol? (car node))) (cons node stack))
                                       ((sxml-element? node) (cons (children node) stack))
                                       (else stack))))
                          (else
                           (write-string (text-of node) port)
                           (loop stack)))))))
        (get-output-string port)))

    ;;; Paths

    ;; A path is a list of steps `#(axis test predicates)`. The axis is `child` or `descendant`, the
    ;; test a symbol, `*`, `text`, `self` or `(attribute name)`. A predicate is a number, `last`,
    ;; `(has test)` or `(is test string)`.
    (define-record-type <path> (make-path steps) path? (steps path-steps))

    (define (bad-path text why)
      (raise (%make-condition 'markup (string-append "a path is wrong: " why)
                              (list text 'path #f) 'sxml-path)))

    (define (name-character? c)
      (or (char-alphabetic? c) (char-numeric? c) (memv c '(#\- #\_ #\. #\:))))

    ;; Compiles a path: `"//a[@href]"`, `"html/body/p[2]"`, `".//li[last()]/text()"`,
    ;; `"//a[@class='x']/@href"`.
    (define (sxml-path text)
      (if (not (string? text))
          (%type-error 'sxml-path 1 "string" text))
      (let ((length (string-length text)))

        (define (at index) (if (< index length) (string-ref text index) #\null))

        (define (name index receive)
          (let loop ((end index))
            (if (and (< end length) (name-character? (string-ref text end)))
                (loop (+ end 1))
                (if (= end index)
                    (bad-path text "a name is missing")
                    (receive (substring text index end) end)))))

        ;; A test, and the index behind it.
        (define (test index receive)
          (case (at index)
            ((#\*) (receive '* (+ index 1)))
            ((#\.) (receive 'self (+ index 1)))
            ((#\@)
             (if (eqv? (at (+ index 1)) #\*)
                 (receive '(attribute *) (+ index 2))
                 (name (+ index 1)
                   (lambda (name end) (receive (list 'attribute (string->symbol name)) end)))))
            (else
             (name index
               (lambda (name end)
                 (if (and (eqv? (at end) #\() (eqv? (at (+ end 1)) #\)))
                     (case (string->symbol name)
                       ((text) (receive '(text) (+ end 2)))
                       ((last) (receive 'last (+ end 2)))
                       (else (bad-path text "there are no functions but text() and last()")))
                     (receive (list 'name (string->symbol name)) end)))))))

        (define (predicate index receive)
          (if (char-numeric? (at index))
              (name index
                (lambda (digits end)
                  (let ((number (string->number digits)))
                    (if (not (exact-nonnegative-integer? number))
                        (bad-path text "a position is a number"))
                    (receive number end))))
              (test index
                (lambda (test end)
                  (cond ((eq? test 'last) (receive 'last end))
                        ((eqv? (at end) #\=)
                         (let ((mark (at (+ end 1))))
                           (if (not (memv mark '(#\" #\')))
                               (bad-path text "a value stands in quotes"))
                           (let loop ((close (+ end 2)))
                             (cond ((>= close length) (bad-path text "a value has no end"))
                                   ((eqv? (at close) mark)
                                    (receive (list 'is test (substring text (+ end 2) close))
                                        (+ close 1)))
                                   (else (loop (+ close 1)))))))
                        (else (receive (list 'has test) end)))))))

        (define (predicates index found receive)
          (if (eqv? (at index) #\[)
              (predicate (+ index 1)
                (lambda (predicate end)
                  (if (eqv? (at end) #\])
                      (predicates (+ end 1) (cons predicate found) receive)
                      (bad-path text "a ] is missing"))))
              (receive (reverse found) index)))

        (define (steps index axis found)
          (test index
            (lambda (test end)
              (if (eq? test 'last)
                  (bad-path text "last() stands in brackets"))
              (predicates end '()
                (lambda (predicates end)
                  (let ((found (cons (vector axis test predicates) found)))
                    (cond ((= end length) (reverse found))
                          ((not (eqv? (at end) #\/)) (bad-path text "a / is missing"))
                          ((eqv? (at (+ end 1)) #\/) (steps (+ end 2) 'descendant found))
                          (else (steps (+ end 1) 'child found)))))))))

        (make-path
         (cond ((not (eqv? (at 0) #\/)) (steps 0 'child '()))
               ((eqv? (at 1) #\/) (steps 2 'descendant '()))
               (else (steps 1 'child '()))))))

    ;; The nodes that a path leads to, in the order of the tree: elements, texts, values of
    ;; attributes.
    (define (sxml-select node path)
      (select 'sxml-select node path))

    ;; The first of them, or the default.
    (define* (sxml-select-first node path #:optional (default #f))
      (let ((found (select 'sxml-select-first node path)))
        (if (pair? found) (car found) default)))

    (define (select who node path)
      (let ((path (cond ((string? path) (sxml-path path))
                        ((path? path) path)
                        (else (%type-error who 2 "path or string" path)))))
        (let loop ((nodes (cond ((sxml-element? node) (list node))
                                ((or (null? node)
                                     (and (pair? node) (not (symbol? (car node)))))
                                 (splice node))
                                (else (%type-error who 1 "element or list of nodes" node))))
                   (steps (path-steps path)))
          (if (or (null? steps) (null? nodes))
              nodes
              (loop (step nodes (car steps)) (cdr steps))))))

    (define (step nodes step)
      (let ((axis (vector-ref step 0))
            (test (vector-ref step 1))
            (predicates (vector-ref step 2)))
        (append-map (lambda (node) (filter-predicates (tested node test) predicates))
                    (filter sxml-element?
                            (if (eq? axis 'descendant) (with-descendants nodes) nodes)))))

    ;; Elements and all elements in them, each once. The contents of an element are visited once.
    (define (with-descendants nodes)
      (let ((seen (%make-hash-table 'eq #f 0)))
        (let loop ((stack (list nodes)) (found '()))
          (cond ((null? stack) (reverse! found))
                ((null? (car stack)) (loop (cdr stack) found))
                (else
                 (let ((node (caar stack)) (stack (cons (cdar stack) (cdr stack))))
                   (if (and (sxml-element? node) (not (%hash-table-ref seen node #f)))
                       (begin
                         (%hash-table-set! seen node #t)
                         (loop (cons (children node) stack) (cons node found)))
                       (loop stack found))))))))

    (define (tested node test)
      (if (pair? test)
          (case (car test)
            ((name)
             (let ((name (cadr test)))
               (filter (lambda (child) (and (pair? child) (eq? (car child) name)))
                       (children node))))
            ((text) (filter (lambda (child) (not (pair? child))) (children node)))
            (else
             (let ((name (cadr test)))
               (if (eq? name '*)
                   (map (lambda (entry) (text-of (attribute-value node (car entry) #f)))
                        (filter pair? (attribute-list node)))
                   (let ((value (attribute-value node name #f)))
                     (if value (list (text-of value)) '()))))))
          (case test
            ((*) (filter sxml-element? (children node)))
            (else (list node)))))

    (define (filter-predicates nodes predicates)
      (if (or (null? predicates) (null? nodes))
          nodes
          (filter-predicates
           (let ((predicate (car predicates)))
             (cond ((eq? predicate 'last) (list (last-of nodes)))
                   ((number? predicate) (nth nodes predicate))
                   (else
                    (filter (lambda (node)
                              (and (sxml-element? node)
                                   (let ((found (tested node (cadr predicate))))
                                     (if (eq? (car predicate) 'has)
                                         (pair? found)
                                         (has-text? found (list-ref predicate 2))))))
                            nodes))))
           (cdr predicates))))

    (define (has-text? nodes text)
      (and (pair? nodes)
           (or (string=? (sxml-text (car nodes)) text)
               (has-text? (cdr nodes) text))))

    (define (last-of nodes)
      (if (pair? (cdr nodes)) (last-of (cdr nodes)) (car nodes)))

    (define (nth nodes position)
      (cond ((or (null? nodes) (< position 1)) '())
            ((= position 1) (list (car nodes)))
            (else (nth (cdr nodes) (- position 1)))))

    ;;; Transformations

    ;; A tree of which each element was replaced by what a procedure made of it, innermost first: a
    ;; node or a list of nodes.
    (define (sxml-map procedure node)
      (if (not (procedure? procedure))
          (%type-error 'sxml-map 1 "procedure" procedure))
      (let walk ((node node))
        (cond ((not (pair? node)) node)
              ((not (symbol? (car node))) (map walk node))
              ((sxml-element? node)
               (procedure
                (cons (car node)
                      (map (lambda (child)
                             (if (and (pair? child) (memq (car child) '(@ @@)))
                                 child
                                 (walk child)))
                           (cdr node)))))
              (else node))))

    ;; The transformation of SXML by rules, as in SSAX. `(tag . handler)` gets the tag and what
    ;; became of the content, `(tag *preorder* . handler)` the node as it is. `(tag *macro* .
    ;; handler)` gives a node to be transformed instead, `(tag rules . handler)` has rules for the
    ;; content. `*text*` and `*default*` are for the rest.
    (define (pre-post-order node rules)
      (let ((default (assq '*default* rules))
            (text (assq '*text* rules)))
        (define (missing what node)
          (raise (%make-condition 'markup (string-append "there is no rule for " what)
                                  (list node) 'pre-post-order)))
        (cond ((and (pair? node) (symbol? (car node)))
               (let ((rule (or (assq (car node) rules) default)))
                 (if (not rule)
                     (missing "an element" node))
                 (let ((action (cdr rule)))
                   (cond ((procedure? action)
                          (apply action (car node)
                                 (map (lambda (child) (pre-post-order child rules)) (cdr node))))
                         ((not (pair? action)) (missing "an element" node))
                         ((eq? (car action) '*preorder*) (apply (cdr action) node))
                         ((eq? (car action) '*macro*)
                          (pre-post-order (apply (cdr action) node) rules))
                         (else
                          (apply (cdr action) (car node)
                                 (let ((rules (append (car action) rules)))
                                   (map (lambda (child) (pre-post-order child rules))
                                        (cdr node)))))))))
              ((pair? node) (map (lambda (child) (pre-post-order child rules)) node))
              ((null? node) node)
              (text ((cdr text) '*text* node))
              (else (missing "a text" node)))))))
