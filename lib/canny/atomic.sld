;;; (canny atomic): boxes whose changes are one step for all threads.
;;;
;;; A box is a record, and each operation is the primitive `%compare-and-swap!` on a field of it,
;;; tried again until no other thread came between. That is sequentially consistent; arguments that
;;; name a weaker order of memory accesses are checked and have no other effect. Reading is an
;;; operation too, since a plain load could be moved out of a loop that waits for a change. An
;;; atomic pair holds one fresh pair, which is replaced and never changed.
;;;
;;; `(srfi 230)` is a part of this library.

(define-library (canny atomic)
  (export memory-order memory-order? %check-memory-order
          make-atomic-flag atomic-flag? atomic-flag-test-and-set! atomic-flag-clear!
          make-atomic-box atomic-box? atomic-box-ref atomic-box-set! atomic-box-swap!
          atomic-box-compare-and-swap! atomic-box-update!
          make-atomic-fxbox atomic-fxbox? atomic-fxbox-ref atomic-fxbox-set! atomic-fxbox-swap!
          atomic-fxbox-compare-and-swap! atomic-fxbox+/fetch! atomic-fxbox-/fetch!
          atomic-fxbox-and/fetch! atomic-fxbox-ior/fetch! atomic-fxbox-xor/fetch!
          make-atomic-integer atomic-integer? atomic-integer-ref atomic-integer-set!
          atomic-fetch-add! atomic-add-fetch!
          make-atomic-pair atomic-pair? atomic-pair-ref atomic-pair-set! atomic-pair-swap!
          atomic-pair-compare-and-swap!
          atomic-fence)
  (import (canny syntax) (canny primitives))
  (begin

    (define (memory-order? object)
      (if (memq object '(relaxed acquire release acquire-release sequentially-consistent))
          #t
          #f))

    (define (%check-memory-order who position object)
      (if (not (memory-order? object))
          (%type-error who position "memory order" object))
      object)

    (define-syntax memory-order
      (syntax-rules ()
        ((_ name) (%check-memory-order 'memory-order 1 'name))))

    ;; Defines an operation on a kind of box, whose last parameter is an optional memory order.
    (define-syntax define-atomic
      (syntax-rules ()
        ((_ (name test? expected parameter0 parameter ...) body ...)
         (define name
           (case-lambda
             ((parameter0 parameter ...)
              (if (not (test? parameter0))
                  (%type-error 'name 1 expected parameter0))
              body ...)
             ((parameter0 parameter ... order)
              (%check-memory-order 'name (+ 1 (length '(parameter0 parameter ...))) order)
              (name parameter0 parameter ...)))))))

    ;; The content of a box, field 0 of all of them.
    (define (content box)
      (%compare-and-swap! box 0 (void) (void)))

    ;; Replaces the content by `(next content)`, an expression; gives what `(result before after)`
    ;; does.
    (define-syntax replace!
      (syntax-rules ()
        ((_ box before next result)
         (let again ((before (content box)))
           (let* ((after next)
                  (found (%compare-and-swap! box 0 before after)))
             (if (eq? found before)
                 (result before after)
                 (again found)))))))

    (define-syntax the-one-before
      (syntax-rules ()
        ((_ before after) before)))

    (define-syntax the-one-after
      (syntax-rules ()
        ((_ before after) after)))

    ;; Flags.

    (define-record-type atomic-flag
      (new-flag content)
      atomic-flag?
      (content flag-content))

    (define (make-atomic-flag)
      (new-flag #f))

    (define-atomic (atomic-flag-test-and-set! atomic-flag? "atomic flag" flag)
      (%compare-and-swap! flag 0 #f #t))

    (define-atomic (atomic-flag-clear! atomic-flag? "atomic flag" flag)
      (%compare-and-swap! flag 0 #t #f)
      (void))

    ;; Boxes.

    (define-record-type atomic-box
      (make-atomic-box content)
      atomic-box?
      (content box-content))

    (define-atomic (atomic-box-ref atomic-box? "atomic box" box)
      (content box))

    (define-atomic (atomic-box-set! atomic-box? "atomic box" box object)
      (replace! box before object the-one-after)
      (void))

    (define-atomic (atomic-box-swap! atomic-box? "atomic box" box object)
      (replace! box before object the-one-before))

    (define-atomic (atomic-box-compare-and-swap! atomic-box? "atomic box" box expected desired)
      (%compare-and-swap! box 0 expected desired))

    ;; Replaces the content by what a procedure makes of it, and gives that. The procedure is called
    ;; again if another thread came between.
    (define (atomic-box-update! box procedure)
      (if (not (atomic-box? box))
          (%type-error 'atomic-box-update! 1 "atomic box" box))
      (if (not (procedure? procedure))
          (%type-error 'atomic-box-update! 2 "procedure" procedure))
      (replace! box before (procedure before) the-one-after))

    ;; Boxes of fixnums.

    (define-record-type atomic-fxbox
      (new-fxbox content)
      atomic-fxbox?
      (content fxbox-content))

    (define (check-fixnum who position object)
      (if (not (fixnum? object))
          (%type-error who position "fixnum" object)))

    (define (make-atomic-fxbox fixnum)
      (check-fixnum 'make-atomic-fxbox 1 fixnum)
      (new-fxbox fixnum))

    (define-atomic (atomic-fxbox-ref atomic-fxbox? "atomic fxbox" box)
      (content box))

    (define-atomic (atomic-fxbox-set! atomic-fxbox? "atomic fxbox" box fixnum)
      (check-fixnum 'atomic-fxbox-set! 2 fixnum)
      (replace! box before fixnum the-one-after)
      (void))

    (define-atomic (atomic-fxbox-swap! atomic-fxbox? "atomic fxbox" box fixnum)
      (check-fixnum 'atomic-fxbox-swap! 2 fixnum)
      (replace! box before fixnum the-one-before))

    (define-atomic (atomic-fxbox-compare-and-swap! atomic-fxbox? "atomic fxbox" box expected
                                                   desired)
      (check-fixnum 'atomic-fxbox-compare-and-swap! 2 expected)
      (check-fixnum 'atomic-fxbox-compare-and-swap! 3 desired)
      (%compare-and-swap! box 0 expected desired))

    ;; Operations that combine the content with a fixnum and give the content before.
    (define-syntax define-fetch
      (syntax-rules ()
        ((_ name operation)
         (define-atomic (name atomic-fxbox? "atomic fxbox" box fixnum)
           (check-fixnum 'name 2 fixnum)
           (replace! box before (check-result 'name fixnum (operation before fixnum))
                     the-one-before)))))

    (define (check-result who argument result)
      (if (not (fixnum? result))
          (%range-error who 2 "a fixnum that gives a fixnum" argument))
      result)

    (define-fetch atomic-fxbox+/fetch! +)
    (define-fetch atomic-fxbox-/fetch! -)
    (define-fetch atomic-fxbox-and/fetch! bitwise-and)
    (define-fetch atomic-fxbox-ior/fetch! bitwise-ior)
    (define-fetch atomic-fxbox-xor/fetch! bitwise-xor)

    ;; Boxes of exact integers of any size.

    (define-record-type atomic-integer
      (new-integer content)
      atomic-integer?
      (content integer-content))

    (define (check-integer who position object)
      (if (not (exact-integer? object))
          (%type-error who position "exact integer" object)))

    (define (make-atomic-integer integer)
      (check-integer 'make-atomic-integer 1 integer)
      (new-integer integer))

    (define-atomic (atomic-integer-ref atomic-integer? "atomic integer" box)
      (content box))

    (define-atomic (atomic-integer-set! atomic-integer? "atomic integer" box integer)
      (check-integer 'atomic-integer-set! 2 integer)
      (replace! box before integer the-one-after)
      (void))

    ;; Adds to the integer and gives what it was.
    (define-atomic (atomic-fetch-add! atomic-integer? "atomic integer" box integer)
      (check-integer 'atomic-fetch-add! 2 integer)
      (replace! box before (+ before integer) the-one-before))

    ;; Adds to the integer and gives what it is then.
    (define-atomic (atomic-add-fetch! atomic-integer? "atomic integer" box integer)
      (check-integer 'atomic-add-fetch! 2 integer)
      (replace! box before (+ before integer) the-one-after))

    ;; Pairs.

    (define-record-type atomic-pair
      (new-atomic-pair content)
      atomic-pair?
      (content pair-content))

    (define (make-atomic-pair first second)
      (new-atomic-pair (cons first second)))

    (define (pair-values pair)
      (values (car pair) (cdr pair)))

    (define-atomic (atomic-pair-ref atomic-pair? "atomic pair" pair)
      (pair-values (content pair)))

    (define-atomic (atomic-pair-set! atomic-pair? "atomic pair" pair first second)
      (let ((new (cons first second)))
        (replace! pair before new the-one-after)
        (void)))

    (define-atomic (atomic-pair-swap! atomic-pair? "atomic pair" pair first second)
      (let ((new (cons first second)))
        (pair-values (replace! pair before new the-one-before))))

    (define-atomic (atomic-pair-compare-and-swap! atomic-pair? "atomic pair" pair expected1
                                                  expected2 desired1 desired2)
      (let ((new (cons desired1 desired2)))
        (let again ((before (content pair)))
          (if (and (eq? (car before) expected1) (eq? (cdr before) expected2))
              (let ((found (%compare-and-swap! pair 0 before new)))
                (if (eq? found before)
                    (pair-values before)
                    (again found)))
              (pair-values before)))))

    (define (atomic-fence order)
      (%check-memory-order 'atomic-fence 1 order)
      (void))))
