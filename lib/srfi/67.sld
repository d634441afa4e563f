;;; (srfi 67): compare procedures.
;;;
;;; A compare procedure gives -1, 0 or 1. A caller that branches on its result checks that it is one
;;; of these, with `if3`.

(define-library (srfi 67)
  (export boolean-compare char-compare char-compare-ci string-compare string-compare-ci
          symbol-compare integer-compare rational-compare real-compare complex-compare
          number-compare
          vector-compare vector-compare-as-list list-compare list-compare-as-vector
          pair-compare pair-compare-car pair-compare-cdr default-compare
          refine-compare select-compare cond-compare
          if3 if=? if<? if>? if<=? if>=? if-not=?
          =? <? >? <=? >=? not=?
          </<? </<=? <=/<? <=/<=? >/>? >/>=? >=/>? >=/>=?
          chain=? chain<? chain>? chain<=? chain>=? pairwise-not=?
          min-compare max-compare kth-largest
          compare-by< compare-by> compare-by<= compare-by>= compare-by=/< compare-by=/>
          debug-compare)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (only (canny data sorting) vector-sort))
  (begin

    ;; Branching.

    (define (not-a-comparison value)
      (error "a compare procedure gave neither -1, 0 nor 1" value))

    (define-syntax if3
      (syntax-rules ()
        ((_ comparison less same greater)
         (case comparison
           ((-1) less)
           ((0) same)
           ((1) greater)
           (else => not-a-comparison)))))

    (define-syntax define-conditional
      (syntax-rules ()
        ((_ name negative zero positive)
         (define-syntax name
           (syntax-rules ()
             ((_1 comparison consequent)
              (name comparison consequent (if #f #f)))
             ((_1 comparison consequent alternate)
              (if (if3 comparison negative zero positive) consequent alternate)))))))

    (define-conditional if=? #f #t #f)
    (define-conditional if<? #t #f #f)
    (define-conditional if>? #f #f #t)
    (define-conditional if<=? #t #t #f)
    (define-conditional if>=? #f #t #t)
    (define-conditional if-not=? #t #f #t)

    (define-syntax refine-compare
      (syntax-rules ()
        ((_) 0)
        ((_ comparison) comparison)
        ((_ comparison rest ...)
         (if3 comparison -1 (refine-compare rest ...) 1))))

    (define-syntax select-compare
      (syntax-rules ()
        ((_ left right clause ...)
         (let ((x left) (y right))
           (select-clauses x y clause ...)))))

    (define-syntax select-clauses
      (syntax-rules (else)
        ((_ x y) 0)
        ((_ x y (else comparison ...)) (refine-compare comparison ...))
        ((_ x y (type? comparison ...) clause ...)
         (let ((test? type?))
           (cond-compare (((test? x) (test? y)) comparison ...)
                         (else (select-clauses x y clause ...)))))))

    (define-syntax cond-compare
      (syntax-rules (else)
        ((_) 0)
        ((_ (else comparison ...)) (refine-compare comparison ...))
        ((_ ((left? right?) comparison ...) clause ...)
         (let ((left-holds? left?) (right-holds? right?))
           (if left-holds?
               (if right-holds? (refine-compare comparison ...) -1)
               (if right-holds? 1 (cond-compare clause ...)))))))

    ;; Atoms.

    (define-syntax define-atom-compare
      (syntax-rules ()
        ((_ name type? type less? same?)
         (define (name left right)
           (check-argument 'name 1 type? type left)
           (check-argument 'name 2 type? type right)
           (cond ((less? left right) -1)
                 ((same? left right) 0)
                 (else 1))))))

    (define (boolean<? left right)
      (and (not left) right))

    (define-atom-compare boolean-compare boolean? "boolean" boolean<? eq?)
    (define-atom-compare char-compare char? "character" char<? char=?)
    (define-atom-compare char-compare-ci char? "character" char-ci<? char-ci=?)
    (define-atom-compare string-compare string? "string" string<? string=?)
    (define-atom-compare string-compare-ci string? "string" string-ci<? string-ci=?)
    (define-atom-compare symbol-compare symbol? "symbol" symbol<? eq?)
    (define-atom-compare integer-compare integer? "integer" < =)
    (define-atom-compare rational-compare rational? "rational number" < =)
    (define-atom-compare real-compare real? "real number" < =)

    (define (compare-complex who left right)
      (check-argument who 1 number? "number" left)
      (check-argument who 2 number? "number" right)
      (if (and (real? left) (real? right))
          (real-compare left right)
          (refine-compare (real-compare (real-part left) (real-part right))
                          (real-compare (imag-part left) (imag-part right)))))

    (define (complex-compare left right) (compare-complex 'complex-compare left right))
    (define (number-compare left right) (compare-complex 'number-compare left right))

    ;; Sequences.

    (define vector-compare
      (case-lambda
        ((x y) (vector-compare default-compare x y vector-length vector-ref))
        ((compare x y) (vector-compare compare x y vector-length vector-ref))
        ((x y size ref) (vector-compare default-compare x y size ref))
        ((compare x y size ref)
         (check-procedure 'vector-compare 1 compare)
         (let ((length (size x)))
           (refine-compare (real-compare length (size y))
                           (compare-elements compare x y length ref 0))))))

    (define vector-compare-as-list
      (case-lambda
        ((x y) (vector-compare-as-list default-compare x y vector-length vector-ref))
        ((compare x y) (vector-compare-as-list compare x y vector-length vector-ref))
        ((x y size ref) (vector-compare-as-list default-compare x y size ref))
        ((compare x y size ref)
         (check-procedure 'vector-compare-as-list 1 compare)
         (let ((x-length (size x)) (y-length (size y)))
           (refine-compare (compare-elements compare x y (min x-length y-length) ref 0)
                           (real-compare x-length y-length))))))

    (define (compare-elements compare x y length ref index)
      (if (= index length)
          0
          (refine-compare (compare (ref x index) (ref y index))
                          (compare-elements compare x y length ref (+ index 1)))))

    (define list-compare
      (case-lambda
        ((x y) (list-compare default-compare x y null? car cdr))
        ((compare x y) (list-compare compare x y null? car cdr))
        ((x y empty? head tail) (list-compare default-compare x y empty? head tail))
        ((compare x y empty? head tail)
         (check-procedure 'list-compare 1 compare)
         (let loop ((x x) (y y))
           (cond ((empty? x) (if (empty? y) 0 -1))
                 ((empty? y) 1)
                 (else (refine-compare (compare (head x) (head y))
                                       (loop (tail x) (tail y)))))))))

    (define list-compare-as-vector
      (case-lambda
        ((x y) (list-compare-as-vector default-compare x y null? car cdr))
        ((compare x y) (list-compare-as-vector compare x y null? car cdr))
        ((x y empty? head tail) (list-compare-as-vector default-compare x y empty? head tail))
        ((compare x y empty? head tail)
         (check-procedure 'list-compare-as-vector 1 compare)
         (refine-compare
          (let loop ((x x) (y y))
            (cond ((empty? x) (if (empty? y) 0 -1))
                  ((empty? y) 1)
                  (else (loop (tail x) (tail y)))))
          (list-compare compare x y empty? head tail)))))

    (define (pair-compare-car compare)
      (check-procedure 'pair-compare-car 1 compare)
      (lambda (x y) (compare (car x) (car y))))

    (define (pair-compare-cdr compare)
      (check-procedure 'pair-compare-cdr 1 compare)
      (lambda (x y) (compare (cdr x) (cdr y))))

    (define pair-compare
      (case-lambda
        ((x y) (pair-compare default-compare x y))
        ((compare x y)
         (check-procedure 'pair-compare 1 compare)
         (let loop ((x x) (y y))
           (select-compare x y
             (null?)
             (pair? (compare (car x) (car y))
                    (loop (cdr x) (cdr y)))
             (else (compare x y)))))
        ((compare-car compare-cdr x y)
         (check-procedure 'pair-compare 1 compare-car)
         (check-procedure 'pair-compare 2 compare-cdr)
         (refine-compare (compare-car (car x) (car y))
                         (compare-cdr (cdr x) (cdr y))))))

    (define (default-compare x y)
      (select-compare x y
        (null?)
        (pair? (default-compare (car x) (car y))
               (default-compare (cdr x) (cdr y)))
        (boolean? (boolean-compare x y))
        (char? (char-compare x y))
        (string? (string-compare x y))
        (symbol? (symbol-compare x y))
        (number? (number-compare x y))
        (vector? (vector-compare default-compare x y vector-length vector-ref))
        (bytevector? (vector-compare real-compare x y bytevector-length bytevector-u8-ref))
        (else (error "default-compare: objects that have no order" x y))))

    ;; Predicates.

    (define-syntax define-relation
      (syntax-rules ()
        ((_ name if-holds)
         (define name
           (case-lambda
             (() (name default-compare))
             ((compare)
              (check-procedure 'name 1 compare)
              (lambda (x y) (if-holds (compare x y) #t #f)))
             ((x y) (if-holds (default-compare x y) #t #f))
             ((compare x y)
              (check-procedure 'name 1 compare)
              (if-holds (compare x y) #t #f)))))))

    (define-relation =? if=?)
    (define-relation <? if<?)
    (define-relation >? if>?)
    (define-relation <=? if<=?)
    (define-relation >=? if>=?)
    (define-relation not=? if-not=?)

    ;; Both comparisons are made, so that all three objects are seen to be comparable.
    (define-syntax define-range
      (syntax-rules ()
        ((_ name if-left if-right)
         (define name
           (case-lambda
             (() (name default-compare))
             ((compare)
              (check-procedure 'name 1 compare)
              (lambda (x y z) (name compare x y z)))
             ((x y z) (name default-compare x y z))
             ((compare x y z)
              (check-procedure 'name 1 compare)
              (let* ((left (compare x y)) (right (compare y z)))
                (if-left left (if-right right #t #f) (if-right right #f #f)))))))))

    (define-range </<? if<? if<?)
    (define-range </<=? if<? if<=?)
    (define-range <=/<? if<=? if<?)
    (define-range <=/<=? if<=? if<=?)
    (define-range >/>? if>? if>?)
    (define-range >/>=? if>? if>=?)
    (define-range >=/>? if>=? if>?)
    (define-range >=/>=? if>=? if>=?)

    (define-syntax define-chain
      (syntax-rules ()
        ((_ name if-holds)
         (define (name compare . objects)
           (check-procedure 'name 1 compare)
           (if (and (pair? objects) (null? (cdr objects)))
               (compare (car objects) (car objects)))
           (or (null? objects)
               (let loop ((x (car objects)) (rest (cdr objects)) (holds? #t))
                 (if (null? rest)
                     holds?
                     (loop (car rest)
                           (cdr rest)
                           (if-holds (compare x (car rest)) holds? #f)))))))))

    (define-chain chain=? if=?)
    (define-chain chain<? if<?)
    (define-chain chain>? if>?)
    (define-chain chain<=? if<=?)
    (define-chain chain>=? if>=?)

    (define (sorted-vector compare objects)
      (vector-sort (lambda (x y) (if<? (compare x y) #t #f)) (list->vector objects)))

    (define (pairwise-not=? compare . objects)
      (check-procedure 'pairwise-not=? 1 compare)
      (if (and (pair? objects) (null? (cdr objects)))
          (compare (car objects) (car objects)))
      (let* ((sorted (sorted-vector compare objects)) (length (vector-length sorted)))
        (let loop ((index 1))
          (or (>= index length)
              (if-not=? (compare (vector-ref sorted (- index 1)) (vector-ref sorted index))
                        (loop (+ index 1))
                        #f)))))

    ;; Minimum and maximum.

    (define (min-compare compare object . objects)
      (check-procedure 'min-compare 1 compare)
      (compare object object)
      (let loop ((best object) (rest objects))
        (if (null? rest)
            best
            (loop (if<? (compare (car rest) best) (car rest) best) (cdr rest)))))

    (define (max-compare compare object . objects)
      (check-procedure 'max-compare 1 compare)
      (compare object object)
      (let loop ((best object) (rest objects))
        (if (null? rest)
            best
            (loop (if>? (compare (car rest) best) (car rest) best) (cdr rest)))))

    (define (kth-largest compare k object . objects)
      (check-procedure 'kth-largest 1 compare)
      (check-exact-integer 'kth-largest 2 k)
      (compare object object)
      (let ((sorted (sorted-vector compare (cons object objects))))
        (vector-ref sorted (modulo k (vector-length sorted)))))

    ;; Compare procedures from predicates.

    (define-syntax define-from-predicate
      (syntax-rules ()
        ((_ name (predicate x y) comparison)
         (define name
           (case-lambda
             ((predicate)
              (check-procedure 'name 1 predicate)
              (lambda (x y) comparison))
             ((predicate x y)
              (check-procedure 'name 1 predicate)
              comparison))))
        ((_ name (same? predicate x y) comparison)
         (define name
           (case-lambda
             ((same? predicate)
              (check-procedure 'name 1 same?)
              (check-procedure 'name 2 predicate)
              (lambda (x y) comparison))
             ((same? predicate x y)
              (check-procedure 'name 1 same?)
              (check-procedure 'name 2 predicate)
              comparison))))))

    (define-from-predicate compare-by< (less? x y)
      (cond ((less? x y) -1) ((less? y x) 1) (else 0)))
    (define-from-predicate compare-by> (greater? x y)
      (cond ((greater? x y) 1) ((greater? y x) -1) (else 0)))
    (define-from-predicate compare-by<= (at-most? x y)
      (if (at-most? x y) (if (at-most? y x) 0 -1) 1))
    (define-from-predicate compare-by>= (at-least? x y)
      (if (at-least? x y) (if (at-least? y x) 0 1) -1))
    (define-from-predicate compare-by=/< (same? less? x y)
      (cond ((same? x y) 0) ((less? x y) -1) (else 1)))
    (define-from-predicate compare-by=/> (same? greater? x y)
      (cond ((same? x y) 0) ((greater? x y) 1) (else -1)))

    ;; The third object for the test of transitivity is one of the last call's, in turn.
    (define (debug-compare compare)
      (check-procedure 'debug-compare 1 compare)
      (let ((third? #f) (third #f) (first-next? #t))
        (define (violation what . objects)
          (%apply error (cons* what compare objects)))
        (define (checked x y)
          (let ((result (compare x y)))
            (if (not (memv result '(-1 0 1)))
                (not-a-comparison result))
            result))
        (define (check-reflexive x)
          (if (not (eqv? (checked x x) 0))
              (violation "the compare procedure is not reflexive" x)))
        (define (check-antisymmetric x y)
          (let ((result (checked x y)))
            (if (not (= (checked y x) (- result)))
                (violation "the compare procedure is not antisymmetric" x y))
            result))
        ;; Of x <= y and y <= z follows x <= z, strictly if one of them is strict.
        (define (check-transitive x y z)
          (let ((left (checked x y)) (right (checked y z)) (both (checked x z)))
            (if (and (<= left 0) (<= right 0)
                     (not (if (= 0 left right) (= both 0) (= both -1))))
                (violation "the compare procedure is not transitive" x y z))))
        (lambda (x y)
          (check-reflexive x)
          (check-reflexive y)
          (let ((result (check-antisymmetric x y)))
            (if third?
                (begin
                  (check-antisymmetric x third)
                  (check-antisymmetric y third)
                  (check-transitive x y third)
                  (check-transitive x third y)
                  (check-transitive y x third)
                  (check-transitive y third x)
                  (check-transitive third x y)
                  (check-transitive third y x)))
            (set! third (if first-next? x y))
            (set! third? #t)
            (set! first-next? (not first-next?))
            result))))))
