;;; (srfi 113): sets and bags.
;;;
;;; A set is a hash table that maps each element to itself. A bag is one that maps each unique
;;; element to a pair of the element and its count. The pair is never changed in place, and the
;;; count is positive.  The element that is kept of several equal ones is the first.  Comparators
;;; need a hash function, unless their equality predicate is one that hash tables know.
;;;
;;; The linear-update procedures change their first argument.

(define-library (srfi 113)
  (export
   ;; Sets
   set set-unfold set? set-contains? set-empty? set-disjoint? set-member set-element-comparator
   set-adjoin set-adjoin! set-replace set-replace! set-delete set-delete! set-delete-all
   set-delete-all! set-search! set-size set-find set-count set-any? set-every?
   set-map set-for-each set-fold set-filter set-filter! set-remove set-remove!
   set-partition set-partition! set-copy set->list list->set list->set!
   set=? set<? set>? set<=? set>=?
   set-union set-intersection set-difference set-xor
   set-union! set-intersection! set-difference! set-xor! set-comparator
   ;; Bags
   bag bag-unfold bag? bag-contains? bag-empty? bag-disjoint? bag-member bag-element-comparator
   bag-adjoin bag-adjoin! bag-replace bag-replace! bag-delete bag-delete! bag-delete-all
   bag-delete-all! bag-search! bag-size bag-find bag-count bag-any? bag-every?
   bag-map bag-for-each bag-fold bag-filter bag-filter! bag-remove bag-remove!
   bag-partition bag-partition! bag-copy bag->list list->bag list->bag!
   bag=? bag<? bag>? bag<=? bag>=?
   bag-union bag-intersection bag-difference bag-xor
   bag-union! bag-intersection! bag-difference! bag-xor! bag-comparator
   bag-sum bag-sum! bag-product bag-product! bag-unique-size bag-element-count
   bag-for-each-unique bag-fold-unique bag-increment! bag-decrement!
   bag->set set->bag set->bag! bag->alist alist->bag)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (canny data hash-tables))
  (begin

    (define-record-type <set>
      (make-set comparator table)
      set?
      (comparator comparator-of-set)
      (table set-table))

    (define-record-type <bag>
      (make-bag comparator table)
      bag?
      (comparator comparator-of-bag)
      (table bag-table))

    ;; Code that sets and bags share.

    (define (empty-table who comparator)
      (check-comparator who 1 comparator)
      (let ((same? (comparator-equality-predicate comparator)))
        (cond ((memq same? (list eq? eqv? equal? string=?)) (make-hash-table same?))
              ((comparator-hashable? comparator)
               (make-hash-table same? (comparator-hash-function comparator)))
              ((eq? same? string-ci=?) (make-hash-table same? string-ci-hash))
              (else (%type-error who 1 "comparator with a hash function" comparator)))))

    (define (check-set who position object)
      (check-argument who position set? "set" object))

    (define (check-bag who position object)
      (check-argument who position bag? "bag" object))

    (define (check-element who comparator element)
      (if (not ((comparator-type-test-predicate comparator) element))
          (error "the element is not of the comparator's type" who element)))

    (define (check-same-comparator who left right)
      (if (not (eq? left right))
          (error "the comparators differ" who left right)))

    (define (check-sets who sets)
      (let loop ((rest sets) (position 1))
        (if (pair? rest)
            (begin
              (check-set who position (car rest))
              (check-same-comparator who
                                     (comparator-of-set (car sets))
                                     (comparator-of-set (car rest)))
              (loop (cdr rest) (+ position 1))))))

    (define (check-bags who bags)
      (let loop ((rest bags) (position 1))
        (if (pair? rest)
            (begin
              (check-bag who position (car rest))
              (check-same-comparator who
                                     (comparator-of-bag (car bags))
                                     (comparator-of-bag (car rest)))
              (loop (cdr rest) (+ position 1))))))

    (define (every? wanted? list)
      (let loop ((rest list))
        (or (null? rest)
            (and (wanted? (car rest)) (loop (cdr rest))))))

    (define (any? wanted? list)
      (let loop ((rest list))
        (and (pair? rest)
             (or (and (wanted? (car rest)) #t) (loop (cdr rest))))))

    (define absent (list 'absent))

    ;; Sets.

    (define (empty-set who comparator)
      (make-set comparator (empty-table who comparator)))

    ;; An empty set like `set`.
    (define (empty-like set)
      (make-set (comparator-of-set set) (empty-table 'set (comparator-of-set set))))

    (define (elements set)
      (hash-table-keys (set-table set)))

    (define (add! who set element)
      (check-element who (comparator-of-set set) element)
      (keep! set element))

    ;; Adds an element that is known to be of the right type.
    (define (keep! set element)
      (let ((table (set-table set)))
        (if (not (hash-table-contains? table element))
            (hash-table-set! table element element))))

    (define (set comparator . elements)
      (let ((result (empty-set 'set comparator)))
        (for-each (lambda (element) (add! 'set result element)) elements)
        result))

    ;; The sample implementation puts the comparator last, the text first.
    (define (set-unfold comparator stop? mapper successor seed)
      (if (comparator? comparator)
          (let ((result (empty-set 'set-unfold comparator)))
            (let loop ((seed seed))
              (if (stop? seed)
                  result
                  (begin
                    (add! 'set-unfold result (mapper seed))
                    (loop (successor seed))))))
          (begin
            (check-argument 'set-unfold 1 (lambda (object) (comparator? seed)) "comparator"
                            comparator)
            (set-unfold seed comparator stop? mapper successor))))

    (define (list->set comparator list)
      (%apply set (cons comparator list)))

    (define (list->set! set list)
      (check-set 'list->set! 1 set)
      (for-each (lambda (element) (add! 'list->set! set element)) list)
      set)

    (define (set-copy set)
      (check-set 'set-copy 1 set)
      (copy-set set))

    (define (copy-set set)
      (make-set (comparator-of-set set) (hash-table-copy (set-table set))))

    (define (set->list set)
      (check-set 'set->list 1 set)
      (elements set))

    (define (set-element-comparator set)
      (check-set 'set-element-comparator 1 set)
      (comparator-of-set set))

    (define (set-contains? set element)
      (check-set 'set-contains? 1 set)
      (hash-table-contains? (set-table set) element))

    (define (set-empty? set)
      (check-set 'set-empty? 1 set)
      (hash-table-empty? (set-table set)))

    (define (set-size set)
      (check-set 'set-size 1 set)
      (hash-table-size (set-table set)))

    (define (set-disjoint? left right)
      (check-sets 'set-disjoint? (list left right))
      (if (> (set-size left) (set-size right))
          (set-disjoint? right left)
          (not (any? (lambda (element) (hash-table-contains? (set-table right) element))
                     (elements left)))))

    (define (set-member set element default)
      (check-set 'set-member 1 set)
      (hash-table-ref/default (set-table set) element default))

    (define (set-adjoin set . elements)
      (check-set 'set-adjoin 1 set)
      (let ((result (copy-set set)))
        (for-each (lambda (element) (add! 'set-adjoin result element)) elements)
        result))

    (define set-adjoin!
      (case-lambda
        ((set element)
         (check-set 'set-adjoin! 1 set)
         (add! 'set-adjoin! set element)
         set)
        ((set . elements)
         (check-set 'set-adjoin! 1 set)
         (for-each (lambda (element) (add! 'set-adjoin! set element)) elements)
         set)))

    (define (set-replace set element)
      (check-set 'set-replace 1 set)
      (if (hash-table-contains? (set-table set) element)
          (set-replace! (copy-set set) element)
          set))

    (define (set-replace! set element)
      (check-set 'set-replace! 1 set)
      (let ((table (set-table set)))
        (if (hash-table-delete! table element)
            (hash-table-set! table element element))
        set))

    (define (set-delete set . elements)
      (check-set 'set-delete 1 set)
      (delete-elements! (copy-set set) elements))

    (define (set-delete! set . elements)
      (check-set 'set-delete! 1 set)
      (delete-elements! set elements))

    (define (set-delete-all set elements)
      (check-set 'set-delete-all 1 set)
      (delete-elements! (copy-set set) elements))

    (define (set-delete-all! set elements)
      (check-set 'set-delete-all! 1 set)
      (delete-elements! set elements))

    (define (delete-elements! set elements)
      (for-each (lambda (element) (hash-table-delete! (set-table set) element)) elements)
      set)

    (define (set-search! set element failure success)
      (check-set 'set-search! 1 set)
      (check-procedure 'set-search! 3 failure)
      (check-procedure 'set-search! 4 success)
      (let* ((table (set-table set))
             (found (hash-table-ref/default table element absent)))
        (if (eq? found absent)
            (failure (lambda (object)
                       (add! 'set-search! set element)
                       (values set object))
                     (lambda (object) (values set object)))
            (success found
                     (lambda (new object)
                       (hash-table-delete! table found)
                       (add! 'set-search! set new)
                       (values set object))
                     (lambda (object)
                       (hash-table-delete! table found)
                       (values set object))))))

    (define (set-find wanted? set failure)
      (check-procedure 'set-find 1 wanted?)
      (check-set 'set-find 2 set)
      (let loop ((rest (elements set)))
        (cond ((null? rest) (failure))
              ((wanted? (car rest)) (car rest))
              (else (loop (cdr rest))))))

    (define (set-count wanted? set)
      (set-fold (lambda (element total) (if (wanted? element) (+ total 1) total)) 0 set))

    (define (set-any? wanted? set)
      (check-procedure 'set-any? 1 wanted?)
      (check-set 'set-any? 2 set)
      (any? wanted? (elements set)))

    (define (set-every? wanted? set)
      (check-procedure 'set-every? 1 wanted?)
      (check-set 'set-every? 2 set)
      (and (every? wanted? (elements set)) #t))

    (define (set-map comparator procedure set)
      (check-set 'set-map 3 set)
      (let ((result (empty-set 'set-map comparator)))
        (for-each (lambda (element) (add! 'set-map result (procedure element)))
                  (elements set))
        result))

    (define (set-for-each procedure set)
      (check-procedure 'set-for-each 1 procedure)
      (check-set 'set-for-each 2 set)
      (for-each procedure (elements set)))

    (define (set-fold procedure state set)
      (check-procedure 'set-fold 1 procedure)
      (check-set 'set-fold 3 set)
      (let loop ((rest (elements set)) (state state))
        (if (null? rest)
            state
            (loop (cdr rest) (procedure (car rest) state)))))

    (define (set-partition wanted? set)
      (check-procedure 'set-partition 1 wanted?)
      (check-set 'set-partition 2 set)
      (let ((in (empty-like set)) (out (empty-like set)))
        (for-each (lambda (element) (keep! (if (wanted? element) in out) element))
                  (elements set))
        (values in out)))

    (define (set-filter wanted? set)
      (let-values (((in out) (set-partition wanted? set)))
        in))

    (define (set-remove unwanted? set)
      (let-values (((in out) (set-partition unwanted? set)))
        out))

    (define (set-filter! wanted? set)
      (set-remove! (lambda (element) (not (wanted? element))) set))

    (define (set-remove! unwanted? set)
      (check-procedure 'set-remove! 1 unwanted?)
      (check-set 'set-remove! 2 set)
      (for-each (lambda (element)
                  (if (unwanted? element)
                      (hash-table-delete! (set-table set) element)))
                (elements set))
      set)

    (define (set-partition! wanted? set)
      (check-procedure 'set-partition! 1 wanted?)
      (check-set 'set-partition! 2 set)
      (let ((out (empty-like set)))
        (for-each (lambda (element)
                    (if (not (wanted? element))
                        (begin
                          (hash-table-delete! (set-table set) element)
                          (keep! out element))))
                  (elements set))
        (values set out)))

    (define (subset? left right)
      (every? (lambda (element) (hash-table-contains? (set-table right) element))
              (elements left)))

    (define (same-set? left right)
      (and (= (set-size left) (set-size right)) (subset? left right)))

    (define (proper-subset? left right)
      (and (< (set-size left) (set-size right)) (subset? left right)))

    (define (holds-for-neighbours? relation first rest)
      (or (null? rest)
          (and (relation first (car rest))
               (holds-for-neighbours? relation (car rest) (cdr rest)))))

    (define (set=? set . sets)
      (check-sets 'set=? (cons set sets))
      (holds-for-neighbours? same-set? set sets))

    (define (set<? set . sets)
      (check-sets 'set<? (cons set sets))
      (holds-for-neighbours? proper-subset? set sets))

    (define (set>? set . sets)
      (check-sets 'set>? (cons set sets))
      (holds-for-neighbours? (lambda (left right) (proper-subset? right left)) set sets))

    (define (set<=? set . sets)
      (check-sets 'set<=? (cons set sets))
      (holds-for-neighbours? subset? set sets))

    (define (set>=? set . sets)
      (check-sets 'set>=? (cons set sets))
      (holds-for-neighbours? (lambda (left right) (subset? right left)) set sets))

    (define (union! set sets)
      (for-each (lambda (other)
                  (if (not (eq? other set))
                      (for-each (lambda (element) (keep! set element)) (elements other))))
                sets)
      set)

    (define (intersection! set sets)
      (for-each (lambda (element)
                  (if (not (every? (lambda (other)
                                     (hash-table-contains? (set-table other) element))
                                   sets))
                      (hash-table-delete! (set-table set) element)))
                (elements set))
      set)

    (define (difference! set sets)
      (for-each (lambda (other) (delete-elements! set (elements other))) sets)
      set)

    (define (xor! left right)
      (let ((table (set-table left)))
        (for-each (lambda (element)
                    (if (not (hash-table-delete! table element))
                        (hash-table-set! table element element)))
                  (elements right))
        left))

    (define (set-union set . sets)
      (check-sets 'set-union (cons set sets))
      (union! (copy-set set) sets))

    (define (set-union! set . sets)
      (check-sets 'set-union! (cons set sets))
      (union! set sets))

    (define (set-intersection set . sets)
      (check-sets 'set-intersection (cons set sets))
      (intersection! (copy-set set) sets))

    (define (set-intersection! set . sets)
      (check-sets 'set-intersection! (cons set sets))
      (intersection! set sets))

    (define (set-difference set . sets)
      (check-sets 'set-difference (cons set sets))
      (difference! (copy-set set) sets))

    (define (set-difference! set . sets)
      (check-sets 'set-difference! (cons set sets))
      (difference! set sets))

    (define (set-xor left right)
      (check-sets 'set-xor (list left right))
      (xor! (copy-set left) right))

    (define (set-xor! left right)
      (check-sets 'set-xor! (list left right))
      (xor! left right))

    ;; The order of the elements does not matter to a sum.
    (define (hash-set set)
      (let ((element-hash (comparator-hash-function (comparator-of-set set))))
        (set-fold (lambda (element state)
                    (bitwise-xor state (hash (element-hash element))))
                  (set-size set)
                  set)))

    (define set-comparator
      (make-comparator set? (lambda (left right) (set=? left right)) #f hash-set))

    ;; Bags.

    (define (empty-bag who comparator)
      (make-bag comparator (empty-table who comparator)))

    (define (empty-bag-like bag)
      (empty-bag 'bag (comparator-of-bag bag)))

    ;; A list of pairs of a unique element and its count.
    (define (counts bag)
      (hash-table-values (bag-table bag)))

    (define (count-of bag element)
      (cdr (hash-table-ref/default (bag-table bag) element '(#f . 0))))

    (define (set-count! bag element count)
      (let ((table (bag-table bag)))
        (if (> count 0)
            (let ((found (hash-table-ref/default table element #f)))
              (hash-table-set! table element (cons (if found (car found) element) count)))
            (hash-table-delete! table element))))

    (define (increase! bag element count)
      (set-count! bag element (+ (count-of bag element) count)))

    (define (add-to-bag! who bag element)
      (check-element who (comparator-of-bag bag) element)
      (increase! bag element 1))

    (define (bag comparator . elements)
      (let ((result (empty-bag 'bag comparator)))
        (for-each (lambda (element) (add-to-bag! 'bag result element)) elements)
        result))

    (define (bag-unfold comparator stop? mapper successor seed)
      (if (comparator? comparator)
          (let ((result (empty-bag 'bag-unfold comparator)))
            (let loop ((seed seed))
              (if (stop? seed)
                  result
                  (begin
                    (add-to-bag! 'bag-unfold result (mapper seed))
                    (loop (successor seed))))))
          (begin
            (check-argument 'bag-unfold 1 (lambda (object) (comparator? seed)) "comparator"
                            comparator)
            (bag-unfold seed comparator stop? mapper successor))))

    (define (list->bag comparator list)
      (%apply bag (cons comparator list)))

    (define (list->bag! bag list)
      (check-bag 'list->bag! 1 bag)
      (for-each (lambda (element) (add-to-bag! 'list->bag! bag element)) list)
      bag)

    (define (copy-bag bag)
      (make-bag (comparator-of-bag bag) (hash-table-copy (bag-table bag))))

    (define (bag-copy bag)
      (check-bag 'bag-copy 1 bag)
      (copy-bag bag))

    (define (bag->list bag)
      (check-bag 'bag->list 1 bag)
      (bag-fold cons '() bag))

    (define (bag-element-comparator bag)
      (check-bag 'bag-element-comparator 1 bag)
      (comparator-of-bag bag))

    (define (bag-contains? bag element)
      (check-bag 'bag-contains? 1 bag)
      (hash-table-contains? (bag-table bag) element))

    (define (bag-empty? bag)
      (check-bag 'bag-empty? 1 bag)
      (hash-table-empty? (bag-table bag)))

    (define (bag-size bag)
      (check-bag 'bag-size 1 bag)
      (let loop ((rest (counts bag)) (total 0))
        (if (null? rest)
            total
            (loop (cdr rest) (+ total (cdar rest))))))

    (define (bag-unique-size bag)
      (check-bag 'bag-unique-size 1 bag)
      (hash-table-size (bag-table bag)))

    (define (bag-element-count bag element)
      (check-bag 'bag-element-count 1 bag)
      (count-of bag element))

    (define (bag-disjoint? left right)
      (check-bags 'bag-disjoint? (list left right))
      (not (any? (lambda (element) (hash-table-contains? (bag-table right) element))
                 (hash-table-keys (bag-table left)))))

    (define (bag-member bag element default)
      (check-bag 'bag-member 1 bag)
      (let ((found (hash-table-ref/default (bag-table bag) element #f)))
        (if found (car found) default)))

    (define (bag-adjoin bag . elements)
      (check-bag 'bag-adjoin 1 bag)
      (%apply bag-adjoin! (cons (copy-bag bag) elements)))

    (define (bag-adjoin! bag . elements)
      (check-bag 'bag-adjoin! 1 bag)
      (for-each (lambda (element) (add-to-bag! 'bag-adjoin! bag element)) elements)
      bag)

    (define (bag-replace bag element)
      (check-bag 'bag-replace 1 bag)
      (if (hash-table-contains? (bag-table bag) element)
          (bag-replace! (copy-bag bag) element)
          bag))

    (define (bag-replace! bag element)
      (check-bag 'bag-replace! 1 bag)
      (let* ((table (bag-table bag))
             (count (count-of bag element)))
        (if (hash-table-delete! table element)
            (hash-table-set! table element (cons element count)))
        bag))

    (define (decrease-all! bag elements)
      (for-each (lambda (element) (increase! bag element -1)) elements)
      bag)

    (define (bag-delete bag . elements)
      (check-bag 'bag-delete 1 bag)
      (decrease-all! (copy-bag bag) elements))

    (define (bag-delete! bag . elements)
      (check-bag 'bag-delete! 1 bag)
      (decrease-all! bag elements))

    (define (bag-delete-all bag elements)
      (check-bag 'bag-delete-all 1 bag)
      (decrease-all! (copy-bag bag) elements))

    (define (bag-delete-all! bag elements)
      (check-bag 'bag-delete-all! 1 bag)
      (decrease-all! bag elements))

    (define (bag-search! bag element failure success)
      (check-bag 'bag-search! 1 bag)
      (check-procedure 'bag-search! 3 failure)
      (check-procedure 'bag-search! 4 success)
      (let ((found (hash-table-ref/default (bag-table bag) element #f)))
        (if found
            (success (car found)
                     (lambda (new object)
                       (increase! bag (car found) -1)
                       (add-to-bag! 'bag-search! bag new)
                       (values bag object))
                     (lambda (object)
                       (increase! bag (car found) -1)
                       (values bag object)))
            (failure (lambda (object)
                       (add-to-bag! 'bag-search! bag element)
                       (values bag object))
                     (lambda (object) (values bag object))))))

    (define (bag-find wanted? bag failure)
      (check-procedure 'bag-find 1 wanted?)
      (check-bag 'bag-find 2 bag)
      (let loop ((rest (counts bag)))
        (cond ((null? rest) (failure))
              ((wanted? (caar rest)) (caar rest))
              (else (loop (cdr rest))))))

    (define (bag-count wanted? bag)
      (bag-fold (lambda (element total) (if (wanted? element) (+ total 1) total)) 0 bag))

    (define (bag-any? wanted? bag)
      (check-procedure 'bag-any? 1 wanted?)
      (check-bag 'bag-any? 2 bag)
      (any? wanted? (bag->list bag)))

    (define (bag-every? wanted? bag)
      (check-procedure 'bag-every? 1 wanted?)
      (check-bag 'bag-every? 2 bag)
      (and (every? wanted? (bag->list bag)) #t))

    (define (bag-map comparator procedure bag)
      (check-bag 'bag-map 3 bag)
      (let ((result (empty-bag 'bag-map comparator)))
        (bag-for-each (lambda (element) (add-to-bag! 'bag-map result (procedure element))) bag)
        result))

    (define (bag-for-each procedure bag)
      (check-procedure 'bag-for-each 1 procedure)
      (check-bag 'bag-for-each 2 bag)
      (for-each procedure (bag->list bag)))

    (define (bag-fold procedure state bag)
      (check-procedure 'bag-fold 1 procedure)
      (check-bag 'bag-fold 3 bag)
      (let loop ((rest (counts bag)) (state state))
        (if (null? rest)
            state
            (let repeat ((count (cdar rest)) (state state))
              (if (= count 0)
                  (loop (cdr rest) state)
                  (repeat (- count 1) (procedure (caar rest) state)))))))

    (define (bag-for-each-unique procedure bag)
      (check-procedure 'bag-for-each-unique 1 procedure)
      (check-bag 'bag-for-each-unique 2 bag)
      (for-each (lambda (entry) (procedure (car entry) (cdr entry))) (counts bag)))

    (define (bag-fold-unique procedure state bag)
      (check-procedure 'bag-fold-unique 1 procedure)
      (check-bag 'bag-fold-unique 3 bag)
      (let loop ((rest (counts bag)) (state state))
        (if (null? rest)
            state
            (loop (cdr rest) (procedure (caar rest) (cdar rest) state)))))

    (define (bag-partition wanted? bag)
      (check-procedure 'bag-partition 1 wanted?)
      (check-bag 'bag-partition 2 bag)
      (let ((in (empty-bag-like bag)) (out (empty-bag-like bag)))
        (bag-for-each (lambda (element) (increase! (if (wanted? element) in out) element 1)) bag)
        (values in out)))

    (define (bag-filter wanted? bag)
      (let-values (((in out) (bag-partition wanted? bag)))
        in))

    (define (bag-remove unwanted? bag)
      (let-values (((in out) (bag-partition unwanted? bag)))
        out))

    (define (replace-contents! bag other)
      (let ((table (bag-table bag)))
        (hash-table-clear! table)
        (hash-table-merge! table (bag-table other))
        bag))

    (define (bag-filter! wanted? bag)
      (replace-contents! bag (bag-filter wanted? bag)))

    (define (bag-remove! unwanted? bag)
      (replace-contents! bag (bag-remove unwanted? bag)))

    (define (bag-partition! wanted? bag)
      (let-values (((in out) (bag-partition wanted? bag)))
        (values (replace-contents! bag in) out)))

    (define (subbag? left right)
      (every? (lambda (entry) (<= (cdr entry) (count-of right (car entry)))) (counts left)))

    (define (same-bag? left right)
      (and (= (bag-unique-size left) (bag-unique-size right))
           (every? (lambda (entry) (= (cdr entry) (count-of right (car entry)))) (counts left))))

    (define (proper-subbag? left right)
      (and (subbag? left right) (not (same-bag? left right))))

    (define (bag=? bag . bags)
      (check-bags 'bag=? (cons bag bags))
      (holds-for-neighbours? same-bag? bag bags))

    (define (bag<? bag . bags)
      (check-bags 'bag<? (cons bag bags))
      (holds-for-neighbours? proper-subbag? bag bags))

    (define (bag>? bag . bags)
      (check-bags 'bag>? (cons bag bags))
      (holds-for-neighbours? (lambda (left right) (proper-subbag? right left)) bag bags))

    (define (bag<=? bag . bags)
      (check-bags 'bag<=? (cons bag bags))
      (holds-for-neighbours? subbag? bag bags))

    (define (bag>=? bag . bags)
      (check-bags 'bag>=? (cons bag bags))
      (holds-for-neighbours? (lambda (left right) (subbag? right left)) bag bags))

    ;; Sets the count of each element of each of `others` to what `combine` makes of the two counts.
    (define (combine-with! combine bag others)
      (for-each (lambda (other)
                  (for-each (lambda (entry)
                              (set-count! bag
                                          (car entry)
                                          (combine (count-of bag (car entry)) (cdr entry))))
                            (counts other)))
                others)
      bag)

    (define (bag-intersection-of! bag others)
      (for-each (lambda (entry)
                  (let loop ((rest others) (count (cdr entry)))
                    (if (null? rest)
                        (set-count! bag (car entry) count)
                        (loop (cdr rest) (min count (count-of (car rest) (car entry)))))))
                (counts bag))
      bag)

    (define (distance left right)
      (abs (- left right)))

    (define (bag-union bag . bags)
      (check-bags 'bag-union (cons bag bags))
      (combine-with! max (copy-bag bag) bags))

    (define (bag-union! bag . bags)
      (check-bags 'bag-union! (cons bag bags))
      (combine-with! max bag bags))

    (define (bag-sum bag . bags)
      (check-bags 'bag-sum (cons bag bags))
      (combine-with! + (copy-bag bag) bags))

    (define (bag-sum! bag . bags)
      (check-bags 'bag-sum! (cons bag bags))
      (combine-with! + bag bags))

    (define (bag-difference bag . bags)
      (check-bags 'bag-difference (cons bag bags))
      (combine-with! - (copy-bag bag) bags))

    (define (bag-difference! bag . bags)
      (check-bags 'bag-difference! (cons bag bags))
      (combine-with! - bag bags))

    (define (bag-xor left right)
      (check-bags 'bag-xor (list left right))
      (combine-with! distance (copy-bag left) (list right)))

    (define (bag-xor! left right)
      (check-bags 'bag-xor! (list left right))
      (combine-with! distance left (list right)))

    (define (bag-intersection bag . bags)
      (check-bags 'bag-intersection (cons bag bags))
      (bag-intersection-of! (copy-bag bag) bags))

    (define (bag-intersection! bag . bags)
      (check-bags 'bag-intersection! (cons bag bags))
      (bag-intersection-of! bag bags))

    (define (bag-product count bag)
      (check-bag 'bag-product 2 bag)
      (bag-product! count (copy-bag bag)))

    (define (bag-product! count bag)
      (check-index 'bag-product! 1 count)
      (check-bag 'bag-product! 2 bag)
      (for-each (lambda (entry) (set-count! bag (car entry) (* count (cdr entry))))
                (counts bag))
      bag)

    (define (bag-increment! bag element count)
      (check-bag 'bag-increment! 1 bag)
      (check-exact-integer 'bag-increment! 3 count)
      (check-element 'bag-increment! (comparator-of-bag bag) element)
      (increase! bag element count)
      bag)

    (define (bag-decrement! bag element count)
      (check-bag 'bag-decrement! 1 bag)
      (check-exact-integer 'bag-decrement! 3 count)
      (check-element 'bag-decrement! (comparator-of-bag bag) element)
      (increase! bag element (- count))
      bag)

    (define (bag->set bag)
      (check-bag 'bag->set 1 bag)
      (let ((result (empty-set 'bag->set (comparator-of-bag bag))))
        (for-each (lambda (entry) (keep! result (car entry))) (counts bag))
        result))

    (define (set->bag set)
      (check-set 'set->bag 1 set)
      (set->bag! (empty-bag 'set->bag (comparator-of-set set)) set))

    (define (set->bag! bag set)
      (check-bag 'set->bag! 1 bag)
      (check-set 'set->bag! 2 set)
      (check-same-comparator 'set->bag! (comparator-of-bag bag) (comparator-of-set set))
      (for-each (lambda (element) (increase! bag element 1)) (elements set))
      bag)

    (define (bag->alist bag)
      (check-bag 'bag->alist 1 bag)
      (%map1 (lambda (entry) (cons (car entry) (cdr entry))) (counts bag)))

    (define (alist->bag comparator alist)
      (let ((result (empty-bag 'alist->bag comparator)))
        (for-each (lambda (entry)
                    (check-element 'alist->bag comparator (car entry))
                    (increase! result (car entry) (cdr entry)))
                  alist)
        result))

    (define (hash-bag bag)
      (let ((element-hash (comparator-hash-function (comparator-of-bag bag))))
        (bag-fold-unique (lambda (element count state)
                           (bitwise-xor state (combine-hashes (element-hash element) count)))
                         (bag-unique-size bag)
                         bag)))

    (define bag-comparator
      (make-comparator bag? (lambda (left right) (bag=? left right)) #f hash-bag))))
