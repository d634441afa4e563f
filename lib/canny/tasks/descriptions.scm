;;; Part of (canny tasks): tasks and their waits as text, for messages and `(canny tasks monitor)`.
;;;
;;; Libraries of other ways to wait register what their waits are called, and which task could end
;;; them (`%describe-waits!`).

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

;; Objects of other libraries that tasks wait for: a predicate, a name, and a procedure that
;; returns the task that has the object, or #f.
(define kinds-of-waits '())

(define (%describe-waits! predicate name owner)
  (set! kinds-of-waits (cons (vector predicate name owner) kinds-of-waits)))

(define (kind-of-wait why)
  (let loop ((kinds kinds-of-waits))
    (cond ((null? kinds) #f)
          (((vector-ref (car kinds) 0) why) (car kinds))
          (else (loop (cdr kinds))))))

;; The object of a wait, as a text, and the task that could end the wait, or #f.
(define (describe-wait why)
  (cond ((task? why) (cons (%task-label why) why))
        ((plain-future? why) (cons "a future that is no task's" #f))
        ((scope? why)
         (let ((tasks (queue-items (scope-tasks why))))
           (if (pair? tasks)
               (cons (string-append "the tasks of a scope, one of which is "
                                    (%task-label (car tasks)))
                     (car tasks))
               (cons "the tasks of a scope" #f))))
        ((kind-of-wait why)
         => (lambda (kind)
              (let ((owner ((vector-ref kind 2) why)))
                (cons (if (task? owner)
                          (string-append (vector-ref kind 1) " that " (%task-label owner)
                                         " has")
                          (vector-ref kind 1))
                      (and (task? owner) owner)))))
        ((eq? why 'sleep) (cons "a point in time" #f))
        ((eq? why 'io) (cons "input or output" #f))
        ((eq? why 'select) (cons "one of several channels" #f))
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
