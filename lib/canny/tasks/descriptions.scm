;;; Part of (canny tasks): tasks and their waits as text, for messages and `(canny tasks monitor)`.
;;;
;;; Libraries of other ways to wait register what their waits are called, and which task could end
;;; them (`%describe-waits!`). Profiles read the same table.

(define (%task-number task)
  (task-number task))

(define (%task-continuation task)
  (task-continuation task))

;; Whether it waits and nothing has ended that yet.
(define (%task-waits? task)
  (let ((waiter (current-waiter task)))
    (and waiter (task-continuation task) (not (waiter-state waiter)))))

(define (%task-since task)
  (task-since task))

;; The object that a task waits for; a task if that is the future of one.
(define (%task-waits-for task)
  (let ((why (task-waits-for task)))
    (or (and (plain-future? why) (task-of why (%all-tasks))) why)))

(define (task-of future tasks)
  (cond ((null? tasks) #f)
        ((eq? (task-future (car tasks)) future) (car tasks))
        (else (task-of future (cdr tasks)))))

(define (%task-label task)
  (cond ((eq? task main-task) "the main task")
        ((task-name* task)
         (string-append "task " (number->string (task-number task)) " ("
                        (text (task-name* task))
                        ")"))
        (else (string-append "task " (number->string (task-number task))))))

(define (text name)
  (cond ((symbol? name) (symbol->string name))
        ((string? name) name)
        ((number? name) (number->string name))
        (else "…")))

;; The things that tasks wait for: rows of `wait-row` of the protocols.
(define kinds-of-waits '())

;; Describes the waits for records of a type, or for a symbol. `kind` is that of profiles, `words`
;; are for messages. `name` and `owner` are the fields with the record's name and with the task
;; that has it, or #f.
(define (%describe-waits! key kind words name owner)
  (set! kinds-of-waits
        (cons (vector-at wait-row/count
                         (wait-row/key key)
                         (wait-row/kind kind)
                         (wait-row/words words)
                         (wait-row/name (field-index key name))
                         (wait-row/owner (field-index key owner)))
              kinds-of-waits))
  (%set-kinds-of-waits! kinds-of-waits))

(define (field-index type name)
  (and name
       (let ((names (record-type-field-names type)))
         (let loop ((index 0))
           (if (eq? (vector-ref names index) name)
               index
               (loop (+ index 1)))))))

(define (kind-of-wait why)
  (let ((key (if (record? why) (record-type-descriptor why) why)))
    (let loop ((rows kinds-of-waits))
      (cond ((null? rows) #f)
            ((eq? (vector-ref (car rows) wait-row/key) key) (car rows))
            (else (loop (cdr rows)))))))

;; The task that has a record, or #f.
(define (owner-of row record)
  (let* ((index (vector-ref row wait-row/owner))
         (owner (and index
                     (%record-ref record (vector-ref row wait-row/key) index '%describe-wait))))
    (and (task? owner) owner)))

(%describe-waits! task 'future "a task" 'name #f)
(%describe-waits! future 'future "a future that is no task's" #f #f)
(%describe-waits! scope 'future "the tasks of a scope" #f #f)
(%describe-waits! 'sleep 'timer "a point in time" #f #f)
(%describe-waits! 'io 'socket "input or output" #f #f)
(%describe-waits! 'select 'channel "one of several channels" #f #f)
(%describe-waits! 'standby 'pool "work" #f #f)

;; The object of a wait, as a text, and the task that could end the wait, or #f.
(define (describe-wait why)
  (cond ((task? why) (cons (%task-label why) why))
        ((scope? why)
         (let ((tasks (queue-items (scope-tasks why))))
           (if (pair? tasks)
               (cons (string-append "the tasks of a scope, one of which is "
                                    (%task-label (car tasks)))
                     (car tasks))
               (cons "the tasks of a scope" #f))))
        ((kind-of-wait why)
         => (lambda (row)
              (let ((owner (owner-of row why)) (words (vector-ref row wait-row/words)))
                (cons (if owner
                          (string-append words " that " (%task-label owner) " has")
                          words)
                      owner))))
        (else (cons "something" #f))))

;; The object of a wait, as a text.
(define (%describe-wait why)
  (car (describe-wait why)))

;; A text of which task waits for which: from the main task on, up to the one that waits for one
;; of the others again.
(define (waits-from task)
  (let loop ((task task) (seen '()) (so-far ""))
    (let* ((described (describe-wait (%task-waits-for task)))
           (now (string-append so-far (%task-label task) " waits for " (car described)))
           (next (cdr described)))
      (if (and next (not (memq next (cons task seen))))
          (loop next (cons task seen) (string-append now ", "))
          now))))

(define (deadlock)
  (%make-condition 'deadlock
                   (string-append "all tasks wait for each other: " (waits-from main-task))
                   '() #f))
