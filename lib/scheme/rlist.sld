;;; (scheme rlist): R7RS-large's names of SRFI 101.
;;;
;;; A name that would clash with (scheme base) has an r in front.

(define-library (scheme rlist)
  (export
   (rename ra-quote rquote) (rename ra-equal? requal?) (rename ra-pair? rpair?)
   (rename ra-cons rcons) (rename ra-car rcar) (rename ra-cdr rcdr) (rename ra-caar rcaar)
   (rename ra-cadr rcadr) (rename ra-cdar rcdar) (rename ra-cddr rcddr) (rename ra-caaar rcaaar)
   (rename ra-caadr rcaadr) (rename ra-cadar rcadar) (rename ra-caddr rcaddr)
   (rename ra-cdaar rcdaar) (rename ra-cdadr rcdadr) (rename ra-cddar rcddar)
   (rename ra-cdddr rcdddr) (rename ra-caaaar rcaaaar) (rename ra-caaadr rcaaadr)
   (rename ra-caadar rcaadar) (rename ra-caaddr rcaaddr) (rename ra-cadaar rcadaar)
   (rename ra-cadadr rcadadr) (rename ra-caddar rcaddar) (rename ra-cadddr rcadddr)
   (rename ra-cdaaar rcdaaar) (rename ra-cdaadr rcdaadr) (rename ra-cdadar rcdadar)
   (rename ra-cdaddr rcdaddr) (rename ra-cddaar rcddaar) (rename ra-cddadr rcddadr)
   (rename ra-cdddar rcdddar) (rename ra-cddddr rcddddr) (rename ra-list rlist)
   (rename ra-make-list make-rlist) (rename ra-list? rlist?) (rename ra-length rlength)
   (rename ra-length<=? rlength<=?) (rename ra-append rappend) (rename ra-reverse rreverse)
   (rename ra-list-tail rlist-tail) (rename ra-list-ref rlist-ref) (rename ra-list-set rlist-set)
   (rename ra-list-ref/update rlist-ref/update) (rename ra-map rmap) (rename ra-for-each rfor-each)
   (rename random-access-list->linear-access-list rlist->list)
   (rename linear-access-list->random-access-list list->rlist))
  (import (canny data random-access-lists)))
