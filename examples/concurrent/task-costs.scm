;; The costs of tasks: switches through channels, awaits, many tasks at once, and the speedup of
;; parallel maps.
;;
;;     canny examples/concurrent/task-costs.scm [COUNT]
;;
;; Each line gives the time of one operation, in nanoseconds: the median of five rounds by the
;; clock, and by the processor's time of the whole program. COUNT operations are done in a round,
;; 100000 unless said otherwise.

(import (scheme base) (scheme write) (scheme time) (scheme process-context)
        (only (canny base) cpu-time) (canny tasks) (canny channels) (canny parallel)
        (only (srfi 1) iota) (only (srfi 132) list-sort))

(define rounds 5)

(define count
  (let ((arguments (cdr (command-line))))
    (or (and (pair? arguments) (string->number (car arguments)))
        100000)))

(define (median numbers)
  (list-ref (list-sort < numbers) (quotient (length numbers) 2)))

;; Seconds by the clock and by the processor that a procedure takes, in a task, so that it is on no
;; thread of its own.
(define (seconds-of thunk)
  (let ((began (current-jiffy)) (began-cpu (cpu-time)))
    (await (spawn thunk))
    (cons (/ (- (current-jiffy) began) (jiffies-per-second))
          (- (cpu-time) began-cpu))))

(define (seconds-of-rounds thunk)
  (map (lambda (round) (seconds-of thunk)) (iota rounds)))

(define (nanoseconds seconds operations)
  (exact (round (/ (* 1e9 seconds) operations))))

(define (report name operations thunk)
  (let ((times (seconds-of-rounds thunk)))
    (for-each display
              (list name ": " (nanoseconds (median (map car times)) operations) " ns, "
                    (nanoseconds (median (map cdr times)) operations) " ns of the processor"))
    (newline)))

(define (repeat thunk)
  (let loop ((left count))
    (if (> left 0)
        (begin
          (thunk)
          (loop (- left 1))))))

;; Two tasks send a number to and fro, which is two switches each time.
(define (ping-pong capacity)
  (lambda ()
    (let* ((ping (make-channel capacity))
           (pong (make-channel capacity))
           (other (start (let loop ()
                           (let ((number (channel-receive ping)))
                             (if (number? number)
                                 (begin
                                   (channel-send! pong (+ number 1))
                                   (loop))))))))
      (repeat (lambda ()
                (channel-send! ping 1)
                (channel-receive pong)))
      (channel-close! ping)
      (await other))))

(define (many-at-once)
  (let* ((gate (make-future))
         (tasks (map (lambda (i) (start (await gate))) (iota count))))
    (future-resolve! gate 'open)
    (for-each await tasks)))

(report "switch, rendezvous" (* 2 count) (ping-pong 0))
(report "switch, channel of one" (* 2 count) (ping-pong 1))
(report "send and receive, nobody waits" count
        (let ((channel (make-channel 1)))
          (lambda ()
            (repeat (lambda ()
                      (channel-send! channel 1)
                      (channel-receive channel))))))
(report "start and await" count (lambda () (repeat (lambda () (await (start 1))))))
(report "yield" count (lambda () (repeat yield)))
(report "one of many tasks that wait at once" count many-at-once)

;; Parallel maps.

(define (prime? n)
  (let loop ((d 2))
    (or (> (* d d) n)
        (and (not (= 0 (remainder n d)))
             (loop (+ d 1))))))

(define (ratio name procedure items)
  (let* ((pairs
          (map (lambda (round)
                 (cons (car (seconds-of (lambda () (map procedure items))))
                       (car (seconds-of (lambda () (parallel-map procedure items))))))
               (iota rounds)))
         (faster (median (map (lambda (pair) (/ (car pair) (cdr pair))) pairs))))
    (for-each display
              (list name ", on " (processor-count) " processors: "
                    (/ (round (* 100.0 faster)) 100) " times as fast"))
    (newline)))

(ratio "parallel-map that computes" prime?
       (map (lambda (i) (+ 1000000007 i)) (iota (quotient count 100))))
(ratio "parallel-map that allocates" (lambda (n) (length (map (lambda (i) (cons i n)) (iota n))))
       (map (lambda (i) 1000) (iota (quotient count 100))))
