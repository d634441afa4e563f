;;; The objects of a frame are kept alive only as long as the frame can be resumed. Capturing a deep
;;; stack and returning below the capture leaves nothing behind, wherever the frames lie among those
;;; that are still needed.

(import (canny base) (canny test))

;; Frames of one register more each time, so that slices end at different ones.
(define (below depth thunk)
  (if (= depth 0)
      (thunk)
      (let ((result (below (- depth 1) thunk)))
        (if (number? result) (+ result 1) result))))

(define (capture)
  (call-with-current-continuation (lambda (continuation) 0)))

(define kept #f)

(define (capture-and-keep)
  (call-with-current-continuation
   (lambda (continuation)
     (set! kept continuation)
     0)))

;; Makes an object of which only a frame knows, `above` frames below a capture.
(define (hold above capture)
  (let* ((object (make-vector 100 0))
         (entry (weak-cons object '())))
    (below above capture)
    (vector-set! object 0 1)
    entry))

(define (is-gone? entry)
  (collect-garbage)
  (collect-garbage)
  (not (vector? (weak-car entry))))

;; Native stacks are searched for what may be a reference, so that a few may be left.
(define (few-left? entries)
  (collect-garbage)
  (collect-garbage)
  (<= (length (remove is-gone? entries)) 3))

;; Each level lies on frames of the one before, which are still needed when all are looked at.
(define (few-left-after? levels depth make-entry)
  (let next ((levels levels) (entries '()))
    (if (= levels 0)
        (few-left? entries)
        (let* ((entry (make-entry))
               (result (below depth (lambda () (next (- levels 1) (cons entry entries))))))
          (and result #t)))))

(define above-counts '(0 1 2 3 5 8 13 21 34 55 300))

(test-group "nothing is left of frames that have returned"
  (for-each
   (lambda (above)
     (for-each
      (lambda (depth)
        (test (list above depth #t)
              (list above depth (few-left-after? 20 depth (lambda () (hold above capture))))))
      '(0 1 10 17 30)))
   above-counts))

(test-group "nor of those that were escaped from"
  (define (hold-and-escape above)
    (let ((entry #f))
      (call-with-escape-continuation
       (lambda (escape)
         (let ((object (make-vector 100 0)))
           (set! entry (weak-cons object '()))
           (below above (lambda () (capture) (escape 0)))
           (vector-set! object 0 1))))
      entry))
  (for-each
   (lambda (above)
     (for-each
      (lambda (depth)
        (test (list above depth #t)
              (list above depth (few-left-after? 20 depth (lambda () (hold-and-escape above))))))
      '(0 1 10 17 30)))
   above-counts))

;; Several continuations at once: of the objects, those that native stacks still show may be left.
(test-group "a continuation that is kept holds what it needs"
  (define all-kept '())
  (define (capture-another)
    (call-with-current-continuation
     (lambda (continuation)
       (set! all-kept (cons continuation all-kept))
       0)))
  (define (kept-after depth above)
    (set! all-kept '())
    (let* ((make-entry (lambda () (below depth (lambda () (hold above capture-another)))))
           (entries (list-tabulate 12 (lambda (i) (make-entry))))
           (before (filter is-gone? entries)))
      (set! all-kept '())
      (list before (few-left? entries))))
  (for-each
   (lambda (above)
     (test '(() #t) (kept-after 100 above)))
   '(0 3 20 300)))

(test-group "and brings back all frames, as often as it is called"
  (for-each
   (lambda (depth)
     (let* ((count 0)
            (results '())
            (result (below depth capture-and-keep)))
       (set! count (+ count 1))
       (set! results (cons result results))
       (if (< count 3) (kept (* 1000 count)))
       (test (list (+ 2000 depth) (+ 1000 depth) depth) results)))
   '(0 1 5 13 14 15 16 17 18 47 48 49 1000 20000)))

(test-group "dynamic state and winders are those of the capture"
  (let ((parameter (make-parameter 'outside))
        (trace '())
        (count 0))
    (let ((seen (parameterize ((parameter 'inside))
                  (dynamic-wind
                   (lambda () (set! trace (cons 'in trace)))
                   (lambda () (below 200 (lambda () (capture-and-keep) (parameter))))
                   (lambda () (set! trace (cons 'out trace)))))))
      (set! count (+ count 1))
      (if (< count 3) (kept 0))
      (test 'inside seen)
      (test 'outside (parameter))
      (test '(out in out in out in) trace))))

(test-finish)
