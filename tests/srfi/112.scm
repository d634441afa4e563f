;; SRFI 112: questions about the environment.

(import (scheme base) (srfi 112) (canny test))

(test "Canny" (implementation-name))
(for-each
 (lambda (answer) (test-true (or (not answer) (and (string? answer) (> (string-length answer) 0)))))
 (list (implementation-version) (cpu-architecture) (machine-name) (os-name) (os-version)))

(test-finish)
