(define-library (deep thing)
  (export thing (rename private-thing public-thing) with-thing)
  (import (canny syntax) (canny primitives))
  (include "thing-body.scm"))
