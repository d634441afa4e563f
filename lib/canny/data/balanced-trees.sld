;;; (canny data balanced-trees): persistent ordered maps as weight-balanced trees.
;;;
;;; Y. Hirai and K. Yamamoto, "Balancing weight-balanced trees" (2011). The weight of a tree is its
;;; size plus one, and no subtree weighs more than `delta` times its sibling. A single rotation is
;;; right when the inner grandchild weighs less than `gamma` times the outer one. The empty tree is
;;; #f.
;;;
;;; Keys are ordered by the procedure `less?` that each procedure takes; equal is what neither comes
;;; before the other. Everything about a key is O(log n); `tree-link` is O(log n), too, and the
;;; union and its kin O(m log (n/m + 1)).

(define-library (canny data balanced-trees)
  (export tree-size tree-ref tree-entry tree-set tree-adjoin tree-delete
          tree-fold tree-fold-right tree-fold-entries-until
          tree-first tree-last tree-delete-first tree-delete-last
          tree-before tree-after tree-split tree-link tree-concatenate tree-below tree-above
          tree-union tree-intersection tree-difference tree-xor tree-disjoint? tree-subset?
          tree-filter tree-map-values tree-from-sorted tree->generator
          node-key node-value node-left node-right)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define-record-type <node>
      (%make-node left key value right size)
      node?
      (left node-left)
      (key node-key)
      (value node-value)
      (right node-right)
      (size node-size))

    (define delta 3)
    (define gamma 2)

    (define (tree-size tree)
      (if tree (node-size tree) 0))

    (define (make-node left key value right)
      (%make-node left key value right (+ (tree-size left) (tree-size right) 1)))

    (define (weight tree)
      (+ (tree-size tree) 1))

    ;; A node of balanced trees, one of which may be too heavy by one insertion or deletion.
    (define (balance left key value right)
      (let ((left-weight (weight left)) (right-weight (weight right)))
        (cond ((> right-weight (* delta left-weight))
               (rotate-left left key value right))
              ((> left-weight (* delta right-weight))
               (rotate-right left key value right))
              (else
               (%make-node left key value right (+ left-weight right-weight -1))))))

    (define (rotate-left left key value right)
      (let ((inner (node-left right)) (outer (node-right right)))
        (if (< (weight inner) (* gamma (weight outer)))
            (make-node (make-node left key value inner)
                       (node-key right) (node-value right)
                       outer)
            (make-node (make-node left key value (node-left inner))
                       (node-key inner) (node-value inner)
                       (make-node (node-right inner) (node-key right) (node-value right) outer)))))

    (define (rotate-right left key value right)
      (let ((inner (node-right left)) (outer (node-left left)))
        (if (< (weight inner) (* gamma (weight outer)))
            (make-node outer
                       (node-key left) (node-value left)
                       (make-node inner key value right))
            (make-node (make-node outer (node-key left) (node-value left) (node-left inner))
                       (node-key inner) (node-value inner)
                       (make-node (node-right inner) key value right)))))

    ;; Access.

    ;; The node with the key, or #f.
    (define (tree-entry tree key less?)
      (let loop ((tree tree))
        (and tree
             (let ((here (node-key tree)))
               (cond ((less? key here) (loop (node-left tree)))
                     ((less? here key) (loop (node-right tree)))
                     (else tree))))))

    (define (tree-ref tree key less? default)
      (let ((node (tree-entry tree key less?)))
        (if node (node-value node) default)))

    (define (tree-set tree key value less?)
      (let insert ((tree tree))
        (if tree
            (let ((here (node-key tree)))
              (cond ((less? key here)
                     (balance (insert (node-left tree)) here (node-value tree) (node-right tree)))
                    ((less? here key)
                     (balance (node-left tree) here (node-value tree) (insert (node-right tree))))
                    (else
                     (%make-node (node-left tree) key value (node-right tree) (node-size tree)))))
            (%make-node #f key value #f 1))))

    ;; As tree-set, but an association that is there stays.
    (define (tree-adjoin tree key value less?)
      (if (tree-entry tree key less?)
          tree
          (tree-set tree key value less?)))

    (define (tree-delete tree key less?)
      (if (tree-entry tree key less?)
          (let delete ((tree tree))
            (let ((here (node-key tree)))
              (cond ((less? key here)
                     (balance (delete (node-left tree)) here (node-value tree) (node-right tree)))
                    ((less? here key)
                     (balance (node-left tree) here (node-value tree) (delete (node-right tree))))
                    (else (glue (node-left tree) (node-right tree))))))
          tree))

    ;; One tree of two balanced siblings.
    (define (glue left right)
      (cond ((not left) right)
            ((not right) left)
            ((> (node-size left) (node-size right))
             (let ((last (tree-last left)))
               (balance (tree-delete-last left) (node-key last) (node-value last) right)))
            (else
             (let ((first (tree-first right)))
               (balance left (node-key first) (node-value first) (tree-delete-first right))))))

    ;; The ends.  The tree must not be empty.

    (define (tree-first tree)
      (if (node-left tree) (tree-first (node-left tree)) tree))

    (define (tree-last tree)
      (if (node-right tree) (tree-last (node-right tree)) tree))

    (define (tree-delete-first tree)
      (if (node-left tree)
          (balance (tree-delete-first (node-left tree))
                   (node-key tree) (node-value tree)
                   (node-right tree))
          (node-right tree)))

    (define (tree-delete-last tree)
      (if (node-right tree)
          (balance (node-left tree)
                   (node-key tree) (node-value tree)
                   (tree-delete-last (node-right tree)))
          (node-left tree)))

    ;; The node of the greatest key before `key`, or the least after it; or #f.

    (define (tree-before tree key less?)
      (let loop ((tree tree) (best #f))
        (cond ((not tree) best)
              ((less? (node-key tree) key) (loop (node-right tree) tree))
              (else (loop (node-left tree) best)))))

    (define (tree-after tree key less?)
      (let loop ((tree tree) (best #f))
        (cond ((not tree) best)
              ((less? key (node-key tree)) (loop (node-left tree) tree))
              (else (loop (node-right tree) best)))))

    ;; Walks.

    (define (tree-fold procedure state tree)
      (let loop ((tree tree) (state state))
        (if tree
            (loop (node-right tree)
                  (procedure (node-key tree) (node-value tree) (loop (node-left tree) state)))
            state)))

    (define (tree-fold-right procedure state tree)
      (let loop ((tree tree) (state state))
        (if tree
            (loop (node-left tree)
                  (procedure (node-key tree) (node-value tree) (loop (node-right tree) state)))
            state)))

    ;; The first true value of `procedure` on a key and its value, in order; or #f.
    (define (tree-fold-entries-until procedure tree)
      (and tree
           (or (tree-fold-entries-until procedure (node-left tree))
               (procedure (node-key tree) (node-value tree))
               (tree-fold-entries-until procedure (node-right tree)))))

    ;; A procedure that gives the nodes in order, then #f.
    (define (tree->generator tree)
      (define (push tree stack)
        (if tree (push (node-left tree) (cons tree stack)) stack))
      (let ((stack (push tree '())))
        (lambda ()
          (and (pair? stack)
               (let ((node (car stack)))
                 (set! stack (push (node-right node) (cdr stack)))
                 node)))))

    ;; Joining and splitting.

    ;; A tree of all of `left`, the association, and all of `right`, in that order.
    (define (tree-link left key value right)
      (cond ((not left) (set-first right key value))
            ((not right) (set-last left key value))
            ((> (weight right) (* delta (weight left)))
             (balance (tree-link left key value (node-left right))
                      (node-key right) (node-value right)
                      (node-right right)))
            ((> (weight left) (* delta (weight right)))
             (balance (node-left left)
                      (node-key left) (node-value left)
                      (tree-link (node-right left) key value right)))
            (else (make-node left key value right))))

    (define (set-first tree key value)
      (if tree
          (balance (set-first (node-left tree) key value)
                   (node-key tree) (node-value tree)
                   (node-right tree))
          (%make-node #f key value #f 1)))

    (define (set-last tree key value)
      (if tree
          (balance (node-left tree)
                   (node-key tree) (node-value tree)
                   (set-last (node-right tree) key value))
          (%make-node #f key value #f 1)))

    ;; All keys of `left` come before those of `right`.
    (define (tree-concatenate left right)
      (cond ((not left) right)
            ((not right) left)
            (else
             (let ((first (tree-first right)))
               (tree-link left (node-key first) (node-value first) (tree-delete-first right))))))

    ;; The tree of what comes before the key, the node of the key or #f, and the tree of what comes
    ;; after it.
    (define (tree-split tree key less?)
      (if tree
          (let ((here (node-key tree)))
            (cond ((less? key here)
                   (let-values (((before node after) (tree-split (node-left tree) key less?)))
                     (values before
                             node
                             (tree-link after here (node-value tree) (node-right tree)))))
                  ((less? here key)
                   (let-values (((before node after) (tree-split (node-right tree) key less?)))
                     (values (tree-link (node-left tree) here (node-value tree) before)
                             node
                             after)))
                  (else (values (node-left tree) tree (node-right tree)))))
          (values #f #f #f)))

    ;; The part whose keys come before `key`, or after it; the key's own node if `inclusive?`.

    (define (tree-below tree key less? inclusive?)
      (let-values (((before node after) (tree-split tree key less?)))
        (if (and node inclusive?)
            (tree-link before (node-key node) (node-value node) #f)
            before)))

    (define (tree-above tree key less? inclusive?)
      (let-values (((before node after) (tree-split tree key less?)))
        (if (and node inclusive?)
            (tree-link #f (node-key node) (node-value node) after)
            after)))

    ;; Set operations.  `combine` gets the key and both values; the key is that of `left`.

    (define (tree-union left right less? combine)
      (cond ((not left) right)
            ((not right) left)
            (else
             (let*-values (((key) (node-key left))
                           ((before node after) (tree-split right key less?)))
               (tree-link (tree-union (node-left left) before less? combine)
                          key
                          (if node
                              (combine key (node-value left) (node-value node))
                              (node-value left))
                          (tree-union (node-right left) after less? combine))))))

    (define (tree-intersection left right less? combine)
      (if (and left right)
          (let*-values (((key) (node-key left))
                        ((before node after) (tree-split right key less?)))
            (let ((first (tree-intersection (node-left left) before less? combine))
                  (second (tree-intersection (node-right left) after less? combine)))
              (if node
                  (tree-link first key (combine key (node-value left) (node-value node)) second)
                  (tree-concatenate first second))))
          #f))

    (define (tree-difference left right less?)
      (cond ((not left) #f)
            ((not right) left)
            (else
             (let-values (((before node after) (tree-split left (node-key right) less?)))
               (tree-concatenate (tree-difference before (node-left right) less?)
                                 (tree-difference after (node-right right) less?))))))

    (define (tree-xor left right less?)
      (cond ((not left) right)
            ((not right) left)
            (else
             (let*-values (((key) (node-key left))
                           ((before node after) (tree-split right key less?)))
               (let ((first (tree-xor (node-left left) before less?))
                     (second (tree-xor (node-right left) after less?)))
                 (if node
                     (tree-concatenate first second)
                     (tree-link first key (node-value left) second)))))))

    (define (tree-disjoint? left right less?)
      (or (not left)
          (not right)
          (let-values (((before node after) (tree-split right (node-key left) less?)))
            (and (not node)
                 (tree-disjoint? (node-left left) before less?)
                 (tree-disjoint? (node-right left) after less?)))))

    ;; Whether each association of `left` is one of `right`, as to the values by `same?`.
    (define (tree-subset? left right less? same?)
      (and (<= (tree-size left) (tree-size right))
           (not (tree-fold-entries-until
                 (lambda (key value)
                   (let ((node (tree-entry right key less?)))
                     (not (and node (same? value (node-value node))))))
                 left))))

    (define (tree-filter wanted? tree)
      (if tree
          (let* ((left (tree-filter wanted? (node-left tree)))
                 (here? (wanted? (node-key tree) (node-value tree)))
                 (right (tree-filter wanted? (node-right tree))))
            (cond ((not here?) (tree-concatenate left right))
                  ((and (eq? left (node-left tree)) (eq? right (node-right tree))) tree)
                  (else (tree-link left (node-key tree) (node-value tree) right))))
          #f))

    (define (tree-map-values procedure tree)
      (and tree
           (let* ((left (tree-map-values procedure (node-left tree)))
                  (value (procedure (node-key tree) (node-value tree)))
                  (right (tree-map-values procedure (node-right tree))))
             (%make-node left (node-key tree) value right (node-size tree)))))

    ;; A tree of a list of pairs of keys and values, whose keys are in order and different.
    (define (tree-from-sorted alist)
      (let ((rest alist))
        (let build ((count (length alist)))
          (if (= count 0)
              #f
              (let* ((before (quotient (- count 1) 2))
                     (left (build before))
                     (entry (car rest)))
                (set! rest (cdr rest))
                (make-node left (car entry) (cdr entry) (build (- count before 1))))))))))
