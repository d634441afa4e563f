;;; (srfi 101): purely functional random-access pairs and lists.
;;;
;;; `equal?` is not exported. Programs import this library besides the rest of (scheme base), as
;;; they can with the SRFI's own implementation: the two would clash. (scheme rlist) has it as
;;; `requal?`.

(define-library (srfi 101)
  (export
   null?
   (rename ra-quote quote) (rename ra-pair? pair?) (rename ra-cons cons) (rename ra-car car)
   (rename ra-cdr cdr) (rename ra-caar caar) (rename ra-cadr cadr) (rename ra-cdar cdar)
   (rename ra-cddr cddr) (rename ra-caaar caaar) (rename ra-caadr caadr) (rename ra-cadar cadar)
   (rename ra-caddr caddr) (rename ra-cdaar cdaar) (rename ra-cdadr cdadr) (rename ra-cddar cddar)
   (rename ra-cdddr cdddr) (rename ra-caaaar caaaar) (rename ra-caaadr caaadr)
   (rename ra-caadar caadar) (rename ra-caaddr caaddr) (rename ra-cadaar cadaar)
   (rename ra-cadadr cadadr) (rename ra-caddar caddar) (rename ra-cadddr cadddr)
   (rename ra-cdaaar cdaaar) (rename ra-cdaadr cdaadr) (rename ra-cdadar cdadar)
   (rename ra-cdaddr cdaddr) (rename ra-cddaar cddaar) (rename ra-cddadr cddadr)
   (rename ra-cdddar cdddar) (rename ra-cddddr cddddr) (rename ra-list list)
   (rename ra-make-list make-list) (rename ra-list? list?) (rename ra-length length)
   (rename ra-length<=? length<=?) (rename ra-append append) (rename ra-reverse reverse)
   (rename ra-list-tail list-tail) (rename ra-list-ref list-ref) (rename ra-list-set list-set)
   (rename ra-list-ref/update list-ref/update) (rename ra-map map) (rename ra-for-each for-each)
   random-access-list->linear-access-list linear-access-list->random-access-list)
  (import (only (scheme base) null?)
          (canny data random-access-lists)))
