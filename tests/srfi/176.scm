;; SRFI 176: the version flag. The output of `canny -V` is tested with the command; here is the
;; library.

(import (scheme base) (srfi 176) (canny test))

(test-true (memq 'srfi-176 (features)))

(test-finish)
