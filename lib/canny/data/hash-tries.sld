;;; (canny data hash-tries): persistent hash maps as hash array mapped tries.
;;;
;;; P. Bagwell, "Ideal Hash Trees" (2001). A trie is #f, a leaf, a branch, or a bucket of leaves
;;; with one hash. A branch at depth d has a child for each value of the hash's bits from 5d on that
;;; occurs. Its bitmap says which, and its children are in a vector in the order of these values.
;;; Branches know how many associations they have.
;;;
;;; Hashes are cut to 60 bits.  Each procedure takes the hash of its key, and the equality of keys.

(define-library (canny data hash-tries)
  (export trie-size trie-entry trie-set trie-delete trie-fold trie-until trie-hash
          leaf-key leaf-value)
  (import (canny primitives) (canny syntax) (canny machine control))
  (begin

    (define-record-type <leaf>
      (make-leaf hash key value)
      leaf?
      (hash leaf-hash)
      (key leaf-key)
      (value leaf-value))

    (define-record-type <bucket>
      (make-bucket hash leaves)
      bucket?
      (hash bucket-hash)
      (leaves bucket-leaves))

    (define-record-type <branch>
      (make-branch bitmap children size)
      branch?
      (bitmap branch-bitmap)
      (children branch-children)
      (size branch-size))

    (define hash-mask (- (arithmetic-shift 1 60) 1))

    ;; A hash as tries want it.
    (define (trie-hash hash)
      (bitwise-and hash hash-mask))

    (define (trie-size trie)
      (cond ((branch? trie) (branch-size trie))
            ((leaf? trie) 1)
            (trie (length (bucket-leaves trie)))
            (else 0)))

    (define (bit-of hash depth)
      (arithmetic-shift 1 (bitwise-and (arithmetic-shift hash (* -5 depth)) 31)))

    ;; The index of the bit's child, or its index if it were there.
    (define (position bitmap bit)
      (bit-count (bitwise-and bitmap (- bit 1))))

    (define (find-leaf leaves key same?)
      (cond ((null? leaves) #f)
            ((same? (leaf-key (car leaves)) key) (car leaves))
            (else (find-leaf (cdr leaves) key same?))))

    ;; The leaf of the key, or #f.
    (define (trie-entry trie hash key same?)
      (let loop ((trie trie) (depth 0))
        (cond ((branch? trie)
               (let ((bit (bit-of hash depth)) (bitmap (branch-bitmap trie)))
                 (if (= (bitwise-and bitmap bit) 0)
                     #f
                     (loop (vector-ref (branch-children trie) (position bitmap bit))
                           (+ depth 1)))))
              ((leaf? trie)
               (and (= (leaf-hash trie) hash) (same? (leaf-key trie) key) trie))
              (trie
               (and (= (bucket-hash trie) hash) (find-leaf (bucket-leaves trie) key same?)))
              (else #f))))

    (define (vector-with vector index object)
      (let ((copy (vector-copy vector)))
        (vector-set! copy index object)
        copy))

    (define (vector-insert vector index object)
      (let* ((length (vector-length vector))
             (copy (make-vector (+ length 1) object)))
        (vector-copy! copy 0 vector 0 index)
        (vector-copy! copy (+ index 1) vector index length)
        copy))

    (define (vector-remove vector index)
      (let* ((length (vector-length vector))
             (copy (make-vector (- length 1) #f)))
        (vector-copy! copy 0 vector 0 index)
        (vector-copy! copy index vector (+ index 1) length)
        copy))

    (define (trie-set trie hash key value same?)
      (let ((leaf (make-leaf hash key value)))
        (let insert ((trie trie) (depth 0))
          (cond ((branch? trie)
                 (let* ((bit (bit-of hash depth))
                        (bitmap (branch-bitmap trie))
                        (children (branch-children trie))
                        (index (position bitmap bit)))
                   (if (= (bitwise-and bitmap bit) 0)
                       (make-branch (bitwise-ior bitmap bit)
                                    (vector-insert children index leaf)
                                    (+ (branch-size trie) 1))
                       (let* ((child (vector-ref children index))
                              (new (insert child (+ depth 1))))
                         (make-branch bitmap
                                      (vector-with children index new)
                                      (+ (branch-size trie)
                                         (- (trie-size new) (trie-size child))))))))
                ((not trie) leaf)
                ((leaf? trie)
                 (cond ((not (= (leaf-hash trie) hash))
                        (fork trie (leaf-hash trie) leaf hash depth))
                       ((same? (leaf-key trie) key) leaf)
                       (else (make-bucket hash (list leaf trie)))))
                ((= (bucket-hash trie) hash)
                 (let ((old (find-leaf (bucket-leaves trie) key same?)))
                   (make-bucket hash
                                (cons leaf (if old
                                               (delq old (bucket-leaves trie))
                                               (bucket-leaves trie))))))
                (else (fork trie (bucket-hash trie) leaf hash depth))))))

    ;; A branch of two tries with different hashes.
    (define (fork left left-hash right right-hash depth)
      (let ((left-bit (bit-of left-hash depth)) (right-bit (bit-of right-hash depth)))
        (if (= left-bit right-bit)
            (let ((child (fork left left-hash right right-hash (+ depth 1))))
              (make-branch left-bit (vector child) (branch-size child)))
            (make-branch (bitwise-ior left-bit right-bit)
                         (if (< left-bit right-bit) (vector left right) (vector right left))
                         (+ (trie-size left) (trie-size right))))))

    ;; The same trie when it does not have the key.
    (define (trie-delete trie hash key same?)
      (if (trie-entry trie hash key same?)
          (let delete ((trie trie) (depth 0))
            (cond ((branch? trie)
                   (let* ((bit (bit-of hash depth))
                          (bitmap (branch-bitmap trie))
                          (children (branch-children trie))
                          (index (position bitmap bit))
                          (new (delete (vector-ref children index) (+ depth 1))))
                     (shrink (if new
                                 (make-branch bitmap
                                              (vector-with children index new)
                                              (- (branch-size trie) 1))
                                 (make-branch (bitwise-xor bitmap bit)
                                              (vector-remove children index)
                                              (- (branch-size trie) 1))))))
                  ((leaf? trie) #f)
                  (else
                   (let ((leaves (delq (find-leaf (bucket-leaves trie) key same?)
                                       (bucket-leaves trie))))
                     (if (null? (cdr leaves))
                         (car leaves)
                         (make-bucket hash leaves))))))
          trie))

    ;; A branch with a single leaf or bucket is replaced by that.
    (define (shrink branch)
      (let ((children (branch-children branch)))
        (cond ((= (vector-length children) 0) #f)
              ((and (= (vector-length children) 1)
                    (not (branch? (vector-ref children 0))))
               (vector-ref children 0))
              (else branch))))

    (define (trie-fold procedure state trie)
      (let loop ((trie trie) (state state))
        (cond ((branch? trie)
               (let* ((children (branch-children trie)) (length (vector-length children)))
                 (let over ((index 0) (state state))
                   (if (= index length)
                       state
                       (over (+ index 1) (loop (vector-ref children index) state))))))
              ((leaf? trie) (procedure (leaf-key trie) (leaf-value trie) state))
              (trie
               (let over ((leaves (bucket-leaves trie)) (state state))
                 (if (null? leaves)
                     state
                     (over (cdr leaves) (loop (car leaves) state)))))
              (else state))))

    ;; The first true value of `procedure` on a key and its value, or #f.
    (define (trie-until procedure trie)
      (let loop ((trie trie))
        (cond ((branch? trie)
               (let* ((children (branch-children trie)) (length (vector-length children)))
                 (let over ((index 0))
                   (and (< index length)
                        (or (loop (vector-ref children index))
                            (over (+ index 1)))))))
              ((leaf? trie) (procedure (leaf-key trie) (leaf-value trie)))
              (trie
               (let over ((leaves (bucket-leaves trie)))
                 (and (pair? leaves)
                      (or (loop (car leaves))
                          (over (cdr leaves))))))
              (else #f))))))
