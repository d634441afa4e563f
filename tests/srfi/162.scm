;;; SRFI 162: comparators sublibrary.

(import (scheme base) (srfi 128) (srfi 162) (canny test))

(test 3 (comparator-max real-comparator 1 3 2))
(test 1 (comparator-min real-comparator 2 1 3))
(test 1 (comparator-min real-comparator 1))
(test "c" (comparator-max-in-list string-comparator '("a" "c" "b")))
(test "a" (comparator-min-in-list string-comparator '("b" "a" "c")))
(test-error (comparator-max-in-list string-comparator '()))
(test-error (comparator-min-in-list string-comparator '()))
(test #t (<? default-comparator '() '(1)))

(for-each (lambda (comparator less greater other)
            (test #t (<? comparator less greater))
            (test #f (<? comparator greater less))
            (test #t (=? comparator less less))
            (test #t (comparator-test-type comparator less))
            (test #f (comparator-test-type comparator other))
            (test #t (exact-integer? (comparator-hash comparator less))))
          (list boolean-comparator real-comparator char-comparator char-ci-comparator
                string-comparator
                string-ci-comparator pair-comparator list-comparator vector-comparator)
          (list #f 1 #\A #\A "B" "a" '(1 . 2) '(1 2) #(9))
          (list #t 2.5 #\a #\b "a" "B" '(1 . 3) '(1 3) #(1 2))
          (list 1 'a 1 1 1 1 1 '(1 . 2) '(1)))
(test #t (=? char-ci-comparator #\a #\A))
(test (comparator-hash string-ci-comparator "AB") (comparator-hash string-ci-comparator "ab"))
(test #f (=? eq-comparator (list 1) (list 1)))
(test #f (=? eqv-comparator (list 1) (list 1)))
(test #t (=? eqv-comparator 1.5 1.5))
(test #t (=? equal-comparator (list 1) (list 1)))

(test-finish)
