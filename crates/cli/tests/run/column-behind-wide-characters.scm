(import (scheme base))
(define λ→ (list "日本" (car '())))
