;;; (srfi 228): composing comparators.
;;;
;;; A product or sum lacks an ordering or a hash function when one of its parts does.

(define-library (srfi 228)
  (export make-wrapper-comparator make-product-comparator make-sum-comparator
          comparator-one comparator-zero)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators) (only (srfi 1) every))
  (begin

    (define (make-wrapper-comparator type-test unwrap contents)
      (check-procedure 'make-wrapper-comparator 1 type-test)
      (check-procedure 'make-wrapper-comparator 2 unwrap)
      (check-comparator 'make-wrapper-comparator 3 contents)
      (let ((contents=? (comparator-equality-predicate contents))
            (contents<? (comparator-ordering-predicate contents))
            (contents-hash (comparator-hash-function contents)))
        (make-comparator
         type-test
         (lambda (left right) (contents=? (unwrap left) (unwrap right)))
         (and (comparator-ordered? contents)
              (lambda (left right) (contents<? (unwrap left) (unwrap right))))
         (and (comparator-hashable? contents)
              (lambda (object) (contents-hash (unwrap object)))))))

    (define (check-comparators who comparators)
      (let loop ((rest comparators) (position 1))
        (if (pair? rest)
            (begin
              (check-comparator who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    (define (make-product-comparator . comparators)
      (check-comparators 'make-product-comparator comparators)
      (if (null? comparators)
          comparator-one
          (make-comparator
           (lambda (object)
             (every (lambda (part) (comparator-test-type part object)) comparators))
           (lambda (left right)
             (every (lambda (part) (=? part left right)) comparators))
           (and (every comparator-ordered? comparators)
                (lambda (left right)
                  (let loop ((parts comparators))
                    (cond ((null? parts) #f)
                          ((<? (car parts) left right) #t)
                          ((=? (car parts) left right) (loop (cdr parts)))
                          (else #f)))))
           (and (every comparator-hashable? comparators)
                (lambda (object)
                  (let loop ((parts comparators) (state 0))
                    (if (null? parts)
                        state
                        (loop (cdr parts)
                              (combine-hashes state (comparator-hash (car parts) object))))))))))

    ;; The first comparators, from `comparators` on, whose type test takes the object; or ().
    (define (relevant object comparators)
      (cond ((null? comparators) '())
            ((comparator-test-type (car comparators) object) comparators)
            (else (relevant object (cdr comparators)))))

    (define (not-in-domain object)
      (error "the object is not of a type of the sum comparator" object))

    (define (relevant-or-error object comparators)
      (let ((found (relevant object comparators)))
        (if (null? found)
            (not-in-domain object)
            found)))

    (define (make-sum-comparator . comparators)
      (check-comparators 'make-sum-comparator comparators)
      (if (null? comparators)
          comparator-zero
          (make-comparator
           (lambda (object)
             (pair? (relevant object comparators)))
           (lambda (left right)
             (let ((part (relevant-or-error left comparators)))
               (and (eq? part (relevant-or-error right comparators))
                    (=? (car part) left right))))
           (and (every comparator-ordered? comparators)
                (lambda (left right)
                  (let ((left-part (relevant-or-error left comparators))
                        (right-part (relevant-or-error right comparators)))
                    (if (eq? left-part right-part)
                        (<? (car left-part) left right)
                        ;; The part further left has the longer list.
                        (> (length left-part) (length right-part))))))
           (and (every comparator-hashable? comparators)
                (lambda (object)
                  (comparator-hash (car (relevant-or-error object comparators)) object))))))

    (define comparator-one
      (make-comparator (lambda (object) #t)
                       (lambda (left right) #t)
                       (lambda (left right) #f)
                       (lambda (object) 0)))

    (define comparator-zero
      (make-comparator (lambda (object) #f)
                       (lambda (left right) (not-in-domain left))
                       (lambda (left right) (not-in-domain left))
                       not-in-domain))))
