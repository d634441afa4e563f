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
;;; Tables with the equivalence that a program asks for are Chez Scheme's own of that kind.
(define make-hash-table
  (case-lambda
    (() (make-hashtable equal-hash equal?))
    ((same? . ignored)
     (cond ((eq? same? eq?) (make-eq-hashtable))
           ((eq? same? eqv?) (make-eqv-hashtable))
           ((eq? same? string=?) (make-hashtable string-hash string=?))
           (else (make-hashtable equal-hash equal?))))))
(define (hash-table-set! table key value) (hashtable-set! table key value))
(define (hash-table-ref/default table key default) (hashtable-ref table key default))
(define (hash-table-exists? table key) (hashtable-contains? table key))
(define (hash-table-delete! table key) (hashtable-delete! table key))
(define (hash-table-size table) (hashtable-size table))
(define (hash-table-update!/default table key update default)
  (hashtable-update! table key update default))
(define (hash-table-walk table procedure)
  (vector-for-each (lambda (cell) (procedure (car cell) (cdr cell))) (hashtable-cells table)))
(define (hash-table->alist table)
  (map (lambda (cell) (cons (car cell) (cdr cell))) (vector->list (hashtable-cells table))))
(define (string-join strings separator)
  (if (null? strings)
      ""
      (apply string-append
             (car strings)
             (let loop ((rest (cdr strings)))
               (if (null? rest)
                   '()
                   (cons separator (cons (car rest) (loop (cdr rest)))))))))
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
