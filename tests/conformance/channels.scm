;; (canny channels): sending, receiving, closing, selecting.

(import (scheme base) (canny channels) (canny tasks) (canny loop) (canny test)
        (only (canny base) condition-kind) (only (srfi 1) iota filter)
        (only (srfi 132) list-sort) (only (srfi 27) random-integer))

(define-syntax failure
  (syntax-rules ()
    ((_ expression)
     (guard (e ((error-object? e) (condition-kind e)))
       expression
       'none))))

(define (sorted numbers) (list-sort < numbers))

(test-group "bounded"
  (define c (make-channel 2 #:name 'box))
  (test '(#t #f box 2 0)
        (list (channel? c) (channel? 'c) (channel-name c) (channel-capacity c) (channel-count c)))
  (channel-send! c 1)
  (test #t (channel-try-send! c 2))
  (test #f (channel-try-send! c 3))
  (test 2 (channel-count c))
  (test 1 (channel-receive c))
  (test 2 (channel-try-receive c))
  (test #f (channel-try-receive c))
  (test 'none (channel-try-receive c 'none))
  (test 0 (channel-count c))
  ;; A sender that waited sends in its turn.
  (define sender
    (start (for-each (lambda (x) (channel-send! c x)) (iota 10))
           (channel-close! c)))
  (test (iota 10) (channel->list c))
  (await sender)
  (test #t (channel-closed? c)))

(test-group "unbounded"
  (define c (make-channel #f))
  (test #f (channel-capacity c))
  (for-each (lambda (x) (channel-send! c x)) (iota 1000))
  (test 1000 (channel-count c))
  (channel-close! c)
  (test (iota 1000) (channel->list c)))

(test-group "rendezvous"
  (define c (make-channel))
  (test 0 (channel-capacity c))
  (test #f (channel-try-send! c 1))
  (define log '())
  (define sender
    (start (channel-send! c 'a)
           (channel-send! c 'b)
           'sent))
  (test 'a (channel-receive c))
  (test 'b (channel-receive c))
  (test 'sent (await sender))
  ;; Receivers are served in the order in which they came.
  (define receivers
    (map (lambda (i) (start (set! log (cons i log)) (channel-receive c))) (iota 5)))
  (for-each (lambda (i) (channel-send! c i)) (iota 5))
  (test (iota 5) (sorted (map await receivers))))

(test-group "values that look like something else"
  (define c (make-channel 10))
  (define odd (list 'cancelled 'again 'timed-out 'settled 0 1 #f #t '() (eof-object)))
  (for-each (lambda (x) (channel-send! c x)) odd)
  (channel-close! c)
  (test odd (loop ((for x (in-channel c)) (listing x))))
  (define r (make-channel))
  (define received (start (map (lambda (x) (channel-receive r)) odd)))
  (for-each (lambda (x) (channel-send! r x)) odd)
  (test odd (await received))
  (define s (make-channel))
  (define selected
    (start (map (lambda (i) (select ((x (channel-receive s)) x))) odd)))
  (for-each (lambda (x) (select ((channel-send! s x) 'sent))) odd)
  (test odd (await selected)))

(test-group "closing"
  (define c (make-channel 2))
  (channel-send! c 1)
  (test '(#t #f) (list (channel-close! c) (channel-close! c)))
  (test 'channel-closed (failure (channel-send! c 2)))
  (test 'channel-closed (failure (channel-try-send! c 2)))
  (test #t (guard (e (else (channel-closed-error? e))) (channel-send! c 2)))
  (test #f (channel-closed-error? 'c))
  (test 1 (channel-receive c))
  (test #t (eof-object? (channel-receive c)))
  (test #t (eof-object? (channel-try-receive c)))
  (test 'end (channel-receive c #:end 'end))
  (test 'end (channel-try-receive c #f #:end 'end))
  (test 'end (select ((x (channel-receive c)) (if (eof-object? x) 'end x)) (else 'else)))
  (test 'channel-closed (failure (select ((channel-send! c 1) 'sent))))
  (define next (channel->generator c))
  (test #t (eof-object? (next)))
  ;; Waiting tasks are notified.
  (define r (make-channel))
  (define receivers
    (map (lambda (i) (start (channel-receive r #:end 'end))) (iota 20)))
  (yield)
  (channel-close! r)
  (test '(end) (filter (lambda (x) (eq? x 'end)) (list (await (car receivers)))))
  (test 20 (length (filter (lambda (t) (eq? (await t) 'end)) receivers)))
  (define s (make-channel 1))
  (channel-send! s 'held)
  (define senders
    (map (lambda (i) (start (failure (channel-send! s i)))) (iota 20)))
  (yield)
  (sleep 0.005)
  (channel-close! s)
  (test 20 (length (filter (lambda (t) (eq? (await t) 'channel-closed)) senders)))
  (test '(held) (channel->list s)))

(test-group "time limits"
  (define c (make-channel))
  (test 'timeout (failure (channel-receive c #:timeout 0.001)))
  (test 'timeout (failure (channel-send! c 1 #:timeout 0.001)))
  (test 'timeout (failure (channel-receive c #:timeout 0)))
  (test 'late (select ((x (channel-receive c)) x) (#:timeout 0.001 'late)))
  ;; An abandoned value is not there any more.
  (test #f (channel-try-send! c 1))
  (test #f (channel-try-receive c))
  (define receiver (start (channel-receive c #:timeout 1000)))
  (channel-send! c 'in-time #:timeout 1000)
  (test 'in-time (await receiver)))

(test-group "cancelling"
  (define c (make-channel))
  (define (cancelled? task)
    (guard (e ((cancelled-error? e) #t))
      (await task)
      #f))
  (define receiver (start (channel-receive c)))
  (define d (make-channel))
  (define chooser (start (select ((x (channel-receive d)) x) ((channel-send! d 1) 'sent))))
  (define waiting (start (select ((x (channel-receive (make-channel))) x))))
  (for-each cancel! (list receiver chooser waiting))
  (test '(#t #t #t) (map cancelled? (list receiver chooser waiting)))
  (test #f (channel-try-send! c 'nobody))
  (test #f (channel-try-receive c))
  (test #f (channel-try-send! d 'nobody))
  (test #f (channel-try-receive d)))

(test-group "select"
  (define a (make-channel 1))
  (define b (make-channel 1))
  (define none #f)
  (define (choose)
    (select
     ((x (channel-receive a)) (list 'a x))
     ((x (channel-receive b)) (list 'b x))
     ((channel-receive none) 'never)
     (else 'nothing)))
  (test 'nothing (choose))
  (channel-send! b 2)
  (test '(b 2) (choose))
  (channel-send! a 1)
  (test '(a 1) (choose))
  (test 'sent (select ((channel-send! a 7) 'sent)))
  (test '(#f 7) (list (channel-try-send! a 8) (channel-receive a)))
  ;; Waiting, for both directions, on the same channel too.
  (define c (make-channel))
  (define task (start (select ((x (channel-receive c)) x) ((channel-send! c 'out) 'sent))))
  (test #t
        (let ((mine (select ((x (channel-receive c)) x) ((channel-send! c 'in) 'sent))))
          (and (member (list mine (await task)) '((out sent) (sent in))) #t)))
  (test '(x) (channel-select (list (receive-case b list) (send-case a 'q (lambda () '(x))))))
  (test 'q (channel-receive a))
  (test 'idle (channel-select (list (receive-case a list)) #:default (lambda () 'idle)))
  (test 'late
        (channel-select (list (receive-case a list) #f) #:timeout 0.001
                        #:on-timeout (lambda () 'late)))
  (test 'timeout (failure (channel-select (list (receive-case a list)) #:timeout 0.001)))
  (test 'late (select (#:timeout 0.001 'late)))
  ;; All that can happen happens at some time.
  (define ready (map (lambda (i) (make-channel 1)) (iota 3)))
  (define seen (make-vector 3 #f))
  (for-each (lambda (c) (channel-send! c 'x)) ready)
  (let again ((count 0))
    (if (and (< count 100000)
             (not (and (vector-ref seen 0) (vector-ref seen 1) (vector-ref seen 2))))
        (let ((index (channel-select (map (lambda (c i) (receive-case c (lambda (x) i)))
                                          ready (iota 3)))))
          (vector-set! seen index #t)
          (channel-send! (list-ref ready index) 'x)
          (again (+ count 1)))))
  (test #(#t #t #t) seen))

(test-group "bad input"
  (test 'type (failure (make-channel -1)))
  (test 'type (failure (make-channel 'many)))
  (test 'type (failure (channel-send! 'c 1)))
  (test 'type (failure (channel-receive 'c)))
  (test 'type (failure (channel-close! 1)))
  (test 'type (failure (channel-receive (make-channel) #:timeout 'soon)))
  (test 'type (failure (channel-receive (make-channel) #:timeout -1)))
  (test 'type (failure (receive-case 1 list)))
  (test 'type (failure (send-case (make-channel) 1 'thunk)))
  (test 'type (failure (channel-select '(1))))
  (test 'type (failure (channel-select 1)))
  (test 'deadlock (failure (channel-select '())))
  (test 'deadlock (failure (select ((channel-receive #f) 1)))))

(test-group "many tasks"
  ;; A chain: each task adds one.
  (define first (make-channel))
  (define last
    (let grow ((left 300) (from first))
      (if (= left 0)
          from
          (let ((to (make-channel)))
            (start (loop ((for x (in-channel from)) (do (channel-send! to (+ x 1)))))
                   (channel-close! to))
            (grow (- left 1) to)))))
  (start (for-each (lambda (x) (channel-send! first x)) (iota 20))
         (channel-close! first))
  (test (map (lambda (x) (+ x 300)) (iota 20)) (channel->list last)))

;; Numbers go through several channels while senders and receivers are cancelled and run out of
;; time. Each acknowledged number has been received once, and no other number.
(define (exchange capacity)
  (define channels (map (lambda (i) (make-channel capacity)) (iota 3)))
  (define (some-channel) (list-ref channels (random-integer 3)))
  (define (timeout? e)
    (and (error-object? e) (eq? (condition-kind e) 'timeout)))
  ;; A pair of a task and a procedure that gives what it has sent or received; there is time for
  ;; nothing else between an operation and its note.
  (define (noting work)
    (let ((noted '()))
      (cons (spawn (lambda () (work (lambda (x) (set! noted (cons x noted))))))
            (lambda () noted))))
  (define (sender from)
    (noting
     (lambda (note)
       (let loop ((n from))
         (if (< n (+ from 100))
             (begin
               (if (= 0 (modulo n 3))
                   (select
                    ((channel-send! (some-channel) n) (note n))
                    ((channel-send! (some-channel) n) (note n))
                    (#:timeout 0.05 #f))
                   (guard (e ((timeout? e) #f))
                     (channel-send! (some-channel) n #:timeout (and (odd? n) 0.05))
                     (note n)))
               (loop (+ n 1))))))))
  (define (receiver)
    (noting
     (lambda (note)
       (define (take x)
         (if (eof-object? x)
             1
             (begin
               (note x)
               0)))
       (let loop ((ends 0))
         (if (< ends 40)
             (loop
              (+ ends
                 (select
                  ((x (channel-receive (list-ref channels 0))) (take x))
                  ((x (channel-receive (list-ref channels 1))) (take x))
                  ((x (channel-receive (list-ref channels 2))) (take x))
                  (#:timeout 0.01 0)))))))))
  (define (all-of noting)
    (guard (e ((cancelled-error? e) #f))
      (await (car noting)))
    ((cdr noting)))
  (define senders (map (lambda (i) (sender (* i 100))) (iota 10)))
  (define receivers (map (lambda (i) (receiver)) (iota 8)))
  (define (give-up tasks index)
    (cancel! (car (list-ref tasks index))))
  (give-up senders 3)
  (sleep 0.002)
  (give-up senders 7)
  (give-up receivers 2)
  (sleep 0.002)
  (give-up receivers 5)
  (let ((sent (apply append (map all-of senders))))
    (for-each channel-close! channels)
    (let* ((received (apply append (map all-of receivers)))
           (left (apply append (map channel->list channels))))
      (equal? (sorted sent) (sorted (append received left))))))

(test-group "nothing is lost or doubled"
  (test #t (exchange 0))
  (test #t (exchange 1))
  (test #t (exchange 5))
  (test #t (exchange #f)))

(test-finish)
