;; (canny tasks): starting, awaiting, futures, cancellation, time limits, scopes.

(import (scheme base) (scheme write) (canny tasks) (canny syntax-case) (canny sync) (canny channels)
        (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota filter)
        (only (srfi 132) list-sort vector-sort!))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define-syntax message
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (error-object-message e)))
       expression
       'none))))

(define (written object)
  (let ((port (open-output-string)))
    (write object port)
    (get-output-string port)))

;; Others run until something is so.
(define-syntax until
  (syntax-rules ()
    ((_ test) (let again () (if (not test) (begin (yield) (again)))))))

(define (spin n)
  (if (> n 0) (spin (- n 1))))

(test-group "starting and awaiting"
  (test 3 (await (start (+ 1 2))))
  (test 'last (await (start 'first 'last)))
  (test 7 (await (spawn (lambda () 7))))
  (test '(1 2) (call-with-values (lambda () (await (start (values 1 2)))) list))
  (test '() (call-with-values (lambda () (await (start (values)))) list))
  (define task (spawn (lambda () (task-name (current-task))) #:name 'worker))
  (test '(worker worker) (list (await task) (task-name task)))
  (test '(#t #t #f #f) (list (task? task) (future? task) (task? 'task) (future? 'future)))
  (test #t (eq? task (begin (await task) task)))
  ;; As often as one likes.
  (test '(worker worker) (list (await task) (await task)))
  (test '(main #f) (list (task-name (current-task)) (task-name (start 1))))
  (test "#<task worker>" (written task))
  (test "#<future>" (written (make-future)))
  (test (iota 100) (map await (map (lambda (i) (start (yield) i)) (iota 100)))))

(test-group "parameters"
  (define p (make-parameter 'outside))
  (define task (parameterize ((p 'inside)) (start (yield) (p))))
  (test '(inside outside) (list (await task) (p)))
  (test 'outside (begin (await (start (parameterize ((p 'theirs)) (yield)))) (p))))

(test-group "errors"
  (test 'oops (guard (e (else e)) (await (start (raise 'oops)))))
  (test '("no" 1)
        (guard (e (else (list (error-object-message e) (car (error-object-irritants e)))))
          (await (start (error "no" 1)))))
  ;; Each one who awaits gets the same object.
  (define task (start (error "no")))
  (define (raised) (guard (e (else e)) (await task)))
  (test #t (eq? (raised) (raised)))
  ;; A handler of the task takes it first, an inner task raises through an outer one.
  (test 'handled (await (start (guard (e (else 'handled)) (error "no")))))
  (test 'through (guard (e (else e)) (await (start (await (start (raise 'through)))))))
  ;; A task that raises holds up nobody.
  (test 1 (begin (start (error "nobody waits for this")) (yield) 1)))

