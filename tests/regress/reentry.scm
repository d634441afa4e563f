;;; Procedures that call a procedure of the program, which captures its continuation and is entered
;;; again: what was returned before stays as it is, and nothing is lost or appears twice. Each
;;; choice is entered again with another answer, in the order of the captures or the newest first,
;;; so that the paths take turns.

(import (canny base) (canny test)
        (prefix (srfi 1) s1:) (prefix (srfi 42) s42:) (prefix (srfi 95) s95:)
        (prefix (srfi 116) s116:) (prefix (srfi 132) s132:) (prefix (srfi 133) s133:)
        (prefix (srfi 134) s134:) (prefix (srfi 151) s151:) (prefix (srfi 152) s152:)
        (prefix (srfi 158) s158:) (prefix (srfi 160 u8) u8:) (prefix (srfi 160 f64) f64:)
        (prefix (srfi 178) s178:) (prefix (srfi 196) s196:))

(define pending '())

(define (choose first second)
  (call-with-current-continuation
   (lambda (continuation)
     (set! pending (cons (cons continuation second) pending))
     first)))

(define (take-newest)
  (let ((entry (car pending)))
    (set! pending (cdr pending))
    entry))

(define (take-oldest)
  (let* ((reversed (reverse pending)) (entry (car reversed)))
    (set! pending (reverse (cdr reversed)))
    entry))

;; The results of a thunk, at most so many, with all the answers of `choose`.
(define (all-results take count-max thunk)
  (set! pending '())
  (let ((results '()))
    (let ((result (thunk)))
      (set! results (cons result results))
      (if (and (pair? pending) (< (length results) count-max))
          (let ((entry (take)))
            ((car entry) (cdr entry)))))
    results))

(define (distinct list)
  (s1:delete-duplicates list))

(define (permutation? list elements)
  (equal? (list-sort < list) elements))

;; The sorted sequence has the elements of the other, for any answers of the procedure.
(define (keeps-elements? count sort-list)
  (let ((elements (iota count)))
    (for-each
     (lambda (take)
       (let ((results (all-results take 40 (lambda () (sort-list (lambda (x y) (choose #t #f))
                                                                 elements)))))
         (test-assert (> (length results) 1))
         (test #t (every-one? (lambda (result) (permutation? result elements)) results))
         (if (= count 3)
             (test 6 (length (distinct results))))))
     (list take-newest take-oldest))))

(define (every-one? holds? list)
  (or (null? list) (and (holds? (car list)) (every-one? holds? (cdr list)))))

(define (by-vector sort)
  (lambda (less? elements) (vector->list (sort less? (list->vector elements)))))

(define (by-vector! sort!)
  (lambda (less? elements)
    (let ((vector (list->vector elements)))
      (sort! less? vector)
      (vector->list vector))))

(define (with-halves merge)
  (lambda (less? elements)
    (let ((middle (quotient (length elements) 2)))
      (merge less? (s1:take elements middle) (s1:drop elements middle)))))

(define (sort-cases count)
  (keeps-elements? count list-sort)
  (keeps-elements? count (by-vector vector-sort))
  (keeps-elements? count (by-vector! vector-sort!))
  (keeps-elements? count (lambda (less? list) (sort list less?)))
  (keeps-elements? count (lambda (less? list) (s95:sort list less?)))
  (keeps-elements? count (lambda (less? list) (s95:sort list less? (lambda (x) x))))
  (keeps-elements? count (lambda (less? list)
                           (vector->list (s95:sort! (list->vector list) less?))))
  (keeps-elements? count s132:list-stable-sort)
  (keeps-elements? count (by-vector s132:vector-stable-sort))
  (keeps-elements? count (by-vector! s132:vector-stable-sort!)))

(test-group "sorting"
  (sort-cases 3)
  (sort-cases 5)
  (sort-cases 11)
  (sort-cases 20))

(test-group "sorting twice from one comparison"
  (define again #f)
  (define returned '())
  (let* ((less? (lambda (x y)
                  (call-with-current-continuation
                   (lambda (continuation)
                     (if (and (not again) (= x 3)) (set! again continuation))
                     (< x y)))))
         (sorted (vector-sort less? (vector 9 8 7 6 5 4 3 2 1 0 12 11 10))))
    (set! returned (cons sorted returned))
    (if (< (length returned) 3)
        (again (= (length returned) 2))))
  (test '(#t #t #t)
        (map (lambda (vector) (permutation? (vector->list vector) (iota 13))) returned))
  (test #t (let loop ((index 1) (first (s1:last returned)))
             (or (= index 13)
                 (and (< (vector-ref first (- index 1)) (vector-ref first index))
                      (loop (+ index 1) first))))))

(define (merge-cases count)
  (keeps-elements? count (with-halves (lambda (less? x y) (merge x y less?))))
  (keeps-elements? count (with-halves s132:list-merge))
  (keeps-elements? count (with-halves (lambda (less? x y) (s95:merge x y less?))))
  (keeps-elements? count (with-halves
                           (lambda (less? x y)
                             (vector->list
                              (s132:vector-merge less? (list->vector x) (list->vector y))))))
  (keeps-elements? count (with-halves
                           (lambda (less? x y)
                             (let ((to (make-vector count #f)))
                               (s132:vector-merge! less? to (list->vector x) (list->vector y))
                               (vector->list to))))))

(test-group "merging"
  (for-each merge-cases '(4 11)))

;; `run` gets a procedure that answers one of two values, and calls it four times: sixteen different
;; results.
(define (makes-all? first second run)
  (for-each
   (lambda (take)
     (let ((results (all-results take 100 (lambda ()
                                            (run (lambda ignored (choose first second)))))))
       (test 16 (length results))
       (test 16 (length (distinct results)))))
   (list take-newest take-oldest)))

(define four '(1 2 3 4))

(define (four-of answer)
  (let ((left 4))
    (lambda () (if (= left 0) (eof-object) (begin (set! left (- left 1)) (answer))))))

(test-group "mapping"
  (makes-all? 0 1 (lambda (answer) (map answer four)))
  (makes-all? 0 1 (lambda (answer) (map answer four four)))
  (makes-all? 0 1 (lambda (answer) (map answer four four four)))
  (makes-all? 0 1 (lambda (answer) (vector-map answer #(1 2 3 4))))
  (makes-all? 0 1 (lambda (answer) (vector-map answer #(1 2 3 4) #(1 2 3 4))))
  (makes-all? 0 1 (lambda (answer) (vector-map answer #(1 2 3 4) #(1 2 3 4) #(1 2 3 4))))
  (makes-all? #\a #\b (lambda (answer) (string-map answer "abcd")))
  (makes-all? #\a #\b (lambda (answer) (string-map answer "abcd" "abcd")))
  (makes-all? 0 1 (lambda (answer) (s1:filter-map answer four)))
  (makes-all? '(0) '(1) (lambda (answer) (s1:append-map answer four)))
  (makes-all? 0 1 (lambda (answer) (s134:ideque->list
                                    (s134:ideque-map answer (s134:list->ideque four)))))
  (makes-all? 0 1 (lambda (answer) (s116:ilist->list (s116:imap answer (s116:iq 1 2 3 4)))))
  (makes-all? 0 1 (lambda (answer) (u8:u8vector-map answer (bytevector 1 2 3 4))))
  (makes-all? 0 1 (lambda (answer)
                    (u8:u8vector->list (u8:u8vector-cumulate answer 0 (bytevector 1 2 3 4)))))
  (makes-all? 0.5 1.5 (lambda (answer)
                        (f64:f64vector->list (f64:f64vector-map answer (f64:f64vector 1.0 2.0 3.0
                                                                                      4.0)))))
  (makes-all? 0 1 (lambda (answer) (s178:bitvector->list/int
                                    (s178:bitvector-map/int answer (s178:bitvector 1 1 1 1)))))
  (makes-all? 0 1 (lambda (answer)
                    (s178:bitvector-map->list/int answer (s178:bitvector 1 1 1 1))))
  (makes-all? 0 1 (lambda (answer) (s196:range-map->list answer (s196:numeric-range 0 4)))))

(define (past-three? x) (> x 3))

(test-group "unfolding and tabulating"
  (makes-all? 0 1 (lambda (answer) (s1:list-tabulate 4 answer)))
  (makes-all? 0 1 (lambda (answer) (s1:unfold past-three? answer 1+ 0)))
  (makes-all? 0 1 (lambda (answer) (s1:unfold-right past-three? answer 1+ 0)))
  (makes-all? 0 1 (lambda (answer) (vector-tabulate answer 4)))
  (makes-all? #\a #\b (lambda (answer) (string-tabulate answer 4)))
  (makes-all? 0 1 (lambda (answer) (s133:vector-unfold answer 4)))
  (makes-all? 0 1 (lambda (answer)
                    (s133:vector-unfold (lambda (index seed) (values (answer) seed)) 4 0)))
  (makes-all? 0 1 (lambda (answer)
                    (s133:vector-unfold (lambda (index x y) (values (answer) x y)) 4 0 0)))
  (makes-all? 0 1 (lambda (answer) (s133:vector-unfold-right answer 4)))
  (makes-all? #\a #\b (lambda (answer) (s152:string-unfold past-three? answer 1+ 0)))
  (makes-all? 0 1 (lambda (answer)
                    (s134:ideque->list (s134:ideque-unfold past-three? answer 1+ 0))))
  (makes-all? 0 1 (lambda (answer)
                    (s116:ilist->list (s116:iunfold past-three? answer 1+ 0))))
  (makes-all? #t #f (lambda (answer) (s151:bitwise-unfold past-three? answer 1+ 0)))
  (makes-all? 0 1 (lambda (answer) (u8:u8vector-unfold answer 4)))
  (makes-all? 0 1 (lambda (answer)
                    (u8:u8vector-unfold-right (lambda (index seed) (values (answer) seed)) 4 0)))
  (makes-all? 0 1 (lambda (answer) (s178:bitvector->list/int (s178:bitvector-unfold answer 4))))
  (makes-all? 0 1 (lambda (answer)
                    (s178:bitvector->list/int (s178:bitvector-unfold-right answer 4)))))

(test-group "selecting"
  (makes-all? #t #f (lambda (answer) (filter answer four)))
  (makes-all? #t #f (lambda (answer) (remove answer four)))
  (makes-all? #t #f (lambda (answer)
                      (call-with-values (lambda () (partition answer four)) list)))
  (makes-all? #t #f (lambda (answer) (s132:list-delete-neighbor-dups answer '(0 1 2 3 4))))
  (makes-all? #t #f (lambda (answer) (s132:vector-delete-neighbor-dups answer #(0 1 2 3 4))))
  (makes-all? #t #f (lambda (answer)
                      (s196:range->list (s196:range-filter answer (s196:numeric-range 0 4))))))

;; A generator's own state is not a part of the continuation.
(test-group "lists of what generators give"
  (for-each
   (lambda (take)
     (let ((results (all-results take 100 (lambda ()
                                            (s158:generator->list
                                             (four-of (lambda () (choose 0 1))))))))
       (test #t (every-one? (lambda (list) (every-one? (lambda (x) (memv x '(0 1))) list)) results))
       (test 4 (length (s1:last results)))))
   (list take-newest take-oldest)))
