;;; (canny test properties): tests over values that are made at random.
;;;
;;; (test-property name ((variable generator) ...) body ...)
;;;
;;; runs the body for many values; the test passes if it is true each time. Values for which it is
;;; not are made smaller before they are reported.
;;;
;;; A generator is a procedure that takes a *source* and gives a value. All that it takes from the
;;; source are *choices*, integers from 0 to a limit; it is to use small ones for simple values. The
;;; choices that led to a failure are recorded. Making values smaller works on the choices alone:
;;; some are left out, or replaced by smaller ones, and the generators run again. So values that are
;;; made of others, or depend on them, get smaller without anything being said about them. The idea
;;; is that of Hypothesis (MacIver and Donaldson, "Test-Case Reduction via Test-Case Generation",
;;; 2020).

(define-library (canny test properties)
  (export test-property property-runs property-seed sample choose!
          integers naturals reals booleans characters strings symbols bytevectors
          lists-of vectors-of pairs-of one-of choice-of always mapped filtered chained
          %test-property)
  (import (except (scheme base) error-object?) (scheme case-lambda) (scheme process-context)
          (scheme time)
          (only (canny primitives) error-object? condition-kind)
          (only (canny machine control) %guard-else)
          (canny test) (only (canny test differences) show-value)
          (only (canny test report) show-raised))
  (begin

    ;; Sources.

    (define-record-type source
      (make-source script state choices count)
      source?
      ;; Choices to be made again, or #f to make them at random.
      (script source-script set-source-script!)
      ;; State of the random numbers.
      (state source-state set-source-state!)
      ;; Those made, newest first.
      (choices source-choices set-source-choices!)
      (count source-count set-source-count!))

    ;; Raised when a value cannot be made.
    (define-record-type no-value
      (make-no-value)
      no-value?)

    ;; Choices for one set of values at most.
    (define choices-max 20000)

    ;; Lehmer's generator with the modulus 2^31 - 1.
    (define modulus 2147483647)
    (define multiplier 48271)
    (define digit 65536)

    (define (first-state seed)
      (+ 1 (modulo seed (- modulus 1))))

    (define (next-digit! source)
      (let ((state (modulo (* multiplier (source-state source)) modulus)))
        (set-source-state! source state)
        (modulo (quotient state 8) digit)))

    (define (random-below! source limit)
      (let loop ((value (next-digit! source)) (range digit))
        (if (< range (* limit digit))
            (loop (+ (* value digit) (next-digit! source)) (* range digit))
            (modulo value limit))))

    ;; An exact integer from 0 to below the limit.
    (define (choose! source limit)
      (if (not (and (exact-integer? limit) (> limit 0)))
          (error "choose!: the limit is no positive exact integer" limit))
      (set-source-count! source (+ (source-count source) 1))
      (if (> (source-count source) choices-max)
          (raise (make-no-value)))
      (let* ((script (source-script source))
             (choice
              (cond ((not script) (random-below! source limit))
                    ((null? script) 0)
                    (else
                     (set-source-script! source (cdr script))
                     (min (car script) (- limit 1))))))
        (set-source-choices! source (cons choice (source-choices source)))
        choice))

    ;; Generators.

    (define (always value)
      (lambda (source) value))

    (define (one-of first . rest)
      (let ((values (list->vector (cons first rest))))
        (lambda (source)
          (vector-ref values (choose! source (vector-length values))))))

    (define (choice-of first . rest)
      (let ((generators (list->vector (cons first rest))))
        (lambda (source)
          ((vector-ref generators (choose! source (vector-length generators))) source))))

    (define (mapped procedure . generators)
      (lambda (source)
        (apply procedure (map-in-order (lambda (generator) (generator source)) generators))))

    (define (map-in-order procedure list)
      (if (null? list)
          '()
          (let ((first (procedure (car list))))
            (cons first (map-in-order procedure (cdr list))))))

    ;; The values that satisfy the predicate.
    (define (filtered predicate generator)
      (lambda (source)
        (let loop ((attempts 100))
          (let ((value (generator source)))
            (cond ((predicate value) value)
                  ((= attempts 0) (raise (make-no-value)))
                  (else (loop (- attempts 1))))))))

    ;; The procedure takes a value and gives the generator of the result.
    (define (chained generator procedure)
      (lambda (source)
        ((procedure (generator source)) source)))

    (define (magnitude! source bits)
      (choose! source (expt 2 (choose! source bits))))

    ;; Exact integers: of up to 64 bits, or between two bounds, both of which can come.
    (define integers
      (case-lambda
        (() (lambda (source)
              (let ((magnitude (magnitude! source 65)))
                (if (= (choose! source 2) 0)
                    magnitude
                    (- magnitude)))))
        ((low high)
         (if (not (and (exact-integer? low) (exact-integer? high) (<= low high)))
             (error "integers: the bounds are no exact integers in order" low high))
         (lambda (source)
           (let ((choice (choose! source (+ 1 (- high low)))))
             ;; From the number that is nearest to zero.
             (cond ((> low 0) (+ low choice))
                   ((< high 0) (- high choice))
                   ((<= choice high) choice)
                   (else (- high choice))))))))

    (define naturals
      (case-lambda
        (() (lambda (source) (magnitude! source 65)))
        ((high) (integers 0 high))))

    (define unusual-reals
      (vector 0.0 1.0 -1.0 0.5 -0.0 1e-300 1e300 +inf.0 -inf.0 +nan.0))

    (define (reals)
      (lambda (source)
        (case (choose! source 4)
          ((0) (inexact (- (choose! source 100) 0)))
          ((1) (vector-ref unusual-reals (choose! source (vector-length unusual-reals))))
          (else
           (let* ((numerator (magnitude! source 54))
                  (denominator (expt 2 (choose! source 30)))
                  (value (inexact (/ numerator denominator))))
             (if (= (choose! source 2) 0)
                 value
                 (- value)))))))

    (define (booleans)
      (one-of #f #t))

    ;; Letters and digits most often, then ASCII, then others.
    (define usual-characters
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

    (define unusual-characters
      "\x0;\t\n\r \"\\'();#|\x7f;\xe9;\xdf;\x3a3;\x3c2;\x130;\x301;\x4e2d;\xfeff;\xfffd;\x1f600;\
       \x10ffff;")

    (define (characters)
      (lambda (source)
        (case (choose! source 4)
          ((0 1)
           (string-ref usual-characters
                       (choose! source (string-length usual-characters))))
          ((2) (integer->char (+ 32 (choose! source 95))))
          (else
           (string-ref unusual-characters
                       (choose! source (string-length unusual-characters)))))))

    ;; Before each element stands the choice whether there is one, so that elements can be left out.
    (define lists-of
      (case-lambda
        ((generator) (lists-of generator 100))
        ((generator length-max)
         (lambda (source)
           (let loop ((length 0) (elements '()))
             (if (or (>= length length-max) (= 0 (choose! source 8)))
                 (reverse elements)
                 (loop (+ length 1) (cons (generator source) elements))))))))

    (define (vectors-of generator . length-max)
      (mapped list->vector (apply lists-of generator length-max)))

    (define (strings . length-max)
      (mapped list->string (apply lists-of (characters) length-max)))

    (define (bytevectors . length-max)
      (mapped (lambda (bytes) (apply bytevector bytes))
              (apply lists-of (integers 0 255) length-max)))

    (define (symbols)
      (mapped (lambda (characters) (string->symbol (list->string characters)))
              (lists-of (characters) 12)))

    (define (pairs-of left right)
      (mapped cons left right))

    ;; Properties.

    ;; How many sets of values are tried.
    (define property-runs (make-parameter 100))

    ;; The seed of the random numbers.
    (define property-seed
      (make-parameter
       (let* ((text (get-environment-variable "CANNY_TEST_SEED"))
              (number (and text (string->number text))))
         (if (exact-integer? number)
             number
             (modulo (+ (exact (floor (* 1000 (current-second)))) (current-jiffy)) modulus)))))

    ;; Some values of a generator.
    (define sample
      (case-lambda
        ((generator) (sample generator 10))
        ((generator count) (sample generator count (property-seed)))
        ((generator count seed)
         (let ((source (make-source #f (first-state seed) '() 0)))
           (let loop ((count count) (values '()))
             (if (= count 0)
                 (reverse values)
                 (begin
                   (set-source-count! source 0)
                   (loop (- count 1) (cons (generator source) values)))))))))

    (define-record-type trial
      (make-trial kind values raised choices)
      trial?
      ;; pass, fail or none
      (kind trial-kind)
      (values trial-values)
      ;; #f, or what was raised, as a text
      (raised trial-raised)
      (choices trial-choices))

    ;; Makes values and looks whether the property holds for them.
    (define (try generators holds? source)
      (let ((values #f))
        (define (outcome kind raised)
          (make-trial kind values raised (reverse (source-choices source))))
        (%guard-else
         (lambda ()
           (set! values (map-in-order (lambda (generator) (generator source)) generators))
           (if (apply holds? values)
               (outcome 'pass #f)
               (outcome 'fail #f)))
         (lambda (object)
           (cond ((no-value? object) (outcome 'none #f))
                 ((and (error-object? object) (eq? (condition-kind object) 'interrupt))
                  (raise object))
                 ;; A mistake in a generator is not about any values.
                 ((not values) (raise object))
                 (else (outcome 'fail (show-raised object))))))))

    (define (%test-property name form variables generators holds?)
      (%run-checked name form
                    (lambda ()
                      (run-property variables generators holds? (property-seed)))))

    (define (run-property variables generators holds? seed)
      (let loop ((run 1) (state (first-state seed)) (without 0))
        (if (> run (property-runs))
            (or (< (* 2 without) (property-runs))
                (list "values"
                      (string-append "no values were found in "
                                     (number->string without)
                                     " of "
                                     (number->string (property-runs))
                                     " runs")
                      '()))
            (let* ((source (make-source #f state '() 0)) (trial (try generators holds? source)))
              (case (trial-kind trial)
                ((pass) (loop (+ run 1) (source-state source) without))
                ((none) (loop (+ run 1) (source-state source) (+ without 1)))
                (else
                 (let ((smallest (shrink generators holds? trial)))
                   (list "true for all values"
                         (or (trial-raised smallest) "#f")
                         (append
                          (map (lambda (variable value)
                                 (string-append (symbol->string variable)
                                                " = "
                                                (show-value value)))
                               variables
                               (trial-values smallest))
                          (list (string-append "in run "
                                               (number->string run)
                                               "; CANNY_TEST_SEED="
                                               (number->string seed)
                                               " repeats it")))))))))))

    ;; Making values smaller.

    ;; Trials at most.
    (define shrink-trials-max 3000)

    (define (smaller? left right)
      (let ((left-length (length left)) (right-length (length right)))
        (or (< left-length right-length)
            (and (= left-length right-length)
                 (let loop ((left left) (right right))
                   (and (pair? left)
                        (or (< (car left) (car right))
                            (and (= (car left) (car right))
                                 (loop (cdr left) (cdr right))))))))))

    (define (shrink generators holds? trial)
      (let ((best trial) (trials 0))
        ;; Whether these choices lead to a smaller failure, which is then the best.
        (define (better? choices)
          (and (< trials shrink-trials-max)
               (begin
                 (set! trials (+ trials 1))
                 (let ((trial (try generators holds? (make-source choices 1 '() 0))))
                   (and (eq? (trial-kind trial) 'fail)
                        (smaller? (trial-choices trial) (trial-choices best))
                        (begin
                          (set! best trial)
                          #t))))))
        (define (leave-out size)
          (let loop ((at 0))
            (let ((choices (trial-choices best)))
              (if (<= (+ at size) (length choices))
                  (if (better? (append (first-of choices at) (list-tail choices (+ at size))))
                      (loop at)
                      (loop (+ at 1)))))))
        (define (lower at)
          (let ((choices (trial-choices best)))
            (if (< at (length choices))
                (let ((choice (list-ref choices at)))
                  (define (with value)
                    (append (first-of choices at) (cons value (list-tail choices (+ at 1)))))
                  (if (and (> choice 0) (not (better? (with 0))))
                      ;; A failure is at `high`, none at `low`, as far as is known.
                      (let search ((low 0) (high choice))
                        (if (> (- high low) 1)
                            (let ((middle (quotient (+ low high) 2)))
                              (if (better? (with middle))
                                  (search low middle)
                                  (search middle high))))))
                  (lower (+ at 1))))))
        (let again ()
          (let ((before best))
            (for-each leave-out '(16 8 4 3 2 1))
            (lower 0)
            (if (and (not (eq? before best)) (< trials shrink-trials-max))
                (again))))
        best))

    (define (first-of list count)
      (if (= count 0)
          '()
          (cons (car list) (first-of (cdr list) (- count 1)))))

    (define-syntax test-property
      (syntax-rules ()
        ((_ ((variable generator) ...) body0 body ...)
         (%test-property #f '(test-property ((variable generator) ...) body0 body ...)
                         '(variable ...)
                         (list generator ...)
                         (lambda (variable ...) body0 body ...)))
        ((_ name ((variable generator) ...) body0 body ...)
         (%test-property name '(test-property ((variable generator) ...) body0 body ...)
                         '(variable ...)
                         (list generator ...)
                         (lambda (variable ...) body0 body ...)))))))
