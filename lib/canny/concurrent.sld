;;; (canny concurrent): queues, hash tables and variables for many tasks at once.
;;;
;;; Nothing here waits: each operation holds a lock for moments. Under these locks no procedure of
;;; the program is called, and nothing that could raise.
;;;
;;; | record | its fields are changed under |
;;; |---|---|
;;; | end of a queue | its own lock: those who add and those who remove do not meet |
;;; | shard | its lock |
;;; | task-local variable | its lock |

(define-library (canny concurrent)
  (export make-concurrent-queue concurrent-queue? concurrent-queue-add! concurrent-queue-remove!
          concurrent-queue-size concurrent-queue-empty?
          make-concurrent-hash-table concurrent-hash-table?
          concurrent-hash-table-ref concurrent-hash-table-ref/default
          concurrent-hash-table-contains? concurrent-hash-table-set! concurrent-hash-table-delete!
          concurrent-hash-table-update! concurrent-hash-table-update!/default
          concurrent-hash-table-intern! concurrent-hash-table-clear! concurrent-hash-table-size
          concurrent-hash-table-for-each concurrent-hash-table->alist
          concurrent-hash-table-keys concurrent-hash-table-values
          make-task-local task-local? task-local-ref task-local-set! task-local-clear!)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (only (canny tasks) %with-lock))
  (begin

    ;; Queues. The items are a list whose first pair holds none: removing changes the front only,
    ;; adding the rear.

    (define-record-type queue-end
      (make-queue-end %lock pair count)
      queue-end?
      (%lock queue-end-lock)
      (pair queue-end-pair set-queue-end-pair!)
      ;; Items that have passed.
      (count queue-end-count set-queue-end-count!))

    (define-record-type concurrent-queue
      (new-concurrent-queue %front rear)
      concurrent-queue?
      (%front queue-front)
      (rear queue-rear))

    (define (make-concurrent-queue)
      (let ((pair (list #f)))
        (new-concurrent-queue (make-queue-end #f pair 0) (make-queue-end #f pair 0))))

    (define (check-queue who object)
      (if (not (concurrent-queue? object))
          (%type-error who 1 "concurrent queue" object)))

    (define (concurrent-queue-add! queue item)
      (check-queue 'concurrent-queue-add! queue)
      (let ((rear (queue-rear queue)) (pair (list item)))
        (%with-lock rear
          (set-queue-end-count! rear (+ (queue-end-count rear) 1))
          (set-cdr! (queue-end-pair rear) pair)
          (set-queue-end-pair! rear pair))
        (void)))

    ;; The oldest item, or `default` if there is none.
    (define* (concurrent-queue-remove! queue #:optional (default #f))
      (check-queue 'concurrent-queue-remove! queue)
      (let ((front (queue-front queue)))
        (%with-lock front
          (let* ((empty (queue-end-pair front)) (pair (cdr empty)))
            (if (null? pair)
                default
                (let ((item (car pair)))
                  (set-car! pair #f)
                  (set-cdr! empty '())
                  (set-queue-end-pair! front pair)
                  (set-queue-end-count! front (+ (queue-end-count front) 1))
                  item))))))

    ;; How many items there are; while others change the queue, how many there were about now.
    (define (concurrent-queue-size queue)
      (check-queue 'concurrent-queue-size queue)
      (let ((removed (queue-end-count (queue-front queue))))
        (max 0 (- (queue-end-count (queue-rear queue)) removed))))

    (define (concurrent-queue-empty? queue)
      (check-queue 'concurrent-queue-empty? queue)
      (null? (cdr (queue-end-pair (queue-front queue)))))

    ;; Hash tables: several tables of the machine, each with a lock.

    (define-record-type shard
      (make-shard %lock table)
      shard?
      (%lock shard-lock)
      (table shard-table))

    (define-record-type concurrent-hash-table
      (new-concurrent-hash-table %equivalence shards)
      concurrent-hash-table?
      (%equivalence table-equivalence)
      (shards table-shards))

    (define absent (list 'absent))

    (define (equivalence-of object)
      (cond ((eq? object equal?) 'equal)
            ((eq? object eqv?) 'eqv)
            ((eq? object eq?) 'eq)
            ((eq? object string=?) 'string)
            (else
             (%type-error 'make-concurrent-hash-table 1
                          "procedure among eq?, eqv?, equal? and string=?"
                          object))))

    ;; A table of keys that are the same by `equal?`, `eqv?`, `eq?` or `string=?`.
    (define* (make-concurrent-hash-table #:optional (same? equal?) #:key (shards 16))
      (let ((equivalence (equivalence-of same?)))
        (if (not (shard-count? shards))
            (raise-bad-option 'make-concurrent-hash-table "#:shards" "a number from 1 to 4096"
                              shards))
        (let ((all (make-vector shards #f)))
          (let loop ((index 0))
            (if (< index shards)
                (begin
                  (vector-set! all index (make-shard #f (%make-hash-table equivalence #f 0)))
                  (loop (+ index 1)))))
          (new-concurrent-hash-table equivalence all))))

    (define (shard-count? object)
      (and (fixnum? object) (<= 1 object 4096)))

    (define (check-table who object)
      (if (not (concurrent-hash-table? object))
          (%type-error who 1 "concurrent hash table" object)))

    ;; The shard of a key, after the checks.
    (define (shard-of who table key)
      (check-table who table)
      (let* ((equivalence (table-equivalence table))
             (shards (table-shards table))
             (count (vector-length shards)))
        (vector-ref shards
                    (cond ((eq? equivalence 'equal) (hash key count))
                          ((eq? equivalence 'eqv) (hash-by-eqv key count))
                          ((eq? equivalence 'eq) (hash-by-identity key count))
                          ((string? key) (string-hash key count))
                          (else (%type-error who 2 "string" key))))))

    (define (lookup shard key)
      (%with-lock shard
        (%hash-table-ref (shard-table shard) key absent)))

    (define (raise-no-key who key)
      (raise (%make-condition 'key "the key has no value" (list key) who)))

    ;; The value of a key; what `failure` gives if there is none.
    (define* (concurrent-hash-table-ref table key #:optional (failure #f))
      (let ((value (lookup (shard-of 'concurrent-hash-table-ref table key) key)))
        (cond ((not (eq? value absent)) value)
              (failure (failure))
              (else (raise-no-key 'concurrent-hash-table-ref key)))))

    (define (concurrent-hash-table-ref/default table key default)
      (let ((value (lookup (shard-of 'concurrent-hash-table-ref/default table key) key)))
        (if (eq? value absent) default value)))

    (define (concurrent-hash-table-contains? table key)
      (not (eq? (lookup (shard-of 'concurrent-hash-table-contains? table key) key) absent)))

    (define (concurrent-hash-table-set! table key value)
      (let ((shard (shard-of 'concurrent-hash-table-set! table key)))
        (%with-lock shard
          (%hash-table-set! (shard-table shard) key value))
        (void)))

    ;; Removes a key; whether it was there.
    (define (concurrent-hash-table-delete! table key)
      (let ((shard (shard-of 'concurrent-hash-table-delete! table key)))
        (%with-lock shard
          (%hash-table-delete! (shard-table shard) key))))

    ;; Replaces the value of a key unless it is another one than it was; whether it did.
    (define (replace-value! shard key old new)
      (%with-lock shard
        (let ((table (shard-table shard)))
          (if (eqv? (%hash-table-ref table key absent) old)
              (begin
                (%hash-table-set! table key new)
                #t)
              #f))))

    (define (update! shard key procedure failure)
      (let* ((old (lookup shard key))
             (new (procedure (if (eq? old absent) (failure) old))))
        (if (replace-value! shard key old new)
            new
            (update! shard key procedure failure))))

    ;; Replaces the value of a key by what a procedure makes of it, in one step, and gives that. The
    ;; procedure is called again if another task has changed the value meanwhile.
    (define* (concurrent-hash-table-update! table key procedure #:optional (failure #f))
      (let ((shard (shard-of 'concurrent-hash-table-update! table key)))
        (check-procedure 'concurrent-hash-table-update! 3 procedure)
        (update! shard key procedure
                 (or failure
                     (lambda () (raise-no-key 'concurrent-hash-table-update! key))))))

    (define (concurrent-hash-table-update!/default table key procedure default)
      (let ((shard (shard-of 'concurrent-hash-table-update!/default table key)))
        (check-procedure 'concurrent-hash-table-update!/default 3 procedure)
        (update! shard key procedure (lambda () default))))

    ;; The value of a key; if there is none, the result of a procedure, or the value that another
    ;; task gave it meanwhile.
    (define (concurrent-hash-table-intern! table key failure)
      (let* ((shard (shard-of 'concurrent-hash-table-intern! table key))
             (value (lookup shard key)))
        (check-procedure 'concurrent-hash-table-intern! 3 failure)
        (if (eq? value absent)
            (let ((new (failure)))
              (%with-lock shard
                (let* ((table (shard-table shard))
                       (value (%hash-table-ref table key absent)))
                  (if (eq? value absent)
                      (begin
                        (%hash-table-set! table key new)
                        new)
                      value))))
            value)))

    (define (for-each-shard procedure table)
      (for-each procedure (vector->list (table-shards table))))

    (define (concurrent-hash-table-clear! table)
      (check-table 'concurrent-hash-table-clear! table)
      (for-each-shard (lambda (shard)
                        (%with-lock shard
                          (%hash-table-clear! (shard-table shard))))
                      table))

    (define (concurrent-hash-table-size table)
      (check-table 'concurrent-hash-table-size table)
      (let ((size 0))
        (for-each-shard (lambda (shard)
                          (set! size (+ size
                                        (%with-lock shard
                                          (%hash-table-count (shard-table shard))))))
                        table)
        size))

    ;; The associations of a shard as they are at one moment.
    (define (shard-entries shard)
      (%with-lock shard
        (%hash-table->alist (shard-table shard))))

    ;; Calls a procedure with each key and value, which are those of one moment for each shard.
    (define (concurrent-hash-table-for-each procedure table)
      (check-procedure 'concurrent-hash-table-for-each 1 procedure)
      (if (not (concurrent-hash-table? table))
          (%type-error 'concurrent-hash-table-for-each 2 "concurrent hash table" table))
      (for-each-shard (lambda (shard)
                        (for-each (lambda (entry) (procedure (car entry) (cdr entry)))
                                  (shard-entries shard)))
                      table))

    (define (collect table item)
      (let ((items '()))
        (for-each-shard (lambda (shard)
                          (for-each (lambda (entry) (set! items (cons (item entry) items)))
                                    (shard-entries shard)))
                        table)
        items))

    (define (concurrent-hash-table->alist table)
      (check-table 'concurrent-hash-table->alist table)
      (collect table (lambda (entry) entry)))

    (define (concurrent-hash-table-keys table)
      (check-table 'concurrent-hash-table-keys table)
      (collect table car))

    (define (concurrent-hash-table-values table)
      (check-table 'concurrent-hash-table-values table)
      (collect table cdr))

    ;; Task-local variables: a table of values that goes by tasks, and keeps none of them alive.

    (define-record-type task-local
      (new-task-local %lock table initial)
      task-local?
      (%lock task-local-lock)
      (table task-local-table)
      (initial task-local-initial))

    ;; A variable with a value for each task, which at first is what `initial` gives.
    (define* (make-task-local #:optional (initial #f))
      (if initial
          (check-procedure 'make-task-local 1 initial))
      (new-task-local #f (%make-hash-table 'eq 'ephemeral 0) initial))

    (define (check-task-local who object)
      (if (not (task-local? object))
          (%type-error who 1 "task-local variable" object)))

    (define (store! variable value)
      (let ((task (%current-task)))
        (%with-lock variable
          (%hash-table-set! (task-local-table variable) task value))))

    (define (task-local-ref variable)
      (check-task-local 'task-local-ref variable)
      (let* ((task (%current-task))
             (value (%with-lock variable
                      (%hash-table-ref (task-local-table variable) task absent))))
        (if (eq? value absent)
            (let* ((initial (task-local-initial variable))
                   (value (and initial (initial))))
              (store! variable value)
              value)
            value)))

    (define (task-local-set! variable value)
      (check-task-local 'task-local-set! variable)
      (store! variable value)
      (void))

    ;; Takes the value of this task away: the next look gives a first value again.
    (define (task-local-clear! variable)
      (check-task-local 'task-local-clear! variable)
      (let ((task (%current-task)))
        (%with-lock variable
          (%hash-table-delete! (task-local-table variable) task)))
      (void))))
