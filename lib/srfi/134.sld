;;; (srfi 134): immutable deques.
;;;
;;; A deque is two lists with their lengths: the front, and the back in reverse.  Invariant: of two
;;; elements or more, neither list is empty, so that both ends are at hand. A list that would become
;;; empty takes half of the other.  Adding and removing are O(1), amortized over uses of the latest
;;; version.  Procedures that call the user's go over the elements in lists.

(define-library (srfi 134)
  (export ideque ideque-tabulate ideque-unfold ideque-unfold-right
          ideque? ideque-empty? ideque= ideque-any ideque-every
          ideque-front ideque-back ideque-remove-front ideque-remove-back
          ideque-add-front ideque-add-back
          ideque-ref ideque-take ideque-take-right ideque-drop ideque-drop-right ideque-split-at
          ideque-length ideque-append ideque-reverse ideque-count ideque-zip
          ideque-map ideque-filter-map ideque-for-each ideque-for-each-right
          ideque-fold ideque-fold-right ideque-append-map
          ideque-filter ideque-remove ideque-partition
          ideque-find ideque-find-right ideque-take-while ideque-take-while-right
          ideque-drop-while ideque-drop-while-right ideque-span ideque-break
          list->ideque ideque->list generator->ideque ideque->generator)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (rename (only (srfi 1) any every fold filter-map partition span break list-tabulate count
                        find append-map remove filter)
                  (count list-count)))
  (begin

    (define-record-type <ideque>
      (make-deque front-length front back-length back)
      ideque?
      (front-length front-length)
      (front front)
      (back-length back-length)
      (back back))

    (define empty (make-deque 0 '() 0 '()))

    (define (check-deque who position object)
      (check-argument who position ideque? "ideque" object))

    (define (check-deques who position deques)
      (for-each (lambda (deque) (check-deque who position deque)) deques))

    (define (check-not-empty who deque)
      (check-deque who 1 deque)
      (if (= (total deque) 0)
          (%range-error who 1 "the ideque is empty" deque)))

    (define (total deque)
      (+ (front-length deque) (back-length deque)))

    ;; A deque with these lists; makes the invariant hold.
    (define (balanced front-length front back-length back)
      (cond ((and (= front-length 0) (> back-length 1))
             (let ((half (quotient back-length 2)))
               (make-deque (- back-length half) (reverse (list-tail back half))
                           half (take back half))))
            ((and (= back-length 0) (> front-length 1))
             (let ((half (quotient front-length 2)))
               (make-deque half (take front half)
                           (- front-length half) (reverse (list-tail front half)))))
            (else (make-deque front-length front back-length back))))

    (define (list->ideque list)
      (check-list 'list->ideque 1 list)
      (balanced (length list) list 0 '()))

    (define (ideque->list deque)
      (check-deque 'ideque->list 1 deque)
      (elements deque))

    (define (elements deque)
      (append (front deque) (reverse (back deque))))

    (define (elements-reversed deque)
      (append (back deque) (reverse (front deque))))

    ;; Constructors.

    (define (ideque . elements)
      (list->ideque elements))

    (define (ideque-tabulate count procedure)
      (check-index 'ideque-tabulate 1 count)
      (check-procedure 'ideque-tabulate 2 procedure)
      (list->ideque (list-tabulate count procedure)))

    (define (unfold-reversed who stop? mapper successor seed)
      (check-procedure who 1 stop?)
      (check-procedure who 2 mapper)
      (check-procedure who 3 successor)
      (let loop ((seed seed) (reversed '()))
        (if (stop? seed)
            reversed
            (loop (successor seed) (cons (mapper seed) reversed)))))

    (define (ideque-unfold stop? mapper successor seed)
      (list->ideque (reverse (unfold-reversed 'ideque-unfold stop? mapper successor seed))))

    (define (ideque-unfold-right stop? mapper successor seed)
      (list->ideque (unfold-reversed 'ideque-unfold-right stop? mapper successor seed)))

    ;; Predicates.

    (define (ideque-empty? deque)
      (check-deque 'ideque-empty? 1 deque)
      (= (total deque) 0))

    (define (ideque= same? . deques)
      (check-procedure 'ideque= 1 same?)
      (check-deques 'ideque= 2 deques)
      (or (null? deques)
          (let loop ((left (car deques)) (rest (cdr deques)))
            (or (null? rest)
                (and (same-elements? same? left (car rest))
                     (loop (car rest) (cdr rest)))))))

    (define (same-elements? same? left right)
      (or (eq? left right)
          (and (= (total left) (total right))
               (let loop ((left (elements left)) (right (elements right)))
                 (or (null? left)
                     (and (same? (car left) (car right))
                          (loop (cdr left) (cdr right))))))))

    (define (ideque-any wanted? deque)
      (check-procedure 'ideque-any 1 wanted?)
      (check-deque 'ideque-any 2 deque)
      (any wanted? (elements deque)))

    (define (ideque-every wanted? deque)
      (check-procedure 'ideque-every 1 wanted?)
      (check-deque 'ideque-every 2 deque)
      (every wanted? (elements deque)))

    ;; The ends.

    (define (ideque-front deque)
      (check-not-empty 'ideque-front deque)
      (car (if (pair? (front deque)) (front deque) (back deque))))

    (define (ideque-back deque)
      (check-not-empty 'ideque-back deque)
      (car (if (pair? (back deque)) (back deque) (front deque))))

    (define (ideque-add-front deque object)
      (check-deque 'ideque-add-front 1 deque)
      (balanced (+ (front-length deque) 1) (cons object (front deque))
                (back-length deque) (back deque)))

    (define (ideque-add-back deque object)
      (check-deque 'ideque-add-back 1 deque)
      (balanced (front-length deque) (front deque)
                (+ (back-length deque) 1) (cons object (back deque))))

    (define (ideque-remove-front deque)
      (check-not-empty 'ideque-remove-front deque)
      (if (pair? (front deque))
          (balanced (- (front-length deque) 1) (cdr (front deque))
                    (back-length deque) (back deque))
          empty))

    (define (ideque-remove-back deque)
      (check-not-empty 'ideque-remove-back deque)
      (if (pair? (back deque))
          (balanced (front-length deque) (front deque)
                    (- (back-length deque) 1) (cdr (back deque)))
          empty))

    ;; Parts.

    (define (ideque-ref deque index)
      (check-deque 'ideque-ref 1 deque)
      (check-index 'ideque-ref 2 index)
      (cond ((< index (front-length deque)) (list-ref (front deque) index))
            ((< index (total deque)) (list-ref (back deque) (- (total deque) index 1)))
            (else (%range-error 'ideque-ref 2 "the ideque is shorter" index))))

    (define (check-count who deque count)
      (check-deque who 1 deque)
      (check-index who 2 count)
      (if (> count (total deque))
          (%range-error who 2 "the ideque is shorter" count)))

    (define (first-elements deque count)
      (if (<= count (front-length deque))
          (balanced count (take (front deque) count) 0 '())
          (balanced (front-length deque) (front deque)
                    (- count (front-length deque))
                    (list-tail (back deque) (- (total deque) count)))))

    (define (without-first deque count)
      (if (<= count (front-length deque))
          (balanced (- (front-length deque) count) (list-tail (front deque) count)
                    (back-length deque) (back deque))
          (let ((left (- (total deque) count)))
            (balanced 0 '() left (take (back deque) left)))))

    (define (ideque-take deque count)
      (check-count 'ideque-take deque count)
      (first-elements deque count))

    (define (ideque-drop deque count)
      (check-count 'ideque-drop deque count)
      (without-first deque count))

    (define (ideque-take-right deque count)
      (check-count 'ideque-take-right deque count)
      (without-first deque (- (total deque) count)))

    (define (ideque-drop-right deque count)
      (check-count 'ideque-drop-right deque count)
      (first-elements deque (- (total deque) count)))

    (define (ideque-split-at deque count)
      (check-count 'ideque-split-at deque count)
      (values (first-elements deque count) (without-first deque count)))

    ;; The whole deque.

    (define (ideque-length deque)
      (check-deque 'ideque-length 1 deque)
      (total deque))

    (define (ideque-append . deques)
      (check-deques 'ideque-append 1 deques)
      (cond ((null? deques) empty)
            ((null? (cdr deques)) (car deques))
            (else (list->ideque (concatenate (%map1 elements deques))))))

    (define (ideque-reverse deque)
      (check-deque 'ideque-reverse 1 deque)
      (make-deque (back-length deque) (back deque) (front-length deque) (front deque)))

    (define (ideque-count wanted? deque)
      (check-procedure 'ideque-count 1 wanted?)
      (check-deque 'ideque-count 2 deque)
      (list-count wanted? (elements deque)))

    (define (ideque-zip deque . deques)
      (let ((deques (cons deque deques)))
        (check-deques 'ideque-zip 1 deques)
        (list->ideque (%apply map (cons list (%map1 elements deques))))))

    ;; Mapping.

    (define (ideque-map procedure deque)
      (check-procedure 'ideque-map 1 procedure)
      (check-deque 'ideque-map 2 deque)
      (make-deque (front-length deque) (map procedure (front deque))
                  (back-length deque) (reverse (map procedure (reverse (back deque))))))

    (define (ideque-filter-map procedure deque)
      (check-procedure 'ideque-filter-map 1 procedure)
      (check-deque 'ideque-filter-map 2 deque)
      (list->ideque (filter-map procedure (elements deque))))

    (define (ideque-for-each procedure deque)
      (check-procedure 'ideque-for-each 1 procedure)
      (check-deque 'ideque-for-each 2 deque)
      (for-each procedure (elements deque)))

    (define (ideque-for-each-right procedure deque)
      (check-procedure 'ideque-for-each-right 1 procedure)
      (check-deque 'ideque-for-each-right 2 deque)
      (for-each procedure (elements-reversed deque)))

    (define (ideque-fold procedure state deque)
      (check-procedure 'ideque-fold 1 procedure)
      (check-deque 'ideque-fold 3 deque)
      (fold procedure state (elements deque)))

    (define (ideque-fold-right procedure state deque)
      (check-procedure 'ideque-fold-right 1 procedure)
      (check-deque 'ideque-fold-right 3 deque)
      (fold procedure state (elements-reversed deque)))

    (define (ideque-append-map procedure deque)
      (check-procedure 'ideque-append-map 1 procedure)
      (check-deque 'ideque-append-map 2 deque)
      (list->ideque (append-map procedure (elements deque))))

    ;; Filtering and searching.

    (define (ideque-filter wanted? deque)
      (check-procedure 'ideque-filter 1 wanted?)
      (check-deque 'ideque-filter 2 deque)
      (list->ideque (filter wanted? (elements deque))))

    (define (ideque-remove unwanted? deque)
      (check-procedure 'ideque-remove 1 unwanted?)
      (check-deque 'ideque-remove 2 deque)
      (list->ideque (remove unwanted? (elements deque))))

    (define (ideque-partition wanted? deque)
      (check-procedure 'ideque-partition 1 wanted?)
      (check-deque 'ideque-partition 2 deque)
      (let-values (((in out) (partition wanted? (elements deque))))
        (values (list->ideque in) (list->ideque out))))

    (define (find-in list wanted? failure)
      (let loop ((rest list))
        (cond ((null? rest) (failure))
              ((wanted? (car rest)) (car rest))
              (else (loop (cdr rest))))))

    (define ideque-find
      (case-lambda
        ((wanted? deque) (ideque-find wanted? deque (lambda () #f)))
        ((wanted? deque failure)
         (check-procedure 'ideque-find 1 wanted?)
         (check-deque 'ideque-find 2 deque)
         (find-in (elements deque) wanted? failure))))

    (define ideque-find-right
      (case-lambda
        ((wanted? deque) (ideque-find-right wanted? deque (lambda () #f)))
        ((wanted? deque failure)
         (check-procedure 'ideque-find-right 1 wanted?)
         (check-deque 'ideque-find-right 2 deque)
         (find-in (elements-reversed deque) wanted? failure))))

    ;; How many elements of a list satisfy `wanted?` before the first that does not.
    (define (prefix-length who wanted? deque list-of)
      (check-procedure who 1 wanted?)
      (check-deque who 2 deque)
      (let loop ((rest (list-of deque)) (count 0))
        (if (and (pair? rest) (wanted? (car rest)))
            (loop (cdr rest) (+ count 1))
            count)))

    (define (ideque-take-while wanted? deque)
      (first-elements deque (prefix-length 'ideque-take-while wanted? deque elements)))

    (define (ideque-drop-while unwanted? deque)
      (without-first deque (prefix-length 'ideque-drop-while unwanted? deque elements)))

    (define (ideque-take-while-right wanted? deque)
      (let ((count (prefix-length 'ideque-take-while-right wanted? deque elements-reversed)))
        (without-first deque (- (total deque) count))))

    (define (ideque-drop-while-right unwanted? deque)
      (let ((count (prefix-length 'ideque-drop-while-right unwanted? deque elements-reversed)))
        (first-elements deque (- (total deque) count))))

    (define (ideque-span wanted? deque)
      (let ((count (prefix-length 'ideque-span wanted? deque elements)))
        (values (first-elements deque count) (without-first deque count))))

    (define (ideque-break stop? deque)
      (check-procedure 'ideque-break 1 stop?)
      (let ((count (prefix-length 'ideque-break
                                  (lambda (element) (not (stop? element)))
                                  deque
                                  elements)))
        (values (first-elements deque count) (without-first deque count))))

    ;; Generators.

    (define (generator->ideque generator)
      (check-procedure 'generator->ideque 1 generator)
      (let loop ((reversed '()))
        (let ((object (generator)))
          (if (eof-object? object)
              (list->ideque (reverse reversed))
              (loop (cons object reversed))))))

    (define (ideque->generator deque)
      (check-deque 'ideque->generator 1 deque)
      (lambda ()
        (if (= (total deque) 0)
            (eof-object)
            (let ((object (ideque-front deque)))
              (set! deque (ideque-remove-front deque))
              object))))))
