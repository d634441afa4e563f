;;; (scheme cxr): R7RS appendix A.

(define-library (scheme cxr)
  (export caaar caadr cadar caddr cdaar cdadr cddar cdddr caaaar caaadr caadar caaddr cadaar cadadr
          caddar cadddr cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr)
  (import (canny primitives)))
