;; SRFI 120: timers.

(import (scheme base) (srfi 120) (canny tasks) (canny test))

(test-group "timers"
  (let ((timer (make-timer)))
    (test-true (timer? timer))
    (test-false (timer? 5))
    (let* ((end (make-future))
           (id (timer-schedule! timer (lambda () (future-resolve! end 'run)) 1)))
      (test-true (exact-integer? id))
      (test 'run (await end))
      (test #f (timer-task-exists? timer id))
      (test #f (timer-task-remove! timer id)))
    (let ((id (timer-schedule! timer (lambda () #f) 1000000)))
      (test #t (timer-task-exists? timer id))
      (test id (timer-reschedule! timer id 2000000))
      (test #t (timer-task-exists? timer id))
      (test #t (timer-task-remove! timer id))
      (test #f (timer-task-exists? timer id))
      (test-error (timer-reschedule! timer id 1)))
    ;; Rescheduled to be sooner.
    (let* ((end (make-future))
           (id (timer-schedule! timer (lambda () (future-resolve! end 'run)) 1000000)))
      (timer-reschedule! timer id (make-timer-delta 1 'us))
      (test 'run (await end)))
    (test-true (timer-cancel! timer))
    (test-true (timer-cancel! timer))
    (test-error (timer-schedule! timer (lambda () #f) 1))))

(test-group "periods"
  (let* ((timer (make-timer)) (count 0) (end (make-future))
         (id (timer-schedule! timer
                              (lambda ()
                                (set! count (+ count 1))
                                (if (= count 3) (future-resolve! end 'three)))
                              0
                              (make-timer-delta 1 'ms))))
    (test 'three (await end))
    (test #t (timer-task-exists? timer id))
    ;; A period of zero is none.
    (let ((last (make-future)))
      (timer-task-remove! timer id)
      (let ((id (timer-schedule! timer (lambda () (future-resolve! last #t)) 0 0)))
        (await last)
        (test #f (timer-task-exists? timer id))))
    (timer-cancel! timer))
  ;; A task may remove itself.
  (let* ((timer (make-timer)) (count 0) (end (make-future)) (own #f) (known (make-future)))
    (set! own (timer-schedule! timer
                               (lambda ()
                                 (await known)
                                 (set! count (+ count 1))
                                 (timer-task-remove! timer own)
                                 (future-resolve! end count))
                               0
                               1))
    (future-resolve! known #t)
    (test 1 (await end))
    (test #f (timer-task-exists? timer own))
    (timer-cancel! timer)))

(test-group "errors"
  (let* ((handled (make-future)) (again (make-future))
         (timer (make-timer (lambda (e) (future-resolve! handled e)))))
    (timer-schedule! timer (lambda () (raise 'dummy)) 0)
    (test 'dummy (await handled))
    ;; It continues.
    (timer-schedule! timer (lambda () (future-resolve! again 'again)) 0)
    (test 'again (await again))
    (test-true (timer-cancel! timer)))
  ;; Without a handler it stops, and the error is kept.
  (let ((timer (make-timer)) (begun (make-future)))
    (timer-schedule! timer (lambda () (future-resolve! begun #t) (raise 'kept)) 0)
    (await begun)
    (let wait ()
      (if (guard (e (#t #f)) (timer-schedule! timer (lambda () #f) 1000000) #t)
          (begin (yield) (wait))))
    (test 'kept (guard (e ((symbol? e) e)) (timer-cancel! timer)))
    (test-true (timer-cancel! timer)))
  (let ((timer (make-timer)))
    (test-error (timer-schedule! timer (lambda () 1) -1))
    (test-error (timer-schedule! timer (lambda () 1) 0 -1))
    (test-error (timer-schedule! timer (lambda () 1) 0 'foo))
    (test-error (timer-schedule! timer 5 0))
    (test-error (timer-schedule! timer (lambda () 1) (make-timer-delta -1 'h)))
    (test-error (timer-schedule! 'timer (lambda () 1) 0))
    (timer-cancel! timer)))

(test-group "deltas"
  (test-true (timer-delta? (make-timer-delta 1 'h)))
  (test-false (timer-delta? 1))
  (for-each (lambda (unit) (test-true (timer-delta? (make-timer-delta 5 unit))))
            '(h m s ms us ns))
  (test-error (make-timer-delta 1 'year))
  (test-error (make-timer-delta 1.5 'h)))

(test-finish)
