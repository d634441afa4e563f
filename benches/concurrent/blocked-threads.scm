;;; Tasks that block their system thread while they wait for work that is queued behind them.
;;;
;;; COUNT tasks each open a named pipe for reading, by a call that blocks its thread and does not
;;; say so; only then are COUNT others started, which open the pipes for writing. All must end: the
;;; pool has to notice that its threads are blocked, and to add others. How many ended, how many
;;; threads there were at most, and how long it took.
;;;
;;; Run by: canny blocked-threads.scm [COUNT]

(import (scheme base) (scheme process-context) (scheme write)
        (only (scheme time) current-jiffy jiffies-per-second) (only (canny base) iota)
        (only (canny fs) call-with-temporary-directory create-fifo path-join)
        (only (srfi 170) binary-input binary-output open-file) (canny tasks)
        (canny tasks monitor))

(define count
  (let ((words (cdr (command-line))))
    (if (null? words) 64 (string->number (car words)))))

(define (open-and-close name type flags)
  (close-port (open-file name type flags)))

(define began (current-jiffy))

(define ended
  (call-with-temporary-directory
    (lambda (directory)
      (let ((names (map (lambda (i) (path-join directory (number->string i))) (iota count))))
        (for-each create-fifo names)
        (let* ((readers
                (map (lambda (name) (start (open-and-close name binary-input 0) 1)) names))
               (writers
                (map (lambda (name) (start (open-and-close name binary-output 0) 1)) names)))
          (apply + (map await (append readers writers))))))))

(define (show name number)
  (display name)
  (display ": ")
  (display number)
  (newline))

(show "ended" ended)
(show "threads at most" (cdr (assq 'workers-max (pool-statistics))))
(show "milliseconds" (quotient (* 1000 (- (current-jiffy) began)) (jiffies-per-second)))
