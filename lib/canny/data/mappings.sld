;;; (canny data mappings): what SRFI 146 says of mappings by order and by hash alike.
;;;
;;; `define-mapping-procedures` defines the pure procedures.  The first operands are how the library
;;; that uses it does things:
;;;
;;;   (type? object)                         whether it is a mapping
;;;   (empty who comparator)                 an empty mapping, after a check of the comparator
;;;   (comparator-of mapping), (size mapping)
;;;   (lookup mapping key if-absent if-found)
;;;                                          calls `if-found` with the present key and value
;;;   (insert mapping key value), (delete mapping key)
;;;   (fold procedure state mapping)         calls (procedure key value state)
;;;   (until procedure mapping)              the first true value of (procedure key value), or #f
;;;
;;; The names that follow are those that it defines. The linear-update procedures are the pure ones.

(define-library (canny data mappings)
  (export define-mapping-procedures)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators))
  (begin

    (define (no-such-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    (define (check-key who comparator key)
      (if (not ((comparator-type-test-predicate comparator) key))
          (error "the key is not of the comparator's type" who key)))

    (define-syntax define-mapping-procedures
      (syntax-rules ()
        ((_ (type? type-name empty comparator-of size lookup insert delete fold until)
            mapping mapping-unfold mapping-contains? mapping-empty? mapping-disjoint? mapping-ref
            mapping-ref/default mapping-key-comparator mapping-adjoin mapping-set mapping-replace
            mapping-delete mapping-delete-all mapping-intern mapping-update mapping-update/default
            mapping-pop mapping-search mapping-size mapping-find mapping-count mapping-any?
            mapping-every? mapping-keys mapping-values mapping-entries mapping-map
            mapping-map->list mapping-for-each mapping-fold mapping-filter mapping-remove
            mapping-partition mapping-copy mapping->alist alist->mapping mapping=? mapping<?
            mapping>? mapping<=? mapping>=? mapping-union mapping-intersection mapping-difference
            mapping-xor alist->mapping!)
         (begin

           (define (check who position object)
             (check-argument who position type? type-name object))

           (define (check-all who position mappings)
             (let loop ((rest mappings) (position position))
               (if (pair? rest)
                   (begin
                     (check who position (car rest))
                     (if (not (eq? (comparator-of (car mappings)) (comparator-of (car rest))))
                         (error "the comparators differ" who (car mappings) (car rest)))
                     (loop (cdr rest) (+ position 1))))))

           (define (adjoin mapping key value)
             (if (has? mapping key)
                 mapping
                 (insert mapping key value)))

           (define (has? mapping key)
             (lookup mapping key (lambda () #f) (lambda (key value) #t)))

           ;; Adds keys and values, which alternate in a list, by `add`.
           (define (add-all who add mapping arguments)
             (let ((comparator (comparator-of mapping)))
               (let loop ((rest arguments) (result mapping))
                 (cond ((null? rest) result)
                       ((null? (cdr rest)) (error "a key has no value" who (car rest)))
                       (else
                        (check-key who comparator (car rest))
                        (loop (cddr rest) (add result (car rest) (cadr rest))))))))

           ;; Constructors.

           (define (mapping comparator . arguments)
             (add-all 'mapping adjoin (empty 'mapping comparator) arguments))

           (define (mapping-unfold stop? mapper successor seed comparator)
             (check-procedure 'mapping-unfold 1 stop?)
             (check-procedure 'mapping-unfold 2 mapper)
             (check-procedure 'mapping-unfold 3 successor)
             (let loop ((seed seed) (result (empty 'mapping-unfold comparator)))
               (if (stop? seed)
                   result
                   (let-values (((key value) (mapper seed)))
                     (check-key 'mapping-unfold comparator key)
                     (loop (successor seed) (adjoin result key value))))))

           ;; Predicates and accessors.

           (define (mapping-contains? mapping key)
             (check 'mapping-contains? 1 mapping)
             (has? mapping key))

           (define (mapping-empty? mapping)
             (check 'mapping-empty? 1 mapping)
             (= (size mapping) 0))

           (define (mapping-disjoint? left right)
             (check-all 'mapping-disjoint? 1 (list left right))
             (if (> (size left) (size right))
                 (mapping-disjoint? right left)
                 (not (until (lambda (key value) (has? right key)) left))))

           (define mapping-ref
             (case-lambda
               ((mapping key)
                (check 'mapping-ref 1 mapping)
                (lookup mapping key
                        (lambda () (no-such-key 'mapping-ref key))
                        (lambda (key value) value)))
               ((mapping key failure)
                (check 'mapping-ref 1 mapping)
                (lookup mapping key failure (lambda (key value) value)))
               ((mapping key failure success)
                (check 'mapping-ref 1 mapping)
                (lookup mapping key failure (lambda (key value) (success value))))))

           (define (mapping-ref/default mapping key default)
             (check 'mapping-ref/default 1 mapping)
             (lookup mapping key (lambda () default) (lambda (key value) value)))

           (define (mapping-key-comparator mapping)
             (check 'mapping-key-comparator 1 mapping)
             (comparator-of mapping))

           ;; Updates.

           (define (mapping-adjoin mapping . arguments)
             (check 'mapping-adjoin 1 mapping)
             (add-all 'mapping-adjoin adjoin mapping arguments))

           (define mapping-set
             (case-lambda
               ((mapping key value)
                (check 'mapping-set 1 mapping)
                (check-key 'mapping-set (comparator-of mapping) key)
                (insert mapping key value))
               ((mapping . arguments)
                (check 'mapping-set 1 mapping)
                (add-all 'mapping-set insert mapping arguments))))

           (define (mapping-replace mapping key value)
             (check 'mapping-replace 1 mapping)
             (if (has? mapping key)
                 (insert mapping key value)
                 mapping))

           (define (mapping-delete mapping . keys)
             (check 'mapping-delete 1 mapping)
             (delete-all mapping keys))

           (define (mapping-delete-all mapping keys)
             (check 'mapping-delete-all 1 mapping)
             (delete-all mapping keys))

           (define (delete-all mapping keys)
             (let loop ((rest keys) (result mapping))
               (if (null? rest)
                   result
                   (loop (cdr rest) (delete result (car rest))))))

           (define (mapping-intern mapping key failure)
             (check 'mapping-intern 1 mapping)
             (check-procedure 'mapping-intern 3 failure)
             (lookup mapping
                     key
                     (lambda ()
                       (let ((value (failure)))
                         (check-key 'mapping-intern (comparator-of mapping) key)
                         (values (insert mapping key value) value)))
                     (lambda (key value) (values mapping value))))

           (define mapping-update
             (case-lambda
               ((mapping key updater)
                (mapping-update mapping key updater
                                (lambda () (no-such-key 'mapping-update key))))
               ((mapping key updater failure)
                (mapping-update mapping key updater failure (lambda (value) value)))
               ((mapping key updater failure success)
                (check 'mapping-update 1 mapping)
                (check-procedure 'mapping-update 3 updater)
                (check-key 'mapping-update (comparator-of mapping) key)
                (insert mapping
                        key
                        (updater (lookup mapping key failure
                                         (lambda (key value) (success value))))))))

           (define (mapping-update/default mapping key updater default)
             (mapping-update mapping key updater (lambda () default)))

           (define mapping-pop
             (case-lambda
               ((mapping)
                (mapping-pop mapping
                             (lambda () (error "mapping-pop: the mapping is empty" mapping))))
               ((mapping failure)
                (check 'mapping-pop 1 mapping)
                (let ((entry (until cons mapping)))
                  (if entry
                      (values (delete mapping (car entry)) (car entry) (cdr entry))
                      (failure))))))

           (define (mapping-search mapping key failure success)
             (check 'mapping-search 1 mapping)
             (check-procedure 'mapping-search 3 failure)
             (check-procedure 'mapping-search 4 success)
             (lookup mapping
                     key
                     (lambda ()
                       (failure (lambda (value object)
                                  (check-key 'mapping-search (comparator-of mapping) key)
                                  (values (insert mapping key value) object))
                                (lambda (object) (values mapping object))))
                     (lambda (key value)
                       (success key
                                value
                                (lambda (new-key new-value object)
                                  (check-key 'mapping-search (comparator-of mapping) new-key)
                                  (values (insert (delete mapping key) new-key new-value) object))
                                (lambda (object) (values (delete mapping key) object))))))

           ;; The whole mapping.

           (define (mapping-size mapping)
             (check 'mapping-size 1 mapping)
             (size mapping))

           (define (mapping-find wanted? mapping failure)
             (check-procedure 'mapping-find 1 wanted?)
             (check 'mapping-find 2 mapping)
             (let ((entry (until (lambda (key value) (and (wanted? key value) (cons key value)))
                            mapping)))
               (if entry
                   (values (car entry) (cdr entry))
                   (failure))))

           (define (mapping-count wanted? mapping)
             (check-procedure 'mapping-count 1 wanted?)
             (check 'mapping-count 2 mapping)
             (fold (lambda (key value total) (if (wanted? key value) (+ total 1) total))
                   0
                   mapping))

           (define (mapping-any? wanted? mapping)
             (check-procedure 'mapping-any? 1 wanted?)
             (check 'mapping-any? 2 mapping)
             (and (until wanted? mapping) #t))

           (define (mapping-every? wanted? mapping)
             (check-procedure 'mapping-every? 1 wanted?)
             (check 'mapping-every? 2 mapping)
             (not (until (lambda (key value) (not (wanted? key value))) mapping)))

           (define (mapping-keys mapping)
             (check 'mapping-keys 1 mapping)
             (reverse! (fold (lambda (key value keys) (cons key keys)) '() mapping)))

           (define (mapping-values mapping)
             (check 'mapping-values 1 mapping)
             (reverse! (fold (lambda (key value values) (cons value values)) '() mapping)))

           (define (mapping-entries mapping)
             (values (mapping-keys mapping) (mapping-values mapping)))

           (define (mapping-map procedure comparator mapping)
             (check-procedure 'mapping-map 1 procedure)
             (check 'mapping-map 3 mapping)
             (fold (lambda (key value result)
                     (let-values (((key value) (procedure key value)))
                       (check-key 'mapping-map comparator key)
                       (adjoin result key value)))
                   (empty 'mapping-map comparator)
                   mapping))

           (define (mapping-map->list procedure mapping)
             (check-procedure 'mapping-map->list 1 procedure)
             (check 'mapping-map->list 2 mapping)
             (reverse (fold (lambda (key value results) (cons (procedure key value) results))
                            '()
                            mapping)))

           (define (mapping-for-each procedure mapping)
             (check-procedure 'mapping-for-each 1 procedure)
             (check 'mapping-for-each 2 mapping)
             (until (lambda (key value)
                      (procedure key value)
                      #f)
               mapping)
             (void))

           (define (mapping-fold procedure state mapping)
             (check-procedure 'mapping-fold 1 procedure)
             (check 'mapping-fold 3 mapping)
             (fold procedure state mapping))

           (define (mapping-filter wanted? mapping)
             (check-procedure 'mapping-filter 1 wanted?)
             (check 'mapping-filter 2 mapping)
             (keep wanted? mapping))

           (define (keep wanted? mapping)
             (fold (lambda (key value result)
                     (if (wanted? key value)
                         result
                         (delete result key)))
                   mapping
                   mapping))

           (define (mapping-remove unwanted? mapping)
             (check-procedure 'mapping-remove 1 unwanted?)
             (check 'mapping-remove 2 mapping)
             (keep (lambda (key value) (not (unwanted? key value))) mapping))

           (define (mapping-partition wanted? mapping)
             (check-procedure 'mapping-partition 1 wanted?)
             (check 'mapping-partition 2 mapping)
             (let ((out (empty 'mapping-partition (comparator-of mapping))))
               (let ((parts (fold (lambda (key value parts)
                                    (if (wanted? key value)
                                        parts
                                        (cons (delete (car parts) key)
                                              (insert (cdr parts) key value))))
                                  (cons mapping out)
                                  mapping)))
                 (values (car parts) (cdr parts)))))

           ;; Conversion.

           (define (mapping-copy mapping)
             (check 'mapping-copy 1 mapping)
             mapping)

           (define (mapping->alist mapping)
             (check 'mapping->alist 1 mapping)
             (reverse! (fold (lambda (key value alist) (cons (cons key value) alist))
                             '()
                             mapping)))

           (define (alist->mapping comparator alist)
             (add-alist 'alist->mapping (empty 'alist->mapping comparator) alist))

           (define (alist->mapping! mapping alist)
             (check 'alist->mapping! 1 mapping)
             (add-alist 'alist->mapping! mapping alist))

           (define (add-alist who mapping alist)
             (let ((comparator (comparator-of mapping)))
               (let loop ((rest alist) (result mapping))
                 (if (null? rest)
                     result
                     (begin
                       (check-key who comparator (caar rest))
                       (loop (cdr rest) (adjoin result (caar rest) (cdar rest))))))))

           ;; Comparison.  Mappings with different comparators are different, and in no order.

           (define (submapping? same? left right)
             (and (eq? (comparator-of left) (comparator-of right))
                  (<= (size left) (size right))
                  (not (until (lambda (key value)
                                (lookup right
                                        key
                                        (lambda () #t)
                                        (lambda (key other) (not (same? value other)))))
                         left))))

           (define-syntax define-comparison
             (syntax-rules ()
               ((_1 name (same? left right) holds)
                (define (name comparator mapping1 . mappings)
                  (check-comparator 'name 1 comparator)
                  (check 'name 2 mapping1)
                  (let ((same? (comparator-equality-predicate comparator)))
                    (let loop ((left mapping1) (rest mappings))
                      (or (null? rest)
                          (let ((right (car rest)))
                            (check 'name 3 right)
                            (and holds
                                 (loop right (cdr rest)))))))))))

           (define-comparison mapping=? (same? left right)
             (and (= (size left) (size right)) (submapping? same? left right)))
           (define-comparison mapping<? (same? left right)
             (and (< (size left) (size right)) (submapping? same? left right)))
           (define-comparison mapping>? (same? left right)
             (and (> (size left) (size right)) (submapping? same? right left)))
           (define-comparison mapping<=? (same? left right)
             (submapping? same? left right))
           (define-comparison mapping>=? (same? left right)
             (submapping? same? right left))

           ;; Set theory.

           (define (mapping-union mapping . mappings)
             (check-all 'mapping-union 1 (cons mapping mappings))
             (let loop ((rest mappings) (result mapping))
               (if (null? rest)
                   result
                   (loop (cdr rest)
                         (fold (lambda (key value result) (adjoin result key value))
                               result
                               (car rest))))))

           (define (mapping-intersection mapping . mappings)
             (check-all 'mapping-intersection 1 (cons mapping mappings))
             (keep (lambda (key value)
                     (let loop ((rest mappings))
                       (or (null? rest)
                           (and (has? (car rest) key)
                                (loop (cdr rest))))))
                   mapping))

           (define (mapping-difference mapping . mappings)
             (check-all 'mapping-difference 1 (cons mapping mappings))
             (let loop ((rest mappings) (result mapping))
               (if (null? rest)
                   result
                   (loop (cdr rest)
                         (fold (lambda (key value result) (delete result key))
                               result
                               (car rest))))))

           (define (mapping-xor left right)
             (check-all 'mapping-xor 1 (list left right))
             (fold (lambda (key value result)
                     (if (has? left key)
                         (delete result key)
                         (insert result key value)))
                   left
                   right))))))))
