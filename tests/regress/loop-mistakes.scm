;;; Wrong clauses of `loop` are reported in the words of its documentation, without names that
;;; nobody knows.

(import (scheme base) (scheme eval) (scheme write) (canny test))

(define program (environment '(scheme base) '(canny loop)))

(define (message-of form)
  (guard (e (#t (let ((port (open-output-string)))
                  (display (error-object-message e) port)
                  (get-output-string port))))
    (eval form program)
    "nothing"))

(define (contains? text part)
  (let ((last (- (string-length text) (string-length part))))
    (let next ((start 0))
      (cond ((> start last) #f)
            ((string=? part (substring text start (+ start (string-length part)))) #t)
            (else (next (+ start 1)))))))

(define (says? part form)
  (let ((message (message-of form)))
    (and (contains? message part)
         (not (contains? message "%")))))

(test-group "mistakes in loop"
  (test #t (says? "expected (for element [pair] (in-list list))" '(loop ((in-list '(1 2))) 1)))
  (test #t (says? "expected (for number (in-range [start] end [step]))"
                  '(loop ((for x y z (in-range 10))) x)))
  (test #t (says? "an accumulator has no variables" '(loop ((for x (summing))) x)))
  (test #t (says? "expected (accumulator expression [(if condition)])" '(loop ((summing)) 1)))
  (test #t (says? "expected (hashing key value [table])" '(loop ((hashing 1)) 1)))
  (test #t (says? "expected (for element [index] (iterator sequence [start [end]]))"
                  '(loop ((for (in-vector v 1 2 3 4))) 1)))
  (test #t (says? "the name of another macro" '(loop ((for x (list 1 2))) (car x)))))

(test-finish)
