(define (current-jiffy)
  (let ((now (current-time 'time-monotonic)))
    (+ (* 1000000000 (time-second now)) (time-nanosecond now))))
(define (jiffies-per-second) 1000000000)
(define (current-second)
  (let ((now (current-time 'time-utc)))
    (+ (time-second now) (/ (time-nanosecond now) 1e9))))
(define (square x) (* x x))
(define (exact-integer? x) (and (integer? x) (exact? x)))
(define (truncate-quotient a b) (quotient a b))
(define (truncate-remainder a b) (remainder a b))
(define (floor-remainder a b) (modulo a b))
(define (floor-quotient a b) (floor (/ a b)))
(define arithmetic-shift bitwise-arithmetic-shift)
(define read-line
  (case-lambda
    (() (get-line (current-input-port)))
    ((port) (get-line port))))
(define write-string
  (case-lambda
    ((string) (put-string (current-output-port) string))
    ((string port) (put-string port string))))
(define (string->vector string) (list->vector (string->list string)))
(define (vector->string vector) (list->string (vector->list vector)))
(define (make-hash-table . ignored) (make-hashtable equal-hash equal?))
(define (hash-table-set! table key value) (hashtable-set! table key value))
(define (hash-table-ref/default table key default) (hashtable-ref table key default))
(define (hash-table-size table) (hashtable-size table))
(define-syntax define-record-type
  (syntax-rules ()
    ((_ name constructor predicate field ...)
     (define-record-fields name constructor predicate () field ...))))
(define-syntax define-record-fields
  (syntax-rules ()
    ((_ name (constructor argument ...) predicate (done ...))
     (chez-define-record-type (name constructor predicate) (fields done ...)))
    ((_ name constructor predicate (done ...) (field accessor) more ...)
     (define-record-fields name constructor predicate
       (done ... (immutable field accessor)) more ...))
    ((_ name constructor predicate (done ...) (field accessor modifier) more ...)
     (define-record-fields name constructor predicate
       (done ... (mutable field accessor modifier)) more ...))))
