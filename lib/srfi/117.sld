;;; (srfi 117): queues based on lists.
;;;
;;; Invariant: `first` is the list of the elements and `last` its last pair; both are () when the
;;; queue is empty.  A queue shares its list with its user, as the SRFI wants.

(define-library (srfi 117)
  (export make-list-queue list-queue list-queue-copy list-queue-unfold list-queue-unfold-right
          list-queue? list-queue-empty? list-queue-front list-queue-back list-queue-list
          list-queue-first-last list-queue-add-front! list-queue-add-back!
          list-queue-remove-front! list-queue-remove-back! list-queue-remove-all!
          list-queue-set-list! list-queue-append list-queue-append! list-queue-concatenate
          list-queue-map list-queue-map! list-queue-for-each)
  (import (canny primitives) (canny syntax) (canny data lists) (canny machine arguments))
  (begin

    (define-record-type <list-queue>
      (make-queue first last)
      list-queue?
      (first queue-first set-queue-first!)
      (last queue-last set-queue-last!))

    (define (check-queue who position object)
      (check-argument who position list-queue? "list queue" object))

    (define (check-not-empty who queue)
      (check-queue who 1 queue)
      (if (null? (queue-first queue))
          (%range-error who 1 "the queue is empty" queue)))

    (define (set-queue! queue first last)
      (set-queue-first! queue first)
      (set-queue-last! queue last))

    (define (last-pair-of who list)
      (check-list who 1 list)
      (if (null? list) '() (last-pair list)))

    (define (check-last who first last)
      (if (not (or (and (pair? first) (pair? last))
                   (and (null? first) (null? last))))
          (%type-error who 2 "last pair of the list" last)))

    (define make-list-queue
      (case-lambda
        ((list) (make-queue list (last-pair-of 'make-list-queue list)))
        ((first last)
         (check-last 'make-list-queue first last)
         (make-queue first last))))

    (define (list-queue . elements)
      (make-list-queue elements))

    (define (list-queue-copy queue)
      (make-list-queue (list-copy (list-queue-list queue))))

    (define list-queue-unfold
      (case-lambda
        ((stop? mapper successor seed)
         (list-queue-unfold stop? mapper successor seed (list-queue)))
        ((stop? mapper successor seed queue)
         (check-procedure 'list-queue-unfold 1 stop?)
         (check-queue 'list-queue-unfold 5 queue)
         ;; The elements come before those of the queue, in the order of their seeds.
         (let loop ((seed seed) (reversed '()))
           (if (stop? seed)
               (for-each (lambda (element) (list-queue-add-front! queue element)) reversed)
               (loop (successor seed) (cons (mapper seed) reversed))))
         queue)))

    (define list-queue-unfold-right
      (case-lambda
        ((stop? mapper successor seed)
         (list-queue-unfold-right stop? mapper successor seed (list-queue)))
        ((stop? mapper successor seed queue)
         (check-procedure 'list-queue-unfold-right 1 stop?)
         (check-queue 'list-queue-unfold-right 5 queue)
         (let loop ((seed seed) (reversed '()))
           (if (stop? seed)
               (for-each (lambda (element) (list-queue-add-back! queue element)) reversed)
               (loop (successor seed) (cons (mapper seed) reversed))))
         queue)))

    (define (list-queue-empty? queue)
      (check-queue 'list-queue-empty? 1 queue)
      (null? (queue-first queue)))

    (define (list-queue-front queue)
      (check-not-empty 'list-queue-front queue)
      (car (queue-first queue)))

    (define (list-queue-back queue)
      (check-not-empty 'list-queue-back queue)
      (car (queue-last queue)))

    (define (list-queue-list queue)
      (check-queue 'list-queue-list 1 queue)
      (queue-first queue))

    (define (list-queue-first-last queue)
      (check-queue 'list-queue-first-last 1 queue)
      (values (queue-first queue) (queue-last queue)))

    (define (list-queue-add-front! queue element)
      (check-queue 'list-queue-add-front! 1 queue)
      (let ((pair (cons element (queue-first queue))))
        (set-queue-first! queue pair)
        (if (null? (queue-last queue))
            (set-queue-last! queue pair))))

    (define (list-queue-add-back! queue element)
      (check-queue 'list-queue-add-back! 1 queue)
      (let ((pair (list element)))
        (if (null? (queue-last queue))
            (set-queue-first! queue pair)
            (set-cdr! (queue-last queue) pair))
        (set-queue-last! queue pair)))

    (define (list-queue-remove-front! queue)
      (check-not-empty 'list-queue-remove-front! queue)
      (let ((pair (queue-first queue)))
        (set-queue-first! queue (cdr pair))
        (if (null? (cdr pair))
            (set-queue-last! queue '()))
        (car pair)))

    (define (list-queue-remove-back! queue)
      (check-not-empty 'list-queue-remove-back! queue)
      (let ((last (queue-last queue)))
        (if (eq? (queue-first queue) last)
            (set-queue! queue '() '())
            (let loop ((pair (queue-first queue)))
              (if (eq? (cdr pair) last)
                  (begin
                    (set-cdr! pair '())
                    (set-queue-last! queue pair))
                  (loop (cdr pair)))))
        (car last)))

    (define (list-queue-remove-all! queue)
      (let ((list (list-queue-list queue)))
        (set-queue! queue '() '())
        list))

    (define list-queue-set-list!
      (case-lambda
        ((queue list)
         (check-queue 'list-queue-set-list! 1 queue)
         (set-queue! queue list (last-pair-of 'list-queue-set-list! list)))
        ((queue first last)
         (check-queue 'list-queue-set-list! 1 queue)
         (check-last 'list-queue-set-list! first last)
         (set-queue! queue first last))))

    (define (list-queue-append . queues)
      (list-queue-concatenate queues))

    (define (list-queue-concatenate queues)
      (let ((result (list-queue)))
        (for-each (lambda (queue)
                    (for-each (lambda (element) (list-queue-add-back! result element))
                              (list-queue-list queue)))
                  queues)
        result))

    (define (list-queue-append! . queues)
      (let ((result (list-queue)))
        (for-each (lambda (queue)
                    (check-queue 'list-queue-append! 1 queue)
                    (if (pair? (queue-first queue))
                        (begin
                          (if (null? (queue-first result))
                              (set-queue-first! result (queue-first queue))
                              (set-cdr! (queue-last result) (queue-first queue)))
                          (set-queue-last! result (queue-last queue)))))
                  queues)
        result))

    (define (list-queue-map procedure queue)
      (check-procedure 'list-queue-map 1 procedure)
      (check-queue 'list-queue-map 2 queue)
      (make-list-queue (map procedure (queue-first queue))))

    (define (list-queue-map! procedure queue)
      (check-procedure 'list-queue-map! 1 procedure)
      (check-queue 'list-queue-map! 2 queue)
      (let loop ((pair (queue-first queue)))
        (if (pair? pair)
            (begin
              (set-car! pair (procedure (car pair)))
              (loop (cdr pair))))))

    (define (list-queue-for-each procedure queue)
      (check-procedure 'list-queue-for-each 1 procedure)
      (check-queue 'list-queue-for-each 2 queue)
      (for-each procedure (queue-first queue)))))
