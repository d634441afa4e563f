;;; Child processes one after the other, their output read as a supply: what the program costs the
;;; system.
;;;
;;; Run by: canny sequential-processes.scm [COUNT]

(import (scheme base) (scheme process-context) (scheme write) (scheme file)
        (canny process async) (canny supplies))

(define count
  (let ((words (cdr (command-line))))
    (if (null? words) 1000 (string->number (car words)))))

;; So many processes may make the program grow.
(define warming-up 50)

;; The number behind a key in what the system tells about this process.
(define (status key)
  (call-with-input-file "/proc/self/status"
    (lambda (port)
      (let loop ()
        (let ((line (read-line port)))
          (if (and (> (string-length line) (string-length key))
                   (string=? key (string-copy line 0 (string-length key))))
              (number-in line (string-length key))
              (loop)))))))

(define (number-in line start)
  (let loop ((index start) (number #f))
    (let ((digit (and (< index (string-length line))
                      (string->number (string (string-ref line index))))))
      (cond (digit (loop (+ index 1) (+ (* 10 (or number 0)) digit)))
            (number number)
            (else (loop (+ index 1) number))))))

(define most-threads 0)
(define kilobytes-early #f)

(do ((number 1 (+ number 1)))
    ((> number count))
  (let ((lines (supply->list (command-lines (list "echo" (number->string number))))))
    (if (not (equal? lines (list (number->string number))))
        (error "another output than expected" lines)))
  (set! most-threads (max most-threads (status "Threads:")))
  (if (= number (min warming-up count))
      (set! kilobytes-early (status "VmRSS:"))))

(for-each display
          (list "processes: " count "\n"
                "threads: " most-threads "\n"
                "kilobytes after " (min warming-up count) ": " kilobytes-early "\n"
                "kilobytes at the end: " (status "VmRSS:") "\n"))
