;; (canny timers): points in time as futures, tasks and supplies.

(import (scheme base) (scheme time) (canny supplies) (canny tasks) (canny timers) (canny test)
        (only (srfi 19) current-date make-time time-utc time-duration)
        (only (canny base) condition-kind void))

(define (kind-of-error thunk)
  (guard (e ((symbol? e) e)
            ((cancelled-error? e) 'cancelled)
            ((error-object? e) (condition-kind e)))
    (thunk)
    'none))

(define-syntax failure
  (syntax-rules () ((_ expression) (kind-of-error (lambda () expression)))))

(define (ascending? list)
  (or (null? list)
      (null? (cdr list))
      (and (< (car list) (cadr list)) (ascending? (cdr list)))))

(test-group "after"
  (test 'value (await (after 0 (lambda () 'value))))
  (test 'value (await (after 0.001 (lambda () 'value))))
  (test 'ok (begin (await (after 0)) 'ok))
  (test 'oops (failure (await (after 0 (lambda () (raise 'oops))))))
  (let ((timer (after 1000 (lambda () 'never))))
    (cancel! timer)
    (test 'cancelled (failure (await timer))))
  ;; The shorter one is first.
  (test 'short (await (race (list (after 1000 (lambda () 'long)) (after 0 (lambda () 'short))))))
  (test '(#t) (supply->list (future->supply (after 0 (lambda () #t)))))
  (test 'type (failure (after 'soon)))
  (test 'type (failure (after -1)))
  (test 'type (failure (after 0 5))))

(test-group "every"
  ;; Ticks that are missed become one, so that the numbers may have gaps.
  (let ((ticks (supply->list (supply-take (every 0.001) 5))))
    (test 5 (length ticks))
    (test-true (ascending? ticks))
    (test-true (>= (car ticks) 1)))
  (let* ((count 0)
         (end (make-future))
         (timer (every 0.001
                       (lambda (tick)
                         (set! count (+ count 1))
                         (if (= count 3) (future-resolve! end tick))))))
    (test-true (>= (await end) 3))
    (cancel! timer)
    (test 'cancelled (failure (await timer))))
  ;; Errors are told and end nothing.
  (let ((port (open-output-string)) (end (make-future)) (count 0))
    (let ((timer (parameterize ((current-error-port port))
                   (every 0.001 (lambda (tick)
                                  (set! count (+ count 1))
                                  (if (= count 1) (error "at one" count))
                                  (future-resolve! end #t))))))
      (await end)
      (cancel! timer)
      (failure (await timer))
      (test "error in a timer: at one: 1\n" (get-output-string port))))
  (test 'oops (failure (await (every 0.001 (lambda (tick) (raise 'oops)) #:on-error 'stop))))
  (let ((caught (make-future)))
    (let ((timer (every 0.001 (lambda (tick) (raise 'oops))
                        #:on-error (lambda (error) (future-resolve! caught error)))))
      (test 'oops (await caught))
      (cancel! timer)))
  ;; In a react block, beside others.
  (let ((seen 0))
    (react
     (whenever (tick (every 0.001))
       (set! seen (+ seen 1)))
     (whenever (x (after 0.02))
       (if (> seen 0) (done)))
     (whenever (tick (every 0.005))
       (if (> seen 2) (done))))
    (test-true (> seen 0)))
  (test 'range (failure (every 0)))
  (test 'type (failure (every -1)))
  (test 'type (failure (every 1 5)))
  (test 'type (failure (every 1 void #:on-error 'ignore))))

(test-group "at"
  (test 'now (await (at (current-second) (lambda () 'now))))
  (test 'past (await (at 0 (lambda () 'past))))
  (test 'soon (await (at (+ (current-second) 0.001) (lambda () 'soon))))
  (test 'date (await (at (current-date) (lambda () 'date))))
  (test 'time (await (at (make-time time-utc 0 1) (lambda () 'time))))
  (let ((timer (at (+ (current-second) 10000))))
    (cancel! timer)
    (test 'cancelled (failure (await timer))))
  (test 'type (failure (at (make-time time-duration 0 1))))
  (test 'type (failure (at "tomorrow"))))

(test-finish)
