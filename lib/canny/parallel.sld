;;; (canny parallel): the same work for many items, on several processors.
;;;
;;; The items are dealt out in chunks to a few tasks, for which the caller waits. It computes
;;; nothing itself, since what waits in an item must be cancelled when another one fails. A task
;;; takes the next chunk when it is done with one, and makes it so large that it takes about a
;;; millisecond. The first one is a single item. Towards the end chunks get smaller, so that all
;;; tasks end at about the same time.
;;;
;;; | record | its fields are changed by |
;;; |---|---|
;;; | job: next | the task that takes a chunk, as one step |
;;; | job: stopped | the task that fails |
;;;
;;; The tasks of a job write to elements of a vector, each of which belongs to one item.

(define-library (canny parallel)
  (export parallel-map parallel-for-each parallel-fold
          parallel-vector-map parallel-vector-for-each
          processor-count)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (only (canny tasks) spawn with-tasks yield)
          (only (canny atomic) make-atomic-fxbox atomic-fxbox-ref atomic-fxbox+/fetch!)
          (only (canny data sorting) list-sort))
  (begin

    ;; How many processors the program may use.
    (define (processor-count)
      (%processor-count))

    (define-record-type job
      (make-job next count workers chunk stopped)
      job?
      ;; The first item that no task has taken.
      (next job-next)
      (count job-count)
      (workers job-workers)
      ;; How many items a chunk has; #f if that depends on how long they take.
      (chunk job-chunk)
      (stopped job-stopped set-job-stopped!))

    (define (check-option who keyword test? expected object)
      (if (not (test? object))
          (raise-bad-option who keyword expected object)))

    (define (positive-index? object)
      (and (fixnum? object) (> object 0)))

    ;; Calls `(work start end)` for chunks of the numbers below `count` until all are done or a task
    ;; has failed. Gives the list of what the calls gave, in no order.
    (define (run who count workers chunk work)
      (if workers
          (check-option who "#:workers" positive-index? "a positive number of tasks" workers))
      (if chunk
          (check-option who "#:chunk" positive-index? "a positive number of items" chunk))
      (let* ((most (if chunk (quotient (+ count (- chunk 1)) chunk) count))
             (workers (min most (or workers (processor-count)))))
        (if (<= workers 1)
            (if (= count 0)
                '()
                (list (work 0 count (make-job #f count 1 chunk #f))))
            (let* ((job (make-job (make-atomic-fxbox 0) count workers chunk #f))
                   (results (make-vector workers '())))
              (with-tasks
                (let loop ((worker 0))
                  (if (< worker workers)
                      (begin
                        (spawn (lambda () (vector-set! results worker (work-on job work)))
                               #:name who)
                        (loop (+ worker 1))))))
              (append-all (vector->list results))))))

    (define (append-all lists)
      (if (null? lists)
          '()
          (append (car lists) (append-all (cdr lists)))))

    ;; The work of a task. When an error ends it, the others stop before their next item.
    (define (work-on job work)
      (let ((normal? #f))
        (dynamic-wind
         (lambda () #f)
         (lambda ()
           (let ((results (work-on-chunks job work)))
             (set! normal? #t)
             results))
         (lambda ()
           (if (not normal?)
               (set-job-stopped! job #t))))))

    ;; Between two chunks others get their turn, and a task that was cancelled ends.
    (define (work-on-chunks job work)
      (let ((count (job-count job)))
        (let loop ((size (or (job-chunk job) 1)) (results '()))
          (let ((start (atomic-fxbox+/fetch! (job-next job) size)))
            (if (or (>= start count) (job-stopped job))
                results
                (let* ((began (current-jiffy))
                       (result (work start (min count (+ start size)) job))
                       (elapsed (- (current-jiffy) began)))
                  (yield)
                  (loop (next-size job size elapsed) (cons result results))))))))

    ;; Jiffies that a chunk should take.
    (define pace (quotient (jiffies-per-second) 1000))

    ;; The size of the next chunk, when one of this size has taken so long.
    (define (next-size job size elapsed)
      (or (job-chunk job)
          (let* ((left (- (job-count job) (atomic-fxbox-ref (job-next job))))
                 (share (quotient left (* 2 (job-workers job))))
                 (ideal (quotient (* size pace) (max elapsed 1))))
            (max 1 (min share ideal (* 8 size))))))

    ;; Does something for each number from start to below end unless the job is stopped.
    (define-syntax for-range
      (syntax-rules ()
        ((_ (index start end job) body0 body ...)
         (let loop ((index start))
           (if (and (< index end) (not (job-stopped job)))
               (begin
                 body0
                 body
                 ...
                 (loop (+ index 1))))))))

    ;; The items of several lists, up to the end of the shortest. Gives a procedure that calls
    ;; another one with those of an index, and how many there are.
    (define (columns who procedure list lists)
      (check-procedure who 1 procedure)
      (if (null? lists)
          (let ((items (items-of who 2 list)))
            (values (lambda (index) (procedure (vector-ref items index)))
                    (vector-length items)))
          (let loop ((rest (cons list lists)) (position 2) (vectors '()))
            (if (pair? rest)
                (loop (cdr rest)
                      (+ position 1)
                      (cons (items-of who position (car rest)) vectors))
                (let ((vectors (reverse vectors)))
                  (values (lambda (index)
                            (%apply procedure
                                    (map (lambda (items) (vector-ref items index)) vectors)))
                          (%apply min (map vector-length vectors))))))))

    ;; The rest arguments without the keywords among them.
    (define (without-keywords arguments)
      (cond ((null? arguments) '())
            ((keyword? (car arguments)) (without-keywords (cddr arguments)))
            (else (cons (car arguments) (without-keywords (cdr arguments))))))

    (define (items-of who position list)
      (if (not (list? list))
          (%type-error who position "list" list))
      (list->vector list))

    (define (map-into-vector who call count workers chunk)
      (let ((results (make-vector count #f)))
        (run who count workers chunk
             (lambda (start end job)
               (for-range (index start end job)
                          (vector-set! results index (call index)))))
        results))

    ;; As `map`, on several processors.
    (define* (parallel-map procedure list #:key (workers #f) (chunk #f) #:rest lists)
      (call-with-values
        (lambda () (columns 'parallel-map procedure list (without-keywords lists)))
        (lambda (call count)
          (vector->list (map-into-vector 'parallel-map call count workers chunk)))))

    (define* (parallel-for-each procedure list #:key (workers #f) (chunk #f) #:rest lists)
      (call-with-values
        (lambda () (columns 'parallel-for-each procedure list (without-keywords lists)))
        (lambda (call count)
          (run 'parallel-for-each count workers chunk
               (lambda (start end job)
                 (for-range (index start end job)
                            (call index))))
          (void))))

    (define (check-vector who object)
      (if (not (vector? object))
          (%type-error who 2 "vector" object)))

    (define* (parallel-vector-map procedure vector #:key (workers #f) (chunk #f))
      (check-procedure 'parallel-vector-map 1 procedure)
      (check-vector 'parallel-vector-map vector)
      (map-into-vector 'parallel-vector-map
                       (lambda (index) (procedure (vector-ref vector index)))
                       (vector-length vector) workers chunk))

    (define* (parallel-vector-for-each procedure vector #:key (workers #f) (chunk #f))
      (check-procedure 'parallel-vector-for-each 1 procedure)
      (check-vector 'parallel-vector-for-each vector)
      (run 'parallel-vector-for-each (vector-length vector) workers chunk
           (lambda (start end job)
             (for-range (index start end job)
                        (procedure (vector-ref vector index)))))
      (void))

    ;; `(operation … (operation (operation initial item0) item1) …)`, where the operation is
    ;; associative. With a procedure `map` the items are what that makes of the elements.
    (define* (parallel-fold operation initial list #:key (map #f) (workers #f) (chunk #f))
      (check-procedure 'parallel-fold 1 operation)
      (if map
          (check-option 'parallel-fold "#:map" procedure? "a procedure" map))
      (let* ((items (items-of 'parallel-fold 3 list))
             (item (if map
                       (lambda (index) (map (vector-ref items index)))
                       (lambda (index) (vector-ref items index))))
             (parts
              (run 'parallel-fold (vector-length items) workers chunk
                   (lambda (start end job)
                     (let loop ((index (+ start 1)) (part (item start)))
                       (if (and (< index end) (not (job-stopped job)))
                           (loop (+ index 1) (operation part (item index)))
                           (cons start part)))))))
        (let loop ((parts (list-sort (lambda (left right) (< (car left) (car right))) parts))
                   (result initial))
          (if (null? parts)
              result
              (loop (cdr parts) (operation result (cdar parts)))))))))
