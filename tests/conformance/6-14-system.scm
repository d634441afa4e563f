;;; R7RS 6.14: system interface.

(import (scheme base) (scheme process-context) (scheme time) (scheme file) (canny test))

(test-group "6.14 process context"
  (test #t (list? (command-line)))
  (test #t (let loop ((l (command-line))) (or (null? l) (and (string? (car l)) (loop (cdr l))))))
  (test #t (string? (get-environment-variable "PATH")))
  (test #f (get-environment-variable "NO_SUCH_VARIABLE_IN_ANY_ENVIRONMENT"))
  (test #t (list? (get-environment-variables)))
  (test #t (let ((e (assoc "PATH" (get-environment-variables))))
             (and e (string=? (cdr e) (get-environment-variable "PATH")))))
  (test-error (get-environment-variable 5))
  (test #t (procedure? exit))
  (test #t (procedure? emergency-exit)))

(test-group "6.14 time"
  (test #t (real? (current-second)))
  (test #t (> (current-second) 1500000000))
  (test #t (exact-integer? (current-jiffy)))
  (test #t (exact-integer? (jiffies-per-second)))
  (test #t (> (jiffies-per-second) 0))
  (test #t (let* ((a (current-jiffy)) (b (current-jiffy))) (<= a b))))

(test-group "6.14 files and features"
  (test #f (file-exists? "no/such/file"))
  (test-error (file-exists? 5))
  (test #t (list? (features)))
  (test #t (and (memq 'r7rs (features)) #t))
  (test #t (and (memq 'canny (features)) #t))
  (test #t (and (memq 'full-unicode (features)) #t))
  (test #t (and (memq 'ratios (features)) #t))
  (test #t (and (memq 'exact-complex (features)) #t))
  (test #t (and (memq 'exact-closed (features)) #t)))

(test-finish)
