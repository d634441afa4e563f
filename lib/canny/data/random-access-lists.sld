;;; (canny data random-access-lists): the purely functional random-access lists of SRFI 101.
;;;
;;; They are the skew binary lists of C. Okasaki, "Purely Functional Random-Access Lists" (1995). A
;;; list is a chain of complete binary trees whose sizes are 1, 3, 7, … and do not decrease. Only
;;; the first two may be equal. A pair is one link of the chain: the size of its first tree, the
;;; tree, and the rest. A tree of size 1 is its element; a larger one is a node with the first
;;; element and two trees of half the size. The chain ends in any object that is no pair of this
;;; library.

(define-library (canny data random-access-lists)
  (export
   ra-quote ra-equal? ra-pair? ra-cons ra-car ra-cdr ra-caar ra-cadr ra-cdar ra-cddr ra-caaar
   ra-caadr ra-cadar ra-caddr ra-cdaar ra-cdadr ra-cddar ra-cdddr ra-caaaar ra-caaadr ra-caadar
   ra-caaddr ra-cadaar ra-cadadr ra-caddar ra-cadddr ra-cdaaar ra-cdaadr ra-cdadar ra-cdaddr
   ra-cddaar ra-cddadr ra-cdddar ra-cddddr ra-list ra-make-list ra-list? ra-length ra-length<=?
   ra-append ra-reverse ra-list-tail ra-list-ref ra-list-set ra-list-ref/update ra-map ra-for-each
   random-access-list->linear-access-list linear-access-list->random-access-list)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments))
  (begin

    (define-record-type <random-access-pair>
      (make-link size tree rest)
      ra-pair?
      (size size)
      (tree tree)
      (rest rest))

    (define-record-type <node>
      (make-node value left right)
      node?
      (value node-value)
      (left node-left)
      (right node-right))

    (define (half size)
      (arithmetic-shift size -1))

    (define (check-pair who object)
      (check-argument who 1 ra-pair? "random-access pair" object))

    (define (ra-cons object rest-object)
      (if (ra-pair? rest-object)
          (let ((next (rest rest-object)) (first-size (size rest-object)))
            (if (and (ra-pair? next) (= first-size (size next)))
                (make-link (+ 1 first-size first-size)
                           (make-node object (tree rest-object) (tree next))
                           (rest next))
                (make-link 1 object rest-object)))
          (make-link 1 object rest-object)))

    (define (first-of link)
      (if (= (size link) 1)
          (tree link)
          (node-value (tree link))))

    (define (rest-of link)
      (if (= (size link) 1)
          (rest link)
          (let ((part (half (size link))) (node (tree link)))
            (make-link part (node-left node) (make-link part (node-right node) (rest link))))))

    (define (ra-car pair)
      (check-pair 'car pair)
      (first-of pair))

    (define (ra-cdr pair)
      (check-pair 'cdr pair)
      (rest-of pair))

    (define (ra-caar object) (ra-car (ra-car object)))
    (define (ra-cadr object) (ra-car (ra-cdr object)))
    (define (ra-cdar object) (ra-cdr (ra-car object)))
    (define (ra-cddr object) (ra-cdr (ra-cdr object)))
    (define (ra-caaar object) (ra-car (ra-caar object)))
    (define (ra-caadr object) (ra-car (ra-cadr object)))
    (define (ra-cadar object) (ra-car (ra-cdar object)))
    (define (ra-caddr object) (ra-car (ra-cddr object)))
    (define (ra-cdaar object) (ra-cdr (ra-caar object)))
    (define (ra-cdadr object) (ra-cdr (ra-cadr object)))
    (define (ra-cddar object) (ra-cdr (ra-cdar object)))
    (define (ra-cdddr object) (ra-cdr (ra-cddr object)))
    (define (ra-caaaar object) (ra-car (ra-caaar object)))
    (define (ra-caaadr object) (ra-car (ra-caadr object)))
    (define (ra-caadar object) (ra-car (ra-cadar object)))
    (define (ra-caaddr object) (ra-car (ra-caddr object)))
    (define (ra-cadaar object) (ra-car (ra-cdaar object)))
    (define (ra-cadadr object) (ra-car (ra-cdadr object)))
    (define (ra-caddar object) (ra-car (ra-cddar object)))
    (define (ra-cadddr object) (ra-car (ra-cdddr object)))
    (define (ra-cdaaar object) (ra-cdr (ra-caaar object)))
    (define (ra-cdaadr object) (ra-cdr (ra-caadr object)))
    (define (ra-cdadar object) (ra-cdr (ra-cadar object)))
    (define (ra-cdaddr object) (ra-cdr (ra-caddr object)))
    (define (ra-cddaar object) (ra-cdr (ra-cdaar object)))
    (define (ra-cddadr object) (ra-cdr (ra-cdadr object)))
    (define (ra-cdddar object) (ra-cdr (ra-cddar object)))
    (define (ra-cddddr object) (ra-cdr (ra-cdddr object)))

    ;; Conversion.

    (define (linear->random-access list)
      (let loop ((reversed (reverse list)) (result '()))
        (if (null? reversed)
            result
            (loop (cdr reversed) (ra-cons (car reversed) result)))))

    ;; The elements of a tree before those in `tail`.
    (define (tree-elements size tree tail)
      (if (= size 1)
          (cons tree tail)
          (let ((part (half size)))
            (cons (node-value tree)
                  (tree-elements part (node-left tree)
                                 (tree-elements part (node-right tree) tail))))))

    ;; The elements of a chain as a list, whatever its end.
    (define (elements chain)
      (let loop ((chain chain) (links '()))
        (if (ra-pair? chain)
            (loop (rest chain) (cons chain links))
            (let collect ((links links) (result '()))
              (if (null? links)
                  result
                  (collect (cdr links)
                           (tree-elements (size (car links)) (tree (car links)) result)))))))

    (define (proper-elements who position list)
      (if (not (ra-list? list))
          (%type-error who position "random-access list" list))
      (elements list))

    (define (random-access-list->linear-access-list list)
      (proper-elements 'random-access-list->linear-access-list 1 list))

    (define (linear-access-list->random-access-list list)
      (check-argument 'linear-access-list->random-access-list 1 list? "list" list)
      (linear->random-access list))

    ;; Quotation: the pairs in a datum, also those in its vectors, become random-access pairs.

    (define-syntax ra-quote
      (syntax-rules ()
        ((_ datum) (constant 'datum))))

    ;; The conversions of literals, so that each is done once.
    (define constants (%make-hash-table 'eq 'key 0))

    (define (constant datum)
      (if (or (pair? datum) (vector? datum))
          (or (%hash-table-ref constants datum #f)
              (let ((converted (convert datum)))
                (%hash-table-set! constants datum converted)
                converted))
          datum))

    (define (convert datum)
      (cond ((pair? datum)
             (let loop ((rest datum) (reversed '()))
               (if (pair? rest)
                   (loop (cdr rest) (cons (convert (car rest)) reversed))
                   (let build ((reversed reversed) (result (convert rest)))
                     (if (null? reversed)
                         result
                         (build (cdr reversed) (ra-cons (car reversed) result)))))))
            ((vector? datum)
             (let loop ((index (- (vector-length datum) 1)) (result '()))
               (if (< index 0)
                   (list->vector result)
                   (loop (- index 1) (cons (convert (vector-ref datum index)) result)))))
            (else datum)))

    (define (ra-equal? left right)
      (cond ((ra-pair? left)
             (and (ra-pair? right)
                  (ra-equal? (first-of left) (first-of right))
                  (ra-equal? (rest-of left) (rest-of right))))
            ((vector? left)
             (and (vector? right)
                  (= (vector-length left) (vector-length right))
                  (let loop ((index 0))
                    (or (= index (vector-length left))
                        (and (ra-equal? (vector-ref left index) (vector-ref right index))
                             (loop (+ index 1)))))))
            (else (equal? left right))))

    ;; Lists.

    (define (ra-list . objects)
      (linear->random-access objects))

    (define ra-make-list
      (case-lambda
        ((count) (ra-make-list count #f))
        ((count object)
         (check-index 'make-list 1 count)
         ;; trees: complete trees with their sizes, the largest first.
         (let grow ((trees (list (cons 1 object))))
           (let ((next (+ 1 (* 2 (caar trees)))))
             (if (<= next count)
                 (grow (cons (cons next (make-node object (cdar trees) (cdar trees))) trees))
                 (let take ((trees trees) (left count) (result '()))
                   (cond ((= left 0) result)
                         ((<= (caar trees) left)
                          (take trees
                                (- left (caar trees))
                                (make-link (caar trees) (cdar trees) result)))
                         (else (take (cdr trees) left result))))))))))

    (define (ra-list? object)
      (if (ra-pair? object)
          (ra-list? (rest object))
          (null? object)))

    (define (ra-length list)
      (let loop ((chain list) (count 0))
        (cond ((ra-pair? chain) (loop (rest chain) (+ count (size chain))))
              ((null? chain) count)
              (else (%type-error 'length 1 "random-access list" list)))))

    (define (ra-length<=? object count)
      (check-index 'length<=? 2 count)
      (let loop ((chain object) (left count))
        (or (<= left 0)
            (and (ra-pair? chain)
                 (loop (rest chain) (- left (size chain)))))))

    (define (ra-append . lists)
      (if (null? lists)
          '()
          (let loop ((reversed (cdr (reverse lists))) (result (last lists)))
            (if (null? reversed)
                result
                (loop (cdr reversed)
                      (let build ((elements (reverse! (proper-elements 'append 1 (car reversed))))
                                  (result result))
                        (if (null? elements)
                            result
                            (build (cdr elements) (ra-cons (car elements) result)))))))))

    (define (ra-reverse list)
      (let loop ((elements (proper-elements 'reverse 1 list)) (result '()))
        (if (null? elements)
            result
            (loop (cdr elements) (ra-cons (car elements) result)))))

    (define (too-short who index)
      (%range-error who 2 "the list is shorter" index))

    (define (ra-list-tail list count)
      (check-index 'list-tail 2 count)
      (let loop ((chain list) (left count))
        (cond ((= left 0) chain)
              ((not (ra-pair? chain)) (too-short 'list-tail count))
              ((>= left (size chain)) (loop (rest chain) (- left (size chain))))
              (else (loop (rest-of chain) (- left 1))))))

    (define (ra-list-ref list index)
      (check-index 'list-ref 2 index)
      (let loop ((chain list) (left index))
        (cond ((not (ra-pair? chain)) (too-short 'list-ref index))
              ((>= left (size chain)) (loop (rest chain) (- left (size chain))))
              (else (tree-ref (size chain) (tree chain) left)))))

    (define (tree-ref size tree index)
      (cond ((= size 1) tree)
            ((= index 0) (node-value tree))
            (else
             (let ((part (half size)))
               (if (<= index part)
                   (tree-ref part (node-left tree) (- index 1))
                   (tree-ref part (node-right tree) (- index part 1)))))))

    (define (ra-list-set list index object)
      (let-values (((old new) (reference-and-update 'list-set list index (lambda (old) object))))
        new))

    (define (ra-list-ref/update list index procedure)
      (check-procedure 'list-ref/update 3 procedure)
      (reference-and-update 'list-ref/update list index procedure))

    (define (reference-and-update who list index procedure)
      (check-index who 2 index)
      (let loop ((chain list) (left index) (links '()))
        (cond ((not (ra-pair? chain)) (too-short who index))
              ((>= left (size chain))
               (loop (rest chain) (- left (size chain)) (cons chain links)))
              (else
               (let* ((old (tree-ref (size chain) (tree chain) left))
                      (new (tree-set (size chain) (tree chain) left (procedure old))))
                 (let rebuild ((links links) (result (make-link (size chain) new (rest chain))))
                   (if (null? links)
                       (values old result)
                       (rebuild (cdr links)
                                (make-link (size (car links)) (tree (car links)) result)))))))))

    (define (tree-set size tree index object)
      (cond ((= size 1) object)
            ((= index 0) (make-node object (node-left tree) (node-right tree)))
            (else
             (let ((part (half size)))
               (if (<= index part)
                   (make-node (node-value tree)
                              (tree-set part (node-left tree) (- index 1) object)
                              (node-right tree))
                   (make-node (node-value tree)
                              (node-left tree)
                              (tree-set part (node-right tree) (- index part 1) object)))))))

    ;; The elements of lists that must have one length.
    (define (elements-of-lists who lists)
      (let* ((all (%map1 (lambda (list) (proper-elements who 2 list)) lists))
             (count (length (car all))))
        (for-each (lambda (elements)
                    (if (not (= (length elements) count))
                        (error "the lists have different lengths" who)))
                  (cdr all))
        all))

    (define (ra-map procedure list . lists)
      (check-procedure 'map 1 procedure)
      (linear->random-access
       (%apply map (cons procedure (elements-of-lists 'map (cons list lists))))))

    (define (ra-for-each procedure list . lists)
      (check-procedure 'for-each 1 procedure)
      (%apply for-each (cons procedure (elements-of-lists 'for-each (cons list lists)))))))
