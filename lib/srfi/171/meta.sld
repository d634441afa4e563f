;;; (srfi 171 meta): what one needs to write transducers.
;;;
;;; A reducer that wants the reduction to stop wraps its result in a <reduced>; the reductions take
;;; it out again.

(define-library (srfi 171 meta)
  (export reduced reduced? unreduce ensure-reduced preserving-reduced
          list-reduce vector-reduce string-reduce bytevector-u8-reduce port-reduce
          generator-reduce)
  (import (canny primitives) (canny syntax) (canny machine arguments))
  (begin

    (define-record-type <reduced>
      (reduced value)
      reduced?
      (value unreduce))

    (define (ensure-reduced object)
      (if (reduced? object) object (reduced object)))

    ;; A reducer whose results survive one more unwrapping.
    (define (preserving-reduced reducer)
      (check-procedure 'preserving-reduced 1 reducer)
      (lambda (state input)
        (let ((result (reducer state input)))
          (if (reduced? result) (reduced result) result))))

    (define (list-reduce reducer identity list)
      (check-procedure 'list-reduce 1 reducer)
      (check-list 'list-reduce 3 list)
      (let loop ((state identity) (rest list))
        (if (pair? rest)
            (let ((state (reducer state (car rest))))
              (if (reduced? state)
                  (unreduce state)
                  (loop state (cdr rest))))
            state)))

    (define-syntax define-sequence-reduce
      (syntax-rules ()
        ((_ name type? type length-of ref)
         (define (name reducer identity sequence)
           (check-procedure 'name 1 reducer)
           (check-argument 'name 3 type? type sequence)
           (let ((length (length-of sequence)))
             (let loop ((state identity) (index 0))
               (if (< index length)
                   (let ((state (reducer state (ref sequence index))))
                     (if (reduced? state)
                         (unreduce state)
                         (loop state (+ index 1))))
                   state)))))))

    (define-sequence-reduce vector-reduce vector? "vector" vector-length vector-ref)
    (define-sequence-reduce string-reduce string? "string" string-length string-ref)
    (define-sequence-reduce bytevector-u8-reduce bytevector? "bytevector"
      bytevector-length bytevector-u8-ref)

    (define (generator-reduce reducer identity generator)
      (check-procedure 'generator-reduce 1 reducer)
      (check-procedure 'generator-reduce 3 generator)
      (let loop ((state identity))
        (let ((input (generator)))
          (if (eof-object? input)
              state
              (let ((state (reducer state input)))
                (if (reduced? state)
                    (unreduce state)
                    (loop state)))))))

    (define (port-reduce reducer identity reader port)
      (check-procedure 'port-reduce 3 reader)
      (generator-reduce reducer identity (lambda () (reader port))))))
