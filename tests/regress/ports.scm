;;; Questions that any port can be asked.

(import (scheme base) (canny test))

(test-group "a port of the other direction is not open for this one"
  (test #f (input-port-open? (open-output-string)))
  (test #f (output-port-open? (open-input-string "")))
  (test #f (input-port-open? (open-output-bytevector)))
  (test #f (output-port-open? (open-input-bytevector (bytevector)))))

(test-finish)
