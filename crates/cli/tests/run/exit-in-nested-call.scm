(import (scheme base) (scheme write) (scheme process-context))
(for-each (lambda (x) (display x) (if (= x 2) (exit 5))) '(1 2 3))
