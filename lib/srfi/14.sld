;;; (srfi 14): character sets.
;;;
;;; A set is an ascending vector of scalar values at which membership changes: the first character
;;; inside, the first behind it, and so on. It never names a surrogate. The predefined sets are
;;; computed when they are first looked at, and a table for Latin-1 is made when a character is
;;; first asked about. No set changes: the linear-update procedures are their pure counterparts.

(define-library (srfi 14)
  (export
   char-set? char-set= char-set<= char-set-hash
   char-set-cursor char-set-ref char-set-cursor-next end-of-char-set?
   char-set-fold char-set-unfold (rename char-set-unfold char-set-unfold!) char-set-for-each
   char-set-map
   char-set-copy char-set list->char-set string->char-set char-set-filter ucs-range->char-set
   (rename list->char-set list->char-set!) (rename string->char-set string->char-set!)
   (rename char-set-filter char-set-filter!) (rename ucs-range->char-set ucs-range->char-set!)
   ->char-set
   char-set->list char-set->string char-set-size char-set-count char-set-contains?
   char-set-every char-set-any
   char-set-adjoin char-set-delete
   (rename char-set-adjoin char-set-adjoin!) (rename char-set-delete char-set-delete!)
   char-set-complement char-set-union char-set-intersection char-set-difference char-set-xor
   char-set-diff+intersection
   (rename char-set-complement char-set-complement!) (rename char-set-union char-set-union!)
   (rename char-set-intersection char-set-intersection!)
   (rename char-set-difference char-set-difference!) (rename char-set-xor char-set-xor!)
   (rename char-set-diff+intersection char-set-diff+intersection!)
   char-set:lower-case char-set:upper-case char-set:title-case char-set:letter char-set:digit
   char-set:letter+digit char-set:graphic char-set:printing char-set:whitespace
   char-set:iso-control char-set:punctuation char-set:symbol char-set:hex-digit char-set:blank
   char-set:ascii char-set:empty char-set:full)
  (import (canny primitives) (canny syntax)
          (only (canny data lists) map for-each)
          (only (canny data sorting) list-sort))
  (begin

    ;; `changes` is the vector, or a procedure that makes it; `latin` a bytevector of 256 or #f.
    (define-record-type char-set-type
      (make-set changes latin)
      char-set?
      (changes set-changes set-changes!)
      (latin set-latin set-latin!))

    (define (changes-of set)
      (let ((changes (set-changes set)))
        (if (vector? changes)
            changes
            (let ((changes (changes)))
              (set-changes! set changes)
              changes))))

    (define (changes->set changes)
      (make-set changes #f))

    ;; Checks.

    (define (check-set who position object)
      (if (not (char-set? object))
          (%type-error who position "character set" object)))

    (define (check-procedure who position object)
      (if (not (procedure? object))
          (%type-error who position "procedure" object)))

    (define (check-sets who sets)
      (let loop ((rest sets) (position 1))
        (if (pair? rest)
            (begin
              (check-set who position (car rest))
              (loop (cdr rest) (+ position 1))))))

    ;; Membership.

    ;; How many changes are at or before a scalar value.
    (define (changes-up-to changes code)
      (let loop ((low 0) (high (vector-length changes)))
        (if (< low high)
            (let ((middle (quotient (+ low high) 2)))
              (if (<= (vector-ref changes middle) code)
                  (loop (+ middle 1) high)
                  (loop low middle)))
            low)))

    (define (code-in? set code)
      (if (< code 256)
          (eqv? 1 (bytevector-u8-ref (or (set-latin set) (make-latin! set)) code))
          (odd? (changes-up-to (changes-of set) code))))

    (define (make-latin! set)
      (let ((table (make-bytevector 256 0)))
        (for-each-range (lambda (start end)
                          (if (< start 256)
                              (bytevector-fill! table 1 start (min end 256))))
                        (changes-of set))
        (set-latin! set table)
        table))

    (define (char-set-contains? set char)
      (check-set 'char-set-contains? 1 set)
      (code-in? set (char->integer char)))

    ;; Ranges.

    (define (for-each-range procedure changes)
      (let ((length (vector-length changes)))
        (let loop ((index 0))
          (if (< index length)
              (begin
                (procedure (vector-ref changes index) (vector-ref changes (+ index 1)))
                (loop (+ index 2)))))))

    ;; The set of the characters for which `keep?`, of two booleans, holds; it is false of two #f.
    (define (combine keep? left right)
      (let ((left-length (vector-length left))
            (right-length (vector-length right)))
        (let loop ((i 0) (j 0) (inside #f) (changes '()))
          (if (and (= i left-length) (= j right-length))
              (%reverse-list->vector changes)
              (let* ((from-left (if (< i left-length) (vector-ref left i) 1114112))
                     (from-right (if (< j right-length) (vector-ref right j) 1114112))
                     (code (min from-left from-right))
                     (i (if (and (< i left-length) (= from-left code)) (+ i 1) i))
                     (j (if (and (< j right-length) (= from-right code)) (+ j 1) j))
                     (now (keep? (odd? i) (odd? j))))
                (loop i j now (if (eq? now inside) changes (cons code changes))))))))

    (define (either left right) (or left right))
    (define (both left right) (and left right))
    (define (only-left left right) (and left (not right)))
    (define (only-one left right) (not (eq? left right)))

    (define full-changes (vector 0 #xD800 #xE000 #x110000))

    ;; The set of a list of scalar values, which may be in any order and repeat.
    (define (codes->set codes)
      (let loop ((rest (list-sort < codes)) (changes '()))
        (cond ((null? rest) (changes->set (%reverse-list->vector changes)))
              ((null? changes)
               (loop (cdr rest) (list (+ (car rest) 1) (car rest))))
              ;; The first of the changes is the end of the last range.
              ((< (car rest) (car changes)) (loop (cdr rest) changes))
              ((= (car rest) (car changes))
               (loop (cdr rest) (cons (+ (car rest) 1) (cdr changes))))
              (else (loop (cdr rest) (cons* (+ (car rest) 1) (car rest) changes))))))

    (define (chars->codes who position chars)
      (map (lambda (char)
             (if (not (char? char))
                 (%type-error who position "character" char))
             (char->integer char))
           chars))

    ;; General procedures.

    (define (char-set= . sets)
      (check-sets 'char-set= sets)
      (or (null? sets)
          (let ((changes (changes-of (car sets))))
            (let loop ((rest (cdr sets)))
              (or (null? rest)
                  (and (equal? changes (changes-of (car rest)))
                       (loop (cdr rest))))))))

    (define (char-set<= . sets)
      (check-sets 'char-set<= sets)
      (or (null? sets)
          (let loop ((left (car sets)) (rest (cdr sets)))
            (or (null? rest)
                (and (eqv? 0 (vector-length
                              (combine only-left (changes-of left) (changes-of (car rest)))))
                     (loop (car rest) (cdr rest)))))))

    (define char-set-hash
      (case-lambda
        ((set) (char-set-hash set 0))
        ((set bound)
         (check-set 'char-set-hash 1 set)
         (if (not (exact-nonnegative-integer? bound))
             (%type-error 'char-set-hash 2 "exact non-negative integer" bound))
         (let ((bound (if (eqv? bound 0) 4194304 bound))
               (changes (changes-of set)))
           (let loop ((index 0) (hash 0))
             (if (< index (vector-length changes))
                 (loop (+ index 1)
                       (modulo (+ (* 37 hash) (vector-ref changes index)) 1073741789))
                 (modulo hash bound)))))))

    ;; A cursor is a scalar value in the set, or #f at the end.

    (define (first-from changes code)
      (let ((count (changes-up-to changes code)))
        (cond ((odd? count) code)
              ((< count (vector-length changes)) (vector-ref changes count))
              (else #f))))

    (define (char-set-cursor set)
      (check-set 'char-set-cursor 1 set)
      (first-from (changes-of set) 0))

    (define (char-set-ref set cursor)
      (check-set 'char-set-ref 1 set)
      (integer->char cursor))

    (define (char-set-cursor-next set cursor)
      (check-set 'char-set-cursor-next 1 set)
      (if (not (exact-nonnegative-integer? cursor))
          (%type-error 'char-set-cursor-next 2 "cursor before the end" cursor))
      (first-from (changes-of set) (+ cursor 1)))

    (define (end-of-char-set? cursor)
      (not cursor))

    (define (char-set-fold kons knil set)
      (check-procedure 'char-set-fold 1 kons)
      (check-set 'char-set-fold 3 set)
      (let* ((changes (changes-of set))
             (length (vector-length changes)))
        (let next-range ((index 0) (state knil))
          (if (= index length)
              state
              (let ((end (vector-ref changes (+ index 1))))
                (let loop ((code (vector-ref changes index)) (state state))
                  (if (< code end)
                      (loop (+ code 1) (kons (integer->char code) state))
                      (next-range (+ index 2) state))))))))

    (define char-set-unfold
      (case-lambda
        ((stop? mapper successor seed)
         (char-set-unfold stop? mapper successor seed char-set:empty))
        ((stop? mapper successor seed base)
         (check-procedure 'char-set-unfold 1 stop?)
         (check-procedure 'char-set-unfold 2 mapper)
         (check-procedure 'char-set-unfold 3 successor)
         (check-set 'char-set-unfold 5 base)
         (let loop ((seed seed) (chars '()))
           (if (stop? seed)
               (char-set-union base
                               (codes->set (chars->codes 'char-set-unfold 2 chars)))
               (loop (successor seed) (cons (mapper seed) chars)))))))

    (define (char-set-for-each procedure set)
      (check-procedure 'char-set-for-each 1 procedure)
      (check-set 'char-set-for-each 2 set)
      (char-set-fold (lambda (char state) (procedure char) state) (void) set))

    (define (char-set-map procedure set)
      (check-procedure 'char-set-map 1 procedure)
      (check-set 'char-set-map 2 set)
      (codes->set
       (chars->codes 'char-set-map 1
                     (char-set-fold (lambda (char chars) (cons (procedure char) chars)) '() set))))

    ;; Constructors.

    (define (char-set-copy set)
      (check-set 'char-set-copy 1 set)
      (changes->set (changes-of set)))

    (define (char-set . chars)
      (codes->set (chars->codes 'char-set 1 chars)))

    (define list->char-set
      (case-lambda
        ((chars)
         (if (not (list? chars))
             (%type-error 'list->char-set 1 "list" chars))
         (codes->set (chars->codes 'list->char-set 1 chars)))
        ((chars base)
         (check-set 'list->char-set 2 base)
         (char-set-union base (list->char-set chars)))))

    (define string->char-set
      (case-lambda
        ((string) (codes->set (map char->integer (string->list string))))
        ((string base)
         (check-set 'string->char-set 2 base)
         (char-set-union base (string->char-set string)))))

    (define char-set-filter
      (case-lambda
        ((wanted? set) (char-set-filter wanted? set char-set:empty))
        ((wanted? set base)
         (check-procedure 'char-set-filter 1 wanted?)
         (check-set 'char-set-filter 2 set)
         (check-set 'char-set-filter 3 base)
         (char-set-union
          base
          (codes->set (char-set-fold (lambda (char codes)
                                       (if (wanted? char)
                                           (cons (char->integer char) codes)
                                           codes))
                                     '()
                                     set))))))

    (define ucs-range->char-set
      (case-lambda
        ((lower upper) (ucs-range->char-set lower upper #f))
        ((lower upper error?) (ucs-range->char-set lower upper error? char-set:empty))
        ((lower upper error? base)
         (if (not (exact-nonnegative-integer? lower))
             (%type-error 'ucs-range->char-set 1 "exact non-negative integer" lower))
         (if (not (and (exact-nonnegative-integer? upper) (<= lower upper)))
             (%type-error 'ucs-range->char-set 2 "exact integer not below the lower one" upper))
         (check-set 'ucs-range->char-set 4 base)
         (let* ((range (if (= lower upper) (vector) (vector lower upper)))
                (changes (combine both range full-changes)))
           (if (and error? (not (equal? changes range)))
               (%range-error 'ucs-range->char-set 2 "a range of characters only" upper))
           (char-set-union base (changes->set changes))))))

    (define (->char-set object)
      (cond ((char-set? object) object)
            ((string? object) (string->char-set object))
            ((char? object) (char-set object))
            (else (%type-error '->char-set 1 "character set, string or character" object))))

    ;; Queries.

    (define (char-set->list set)
      (check-set 'char-set->list 1 set)
      (reverse! (char-set-fold cons '() set)))

    (define (char-set->string set)
      (check-set 'char-set->string 1 set)
      (list->string (char-set->list set)))

    (define (char-set-size set)
      (check-set 'char-set-size 1 set)
      (let ((changes (changes-of set)))
        (let loop ((index 0) (size 0))
          (if (< index (vector-length changes))
              (loop (+ index 2)
                    (+ size (- (vector-ref changes (+ index 1)) (vector-ref changes index))))
              size))))

    (define (char-set-count wanted? set)
      (check-procedure 'char-set-count 1 wanted?)
      (check-set 'char-set-count 2 set)
      (char-set-fold (lambda (char count) (if (wanted? char) (+ count 1) count)) 0 set))

    (define (char-set-every wanted? set)
      (check-procedure 'char-set-every 1 wanted?)
      (check-set 'char-set-every 2 set)
      (let loop ((cursor (char-set-cursor set)) (last #t))
        (if cursor
            (let ((last (wanted? (integer->char cursor))))
              (and last (loop (char-set-cursor-next set cursor) last)))
            last)))

    (define (char-set-any wanted? set)
      (check-procedure 'char-set-any 1 wanted?)
      (check-set 'char-set-any 2 set)
      (let loop ((cursor (char-set-cursor set)))
        (and cursor
             (or (wanted? (integer->char cursor))
                 (loop (char-set-cursor-next set cursor))))))

    ;; Algebra.

    (define (char-set-adjoin set . chars)
      (check-set 'char-set-adjoin 1 set)
      (char-set-union set (codes->set (chars->codes 'char-set-adjoin 2 chars))))

    (define (char-set-delete set . chars)
      (check-set 'char-set-delete 1 set)
      (char-set-difference set (codes->set (chars->codes 'char-set-delete 2 chars))))

    (define (char-set-complement set)
      (check-set 'char-set-complement 1 set)
      (changes->set (combine only-left full-changes (changes-of set))))

    (define (combine-all keep? first sets)
      (let loop ((changes (changes-of first)) (rest sets))
        (if (null? rest)
            (changes->set changes)
            (loop (combine keep? changes (changes-of (car rest))) (cdr rest)))))

    (define (char-set-union . sets)
      (check-sets 'char-set-union sets)
      (combine-all either char-set:empty sets))

    (define (char-set-intersection . sets)
      (check-sets 'char-set-intersection sets)
      (combine-all both char-set:full sets))

    (define (char-set-difference set . sets)
      (check-sets 'char-set-difference (cons set sets))
      (combine-all only-left set sets))

    ;; A character is in the result when it is in an odd number of the sets.
    (define (char-set-xor . sets)
      (check-sets 'char-set-xor sets)
      (combine-all only-one char-set:empty sets))

    (define (char-set-diff+intersection set . sets)
      (check-sets 'char-set-diff+intersection (cons set sets))
      (let ((others (combine-all either char-set:empty sets)))
        (values (char-set-difference set others)
                (char-set-intersection set others))))

    ;; Predefined sets.

    (define (named-set . names)
      (make-set (lambda () (%character-ranges names)) #f))

    (define (lazy-union . sets)
      (make-set (lambda () (changes-of (combine-all either char-set:empty sets))) #f))

    (define char-set:empty (changes->set (vector)))
    (define char-set:full (changes->set full-changes))
    (define char-set:ascii (changes->set (vector 0 128)))
    (define char-set:lower-case (named-set 'lower-case))
    (define char-set:upper-case (named-set 'upper-case))
    (define char-set:title-case (named-set 'Lt))
    (define char-set:letter (named-set 'Lu 'Ll 'Lt 'Lm 'Lo))
    (define char-set:digit (named-set 'Nd))
    (define char-set:letter+digit (named-set 'Lu 'Ll 'Lt 'Lm 'Lo 'Nd))
    (define char-set:punctuation (named-set 'Pc 'Pd 'Ps 'Pe 'Pi 'Pf 'Po))
    (define char-set:symbol (named-set 'Sm 'Sc 'Sk 'So))
    (define char-set:graphic
      (named-set 'Lu 'Ll 'Lt 'Lm 'Lo 'Mn 'Mc 'Me 'Nd 'Nl 'No 'Pc 'Pd 'Ps 'Pe 'Pi 'Pf 'Po
                 'Sm 'Sc 'Sk 'So))
    (define char-set:whitespace
      (lazy-union (named-set 'Zs 'Zl 'Zp) (changes->set (vector 9 14))))
    (define char-set:printing (lazy-union char-set:graphic char-set:whitespace))
    (define char-set:iso-control (changes->set (vector 0 32 127 160)))
    (define char-set:hex-digit (changes->set (vector 48 58 65 71 97 103)))
    (define char-set:blank (lazy-union (named-set 'Zs) (char-set #\tab)))))
