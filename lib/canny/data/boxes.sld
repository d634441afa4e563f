;;; (canny data boxes): boxes of any number of values, SRFI 111 and 195.
;;;
;;; A box holds what `values` returns: the object itself when it is one, else the machine's object
;;; for several values. So `unbox` is a plain accessor.

(define-library (canny data boxes)
  (export box box? unbox set-box! box-arity unbox-value set-box-value!)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments))
  (begin

    (define-record-type <box>
      (make-box content)
      box?
      (content unbox set-content!))

    (define box
      (case-lambda
        ((object) (make-box object))
        (objects (make-box (%list->values objects)))))

    (define (check-box who object)
      (check-argument who 1 box? "box" object))

    (define (content-list box)
      (let ((content (unbox box)))
        (if (%values? content)
            (%values->list content)
            (list content))))

    (define (box-arity box)
      (check-box 'box-arity box)
      (length (content-list box)))

    ;; The first clause mentions no text of an error: it can be copied to calls.
    (define set-box!
      (case-lambda
        ((box object)
         (if (and (box? box) (not (%values? (unbox box))))
             (set-content! box object)
             (set-contents! box (list object))))
        ((box . objects)
         (set-contents! box objects))))

    (define (set-contents! box objects)
      (check-box 'set-box! box)
      (check-arity box (length objects))
      (set-content! box (%list->values objects)))

    (define (check-arity box count)
      (if (not (= count (if (%values? (unbox box)) (box-arity box) 1)))
          (error "set-box!: the box holds another number of values" box count)))

    (define (check-position who box index)
      (check-box who box)
      (check-index who 2 index)
      (if (not (< index (box-arity box)))
          (%range-error who 2 "the box holds fewer values" index)))

    (define (unbox-value box index)
      (check-position 'unbox-value box index)
      (list-ref (content-list box) index))

    (define (set-box-value! box index object)
      (check-position 'set-box-value! box index)
      (let ((objects (list-copy (content-list box))))
        (list-set! objects index object)
        (set-content! box (%list->values objects))))))
