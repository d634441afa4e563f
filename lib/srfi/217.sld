;;; (srfi 217): integer sets.
;;;
;;; An integer set is a weight-balanced tree whose keys are the elements. The linear-update
;;; procedures are the pure ones.

(define-library (srfi 217)
  (export iset iset-unfold make-range-iset iset? iset-contains? iset-empty? iset-disjoint?
          iset-member iset-min iset-max iset-adjoin iset-delete iset-delete-all iset-search
          iset-delete-min iset-delete-max iset-size iset-find iset-count iset-any? iset-every?
          iset-map iset-for-each iset-fold iset-fold-right iset-filter iset-remove iset-partition
          iset-copy iset->list list->iset list->iset! iset=? iset<? iset>? iset<=? iset>=?
          iset-union iset-intersection iset-difference iset-xor
          iset-open-interval iset-closed-interval iset-open-closed-interval
          iset-closed-open-interval isubset= isubset< isubset<= isubset> isubset>=
          (rename iset-adjoin iset-adjoin!) (rename iset-delete iset-delete!)
          (rename iset-delete-all iset-delete-all!) (rename iset-delete-min iset-delete-min!)
          (rename iset-delete-max iset-delete-max!) (rename iset-search iset-search!)
          (rename iset-filter iset-filter!) (rename iset-remove iset-remove!)
          (rename iset-partition iset-partition!) (rename iset-union iset-union!)
          (rename iset-intersection iset-intersection!) (rename iset-difference iset-difference!)
          (rename iset-xor iset-xor!))
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data balanced-trees))
  (begin

    (define-record-type <iset>
      (make-iset tree)
      iset?
      (tree iset-tree))

    (define (check who position object)
      (check-argument who position iset? "integer set" object))

    (define (check-all who isets)
      (let loop ((rest isets) (position 1))
        (if (pair? rest)
            (begin
              (check who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (add who tree element)
      (check-exact-integer who 1 element)
      (tree-adjoin tree element #t <))

    (define (add-all who tree elements)
      (let loop ((rest elements) (tree tree))
        (if (null? rest)
            tree
            (loop (cdr rest) (add who tree (car rest))))))

    ;; Constructors.

    (define (iset . elements)
      (make-iset (add-all 'iset #f elements)))

    (define (list->iset elements)
      (check-list 'list->iset 1 elements)
      (make-iset (add-all 'list->iset #f elements)))

    (define (list->iset! iset elements)
      (check 'list->iset! 1 iset)
      (check-list 'list->iset! 2 elements)
      (make-iset (add-all 'list->iset! (iset-tree iset) elements)))

    (define (iset-unfold stop? mapper successor seed)
      (check-procedure 'iset-unfold 1 stop?)
      (check-procedure 'iset-unfold 2 mapper)
      (check-procedure 'iset-unfold 3 successor)
      (let loop ((seed seed) (tree #f))
        (if (stop? seed)
            (make-iset tree)
            (let ((element (mapper seed)))
              (loop (successor seed) (add 'iset-unfold tree element))))))

    (define make-range-iset
      (case-lambda
        ((start end) (make-range-iset start end 1))
        ((start end step)
         (check-exact-integer 'make-range-iset 1 start)
         (check-exact-integer 'make-range-iset 2 end)
         (check-exact-integer 'make-range-iset 3 step)
         (if (= step 0)
             (%range-error 'make-range-iset 3 "the step is zero" step))
         (let ((count (max 0 (ceiling (/ (- end start) step)))))
           (let loop ((left count) (element (+ start (* step (- count 1)))) (entries '()))
             (if (= left 0)
                 (make-iset (tree-from-sorted (if (> step 0) entries (reverse entries))))
                 (loop (- left 1) (- element step) (cons (cons element #t) entries))))))))

    ;; Predicates and accessors.

    (define (iset-contains? iset element)
      (check 'iset-contains? 1 iset)
      (check-exact-integer 'iset-contains? 2 element)
      (has? iset element))

    (define (has? iset element)
      (tree-ref (iset-tree iset) element < #f))

    (define (iset-empty? iset)
      (check 'iset-empty? 1 iset)
      (not (iset-tree iset)))

    (define (iset-disjoint? left right)
      (check-all 'iset-disjoint? (list left right))
      (tree-disjoint? (iset-tree left) (iset-tree right) <))

    (define (iset-member iset element default)
      (check 'iset-member 1 iset)
      (check-exact-integer 'iset-member 2 element)
      (if (has? iset element) element default))

    (define (iset-min iset)
      (check 'iset-min 1 iset)
      (and (iset-tree iset) (node-key (tree-first (iset-tree iset)))))

    (define (iset-max iset)
      (check 'iset-max 1 iset)
      (and (iset-tree iset) (node-key (tree-last (iset-tree iset)))))

    ;; Updates.

    (define (iset-adjoin iset . elements)
      (check 'iset-adjoin 1 iset)
      (make-iset (add-all 'iset-adjoin (iset-tree iset) elements)))

    (define (iset-delete iset . elements)
      (check 'iset-delete 1 iset)
      (delete-all 'iset-delete iset elements))

    (define (iset-delete-all iset elements)
      (check 'iset-delete-all 1 iset)
      (check-list 'iset-delete-all 2 elements)
      (delete-all 'iset-delete-all iset elements))

    (define (delete-all who iset elements)
      (let loop ((rest elements) (tree (iset-tree iset)))
        (if (null? rest)
            (make-iset tree)
            (begin
              (check-exact-integer who 2 (car rest))
              (loop (cdr rest) (tree-delete tree (car rest) <))))))

    (define (check-not-empty who iset)
      (check who 1 iset)
      (if (not (iset-tree iset))
          (%range-error who 1 "the set is empty" iset)))

    (define (iset-delete-min iset)
      (check-not-empty 'iset-delete-min iset)
      (values (iset-min iset) (make-iset (tree-delete-first (iset-tree iset)))))

    (define (iset-delete-max iset)
      (check-not-empty 'iset-delete-max iset)
      (values (iset-max iset) (make-iset (tree-delete-last (iset-tree iset)))))

    (define (iset-search iset element failure success)
      (check 'iset-search 1 iset)
      (check-exact-integer 'iset-search 2 element)
      (check-procedure 'iset-search 3 failure)
      (check-procedure 'iset-search 4 success)
      (if (has? iset element)
          (success element
                   (lambda (new object)
                     (values (iset-adjoin (iset-delete iset element) new) object))
                   (lambda (object) (values (iset-delete iset element) object)))
          (failure (lambda (object) (values (iset-adjoin iset element) object))
                   (lambda (object) (values iset object)))))

    ;; The whole set.

    (define (iset-size iset)
      (check 'iset-size 1 iset)
      (tree-size (iset-tree iset)))

    (define (iset-find wanted? iset failure)
      (check-procedure 'iset-find 1 wanted?)
      (check 'iset-find 2 iset)
      (or (tree-fold-entries-until (lambda (element value) (and (wanted? element) element))
                                   (iset-tree iset))
          (failure)))

    (define (iset-count wanted? iset)
      (iset-fold (lambda (element total) (if (wanted? element) (+ total 1) total)) 0 iset))

    (define (iset-any? wanted? iset)
      (check-procedure 'iset-any? 1 wanted?)
      (check 'iset-any? 2 iset)
      (and (tree-fold-entries-until (lambda (element value) (wanted? element)) (iset-tree iset))
           #t))

    (define (iset-every? wanted? iset)
      (check-procedure 'iset-every? 1 wanted?)
      (check 'iset-every? 2 iset)
      (not (tree-fold-entries-until (lambda (element value) (not (wanted? element)))
                                    (iset-tree iset))))

    (define (iset-map procedure iset)
      (check-procedure 'iset-map 1 procedure)
      (check 'iset-map 2 iset)
      (make-iset (tree-fold (lambda (element value tree) (add 'iset-map tree (procedure element)))
                            #f
                            (iset-tree iset))))

    (define (iset-for-each procedure iset)
      (check-procedure 'iset-for-each 1 procedure)
      (check 'iset-for-each 2 iset)
      (for-each procedure (elements iset)))

    (define (elements iset)
      (tree-fold-right (lambda (element value list) (cons element list)) '() (iset-tree iset)))

    (define (iset-fold procedure state iset)
      (check-procedure 'iset-fold 1 procedure)
      (check 'iset-fold 3 iset)
      (tree-fold (lambda (element value state) (procedure element state)) state (iset-tree iset)))

    (define (iset-fold-right procedure state iset)
      (check-procedure 'iset-fold-right 1 procedure)
      (check 'iset-fold-right 3 iset)
      (tree-fold-right (lambda (element value state) (procedure element state))
                       state
                       (iset-tree iset)))

    (define (iset-filter wanted? iset)
      (check-procedure 'iset-filter 1 wanted?)
      (check 'iset-filter 2 iset)
      (make-iset (tree-filter (lambda (element value) (wanted? element)) (iset-tree iset))))

    (define (iset-remove unwanted? iset)
      (check-procedure 'iset-remove 1 unwanted?)
      (check 'iset-remove 2 iset)
      (make-iset (tree-filter (lambda (element value) (not (unwanted? element)))
                              (iset-tree iset))))

    (define (iset-partition wanted? iset)
      (let ((in (iset-filter wanted? iset)))
        (values in (make-iset (tree-difference (iset-tree iset) (iset-tree in) <)))))

    (define (iset-copy iset)
      (check 'iset-copy 1 iset)
      (make-iset (iset-tree iset)))

    (define (iset->list iset)
      (check 'iset->list 1 iset)
      (elements iset))

    ;; Subsets.

    (define (subset? left right)
      (tree-subset? (iset-tree left) (iset-tree right) < eq?))

    (define (size iset)
      (tree-size (iset-tree iset)))

    (define-syntax define-comparison
      (syntax-rules ()
        ((_ name (left right) holds)
         (define (name iset1 . isets)
           (check-all 'name (cons iset1 isets))
           (let loop ((left iset1) (rest isets))
             (or (null? rest)
                 (let ((right (car rest)))
                   (and holds
                        (loop right (cdr rest))))))))))

    (define-comparison iset=? (left right)
      (and (= (size left) (size right)) (subset? left right)))
    (define-comparison iset<? (left right)
      (and (< (size left) (size right)) (subset? left right)))
    (define-comparison iset>? (left right)
      (and (> (size left) (size right)) (subset? right left)))
    (define-comparison iset<=? (left right) (subset? left right))
    (define-comparison iset>=? (left right) (subset? right left))

    ;; Set theory.

    (define (keep-left element left right)
      left)

    (define-syntax define-operation
      (syntax-rules ()
        ((_ name (left right) tree)
         (define (name iset1 . isets)
           (check-all 'name (cons iset1 isets))
           (let loop ((left (iset-tree iset1)) (rest isets))
             (if (null? rest)
                 (make-iset left)
                 (let ((right (iset-tree (car rest))))
                   (loop tree (cdr rest)))))))))

    (define-operation iset-union (left right) (tree-union left right < keep-left))
    (define-operation iset-intersection (left right) (tree-intersection left right < keep-left))
    (define-operation iset-difference (left right) (tree-difference left right <))

    (define (iset-xor left right)
      (check-all 'iset-xor (list left right))
      (make-iset (tree-xor (iset-tree left) (iset-tree right) <)))

    ;; Intervals.

    (define-syntax define-interval
      (syntax-rules ()
        ((_ name low? high?)
         (define (name iset low high)
           (check 'name 1 iset)
           (check-exact-integer 'name 2 low)
           (check-exact-integer 'name 3 high)
           (make-iset (tree-below (tree-above (iset-tree iset) low < low?) high < high?))))))

    (define-interval iset-open-interval #f #f)
    (define-interval iset-closed-interval #t #t)
    (define-interval iset-open-closed-interval #f #t)
    (define-interval iset-closed-open-interval #t #f)

    (define-syntax define-subset
      (syntax-rules ()
        ((_ name part inclusive?)
         (define (name iset bound)
           (check 'name 1 iset)
           (check-exact-integer 'name 2 bound)
           (make-iset (part (iset-tree iset) bound < inclusive?))))))

    (define-subset isubset< tree-below #f)
    (define-subset isubset<= tree-below #t)
    (define-subset isubset> tree-above #f)
    (define-subset isubset>= tree-above #t)

    (define (isubset= set element)
      (check 'isubset= 1 set)
      (check-exact-integer 'isubset= 2 element)
      (if (has? set element) (iset element) (iset)))))
