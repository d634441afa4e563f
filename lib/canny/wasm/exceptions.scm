;;; Part of (canny wasm): tags, and exceptions of guests as conditions.
;;;
;;; The irritants of such a condition are the symbol `exception`, the tag and the list of values.
;;; If a guest has raised it, `in` and the names of the functions follow whose calls it has ended.

;; A tag names exceptions of guests. There is one object for each.
(define-record-type tag
  (new-tag %store number name)
  tag?
  (%store tag-store)
  (number tag-number)
  (name tag-name set-tag-name!))

(define (check-tag who object)
  (check-argument who 1 tag? "tag" object))

(define (tag-of store number)
  (know-tags! store)
  (vector-ref (store-tags store) number))

;; Makes the objects of tags that have none.
(define (know-tags! store)
  (let* ((known (store-tags store))
         (length (vector-length known))
         (count (%wasm-tag-count store)))
    (if (< length count)
        (let ((tags (make-vector count #f)))
          (vector-copy! tags 0 known)
          (do ((number length (+ number 1)))
              ((= number count))
            (vector-set! tags number (new-tag store number #f)))
          (set-store-tags! store tags)))))

;; Tags have the name of their first export.
(define (name-tags! store rows)
  (know-tags! store)
  (for-each (lambda (row)
              (if (= (vector-ref row 1) guest-item/tag)
                  (let ((tag (tag-of store (vector-ref row 2))))
                    (if (not (tag-name tag))
                        (set-tag-name! tag (string->symbol (vector-ref row 0)))))))
            rows))

;; A tag whose exceptions have values of these types.
(define (make-tag store types)
  (check-store 'make-tag store)
  (check-argument 'make-tag 2 list? "list of types" types)
  (tag-of store (%wasm-tag store types)))

;; The types of the values of a tag's exceptions.
(define (tag-types tag)
  (check-tag 'tag-types tag)
  (%wasm-tag-types (tag-store tag) (tag-number tag)))

;; Whether an object is an exception of a guest.
(define (guest-exception? object)
  (and (wasm-error? object)
       (let ((irritants (error-object-irritants object)))
         (and (pair? irritants) (eq? (car irritants) 'exception)))))

(define (check-exception who object)
  (check-argument who 1 guest-exception? "exception of a guest" object))

(define (guest-exception-tag object)
  (check-exception 'guest-exception-tag object)
  (cadr (error-object-irritants object)))

;; The values, with numbers in the place of functions if a guest has raised them.
(define (raw-values object)
  (caddr (error-object-irritants object)))

;; The list of the values.
(define (guest-exception-values object)
  (check-exception 'guest-exception-values object)
  (let* ((tag (guest-exception-tag object))
         (types (tag-types tag)))
    (map (lambda (type value)
           (if (and (eq? type 'funcref) (exact-nonnegative-integer? value))
               (function-of (tag-store tag) value)
               value))
         types (raw-values object))))

;; Raises an exception with a tag. If a guest has called the procedure that does so, it is the
;; guest's, unless a handler in between takes it.
(define (raise-guest-exception tag . values)
  (check-tag 'raise-guest-exception tag)
  (if (not (= (length values) (length (tag-types tag))))
      (raise (%make-condition 'wasm "an exception needs as many values as its tag has types"
                              (list tag values) 'raise-guest-exception)))
  (raise (%make-condition 'wasm "an exception was not caught" (list 'exception tag values)
                          'raise-guest-exception)))
