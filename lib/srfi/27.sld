;;; (srfi 27): sources of random bits.
;;;
;;; The generator is MRG32k3a (L'Ecuyer, 1999): two linear recurrences of order three modulo primes
;;; just below 2^32, whose difference is the output. A source is a vector of their six last values.
;;; It is no source of secrets.

(define-library (srfi 27)
  (export random-integer random-real default-random-source make-random-source random-source?
          random-source-state-ref random-source-state-set!
          random-source-randomize! random-source-pseudo-randomize!
          random-source-make-integers random-source-make-reals)
  (import (rename (except (canny primitives) random-real)
                  (random-integer machine-random-integer))
          (canny syntax))
  (begin

    (define-record-type random-source
      (make-source state)
      random-source?
      (state source-state set-source-state!))

    (define (check-source who object)
      (if (not (random-source? object))
          (%type-error who 1 "random source" object)))

    (define m1 4294967087)
    (define m2 4294944443)

    ;; An integer from 0 to m1 - 1.
    (define (next! state)
      (let ((x (modulo (- (* 1403580 (vector-ref state 1)) (* 810728 (vector-ref state 0))) m1))
            (y (modulo (- (* 527612 (vector-ref state 5)) (* 1370589 (vector-ref state 3))) m2)))
        (vector-set! state 0 (vector-ref state 1))
        (vector-set! state 1 (vector-ref state 2))
        (vector-set! state 2 x)
        (vector-set! state 3 (vector-ref state 4))
        (vector-set! state 4 (vector-ref state 5))
        (vector-set! state 5 y)
        (modulo (- x y) m1)))

    ;; Spreads the bits of an integer: what SplitMix64 does, with 64 bits.
    (define (mix integer)
      (let* ((mask (- (expt 2 64) 1))
             (z (bitwise-and mask (+ integer #x9E3779B97F4A7C15)))
             (z (bitwise-and mask (* (bitwise-xor z (arithmetic-shift z -30))
                                     #xBF58476D1CE4E5B9)))
             (z (bitwise-and mask (* (bitwise-xor z (arithmetic-shift z -27))
                                     #x94D049BB133111EB))))
        (bitwise-xor z (arithmetic-shift z -31))))

    ;; A state made of an integer of any size.
    (define (seeded seed)
      (let ((state (make-vector 6)))
        (let loop ((index 0) (mixed (let fold ((rest seed) (mixed 1))
                                      (if (eqv? rest 0)
                                          mixed
                                          (fold (arithmetic-shift rest -64)
                                                (mix (bitwise-xor mixed
                                                                  (bit-field rest 0 64))))))))
          (if (< index 6)
              (let ((mixed (mix mixed)))
                ;; Neither recurrence may have zeros only.
                (vector-set! state index (+ 1 (modulo mixed (- (if (< index 3) m1 m2) 1))))
                (loop (+ index 1) mixed))
              state))))

    (define (make-random-source)
      (make-source (seeded 0)))

    (define default-random-source (make-random-source))

    (define (random-source-state-ref source)
      (check-source 'random-source-state-ref source)
      (cons 'mrg32k3a (vector->list (source-state source))))

    (define (random-source-state-set! source state)
      (check-source 'random-source-state-set! source)
      (if (not (and (list? state)
                    (= (length state) 7)
                    (eq? (car state) 'mrg32k3a)
                    (let loop ((rest (cdr state)) (index 0))
                      (or (null? rest)
                          (and (exact-nonnegative-integer? (car rest))
                               (< (car rest) (if (< index 3) m1 m2))
                               (loop (cdr rest) (+ index 1)))))))
          (%type-error 'random-source-state-set! 2 "state of a random source" state))
      ;; Generators made from the source continue with the new state.
      (vector-copy! (source-state source) 0 (list->vector (cdr state))))

    (define (random-source-randomize! source)
      (check-source 'random-source-randomize! source)
      (vector-copy! (source-state source) 0 (seeded (machine-random-integer (expt 2 256)))))

    (define (random-source-pseudo-randomize! source i j)
      (check-source 'random-source-pseudo-randomize! source)
      (if (not (exact-nonnegative-integer? i))
          (%type-error 'random-source-pseudo-randomize! 2 "index" i))
      (if (not (exact-nonnegative-integer? j))
          (%type-error 'random-source-pseudo-randomize! 3 "index" j))
      ;; Different pairs give different integers.
      (let ((sum (+ i j)))
        (vector-copy! (source-state source)
                      0
                      (seeded (+ 1 i (quotient (* sum (+ sum 1)) 2))))))

    ;; An integer below `bound`, which is at most m1: the draws beyond the last whole multiple of
    ;; the bound are thrown away.
    (define (random-below! state bound)
      (let* ((share (quotient m1 bound))
             (limit (* share bound)))
        (let loop ((draw (next! state)))
          (if (< draw limit)
              (quotient draw share)
              (loop (next! state))))))

    (define (random-large! state bound)
      (let digits ((range m1) (count 1))
        (if (< range bound)
            (digits (* range m1) (+ count 1))
            (let* ((share (quotient range bound))
                   (limit (* share bound)))
              (let again ()
                (let draw ((count count) (number 0))
                  (cond ((> count 0) (draw (- count 1) (+ (* number m1) (next! state))))
                        ((< number limit) (quotient number share))
                        (else (again)))))))))

    (define (random-source-make-integers source)
      (check-source 'random-source-make-integers source)
      (let ((state (source-state source)))
        (lambda (bound)
          (if (not (exact-integer? bound))
              (%type-error 'random-integer 1 "exact integer" bound))
          (if (not (positive? bound))
              (%range-error 'random-integer 1 "the bound is above zero" bound))
          (if (<= bound m1)
              (random-below! state bound)
              (random-large! state bound)))))

    (define random-source-make-reals
      (case-lambda
        ((source)
         (check-source 'random-source-make-reals source)
         (let ((state (source-state source)))
           (lambda ()
             (let loop ()
               (let* ((high (next! state))
                      (real (/ (+ high (/ (+ (next! state) 0.5) 4294967087.0)) 4294967087.0)))
                 (if (< real 1.0) real (loop)))))))
        ((source unit)
         (check-source 'random-source-make-reals source)
         (if (not (and (real? unit) (< 0 unit 1)))
             (%range-error 'random-source-make-reals 2 "between zero and one" unit))
         (if (inexact? unit)
             (random-source-make-reals source)
             ;; Multiples of the unit, or a little more, so that all of them are below one.
             (let ((steps (exact-ceiling (/ 1 unit)))
                   (draw (random-source-make-integers source)))
               (if (= steps 2)
                   (lambda () 1/2)
                   (lambda () (/ (+ 1 (draw (- steps 1))) steps))))))))

    (define random-integer (random-source-make-integers default-random-source))
    (define random-real (random-source-make-reals default-random-source))))