(test-group "time limits"
  (define never (make-future))
  (test 'timeout (failure (await never #:timeout 0.001)))
  (test 'timeout (failure (await never #:timeout 0)))
  (test #t (guard (e (else (timeout-error? e))) (await never #:timeout 0)))
  (test 5 (await (start 5) #:timeout 1000))
  (test 5 (await (start (sleep 0.001) 5) #:timeout 1000))
  (test 'late (await/default never 0.001 'late))
  (test 5 (await/default (start 5) 1000 'late))
  (test 'oops (guard (e (else e)) (await/default (start (raise 'oops)) 1000 'late)))
  (test 1 (with-timeout 1000 1))
  (test 'timeout (failure (with-timeout 0.001 (sleep 1000))))
  (test 'timeout (failure (with-timeout 0.001 (await never))))
  (test 'late (call-with-timeout 0.001 (lambda () (sleep 1000)) #:default 'late))
  (test 'oops (guard (e (else e)) (with-timeout 1000 (raise 'oops))))
  ;; A task that takes too long is cancelled.
  (define log '())
  (test 'late
        (call-with-timeout 0.001
          (lambda ()
            (dynamic-wind
             (lambda () #f)
             (lambda () (sleep 1000))
             (lambda () (set! log '(out)))))
          #:default 'late))
  (until (pair? log))
  (test '(out) log))

(test-group "cancelling"
  (define log '())
  (define noting (make-mutex))
  (define (note x) (with-mutex noting (set! log (cons x log))))
  (define (sleeper)
    (start (dynamic-wind
            (lambda () (note 'in))
            (lambda () (sleep 1000))
            (lambda () (note 'out)))))
  (define task (sleeper))
  (until (pair? log))
  (test #t (cancel! task))
  (test 'cancelled (failure (await task)))
  (test #t (guard (e (else (cancelled-error? e))) (await task)))
  (test '(out in) log)
  (test '(#f #t) (list (cancel! task) (future-done? task)))
  ;; Work on the way out can wait.
  (set! log '())
  (define slow
    (start (dynamic-wind
            (lambda () (note 'in))
            (lambda () (sleep 1000))
            (lambda ()
              (sleep 0.001)
              (yield)
              (note (await (start 'out)))))))
  (until (pair? log))
  (cancel! slow)
  (cancel! slow)
  (test 'cancelled (failure (await slow)))
  (test '(out in) log)
  ;; It may be handled.
  (define asleep #f)
  (define handled
    (start (guard (e ((cancelled-error? e) (sleep 0.001) 'handled))
             (set! asleep #t)
             (sleep 1000))))
  (until asleep)
  (cancel! handled)
  (test 'handled (await handled))
  ;; Before it begins, or when it waits for nothing.
  (define early (start 'done))
  (cancel! early)
  (test #t (and (memq (failure (await early)) '(cancelled none)) #t))
  (define busy (start (let loop () (spin 1000) (yield) (loop))))
  (cancel! busy)
  (test 'cancelled (failure (await busy)))
  (define self (start (cancel! (current-task)) (note 'still) (sleep 0) 'not-reached))
  (test 'cancelled (failure (await self)))
  (test 'still (car log))
  ;; A task that others wait for.
  (define waiting (start (sleep 1000)))
  (define others (map (lambda (i) (start (await waiting))) (iota 10)))
  (cancel! waiting)
  (test 10 (length (filter (lambda (t) (eq? (failure (await t)) 'cancelled)) others))))

(test-group "futures"
  (define f (make-future))
  (test '(#t #f #f) (list (future? f) (task? f) (future-done? f)))
  (define waiting (map (lambda (i) (start (+ i (await f)))) (iota 20)))
  (yield)
  (test '(#t #f #f) (list (future-resolve! f 100) (future-resolve! f 1) (future-reject! f 2)))
  (test (map (lambda (i) (+ 100 i)) (iota 20)) (map await waiting))
  (test '(#t 100) (list (future-done? f) (await f)))
  (define r (make-future))
  (test #t (future-reject! r 'rejected))
  (test 'rejected (guard (e (else e)) (await r)))
  (define (rejected object)
    (let ((f (make-future)))
      (future-reject! f object)
      f))
  (define (resolved object)
    (let ((f (make-future)))
      (future-resolve! f object)
      f))
  (define (outcome future) (guard (e (else (list 'raised e))) (await future)))
  (define (soon object) (start (sleep 0.001) object))
  (define never (make-future))
  (test 6 (await (future-then (soon 5) (lambda (x) (+ x 1)))))
  (test '(raised no) (outcome (future-then (rejected 'no) (lambda (x) 1))))
  (test '(raised no) (outcome (future-then (soon 1) (lambda (x) (raise 'no)))))
  (test '(1 2 3) (await (future-map list (soon 1) (resolved 2) (start 3))))
  (test '() (await (future-map list)))
  (test '(raised no) (outcome (future-map list (soon 1) (rejected 'no))))
  (test '(1 2 3) (await (future-all (list (soon 1) (resolved 2) (start 3)))))
  (test '() (await (future-all '())))
  (test '(raised no) (outcome (future-all (list never (rejected 'no)))))
  (test '(raised no) (outcome (future-all (list never (start (sleep 0.001) (raise 'no))))))
  (test 2 (outcome (future-any (list never (rejected 'no) (soon 2)))))
  (test '(raised no) (outcome (future-any (list (rejected 'no) (rejected 'no)))))
  (test 2 (outcome (future-race (list never (soon 2)))))
  (test '(raised no) (outcome (future-race (list never (rejected 'no) (soon 2)))))
  (test "there is no future to wait for" (message (await (future-any '()))))
  (test "there is no future to wait for" (message (await (future-race '()))))
  (define same (soon 1))
  (test '(1 1) (await (future-all (list same same))))
  ;; A future that outlives many races keeps nothing of them.
  (for-each (lambda (i) (await (future-race (list never (resolved i))))) (iota 1000))
  (for-each (lambda (i) (await/default never 0 i)) (iota 1000))
  (test #f (future-done? never)))

(test-group "scopes"
  (define log '())
  (define noting (make-mutex))
  (define (note x) (with-mutex noting (set! log (cons x log))))
  (test 'body (with-tasks 'body))
  (test '(1 2) (call-with-values (lambda () (with-tasks (values 1 2))) list))
  ;; It waits for what was started in it, by whomever.
  (test 'body
        (with-tasks
          (start (sleep 0.002) (note 'one))
          (start (start (sleep 0.004) (note 'two)))
          'body))
  (test 2 (length log))
  ;; A failure ends the others and is raised, once all have ended.
  (set! log '())
  (define staying 0)
  (define (stays name)
    (start (dynamic-wind
            (lambda () (with-mutex noting (set! staying (+ staying 1))))
            (lambda () (sleep 1000))
            (lambda () (sleep 0.001) (note name)))))
  ;; One that is cancelled before it has begun notes nothing.
  (define (until-staying count)
    (sleep 0.001)
    (if (< (with-mutex noting staying) count) (until-staying count)))
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (stays 'a)
            (stays 'b)
            (start (until-staying 2) (raise 'oops)))))
  (test 2 (length log))
  ;; So it does if the body waits for something else.
  (set! log '())
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (start (sleep 0.001) (raise 'oops))
            (dynamic-wind
             (lambda () #f)
             (lambda () (sleep 1000))
             (lambda () (sleep 0.001) (note 'out))))))
  (test '(out) log)
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (start (raise 'oops))
            (channel-receive (make-channel)))))
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (start (raise 'oops))
            (let loop () (yield) (loop)))))
  ;; The body may take its interruption, which changes nothing.
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (start (raise 'oops))
            (guard (e ((cancelled-error? e) 'taken)) (sleep 1000)))))
  ;; The task that has opened the scope is not cancelled by it.
  (test 'slept
        (begin
          (guard (e (else e)) (with-tasks (start (raise 'oops)) (sleep 1000)))
          (sleep 0.001)
          (yield)
          'slept))
  ;; The body raises, or is left.
  (set! log '())
  (test 'mine (guard (e (else e)) (with-tasks (stays 'a) (until-staying 3) (raise 'mine))))
  (test '(a) log)
  (test 'out (call/cc (lambda (k) (with-tasks (stays 'b) (until-staying 4) (k 'out)))))
  (test '(b a) log)
  ;; A task that was cancelled is no failure; one that raises what it got from another one is.
  (test 'body (with-tasks (let ((task (start (sleep 1000)))) (yield) (cancel! task) 'body)))
  (define gone (start (sleep 1000)))
  (cancel! gone)
  (test 'cancelled (failure (with-tasks (start (await gone)) (sleep 1000))))
  ;; Scopes in scopes.
  (test '(inner outer)
        (let* ((log '())
               (result
                (guard (e (else (reverse (cons e log))))
                  (with-tasks
                    (start (sleep 0.01) (raise 'outer))
                    (guard (e (else (set! log (cons e log))))
                      (with-tasks
                        (start (sleep 0.001) (raise 'inner))
                        (sleep 1000)))
                    (sleep 1000)))))
          result))
  (test 'outer
        (guard (e (else e))
          (with-tasks
            (start (sleep 0.001) (raise 'outer))
            (with-tasks
              (start (sleep 1000))
              (sleep 1000)))))
  (test 'outer
        (guard (e (else e))
          (with-tasks
            (start (sleep 0.001) (raise 'outer))
            (with-tasks
              (start (sleep 1000))))))
  ;; A cancelled task takes the scope's tasks along.
  (set! log '())
  (define holder (start (with-tasks (stays 'a) (stays 'b) (sleep 1000))))
  (sleep 0.002)
  (cancel! holder)
  (test 'cancelled (failure (await holder)))
  (test #t (<= (length log) 2))
  (define waits (start (with-tasks (stays 'c))))
  (sleep 0.002)
  (cancel! waits)
  (test 'cancelled (failure (await waits)))
  ;; A task that comes when the scope has failed is cancelled at once.
  (define late #f)
  (test 'oops
        (guard (e (else e))
          (with-tasks
            (start (raise 'oops))
            (guard (e ((cancelled-error? e)
                       (set! late (start (sleep 1000)))))
              (sleep 1000)))))
  (test 'cancelled (failure (await late)))
  ;; Outside of all scopes.
  (define free (with-tasks (without-scope (start (sleep 0.001) 'free))))
  (test 'free (await free))
  ;; Many tasks.
  (define count 0)
  (define m (make-mutex))
  (with-tasks
    (for-each (lambda (i)
                (start (sleep (* 0.0001 (modulo i 7)))
                       (with-mutex m (set! count (+ count 1)))))
              (iota 5000)))
  (test 5000 count))

(test-group "awaiting anywhere"
  ;; Inside of dynamic-wind: the winders are those of the task.
  (define log '())
  (define noting (make-mutex))
  (define (wound name)
    (start (dynamic-wind
            (lambda () (await (start 'in)))
            (lambda () (await (start (yield) name)))
            (lambda () (await (start 'out)) (with-mutex noting (set! log (cons name log)))))))
  (test '(a b c) (map await (list (wound 'a) (wound 'b) (wound 'c))))
  (test 3 (length log))
  ;; In the callback of a sort.
  (define numbers (map (lambda (i) (modulo (* i 37) 101)) (iota 101)))
  (define (slowly< x y) (await (start (yield) (< x y))))
  (test (iota 101) (list-sort slowly< numbers))
  (define vector (list->vector numbers))
  (vector-sort! slowly< vector)
  (test (list->vector (iota 101)) vector)
  ;; While holding a lock.
  (define m (make-mutex))
  (define inside 0)
  (define most 0)
  (define (locked)
    (start (with-mutex m
             (set! inside (+ inside 1))
             (set! most (max most inside))
             (await (start (yield) #t))
             (set! inside (- inside 1)))))
  (for-each await (map (lambda (i) (locked)) (iota 50)))
  (test '(1 0) (list most inside))
  ;; In callbacks of higher-order procedures, in a handler, in a parameter's converter, in a port's
  ;; procedure.
  (test '(0 1 4) (map (lambda (x) (await (start (* x x)))) '(0 1 2)))
  (test #(0 1 4) (vector-map (lambda (x) (await (start (* x x)))) #(0 1 2)))
  (test 'x (with-exception-handler
             (lambda (e) (await (start (yield) e)))
             (lambda () (raise-continuable 'x))))
  (test 6 ((make-parameter 5 (lambda (x) (await (start (+ x 1)))))))
  (test 'forced (call-with-values (lambda () (await (start 'forced))) (lambda (x) x)))
  ;; A generator that is entered again by continuations.
  (define (each-with-wait k)
    (let loop ((i 0) (found '()))
      (if (= i 3)
          (reverse found)
          (loop (+ i 1)
                (cons (call/cc (lambda (return) (return (await (start (* i k)))))) found)))))
  (test '((0 1 2) (0 10 20))
        (map await (list (start (each-with-wait 1)) (start (each-with-wait 10))))))

;; In a transformer, which runs before the program.
(define-syntax awaited
  (lambda (form)
    (syntax-case form ()
      ((_ expression)
       (let ((value (await (start (sleep 0.001) 42) #:timeout 1000)))
         #`(+ expression #,value))))))

(test-group "awaiting in a transformer"
  (test 43 (awaited 1)))

(test-group "waiting for oneself"
  (test 'deadlock (failure (await (current-task))))
  (test 'deadlock (await (start (failure (await (current-task))))))
  (test #t (guard (e (else (deadlock-error? e))) (await/default (current-task) 1 2))))

(test-group "bad input"
  (test "argument 1 is not a future" (message (await 5)))
  (test "#:timeout is not a number of seconds that is not negative"
        (message (await (start 1) #:timeout 'x)))
  (test "#:timeout is not a number of seconds that is not negative"
        (message (await (start 1) #:timeout -1)))
  (test "argument 2 is not a number of seconds that is not negative"
        (message (await/default (start 1) +nan.0 1)))
  (test "argument 1 is not a number of seconds that is not negative"
        (message (with-timeout 'soon 1)))
  (test "argument 2 is not a procedure" (message (call-with-timeout 1 1)))
  (test "argument 1 is not a procedure" (message (spawn 5)))
  (test 'type (failure (task-name 5)))
  (test 'type (failure (sleep -1)))
  (test 'type (failure (sleep +i)))
  (test 'type (failure (cancel! (make-future))))
  (test 'type (failure (future-done? 1)))
  (test 'type (failure (future-resolve! (start 1) 1)))
  (test 'type (failure (future-reject! 1 1)))
  (test 'type (failure (future-then 1 list)))
  (test 'type (failure (future-then (start 1) 1)))
  (test "argument 3 is not a future" (message (future-map list (start 1) 1)))
  (test 'type (failure (future-map 1)))
  (test 'type (failure (future-all 5)))
  (test 'type (failure (future-any '(5))))
  (test 'type (failure (future-race (cons (start 1) 5))))
  (test #f (cancelled-error? 'x))
  (test #f (deadlock-error? 'x)))

;; Tasks that sleep, raise, wait for each other and are cancelled: all that is acknowledged is
;; there.
(test-group "all kinds of ends"
  (define (kind-of i)
    (case (modulo i 5)
      ((0) (start (sleep (* 0.0001 (modulo i 11))) i))
      ((1) (start (yield) (raise i)))
      ((2) (start (await (start (yield) i))))
      ((3) (start (sleep 1000)))
      ((4) (start (with-tasks (start (yield)) (start (sleep 0.0001)) i)))))
  (define tasks (map kind-of (iota 1000)))
  (for-each (lambda (task i) (if (= 3 (modulo i 5)) (cancel! task))) tasks (iota 1000))
  (test (map (lambda (i)
               (case (modulo i 5)
                 ((1) (list 'raised i))
                 ((3) 'cancelled)
                 (else i)))
             (iota 1000))
        (map (lambda (task)
               (guard (e ((cancelled-error? e) 'cancelled) (else (list 'raised e)))
                 (await task)))
             tasks)))

(test-finish)
