;;; (srfi 222): compound objects.

(define-library (srfi 222)
  (export make-compound compound? compound-subobjects compound-length compound-ref compound-map
          compound-map->list compound-filter compound-predicate compound-access)
  (import (canny syntax) (canny primitives) (only (canny data lists) map)
          (only (srfi 1) append-map filter))
  (begin

    ;; The subobjects are no compounds.
    (define-record-type compound
      (list->compound subobjects)
      compound?
      (subobjects subobjects))

    (define (make-compound . objects)
      (list->compound (append-map compound-subobjects objects)))

    (define (compound-subobjects object)
      (if (compound? object)
          (subobjects object)
          (list object)))

    (define (compound-length object)
      (if (compound? object)
          (length (subobjects object))
          1))

    (define (compound-ref object index)
      (if (not (exact-nonnegative-integer? index))
          (%type-error 'compound-ref 2 "index" index))
      (if (>= index (compound-length object))
          (%range-error 'compound-ref 2 "an index below the length" index))
      (list-ref (compound-subobjects object) index))

    (define (compound-map mapper object)
      (%apply make-compound (compound-map->list mapper object)))

    (define (compound-map->list mapper object)
      (map mapper (compound-subobjects object)))

    (define (compound-filter satisfies? object)
      (list->compound (filter satisfies? (compound-subobjects object))))

    (define (compound-predicate satisfies? object)
      (if (satisfies? object)
          #t
          (and (compound? object)
               (let loop ((rest (subobjects object)))
                 (and (pair? rest)
                      (or (if (satisfies? (car rest)) #t #f)
                          (loop (cdr rest))))))))

    (define (compound-access satisfies? accessor default object)
      (cond ((satisfies? object) (accessor object))
            ((compound? object)
             (let loop ((rest (subobjects object)))
               (cond ((null? rest) default)
                     ((satisfies? (car rest)) (accessor (car rest)))
                     (else (loop (cdr rest))))))
            (else default)))))
