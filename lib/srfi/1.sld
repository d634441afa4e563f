;;; (srfi 1): the list library.
;;;
;;; The first-order procedures are primitives.  The linear-update procedures that take a procedure
;;; are their pure counterparts, as the SRFI allows.

(define-library (srfi 1)
  (export
   ;; Constructors
   cons list xcons cons* make-list list-tabulate list-copy circular-list iota
   ;; Predicates
   pair? null? proper-list? circular-list? dotted-list? not-pair? null-list? list=
   ;; Selectors
   car cdr caar cadr cdar cddr caaar caadr cadar caddr cdaar cdadr cddar cdddr
   caaaar caaadr caadar caaddr cadaar cadadr caddar cadddr
   cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr
   list-ref first second third fourth fifth sixth seventh eighth ninth tenth
   car+cdr take drop take-right drop-right take! drop-right! split-at split-at! last last-pair
   ;; Miscellaneous
   length length+ append concatenate reverse append! concatenate! reverse!
   append-reverse append-reverse! zip unzip1 unzip2 unzip3 unzip4 unzip5 count
   ;; Fold, unfold, map
   map for-each fold unfold pair-fold reduce fold-right unfold-right pair-fold-right reduce-right
   append-map append-map! (rename map map!) (rename map map-in-order) pair-for-each filter-map
   ;; Filtering and searching
   filter partition remove (rename filter filter!) (rename partition partition!)
   (rename remove remove!)
   member memq memv find find-tail any every list-index
   take-while drop-while (rename take-while take-while!) span break (rename span span!)
   (rename break break!)
   ;; Deletion and association lists
   delete delete-duplicates (rename delete delete!) (rename delete-duplicates delete-duplicates!)
   assoc assq assv alist-cons alist-copy alist-delete (rename alist-delete alist-delete!)
   ;; Sets
   lset<= lset= lset-adjoin lset-union (rename lset-union lset-union!)
   lset-intersection (rename lset-intersection lset-intersection!)
   lset-difference (rename lset-difference lset-difference!)
   lset-xor (rename lset-xor lset-xor!)
   lset-diff+intersection (rename lset-diff+intersection lset-diff+intersection!)
   ;; Side effects
   set-car! set-cdr!)
  (import (canny primitives) (canny syntax) (canny data lists))
  (begin

    ;; Checks are syntax that calls a procedure to raise the error. A procedure that mentions the
    ;; text of an error cannot be copied to its calls.

    (define (not-a-procedure who object)
      (%type-error who 1 "procedure" object))

    (define (not-a-list who position object)
      (%type-error who position "list" object))

    (define-syntax check-procedure
      (syntax-rules ()
        ((_ who object)
         (if (not (procedure? object))
             (not-a-procedure who object)))))

    (define-syntax check-list
      (syntax-rules ()
        ((_ who position object)
         (if (not (or (pair? object) (null? object)))
             (not-a-list who position object)))))

    ;; As `%any-null?`: where the walk over two lists ends.
    (define (check-ends who rest1 rest2)
      (if (pair? rest1)
          (check-list who 3 rest2)
          (check-list who 2 rest1)))

    ;; Construction.

    (define (not-an-index who object)
      (if (not (exact-nonnegative-integer? object))
          (%type-error who 1 "index" object)))

    (define (list-tabulate count procedure)
      (if (not (and (fixnum? count) (<= 0 count)))
          (not-an-index 'list-tabulate count))
      (let loop ((index (- count 1)) (results '()))
        (if (< index 0)
            results
            (loop (- index 1) (cons (procedure index) results)))))

    (define (car+cdr pair)
      (values (car pair) (cdr pair)))

    (define (list= same? . lists)
      (define (equal-lists? left right)
        (cond ((null? left) (null? right))
              ((null? right) #f)
              ((same? (car left) (car right)) (equal-lists? (cdr left) (cdr right)))
              (else #f)))
      (or (null? lists)
          (let loop ((first (car lists)) (rest (cdr lists)))
            (or (null? rest)
                (and (or (eq? first (car rest))
                         (equal-lists? first (car rest)))
                     (loop (car rest) (cdr rest)))))))

    (define zip
      (case-lambda
        ((list1) (map (lambda (x) (list x)) list1))
        ((list1 list2) (map (lambda (x y) (list x y)) list1 list2))
        ((list1 list2 list3) (map (lambda (x y z) (list x y z)) list1 list2 list3))
        ((list1 . lists) (%apply map (cons* list list1 lists)))))

    (define (unzip1 lists) (%map1 first lists))
    (define (unzip2 lists) (values (%map1 first lists) (%map1 second lists)))
    (define (unzip3 lists)
      (values (%map1 first lists) (%map1 second lists) (%map1 third lists)))
    (define (unzip4 lists)
      (values (%map1 first lists) (%map1 second lists) (%map1 third lists) (%map1 fourth lists)))
    (define (unzip5 lists)
      (values (%map1 first lists) (%map1 second lists) (%map1 third lists) (%map1 fourth lists)
              (%map1 fifth lists)))

    ;; Calls `step` with the list of the elements of each position, and the state, up to the end of
    ;; the shortest list.
    (define (fold-positions who lists state step)
      (let loop ((lists lists) (state state))
        (if (%any-null? who lists)
            state
            (let-values (((cars cdrs) (%cars+cdrs lists)))
              (loop cdrs (step cars state))))))

    (define count
      (case-lambda
        ((wanted? list)
         (check-list 'count 2 list)
         (let loop ((rest list) (total 0))
           (if (pair? rest)
               (loop (cdr rest) (if (wanted? (car rest)) (+ total 1) total))
               total)))
        ((wanted? list1 list2)
         (let loop ((rest1 list1) (rest2 list2) (total 0))
           (if (and (pair? rest1) (pair? rest2))
               (loop (cdr rest1)
                     (cdr rest2)
                     (if (wanted? (car rest1) (car rest2)) (+ total 1) total))
               (begin
                 (check-ends 'count rest1 rest2)
                 total))))
        ((wanted? . lists)
         (fold-positions 'count lists 0
                         (lambda (cars total)
                           (if (%apply wanted? cars) (+ total 1) total))))))

    ;; Folds.

    (define fold
      (case-lambda
        ((kons knil list)
         (check-procedure 'fold kons)
         (check-list 'fold 3 list)
         (let loop ((rest list) (state knil))
           (if (pair? rest)
               (loop (cdr rest) (kons (car rest) state))
               state)))
        ((kons knil list1 list2)
         (check-procedure 'fold kons)
         (let loop ((rest1 list1) (rest2 list2) (state knil))
           (if (and (pair? rest1) (pair? rest2))
               (loop (cdr rest1) (cdr rest2) (kons (car rest1) (car rest2) state))
               state)))
        ((kons knil . lists)
         (check-procedure 'fold kons)
         (fold-positions 'fold lists knil
                         (lambda (cars state)
                           (%apply kons (append! cars (list state))))))))

    (define fold-right
      (case-lambda
        ((kons knil list)
         (check-procedure 'fold-right kons)
         (let loop ((rest (reverse list)) (state knil))
           (if (pair? rest)
               (loop (cdr rest) (kons (car rest) state))
               state)))
        ((kons knil list1 list2)
         (check-procedure 'fold-right kons)
         (let collect ((rest1 list1) (rest2 list2) (reversed1 '()) (reversed2 '()))
           (if (and (pair? rest1) (pair? rest2))
               (collect (cdr rest1)
                        (cdr rest2)
                        (cons (car rest1) reversed1)
                        (cons (car rest2) reversed2))
               (begin
                 (check-ends 'fold-right rest1 rest2)
                 (let loop ((rest1 reversed1) (rest2 reversed2) (state knil))
                   (if (pair? rest1)
                       (loop (cdr rest1) (cdr rest2) (kons (car rest1) (car rest2) state))
                       state))))))
        ((kons knil . lists)
         (check-procedure 'fold-right kons)
         (let loop ((positions (fold-positions 'fold-right lists '() cons)) (state knil))
           (if (pair? positions)
               (loop (cdr positions) (%apply kons (append (car positions) (list state))))
               state)))))

    ;; The successive lists of tails, last first.
    (define (tails-reversed who lists)
      (let loop ((lists lists) (positions '()))
        (if (%any-null? who lists)
            positions
            (loop (%map1 cdr lists) (cons lists positions)))))

    (define pair-fold
      (case-lambda
        ((kons knil list)
         (check-procedure 'pair-fold kons)
         ;; The procedure may change the cdr: it is taken first.
         (let loop ((rest list) (state knil))
           (if (pair? rest)
               (let ((next (cdr rest)))
                 (loop next (kons rest state)))
               state)))
        ((kons knil . lists)
         (check-procedure 'pair-fold kons)
         (let loop ((lists lists) (state knil))
           (if (%any-null? 'pair-fold lists)
               state
               (let ((next (%map1 cdr lists)))
                 (loop next (%apply kons (append lists (list state))))))))))

    (define (pair-fold-right kons knil . lists)
      (check-procedure 'pair-fold-right kons)
      (let loop ((positions (tails-reversed 'pair-fold-right lists)) (state knil))
        (if (pair? positions)
            (loop (cdr positions) (%apply kons (append (car positions) (list state))))
            state)))

    (define (reduce combine identity list)
      (check-procedure 'reduce combine)
      (check-list 'reduce 3 list)
      (if (pair? list)
          (fold combine (car list) (cdr list))
          identity))

    (define (reduce-right combine identity list)
      (check-procedure 'reduce-right combine)
      (check-list 'reduce-right 3 list)
      (if (pair? list)
          (let ((reversed (reverse list)))
            (fold combine (car reversed) (cdr reversed)))
          identity))

    (define unfold
      (case-lambda
        ((stop? mapper successor seed)
         (unfold stop? mapper successor seed (lambda (seed) '())))
        ((stop? mapper successor seed tail-generator)
         (let loop ((seed seed) (results '()))
           (if (stop? seed)
               (append-reverse results (tail-generator seed))
               (loop (successor seed) (cons (mapper seed) results)))))))

    (define unfold-right
      (case-lambda
        ((stop? mapper successor seed)
         (unfold-right stop? mapper successor seed '()))
        ((stop? mapper successor seed tail)
         (let loop ((seed seed) (results tail))
           (if (stop? seed)
               results
               (loop (successor seed) (cons (mapper seed) results)))))))

    ;; Mapping.

    (define append-map
      (case-lambda
        ((procedure list)
         (check-list 'append-map 2 list)
         (concatenate (map procedure list)))
        ((procedure list1 list2)
         (concatenate (map procedure list1 list2)))
        ((procedure . lists)
         (concatenate (%apply map (cons procedure lists))))))

    (define append-map! append-map)

    (define pair-for-each
      (case-lambda
        ((procedure list)
         (check-list 'pair-for-each 2 list)
         (let loop ((rest list))
           (if (pair? rest)
               (let ((next (cdr rest)))
                 (procedure rest)
                 (loop next)))))
        ((procedure . lists)
         (let loop ((lists lists))
           (if (not (%any-null? 'pair-for-each lists))
               (let ((next (%map1 cdr lists)))
                 (%apply procedure lists)
                 (loop next)))))))

    (define filter-map
      (case-lambda
        ((procedure list)
         (check-list 'filter-map 2 list)
         (let loop ((rest list) (results '()))
           (if (pair? rest)
               (let ((result (procedure (car rest))))
                 (loop (cdr rest) (if result (cons result results) results)))
               (reverse results))))
        ((procedure list1 list2)
         (let loop ((rest1 list1) (rest2 list2) (results '()))
           (if (and (pair? rest1) (pair? rest2))
               (let ((result (procedure (car rest1) (car rest2))))
                 (loop (cdr rest1) (cdr rest2) (if result (cons result results) results)))
               (begin
                 (check-ends 'filter-map rest1 rest2)
                 (reverse results)))))
        ((procedure . lists)
         (reverse
          (fold-positions 'filter-map lists '()
                          (lambda (cars results)
                            (let ((result (%apply procedure cars)))
                              (if result (cons result results) results))))))))

    ;; Filtering.

    (define (filter wanted? list)
      (check-procedure 'filter wanted?)
      (check-list 'filter 2 list)
      (let loop ((rest list) (results '()))
        (if (pair? rest)
            (let ((element (car rest)))
              (loop (cdr rest) (if (wanted? element) (cons element results) results)))
            (reverse results))))

    (define (remove unwanted? list)
      (check-procedure 'remove unwanted?)
      (check-list 'remove 2 list)
      (let loop ((rest list) (results '()))
        (if (pair? rest)
            (let ((element (car rest)))
              (loop (cdr rest) (if (unwanted? element) results (cons element results))))
            (reverse results))))

    (define (partition wanted? list)
      (check-procedure 'partition wanted?)
      (check-list 'partition 2 list)
      (let loop ((rest list) (in '()) (out '()))
        (if (pair? rest)
            (let ((element (car rest)))
              (if (wanted? element)
                  (loop (cdr rest) (cons element in) out)
                  (loop (cdr rest) in (cons element out))))
            (values (reverse in) (reverse out)))))

    ;; Searching.

    (define (find-tail wanted? list)
      (check-procedure 'find-tail wanted?)
      (check-list 'find-tail 2 list)
      (let loop ((rest list))
        (if (pair? rest)
            (if (wanted? (car rest))
                rest
                (loop (cdr rest)))
            #f)))

    (define (find wanted? list)
      (check-procedure 'find wanted?)
      (check-list 'find 2 list)
      (let loop ((rest list))
        (if (pair? rest)
            (let ((element (car rest)))
              (if (wanted? element)
                  element
                  (loop (cdr rest))))
            #f)))

    ;; The last call of `any` and `every` is a tail call.

    (define any
      (case-lambda
        ((wanted? list)
         (check-list 'any 2 list)
         (and (pair? list)
              (let loop ((first (car list)) (rest (cdr list)))
                (cond ((pair? rest)
                       (or (wanted? first)
                           (loop (car rest) (cdr rest))))
                      ((null? rest) (wanted? first))
                      (else (not-a-list 'any 2 list))))))
        ((wanted? list1 list2)
         (if (and (pair? list1) (pair? list2))
             (let loop ((first1 (car list1))
                        (first2 (car list2))
                        (rest1 (cdr list1))
                        (rest2 (cdr list2)))
               (if (and (pair? rest1) (pair? rest2))
                   (or (wanted? first1 first2)
                       (loop (car rest1) (car rest2) (cdr rest1) (cdr rest2)))
                   (begin
                     (check-ends 'any rest1 rest2)
                     (wanted? first1 first2))))
             (begin
               (check-ends 'any list1 list2)
               #f)))
        ((wanted? . lists)
         (and (not (%any-null? 'any lists))
              (let loop ((lists lists))
                (let-values (((cars cdrs) (%cars+cdrs lists)))
                  (if (%any-null? 'any cdrs)
                      (%apply wanted? cars)
                      (or (%apply wanted? cars)
                          (loop cdrs)))))))))

    (define every
      (case-lambda
        ((wanted? list)
         (check-list 'every 2 list)
         (or (null? list)
             (let loop ((first (car list)) (rest (cdr list)))
               (cond ((pair? rest)
                      (and (wanted? first)
                           (loop (car rest) (cdr rest))))
                     ((null? rest) (wanted? first))
                     (else (not-a-list 'every 2 list))))))
        ((wanted? list1 list2)
         (if (and (pair? list1) (pair? list2))
             (let loop ((first1 (car list1))
                        (first2 (car list2))
                        (rest1 (cdr list1))
                        (rest2 (cdr list2)))
               (if (and (pair? rest1) (pair? rest2))
                   (and (wanted? first1 first2)
                        (loop (car rest1) (car rest2) (cdr rest1) (cdr rest2)))
                   (begin
                     (check-ends 'every rest1 rest2)
                     (wanted? first1 first2))))
             (begin
               (check-ends 'every list1 list2)
               #t)))
        ((wanted? . lists)
         (or (%any-null? 'every lists)
             (let loop ((lists lists))
               (let-values (((cars cdrs) (%cars+cdrs lists)))
                 (if (%any-null? 'every cdrs)
                     (%apply wanted? cars)
                     (and (%apply wanted? cars)
                          (loop cdrs)))))))))

    (define list-index
      (case-lambda
        ((wanted? list)
         (check-list 'list-index 2 list)
         (let loop ((rest list) (index 0))
           (if (pair? rest)
               (if (wanted? (car rest))
                   index
                   (loop (cdr rest) (+ index 1)))
               #f)))
        ((wanted? list1 list2)
         (let loop ((rest1 list1) (rest2 list2) (index 0))
           (if (and (pair? rest1) (pair? rest2))
               (if (wanted? (car rest1) (car rest2))
                   index
                   (loop (cdr rest1) (cdr rest2) (+ index 1)))
               (begin
                 (check-ends 'list-index rest1 rest2)
                 #f))))
        ((wanted? . lists)
         (let loop ((lists lists) (index 0))
           (if (%any-null? 'list-index lists)
               #f
               (let-values (((cars cdrs) (%cars+cdrs lists)))
                 (if (%apply wanted? cars)
                     index
                     (loop cdrs (+ index 1)))))))))

    (define (take-while wanted? list)
      (check-procedure 'span wanted?)
      (check-list 'span 2 list)
      (let loop ((rest list) (taken '()))
        (if (and (pair? rest) (wanted? (car rest)))
            (loop (cdr rest) (cons (car rest) taken))
            (reverse taken))))

    (define (drop-while wanted? list)
      (check-procedure 'drop-while wanted?)
      (check-list 'drop-while 2 list)
      (let loop ((rest list))
        (if (and (pair? rest) (wanted? (car rest)))
            (loop (cdr rest))
            rest)))

    (define (span wanted? list)
      (check-procedure 'span wanted?)
      (check-list 'span 2 list)
      (let loop ((rest list) (taken '()))
        (if (and (pair? rest) (wanted? (car rest)))
            (loop (cdr rest) (cons (car rest) taken))
            (values (reverse taken) rest))))

    (define (break unwanted? list)
      (check-procedure 'break unwanted?)
      (check-list 'span 2 list)
      (let loop ((rest list) (taken '()))
        (if (or (not (pair? rest)) (unwanted? (car rest)))
            (values (reverse taken) rest)
            (loop (cdr rest) (cons (car rest) taken)))))

    ;; Deletion.  The argument order of the equivalence is fixed by the SRFI: the object, then the
    ;; element; for duplicates, the earlier element first.

    (define delete
      (case-lambda
        ((object list) (%delete object list))
        ((object list same?)
         (remove (lambda (element) (same? object element)) list))))

    (define delete-duplicates
      (case-lambda
        ((list) (delete-duplicates list equal?))
        ((list same?)
         (check-list 'delete-duplicates 1 list)
         ;; The kept elements are tried in the order of the list.
         (let loop ((rest list) (kept '()))
           (if (pair? rest)
               (let ((element (car rest)))
                 (loop (cdr rest)
                       (if (any (lambda (earlier) (same? earlier element)) kept)
                           kept
                           (cons element kept))))
               (reverse kept))))))

    (define (alist-cons key value alist)
      (cons (cons key value) alist))

    (define (alist-copy alist)
      (%map1 (lambda (entry) (cons (car entry) (cdr entry))) alist))

    (define alist-delete
      (case-lambda
        ((key alist) (alist-delete key alist equal?))
        ((key alist same?)
         (remove (lambda (entry) (same? key (car entry))) alist))))

    ;; Sets as lists.

    (define (contains? same? list object)
      (let loop ((rest list))
        (and (pair? rest)
             (or (same? (car rest) object)
                 (loop (cdr rest))))))

    (define (subset? same? left right)
      (every (lambda (element)
               (any (lambda (other) (same? element other)) right))
             left))

    ;; Whether a relation holds between all neighbours of a list of sets.
    (define (chain? holds? sets)
      (or (null? sets)
          (let loop ((first (car sets)) (rest (cdr sets)))
            (or (null? rest)
                (and (or (eq? first (car rest)) (holds? first (car rest)))
                     (loop (car rest) (cdr rest)))))))

    (define (lset<= same? . sets)
      (check-procedure 'lset<= same?)
      (chain? (lambda (left right) (subset? same? left right)) sets))

    (define (lset= same? . sets)
      (check-procedure 'lset= same?)
      (chain? (lambda (left right)
                (and (subset? same? left right)
                     (subset? (lambda (x y) (same? y x)) right left)))
              sets))

    (define (lset-adjoin same? set . elements)
      (check-procedure 'lset-adjoin same?)
      (fold (lambda (element set)
              (if (contains? same? set element) set (cons element set)))
            set
            elements))

    (define (lset-union same? . sets)
      (check-procedure 'lset-union same?)
      (reduce (lambda (set union)
                (cond ((null? set) union)
                      ((null? union) set)
                      ((eq? set union) union)
                      (else
                       (fold (lambda (element union)
                               (if (contains? same? union element)
                                   union
                                   (cons element union)))
                             union
                             set))))
              '()
              sets))

    (define (lset-intersection same? set . sets)
      (check-procedure 'lset-intersection same?)
      (filter (lambda (element)
                (every (lambda (other) (contains? (lambda (x y) (same? y x)) other element))
                       sets))
              set))

    (define (lset-difference same? set . sets)
      (check-procedure 'lset-difference same?)
      (filter (lambda (element)
                (every (lambda (other)
                         (not (contains? (lambda (x y) (same? y x)) other element)))
                       sets))
              set))

    (define (lset-xor same? . sets)
      (check-procedure 'lset-xor same?)
      (reduce (lambda (right left)
                (let ((only-left (lset-difference same? left right))
                      (only-right (lset-difference same? right left)))
                  (append-reverse only-right only-left)))
              '()
              sets))

    (define (lset-diff+intersection same? set . sets)
      (check-procedure 'lset-diff+intersection same?)
      (partition (lambda (element)
                   (every (lambda (other)
                            (not (contains? (lambda (x y) (same? y x)) other element)))
                          sets))
                 set))))
