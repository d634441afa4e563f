;;; SRFI 228: composing comparators.

(import (scheme base) (srfi 128) (srfi 162) (srfi 228) (canny test))

(define-record-type person (make-person first last) person?
  (first person-first)
  (last person-last))

(define by-last (make-wrapper-comparator person? person-last string-ci-comparator))
(define by-first (make-wrapper-comparator person? person-first string-ci-comparator))
(define by-name (make-product-comparator by-last by-first))
(define bare (make-comparator (lambda (object) #t) equal? #f #f))

(test-group "wrapper"
  (test #t (comparator-test-type by-last (make-person "Ada" "L")))
  (test #f (comparator-test-type by-last "L"))
  (test #t (=? by-last (make-person "A" "L") (make-person "B" "l")))
  (test #t (<? by-last (make-person "A" "K") (make-person "A" "L")))
  (test (string-ci-hash "Kay") (comparator-hash by-last (make-person "A" "Kay")))
  (test #f (comparator-ordered? (make-wrapper-comparator person? person-last bare)))
  (test #f (comparator-hashable? (make-wrapper-comparator person? person-last bare)))
  (test-error (make-wrapper-comparator person? person-last 1)))

(test-group "product"
  (test #t (<? by-name (make-person "B" "K") (make-person "A" "L")))
  (test #t (<? by-name (make-person "A" "L") (make-person "B" "L")))
  (test #f (<? by-name (make-person "A" "L") (make-person "A" "L")))
  (test #f (<? by-name (make-person "A" "M") (make-person "B" "L")))
  (test #t (=? by-name (make-person "A" "L") (make-person "a" "l")))
  (test #f (comparator-test-type by-name 1))
  (test (comparator-hash by-name (make-person "A" "L"))
        (comparator-hash by-name (make-person "a" "L")))
  (test #f (comparator-ordered? (make-product-comparator by-last bare)))
  (test #f (comparator-hashable? (make-product-comparator by-last bare)))
  (test #t (=? (make-product-comparator) 1 'a))
  (test-error (make-product-comparator by-last 1)))

(test-group "sum"
  (define sum (make-sum-comparator by-name real-comparator string-comparator))
  (test #t (comparator-test-type sum 1))
  (test #f (comparator-test-type sum 'a))
  (test #t (<? sum (make-person "A" "B") 1 2 "a" "b"))
  (test #f (<? sum "a" 1))
  (test #f (=? sum "a" 1))
  (test #t (=? sum 1 1.0))
  (test (comparator-hash string-comparator "x") (comparator-hash sum "x"))
  (test-error (=? sum 'a 1))
  (test-error (<? sum 1 'a))
  (test-error (comparator-hash sum 'a))
  (test #f (comparator-ordered? (make-sum-comparator real-comparator bare)))
  (test #f (comparator-test-type (make-sum-comparator) 1)))

(test-group "base cases"
  (test #t (comparator-test-type comparator-one car))
  (test #t (=? comparator-one 1 2))
  (test #f (<? comparator-one 1 2))
  (test 0 (comparator-hash comparator-one 'x))
  (test #f (comparator-test-type comparator-zero 1))
  (test-error (=? comparator-zero 1 1))
  (test-error (<? comparator-zero 1 1))
  (test-error (comparator-hash comparator-zero 1)))

(test-finish)
