;;; (srfi 230): atomic operations.
;;;
;;; A program has one thread: each operation is atomic, and the order of memory accesses is that of
;;; the program.  Arguments that name a memory order are checked and have no other effect.

(define-library (srfi 230)
  (export memory-order memory-order?
          make-atomic-flag atomic-flag? atomic-flag-test-and-set! atomic-flag-clear!
          make-atomic-box atomic-box? atomic-box-ref atomic-box-set! atomic-box-swap!
          atomic-box-compare-and-swap!
          make-atomic-fxbox atomic-fxbox? atomic-fxbox-ref atomic-fxbox-set! atomic-fxbox-swap!
          atomic-fxbox-compare-and-swap! atomic-fxbox+/fetch! atomic-fxbox-/fetch!
          atomic-fxbox-and/fetch! atomic-fxbox-ior/fetch! atomic-fxbox-xor/fetch!
          make-atomic-pair atomic-pair? atomic-pair-ref atomic-pair-set! atomic-pair-swap!
          atomic-pair-compare-and-swap!
          atomic-fence
          %check-memory-order)
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

    ;; Defines an operation whose last parameter is an optional memory order.
    (define-syntax define-atomic
      (syntax-rules ()
        ((_ (name parameter ...) body ...)
         (define name
           (case-lambda
             ((parameter ...) body ...)
             ((parameter ... order)
              (%check-memory-order 'name (+ 1 (length '(parameter ...))) order)
              body ...))))))

    (define-record-type atomic-flag
      (new-flag set?)
      atomic-flag?
      (set? flag-set? set-flag!))

    (define (make-atomic-flag)
      (new-flag #f))

    (define-atomic (atomic-flag-test-and-set! flag)
      (let ((before (flag-set? flag)))
        (set-flag! flag #t)
        before))

    (define-atomic (atomic-flag-clear! flag)
      (set-flag! flag #f))

    (define-record-type atomic-box
      (make-atomic-box content)
      atomic-box?
      (content box-content set-box-content!))

    (define-atomic (atomic-box-ref box)
      (box-content box))

    (define-atomic (atomic-box-set! box object)
      (set-box-content! box object))

    (define-atomic (atomic-box-swap! box object)
      (let ((before (box-content box)))
        (set-box-content! box object)
        before))

    (define-atomic (atomic-box-compare-and-swap! box expected desired)
      (let ((before (box-content box)))
        (if (eq? before expected)
            (set-box-content! box desired))
        before))

    (define-record-type atomic-fxbox
      (new-fxbox content)
      atomic-fxbox?
      (content fxbox-content set-fxbox-content!))

    (define (check-fixnum who position object)
      (if (not (fixnum? object))
          (%type-error who position "fixnum" object)))

    (define (make-atomic-fxbox fixnum)
      (check-fixnum 'make-atomic-fxbox 1 fixnum)
      (new-fxbox fixnum))

    (define-atomic (atomic-fxbox-ref box)
      (fxbox-content box))

    (define-atomic (atomic-fxbox-set! box fixnum)
      (check-fixnum 'atomic-fxbox-set! 2 fixnum)
      (set-fxbox-content! box fixnum))

    (define-atomic (atomic-fxbox-swap! box fixnum)
      (check-fixnum 'atomic-fxbox-swap! 2 fixnum)
      (let ((before (fxbox-content box)))
        (set-fxbox-content! box fixnum)
        before))

    (define-atomic (atomic-fxbox-compare-and-swap! box expected desired)
      (check-fixnum 'atomic-fxbox-compare-and-swap! 2 expected)
      (check-fixnum 'atomic-fxbox-compare-and-swap! 3 desired)
      (let ((before (fxbox-content box)))
        (if (= before expected)
            (set-fxbox-content! box desired))
        before))

    ;; Operations that combine the content with a fixnum and give the content before.
    (define-syntax define-fetch
      (syntax-rules ()
        ((_ name operation)
         (define-atomic (name box fixnum)
           (check-fixnum 'name 2 fixnum)
           (let* ((before (fxbox-content box)) (after (operation before fixnum)))
             (if (not (fixnum? after))
                 (%range-error 'name 2 "a fixnum that gives a fixnum" fixnum))
             (set-fxbox-content! box after)
             before)))))

    (define-fetch atomic-fxbox+/fetch! +)
    (define-fetch atomic-fxbox-/fetch! -)
    (define-fetch atomic-fxbox-and/fetch! bitwise-and)
    (define-fetch atomic-fxbox-ior/fetch! bitwise-ior)
    (define-fetch atomic-fxbox-xor/fetch! bitwise-xor)

    (define-record-type atomic-pair
      (make-atomic-pair first second)
      atomic-pair?
      (first pair-first set-pair-first!)
      (second pair-second set-pair-second!))

    (define-atomic (atomic-pair-ref pair)
      (values (pair-first pair) (pair-second pair)))

    (define-atomic (atomic-pair-set! pair first second)
      (set-pair-first! pair first)
      (set-pair-second! pair second))

    (define-atomic (atomic-pair-swap! pair first second)
      (let ((before1 (pair-first pair)) (before2 (pair-second pair)))
        (set-pair-first! pair first)
        (set-pair-second! pair second)
        (values before1 before2)))

    (define-atomic (atomic-pair-compare-and-swap! pair expected1 expected2 desired1 desired2)
      (let ((before1 (pair-first pair)) (before2 (pair-second pair)))
        (if (and (eq? before1 expected1) (eq? before2 expected2))
            (begin
              (set-pair-first! pair desired1)
              (set-pair-second! pair desired2)))
        (values before1 before2)))

    (define (atomic-fence order)
      (%check-memory-order 'atomic-fence 1 order)
      (void))))
