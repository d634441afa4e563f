;;; (canny data comparators): SRFI 128 and 162, with what the SRFIs that build on them share.
;;;
;;; A comparator is a record of four procedures.  One without an ordering or a hash function has a
;;; procedure in its place that raises an error. So users of a comparator never test for #f.
;;;
;;; The default comparator orders by type first, in the order of `type-rank`. Then come registered
;;; types, in the order of registration, then all else, by a number that every object keeps while it
;;; lives. `compare` is its three-way form, and with `exactly?` that of the comparator of equal?:
;;; there 1 comes before 1.0, and registrations do not count.
;;;
;;; Hashes are the same in every run: the salt is a constant.  Hash tables of the machine use seeds
;;; of their own.

(define-library (canny data comparators)
  (export comparator? comparator-ordered? comparator-hashable?
          make-comparator make-pair-comparator make-list-comparator make-vector-comparator
          make-eq-comparator make-eqv-comparator make-equal-comparator make-default-comparator
          boolean-hash char-hash char-ci-hash string-hash string-ci-hash symbol-hash number-hash
          default-hash hash-bound hash-salt comparator-register-default!
          comparator-type-test-predicate comparator-equality-predicate
          comparator-ordering-predicate comparator-hash-function
          comparator-test-type comparator-check-type comparator-hash
          =? <? >? <=? >=? comparator-if<=>
          comparator-max comparator-min comparator-max-in-list comparator-min-in-list
          default-comparator boolean-comparator real-comparator char-comparator
          char-ci-comparator string-comparator string-ci-comparator pair-comparator
          list-comparator vector-comparator eq-comparator eqv-comparator equal-comparator
          combine-hashes check-comparator check-ordered-comparator check-hashable-comparator)
  (import (canny primitives) (canny syntax) (canny data lists) (canny machine control)
          (canny machine arguments))
  (begin

    (define-record-type comparator
      (%make-comparator type-test equality ordering hash ordered? hashable?)
      comparator?
      (type-test comparator-type-test-predicate)
      (equality comparator-equality-predicate)
      (ordering comparator-ordering-predicate)
      (hash comparator-hash-function)
      (ordered? comparator-ordered?)
      (hashable? comparator-hashable?))

    (define (no-ordering left right)
      (error "the comparator has no ordering predicate" left right))

    (define (no-hash object)
      (error "the comparator has no hash function" object))

    (define (anything? object) #t)

    ;; A type test of #t takes everything.
    (define (make-comparator type-test equality ordering hash)
      (let ((type-test (if (eq? type-test #t) anything? type-test)))
        (check-procedure 'make-comparator 1 type-test)
        (check-procedure 'make-comparator 2 equality)
        (if ordering (check-procedure 'make-comparator 3 ordering))
        (if hash (check-procedure 'make-comparator 4 hash))
        (%make-comparator type-test
                          equality
                          (or ordering no-ordering)
                          (or hash no-hash)
                          (and ordering #t)
                          (and hash #t))))

    (define (check-comparator who position object)
      (check-argument who position comparator? "comparator" object))

    (define (check-ordered-comparator who position object)
      (check-comparator who position object)
      (if (not (comparator-ordered? object))
          (%type-error who position "comparator with an ordering predicate" object)))

    (define (check-hashable-comparator who position object)
      (check-comparator who position object)
      (if (not (comparator-hashable? object))
          (%type-error who position "comparator with a hash function" object)))

    ;; Hash functions.  Each takes a bound as a second argument, for use in the tables of SRFI 69.

    (define (combine-hashes left right)
      (hash (cons left right)))

    (define (boolean-hash boolean . bound)
      (check-argument 'boolean-hash 1 boolean? "boolean" boolean)
      (%apply hash (cons boolean bound)))

    (define (char-hash char . bound)
      (check-argument 'char-hash 1 char? "character" char)
      (%apply hash (cons char bound)))

    (define (char-ci-hash char . bound)
      (check-argument 'char-ci-hash 1 char? "character" char)
      (%apply hash (cons (char-foldcase char) bound)))

    (define (number-hash number . bound)
      (check-argument 'number-hash 1 number? "number" number)
      (if (null? bound)
          (hash-number number)
          (hash (hash-number number) (car bound))))

    ;; Numbers that are = have one hash: integers that of the exact one, others that of the inexact.
    (define (hash-number number)
      (cond ((fixnum? number) (hash number))
            ((not (real? number))
             (if (zero? (imag-part number))
                 (hash-number (real-part number))
                 (combine-hashes (hash-number (real-part number))
                                 (hash-number (imag-part number)))))
            ((exact? number)
             (hash (if (integer? number) number (inexact number))))
            ((integer? number) (hash (exact number)))
            (else (hash number))))

    (define-syntax hash-bound
      (syntax-rules ()
        ((_) 1152921504606846976)))

    (define-syntax hash-salt
      (syntax-rules ()
        ((_) 2718281828)))

    ;; The default comparator.

    (define registered '#())

    (define (comparator-register-default! comparator)
      (check-comparator 'comparator-register-default! 1 comparator)
      (set! registered (vector-append registered (vector comparator))))

    (define other-rank 1000000)

    (define (type-rank object)
      (cond ((null? object) 0)
            ((pair? object) 1)
            ((boolean? object) 2)
            ((char? object) 3)
            ((string? object) 4)
            ((symbol? object) 5)
            ((number? object) 6)
            ((vector? object) 7)
            ((bytevector? object) 8)
            (else (registered-rank object))))

    (define (registered-rank object)
      (let ((count (vector-length registered)))
        (let loop ((index 0))
          (cond ((= index count) other-rank)
                (((comparator-type-test-predicate (vector-ref registered index)) object)
                 (+ 9 index))
                (else (loop (+ index 1)))))))

    (define (registered-at rank)
      (vector-ref registered (- rank 9)))

    ;; -1, 0 or 1 as `left` comes before `right`, is the same, or comes after it.
    (define (compare left right exactly?)
      (cond ((and (fixnum? left) (fixnum? right))
             (compare-by left right < =))
            ((and (string? left) (string? right))
             (compare-by left right string<? string=?))
            ((eq? left right) 0)
            ((and (symbol? left) (symbol? right))
             (if (symbol<? left right) -1 1))
            ((and (pair? left) (pair? right))
             (let ((order (compare (car left) (car right) exactly?)))
               (if (= order 0)
                   (compare (cdr left) (cdr right) exactly?)
                   order)))
            (else
             (let ((left-rank (type-rank left)) (right-rank (type-rank right)))
               (cond ((< left-rank right-rank) -1)
                     ((> left-rank right-rank) 1)
                     (else (compare-in-type left right left-rank exactly?)))))))

    (define-syntax compare-by
      (syntax-rules ()
        ((_ left right less? same?)
         (cond ((less? left right) -1)
               ((same? left right) 0)
               (else 1)))))

    (define (compare-in-type left right rank exactly?)
      (case rank
        ((2) (if left 1 -1))
        ((3) (compare-by left right char<? char=?))
        ((6) (if exactly?
                 (compare-exactly left right)
                 (compare-numbers left right)))
        ((7) (compare-vectors left right vector-length vector-ref
                              (lambda (left right) (compare left right exactly?))))
        ((8) (compare-vectors left right bytevector-length bytevector-u8-ref
                              (lambda (left right) (compare-by left right < =))))
        (else
         (if (or exactly? (= rank other-rank))
             (compare-identities left right)
             (let ((comparator (registered-at rank)))
               (cond (((comparator-equality-predicate comparator) left right) 0)
                     ;; Without an order any will do, for callers that only need equality.
                     ((not (comparator-ordered? comparator)) (compare-identities left right))
                     (((comparator-ordering-predicate comparator) left right) -1)
                     (else 1)))))))

    (define (compare-numbers left right)
      (if (and (real? left) (real? right))
          (compare-by left right < =)
          (let ((order (compare-numbers (real-part left) (real-part right))))
            (if (= order 0)
                (compare-numbers (imag-part left) (imag-part right))
                order))))

    ;; A total order that agrees with eqv?: exact numbers before their inexact ones, -0.0 before
    ;; 0.0, and NaN last.
    (define (compare-exactly left right)
      (cond ((eqv? left right) 0)
            ((not (and (real? left) (real? right)))
             (let ((order (compare-exactly (real-part left) (real-part right))))
               (if (= order 0)
                   (compare-exactly (imag-part left) (imag-part right))
                   order)))
            ((< left right) -1)
            ((> left right) 1)
            ((not (= left left)) (if (= right right) 1 0))
            ((not (= right right)) -1)
            ((and (inexact? left) (inexact? right))
             (compare-by (/ 1.0 left) (/ 1.0 right) < =))
            (else (if (exact? left) -1 1))))

    (define (compare-vectors left right length-of ref compare-elements)
      (let ((length (length-of left)) (right-length (length-of right)))
        (cond ((< length right-length) -1)
              ((> length right-length) 1)
              (else
               (let loop ((index 0))
                 (if (= index length)
                     0
                     (let ((order (compare-elements (ref left index) (ref right index))))
                       (if (= order 0)
                           (loop (+ index 1))
                           order))))))))

    (define (compare-identities left right)
      (if (eqv? left right)
          0
          (if (< (hash-by-identity left) (hash-by-identity right)) -1 1)))

    (define (default-hash object . bound)
      (if (null? bound)
          (hash-object object)
          (hash (hash-object object) (car bound))))

    (define (hash-object object)
      (cond ((fixnum? object) (hash object))
            ((string? object) (string-hash object))
            ((symbol? object) (symbol-hash object))
            ((pair? object) (hash-list object))
            ((number? object) (hash-number object))
            ((vector? object)
             (hash-elements object (vector-length object) vector-ref hash-object))
            ((or (boolean? object) (char? object) (null? object) (bytevector? object))
             (hash object))
            (else
             (let ((rank (registered-rank object)))
               (if (= rank other-rank)
                   (hash object)
                   ((comparator-hash-function (registered-at rank)) object))))))

    (define (hash-list list)
      (combine-hashes (hash-object (car list)) (hash-object (cdr list))))

    (define (hash-elements sequence length ref element-hash)
      (let loop ((index 0) (state length))
        (if (= index length)
            state
            (loop (+ index 1)
                  (combine-hashes state (element-hash (ref sequence index)))))))

    (define (default=? left right)
      (= (compare left right #f) 0))

    (define (default<? left right)
      (< (compare left right #f) 0))

    (define default-comparator
      (make-comparator anything? default=? default<? hash-object))

    (define (make-default-comparator)
      default-comparator)

    ;; Comparators of identities.  Their order lasts as long as the objects.

    (define eq-comparator
      (make-comparator anything?
                       eq?
                       (lambda (left right)
                         (and (not (eq? left right))
                              (< (hash-by-identity left) (hash-by-identity right))))
                       hash-by-identity))

    (define eqv-comparator
      (make-comparator anything?
                       eqv?
                       (lambda (left right)
                         (if (and (number? left) (number? right))
                             (< (compare-exactly left right) 0)
                             (and (not (eqv? left right))
                                  (< (hash-by-eqv left) (hash-by-eqv right)))))
                       hash-by-eqv))

    (define equal-comparator
      (make-comparator anything?
                       equal?
                       (lambda (left right)
                         (and (not (equal? left right))
                              (< (compare left right #t) 0)))
                       hash))

    (define (make-eq-comparator) eq-comparator)
    (define (make-eqv-comparator) eqv-comparator)
    (define (make-equal-comparator) equal-comparator)

    ;; Comparators made of others.  One whose parts lack an ordering or a hash lacks it too.

    (define (make-pair-comparator car-comparator cdr-comparator)
      (check-comparator 'make-pair-comparator 1 car-comparator)
      (check-comparator 'make-pair-comparator 2 cdr-comparator)
      (let ((car-type? (comparator-type-test-predicate car-comparator))
            (cdr-type? (comparator-type-test-predicate cdr-comparator))
            (car=? (comparator-equality-predicate car-comparator))
            (cdr=? (comparator-equality-predicate cdr-comparator))
            (car<? (comparator-ordering-predicate car-comparator))
            (cdr<? (comparator-ordering-predicate cdr-comparator))
            (car-hash (comparator-hash-function car-comparator))
            (cdr-hash (comparator-hash-function cdr-comparator)))
        (make-comparator
         (lambda (object)
           (and (pair? object) (car-type? (car object)) (cdr-type? (cdr object))))
         (lambda (left right)
           (and (car=? (car left) (car right)) (cdr=? (cdr left) (cdr right))))
         (and (comparator-ordered? car-comparator)
              (comparator-ordered? cdr-comparator)
              (lambda (left right)
                (if (car=? (car left) (car right))
                    (cdr<? (cdr left) (cdr right))
                    (car<? (car left) (car right)))))
         (and (comparator-hashable? car-comparator)
              (comparator-hashable? cdr-comparator)
              (lambda (pair)
                (combine-hashes (car-hash (car pair)) (cdr-hash (cdr pair))))))))

    (define make-list-comparator
      (case-lambda
        ((element) (make-list-comparator element list? null? car cdr))
        ((element type-test empty? head tail)
         (check-comparator 'make-list-comparator 1 element)
         (check-procedure 'make-list-comparator 2 type-test)
         (check-procedure 'make-list-comparator 3 empty?)
         (check-procedure 'make-list-comparator 4 head)
         (check-procedure 'make-list-comparator 5 tail)
         (let ((element-type? (comparator-type-test-predicate element))
               (element=? (comparator-equality-predicate element))
               (element<? (comparator-ordering-predicate element))
               (element-hash (comparator-hash-function element)))
           (make-comparator
            (lambda (object)
              (and (type-test object)
                   (let loop ((rest object))
                     (or (empty? rest)
                         (and (element-type? (head rest)) (loop (tail rest)))))))
            (lambda (left right)
              (let loop ((left left) (right right))
                (cond ((empty? left) (empty? right))
                      ((empty? right) #f)
                      ((element=? (head left) (head right)) (loop (tail left) (tail right)))
                      (else #f))))
            (and (comparator-ordered? element)
                 (lambda (left right)
                   (let loop ((left left) (right right))
                     (cond ((empty? right) #f)
                           ((empty? left) #t)
                           ((element=? (head left) (head right)) (loop (tail left) (tail right)))
                           (else (element<? (head left) (head right)))))))
            (and (comparator-hashable? element)
                 (lambda (list)
                   (let loop ((rest list) (state 0))
                     (if (empty? rest)
                         state
                         (loop (tail rest)
                               (combine-hashes state (element-hash (head rest)))))))))))))

    (define make-vector-comparator
      (case-lambda
        ((element) (make-vector-comparator element vector? vector-length vector-ref))
        ((element type-test length-of ref)
         (check-comparator 'make-vector-comparator 1 element)
         (check-procedure 'make-vector-comparator 2 type-test)
         (check-procedure 'make-vector-comparator 3 length-of)
         (check-procedure 'make-vector-comparator 4 ref)
         (let* ((element-type? (comparator-type-test-predicate element))
                (element=? (comparator-equality-predicate element))
                (element<? (comparator-ordering-predicate element))
                (element-hash (comparator-hash-function element))
                (compare-elements (lambda (left right)
                                    (compare-by left right element<? element=?))))
           (make-comparator
            (lambda (object)
              (and (type-test object)
                   (let ((length (length-of object)))
                     (let loop ((index 0))
                       (or (= index length)
                           (and (element-type? (ref object index)) (loop (+ index 1))))))))
            (lambda (left right)
              (let ((length (length-of left)))
                (and (= length (length-of right))
                     (let loop ((index 0))
                       (or (= index length)
                           (and (element=? (ref left index) (ref right index))
                                (loop (+ index 1))))))))
            (and (comparator-ordered? element)
                 (lambda (left right)
                   (< (compare-vectors left right length-of ref compare-elements) 0)))
            (and (comparator-hashable? element)
                 (lambda (vector)
                   (hash-elements vector (length-of vector) ref element-hash))))))))

    (define boolean-comparator
      (make-comparator boolean? boolean=? (lambda (left right) (and (not left) right))
                       boolean-hash))
    (define real-comparator (make-comparator real? = < hash-number))
    (define char-comparator (make-comparator char? char=? char<? char-hash))
    (define char-ci-comparator (make-comparator char? char-ci=? char-ci<? char-ci-hash))
    (define string-comparator (make-comparator string? string=? string<? string-hash))
    (define string-ci-comparator
      (make-comparator string? string-ci=? string-ci<? string-ci-hash))
    (define pair-comparator (make-pair-comparator default-comparator default-comparator))
    (define list-comparator (make-list-comparator default-comparator))
    (define vector-comparator (make-vector-comparator default-comparator))

    ;; Use.

    (define (comparator-test-type comparator object)
      ((comparator-type-test-predicate comparator) object))

    (define (comparator-check-type comparator object)
      (if (comparator-test-type comparator object)
          #t
          (error "comparator-check-type: the object does not have the comparator's type" object)))

    (define (comparator-hash comparator object)
      ((comparator-hash-function comparator) object))

    ;; Defines a predicate of two or more objects that must hold for all neighbours.
    (define-syntax define-comparison
      (syntax-rules ()
        ((_ name (accessor same-or-less?) (left right) holds)
         (define name
           (case-lambda
             ((comparator left right)
              (let ((same-or-less? (accessor comparator)))
                holds))
             ((comparator object1 . objects)
              (let ((same-or-less? (accessor comparator)))
                (let loop ((left object1) (rest objects))
                  (or (null? rest)
                      (let ((right (car rest)))
                        (and holds
                             (loop right (cdr rest)))))))))))))

    (define-comparison =? (comparator-equality-predicate same?) (left right) (same? left right))
    (define-comparison <? (comparator-ordering-predicate less?) (left right) (less? left right))
    (define-comparison >? (comparator-ordering-predicate less?) (left right) (less? right left))
    (define-comparison <=? (comparator-ordering-predicate less?) (left right)
      (not (less? right left)))
    (define-comparison >=? (comparator-ordering-predicate less?) (left right)
      (not (less? left right)))

    (define-syntax comparator-if<=>
      (syntax-rules ()
        ((_ object1 object2 less same greater)
         (comparator-if<=> default-comparator object1 object2 less same greater))
        ((_ comparator object1 object2 less same greater)
         (let ((c comparator) (left object1) (right object2))
           (cond ((<? c left right) less)
                 ((=? c left right) same)
                 (else greater))))))

    (define (comparator-max comparator object . objects)
      (choose comparator object objects #t))

    (define (comparator-min comparator object . objects)
      (choose comparator object objects #f))

    (define (comparator-max-in-list comparator list)
      (check-argument 'comparator-max-in-list 2 pair? "non-empty list" list)
      (choose comparator (car list) (cdr list) #t))

    (define (comparator-min-in-list comparator list)
      (check-argument 'comparator-min-in-list 2 pair? "non-empty list" list)
      (choose comparator (car list) (cdr list) #f))

    ;; The first of the greatest or least objects.
    (define (choose comparator object objects greatest?)
      (let ((less? (comparator-ordering-predicate comparator)))
        (let loop ((best object) (rest objects))
          (cond ((null? rest) best)
                ((if greatest? (less? best (car rest)) (less? (car rest) best))
                 (loop (car rest) (cdr rest)))
                (else (loop best (cdr rest)))))))))
