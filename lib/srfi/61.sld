;;; (srfi 61): cond clauses with a generator, a guard and a receiver.

(define-library (srfi 61)
  (export cond => else)
  (import (rename (canny syntax) (cond cond/r7rs))
          (only (canny primitives) %values->list %apply))
  (begin

    (define-syntax cond
      (syntax-rules (=> else)
        ((_ (generator guard => receiver))
         (let ((results (%values->list generator)))
           (if (%apply guard results)
               (%apply receiver results))))
        ((_ (generator guard => receiver) clause ...)
         (let ((results (%values->list generator)))
           (if (%apply guard results)
               (%apply receiver results)
               (cond clause ...))))
        ((_ clause)
         (cond/r7rs clause))
        ((_ clause0 clause ...)
         (cond/r7rs clause0 (else (cond clause ...))))))))
